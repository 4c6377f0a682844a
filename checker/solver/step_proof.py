"""One step of an induction: where everything assumed holds and the step is enabled, the goals hold after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import z3

from acked.checker.solver.queries import Term, check, solver_within, some_of, write_smt2
from acked.checker.solver.tasks import BrokenGoals, StepAnswer, StepTask
from acked.checker.solver.terms import LoweredProblem
from acked.checker.solver.transitions import Transitions
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr

Emit = Callable[[Any], None]

_PART_EFFORT = 10_000_000
"""How long z3 may think about many conjuncts of a goal at once, in its own count of steps: some ten seconds."""

_SIMPLIFY_EFFORT = 400_000
"""How long z3 may think about making one field of a counterexample plainer, in its own count of steps."""

_SIMPLIFY_VAIN = 4
"""After so many fields for which that was not enough the counterexample is plain enough."""


class StepProof:
    """One obligation: where everything assumed holds and the step is enabled, the goals hold after it."""

    def __init__(self, lowered: LoweredProblem, task: StepTask, emit: Emit) -> None:
        self.lowered = lowered
        self.task = task
        self._alive: Callable[[], None] = lambda: emit(None)  # Each query may take its whole time.
        self.begin = time.perf_counter()
        problem = lowered.problem
        self.step = problem.steps[task.step]
        self.guard = lowered.rows[self.step.guard]
        self.assumed = [lowered.claim(number) for number in task.assumed]
        names = [problem.claims[number].name for number in task.goals]
        after = lowered.after(self.step, task.goals)
        # What the step leaves as it was holds because it was assumed; what folds to true needs no solver.
        unchanged = set(map(id, self.assumed))
        kept = [(name, expr) for name, expr in zip(names, after, strict=True) if id(expr) not in unchanged]
        self.goals = [(name, expr) for name, expr in kept if expr is not lowered.pool.true]
        self.domains = [_domain_goal(problem.fields[leaf].name) for leaf, _ in self.step.overflows]
        for leaf, row in self.step.overflows:
            inside = lowered.pool.not_(lowered.rows[row])
            self.goals.append((_domain_goal(problem.fields[leaf].name), inside))
        self.transitions = Transitions(lowered) if task.k > 1 else None
        roots = [self.guard, *self.assumed, *(expr for _, expr in self.goals)]
        lowered.prepare(roots)
        self.frames = [lowered.frame(f"@{at}" if task.k > 1 else "", ()) for at in range(task.k)]

    def answer(self) -> StepAnswer:
        task = self.task
        if task.smt2 is not None:
            self._write_smt2(Path(task.smt2))
        can_fire: bool | None = None
        if task.witness:
            solver = self._assuming()
            found, _ = check(solver)
            self._alive()
            can_fire = {"sat": True, "unsat": False}.get(found)
        if not self.goals:
            return self._result([], (), "", can_fire, {})
        if task.minimize:
            return self._minimise(can_fire)
        broken: list[BrokenGoals] = []
        rest = self._unproved_goals()
        while rest:
            solver = self._assuming()
            solver.add(*self._inside([name for name in rest if name in self.domains]))
            solver.add(some_of(z3.Not(self.frames[-1].term(expr)) for expr in rest.values()))
            found, reason = check(solver)
            self._alive()
            if found == "unsat":
                break
            if found == "unknown":
                return self._result(broken, tuple(rest), reason, can_fire, {})
            item = self._broken(solver, rest)
            broken.append(item)
            if not task.every_claim:
                break
            rest = {name: expr for name, expr in rest.items() if name not in item.claims}
        return self._result(broken, (), "", can_fire, {})

    def _inside(self, but: Collection[str]) -> list[Term]:
        """That no field leaves its domain, but for those that are asked about: else the step ends in no state."""
        return [self.frames[-1].term(expr) for name, expr in self.goals if name in self.domains and name not in but]

    def _unproved_goals(self) -> dict[str, Expr]:
        """The goals that their hints do not prove."""
        left = dict(self.goals)
        number_of = {self.lowered.problem.claims[number].name: number for number in self.task.goals}
        for name in [name for name, _ in self.goals if number_of.get(name) in self.task.hints]:
            number = number_of[name]
            hint = self.task.hints[number]
            pieces = self.lowered.pieces_after(self.step, number, hint.pieces) if hint.pieces else [left[name]]
            if number in self.task.assumed and self._follow(pieces, hint.assumed):
                del left[name]
        inside: dict[tuple[int, ...], list[str]] = {}
        for leaf, _ in self.step.overflows:
            field = self.lowered.problem.fields[leaf].name
            if field in self.task.hints:
                inside.setdefault(self.task.hints[field].assumed, []).append(_domain_goal(field))
        for assumed, names in inside.items():
            if self._follow([left[name] for name in names], assumed):
                left = {name: expr for name, expr in left.items() if name not in names}
        return left

    def _follow(self, goals: Sequence[Expr], assumed: Sequence[int]) -> bool:
        """Whether z3 proves goals from a few claims: all of them at once, or, where that is too much, in parts."""
        claims = [self.lowered.claim(number) for number in assumed]
        pending = [goals] if goals else []
        while pending:
            now = pending.pop()
            found = self._ask(now, claims, _PART_EFFORT if len(now) > 1 else 0)
            if found == "unknown" and len(now) > 1:
                size = -(-len(now) // 4)
                pending += [now[at : at + size] for at in range(0, len(now), size)]
            elif found != "unsat":
                return False
        return True

    def _ask(self, goals: Sequence[Expr], assumed: Sequence[Expr], effort: int) -> str:
        """z3's answer to: may one of the goals fail where these claims, the domains and the guard hold?"""
        frame = self.lowered.frame("", goals)
        solver = solver_within(self.lowered.timeout, effort)
        solver.add(*frame.domain_terms(), *(frame.term(expr) for expr in (self.guard, *assumed)))
        solver.add(some_of(z3.Not(frame.term(goal)) for goal in goals))
        found, _ = check(solver)
        self._alive()
        return found

    def _result(
        self,
        broken: list[BrokenGoals],
        open_claims: tuple[str, ...],
        reason: str,
        can_fire: bool | None,
        used: dict[str, tuple[str, ...]],
    ) -> StepAnswer:
        seconds = time.perf_counter() - self.begin
        return StepAnswer(len(self.goals), tuple(broken), open_claims, reason, seconds, can_fire, used)

    def _assumptions(self) -> list[Term]:
        """What is assumed apart from the claims: domains, the way to the last state, and the guard there."""
        terms = [term for frame in self.frames for term in frame.domain_terms()]
        if self.transitions is not None:
            for at in range(self.task.k - 1):
                terms += self.transitions.between(at)
        return [*terms, self.frames[-1].term(self.guard)]

    def _assuming(self) -> z3.Solver:
        solver = solver_within(self.lowered.timeout)
        solver.add(*self._assumptions())
        for frame in self.frames:
            solver.add(*(frame.term(expr) for expr in self.assumed))
        return solver

    def _write_smt2(self, path: Path) -> None:
        solver = self._assuming()
        solver.add(some_of(z3.Not(self.frames[-1].term(expr)) for _, expr in self.goals))
        subject = f"{self.step.label}: {', '.join(name for name, _ in self.goals)}"
        write_smt2(path, solver, subject, "unsat: every claim holds after the step")

    def _broken(self, solver: z3.Solver, goals: dict[str, Expr]) -> BrokenGoals:
        model = self._plainest(solver, goals)
        codes = [tuple(frame.codes(model)) for frame in self.frames]
        steps = [self._selected_step(model, at) for at in range(self.task.k - 1)]
        values = Evaluator(list(goals.values()))(codes[-1])
        claims = tuple(name for name, value in zip(goals, values, strict=True) if not value)
        return BrokenGoals(claims, tuple(codes), (*steps, self.task.step))

    def _selected_step(self, model: z3.ModelRef, at: int) -> int:
        assert self.transitions is not None
        fires = self.transitions.selectors(at)
        return next(number for number, fire in enumerate(fires) if z3.is_true(model.eval(fire)))

    def _plainest(self, solver: z3.Solver, goals: dict[str, Expr]) -> z3.ModelRef:
        """A counterexample in which as many fields as can be are as they are initially."""
        model = solver.model()
        # Bounded by effort and not by time: which counterexample is shown must not depend on how busy the machine is.
        solver.set("rlimit", _SIMPLIFY_EFFORT)
        vain = 0
        initial = self.lowered.problem.initial[0]
        for frame in self.frames:
            for leaf, item in enumerate(self.lowered.problem.fields):
                if not item.bits:
                    continue
                if vain == _SIMPLIFY_VAIN:
                    return model
                same = frame.variable(leaf) == initial[leaf]
                if z3.is_true(model.eval(same, model_completion=True)):
                    solver.add(same)
                    continue
                found, _ = check(solver, same)
                vain += found == "unknown"
                if found == "sat":
                    model = solver.model()
                    solver.add(same)
        return model

    def _minimise(self, can_fire: bool | None) -> StepAnswer:
        """Goal by goal, with the assumed claims that its proof needs: an unsatisfiable core, then one by one fewer."""
        names = [self.lowered.problem.claims[number].name for number in self.task.assumed]
        used: dict[str, tuple[str, ...]] = {}
        broken: list[BrokenGoals] = []
        undecided: list[str] = []
        why = ""
        labels = [z3.Bool(f"assume!{number}") for number in range(len(names))]
        solver = solver_within(self.lowered.timeout)
        solver.add(*self._assumptions())
        for frame in self.frames:
            solver.add(*(z3.Implies(label, frame.term(expr)) for label, expr in zip(labels, self.assumed, strict=True)))
        for name, expr in self.goals:
            solver.push()
            solver.add(z3.Not(self.frames[-1].term(expr)))
            found, reason = check(solver, *labels)
            self._alive()
            if found == "unsat":
                used[name] = tuple(names[number] for number in self._core(solver, labels))
            elif found == "unknown":
                undecided.append(name)
                why = reason
            else:
                solver.add(*labels, *self._inside(self.domains if name in self.domains else ()))
                found, reason = check(solver)
                self._alive()
                if found == "sat":
                    broken.append(self._broken(solver, {name: expr}))
                elif found == "unknown":
                    undecided.append(name)
                    why = reason
            solver.pop()
        return self._result(broken, tuple(undecided), why, can_fire, used)

    def _core(self, solver: z3.Solver, labels: list[Term]) -> list[int]:
        """The numbers of few labels that suffice; those of lemmas that come first are given up last."""

        def numbers() -> list[int]:
            core = {str(item) for item in solver.unsat_core()}
            return [number for number, label in enumerate(labels) if str(label) in core]

        core = numbers()
        for number in sorted(core, reverse=True):
            if number in core:
                fewer = [other for other in core if other != number]
                self._alive()
                if check(solver, *(labels[other] for other in fewer))[0] == "unsat":
                    left = set(numbers())
                    core = [other for other in fewer if other in left]
        return core


def _domain_goal(field: str) -> str:
    """The name of the goal that a field keeps its domain."""
    return f"{field} stays in its domain"
