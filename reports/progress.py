"""Progress while something works: one live region on a terminal, a plain line every ten seconds elsewhere, or silence.

`LiveDisplay` decides which of them, and when. What is shown is a search (`ProgressReporter`, an `Observer` that remembers
what an engine reports), the searches of a batch (`BatchProgress`) and the specs of a gate (in `reports/gate`). On a
terminal the content is drawn by a thread of its own a few times a second, so the search only hands over its numbers;
nothing is drawn, and rich is not even imported, before half a second has passed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from acked.base.bounds import DISPENSABLE
from acked.checker.question.observer import Observer, Progress
from acked.reports import units
from acked.reports.console import Console, open_console, open_terminal

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import RenderableType
    from rich.live import Live
    from rich.text import Text

PLAIN_INTERVAL = 10.0
"""Seconds between two plain lines."""

LIVE_DELAY = 0.5
"""Seconds before the live region appears; most questions are answered by then."""

_RATE_WINDOW = 2.0
"""Seconds of search that a rate is taken over, so that it is of now and not of the past hour."""

Clock = Callable[[], float]
"""Seconds, from any origin."""


class LiveDisplay:
    """Shows how work goes; use it in a `with` block, which clears the live region however the work ends.

    With `is_quiet` nothing is shown.
    """

    def __init__(self, stream: IO[str], is_quiet: bool = False, clock: Clock = time.monotonic) -> None:
        self._stream, self._is_quiet, self._clock = stream, is_quiet, clock
        self._is_live = not is_quiet and stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")
        self._next_line = clock() + PLAIN_INTERVAL
        self._lock = threading.Lock()
        self._is_closed = False
        self._console: RichConsole | None = None
        self._live: Live | None = None
        self._timer: threading.Timer | None = None
        self._ended = threading.Event()

    def line(self) -> str:
        """How it goes, for a stream that is not a terminal which can redraw."""
        raise NotImplementedError

    def draw(self, console: Console) -> RenderableType:
        """How it goes, for the live region."""
        return one_line(console, self.line())

    def __enter__(self) -> Self:
        if not self._is_live and not self._is_quiet:
            # What is waited for may report nothing for long, such as the start of Spark.
            threading.Thread(target=self._go_on, name=DISPENSABLE, daemon=True).start()
        if self._is_live:
            self._timer = threading.Timer(LIVE_DELAY, self._open)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Clears the live region; nothing is shown afterwards."""
        self._ended.set()
        with self._lock:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            if self._live is not None:
                self._live.stop()
                self._live = None

    def update(self) -> None:
        """Writes a plain line if one is due; a live region draws itself."""
        if self._is_quiet or self._is_live:
            return
        with self._lock:
            now = self._clock()
            if self._is_closed or now < self._next_line:
                return
            self._next_line = now + PLAIN_INTERVAL
            self._stream.write(f"{self.line()}\n")
            self._stream.flush()

    def above(self, write: Callable[[Console], None]) -> None:
        """Writes what is to stay, above the live region; the next plain line is then not due for a while."""
        if self._is_quiet:
            return
        with self._lock:
            if self._is_live:
                self._console = self._console or open_terminal(self._stream)
            console = self._console or open_console(self._stream)
        write(console)
        self._stream.flush()  # A job's log shows it now, not at the end.
        self._next_line = self._clock() + PLAIN_INTERVAL

    def _go_on(self) -> None:
        while not self._ended.wait(PLAIN_INTERVAL):
            self.update()

    def _open(self) -> None:
        from rich.live import Live

        with self._lock:
            if self._is_closed:
                return
            console = self._console = self._console or open_terminal(self._stream)
            self._live = Live(
                get_renderable=lambda: self.draw(console),
                console=console,
                transient=True,
                refresh_per_second=5,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()


def one_line(console: Console, text: str) -> Text:
    """A line that is cut where the console ends."""
    from rich.text import Text

    return Text(text[: console.width], no_wrap=True, overflow="ellipsis")


class BatchProgress(LiveDisplay):
    """How many of many are done: a callable of (done, total); `noun` says what they are, in the plural."""

    def __init__(self, noun: str, stream: IO[str] | None = None, quiet: bool = False, clock: Clock = time.monotonic) -> None:
        super().__init__(sys.stderr if stream is None else stream, quiet, clock)
        self._noun, self._started = noun, clock()
        self._done, self._total = 0, 0

    def __call__(self, done: int, total: int) -> None:
        self._done, self._total = done, total
        self.update()

    def line(self) -> str:
        """`3 of 12 searches done, 14.0 s`."""
        elapsed = units.duration(max(self._clock() - self._started, 0.0))
        if not self._total:
            return f"starting, {elapsed}"
        return f"{units.count(self._done)} of {units.count(self._total)} {self._noun} done, {elapsed}"


class ProgressReporter(LiveDisplay, Observer):
    """Shows how a search goes; use it in a `with` block.

    `quiet` shows nothing at all. `clock` is for tests.
    """

    def __init__(self, stream: IO[str] | None = None, quiet: bool = False, clock: Clock = time.monotonic) -> None:
        super().__init__(sys.stderr if stream is None else stream, quiet, clock)
        self._started = clock()
        self._phase = "starting"
        self._now: Progress | None = None
        self._meter = _Meter()

    # -- what engines report ----------------------------------------------------------------------------------------

    def phase(self, name: str) -> None:
        """Remembers what is being done."""
        self._phase = name
        self.update()

    def progress(self, now: Progress) -> None:
        """Remembers where the search stands."""
        self._now = now
        self.update()

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

    def draw(self, console: Console) -> RenderableType:
        """As much of it as fits."""
        return one_line(console, self.short_line(console.width))

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
