"""More about a violation than its canonical trace: `--easiest` and `--explain` of `acked check`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from acked.reports.shell.output import say

if TYPE_CHECKING:
    from acked.base.bounds import Bounds
    from acked.base.observer import Observer
    from acked.checker.diagnosis.easiest import Easiest
    from acked.checker.diagnosis.necessary import Necessity
    from acked.checker.question.result import Result, Violation


@dataclass(frozen=True)
class ExplainedViolation:
    """A violation with the trace that is shown for it; the other fields are None unless they were asked for."""

    violation: Violation
    easiest: Easiest | None
    necessity: Necessity | None


def explain_violations(
    result: Result, bounds: Bounds, observer: Observer, easiest: bool, explain: bool
) -> list[ExplainedViolation]:
    """Every violation of a result, in its order, with its easiest trace and its explanation if they are asked for."""
    from acked.invariants.property import ONE_TRACE

    made = []
    for violation in result.violations:
        explained = ExplainedViolation(violation, None, None)
        if (easiest or explain) and violation.property.kind not in ONE_TRACE:
            option = "--easiest" if easiest else "--explain"
            say(f"note: {option} is for invariants, step properties and deadlock; {violation.property.name} is shown without")
            made.append(explained)
            continue
        if easiest:
            from acked.checker.diagnosis.easiest import easiest_of
            from acked.reports.pictures.effort import effort_of

            observer.phase("comparing the shortest counterexamples")
            found = easiest_of(result.question, violation, effort_of(result.question.instance), bounds, observer)
            explained = replace(explained, violation=found.violation, easiest=found)
        if explain:
            from acked.checker.diagnosis.necessary import necessity

            observer.phase("searching without one action at a time")
            explained = replace(explained, necessity=necessity(result.question, explained.violation, bounds))
        made.append(explained)
    return made


def explanations_document(title: str, result: Result, violations: list[ExplainedViolation]) -> dict[str, Any]:
    """The further keys of `check --format json`; none for what was not asked."""
    if all(item.easiest is None and item.necessity is None for item in violations):
        return {}  # without importing what is not needed
    from acked.reports.tables.necessity import easiest_document, necessity_document

    question = result.question
    easiest = [easiest_document(title, question, item.easiest) for item in violations if item.easiest is not None]
    explained = [
        necessity_document(title, question, item.violation, item.necessity)
        for item in violations
        if item.necessity is not None
    ]
    return {**({"easiest": easiest} if easiest else {}), **({"explained": explained} if explained else {})}
