"""What is exported."""

from __future__ import annotations

from dataclasses import dataclass

from acked.checker.question.result import Counterexample
from acked.reports.runs.view import TraceView


@dataclass(frozen=True)
class Exported:
    """A run with its view; `step` is the one that a format with a single picture shows."""

    view: TraceView
    found: Counterexample
    step: int
