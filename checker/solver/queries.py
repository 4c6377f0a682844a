"""Queries to z3 within their limits: steps, which are the same on every machine, and seconds, which a user sets.

Importing this module imports z3: only solver processes do so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import z3

Solver = TypeVar("Solver", bound=z3.Solver)

Term = Any
"""An expression of z3, whose Python types say nothing of sorts."""

_LONGEST = (1 << 31) - 1
"""Milliseconds; more would be no limit at all."""


class OutOfTime(Exception):
    """A query was cut short by its limit in seconds; whatever is tried instead would need that time again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"z3 did not answer within {seconds:g} s")


def bound(solver: Solver, seconds: float, effort: int = 0) -> Solver:
    """The solver, bounded in seconds and in z3's own count of steps for each query; 0 for no limit."""
    if seconds:
        solver.set("timeout", min(max(1, int(seconds * 1000)), _LONGEST))
    if effort:
        solver.set("rlimit", effort)
    return solver


def ask(solver: z3.Solver, seconds: float, *assumptions: Term) -> z3.CheckSatResult:
    """z3's answer; `OutOfTime` if there is none because the seconds are over."""
    begin = time.monotonic()
    answer = solver.check(*assumptions)
    if answer == z3.unknown and seconds and time.monotonic() - begin >= seconds:
        raise OutOfTime(seconds)
    return answer


def some_of(terms: Iterable[Term]) -> Term:
    """That one of them holds; in SMT-LIB, which some solvers take at its word, "or" has at least two operands."""
    several = list(terms)
    if len(several) > 1:
        return z3.Or(several)
    return several[0] if several else z3.BoolVal(False)


def all_of(terms: Iterable[Term]) -> Term:
    """That each of them holds."""
    several = list(terms)
    if len(several) > 1:
        return z3.And(several)
    return several[0] if several else z3.BoolVal(True)


def solver_within(seconds: float, effort: int = 0) -> z3.Solver:
    """A new solver of bit-vectors within its limits; see `bound`."""
    return bound(z3.SolverFor("QF_BV"), seconds, effort)


def check(solver: z3.Solver, *assumptions: Term) -> tuple[str, str]:
    """`sat`, `unsat` or `unknown`, and in the last case why."""
    answer = solver.check(*assumptions)
    if answer == z3.sat:
        return "sat", ""
    if answer == z3.unsat:
        return "unsat", ""
    return "unknown", solver.reason_unknown()


def write_smt2(path: Path, solver: z3.Solver, subject: str, meaning: str) -> None:
    """One query as a file that any SMT-LIB solver reads."""
    body = solver.to_smt2().split("\n", 2)  # z3 begins with a comment and an empty status line.
    text = "\n".join(line for line in body if not line.startswith(("; benchmark", "(set-info")))
    safe = subject.replace("\n", " ")
    path.write_text(f"; {safe}\n; {meaning}\n(set-logic QF_BV)\n{text}", encoding="utf-8")
