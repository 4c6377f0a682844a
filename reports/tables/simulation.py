"""What random traces showed, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from acked.checker.explore.simulate import Simulation
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import trace_document
from acked.reports import units
from acked.reports.console import Console, glyphs_of, put, put_paragraph
from acked.reports.runs.answers import subject_in_words
from acked.reports.table import Table, TableCell, numbers, print_table, table


def print_simulation(console: Console, title: str, question: Question, found: Simulation, seconds: float) -> None:
    """Everything but the violating trace itself."""
    glyphs = glyphs_of(console)
    put_paragraph(console, title, "bold underline")
    put_paragraph(console, subject_in_words(question.instance), "dim")
    if found.violation is None:
        text = f"no violation in {units.plural(found.runs, 'random trace')}: this is not a proof"
        put_paragraph(console, text, "bold yellow", f"{glyphs.open} ", "  ")
    else:
        kept = units.plural(len(found.violation.run.actions), "step")
        text = f"violated: {found.violation.property.name}, in run {found.number} of {units.count(found.runs)}: "
        text += f"{units.plural(found.length or 0, 'step')}, shortened to {kept}"
        put_paragraph(console, text, "bold red", f"{glyphs.bad} ", "  ")
    put(console, [])
    estimate, least, most = found.distinct
    rows = [
        ("runs", f"{units.count(found.runs)} of at most {units.plural(found.plan.depth, 'step')}"),
        ("steps", f"{units.count(found.steps)} ({units.rate(found.steps, seconds)})"),
        ("ended early", f"{units.plural(found.stuck, 'run')}, in states where no action is enabled"),
        ("distinct states", f"about {units.count(round(estimate))} seen, an estimate "
                            f"({units.count(round(least))} to {units.count(round(most))} with 95 % confidence)"),
        ("seed", f"{found.plan.seed} (--seed {found.plan.seed} makes the same traces again)"),
    ]  # fmt: skip
    for name, text in rows:
        put_paragraph(console, text, "", f"  {name:<18}", " " * 20)
    put(console, [])
    print_table(console, actions_table(found))


def actions_table(found: Simulation) -> Table:
    """How often each action was fired."""
    rows = [
        (name, units.count(fired.enabled), TableCell("" if fired.enabled else "never fired", "yellow"))
        for name, fired in found.actions.items()
    ]
    return table(("action", numbers("fired"), ""), rows)


def simulation_document(
    spec: str, title: str, question: Question, found: Simulation, seconds: float
) -> dict[str, Any]:
    """The simulation as JSON; `violation` is null if none was found."""
    violation = found.violation
    estimate, least, most = found.distinct
    return {
        "spec": spec,
        "title": title,
        "protocol": question.instance.protocol.name,
        "constants": question.instance.shown_constants,
        "seed": found.plan.seed,
        "runs": found.runs,
        "depth": found.plan.depth,
        "weights": dict(found.plan.weights),
        "steps": found.steps,
        "ended_early": found.stuck,
        "distinct_states_estimate": {"estimate": round(estimate), "least": round(least), "most": round(most)},
        "actions": {name: fired.enabled for name, fired in found.actions.items()},
        "seconds": seconds,
        "violation": None
        if violation is None
        else {
            "property": violation.property.name,
            "kind": violation.property.kind.value,
            "run": found.number,
            "steps": found.length,
            "trace_length": len(violation.run.states),
            "trace": trace_document(Counterexample.of(title, question, violation)),
        },
    }
