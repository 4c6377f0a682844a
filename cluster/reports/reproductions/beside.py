"""The model, real brokers and the control as columns of a table, a row for each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acked.cluster.reports.reproductions.words import Answer, AnyReproduction, brokers_in_words, presentation_of

MARGIN = 5
EDGE = "│ "
OTHER = "✗"
"""Stands in a cell of real brokers that is not the model's."""
_GAP = 2
Cells = tuple[list[str], str]
"""What stands in a row, and its style."""


@dataclass(frozen=True)
class Block:
    """One of them: its name, a column for each part of the state, and rows by the number of the step."""

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


def blocks_of(answer: Answer) -> list[Block]:
    """The model, the brokers, and those of the control if there is one."""
    script, shown = answer.first.prepared.script, answer.shown
    heads = shown.heads(script.initial)
    rows = {0: shown.modelled(script.initial)} | {step.index: shown.modelled(step.after) for step in script.steps}
    blocks = [Block("model", heads, {index: (cells, "") for index, cells in rows.items()})]
    blocks.append(Block(brokers_in_words(answer.first), heads, _rows(answer.first, heads, rows)))
    if answer.control is not None:
        blocks.append(Block(f"control, {answer.changed}", heads, _rows(answer.control, heads, rows)))
    return blocks


def cells_of(one: AnyReproduction, seen: Any) -> list[str]:
    """The cells of what is seen."""
    return presentation_of(one.prepared.question).real(seen, one.prepared.setting.replicas)


def width_of(blocks: Sequence[Block]) -> int:
    """What a table of them takes, with its margin."""
    return MARGIN + sum(block.width for block in blocks) + len(EDGE) * (len(blocks) - 1)


def _rows(one: AnyReproduction, heads: list[str], model: dict[int, list[str]]) -> dict[int, Cells]:
    played = one.played
    rows: dict[int, Cells] = {0: (cells_of(one, played.initial), "")}
    for done in played.steps:
        rows[done.step.index] = (["" for _ in heads], "") if done.seen is None else (cells_of(one, done.seen), "green")
    for done in played.beyond:
        if done.seen is not None:
            is_first = played.parted is not None and done.step.index == played.parted.index
            pairs = zip(cells_of(one, done.seen), model[done.step.index], strict=True)
            cells = [cell if cell == wanted else f"{cell} {OTHER}" for cell, wanted in pairs]
            rows[done.step.index] = (cells, "red" if is_first else "dim")
    return rows
