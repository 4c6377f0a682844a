"""The nearest state in which a predicate holds, or that breaks a promise: a search that begins where somebody is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acked.base.bounds import Bounds
from acked.base.frozen import frozen
from acked.checker.predicate.parse import MAX_PARTS, parse_predicate
from acked.checker.question.question import Question
from acked.checker.question.result import Run, StopReason, Words
from acked.checker.search.local import search
from acked.invariants.property import Kind, Property
from acked.model.language.protocol import Instance
from acked.model.language.values import Bool

MAX_STATES = 2_000_000
"""States looked at before giving up, so that the explorer answers in time."""


@frozen
class Nearest:
    """A shortest run from the asked state to one of the kind that was looked for; None if none was found.

    `is_complete` is true if every state that can be reached from there was seen; `states` how many were. `broken` names the
    promise that the run breaks, if one was looked for.
    """

    run: Run | None
    is_complete: bool
    states: int
    broken: str = ""


def nearest(
    instance: Instance, state: Words, text: str, most_states: int = MAX_STATES, most_parts: int = MAX_PARTS
) -> Nearest:
    """Searches level by level from a packed state; `PredicateError` if the text is not a predicate of the instance.

    `most_parts` bounds the predicate, and with `most_states` the time that this takes.
    """
    begins = _beginning_with(instance, state)
    wanted = parse_predicate(text, begins, most_parts)
    absent = Property("Absent", Kind.STATE, lambda _: ~Bool(wanted), f"not {text}", "asked for", "")
    return replace(_found(instance, Question(begins, (absent,)), most_states), broken="")


def nearest_violation(instance: Instance, state: Words, promises: Sequence[Property]) -> Nearest:
    """The same for the nearest state or step that breaks one of these promises, of those that states and steps decide."""
    question = Question(_beginning_with(instance, state), tuple(promises)).without_graph_properties()
    return _found(instance, question, MAX_STATES)


def _beginning_with(instance: Instance, state: Words) -> Instance:
    begins = instance.protocol.instantiate(instance.constants, instance.dropped)
    begins.initial = (state,)
    return begins


def _found(instance: Instance, question: Question, most_states: int) -> Nearest:
    result = search(question, Bounds(max_states=most_states))
    if not result.violations:
        return Nearest(None, result.stopped is StopReason.COMPLETE, result.distinct_states)
    found = result.violations[0]
    by_label = {step.label: step for step in instance.actions}
    run = Run(found.run.states, tuple(by_label[step.label] for step in found.run.actions))
    return Nearest(run, True, result.distinct_states, found.property.name)
