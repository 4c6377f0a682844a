"""A trace drawn in the terminal: what happened, step by step, with every broker's log as a row of cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from acked.base.frozen import frozen
from acked.reports import palette
from acked.reports.console import Console, Glyphs, Span, flow, glyphs_of, put, put_paragraph
from acked.reports.pictures.picture import (
    Box,
    BoxChange,
    Cell,
    Differences,
    Edit,
    Explained,
    Look,
    Marker,
    MarkerKind,
    Picture,
    Row,
    RowChange,
    Sign,
    Tone,
)
from acked.reports.runs.view import StepView, TraceStory, TraceView

INDENT = "    "

_GAP = 2
"""Blanks between the grid and what stands beside it."""

_MIN_ASIDE = 26
"""Columns that badges need beside the grid; with fewer they go below it."""

_TONES = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.WRONG: "bold italic",
    Tone.PENDING: "italic",
    Tone.ABSENT: "dim",
    Tone.ASIDE: "dim",
}


def print_trace(console: Console, view: TraceView) -> None:
    """Draws a whole trace, the three sentences first; fits the console's width down to about 40 columns."""
    _print_head(console, view)
    layout = _Layout.fit(view, console)
    if layout is not None:
        _print_legend(console, view.look)
    for step in view.steps:
        put(console, [])
        print_step(console, step, layout)


def only_changes(view: TraceView) -> TraceView:
    """The same trace, of whose steps after the first only what they changed is shown, field by field."""
    first, *others = view.steps
    return replace(view, steps=(first, *(replace(step, picture=None, untold=step.changes) for step in others)))


def print_story(console: Console, story: TraceStory) -> None:
    """The sentences: what was promised, what happened, what would have prevented it, where the promise comes from."""
    put_paragraph(console, story.promised, "bold")
    put_paragraph(console, story.happened, "bold green" if story.is_found else "bold red")
    if story.prevented is not None:
        put_paragraph(console, story.prevented)
    if story.source:
        put_paragraph(console, story.source, "dim")


def print_step(console: Console, step: StepView, layout: _Layout | None) -> None:
    """Draws one step: its sentence, the picture of the state if the protocol has one, and the other changed fields."""
    _print_heading(console, step)
    if step.picture is not None and step.picture.is_drawn and step.differs is not None and layout is not None:
        picture = _Drawing(layout, step.picture, step.differs, glyphs_of(console), console.width)
        for spans in picture.lines(with_offsets=step.index == 0):
            put(console, spans)
    _print_changes(console, step)
    bad = glyphs_of(console).bad
    for name in step.violated:
        put_paragraph(console, f"{bad} {name} is violated", "bold red", INDENT, INDENT)
    if step.remark:
        put(console, [])
        put_paragraph(console, step.remark, "bold red", INDENT, INDENT)


# -- everything but the grid ---------------------------------------------------------------------------------------


def _print_head(console: Console, view: TraceView) -> None:
    put_paragraph(console, view.title, "bold underline")
    put_paragraph(console, view.subject, "dim")
    if view.story is not None:
        put(console, [])
        print_story(console, view.story)


def _print_heading(console: Console, step: StepView) -> None:
    number = f"{step.index:>2}  "
    lead = " " * len(number)
    sentence, label = step.sentence, step.label or ""
    put_paragraph(console, sentence, "bold", number, lead)
    if label not in ("", sentence):
        put_paragraph(console, label, "dim", lead, lead)


def _print_changes(console: Console, step: StepView) -> None:
    if not step.untold:
        return
    widest = max(len(change.field) for change in step.untold)
    for change in step.untold:
        first = f"{INDENT}*{change.field:<{widest}}  "
        put_paragraph(console, f"{change.before} -> {change.after}", "bold", first, " " * min(len(first), 8))


def _print_legend(console: Console, look: Look) -> None:
    glyphs = glyphs_of(console)
    explained = [_explanation(item, look, glyphs) for item in look.legend]
    # What was removed is a kind of change, and is explained after it.
    changes = [text for item, text in zip(look.legend, explained, strict=True) if item.sign is Sign.REMOVED]
    parts = [text for text in explained if text and text not in changes]
    parts += ["* changed by the step", *changes]
    put(console, [])
    for spans in flow([], [(part, "dim") for part in parts], 0, console.width, gap=3):
        put(console, spans)


