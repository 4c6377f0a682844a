"""How files of lines are opened and read: plain, compressed or on stdin, with bounds that no node's log comes near.

What a line may hold in memory is bounded, and so is how much more an archive may hold than it takes, so that whoever wrote a
file cannot make its reader run out of memory or read for hours. `SpecUnreadable` says so with the file and the line.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from acked.base.errors import SpecUnreadable
from acked.base.files import open_file
from acked.cluster.lines.envelopes import Opener

STDIN = "-"
MAX_LINE = 32 << 20
"""Characters of a line. A controller's line about a change of 100,000 partitions has some 20 million."""
_LOOKS = 64 << 20
"""Characters after which it is looked how much an archive holds."""
_MAX_RATIO = 250
"""Logs are a tenth to a fiftieth as large compressed; gzip can make a thousandth of what is the same all over."""


@contextmanager
def open_lines(file: str) -> Iterator[Iterable[str]]:
    """A log file's lines, decompressed where its name says so; `-` is what comes in on stdin. `SpecUnreadable` of none."""
    if file == STDIN:
        with readable("stdin"):
            yield bounded_lines(_stdin(), "stdin")
        return
    with readable(file), open_log(file) as stream:
        yield bounded_lines(stream, file)


def open_log(file: str) -> TextIO:
    """A log file, decompressed where its name says so; an OSError if it is no regular file or cannot be read."""
    raw = open_file(Path(file))
    unpacked = gzip.GzipFile(fileobj=raw) if file.endswith(".gz") else raw
    return io.TextIOWrapper(unpacked, encoding="utf-8", errors="replace")


def bounded_lines(stream: TextIO, file: str) -> Iterator[str]:
    """The lines of an open file, out of what stands around them."""
    number = read = 0
    looks, opened = _LOOKS, Opener(file)
    for line in iter(partial(stream.readline, MAX_LINE + 1), ""):
        number, read = number + 1, read + len(line)
        refuse_long(line, file, number)
        if read > looks:
            looks += _LOOKS
            _refuse_bomb(stream, file, read)
        yield line if opened.is_plain else opened(line)


def refuse_long(line: str, file: str, number: int) -> None:
    """`SpecUnreadable` of a line, or the beginning of one, that is longer than any of a node's."""
    if len(line) > MAX_LINE:
        raise SpecUnreadable(
            f"{file}:{number}: this line is longer than {MAX_LINE >> 20} million characters, so this is no log of a node; "
            "give the files that brokers and controllers wrote"
        )


def _refuse_bomb(stream: TextIO, file: str, read: int) -> None:
    """`SpecUnreadable` of an archive that holds far more than logs that take as much."""
    unpacked = getattr(stream, "buffer", None)
    packed = unpacked.fileobj if isinstance(unpacked, gzip.GzipFile) else None
    if isinstance(packed, io.BufferedReader) and read > _MAX_RATIO * packed.tell():
        raise SpecUnreadable(
            f"{file} holds more than {_MAX_RATIO} times what it takes, as no compressed log does; unpack it with gunzip if "
            "you trust it, and give the file"
        )


@contextmanager
def readable(file: str) -> Iterator[None]:
    """`SpecUnreadable` with the file's name where the system cannot read it, or it is damaged."""
    try:
        yield
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise SpecUnreadable(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _stdin() -> TextIO:
    """Standard input, where bytes that are no text are told as in a file."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    return sys.stdin
