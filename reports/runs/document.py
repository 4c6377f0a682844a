"""The JSON document of what `check` answers.

Plain dicts, lists, strings, numbers, booleans and None, under the names that docs/json.md promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, StopReason, Violation
from acked.checker.question.user_properties import reach_lengths
from acked.checker.replay.trace_file import trace_document
from acked.reports.runs.answers import answers, dropped_clauses


def check_document(
    spec: str,
    title: str,
    result: Result,
    total_seconds: float,
    expectation: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document of `check`; `spec` is what the user called the spec, `expectation` is put in as it is.

    `stopped` is one of complete, violation, max_depth, max_states, memory, interrupted. A property's `holds` is null
    where it was not violated but not every reachable state was seen. `reach` says of what the spec looks for whether a
    reachable state is one, and how many states the shortest run there has.
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
        "reach": {
            name: {"reached": True if length is not None else _unless_open(result), "trace_length": length}
            for name, length in reach_lengths(result.probes.items()).items()
        },
        "violations": [violation_document(title, question, item) for item in result.violations],
        "actions": {name: {"enabled": fired.enabled, "new": fired.new} for name, fired in result.actions.items()},
        "never_fired": result.never_fired,
        "expectation": None if expectation is None else dict(expectation),
        "notes": list(result.notes),
    }


def _unless_open(result: Result) -> bool | None:
    """What is to be said of something that was not found."""
    return False if result.stopped is StopReason.COMPLETE else None


def violation_document(title: str, question: Question, item: Violation) -> dict[str, Any]:
    """A violation with its trace."""
    return {
        "property": item.property.name,
        "kind": item.property.kind.value,
        "trace_length": item.trace_length,
        "trace": trace_document(Counterexample.of(title, question, item)),
    }
