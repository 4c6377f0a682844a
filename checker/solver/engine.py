"""What a solver process does with its tasks: steps of an induction, and bounded model checking, in z3.

Importing this module imports z3: only solver processes do so.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import z3

from acked.checker.solver.problem import Problem
from acked.checker.solver.queries import all_of, some_of, write_smt2
from acked.checker.solver.step_proof import StepProof
from acked.checker.solver.tasks import BoundedAnswer, BoundedTask, InitialTask, StepAnswer, StepTask
from acked.checker.solver.terms import LoweredProblem
from acked.checker.solver.unrolling import Unrolling

Emit = Callable[[Any], None]


class SolverProcess:
    """Answers tasks about one problem; what it has lowered for one task it keeps for the next."""

    def __init__(self, problem: Problem, timeout: float) -> None:
        self.lowered = LoweredProblem(problem, timeout)

    def answer(self, task: StepTask | BoundedTask | InitialTask, emit: Emit) -> StepAnswer | BoundedAnswer | None:
        """The answer to a task; `emit` is given what is known before that."""
        if isinstance(task, InitialTask):
            self._write_initial(task)
            return None
        if isinstance(task, StepTask):
            return StepProof(self.lowered, task, emit).answer()
        return Unrolling(self.lowered, task, emit).answer()

    def _write_initial(self, task: InitialTask) -> None:
        goals = [self.lowered.claim(number) for number in task.goals]
        frame = self.lowered.frame("", goals)
        solver = z3.SolverFor("QF_BV")
        solver.add(some_of(all_of(frame.is_state(codes)) for codes in self.lowered.problem.initial))
        solver.add(some_of(z3.Not(frame.term(goal)) for goal in goals))
        names = ", ".join(self.lowered.problem.claims[number].name for number in task.goals)
        write_smt2(Path(task.smt2), solver, f"initial state: {names}", "unsat: every claim holds initially")
