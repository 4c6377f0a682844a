"""A table as a value, and the three ways to show it: in the terminal, as Markdown, as CSV."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from itertools import zip_longest

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


@dataclass(frozen=True)
class Column:
    """A column; its title may be empty."""

    title: str
    kind: ColumnKind = ColumnKind.TEXT


def numbers(title: str) -> Column:
    """A column of numbers."""
    return Column(title, ColumnKind.NUMBER)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
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

    The first column folds where the width does not take it; if that would leave too little of it, a last one of text does.
    """
    if shown.title:
        put_paragraph(console, shown.title, "bold")
    columns = [(clean(column.title, console), column.kind is ColumnKind.NUMBER) for column in shown.columns]
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
    _fit(widths, console.width, len(columns) > 1 and not columns[-1][1], apart)
    for row in [[(heading, "dim") for heading, _ in columns], *rows]:
        (name, style), *cells = row
        head, *rest = textwrap.wrap(name, widths[0], subsequent_indent="    ", drop_whitespace=False) or [""]
        spans = [("  ", ""), (f"{head:<{widths[0]}}", style)]
        folded: list[str] = []
        for (text, look), (_, is_number), width in zip(cells, columns[1:], widths[1:], strict=True):
            if len(text) > width:
                text, *folded = textwrap.wrap(text, width)
            spans += [(" " * apart, ""), (f"{text:>{width}}" if is_number else f"{text:<{width}}", look)]
        put(console, spans)
        indent = sum(width + apart for width in widths[:-1])
        for first, last in zip_longest(rest, folded, fillvalue=""):
            look = cells[-1][1] if cells else ""
            put(console, [("  ", ""), (first, style), *([(" " * (indent - len(first)), ""), (last, look)] if last else [])])


_LEAST = 24
"""Characters of the first column that stay where another one can fold."""


def _fit(widths: list[int], room: int, last_folds: bool, apart: int) -> None:
    """Makes columns narrower until they fit: the first one, and where that is not enough the last, if it may fold."""
    least = min(widths[0], _LEAST)
    between = sum(width + apart for width in widths[1:-1])
    if last_folds and room - between - widths[-1] - 2 - apart < least:
        widths[-1] = min(widths[-1], max(room - between - least - 2 - apart, _LEAST))
    others = sum(width + apart for width in widths[1:])
    widths[0] = min(widths[0], max(room - others - 2, 8))


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
