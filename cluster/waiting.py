"""Waiting for something to be seen: every step of a run ends by an observation, never by a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from acked.base.errors import SystemFailure

T = TypeVar("T")
PAUSE = 0.02
"""Seconds between two looks."""


class NotSeen(SystemFailure):
    """What a step waits for was not seen in time."""


def wait_for(look: Callable[[], T | None], what: str, seconds: float, check: Callable[[], None] | None = None) -> T:
    """What `look` returns as soon as it is true; `NotSeen` names `what`, with the last error of a look that failed.

    `check` is called between looks and may raise what makes waiting pointless, such as the exit of a broker.
    """
    end = time.monotonic() + seconds
    reason = ""
    while True:
        try:
            found = look()
            if found:
                return found
            reason = ""
        except SystemFailure as error:
            reason = f" (last: {error})"
        if check is not None:
            check()
        if time.monotonic() >= end:
            raise NotSeen(f"{what} was not seen within {seconds:g} seconds{reason}")
        time.sleep(PAUSE)
