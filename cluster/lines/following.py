"""Log files that are still written to: read to their ends, and on as they grow, until somebody says stop.

A file that is renamed or cut by rotation is read to its end before the next one is begun, and so are those that came and
went in between. All files are opened at once, so that none is missed whose name is another's by the time it is read. Nodes
write when they like, so events are merged by their times with some seconds' delay. What is held at a time is bounded: while
old lines are caught up with, nodes are read side by side.
"""

from __future__ import annotations

import glob
import heapq
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from typing import TextIO

from acked.cluster.lines.envelopes import Opener
from acked.cluster.lines.reading import MAX_LINE, bounded_lines, open_log, readable, refuse_long
from acked.cluster.observation.events import Event

DELAY = 3.0
"""Seconds for which an event waits for earlier ones of other nodes."""
ANOTHER = 0
"""In the place of a line, the number of the one before the next: the next is the first of another file."""
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
    _held: dict[str, TextIO] = field(default_factory=dict)

    def hold(self, files: Iterable[str]) -> None:
        """Opens files before any of them is read, because rotation gives their names to others."""
        for file in files:
            if (stream := _open(file)) is not None:
                self._held[file] = stream

    def close(self) -> None:
        """Of the files that were opened none is needed any more."""
        while self._held:
            self._held.popitem()[1].close()

    @contextmanager
    def read_finished(self, file: str) -> Iterator[Iterable[str]]:
        """The lines of a file that is not written to any more."""
        stream = self._held.pop(file, None) or _open(file)
        with stream or nullcontext(None) as found, readable(file):
            yield () if found is None else bounded_lines(found, file)

    @contextmanager
    def follow(self, file: str) -> Iterator[Iterator[str | int | None]]:
        """The lines of a file, and None wherever there is no more for now; they end when `stop` is set.

        `ANOTHER` stands where the lines of another file of this name begin.
        """
        tail = _Tail(file, self._held.pop(file, None) or _open(file))
        try:
            with readable(file):
                yield self._lines(tail)
        finally:
            tail.close()

    def _lines(self, tail: _Tail) -> Iterator[str | int | None]:
        while True:
            is_over = self.stop.is_set()
            yield from tail.grown()
            if is_over:
                return
            yield None

    def merge(self, streams: Sequence[Iterator[Event | None]]) -> Iterator[Event]:
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


def _open(file: str) -> TextIO | None:
    """The file, decompressed where its name says so; None where it is between two names."""
    with readable(file):
        try:
            return open_log(file)
        except FileNotFoundError:
            return None


class _Tail:
    """A file that grows, and may be replaced by another of its name."""

    def __init__(self, file: str, stream: TextIO | None) -> None:
        self._file, self._stream = file, stream
        self._begun, self._number = "", 0
        self._is_first, self._opened = True, Opener(file)
        self._firsts: set[str] = set()
        """First lines of what was read, by which a copy is known, such as a compressed one."""

    def grown(self) -> Iterator[str | int]:
        """The whole lines that are there and were not yet."""
        yield from self._rest()
        if self._is_replaced():
            yield from self._rest()  # What was written between the two looks.
            for name in (*self._came_and_went(), self._file):
                yield from self._begin(_open(name))

    def _begin(self, stream: TextIO | None) -> Iterator[str | int]:
        self.close()
        self._stream, self._begun, self._number, self._is_first = stream, "", 0, True
        self._opened = Opener(self._file)
        if stream is not None:
            yield ANOTHER
        yield from self._rest()

    def _rest(self) -> Iterator[str]:
        while self._stream is not None and (text := self._stream.readline(MAX_LINE + 1)):
            self._begun += text
            refuse_long(self._begun, self._file, self._number + 1)
            if not self._begun.endswith("\n"):
                return  # A line that is being written.
            whole, self._begun, self._number = self._begun, "", self._number + 1
            if self._is_first:
                self._firsts.add(whole)
                self._is_first = False
            yield self._opened(whole)

    def _is_replaced(self) -> bool:
        if self._stream is None:
            return True
        try:
            named = os.stat(self._file)
        except OSError:
            return False
        mine = os.fstat(self._stream.fileno())
        return _identity(named) != _identity(mine) or mine.st_size < self._stream.tell()

    def _came_and_went(self) -> list[str]:
        """Files that had this one's name after the one that was read, and have another by now, oldest first."""
        if self._stream is None:
            return []
        mine, found = os.fstat(self._stream.fileno()), []
        if mine.st_size < self._stream.tell():
            return []  # Cut, not renamed.
        for other in Path(self._file).parent.glob(f"{glob.escape(Path(self._file).name)}*"):
            try:
                told = other.stat()
            except OSError:
                continue
            if other != Path(self._file) and _identity(told) != _identity(mine) and told.st_mtime_ns > mine.st_mtime_ns:
                found.append((told.st_mtime_ns, str(other)))
        return [name for _, name in sorted(found) if self._is_new(name)]

    def _is_new(self, name: str) -> bool:
        stream = _open(name)
        with stream or nullcontext(None) as opened, readable(name):
            first = "" if opened is None else opened.readline(MAX_LINE)
        return first != "" and first not in self._firsts

    def close(self) -> None:
        """No more is read."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _identity(told: os.stat_result) -> tuple[int, int]:
    return told.st_dev, told.st_ino
