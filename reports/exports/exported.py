"""What is exported."""

from __future__ import annotations

from dataclasses import dataclass

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.reports.runs.view import TraceView


@dataclass(frozen=True)
class Exported:
    """A run with its view; `step` is the one that a format with a single picture shows."""

    view: TraceView
    question: Question
    run: Run
    step: int