def _explanation(item: Explained, look: Look, glyphs: Glyphs) -> str:
    """One entry of a legend; empty where the terminal does not draw what it explains."""
    if item.sign is Sign.RECORD:
        return f"{item.sample}{glyphs.dot}{look.epoch}1 {item.text}" if look.epoch else f"{item.sample} {item.text}"
    if item.sign is Sign.HIGH_WATERMARK:
        return f"{glyphs.watermark} {item.text} ({MarkerKind.HIGH_WATERMARK.value})"
    drawn = {Sign.LOG_END: glyphs.edge, Sign.REMOVED: glyphs.removed, Sign.BADGE: item.sample}
    return f"{drawn[item.sign]} {item.text}" if item.sign in drawn else ""


# -- the grid ------------------------------------------------------------------------------------------------------


@frozen
class _Layout:
    """Column widths that hold for all steps of a trace, so that the eye can follow a column downwards."""

    offsets: int
    name: int
    epoch: int
    cell: int
    number: int
    look: Look

    @staticmethod
    def fit(view: TraceView, console: Console) -> _Layout | None:
        """The layout of a trace; None without a picture. Offsets that no step uses are left out."""
        pictures = [step.picture for step in view.steps if step.picture is not None and step.picture.is_drawn]
        if not pictures:
            return None
        rows = [row for picture in pictures for row in picture.rows]
        boxes = [box for picture in pictures for box in picture.boxes]
        dot, look = glyphs_of(console).dot, view.look
        used = max([marker.offset for row in rows for marker in row.markers], default=0)
        room = max([len(row.cells) for row in rows], default=0)
        labels = [len(_cell_label(cell, dot, look)) for row in rows for cell in row.cells]
        named: list[Row | Box] = [*rows, *boxes]
        return _Layout(
            offsets=min(max(1, used), room),
            name=max(len(item.name) for item in named),
            epoch=max(2, *(len(_epoch(item.epoch, look)) for item in named)) if look.epoch else 0,
            cell=max([*labels, 2]) + 2,
            number=max(len(str(used)), 1),
            look=look,
        )

    @property
    def left(self) -> int:
        """Columns before the grid: indentation, name, blank, and, where there are epochs, mark, epoch, blank."""
        return len(INDENT) + self.name + 1 + (1 + self.epoch + 1 if self.look.epoch else 0)


