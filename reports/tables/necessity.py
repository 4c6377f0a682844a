"""Why a counterexample violates its property, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from acked.checker.diagnosis.easiest import Cost, Easiest
from acked.checker.diagnosis.necessary import Forbidden, LeftOut, NearestRun, Necessity
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Verdict, Violation
from acked.checker.replay.trace_file import trace_document
from acked.reports.console import Console, Glyphs, glyphs_of, put, put_paragraph
from acked.reports.runs.view import steps_of
from acked.reports.table import Mark, Table, TableCell, numbers, print_table, table
from acked.reports.units import count, plural


def print_easiest(console: Console, easiest: Easiest) -> None:
    """One line: how this trace compares with the others of its length."""
    if easiest.runs == 1:
        text = "no other counterexample is as short"
    else:
        text = f"of {count(easiest.runs)} equally short counterexamples this is the easiest to follow: "
        text += cost_in_words(easiest.cost)
        if easiest.canonical != easiest.cost:
            text += f" (the canonical one: {cost_in_words(easiest.canonical)})"
    put_paragraph(console, text, "", "note: ", "      ")


def cost_in_words(cost: Cost) -> str:
    """What it takes to follow a trace."""
    brokers, switches, faults = plural(cost.brokers, "broker"), plural(cost.switches, "change"), plural(cost.faults, "fault")
    return f"{brokers}, {switches} of actor, {faults}"


def print_necessity(console: Console, question: Question, violation: Violation, found: Necessity) -> None:
    """What each event is needed for, and the nearest trace without the violation, beside the counterexample."""
    put(console, [])
    print_table(console, events_table(violation, found))
    put(console, [])
    never = [(item.action, _forbidden(item)) for item in found.forbidden]
    print_table(console, table(("if this never happens", "then"), never))
    put(console, [])
    if found.kept is None:
        put_paragraph(console, "No change of a single event avoids the violation.", "bold")
        return
    text = f"The nearest trace without the violation: {found.kept.change}"
    put_paragraph(console, text, "bold")
    _print_beside(console, question, violation, found.kept, glyphs_of(console))


def events_table(violation: Violation, found: Necessity) -> Table:
    """What happens to the rest of the trace when one event is left out."""
    steps = violation.run.actions
    rows = [(str(item.index), steps[item.index - 1].label, _left_out(item)) for item in found.left_out]
    return table((numbers("step"), "event", "left out"), rows, "Which events are necessary")


def _print_beside(console: Console, question: Question, violation: Violation, nearest: NearestRun, glyphs: Glyphs) -> None:
    """The sentences of both traces side by side, bold where they differ."""
    broken = [view.sentence for view in steps_of(question, violation.run)[1:]]
    kept = [view.sentence for view in steps_of(question, nearest.run)[1:]]
    length = max(len(broken), len(kept))
    ends = [f"{glyphs.bad} {violation.property.name} is violated", f"{glyphs.good} {violation.property.name} is not violated"]
    rows = []
    for at in range(length + 1):
        left = broken[at] if at < len(broken) else ends[0] if at == len(broken) else ""
        right = kept[at] if at < len(kept) else ends[1] if at == len(kept) else ""
        style = "" if left == right else "bold"
        rows.append((str(at + 1) if at < length else "", left, right, style))
    wide = max(20, (console.width - 8) // 2)
    for number, left, right, style in rows:
        for line, (one, other) in enumerate(_beside(left, right, wide)):
            put(console, [(f"{number if line == 0 else '':>4} ", "dim"), (f"{one:<{wide}} ", style), (other, style)])


def necessity_document(title: str, question: Question, violation: Violation, found: Necessity) -> dict[str, Any]:
    """Which events are necessary, as JSON; `kept` is null if no single change of an event keeps the promise."""
    kept = found.kept
    return {
        "property": violation.property.name,
        "left_out": [
            {"step": item.index, "blocked": item.blocked, "clause": item.clause or None} for item in found.left_out
        ],
        "forbidden": [
            {"action": item.action, "verdict": item.verdict.value, "trace_length": item.trace_length}
            for item in found.forbidden
        ],
        "kept": None
        if kept is None
        else {"change": kept.change, "step": kept.index, "trace": trace_document(Counterexample(title, question, kept.run))},
    }


def easiest_document(title: str, question: Question, easiest: Easiest) -> dict[str, Any]:
    """The easiest run as JSON."""
    cost = easiest.cost
    return {
        "property": easiest.violation.property.name,
        "brokers": cost.brokers,
        "switches": cost.switches,
        "faults": cost.faults,
        "shortest_runs": easiest.runs,
        "trace": trace_document(Counterexample.of(title, question, easiest.violation)),
    }


def _left_out(item: LeftOut) -> str:
    if item.blocked is None:
        return "the other steps still happen, and nothing is violated"
    return f"step {item.blocked} cannot happen ({item.clause})"


def _forbidden(item: Forbidden) -> TableCell:
    if item.verdict is Verdict.HOLDS:
        return TableCell(f"the property holds (all {count(item.states)} reachable states seen)", mark=Mark.GOOD)
    if item.trace_length is not None:
        return TableCell(f"it is violated anyway, in {plural(item.trace_length - 1, 'step')}", mark=Mark.BAD)
    return TableCell(f"not decided ({count(item.states)} states seen)", mark=Mark.OPEN)


def _beside(left: str, right: str, width: int) -> list[tuple[str, str]]:
    from textwrap import wrap

    one, other = wrap(left, width) or [""], wrap(right, width) or [""]
    length = max(len(one), len(other))
    return list(zip(one + [""] * (length - len(one)), other + [""] * (length - len(other)), strict=True))
