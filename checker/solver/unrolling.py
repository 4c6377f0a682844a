"""Bounded model checking: the shortest run that violates a claim, one more action at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import z3

from acked.checker.solver.queries import Term, all_of, check, solver_within, some_of, write_smt2
from acked.checker.solver.tasks import BoundedAnswer, BoundedTask, DepthNote
from acked.checker.solver.terms import LoweredProblem
from acked.checker.solver.transitions import Transitions
from acked.model.formulas.expr import Expr

Emit = Callable[[Any], None]


class Unrolling:
    """The shortest run that violates a claim, one more action at a time.

    If ids may be renamed, only runs are looked at whose actions name the ids in ascending order of first use, after those
    that the initial states name: every run can be renamed into one of those (`symmetry.named_initially`).
    """

    def __init__(self, lowered: LoweredProblem, task: BoundedTask, emit: Emit) -> None:
        self.lowered = lowered
        self.task = task
        self.emit = emit
        self.begin = time.perf_counter()
        self.transitions = Transitions(lowered)
        claims = lowered.problem.claims
        self.state_claims = [number for number in task.claims if not claims[number].is_step]
        self.step_claims = [number for number in task.claims if claims[number].is_step]
        self.bad_state = [lowered.pool.not_(lowered.claim(number)) for number in self.state_claims]
        self.bad_steps = self._bad_steps()
        self.overflow = [lowered.pool.any(bad) for bad in self.transitions.overflows]
        lowered.prepare([*self.bad_state, *self.overflow, *(bad for _, _, bad in self.bad_steps), *self.transitions.roots])
        self.solver = solver_within(lowered.timeout)
        problem = lowered.problem
        self.named: list[Term] = [z3.BoolVal(number < problem.named) for number in range(problem.sort_size)]

    def _bad_steps(self) -> list[tuple[int, int, Expr]]:
        """(step, claim, condition) of what a step could break at once."""
        found = []
        for number, step in enumerate(self.lowered.problem.steps):
            for claim, holds in zip(self.step_claims, self.lowered.after(step, self.step_claims), strict=True):
                if holds is not self.lowered.pool.true:
                    found.append((number, claim, self.lowered.pool.not_(holds)))
        return found

    def answer(self) -> BoundedAnswer:
        first = self.transitions.frame(0)
        initial = [all_of(first.is_state(codes)) for codes in self.lowered.problem.initial]
        self.solver.add(some_of(initial))
        for depth in range(self.task.depth + 1):
            begin = time.perf_counter()
            if depth:
                self.solver.add(*self.transitions.between(depth - 1), *self._symmetry_breaking(depth - 1))
            violations = self._violations(depth)
            wrong = z3.Bool(f"wrong@{depth}")
            self.solver.add(z3.Implies(wrong, some_of(violations.values())))
            if self.task.smt2 is not None:
                self._write_smt2(Path(self.task.smt2), depth, wrong)
            found, reason = check(self.solver, wrong)
            now = time.perf_counter()
            if found == "sat":
                return self._violation(self._first_claim_model(violations, depth), depth)
            if found == "unknown":
                return BoundedAnswer(depth - 1, None, None, reason, now - self.begin)
            self.emit(DepthNote(depth, now - begin, now - self.begin))
            self.solver.add(z3.Not(wrong), *(z3.Not(term) for term in violations.values()))
        return BoundedAnswer(self.task.depth, None, None, "", time.perf_counter() - self.begin)

    def _first_claim_model(self, violations: dict[int, Term], depth: int) -> z3.ModelRef:
        """Of claims that runs of equal length violate, the one that is asked first counts."""
        model = self.solver.model()
        for number in self.task.claims:
            if number not in violations or z3.is_true(model.eval(violations[number], model_completion=True)):
                break
            self.emit(None)
            only = z3.Bool(f"wrong@{depth}!{number}")
            self.solver.add(z3.Implies(only, violations[number]))
            if check(self.solver, only)[0] == "sat":
                return self.solver.model()
        return model

    def _violations(self, depth: int) -> dict[int, Term]:
        """What would violate each claim after so many actions; a value that leaves its domain counts as claim -1."""
        frame = self.transitions.frame(depth)
        found = {number: frame.term(bad) for number, bad in zip(self.state_claims, self.bad_state, strict=True)}
        if depth:
            before, fires = self.transitions.frame(depth - 1), self.transitions.selectors(depth - 1)
            for number in self.step_claims:
                terms = [z3.And(fires[step], before.term(bad)) for step, claim, bad in self.bad_steps if claim == number]
                found[number] = some_of(terms)
            leaving = [
                z3.And(fire, before.term(bad))
                for fire, bad in zip(fires, self.overflow, strict=True)
                if bad is not self.lowered.pool.false
            ]
            found[-1] = some_of(leaving)
        return found

    def _symmetry_breaking(self, at: int) -> list[Term]:
        if not self.named:
            return []
        fires, steps = self.transitions.selectors(at), self.lowered.problem.steps
        terms, named = [], []
        for number, was in enumerate(self.named):
            using = [fire for fire, step in zip(fires, steps, strict=True) if number in step.ids]
            if number:
                for fire, step in zip(fires, steps, strict=True):
                    if number in step.ids and number - 1 not in step.ids[: step.ids.index(number)]:
                        terms.append(z3.Implies(fire, self.named[number - 1]))
            now = z3.Bool(f"named@{at}!{number}")
            terms.append(now == some_of([was, *using]))
            named.append(now)
        self.named = named
        return terms

    def _violation(self, model: z3.ModelRef, depth: int) -> BoundedAnswer:
        states = tuple(tuple(self.transitions.frame(at).codes(model)) for at in range(depth + 1))
        steps = tuple(
            next(n for n, fire in enumerate(self.transitions.selectors(at)) if z3.is_true(model.eval(fire)))
            for at in range(depth)
        )
        return BoundedAnswer(depth, states, steps, "", time.perf_counter() - self.begin)

    def _write_smt2(self, folder: Path, depth: int, wrong: Term) -> None:
        copy = z3.SolverFor("QF_BV")
        copy.add(*self.solver.assertions(), wrong)
        write_smt2(
            folder / f"depth-{depth:03}.smt2",
            copy,
            f"a claim is violated after {depth} actions and not earlier",
            "unsat: none is",
        )
