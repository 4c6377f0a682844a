"""What a command printed before, kept in the cache under everything that it is made of: acked, its specs, the terminal."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import TextIO

from acked.base.cache import store_in
from acked.base.files import PACKAGE, ROOMS
from acked.base.sources import sources_hash
from acked.base.version import __version__

_FORMAT = "acked-text/1"
_MADE_OF = (*ROOMS, "asking", "commands", "specs")
_TERMINAL = ("COLORTERM", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
"""Variables by which rich chooses width and colours, beside the size of the terminal."""


def kept_text(asked: Sequence[object], show: Callable[[], None]) -> str:
    """What `show` prints, which depends on nothing but what was `asked`; from the cache if it is there.

    A text that is older than a file of ours is made anew, in its place.
    """
    store, name = store_in("texts"), _name(asked)
    made_of = f"{_FORMAT} {__version__} {sources_hash(_MADE_OF)}\n"
    kept = None if store is None else store.known(name)
    known = "" if kept is None else kept.decode("utf-8", "surrogatepass")
    if known.startswith(made_of):
        return known.removeprefix(made_of)
    with redirect_stdout(_Sheet(sys.stdout)) as sheet:
        show()
    text = sheet.getvalue()
    if store is not None:
        store.write(name, f"{made_of}{text}".encode("utf-8", "surrogatepass"))
    return text


class _Sheet(StringIO):
    """A text that is written as it would be to a stream: to a terminal with colours, with the characters that it has."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._is_terminal, self._encoding = stream.isatty(), stream.encoding

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def _name(asked: Sequence[object]) -> str:
    terminal = [sys.stdout.isatty(), sys.stdout.encoding, *map(os.environ.get, _TERMINAL), *map(_size, range(3))]
    return f"{hashlib.sha256(json.dumps([str(PACKAGE), *asked, *terminal]).encode()).hexdigest()}.txt"


def _size(stream: int) -> tuple[int, ...] | None:
    try:
        return tuple(os.get_terminal_size(stream))
    except OSError:
        return None
