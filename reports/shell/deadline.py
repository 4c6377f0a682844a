"""A time limit for what may wait for others."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acked.base.errors import SystemFailure

if TYPE_CHECKING:
    from types import FrameType


class OverTime(SystemFailure):
    """What a time limit has ended."""


@contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Ends what takes longer with `OverTime`; brokers are then ended by those who started them."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise OverTime(f"the time limit of {seconds} seconds is over, and everything was stopped; raise --time-limit")

    if not hasattr(signal, "SIGALRM") or sys.platform == "win32":
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
