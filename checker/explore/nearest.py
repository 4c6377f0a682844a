"""The nearest state in which a predicate holds: a search that begins where somebody is."""

from __future__ import annotations

from dataclasses import dataclass

from acked.base.bounds import Bounds
from acked.checker.predicate.parse import MAX_PARTS, parse_predicate
from acked.checker.question.question import Question
from acked.checker.question.result import Run, StopReason, Words
from acked.checker.search.local import search
from acked.invariants.property import Kind, Property
from acked.model.language.protocol import Instance
from acked.model.language.values import Bool

MAX_STATES = 2_000_000
"""States looked at before giving up, so that the explorer answers in time."""


@dataclass(frozen=True)
class Nearest:
    """A shortest run from the asked state to one in which the predicate holds; None if none was found.

    `is_complete` is true if every state that can be reached from there was seen; `states` how many were.
    """

    run: Run | None
    is_complete: bool
    states: int


def nearest(
    instance: Instance, state: Words, text: str, most_states: int = MAX_STATES, most_parts: int = MAX_PARTS
) -> Nearest:
    """Searches level by level from a packed state; `PredicateError` if the text is not a predicate of the instance.

    `most_parts` bounds the predicate, and with `most_states` the time that this takes.
    """
    begins = instance.protocol.instantiate(instance.constants, instance.dropped)
    begins.initial = (state,)
    wanted = parse_predicate(text, begins, most_parts)
    absent = Property("Absent", Kind.STATE, lambda _: ~Bool(wanted), f"not {text}", "asked for", "")
    result = search(Question(begins, (absent,)), Bounds(max_states=most_states))
    if result.violations:
        run = result.violations[0].run
        by_label = {step.label: step for step in instance.actions}
        found = Run(run.states, tuple(by_label[step.label] for step in run.actions))
        return Nearest(found, True, result.distinct_states)
    return Nearest(None, result.stopped is StopReason.COMPLETE, result.distinct_states)
