"""Induction on one small instance by bit-vectors: which lemmas a proof uses, or a counterexample.

Importing this module imports z3: only solver processes do so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import z3

from acked.base.errors import SystemFailure
from acked.checker.solver.lemma_sets import StepCounterexample
from acked.checker.solver.queries import ask, bound
from acked.checker.solver.smt import Lowering
from acked.invariants.property import Property
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Bool

SMALL_EFFORT = 100_000_000
"""How long z3 may think about one query on a small instance, in its own count of steps; none took a hundredth of it."""


class SmallInstance:
    """A protocol under small constants, and the clauses about it, as bit-vectors; `of_steps` are promises about steps.

    `OutOfTime` if a query takes more than `seconds` (0 for no such limit).
    """

    def __init__(
        self,
        protocol: Protocol,
        constants: Mapping[str, int],
        clauses: Sequence[Property],
        drop: Sequence[tuple[str, str]] = (),
        seconds: float = 0.0,
        alive: Callable[[], None] = lambda: None,
        of_steps: Sequence[Property] = (),
    ) -> None:
        self.instance: Instance = protocol.instantiate(constants, drop)
        self._asked = {item.name: _afterwards(item) for item in clauses}
        self._asked |= {item.name: item.predicate for item in of_steps}
        self._before = {
            item.name: self.instance.state_predicate(item.name, item.predicate) for item in clauses
        }
        self._seconds = seconds
        self._alive = alive

    def lemmas_of_step(self, action: str, clause: str) -> list[tuple[str, ...]] | StepCounterexample | None:
        """Least sets of lemmas that keep a clause over an action, or a step that breaks it; None if z3 gives up.

        Of two lemmas that could replace each other here, one may serve the first-order proof and the other not.

        A clause `Domain(…)` says that updates of that field are in its domain; domains are always assumed.
        """
        used: dict[str, None] = {}
        for step in self.instance.actions:
            if step.action.name == action:
                broken = self._broken(step, clause)
                if broken is self.instance.pool.false:
                    continue
                answer = self._solve(step, clause, broken)
                if not isinstance(answer, tuple):
                    return answer
                used.update(dict.fromkeys(answer))
        return self._fewer(action, clause, [name for name in self._before if name in used])

    def _fewer(self, action: str, clause: str, names: list[str]) -> list[tuple[str, ...]]:
        """What is left of sufficient lemmas after dropping one at a time, the last or the first ones first."""
        steps = [step for step in self.instance.actions if step.action.name == action]
        broken = [self._broken(step, clause) for step in steps]
        roots = [expr for step, bad in zip(steps, broken, strict=True) for expr in (step.guard, bad)]
        frame = Lowering(self.instance, [*roots, *self._before.values()]).frame()
        solver = self._solver()
        some_step = [
            z3.And(frame.term(step.guard), frame.term(bad))
            for step, bad in zip(steps, broken, strict=True)
            if bad is not self.instance.pool.false
        ]
        labels = {name: z3.Bool(f"use {name}") for name in names}
        solver.add(*frame.domain_terms(), z3.Or(some_step))
        solver.add([z3.Implies(label, frame.term(self._before[name])) for name, label in labels.items()])
        found: dict[tuple[str, ...], None] = {}
        for order in (names[::-1], names):
            kept = list(names)
            for name in order:
                self._alive()
                if ask(solver, self._seconds, *(labels[item] for item in kept if item != name)) == z3.unsat:
                    kept.remove(name)
            found[tuple(kept)] = None
        return list(found)

    def can_fire(self, action: str) -> bool | None:
        """Whether some state satisfies every clause and the guard of the action; None if z3 gives up."""
        undecided = False
        for step in self.instance.actions:
            if step.action.name == action:
                lowering = Lowering(self.instance, [step.guard, *self._before.values()])
                frame = lowering.frame()
                solver = self._solver()
                solver.add(*frame.domain_terms(), frame.term(step.guard), *map(frame.term, self._before.values()))
                answer = ask(solver, self._seconds)
                if answer == z3.sat:
                    return True
                undecided = undecided or answer != z3.unsat
        return None if undecided else False

    def _broken(self, step: ActionInstance, clause: str) -> Expr:
        pool = self.instance.pool
        if clause.startswith("Domain("):
            leaves = self.instance.schema.leaves
            return pool.any(bad for leaf, bad in step.overflows if _family(leaves[leaf].path) == clause[7:-1])
        return pool.not_(self.instance.step_predicate(clause, self._asked[clause], step))

    def _solve(self, step: ActionInstance, clause: str, broken: Expr) -> tuple[str, ...] | StepCounterexample | None:
        frame = Lowering(self.instance, [step.guard, broken, *self._before.values()]).frame()
        solver = self._solver()
        solver.set("core.minimize", True)
        solver.add(*frame.domain_terms(), frame.term(step.guard), frame.term(broken))
        for name, holds in self._before.items():
            solver.assert_and_track(frame.term(holds), z3.Bool(name))
        answer = ask(solver, self._seconds)
        if answer == z3.unsat:
            return tuple(str(item) for item in solver.unsat_core())
        if answer != z3.sat:
            return None
        codes = frame.codes(solver.model())
        if not all(Evaluator([step.guard, broken, *self._before.values()])(codes)):
            raise SystemFailure(
                f"{self.instance.protocol.name}: z3's counterexample to {step.label} is not one by the plain evaluator; "
                "please report this as a defect of acked"
            )
        after = list(codes)
        for (leaf, _), value in zip(step.updates, Evaluator([code for _, code in step.updates])(codes), strict=True):
            after[leaf] = value
        schema = self.instance.schema
        shown = {} if clause.startswith("Domain(") else schema.decode(after)
        constants = dict(self.instance.constants)
        return StepCounterexample(constants, step.label, schema.decode(codes), shown, clause, tuple(codes))

    def _solver(self) -> Any:
        self._alive()
        return bound(z3.SolverFor("QF_BV"), self._seconds, SMALL_EFFORT)


def _afterwards(clause: Property) -> Callable[[Any, Any], Bool]:
    return lambda _, after: clause(after)


def _family(path: Sequence[str | int]) -> str:
    return "".join("[]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
