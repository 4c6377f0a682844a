"""Which properties a state or a step violates, and which clauses forbid a step, by the plain evaluator.

The one place that says so of a run that is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.invariants.property import Kind
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.semantics import Guard
from acked.model.language.tracings import ActionInstance


@frozen
class PropertyMark:
    """Whether a property holds at a step; None for a step property where no step was made."""

    property: str
    holds: bool | None


class Marks:
    """Decides a question's properties along a run, by the plain evaluator."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._in_state = Evaluator([question.holds_in_state(i) for i in question.state_properties])
        # Tracing a step property is the slow part, and long runs repeat their steps.
        self._in_step: dict[str, Evaluator] = {}

    def marks_of(self, codes: Sequence[int], before: Sequence[int], step: ActionInstance | None) -> tuple[PropertyMark, ...]:
        """The marks, in the question's order, of the state `codes` that `step` led to from the state `before`."""
        question = self._question
        holds: dict[int, bool | None] = dict.fromkeys(range(len(question.properties)))
        for i, value in zip(question.state_properties, map(bool, self._in_state(codes)), strict=True):
            is_sought = question.properties[i].kind is Kind.REACH  # whose condition says that it is not there yet
            holds[i] = (None if value else True) if is_sought else value
        if step is not None:
            values = self._step_evaluator(step)(before)
            holds.update(zip(question.step_properties, map(bool, values), strict=True))
        return tuple(PropertyMark(item.name, holds[i]) for i, item in enumerate(question.properties))

    def _step_evaluator(self, step: ActionInstance) -> Evaluator:
        if step.label not in self._in_step:
            question = self._question
            conditions = [question.holds_in_step(i, step) for i in question.step_properties]
            self._in_step[step.label] = Evaluator(conditions)
        return self._in_step[step.label]


def false_guards(step: ActionInstance, codes: Sequence[int]) -> list[Guard]:
    """The clauses that forbid a step in a state, in their order; none if it is enabled."""
    holds = Evaluator([guard.condition for guard in step.guards])(codes)
    return [guard for guard, value in zip(step.guards, holds, strict=True) if not value]


def marks_at_end(
    question: Question, states: Sequence[tuple[int, ...]], actions: Sequence[ActionInstance]
) -> tuple[PropertyMark, ...]:
    """The marks of the last state of a run, given as packed states and the actions between them, and of its last step."""
    *_, last = states
    codes = question.instance.schema.unpack(last)
    if not actions:
        return Marks(question).marks_of(codes, [], None)
    return Marks(question).marks_of(codes, question.instance.schema.unpack(states[-2]), actions[-1])
