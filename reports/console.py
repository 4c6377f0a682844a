"""The terminal as reports write to it: when there is colour, which characters it shows, hostile text made harmless.

rich takes longer to import than a small command may take to start, so it is imported where it is first needed.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any, Protocol

from acked.base.frozen import frozen

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.text import Text

_UNSAFE = "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Control characters, and those that reorder the text around them: a title must not be able to repaint the screen."""

_USUAL_WIDTH = 80
"""Columns where nothing says how many there are."""

Span = tuple[str, str]
"""A piece of text and its rich style."""


class Console(Protocol):
    """What reports ask of a console; rich's is one."""

    @property
    def width(self) -> int:
        """Columns."""

    @property
    def encoding(self) -> str:
        """Of its stream."""

    @property
    def is_terminal(self) -> bool:
        """Whether people look at it."""

    def print(self, *lines: Any, **how: Any) -> None:
        """Writes lines."""


@frozen
class Glyphs:
    """The characters that a drawing is made of."""

    edge: str
    watermark: str
    dot: str
    removed: str
    good: str
    bad: str
    open: str


UNICODE = Glyphs(edge="│", watermark="║", dot="·", removed="×", good="✓", bad="✗", open="?")
ASCII = Glyphs(edge="|", watermark="#", dot=".", removed="x", good="+", bad="!", open="?")


@frozen
class PlainConsole:
    """A console on what is no terminal: lines without styles, as rich writes them there, and without importing it.

    `columns` is None if the environment says how many there are, or a terminal that the command was given besides.
    """

    stream: IO[str]
    columns: int | None = None
    is_terminal = False

    @cached_property
    def width(self) -> int:
        """Columns."""
        return self.columns if self.columns is not None else _columns()

    @cached_property
    def encoding(self) -> str:
        """Of its stream."""
        return (getattr(self.stream, "encoding", None) or "utf-8").lower()

    def print(self, *lines: Any, **how: Any) -> None:
        """Writes lines, at once: another stream may go to the same place."""
        self.stream.write(f"{chr(10).join(map(str, lines))}\n")
        self.stream.flush()


def _columns() -> int:
    said = os.environ.get("COLUMNS", "")
    if said.isdigit() and int(said):
        return int(said)
    for number in range(3):
        with suppress(OSError):
            return os.get_terminal_size(number).columns or _USUAL_WIDTH
    return _USUAL_WIDTH


def open_console(stream: IO[str], width: int | None = None) -> Console:
    """A console on `stream`: colour only on a terminal without NO_COLOR, whatever else the environment asks for."""
    return open_terminal(stream, width) if stream.isatty() else PlainConsole(stream, width)


def open_terminal(stream: IO[str], width: int | None = None) -> RichConsole:
    """As `open_console`, on what is taken for a terminal: rich's, which can also redraw."""
    from rich.console import Console

    return Console(file=stream, width=width, force_terminal=True, markup=False, emoji=False, highlight=False)


def glyphs_of(console: Console) -> Glyphs:
    """The characters that the console's stream can encode."""
    try:
        "".join(vars(UNICODE).values()).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def harmless(text: object) -> str:
    """Text whose control characters, and those that reorder what is around them, are shown as escapes."""
    told = str(text)
    if told.isprintable():  # Nearly always, and then nobody waits for what finds the others.
        return told
    return re.sub(_UNSAFE, lambda found: found[0].encode("unicode_escape").decode(), told)


def clean(text: object, console: Console) -> str:
    """One harmless line of text in which also what the stream cannot encode is shown as escapes."""
    line = harmless(text)
    try:
        return line.encode(console.encoding, "backslashreplace").decode(console.encoding)
    except LookupError:
        return line.encode("ascii", "backslashreplace").decode("ascii")


def style_line(spans: list[Span]) -> Text:
    """A line of styled pieces."""
    from rich.text import Text

    line = Text(no_wrap=True, end="\n")
    for text, style in spans:
        line.append(text, style)
    return line


def put(console: Console, spans: list[Span]) -> None:
    """Writes one line as it is, without wrapping or cropping; blanks at its end are left out."""
    if isinstance(console, PlainConsole):
        console.print("".join(text for text, _ in spans).rstrip())
        return
    line = style_line(spans)
    if not line.spans or not console.is_terminal:
        line.rstrip()
    console.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)


def flow(first: list[Span], items: Sequence[Span], column: int, width: int, gap: int = 1) -> Iterator[list[Span]]:
    """The items after `first`, each whole, on as many lines as they need; every line's items begin at `column`."""
    line = [*first, (" " * (column - sum(len(text) for text, _ in first)), "")]
    used, is_empty = column, True
    for text, style in items:
        if not is_empty and used + gap + len(text.rstrip()) > width:
            yield line
            line, used, is_empty = [(" " * column, "")], column, True
        blanks = 0 if is_empty else gap
        line += [(" " * blanks, ""), (text, style)]
        used, is_empty = used + blanks + len(text), False
    yield line


def put_paragraph(console: Console, text: str, style: str = "", first: str = "", rest: str = "") -> None:
    """Writes text wrapped to the width; `first` and `rest` are put before the first and the other lines."""
    room = max(console.width - max(len(first), len(rest)), 16)
    lines = textwrap.wrap(clean(text, console), room, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        put(console, [(rest if number else first, ""), (line, style)])
