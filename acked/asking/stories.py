"""More about a violation than its canonical run: `--easiest` and `--explain` of `acked check`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acked.checker.bounds import Bounds
    from acked.checker.diagnosis.easiest import Easiest
    from acked.checker.diagnosis.necessary import Necessity
    from acked.checker.observer import Observer
    from acked.checker.question.result import Result, Violation


@dataclass(frozen=True)
class Story:
    """A violation as it is to be told, and what was found about it."""

    violation: Violation
    easiest: Easiest | None
    necessity: Necessity | None


def more_of(result: Result, bounds: Bounds, observer: Observer, easiest: bool, explain: bool) -> list[Story]:
    """A story for every violation of a result, in its order."""
    from acked.checker.errors import ConfigurationError
    from acked.invariants.property import Kind

    made = []
    for violation in result.violations:
        if (easiest or explain) and violation.property.kind not in (Kind.STATE, Kind.STEP, Kind.DEADLOCK):
            raise ConfigurationError(
                f"--easiest and --explain are about broken promises, and {violation.property.name} is of another kind; "
                "leave them out"
            )
        story = Story(violation, None, None)
        if easiest:
            from acked.checker.diagnosis.easiest import easiest_of
            from acked.reports.pictures.effort import effort_of

            observer.phase("comparing the shortest runs")
            found = easiest_of(result.question, violation, effort_of(result.question.instance), bounds, observer)
            story = replace(story, violation=found.violation, easiest=found)
        if explain:
            from acked.checker.diagnosis.necessary import necessity

            observer.phase("leaving out one action at a time")
            story = replace(story, necessity=necessity(result.question, story.violation, bounds))
        made.append(story)
    return made


def stories_document(title: str, result: Result, stories: list[Story]) -> dict[str, Any]:
    """What `check --format json` says besides; no keys for what was not asked."""
    if all(item.easiest is None and item.necessity is None for item in stories):
        return {}  # without loading what nobody asked for
    from acked.reports.tables.necessity import easiest_document, necessity_document

    question = result.question
    easiest = [easiest_document(title, question, item.easiest) for item in stories if item.easiest is not None]
    explained = [
        necessity_document(title, question, item.violation, item.necessity) for item in stories if item.necessity is not None
    ]
    return {**({"easiest": easiest} if easiest else {}), **({"explained": explained} if explained else {})}
