"""A run that a batch found, as sentences: for tables, audits and pages that show no grid.

What lives here: from an outcome's shortest run to what happened, step by step. What does not: the grid (`terminal.py`) and
the viewer's page (`page.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.outcome import Broken, Task
from reports.providers import provider_of

_MOST_DETAILS = 2
"""Disagreements told in one sentence."""


@dataclass(frozen=True)
class Told:
    """The property, how the last step breaks it, and a sentence for every step, the first action first."""

    property: str
    happened: str
    steps: tuple[str, ...]


def told(task: Task, broken: Broken) -> Told:
    """The run that breaks a property of the task, in words."""
    question = task.question()
    instance, run = question.instance, broken.run(question)
    codes = [instance.schema.unpack(words) for words in run.states]
    steps = [instance.tell(action, *codes[at : at + 2]) for at, action in enumerate(run.actions)]
    provider = provider_of(instance)
    details: list[str] = []
    if provider is not None:
        before = instance.schema.decode(codes[-2]) if len(codes) > 1 else None
        details = list(provider.disagreements(broken.property, before, instance.schema.decode(codes[-1])))
    happened = f"Step {len(steps)} of {len(steps)} breaks {broken.property}"
    if details:
        happened += f": {'; '.join(details[:_MOST_DETAILS])}"
    return Told(broken.property, f"{happened}.", tuple(steps))
