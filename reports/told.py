"""A run that a batch found, as sentences: for tables, audits and pages that show no grid.

What lives here: from an outcome's shortest run to what happened, step by step. What does not: the grid (`terminal.py`) and
the viewer's page (`page.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.outcome import Broken, Task
from checker.question import Question
from checker.spec import property_named
from reports.view import view_of


@dataclass(frozen=True)
class Told:
    """What a promise says, how the last step breaks it, and a sentence for every step, the first action first."""

    property: str
    promised: str
    happened: str
    steps: tuple[str, ...]


def told(task: Task, broken: Broken, question: Question | None = None) -> Told:
    """The run that breaks a property, in words; `question` may be the task's, if it is at hand."""
    asked = question or task.question()
    promise = property_named(asked.instance.protocol, broken.property)
    view = view_of("", asked, broken.run(asked), promise)
    happened = promised = ""
    if view.story is not None:
        happened, promised = view.story.happened, view.story.promised
    return Told(broken.property, promised, happened, tuple(step.sentence for step in view.steps[1:]))
