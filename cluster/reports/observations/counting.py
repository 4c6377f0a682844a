"""How far a validation has come, on stderr."""

from __future__ import annotations

import sys
import time

from acked.reports import units
from acked.reports.progress import Displayed, LiveDisplay, one_line


class EventsExplained(Displayed):
    """Counts events; use it in a `with` block, and call it with how many are explained."""

    def __init__(self, is_quiet: bool) -> None:
        self._done, self._started = 0, time.monotonic()
        self._display = LiveDisplay(sys.stderr, lambda console: one_line(console, self.line()), self.line, is_quiet)

    def __call__(self, done: int) -> None:
        self._done = done
        self._display.changed()

    def line(self) -> str:
        """`120,000 events explained, 3.0 s`."""
        return f"{units.count(self._done)} events explained, {units.duration(time.monotonic() - self._started)}"
