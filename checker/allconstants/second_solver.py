"""What a process does that asks cvc5 about obligations: a text, and whether it is unsatisfiable.

Importing this module imports cvc5, which only the extra `certificates` brings: only processes that check certificates do so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import cvc5

from acked.checker.solver.tasks import TextAnswer, TextTask

WAYS: tuple[tuple[int, Mapping[str, str]], ...] = (
    (60_000, {}),
    (200_000, {"user-pat": "resort"}),
    (400_000, {"user-pat": "use", "relational-triggers": "true"}),
    (400_000, {"user-pat": "ignore", "enum-inst": "true"}),
    (400_000, {"user-pat": "resort", "seed": "1"}),
)
"""How much cvc5 may do, in its own count of resources (100,000 take half a second or so), and its options.

Tried one after the other; a refutation in any way is one, so they may be others tomorrow.

How far the patterns of our clauses are heeded (`user-pat`) makes the difference: as they are, beside those that cvc5 chooses
once its own lead nowhere (resort), together with them, or not at all.
"""


class SecondSolver:
    """Answers tasks; no query may take more than `seconds`."""

    def __init__(self, problem: None, seconds: float) -> None:
        self._seconds = seconds

    def answer(self, task: TextTask, emit: Callable[[Any], None]) -> TextAnswer:
        """What cvc5 says; `emit` is called before each query, which may take its whole time."""
        started = time.perf_counter()
        for number, (effort, options) in enumerate(WAYS):
            emit(None)
            answer = self._ask(task.text, effort, options)
            if answer != "unknown":
                return TextAnswer(answer, number, time.perf_counter() - started)
        return TextAnswer("unknown", 0, time.perf_counter() - started, "cvc5 found no refutation within its limits")

    def _ask(self, text: str, effort: int, options: Mapping[str, str]) -> str:
        """One query, by a solver of its own; `ValueError` if it does not end with an answer."""
        solver = cvc5.Solver()
        limits = {"rlimit-per": str(effort), "tlimit-per": str(max(int(self._seconds * 1000), 1))}
        for name, value in {**limits, **options}.items():
            solver.setOption(name, value)
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
        said = ""
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, parser.getSymbolManager())
        answer = said.strip()
        if answer not in ("unsat", "sat", "unknown"):
            raise ValueError(f"cvc5 says {answer[:200]!r} instead of unsat, sat or unknown")
        return answer
