"""The JSON documents: what `check` answers, and traces.

What lives here: plain dicts, lists, strings, numbers, booleans and None, under the names that DESIGN promises. What
does not: writing files, reading traces back (`checker`), and words for people (`answers.py`, `view.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.question import Question
from checker.result import Result, Run, Violation
from reports.answers import answers
from reports.view import dropped_clauses, steps_of

TRACE_FORMAT = "acked-trace/1"
"""What a trace document says in `format`."""


def trace_document(title: str, question: Question, run: Run, violates: str | None) -> dict[str, Any]:
    """The trace document of a run; `violates` names the property that its last state or last step breaks.

    Steps are numbered from 0; step 0 is the initial state, with action None and no parameters. `drop` names the guard
    clauses that were left out of the protocol; a property is null at a step that does not decide it.
    """
    instance = question.instance
    return {
        "format": TRACE_FORMAT,
        "spec": {
            "title": title,
            "protocol": instance.protocol.name,
            "constants": instance.shown_constants,
            "drop": list(dropped_clauses(instance)),
            "properties": [item.name for item in question.properties],
            "fingerprint": question.fingerprint,
            "violates": violates,
        },
        "steps": [
            {
                "index": step.index,
                "action": step.action,
                "params": dict(step.arguments),
                "state": dict(step.state),
                "changed": [change.field for change in step.changes],
                "properties": {mark.property: mark.holds for mark in step.marks},
            }
            for step in steps_of(question, run)
        ],
    }


def check_document(
    spec: str,
    title: str,
    result: Result,
    total_seconds: float,
    expectation: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document of `check`; `spec` is what the user called the spec, `expectation` is put in as it is.

    `stopped` is one of complete, violation, max_depth, max_states, memory, interrupted. A property's `holds` is null
    where it was not violated but not every reachable state was seen.
    """
    question = result.question
    return {
        "spec": spec,
        "title": title,
        "protocol": question.instance.protocol.name,
        "constants": question.instance.shown_constants,
        "drop": list(dropped_clauses(question.instance)),
        "engine": result.engine,
        "workers": result.workers,
        "verdict": result.verdict.value,
        "stopped": result.stopped.name.lower(),
        "distinct_states": result.distinct_states,
        "generated_states": result.generated_states,
        "depth": result.depth,
        "symmetry": question.is_symmetric,
        "levels": list(result.level_sizes),
        "stored_levels": result.stored_levels,
        "seconds": result.seconds,
        "total_seconds": total_seconds,
        "memory_bytes": result.memory_bytes,
        "properties": [
            {"name": item.property.name, "kind": item.property.kind.value, "holds": item.holds}
            for item in answers(result)
        ],
        "violations": [_violation(title, question, item) for item in result.violations],
        "actions": {name: {"enabled": fired.enabled, "new": fired.new} for name, fired in result.actions.items()},
        "never_fired": result.never_fired,
        "expectation": None if expectation is None else dict(expectation),
        "notes": list(result.notes),
    }


def _violation(title: str, question: Question, item: Violation) -> dict[str, Any]:
    return {
        "property": item.property.name,
        "kind": item.property.kind.value,
        "trace_length": item.trace_length,
        "trace": trace_document(title, question, item.run, item.property.name),
    }
