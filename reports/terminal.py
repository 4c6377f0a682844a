"""A trace drawn in the terminal: what happened, step by step, with every broker's log as a row of cells.

What lives here: drawing. What does not: what is drawn (`view.py`, `replication.py`) and the table of numbers after a
search (`summary.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports import palette
from reports.console import Glyphs, Span, flow, glyphs_of, put, put_paragraph
from reports.replication import BrokerView, Cell, ControllerView, Edit, PartitionView, Role
from reports.view import StepView, Story, TraceView

if TYPE_CHECKING:
    from rich.console import Console

INDENT = "    "

_GAP = 2
"""Blanks between the grid and what stands beside it."""

_LEAST_ASIDE = 26
"""Columns that badges need beside the grid; with fewer they go below it."""

_ISR_WIDTH = len(" out of ISR")

_BADGES = {
    Role.LEADER: "bold",
    Role.STALE_LEADER: "bold italic",
    Role.ELECTED: "italic",
    Role.FOLLOWS: "",
    Role.LEADERLESS: "dim",
    Role.IN_ISR: "",
    Role.OUT_OF_ISR: "dim",
    Role.OWN_ISR: "dim",
}


def print_trace(console: Console, view: TraceView) -> None:
    """Draws a whole trace, the three sentences first; fits the console's width down to about 40 columns."""
    _print_head(console, view)
    layout = _Layout.of(view, console)
    if layout is not None:
        _print_legend(console)
    for step in view.steps:
        put(console, [])
        print_step(console, step, layout)


def print_story(console: Console, story: Story) -> None:
    """The three sentences: what was promised, what happened, where the promise comes from."""
    put_paragraph(console, story.promised, "bold")
    put_paragraph(console, story.happened, "bold red")
    put_paragraph(console, story.source, "dim")


def print_step(console: Console, step: StepView, layout: _Layout | None) -> None:
    """Draws one step: its sentence, the picture of the state if the protocol has one, and the other changed fields."""
    _print_heading(console, step)
    if step.partition is not None and layout is not None:
        picture = _Picture(layout, step.partition, glyphs_of(console), console.width)
        for spans in picture.lines(with_offsets=step.index == 0):
            put(console, spans)
    _print_changes(console, step)
    bad = glyphs_of(console).bad
    for name in step.violated:
        put_paragraph(console, f"{bad} {name} is violated", "bold red", INDENT, INDENT)


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


def _print_legend(console: Console) -> None:
    glyphs = glyphs_of(console)
    parts = [
        f"r0{glyphs.dot}e1 record 0 of epoch 1",
        f"{glyphs.edge} log end",
        f"{glyphs.watermark} high watermark (hw)",
        "* changed by the step",
        f"{glyphs.removed} record removed",
    ]
    put(console, [])
    for spans in flow([], [(part, "dim") for part in parts], 0, console.width, gap=3):
        put(console, spans)


# -- the grid ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """Column widths that hold for all steps of a trace, so that the eye can follow a column downwards."""

    offsets: int
    name: int
    epoch: int
    cell: int
    number: int

    @staticmethod
    def of(view: TraceView, console: Console) -> _Layout | None:
        """The layout of a trace; None without a picture. Offsets that no step uses are left out."""
        pictures = [step.partition for step in view.steps if step.partition is not None]
        if not pictures:
            return None
        brokers = [broker for picture in pictures for broker in picture.brokers]
        dot = glyphs_of(console).dot
        used = max(max(broker.log_end, broker.high_watermark) for broker in brokers)
        room = max(len(broker.cells) for broker in brokers)
        labels = [len(_cell_label(cell, dot)) for broker in brokers for cell in broker.cells]
        epochs = [len(_epoch(broker.leader_epoch)) for broker in brokers]
        return _Layout(
            offsets=max(1, min(used, room)),
            name=max(len("controller"), *(len(f"broker {broker.broker}") for broker in brokers)),
            epoch=max(*epochs, 2),
            cell=max(*labels, 2) + 2,
            number=max(len(str(used)), 1),
        )

    @property
    def left(self) -> int:
        """Columns before the grid: indentation, name, mark, epoch, blank."""
        return len(INDENT) + self.name + 1 + 1 + self.epoch + 1


