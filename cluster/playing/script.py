"""A run as a script for a driver: steps with the states around them, and why a run has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Run

State = Mapping[str, Any]
"""A state of the model, decoded."""


@frozen
class ScriptStep:
    """A step, numbered from 1. If not `is_settled`, real brokers do the next step at once with it, so they are compared then;
    after a last step of which that is so, as before an election, they are not.

    `order` is, of a step that moves leadership, the order of replicas that it gives the partition.
    """

    index: int
    label: str
    action: str
    arguments: Mapping[str, Any]
    before: State
    after: State
    is_settled: bool = True
    order: tuple[int, ...] = ()


@frozen
class Script:
    """The steps, the initial state, the order of replicas in which a topic is created, and how each crash is played.

    `shut_down` has the numbers of the crashes that are played as orderly shutdowns: those whose broker comes back as one that
    was not killed.
    """

    initial: State
    steps: tuple[ScriptStep, ...]
    order: tuple[int, ...] = ()
    shut_down: frozenset[int] = frozenset()


@frozen
class Refusal:
    """Why a run cannot be played: its step, counted from 1, the action, and the reason."""

    index: int
    label: str
    reason: str


class NotPlayable(ConfigurationError):
    """A run that real brokers cannot be led through."""

    def __init__(self, refused: Refusal, steps: int) -> None:
        super().__init__(
            f"the trace cannot be played on real brokers: step {refused.index} of {steps}, {refused.label}: {refused.reason}"
        )
        self.refusal = refused


def first_refusal(run: Run, reason: Callable[[int], str | None]) -> Refusal | None:
    """The first step of a run that cannot be played; `reason` says why of a step, by its place in the run, counted from 0."""
    if run.loop is not None:
        return Refusal(len(run.actions), run.actions[-1].label, "the trace goes on for ever")
    reasons = ((at, step.label, reason(at)) for at, step in enumerate(run.actions))
    return next((Refusal(at + 1, label, why) for at, label, why in reasons if why), None)


def script_of(question: Question, run: Run, refused: Refusal | None) -> Script:
    """The script of a run, every step of which is compared; `NotPlayable` if one is refused."""
    if refused is not None:
        raise NotPlayable(refused, len(run.actions))
    schema = question.instance.schema
    states = [schema.decode(schema.unpack(words)) for words in run.states]
    steps = (
        ScriptStep(index, step.label, step.action.name, dict(step.arguments), before, after)
        for index, (step, (before, after)) in enumerate(zip(run.actions, pairwise(states), strict=True), start=1)
    )
    return Script(states[0], tuple(steps))
