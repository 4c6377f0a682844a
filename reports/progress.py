"""Progress on stderr while an engine works: one live line on a terminal, a plain line every ten seconds elsewhere.

An `Observer` that remembers what it is told, and the line made of it. On a terminal the line is drawn by a thread of its own
a few times a second, so the search only hands over its numbers; nothing is drawn, and rich is not even imported, before half
a second has passed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from acked.checker.observer import Observer, Progress
from acked.reports import units
from acked.reports.console import open_console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

PLAIN_INTERVAL = 10.0
"""Seconds between two plain lines."""

LIVE_DELAY = 0.5
"""Seconds before the live line appears; most questions are answered by then."""

_RATE_WINDOW = 2.0
"""Seconds of search that a rate is taken over, so that it tells of now and not of the past hour."""


class ProgressReporter(Observer):
    """Tells how a search goes; use it in a `with` block, which clears the live line however the search ends.

    `quiet` says nothing at all. `clock` (seconds, any origin) is for tests.
    """

    def __init__(
        self, stream: IO[str] | None = None, quiet: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._clock = clock
        self._is_live = not quiet and self._stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
        self._started = clock()
        self._next_line = self._started + PLAIN_INTERVAL
        self._phase = "starting"
        self._now: Progress | None = None
        self._meter = _Meter()
        self._lock = threading.Lock()
        self._is_closed = False
        self._console: Console | None = None
        self._live: Live | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if self._is_live:
            self._timer = threading.Timer(LIVE_DELAY, self._open_live)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Clears the live line; nothing is said afterwards."""
        with self._lock:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            if self._live is not None:
                self._live.stop()
                self._live = None

    # -- what engines tell ----------------------------------------------------------------------------------------

    def phase(self, name: str) -> None:
        """Remembers what is being done."""
        self._phase = name
        self._write_plain()

    def progress(self, now: Progress) -> None:
        """Remembers where the search stands."""
        self._now = now
        self._write_plain()

    # -- what people read -----------------------------------------------------------------------------------------

    def line(self) -> str:
        """The state of the work in one line."""
        elapsed = units.duration(max(self._clock() - self._started, 0.0))
        now = self._now
        if now is None:
            return f"{self._phase}, {elapsed}"
        distinct_rate, generated_rate = self._meter.rates(now)
        return (
            f"{self._phase}: depth {units.count(now.depth)}, "
            f"{units.count(now.distinct_states)} distinct ({distinct_rate}), "
            f"{units.count(now.generated_states)} generated ({generated_rate}), "
            f"{units.count(now.frontier)} left in this level, {units.size(now.memory_bytes)}, {elapsed}"
        )

    def short_line(self, width: int) -> str:
        """Like `line`, for `width` columns: what does not fit is left out, the least important first."""
        now = self._now
        text = f"{self._phase} {units.duration(max(self._clock() - self._started, 0.0))}"
        if now is None:
            return text
        distinct_rate, generated_rate = self._meter.rates(now)
        for piece in (
            f"depth {now.depth}",
            f"{units.short_count(now.distinct_states)} distinct ({distinct_rate})",
            f"{units.size(now.memory_bytes)}",
            f"{units.short_count(now.frontier)} left",
            f"{units.short_count(now.generated_states)} generated",
            f"({generated_rate})",
        ):
            if len(text) + 2 + len(piece) >= width:
                break
            text = f"{text}  {piece}"
        return text

    def _write_plain(self) -> None:
        if self._quiet or self._is_live or self._is_closed:
            return
        clock = self._clock()
        if clock < self._next_line:
            return
        self._next_line = clock + PLAIN_INTERVAL
        self._stream.write(f"{self.line()}\n")
        self._stream.flush()

    def _open_live(self) -> None:
        from rich.live import Live

        with self._lock:
            if self._is_closed:
                return
            self._console = open_console(self._stream)
            self._live = Live(
                get_renderable=self._render,
                console=self._console,
                transient=True,
                refresh_per_second=5,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def _render(self) -> Text:
        from rich.text import Text

        width = self._console.width if self._console is not None else 80
        return Text(self.short_line(width), no_wrap=True, overflow="ellipsis")


class _Meter:
    """States a second over the last seconds of search, rather than over all of it."""

    def __init__(self) -> None:
        self._older: Progress | None = None
        self._newer: Progress | None = None

    def rates(self, now: Progress) -> tuple[str, str]:
        """Distinct and generated states a second, in words."""
        if self._newer is None or now.seconds - self._newer.seconds >= _RATE_WINDOW:
            self._older, self._newer = self._newer, now
        base = self._older
        if base is None:
            return units.rate(now.distinct_states, now.seconds), units.rate(now.generated_states, now.seconds)
        seconds = now.seconds - base.seconds
        return (
            units.rate(now.distinct_states - base.distinct_states, seconds),
            units.rate(now.generated_states - base.generated_states, seconds),
        )
