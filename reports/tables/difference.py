"""Two sets of rules side by side, in the terminal and as JSON.

The table, the two traces, and why the other rules reject each.
"""

from __future__ import annotations

from acked.checker.diagnosis.difference import Comparison, Side
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, StopReason
from acked.checker.replay.retrace import under
from acked.checker.replay.trace_file import trace_document
from acked.model.formulas.errors import ModelError
from acked.reports.console import Console, glyphs_of, put, put_paragraph
from acked.reports.runs.answers import subject_in_words
from acked.reports.runs.refusals import blocked_in_words
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import view_of
from acked.reports.table import Table, TableCell, print_table, table
from acked.reports.units import count, plural


def print_difference(console: Console, names: tuple[str, str], found: Comparison) -> None:
    """Counts, properties, and a trace that is possible on one side only, both ways."""
    glyphs = glyphs_of(console)
    results = [side.result for side in found.sides]
    for name, result in zip(names, results, strict=True):
        put_paragraph(console, f"{name}  {subject_in_words(result.question.instance)}", "", "", "  ")
    put(console, [])
    print_table(console, difference_table(names, found))
    put(console, [])
    if found.obstacle:
        put_paragraph(console, f"Traces are not compared: {found.obstacle}.", "bold yellow", f"{glyphs.open} ", "  ")
        return
    for at, side in enumerate(found.sides):
        _print_side(console, names[at], names[1 - at], side, found.sides[1 - at].result.question)


def difference_table(names: tuple[str, str], found: Comparison) -> Table:
    """A column per side: counts of states, then the answer to every property, bold where the sides differ."""
    results = [side.result for side in found.sides]
    rows = [
        [TableCell("distinct states"), *(TableCell(count(result.distinct_states)) for result in results)],
        [TableCell("generated states"), *(TableCell(count(result.generated_states)) for result in results)],
        [TableCell("levels"), *(TableCell(count(result.depth)) for result in results)],
    ]
    for name, lengths in found.verdicts.items():
        style = "bold" if lengths[0] != lengths[1] else ""
        answers = [_answer(length, result) for length, result in zip(lengths, results, strict=True)]
        rows.append([TableCell(text, style) for text in (name, *answers)])
    return table(("", *names), rows)


def _print_side(console: Console, name: str, other: str, side: Side, rules: Question) -> None:
    glyphs = glyphs_of(console)
    if side.run is None:
        if side.is_decided:
            put_paragraph(console, f"Every trace of {name} is possible in {other}.", "bold", f"{glyphs.good} ", "  ")
        else:
            text = f"No trace of {name} that is impossible in {other} was found; {side.result.stopped.value}."
            put_paragraph(console, text, "bold yellow", f"{glyphs.open} ", "  ")
        return
    text = f"Possible in {name} and not in {other}, in {plural(len(side.run.actions), 'step')}:"
    put_paragraph(console, text, "bold", f"{glyphs.bad} ", "  ")
    if (why := why_not(side, rules)) is not None:
        put_paragraph(console, f"{other} does not allow the last step: {why}", "", "  ", "  ")
    put(console, [])
    plain = Question(side.result.question.instance, ())
    print_trace(console, view_of(Counterexample(f"{name}, not {other}", plain, side.run)))
    put(console, [])


def why_not(side: Side, rules: Question) -> str | None:
    """Why the other rules reject the last step of a side's trace."""
    if side.run is None or not side.run.actions:
        return None
    try:
        blocked = under(rules.instance, side.result.question.instance, side.run).blocked
    except ModelError:
        return None
    return None if blocked is None else blocked_in_words(blocked)


def _answer(length: int | None, result: Result) -> str:
    if length is not None:
        return f"violated in {plural(length - 1, 'step')}"
    return "holds" if result.stopped is StopReason.COMPLETE else "not violated so far"


def difference_document(names: tuple[str, str], found: Comparison) -> dict[str, object]:
    """The difference as JSON; a property's number is the states of its shortest violation, null where there is none."""
    sides = []
    for at, side in enumerate(found.sides):
        question = side.result.question
        plain = Question(question.instance, ())
        sides.append(
            {
                "spec": names[at],
                "protocol": question.instance.protocol.name,
                "constants": question.instance.shown_constants,
                "stopped": side.result.stopped.name.lower(),
                "distinct_states": side.result.distinct_states,
                "generated_states": side.result.generated_states,
                "depth": side.result.depth,
                "only_here": None
                if side.run is None
                else trace_document(Counterexample(f"only in {names[at]}", plain, side.run)),
                "why_not_there": why_not(side, found.sides[1 - at].result.question),
                "is_decided": side.is_decided,
            }
        )
    return {
        "sides": sides,
        "properties": {name: list(lengths) for name, lengths in found.verdicts.items()},
        "obstacle": found.obstacle or None,
        "differs": found.differs,
        "is_complete": found.is_complete,
    }
