"""A format as one record: what it is called, which suffixes its files have, how a text shows it, and how that is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum, unique
from functools import cached_property
from itertools import islice
from pathlib import PurePath

from acked.base.frozen import frozen
from acked.cluster.vocabulary.note import Read

_COMMENT = re.compile(r"^\s*[#!]")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|$)")


@unique
class Sign(IntEnum):
    """How surely a file is in a format; of several the surest counts, and of equals the first in `READERS`."""

    NONE = 0
    LIKELY = 1
    """It resembles it: what refuses files of others is as sure."""
    NAMED = 2
    """Its suffix is one of the format's, whatever it holds."""
    CERTAIN = 3
    """Nothing else looks like this, whatever its suffix."""


@frozen
class Source:
    """A file as it is read; its name is what people called it, with the suffix that they gave it."""

    name: str
    text: str

    @property
    def suffix(self) -> str:
        """`.yml`, in lower case."""
        return PurePath(self.name).suffix.lower()

    @cached_property
    def lines(self) -> Sequence[tuple[int, str]]:
        """The lines with something in them, by their numbers from 1, without comments of properties."""
        return tuple(self._lines())

    @cached_property
    def first_lines(self) -> Sequence[tuple[int, str]]:
        """The first two of `lines`, for which the others are not read."""
        return tuple(islice(self._lines(), 2))

    def _lines(self) -> Iterator[tuple[int, str]]:
        numbered = enumerate(_LINE.finditer(self.text), 1)
        return ((at, found[1]) for at, found in numbered if found[1].strip() and not _COMMENT.match(found[1]))


@frozen
class Reader:
    """A format; `recognises` tells how surely a text shows it, whatever the file's suffix.

    `read` gives what a file says, and what it notes besides; `SpecUnreadable` says what is wrong with it. A file that says
    nothing is an error, unless the format's `is_complete` without a setting.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Source], Sign]
    read: Callable[[str, str], Iterable[Read]]
    is_complete: bool = False

    def sign(self, source: Source) -> Sign:
        """How surely a file is in this format, its suffix counted."""
        return max(self.recognises(source), Sign.NAMED if source.suffix in self.suffixes else Sign.NONE)
