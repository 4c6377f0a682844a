"""The tables after a search: verdict, numbers, properties, actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from acked.checker.question.result import Result, StopReason, Verdict
from acked.checker.question.user_properties import reach_lengths
from acked.checker.symmetry.orbits import MAX_RENAMINGS, renamed_sorts
from acked.reports import units
from acked.reports.console import Console, Glyphs, clean, flow, glyphs_of, put, put_paragraph
from acked.reports.runs.answers import PropertyAnswer, answers, subject_in_words, verdict_in_words, violated_how
from acked.reports.table import Mark, Table, TableCell, numbers, print_table, table

if TYPE_CHECKING:
    from acked.model.language.values import Id

_MANY_STATES = 100_000
_STYLE = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.INCOMPLETE: "bold yellow"}


def print_result(console: Console, title: str | None, result: Result, total_seconds: float) -> None:
    """Everything about a result but its traces; `total_seconds` counts from the command's start.

    Without a title, below a trace that has title and constants already, it begins with "The search".
    """
    glyphs = glyphs_of(console)
    put_paragraph(console, "The search" if title is None else title, "bold underline")
    if title is not None:
        put_paragraph(console, subject_in_words(result.question.instance), "dim")
    sign = {Verdict.HOLDS: glyphs.good, Verdict.VIOLATED: glyphs.bad, Verdict.INCOMPLETE: glyphs.open}[result.verdict]
    put_paragraph(console, verdict_in_words(result), _STYLE[result.verdict], f"{sign} ", "  ")
    put(console, [])
    _print_numbers(console, result, total_seconds)
    if result.question.properties:
        put(console, [])
        print_table(console, properties_table(result))
    if found := reach_lengths(result.probes.items()):
        put(console, [])
        print_table(console, reach_table(result, found))
    put(console, [])
    _print_actions(console, result, glyphs)
    print_notes(console, result.notes)


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Sentences beside an answer."""
    for note in notes:
        put_paragraph(console, f"note: {note}", "", "", "      ")


def print_expectation(console: Console, verdict: Verdict, differences: Sequence[str], ended: str = "") -> None:
    """Whether the answer is the one that the spec expects, and if not, in what it differs.

    `ended` says why the search ended early, if it did: what does not differ so far may yet.
    """
    glyphs = glyphs_of(console)
    put(console, [])
    if ended and not differences:
        text = f"{ended} before it could be compared with what the spec expects; nothing differs so far"
        put_paragraph(console, text, "bold yellow", f"{glyphs.open} ", "  ")
        return
    if not differences:
        text = f"{verdict.value}, as the spec expects"
        put_paragraph(console, text, "bold green", f"{glyphs.good} ", "  ")
        return
    put_paragraph(console, "not as the spec expects:", "bold red", f"{glyphs.bad} ", "  ")
    for difference in differences:
        put_paragraph(console, difference, "", "  - ", "    ")


def _print_numbers(console: Console, result: Result, total_seconds: float) -> None:
    states, generated, seconds = result.distinct_states, result.generated_states, result.seconds
    # The time of levels that an earlier search completed is not known here.
    paces = ["" if result.stored_levels else f" ({units.rate(number, seconds)})" for number in (states, generated)]
    # For a small space it would measure the first size of the table rather than the states.
    per_state = f" ({units.size(result.memory_bytes / states)} a state)" if states >= _MANY_STATES else ""
    stored = f", {units.count(result.stored_levels)} of them read from the run directory" if result.stored_levels else ""
    rows = [
        ("distinct states", f"{units.count(states)}{paces[0]}"),
        ("generated states", f"{units.count(generated)}{paces[1]}"),
        ("depth", units.plural(result.depth, "level") + stored),
        ("time", f"{units.duration(seconds)} searching, {units.duration(total_seconds)} in all"),
        *([("symmetry", _symmetry(result))] if result.question.is_symmetric else []),
        ("memory", f"{units.size(result.memory_bytes)}{per_state}"),
        ("engine", f"{result.engine}, {units.plural(result.workers, 'worker')}"),
    ]
    for name, text in rows:
        put_paragraph(console, text, "bold" if name.endswith("states") else "", f"  {name:<18}", " " * 20)


def _symmetry(result: Result) -> str:
    instance = result.question.instance
    renamed, declared = renamed_sorts(instance), instance.protocol.symmetric
    counted = f"states that differ only in the names of {_plural(renamed)} are counted once"
    if renamed == declared:
        return counted
    kept = _plural([sort for sort in declared if sort not in renamed])
    return f"{counted}; {kept} keep theirs, because together there are more than {MAX_RENAMINGS} renamings"


def _plural(sorts: Sequence[type[Id]]) -> str:
    return " and ".join(f"{sort.type_name}s" for sort in sorts)


def properties_table(result: Result) -> Table:
    """What was asked, and the answer to it."""
    rows = [
        (item.property.name, TableCell(item.property.kind.value, "dim"), _answer(item)) for item in answers(result)
    ]
    return table(("property", "kind", "answer"), rows)


def reach_table(result: Result, found: Mapping[str, int | None]) -> Table:
    """What was looked for, by name, with the states of the shortest run there; None where there was none."""
    rows = []
    for name, length in found.items():
        if length is not None:
            answer = TableCell(f"reached in {units.plural(length - 1, 'step')}", "bold green", Mark.GOOD)
        elif result.stopped is StopReason.COMPLETE:
            answer = TableCell("unreachable: no reachable state satisfies it", "bold", Mark.BAD)
        else:
            answer = TableCell("not reached so far", "yellow", Mark.OPEN)
        rows.append((name, answer))
    return table(("looked for", "answer"), rows)


def _answer(item: PropertyAnswer) -> TableCell:
    if item.violation is not None:
        return TableCell(f"violated {violated_how(item.violation)}", "bold red", Mark.BAD)
    if item.holds:
        return TableCell("holds", "bold green", Mark.GOOD)
    return TableCell("not violated so far", "yellow", Mark.OPEN)


def _print_actions(console: Console, result: Result, glyphs: Glyphs) -> None:
    silent = set(result.never_fired)
    # That an action never fired is a finding only where everything was seen.
    words = "never fired" if result.stopped is StopReason.COMPLETE else "not fired so far"
    mark, shade = (Mark.BAD, "bold yellow") if result.stopped is StopReason.COMPLETE else (Mark.OPEN, "dim")
    rows = []
    for name, fired in result.actions.items():
        style = shade if name in silent else ""
        texts = [TableCell(text, style) for text in (name, units.count(fired.enabled), units.count(fired.new))]
        rows.append([*texts, TableCell(words, style, mark) if name in silent else TableCell("")])
    print_table(console, table(("action", numbers("enabled"), numbers("new"), ""), rows))
    if silent:
        names = [(clean(name, console), shade) for name in result.never_fired]
        names = [(f"{name}," if at < len(names) - 1 else name, style) for at, (name, style) in enumerate(names)]
        lead = f"{mark.sign(glyphs)}{words}: "
        for spans in flow([(lead, shade)], names, len(lead), console.width):
            put(console, spans)
