"""Steps as terms: consecutive states, and between each two exactly one action instance that fires."""

from __future__ import annotations

from collections.abc import Sequence

import z3

from acked.checker.solver.queries import Term, some_of
from acked.checker.solver.smt import Frame
from acked.checker.solver.terms import LoweredProblem
from acked.model.formulas.expr import Expr


class Transitions:
    """Consecutive frames and, for each step between them, one selector per action instance."""

    def __init__(self, lowered: LoweredProblem) -> None:
        problem = lowered.problem
        self.lowered = lowered
        self.guards = [lowered.rows[step.guard] for step in problem.steps]
        self.updates = [[(leaf, lowered.rows[row]) for leaf, row in step.updates] for step in problem.steps]
        self.overflows = [[lowered.rows[row] for _, row in step.overflows] for step in problem.steps]
        self.roots = [*self.guards, *(code for updates in self.updates for _, code in updates)]
        self.roots += [bad for overflows in self.overflows for bad in overflows]
        lowered.prepare(self.roots)
        self._writers: dict[int, list[tuple[int, Expr]]] = {}
        for number, updates in enumerate(self.updates):
            for leaf, code in updates:
                self._writers.setdefault(leaf, []).append((number, code))

    def frame(self, at: int) -> Frame:
        return self.lowered.frame(f"@{at}", ())

    def selectors(self, at: int) -> list[Term]:
        return [z3.Bool(f"fires@{at}!{number}") for number in range(len(self.guards))]

    def between(self, at: int) -> list[Term]:
        """That exactly one action instance fires between frame `at` and the next, and makes it."""
        before, after = self.frame(at), self.frame(at + 1)
        fires = self.selectors(at)
        terms = [some_of(fires), *_exclusion(fires, f"fired@{at}")]
        terms += [z3.Implies(fire, before.term(guard)) for fire, guard in zip(fires, self.guards, strict=True)]
        for leaf, item in enumerate(self.lowered.problem.fields):
            if item.bits:
                code = before.field(leaf)
                for number, update in self._writers.get(leaf, []):
                    code = z3.If(fires[number], before.term(update), code)
                terms.append(after.variable(leaf) == z3.Extract(item.bits - 1, 0, code))
        return terms


def _exclusion(fires: Sequence[Term], name: str) -> list[Term]:
    """In standard SMT-LIB and linear in size: what has fired so far forbids what comes after it."""
    terms, so_far = [], fires[0]
    for number, fire in enumerate(fires[1:], start=1):
        terms.append(z3.Or(z3.Not(so_far), z3.Not(fire)))
        if number < len(fires) - 1:
            fired = z3.Bool(f"{name}!{number}")
            terms += [z3.Implies(so_far, fired), z3.Implies(fire, fired)]
            so_far = fired
    return terms
