"""Log files that are still written to: read to their ends, and on as they grow, until somebody says stop.

A file that is renamed or cut by rotation is read to its end before the new one is begun. Nodes write when they like, so
events are merged by their times with some seconds' delay. What is held at a time is bounded: while old lines are caught
up with, nodes are read side by side.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event as Flag
from typing import TextIO

from acked.checker.errors import SpecUnreadable
from acked.checker.observation.events import Event

DELAY = 3.0
"""Seconds for which an event waits for earlier ones of other nodes."""
_AHEAD_MS = 5_000
"""How far one node's lines are read ahead of another's that has more to say."""
_PAUSE = 0.2


@dataclass
class Following:
    """How files are followed: until `stop` is set; `looks` is called at every look at the files."""

    stop: Flag = field(default_factory=Flag)
    looks: Callable[[], None] = lambda: None
    pause: float = _PAUSE
    delay: float = DELAY

    @contextmanager
    def opened(self, file: str) -> Iterator[Iterator[str | None]]:
        """The lines of a file, and None wherever there is no more for now; they end when `stop` is set."""
        tail = _Tail(file)
        try:
            yield self._lines(tail)
        finally:
            tail.close()

    def _lines(self, tail: _Tail) -> Iterator[str | None]:
        while True:
            is_over = self.stop.is_set()
            yield from tail.grown()
            if is_over:
                return
            yield None

    def merged(self, streams: Sequence[Iterator[Event | None]]) -> Iterator[Event]:
        """The events of all nodes by their times; a stream gives None where it has no more for now."""
        nodes = [_Stream(stream) for stream in streams]
        waiting: list[tuple[int, int, Event]] = []
        number, newest, heard = 0, 0, time.monotonic()
        while nodes:
            came = 0
            for node in nodes:
                for event in node.some(_floor(nodes) + _AHEAD_MS):
                    number, came, newest = number + 1, came + 1, max(newest, event.at)
                    heapq.heappush(waiting, (event.at, number, event))
            nodes = [node for node in nodes if not node.is_over]
            heard = time.monotonic() if came else heard
            is_quiet = time.monotonic() - heard > self.delay
            until = newest if is_quiet or not nodes else min(_floor(nodes), newest - int(1000 * self.delay))
            while waiting and waiting[0][0] <= until:
                yield heapq.heappop(waiting)[-1]
            self.looks()
            if not came:
                self.stop.wait(self.pause)
        while waiting:
            yield heapq.heappop(waiting)[-1]


@dataclass
class _Stream:
    """One node's events; `last` is the time of the newest, `is_idle` that there is no more for now."""

    events: Iterator[Event | None]
    last: int = 0
    is_idle: bool = False
    is_over: bool = False

    def some(self, until: int) -> Iterator[Event]:
        """Events up to a time, as far as there are any now."""
        self.is_idle = False
        while self.last <= until:
            try:
                event = next(self.events)
            except StopIteration:
                self.is_over = self.is_idle = True
                return
            if event is None:
                self.is_idle = True
                return
            self.last = max(self.last, event.at)
            yield event


def _floor(nodes: Sequence[_Stream]) -> int:
    """Up to when every node that has more to say has been read."""
    return min((node.last for node in nodes if not node.is_idle), default=1 << 62)


class _Tail:
    """A file that grows, and may be replaced by another of its name."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stream: TextIO | None = self._open()
        self._begun = ""

    def _open(self) -> TextIO | None:
        try:
            return open(self._file, encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None  # Between two names; it comes.
        except OSError as error:
            raise SpecUnreadable(f"{self._file} cannot be read: {error.strerror}") from error

    def grown(self) -> Iterator[str]:
        """The whole lines that are there and were not yet."""
        yield from self._rest()
        if self._is_replaced():
            yield from self._rest()  # What was written between the two looks.
            self.close()
            self._stream, self._begun = self._open(), ""
            yield from self._rest()

    def _rest(self) -> Iterator[str]:
        while self._stream is not None and (text := self._stream.readline()):
            self._begun += text
            if not self._begun.endswith("\n"):
                return  # A line that is being written.
            whole, self._begun = self._begun, ""
            yield whole

    def _is_replaced(self) -> bool:
        if self._stream is None:
            return True
        try:
            named = os.stat(self._file)
        except OSError:
            return False
        mine = os.fstat(self._stream.fileno())
        return (named.st_dev, named.st_ino) != (mine.st_dev, mine.st_ino) or mine.st_size < self._stream.tell()

    def close(self) -> None:
        """No more is read."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
