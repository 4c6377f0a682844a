"""How far a validation has come, on stderr."""

from __future__ import annotations

import sys
import time

from acked.reports import units
from acked.reports.progress import LiveDisplay


class EventsExplained(LiveDisplay):
    """Counts events; use it in a `with` block, and call it with how many are explained."""

    def __init__(self, is_quiet: bool) -> None:
        super().__init__(sys.stderr, is_quiet)
        self._done, self._started = 0, time.monotonic()

    def __call__(self, done: int) -> None:
        self._done = done
        self.update()

    def line(self) -> str:
        """`120,000 events explained, 3.0 s`."""
        return f"{units.count(self._done)} events explained, {units.duration(time.monotonic() - self._started)}"
