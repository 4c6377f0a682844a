"""A reproduction in the terminal: after every step what the model and what real brokers have, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acked.base.frozen import frozen
from acked.cluster.playing.play import SeenStep
from acked.cluster.playing.protocol import TOPIC
from acked.cluster.playing.reproduce import can_be_validated
from acked.cluster.reports.reproductions.verdict import Ending
from acked.cluster.reports.reproductions.words import (
    Answer,
    AnyReproduction,
    brokers_in_words,
    parting_in_words,
    presentation_of,
    rules_in_words,
    verdicts_in_words,
)
from acked.reports.console import Console, Span, clean, glyphs_of, put, put_paragraph
from acked.reports.runs.view import steps_of
from acked.reports.units import duration, plural

_INDENT = " " * 4
_MAX_LINES = 8
"""Lines of the brokers' own logs that are shown."""
_MARGIN = 5
_EDGE = "│ "
_OTHER = "✗"
"""Stands in a cell of real brokers that is not the model's."""
_GAP = 2
Cells = tuple[list[str], str]
"""What stands in a row, and its style."""


@frozen
class Block:
    """The model, the brokers or those of the control: name, a column for each part of a state, and rows by steps' numbers."""

    name: str
    heads: list[str]
    rows: dict[int, Cells]

    @property
    def widths(self) -> list[int]:
        """Of the columns; the last one is as wide as the name needs."""
        lines = [self.heads, *(cells for cells, _ in self.rows.values())]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.heads))]
        room = sum(widths) + _GAP * len(widths)
        return [*widths[:-1], widths[-1] + max(0, len(self.name) - room)]

    @property
    def width(self) -> int:
        """Of the whole."""
        return sum(self.widths) + _GAP * len(self.widths)


def _blocks(answer: Answer) -> list[Block]:
    """The model, the brokers, and those of the control if there is one."""
    script, shown = answer.first.prepared.script, answer.shown
    heads = shown.heads(script.initial)
    rows = {0: shown.model_cells(script.initial)} | {step.index: shown.model_cells(step.after) for step in script.steps}
    blocks = [Block("model", heads, {index: (cells, "") for index, cells in rows.items()})]
    blocks.append(Block(brokers_in_words(answer.first), heads, _rows(answer.first, heads, rows)))
    if answer.control is not None:
        blocks.append(Block(f"control, {answer.changed}", heads, _rows(answer.control, heads, rows)))
    return blocks


def _cells_of(one: AnyReproduction, seen: Any) -> list[str]:
    """The cells of what is seen."""
    return presentation_of(one.prepared.question).real_cells(seen, one.prepared.setting.replicas)


def _width_of(blocks: Sequence[Block]) -> int:
    """What a table of them takes, with its margin."""
    return _MARGIN + sum(block.width for block in blocks) + len(_EDGE) * (len(blocks) - 1)


def _rows(one: AnyReproduction, heads: list[str], model: dict[int, list[str]]) -> dict[int, Cells]:
    played = one.played
    rows: dict[int, Cells] = {0: (_cells_of(one, played.initial), "")}
    for done in played.steps:
        rows[done.step.index] = (["" for _ in heads], "") if done.seen is None else (_cells_of(one, done.seen), "green")
    for done in played.beyond:
        if done.seen is not None:
            is_first = played.parted is not None and done.step.index == played.parted.index
            pairs = zip(_cells_of(one, done.seen), model[done.step.index], strict=True)
            cells = [cell if cell == wanted else f"{cell} {_OTHER}" for cell, wanted in pairs]
            rows[done.step.index] = (cells, "red" if is_first else "dim")
    return rows


def print_answer(console: Console, answer: Answer) -> None:
    """The steps of the run, its end, and what the control did."""
    _print_run(console, answer)
    if answer.control is not None:
        console.print()
        put_paragraph(console, f"The control, {answer.changed}: the same steps on {brokers_in_words(answer.control)}", "bold")
        _print_end(console, answer.control)
    console.print()
    glyphs = glyphs_of(console)
    signs = {Ending.GOOD: (glyphs.good, "green"), Ending.BAD: (glyphs.bad, "red"), Ending.OPEN: (glyphs.open, "yellow")}
    for ending, text in verdicts_in_words(answer):
        sign, style = signs[ending]
        put_paragraph(console, f"{sign} {text}", style, rest="  ")


def _print_run(console: Console, answer: Answer) -> None:
    reproduction = answer.first
    script = reproduction.prepared.script
    clients = reproduction.prepared.setting.transaction_version
    where = f"{plural(len(script.steps), 'step')} on {brokers_in_words(reproduction)}"
    where = where if clients is None else f"{where}, clients of transaction_version {clients}"
    put_paragraph(console, f"{answer.title}: {where}", "bold")
    if rules := rules_in_words(reproduction.prepared):
        put_paragraph(console, f"{rules[0].upper()}{rules[1:]}.", "dim")
    console.print()
    blocks = _blocks(answer)
    while len(blocks) > 2 and _width_of(blocks) > console.width:
        blocks.pop()
    if _width_of(blocks) <= console.width:
        _print_beside(console, reproduction, blocks)
    else:
        _print_below(console, reproduction)
    _print_end(console, reproduction)


