"""One query to z3 within its limits: steps, which are the same on every machine, and seconds, which a user sets.

Importing this module imports z3: only solver processes do so.
"""

from __future__ import annotations

import time
from typing import Any

import z3

_LONGEST = (1 << 31) - 1
"""Milliseconds; more would be no limit at all."""


class OutOfTime(Exception):
    """A query was cut short by its limit in seconds; whatever is tried instead would need that time again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"z3 did not answer within {seconds:g} s")


def bound(solver: Any, seconds: float, effort: int = 0) -> Any:
    """The solver, bounded in seconds and in z3's own count of steps for each query; 0 for no limit."""
    if seconds:
        solver.set("timeout", min(max(1, int(seconds * 1000)), _LONGEST))
    if effort:
        solver.set("rlimit", effort)
    return solver


def ask(solver: Any, seconds: float, *assumptions: Any) -> Any:
    """z3's answer; `OutOfTime` if there is none because the seconds are over."""
    begin = time.monotonic()
    answer = solver.check(*assumptions)
    if answer == z3.unknown and seconds and time.monotonic() - begin >= seconds:
        raise OutOfTime(seconds)
    return answer
