"""A run that a batch found, as sentences: for tables, audits and pages that show no grid.

From an outcome's shortest run to what happened, step by step.
"""

from __future__ import annotations

from acked.base.frozen import frozen
from acked.checker.batch.outcome import FoundViolation, Task

_MAX_DETAILS = 2
"""Disagreements named in one sentence."""


@frozen
class TraceSentences:
    """The property, how the last step breaks it, and a sentence for every step, the first action first.

    `actions` are the names of the steps' actions.
    """

    property: str
    happened: str
    steps: tuple[str, ...]
    actions: tuple[str, ...]


def sentences_of(task: Task, broken: FoundViolation) -> TraceSentences:
    """The run that breaks a property of the task, in words."""
    from acked.reports.pictures.providers import provider_of
    from acked.reports.runs.view import steps_of

    question, run = task.question_about(broken)
    steps = steps_of(question, run)
    provider = provider_of(question.instance)
    before = steps[-2].told if len(steps) > 1 else None
    details = list(provider.disagreements(broken.property, before, steps[-1].told))
    last = len(steps) - 1
    happened = f"Step {last} of {last} breaks {broken.property}"
    if details:
        happened += f": {'; '.join(details[:_MAX_DETAILS])}"
    names = tuple(fired.action.name for fired in run.actions)
    return TraceSentences(broken.property, f"{happened}.", tuple(step.sentence for step in steps[1:]), names)
