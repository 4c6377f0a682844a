"""A table as a value, and the three ways to show it: in the terminal, as Markdown, as CSV."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from enum import Enum, unique
from itertools import zip_longest

from acked.base.frozen import frozen
from acked.reports.console import UNICODE, Console, Glyphs, Span, clean, glyphs_of, put, put_paragraph
from acked.reports.escaping import csv_text, md_code, md_text


@unique
class Mark(Enum):
    """The sign before an answer; each console draws it with the characters that it has."""

    NONE = ""
    GOOD = "good"
    BAD = "bad"
    OPEN = "open"

    def sign(self, glyphs: Glyphs) -> str:
        """The character and a blank; empty for none."""
        if self is Mark.NONE:
            return ""
        return f"{({Mark.GOOD: glyphs.good, Mark.BAD: glyphs.bad, Mark.OPEN: glyphs.open})[self]} "


@unique
class ColumnKind(Enum):
    """What a column holds: numbers stand at the right, code is shown as code where that exists."""

    TEXT = "text"
    NUMBER = "number"
    CODE = "code"
    MARKDOWN = "markdown"  # Cells that are Markdown of ours already: links, code. Only for documents in Markdown.


@frozen
class Column:
    """A column; its title may be empty."""

    title: str
    kind: ColumnKind = ColumnKind.TEXT


def numbers(title: str) -> Column:
    """A column of numbers."""
    return Column(title, ColumnKind.NUMBER)


@frozen
class TableCell:
    """A text with the sign before it; `style` is rich's, for the terminal.

    `value` is what CSV gets; without one it gets the text. `link` is the id of the place on a page that tells more.
    """

    text: str
    style: str = ""
    mark: Mark = Mark.NONE
    value: object = None
    link: str = ""

    @property
    def marked(self) -> str:
        """The text behind its sign, from which no line break parts it."""
        return self.mark.sign(UNICODE).replace(" ", "\u00a0") + self.text


@frozen
class Table:
    """Columns, and rows with a cell for each of them. `title` stands above the table where there is one."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    title: str = ""


def table(columns: Iterable[str | Column], rows: Iterable[Iterable[str | TableCell]], title: str = "") -> Table:
    """A table in which plain texts stand for columns and cells that are only text."""
    return Table(
        tuple(Column(item) if isinstance(item, str) else item for item in columns),
        tuple(tuple(TableCell(item) if isinstance(item, str) else item for item in row) for row in rows),
        title,
    )


_APART = 3
"""Blanks between columns."""


def print_table(console: Console, shown: Table, is_narrow: bool = False) -> None:
    """Writes the table, aligned and without frames; if `is_narrow`, with columns closer together than otherwise.

    Where the width does not take them, the first column folds, then the last, then those between; one of numbers does not.
    """
    if shown.title:
        put_paragraph(console, shown.title, "bold")
    kinds = [ColumnKind.TEXT, *(column.kind for column in shown.columns[1:])]  # What a row is about stands at the left.
    titles = [clean(column.title, console) for column in shown.columns]
    columns = [(title, kind is ColumnKind.NUMBER) for title, kind in zip(titles, kinds, strict=True)]
    _put_rows(console, columns, _spans(console, shown), _APART - is_narrow)


def fits(console: Console, shown: Table, is_narrow: bool = False) -> bool:
    """Whether the console is wide enough for every column as it is."""
    heads = [clean(column.title, console) for column in shown.columns]
    widths = _widths(heads, _spans(console, shown))
    return 2 + sum(widths) + (_APART - is_narrow) * (len(widths) - 1) <= console.width


def _spans(console: Console, shown: Table) -> list[list[Span]]:
    glyphs = glyphs_of(console)
    return [[(f"{cell.mark.sign(glyphs)}{clean(cell.text, console)}", cell.style) for cell in row] for row in shown.rows]


def _widths(heads: Sequence[str], rows: Sequence[Sequence[Span]]) -> list[int]:
    return [
        max(len(head), *(len(row[at][0]) for row in rows)) if rows else len(head) for at, head in enumerate(heads)
    ]


def _put_rows(console: Console, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[Span]], apart: int) -> None:
    """Columns are (heading, is it numbers)."""
    widths = _widths([heading for heading, _ in columns], rows)
    _fit(widths, _floors(columns, rows), console.width - 2 - apart * (len(widths) - 1))
    for row in [[(heading, "dim") for heading, _ in columns], *rows]:
        folded = [_fold(text, width, is_first=not at) for at, ((text, _), width) in enumerate(zip(row, widths, strict=True))]
        for line in zip_longest(*folded, fillvalue=""):
            spans = []
            for text, (_, style), (_, is_number), width in zip(line, row, columns, widths, strict=True):
                spans += [(" " * apart, ""), (f"{text:>{width}}" if is_number else f"{text:<{width}}", style)]
            put(console, [("  ", ""), *spans[1:]])


def _fold(text: str, width: int, is_first: bool) -> list[str]:
    """The lines of a cell; those of the first column are indented, so that none looks like a row."""
    indent = _INDENT if is_first else ""
    return textwrap.wrap(text, max(width, 1), subsequent_indent=indent, drop_whitespace=not is_first) or [""]


_INDENT = "    "

_LEAST = 24
"""Characters of the first column that stay where another one can fold."""


def _floors(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[Span]]) -> list[int]:
    """How narrow each column can be with no word broken; one of numbers does not fold."""
    cells = zip(*rows, strict=True) if rows else [()] * len(columns)
    floors = []
    for (heading, is_number), column in zip(columns, cells, strict=True):
        texts = [heading, *(text for text, _ in column)]
        floors.append(max(len(part) for part in (texts if is_number else " ".join(texts).split() or [""])))
    return [floors[0] + len(_INDENT), *floors[1:]]


def _fit(widths: list[int], floors: Sequence[int], room: int) -> None:
    """Makes columns narrower until they fit: the first, the last, those between, and only then words of the first break."""
    last = len(widths) - 1
    between = sorted(range(1, last), key=lambda at: floors[at] - widths[at])
    steps = [(0, max(_LEAST, floors[0])), (last, max(_LEAST, floors[last])), *((at, floors[at]) for at in between)]
    for at, floor in [*steps, (last, floors[last]), (0, floors[0]), (0, 8)]:
        widths[at] -= max(0, min(widths[at] - floor, sum(widths) - room))


def table_markdown(shown: Table) -> list[str]:
    """The lines of the table in Markdown, whatever its texts hold."""
    lines = [f"**{md_text(shown.title)}**", ""] if shown.title else []
    heads = " | ".join(md_text(column.title) for column in shown.columns)
    rules = "|".join("--:" if column.kind is ColumnKind.NUMBER else "---" for column in shown.columns)
    lines += [f"| {heads} |", f"|{rules}|"]
    for row in shown.rows:
        cells = " | ".join(_markdown(cell, column) for cell, column in zip(row, shown.columns, strict=True))
        lines.append(f"| {cells} |")
    return lines


def _markdown(cell: TableCell, column: Column) -> str:
    sign = cell.mark.sign(UNICODE)
    if column.kind is ColumnKind.CODE:
        return f"{sign}{md_code(cell.text, in_table=True)}"
    if column.kind is ColumnKind.MARKDOWN:
        return f"{sign}{cell.text}"
    return f"{sign}{md_text(cell.text)}".rstrip()


def table_csv(shown: Table) -> str:
    """The table as CSV."""
    values = [[cell.text if cell.value is None else cell.value for cell in row] for row in shown.rows]
    return csv_text([column.title for column in shown.columns], values)
