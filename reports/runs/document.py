"""The JSON documents: what `check` answers, and traces.

Plain dicts, lists, strings, numbers, booleans and None, under the names that DESIGN promises.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, StopReason, Violation
from acked.checker.question.user_properties import reached
from acked.invariants.property import Kind
from acked.reports.runs.answers import answers
from acked.reports.runs.view import dropped_clauses, steps_of

TRACE_FORMAT = "acked-trace/1"
"""What a trace document says in `format`."""


def trace_document(found: Counterexample) -> dict[str, Any]:
    """The trace document of a run and the property that its last state or last step breaks, if any.

    Steps are numbered from 0; step 0 is the initial state, with action None and no parameters. `drop` names the guard
    clauses that were left out of the protocol; a property is null at a step that does not decide it. Of a run without end
    `loop` is the number of the step after which the last one is as well, and the run goes on as it did from there.
    """
    question, run = found.question, found.run
    instance = question.instance
    return {
        "format": TRACE_FORMAT,
        **({} if run.loop is None else {"loop": run.loop}),
        "spec": {
            "title": found.title,
            "protocol": instance.protocol.shown_reference,
            "constants": instance.shown_constants,
            "drop": list(dropped_clauses(instance)),
            "properties": [item.name for item in question.properties],
            **_written(question),
            "fingerprint": question.fingerprint,
            "violates": None if found.property is None else found.property.name,
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


def _written(question: Question) -> dict[str, dict[str, Any]]:
    """The predicates that somebody wrote, without which nobody could replay the trace; no keys where there are none."""
    texts: dict[str, dict[str, Any]] = {}
    for item in question.properties:
        if item.liveness is not None:
            said = item.liveness
            pair = said.goal_text if said.trigger_text is None else [said.trigger_text, said.goal_text]
            texts.setdefault("liveness", {})[item.name] = pair
            texts["fairness"] = {"weak": list(said.weak), "strong": list(said.strong)}
        if item.text is not None:
            texts.setdefault("reach" if item.kind is Kind.REACH else "invariants", {})[item.name] = item.text
    return texts


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
            for name, length in reached(result.probes.items()).items()
        },
        "violations": [_violation(title, question, item) for item in result.violations],
        "actions": {name: {"enabled": fired.enabled, "new": fired.new} for name, fired in result.actions.items()},
        "never_fired": result.never_fired,
        "expectation": None if expectation is None else dict(expectation),
        "notes": list(result.notes),
    }


def _unless_open(result: Result) -> bool | None:
    """What is to be said of something that was not found."""
    return False if result.stopped is StopReason.COMPLETE else None


def _violation(title: str, question: Question, item: Violation) -> dict[str, Any]:
    return {
        "property": item.property.name,
        "kind": item.property.kind.value,
        "trace_length": item.trace_length,
        "trace": trace_document(Counterexample.of(title, question, item)),
    }