class _Picture:
    """One state's picture, as lines of styled pieces."""

    def __init__(self, layout: _Layout, partition: PartitionView, glyphs: Glyphs, width: int) -> None:
        self._layout, self._partition, self._glyphs, self._width = layout, partition, glyphs, width
        per_band = max(1, (width - layout.left - 1) // (layout.cell + 1))
        self._bands = [
            range(start, min(start + per_band, layout.offsets)) for start in range(0, layout.offsets, per_band)
        ]
        grid = layout.left + len(self._bands[0]) * (layout.cell + 1) + 1
        self._aside = grid + _GAP
        self._is_aside = len(self._bands) == 1 and width - self._aside >= _LEAST_ASIDE

    def lines(self, with_offsets: bool) -> Iterator[list[Span]]:
        """The controller's line, then a row per broker; several bands of offsets if the width does not take all."""
        yield from self._controller_lines(self._partition.controller)
        for band in self._bands:
            if with_offsets or len(self._bands) > 1:
                yield self._offsets_line(band)
            for broker in self._partition.brokers:
                grid = self._broker_spans(broker, band)
                facts = self._facts(broker)
                if self._is_aside:
                    yield from flow(grid, facts, self._aside, self._width)
                    continue
                yield grid
                if len(self._bands) == 1:
                    yield from flow([], facts, self._layout.left, self._width)
        if len(self._bands) > 1:
            for broker in self._partition.brokers:
                name = f"{INDENT}{f'broker {broker.broker}':<{self._layout.name}} "
                yield from flow([(name, "")], self._facts(broker), len(name), self._width)

    def _controller_lines(self, controller: ControllerView) -> Iterator[list[Span]]:
        changed = controller.changed
        epoch = self._epoch_spans(controller.leader_epoch, "leader_epoch" in changed)
        leader = "no leader" if controller.leader is None else f"leader: broker {controller.leader}"
        isr = "ISR {" + ", ".join(map(str, controller.isr)) + "}"
        facts = [_fact(leader, "", "leader" in changed), _fact(isr, "", "isr" in changed)]
        yield from flow([*self._name_spans("controller"), *epoch], facts, self._layout.left, self._width)

    def _offsets_line(self, band: range) -> list[Span]:
        cells = "".join(f"  {offset:<{self._layout.cell - 1}}" for offset in band)
        return [(f"{INDENT}{'offset':<{self._layout.left - len(INDENT)}}{cells}", "dim")]

    def _broker_spans(self, broker: BrokerView, band: range) -> list[Span]:
        spans = self._name_spans(f"broker {broker.broker}")
        spans += self._epoch_spans(broker.leader_epoch, "leader_epoch" in broker.changed)
        for offset in band:
            spans += [self._edge(broker, offset), self._cell(broker.cells[offset])]
        return [*spans, self._edge(broker, band.stop)]

    def _name_spans(self, name: str) -> list[Span]:
        return [(f"{INDENT}{name:<{self._layout.name}} ", "")]

    def _epoch_spans(self, epoch: int | None, is_changed: bool) -> list[Span]:
        text = f"{_epoch(epoch):<{self._layout.epoch}}"
        return [("*" if is_changed else " ", "bold"), (text, "bold" if is_changed else ""), (" ", "")]

    def _edge(self, broker: BrokerView, offset: int) -> Span:
        if offset == broker.high_watermark:
            return self._glyphs.watermark, "bold"
        return (self._glyphs.edge if offset <= broker.log_end else " "), "dim"

    def _cell(self, cell: Cell) -> Span:
        width = self._layout.cell
        mark = " " if cell.edit is None else "*"
        if cell.epoch is None:
            text = self._glyphs.removed if cell.edit is Edit.REMOVED else ""
            return f"{mark}{text:<{width - 1}}", "bold"
        colour = palette.of_epoch(cell.epoch)
        weight = "bold" if cell.edit else "not bold"
        text = f"{mark}{_cell_label(cell, self._glyphs.dot):<{width - 1}}"
        return text, f"{weight} {colour.text} on {colour.background}"

    def _facts(self, broker: BrokerView) -> list[Span]:
        changed, digits = broker.changed, self._layout.number
        numbers = [
            _fact(f"hw {broker.high_watermark:>{digits}}", "", "high_watermark" in changed),
            _fact(f"end {broker.log_end:>{digits}}", "", "log_end" in changed),
        ]
        badges = [_fact(badge.text, _BADGES[badge.role], badge.is_new) for badge in broker.badges]
        # In or out of the ISR is everyone's first badge: one width keeps the second badges in a column, too.
        (membership, style), *others = badges
        return [*numbers, (f"{membership:<{_ISR_WIDTH}}", style), *others]


def _fact(text: str, style: str, is_changed: bool) -> Span:
    """A fact with a column for its mark."""
    if is_changed:
        return f"*{text}", f"{style} bold not dim".strip()
    return f" {text}", style


def _epoch(epoch: int | None) -> str:
    return "e-" if epoch is None else f"e{epoch}"


def _cell_label(cell: Cell, dot: str) -> str:
    return "" if cell.record is None else f"r{cell.record}{dot}e{cell.epoch}"
