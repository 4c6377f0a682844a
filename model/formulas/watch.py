"""What an author's function asks beside its state: chance, the clock, files, the environment, the order of a set.

A protocol's functions are run when it is traced, not once per step: what they ask of the world is asked once, and every step
has that answer. `watch` refuses it. It sees calls of Python's own functions (`sys.setprofile`), and the order of sets in
files whose loops were told to ask (`note_order`, which `checker/spec` puts into protocol files). It does not see what
extension modules do by themselves; what comes of that differs, with luck, when an action is traced again (`Instance`).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from itertools import takewhile
from pathlib import Path as FilePath
from types import CodeType, FrameType
from typing import Any, TypeVar

from acked.model.formulas.errors import ModelError
from acked.model.formulas.functions import place_of, refuse_unmeant

T = TypeVar("T")

CHANGED = (
    "it depends on something outside the state, such as a list or a counter of its file, which is asked once and not once "
    "per step"
)

_OURS = f"{FilePath(__file__).parents[2]}{os.sep}"
"""What is shipped: tests trace that twice, and here it is taken for what it is."""

_CHANCE = "is drawn once, when the protocol is traced, and not once per step; a choice is a parameter of the action"
_WORLD = "is asked once, when the protocol is traced, and not once per step; nothing outside the state may decide a step"
_ORDER = "has no certain order: it differs from process to process; write sorted(…) around the set, or a tuple in its place"

_MODULES = {"time", "posix", "nt", "io", "_io", "_socket", "_posixsubprocess", "select"}
_NAMES = {"id", "hash", "input"}
_HARMLESS = tuple(f"{os.sep}{name}" for name in ("logging", "warnings.py", "linecache.py", "traceback.py"))


def is_shipped(function: object) -> bool:
    """Whether a function is one of the protocols that come with this package."""
    place = place_of(function)
    return place is not None and place[0].startswith(_OURS)


class _Watch:
    """The first thing that a function asked, and where."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.found: ModelError | None = None

    def call(self, frame: FrameType, event: str, called: Any) -> None:
        """A profile function."""
        if event == "c_call":
            what = _wrong_call(frame, called)
        elif event == "call" and frame.f_code is _ENVIRONMENT:
            what = f"the environment {_WORLD}"
        else:
            return
        if what and self.found is None:
            self.note(frame, what)

    def note(self, frame: FrameType | None, what: str) -> None:
        """What is asked is told, with the nearest line in the author's file, unless it is asked for a log, or an import."""
        frames = list(takewhile(lambda one: one.f_code.co_filename != self._file, _outwards(frame)))
        if any(_is_harmless(one.f_code.co_filename) for one in frames):
            return
        author = next((one for one in _outwards(frame) if one.f_code.co_filename == self._file), None)
        self.found = ModelError(what)
        self.found.place = None if author is None else (self._file, author.f_lineno)


_ENVIRONMENT: CodeType = type(os.environ).__getitem__.__code__

_WATCHING: ContextVar[_Watch | None] = ContextVar("acked_watch", default=None)


@contextmanager
def watch(function: object) -> Iterator[None]:
    """Refuses what the function asks beside its state, once it has run; of what is shipped tests see to that."""
    if is_shipped(function):
        yield
        return
    refuse_unmeant(function)
    place = place_of(function)
    sight, before = _Watch("" if place is None else place[0]), sys.getprofile()
    token, collects = _WATCHING.set(sight), gc.isenabled()
    gc.disable()  # What others have run at a collection is not asked by the function.
    sys.setprofile(sight.call)
    try:
        yield
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
        _WATCHING.reset(token)
    if sight.found is not None:
        raise sight.found


def note_order(iterated: T) -> T:
    """What is iterated over; if an author's function is watched, it is noted that it looks at a set's elements one by one."""
    sight = _WATCHING.get()
    if sight is not None and sight.found is None and _is_unordered(iterated):
        sight.note(sys._getframe(1), f"a {type(iterated).__name__} {_ORDER}")
    return iterated


def _is_unordered(iterated: object) -> bool:
    """Whether the order of its elements is not the same in every process; whole numbers are where they belong."""
    if not isinstance(iterated, (set, frozenset)) or len(iterated) < 2:
        return False
    return not all(isinstance(item, int) for item in iterated)


def _wrong_call(frame: FrameType, called: Any) -> str:
    """What is wrong with the call of one of Python's own functions; empty if nothing is."""
    owner, name, module = getattr(called, "__self__", None), called.__name__, getattr(called, "__module__", None)
    # Another thread may be importing that module, which then has no class yet.
    if isinstance(owner, getattr(sys.modules.get("random"), "Random", ())):
        return f"a random number {_CHANCE}"
    if module == "posix" and name == "urandom":
        return f"a random number {_CHANCE}"
    if module in _MODULES and name != "fspath":
        return f"{'the clock' if module == 'time' else f'what {name}(…) answers'} {_WORLD}"
    if isinstance(owner, type) and issubclass(owner, date) and name in ("now", "today", "utcnow"):
        return f"the clock {_WORLD}"
    if module == "builtins" and name in _NAMES and not frame.f_code.co_filename.startswith(_OURS):
        return f"{name}(…) differs from process to process, and so would the protocol; use what the state holds"
    if name == "pop" and _is_unordered(owner):
        return f"a {type(owner).__name__} {_ORDER}"
    return ""


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_harmless(file: str) -> bool:
    return file.startswith("<frozen importlib") or any(part in file for part in _HARMLESS)
