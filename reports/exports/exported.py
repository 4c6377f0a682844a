"""What is exported. What does not live here: the formats."""

from __future__ import annotations

from dataclasses import dataclass

from checker.question import Question
from checker.result import Run
from reports.view import TraceView


@dataclass(frozen=True)
class Exported:
    """A run with its view; `step` is the one that a format with a single picture shows."""

    view: TraceView
    question: Question
    run: Run
    step: int