def _print_beside(console: Console, reproduction: AnyReproduction, blocks: list[Block]) -> None:
    """The model, the brokers and those of the control beside each other, a line for each step."""
    done = {one.step.index: one for one in reproduction.played.steps}
    gap = (_EDGE.replace("│", glyphs_of(console).edge), "dim")
    names, heads = ([(" " * _MARGIN, "")] for _ in range(2))
    for number, block in enumerate(blocks):
        names += ([gap] if number else []) + [(f"{clean(block.name, console):<{block.width}}"[: block.width], "bold")]
        heads += ([gap] if number else []) + _cells(console, block.heads, block.widths, "dim")
    put(console, names)
    put(console, heads)
    parted = reproduction.played.parted
    for view in steps_of(reproduction.prepared.question, reproduction.prepared.run):
        if view.index not in done and view.index > 0 and (parted is None or view.index != parted.index):
            break
        if view.index > 0:
            _print_sentence(console, view.index, view.sentence, done.get(view.index))
        line: list[Span] = [(" " * _MARGIN, "")]
        for number, block in enumerate(blocks):
            cells, style = block.rows.get(view.index, (["" for _ in block.widths], ""))
            line += ([gap] if number else []) + _cells(console, cells, block.widths, style)
        put(console, line)


def _cells(console: Console, cells: list[str], widths: list[int], style: str) -> list[Span]:
    sign = glyphs_of(console).bad
    shown = [clean(cell.replace(_OTHER, sign), console) for cell in cells]
    return [(f"{cell:<{width}}  ", style) for cell, width in zip(shown, widths, strict=True)]


def _print_below(console: Console, reproduction: AnyReproduction) -> None:
    """Where the terminal is narrow: one line for what is the same, two where they part."""
    steps = steps_of(reproduction.prepared.question, reproduction.prepared.run)
    [model, brokers] = _blocks(Answer("", None, reproduction))
    rows = {index: cells for index, (cells, _) in brokers.rows.items()}
    models = {index: cells for index, (cells, _) in model.rows.items()}
    widths = [max(pair) for pair in zip(model.widths, brokers.widths, strict=True)]
    _put_row(console, "", model.heads, widths, "dim")
    _put_row(console, "both", rows[0], widths)
    done = {one.step.index: one for one in reproduction.played.steps}
    parted = reproduction.played.parted
    for view in steps[1:]:
        if view.index not in done and (parted is None or view.index != parted.index):
            break
        _print_sentence(console, view.index, view.sentence, done.get(view.index))
        one = done.get(view.index)
        if one is not None and one.seen is not None:
            _put_row(console, "both", rows[view.index], widths)
        elif one is not None:
            _put_row(console, "model", models[view.index], widths, "dim")
    if parted is not None:
        _put_row(console, "model", models[parted.index], widths)
        last = _cells_of(reproduction, reproduction.played.last)
        _put_row(console, "Kafka", rows.get(parted.index, last), widths, "red")


def _print_sentence(console: Console, index: int, sentence: str, done: SeenStep[Any, Any] | None) -> None:
    glyphs = glyphs_of(console)
    sign = glyphs.bad if done is None else glyphs.good if done.seen is not None else glyphs.dot
    put_paragraph(console, sentence, "", f"{index:2} {sign} ", "     ")


def _put_row(console: Console, name: str, cells: list[str], widths: list[int], style: str = "") -> None:
    spans: list[Span] = [(f"{_INDENT} {name:<6}", "dim")]
    for cell, width in zip(cells, widths, strict=True):
        spans.append((f"{clean(cell, console):<{width}}   ", style))
    put(console, spans)


def _print_end(console: Console, reproduction: AnyReproduction) -> None:
    played, shown = reproduction.played, presentation_of(reproduction.prepared.question)
    console.print()
    put_paragraph(console, f"{shown.clients}: {shown.clients_in_words(played)}.")
    for line in shown.details(played.last):
        put_paragraph(console, line, "", "  ", "    ")
    if played.parted is not None:
        text = parting_in_words(reproduction)
        put_paragraph(console, f"{text[0].upper()}{text[1:]}.")
    for line in played.lines[-_MAX_LINES:]:
        put_paragraph(console, line, "dim", "  ", "    ")
    times = f"brokers up in {duration(reproduction.start_seconds)}, played in {duration(played.seconds)}"
    put_paragraph(console, f"{times[0].upper()}{times[1:]}.", "dim")
    if reproduction.folder is not None:
        put_paragraph(console, f"The brokers' files are in {reproduction.folder}.")
        if can_be_validated(reproduction.prepared):
            command = f"acked kafka validate {reproduction.folder} --topic {TOPIC} --data {reproduction.folder}"
            put_paragraph(console, f"Whether what they logged is a behaviour: {command}")
