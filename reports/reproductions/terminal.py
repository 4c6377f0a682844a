"""A reproduction in the terminal: after every step what the model and what real brokers have, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acked.cluster.playing.play import SeenStep
from acked.cluster.playing.reproduce import Reproduction
from acked.reports.console import Span, clean, glyphs_of, put, put_paragraph
from acked.reports.reproductions.words import (
    Answer,
    Ending,
    acknowledged_in_words,
    brokers_in_words,
    modelled,
    parting_in_words,
    real,
    rules_in_words,
    verdicts_in_words,
)
from acked.reports.runs.view import steps_of
from acked.reports.units import duration, plural

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = " " * 4
_MAX_LINES = 8
"""Lines of the brokers' own logs that are shown."""


def print_answer(console: Console, answer: Answer) -> None:
    """The steps of the run, its end, and what the control did."""
    _print_run(console, answer.title, answer.first)
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


def _print_run(console: Console, title: str, reproduction: Reproduction) -> None:
    script = reproduction.prepared.script
    steps = steps_of(reproduction.prepared.question, reproduction.prepared.run)
    where = f"{plural(len(script.steps), 'step')} on {brokers_in_words(reproduction)}"
    put_paragraph(console, f"{title}: {where}", "bold")
    if rules := rules_in_words(reproduction):
        put_paragraph(console, f"{rules[0].upper()}{rules[1:]}.", "dim")
    console.print()
    replicas = reproduction.prepared.setting.replicas
    heads = [*(f"broker {broker}" for broker in range(replicas)), "leader"]
    rows = {0: real(reproduction.played.initial, replicas)}
    rows |= {one.step.index: real(one.seen, replicas) for one in reproduction.played.steps if one.seen is not None}
    models = {0: modelled(script.initial)} | {step.index: modelled(step.after) for step in script.steps}
    widths = [max(len(row[at]) for row in [heads, *models.values(), *rows.values()]) for at in range(len(heads))]
    _put_row(console, "", heads, widths, "dim")
    _put_row(console, "both", rows[0], widths)
    done = {one.step.index: one for one in reproduction.played.steps}
    parted = reproduction.played.parted
    for view in steps[1:]:
        if view.index not in done and (parted is None or view.index != parted.index):
            break
        _print_step(console, view.index, view.sentence, done.get(view.index), rows, models, widths)
    if parted is not None:
        _put_row(console, "model", models[parted.index], widths)
        _put_row(console, "Kafka", real(reproduction.played.last, replicas), widths, "red")
    _print_end(console, reproduction)


def _print_step(
    console: Console,
    index: int,
    sentence: str,
    done: SeenStep | None,
    rows: dict[int, list[str]],
    models: dict[int, list[str]],
    widths: list[int],
) -> None:
    glyphs = glyphs_of(console)
    sign = glyphs.bad if done is None else glyphs.good if done.seen is not None else glyphs.dot
    put_paragraph(console, sentence, "", f"{index:2} {sign} ", "     ")
    if index in rows:
        _put_row(console, "both", rows[index], widths)
    elif done is not None:
        _put_row(console, "model", models[index], widths, "dim")


def _put_row(console: Console, name: str, cells: list[str], widths: list[int], style: str = "") -> None:
    spans: list[Span] = [(f"{_INDENT} {name:<6}", "dim")]
    for cell, width in zip(cells, widths, strict=True):
        spans.append((f"{clean(cell, console):<{width}}   ", style))
    put(console, spans)


def _print_end(console: Console, reproduction: Reproduction) -> None:
    played = reproduction.played
    console.print()
    put_paragraph(console, f"Producer: {acknowledged_in_words(reproduction)}.")
    if played.parted is not None:
        text = parting_in_words(reproduction)
        put_paragraph(console, f"{text[0].upper()}{text[1:]}.")
    for line in played.lines[-_MAX_LINES:]:
        put_paragraph(console, line, "dim", "  ", "    ")
    times = f"brokers up in {duration(reproduction.start_seconds)}, played in {duration(played.seconds)}"
    put_paragraph(console, f"{times[0].upper()}{times[1:]}.", "dim")
    if reproduction.folder is not None:
        put_paragraph(console, f"The brokers' files are in {reproduction.folder}.")
