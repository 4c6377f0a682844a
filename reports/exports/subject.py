"""What is exported."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import Any

from acked.base.frozen import frozen
from acked.checker.question.result import Counterexample
from acked.reports.console import harmless
from acked.reports.runs.view import TraceView


@frozen
class Exported:
    """A run with what there is to show of it; `step` is the one that a format with a single picture shows."""

    shown: TraceView
    found: Counterexample
    step: int

    @cached_property
    def view(self) -> TraceView:
        """What formats write: every text is one line without control characters, whoever wrote it."""
        made: TraceView = _harmless(self.shown)
        return made


def _harmless(value: Any) -> Any:
    """The same with harmless texts, in dataclasses and tuples as deep as they go."""
    if type(value) is str:
        return harmless(value)
    if type(value) is tuple:
        return tuple(map(_harmless, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: _harmless(getattr(value, item.name)) for item in fields(value) if item.init})
    return value