class _Drawing:
    """One state's picture, as lines of styled pieces."""

    def __init__(self, layout: _Layout, picture: Picture, differs: Differences, glyphs: Glyphs, width: int) -> None:
        self._layout, self._picture, self._differs, self._glyphs, self._width = layout, picture, differs, glyphs, width
        per_band = max(1, (width - layout.left - 1) // (layout.cell + 1))
        starts = range(0, max(layout.offsets, 1), per_band)
        self._bands = [range(start, min(start + per_band, layout.offsets)) for start in starts]
        grid = layout.left + len(self._bands[0]) * (layout.cell + 1) + 1
        self._aside = grid + _GAP
        self._is_aside = len(self._bands) == 1 and width - self._aside >= _MIN_ASIDE

    def lines(self, with_offsets: bool) -> Iterator[list[Span]]:
        """A line per box, then a row per broker; several bands of offsets if the width does not take all."""
        for box in self._picture.boxes:
            yield from self._box_lines(box, self._differs.boxes[box.key])
        has_logs = self._layout.offsets > 0
        for band in self._bands:
            if has_logs and (with_offsets or len(self._bands) > 1):
                yield self._offsets_line(band)
            for row in self._picture.rows:
                grid = self._row_spans(row, self._differs.rows[row.key], band)
                facts = self._facts(row)
                if self._is_aside:
                    yield from flow(grid, facts, self._aside, self._width)
                    continue
                yield grid
                if len(self._bands) == 1:
                    yield from flow([], facts, self._layout.left, self._width)
        if len(self._bands) > 1:
            for row in self._picture.rows:
                name = f"{INDENT}{row.name:<{self._layout.name}} "
                yield from flow([(name, "")], self._facts(row), len(name), self._width)

    def _box_lines(self, box: Box, change: BoxChange) -> Iterator[list[Span]]:
        epoch = self._epoch_spans(box.epoch, change.epoch)
        facts = [_fact(fact.text, _TONES[fact.tone], fact.key in change.facts) for fact in box.facts]
        yield from flow([*self._name_spans(box.name), *epoch], facts, self._layout.left, self._width)

    def _offsets_line(self, band: range) -> list[Span]:
        cells = "".join(f"  {offset:<{self._layout.cell - 1}}" for offset in band)
        return [(f"{INDENT}{'offset':<{self._layout.left - len(INDENT)}}{cells}", "dim")]

    def _row_spans(self, row: Row, change: RowChange, band: range) -> list[Span]:
        spans = self._name_spans(row.name)
        spans += self._epoch_spans(row.epoch, change.epoch)
        for offset in band:
            cell = row.cells[offset] if offset < len(row.cells) else Cell(offset, None, None)
            spans += [self._edge(row, offset), self._cell(cell, change.edits.get(offset))]
        return [*spans, self._edge(row, band.stop)]

    def _name_spans(self, name: str) -> list[Span]:
        return [(f"{INDENT}{name:<{self._layout.name}} ", "")]

    def _epoch_spans(self, epoch: int | None, is_changed: bool) -> list[Span]:
        if not self._layout.look.epoch:
            return []
        text = f"{_epoch(epoch, self._layout.look):<{self._layout.epoch}}"
        return [("*" if is_changed else " ", "bold"), (text, "bold" if is_changed else ""), (" ", "")]

    def _edge(self, row: Row, offset: int) -> Span:
        if offset == row.offset_of(MarkerKind.HIGH_WATERMARK):
            return self._glyphs.watermark, "bold"
        end = row.offset_of(MarkerKind.LOG_END)
        return (self._glyphs.edge if end is not None and offset <= end else " "), "dim"

    def _cell(self, cell: Cell, edit: Edit | None) -> Span:
        width = self._layout.cell
        mark = " " if edit is None else "*"
        if cell.record is None:
            text = self._glyphs.removed if edit is Edit.REMOVED else ""
            return f"{mark}{text:<{width - 1}}", "bold"
        weight = "bold" if edit else "not bold"
        text = f"{mark}{_cell_label(cell, self._glyphs.dot, self._layout.look):<{width - 1}}"
        if cell.epoch is None:
            return text, weight
        colour = palette.epoch_colour(cell.epoch)
        return text, f"{weight} {colour.text} on {colour.background}"

    def _facts(self, row: Row) -> list[Span]:
        change, digits = self._differs.rows[row.key], self._layout.number
        numbers = [
            _fact(f"{_short(marker)} {marker.offset:>{digits}}", "", marker.name in change.markers) for marker in row.markers
        ]
        badges = [_fact(badge.text, _TONES[badge.tone], badge in change.badges) for badge in row.badges]
        if not badges:
            return numbers
        # One width of everyone's first badge, such as in or out of the ISR, keeps the second badges in a column, too.
        (first, style), *others = badges
        return [*numbers, (f"{first:<{self._layout.look.first_badge + 1}}", style), *others]


def _short(marker: Marker) -> str:
    return marker.name if marker.place is MarkerKind.OTHER else marker.place.value


def _fact(text: str, style: str, is_changed: bool) -> Span:
    """A fact with a column for its mark."""
    if is_changed:
        return f"*{text}", f"{style} bold not dim".strip()
    return f" {text}", style


def _epoch(epoch: int | None, look: Look) -> str:
    return f"{look.epoch}{'-' if epoch is None else epoch}" if look.epoch else ""


def _cell_label(cell: Cell, dot: str, look: Look) -> str:
    if cell.record is None or cell.epoch is None:
        return cell.record or ""
    return f"{cell.record}{dot}{look.epoch}{cell.epoch}"
