"""Which properties are violated without each guard clause, as a table, Markdown and JSON."""

from __future__ import annotations

from acked.checker.gate.ablation import Ablated, Ablation
from acked.checker.question.result import Counterexample
from acked.reports.console import Console, glyphs_of, put, put_paragraph
from acked.reports.escaping import md_code, md_text
from acked.reports.runs.answers import subject_in_words
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import TraceView, view_of
from acked.reports.table import Table, TableCell, print_table, table, table_markdown
from acked.reports.units import plural

ABLATION_FORMAT = "acked-ablation/1"
"""The document's `format`."""


def shortest_story(found: Ablation) -> TraceView | None:
    """The shortest counterexample that some clause prevents."""
    candidates = [(item.broken[0].trace_length, at) for at, item in enumerate(found.clauses) if item.broken]
    return _view(found, found.clauses[min(candidates)[1]]) if candidates else None


def print_ablation(console: Console, found: Ablation, with_stories: bool) -> None:
    """The table; then the shortest story, or that of every clause."""
    glyphs = glyphs_of(console)
    put_paragraph(console, found.spec.title, "bold underline")
    put_paragraph(console, subject_in_words(found.spec.question().instance), "dim")
    put(console, [])
    print_table(console, ablation_table(found))
    for item in found.clauses:
        if _kind(item) == "open":
            why = item.failure if item.outcome is None else item.outcome.stopped.value
            put_paragraph(console, f"undecided without {item.name}: {why}", "yellow", "", "  ")
    idle = [item.name for item in found.clauses if item.is_idle]
    put(console, [])
    if idle:
        text = f"no property of this spec is violated without: {'; '.join(idle)}"
        put_paragraph(console, text, "", f"{glyphs.open} ", "  ")
    views = [shortest_story(found)]
    if with_stories:
        views = [_view(found, item) for item in found.clauses if item.broken]
    for view in views:
        if view is not None:
            put(console, [])
            put_paragraph(console, f"without “{'; '.join(view.dropped)}”:", "bold")
            print_trace(console, view)
    for warning in found.warnings:
        put_paragraph(console, f"warning: {warning}", "yellow")


def ablation_table(found: Ablation) -> Table:
    """A row per clause: which properties are violated without it, and in how many steps."""
    style = {"needed": "bold red", "idle": "dim", "bound": "", "open": "yellow"}
    rows = [(item.name, TableCell(_effect(item), style[_kind(item)])) for item in found.clauses]
    return table(("without the clause", "violated"), rows)


def ablation_markdown(found: Ablation) -> str:
    """What clauses are for as Markdown, with the shortest story of every clause in short sentences."""
    lines = [f"# What the clauses of {md_text(found.spec.protocol.name)} are for", "", f"{md_text(found.spec.title)}.", ""]
    lines += [md_code(subject_in_words(found.spec.question().instance)), ""]
    lines += table_markdown(ablation_table(found))
    for item in found.clauses:
        if not item.broken:
            continue
        view = _view(found, item)
        lines += ["", f"## {md_text(item.name)}", ""]
        if view.story is not None:
            lines += [md_text(view.story.promised), "", md_text(view.story.happened), ""]
        lines += [f"{step.index}. {md_text(step.sentence)}" for step in view.steps if step.action is not None]
    return "\n".join(lines) + "\n"


def ablation_document(found: Ablation) -> dict[str, object]:
    """What clauses are for as JSON; `state` of a clause is needed, idle, bounds or undecided."""
    names = {"needed": "needed", "idle": "idle", "bound": "bounds", "open": "undecided"}
    return {
        "format": ABLATION_FORMAT,
        "spec": found.spec.name,
        "protocol": found.spec.protocol.name,
        "constants": dict(found.spec.constants),
        "properties": [item.name for item in found.spec.properties],
        "violated_anyway": list(found.whole.violated),
        "clauses": [
            {
                "clause": item.name,
                "state": names[_kind(item)],
                "breaks": [{"property": part.property, "trace_length": part.trace_length} for part in item.broken],
                "story": [step.sentence for step in _view(found, item).steps] if item.broken else [],
                "distinct_states": None if item.outcome is None else item.outcome.distinct_states,
                "failure": item.failure or None,
            }
            for item in found.clauses
        ],
    }


def _view(found: Ablation, item: Ablated) -> TraceView:
    question = item.task.question()
    broken = item.broken[0]
    promise = next(part for part in question.properties if part.name == broken.property)
    return view_of(Counterexample(found.spec.title, question, broken.run(question), promise))


def _kind(item: Ablated) -> str:
    return "needed" if item.broken else "idle" if item.is_idle else "bound" if item.is_bound else "open"


def _effect(item: Ablated) -> str:
    if item.broken:
        return ", ".join(f"{part.property} in {plural(part.trace_length - 1, 'step')}" for part in item.broken)
    if item.is_idle:
        return "nothing"
    if item.is_bound:
        return "the bounds: a field leaves its domain"
    if item.outcome is None:
        return "undecided"
    return f"undecided: {item.outcome.stopped.value}"

