"""Why a violating run breaks its promise, in the terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acked.checker.diagnosis.easiest import Cost, Easiest
from acked.checker.diagnosis.necessary import Forbidden, LeftOut, Necessity
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Verdict, Violation
from acked.checker.replay.trace_file import trace_document
from acked.reports.console import clean, glyphs_of, put, put_paragraph, put_table
from acked.reports.runs.view import steps_of
from acked.reports.units import count, plural

if TYPE_CHECKING:
    from rich.console import Console


def print_easiest(console: Console, easiest: Easiest) -> None:
    """One line: how this run compares with the others of its length."""
    if easiest.runs == 1:
        text = "no other run is as short"
    else:
        text = f"of {count(easiest.runs)} equally short runs this is the easiest to tell: {cost_in_words(easiest.cost)}"
        if easiest.canonical != easiest.cost:
            text += f" (the one that is shown otherwise: {cost_in_words(easiest.canonical)})"
    put_paragraph(console, text, "", "note: ", "      ")


def cost_in_words(cost: Cost) -> str:
    """What it takes to tell a run."""
    brokers, switches, faults = plural(cost.brokers, "broker"), plural(cost.switches, "change"), plural(cost.faults, "fault")
    return f"{brokers}, {switches} of who acts, {faults}"


def print_necessity(console: Console, question: Question, violation: Violation, found: Necessity) -> None:
    """What each event is there for, and the nearest run that keeps the promise, beside the one that does not."""
    glyphs = glyphs_of(console)
    steps = violation.run.actions
    put(console, [])
    put_paragraph(console, "Which events it takes", "bold")
    events = [
        [(str(item.index), ""), (clean(steps[item.index - 1].label, console), ""), (_left_out(item), "")]
        for item in found.left_out
    ]
    put_table(console, [("step", True), ("event", False), ("left out", False)], events)
    put(console, [])
    never = [
        [(clean(item.action, console), ""), (_forbidden(item, glyphs.good, glyphs.bad), "")] for item in found.forbidden
    ]
    put_table(console, [("if this never happens", False), ("then", False)], never)
    put(console, [])
    if found.kept is None:
        put_paragraph(console, "No change of one event keeps the promise.", "bold")
        return
    text = f"The nearest run that keeps it: {found.kept.change}"
    put_paragraph(console, text, "bold")
    broken = [view.sentence for view in steps_of(question, violation.run)[1:]]
    kept = [view.sentence for view in steps_of(question, found.kept.run)[1:]]
    length = max(len(broken), len(kept))
    ends = [f"{glyphs.bad} {violation.property.name} is broken", f"{glyphs.good} {violation.property.name} is kept"]
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
    """The same as JSON; `kept` is null if no single change of an event keeps the promise."""
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
        return "the rest happens, and nothing is broken"
    return f"step {item.blocked} cannot happen ({item.clause})"


def _forbidden(item: Forbidden, good: str, bad: str) -> str:
    if item.verdict is Verdict.HOLDS:
        return f"{good} the promise holds (all {count(item.states)} states seen)"
    if item.trace_length is not None:
        return f"{bad} it is broken all the same, in {plural(item.trace_length - 1, 'step')}"
    return f"not decided ({count(item.states)} states seen)"


def _beside(left: str, right: str, width: int) -> list[tuple[str, str]]:
    from textwrap import wrap

    one, other = wrap(left, width) or [""], wrap(right, width) or [""]
    length = max(len(one), len(other))
    return list(zip(one + [""] * (length - len(one)), other + [""] * (length - len(other)), strict=True))
