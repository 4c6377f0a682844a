"""Following given states under a protocol: which action makes each step, and what blocks the first that is not a transition.

It serves the traces of other tools, which may name no actions, and the question why other rules reject a run.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from acked.base.frozen import frozen
from acked.checker.question.result import Run, Words
from acked.checker.replay.explain import Explainer, FalseClause
from acked.checker.replay.steps import value_at
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance


@frozen
class StepHint:
    """What is known of a step beforehand: the name of its action, and parameters by name; both may be missing."""

    action: str | None = None
    arguments: Mapping[str, Any] | None = None


@frozen
class BlockedStep:
    """Why step `index` is not a transition of the protocol.

    `step` is the action instance that comes nearest, None if the protocol has none at all; `clauses` are those of its clauses
    that are false, `elsewhere` the fields that it would set otherwise, each as (field, its value there, the value asked for).
    """

    index: int
    step: ActionInstance | None
    clauses: tuple[FalseClause, ...]
    elsewhere: tuple[tuple[str, object, object], ...]


@frozen
class Retrace:
    """The longest beginning of the given states that is a run, and what ends it if that is not all of them."""

    run: Run
    blocked: BlockedStep | None


def retrace(instance: Instance, states: Sequence[Words], hints: Iterable[StepHint | None] = ()) -> Retrace:
    """Follows packed states, the first of which must be initial (otherwise index 0 is blocked, without a step)."""
    if states[0] not in instance.initial:
        return Retrace(Run((), ()), BlockedStep(0, None, (), ()))
    known = [*hints]
    actions: list[ActionInstance] = []
    for index in range(1, len(states)):
        codes = instance.schema.unpack(states[index - 1])
        target = instance.schema.unpack(states[index])
        hint = (known[index - 1] if index <= len(known) else None) or StepHint()
        steps = [step for step in instance.enabled_actions(codes) if _fire(instance, step, codes) == target]
        if not steps:
            return Retrace(Run(tuple(states[:index]), tuple(actions)), _nearest_step(instance, index, codes, target, hint))
        actions.append(max(steps, key=lambda step: _likeness(step, hint)))  # the first of equally likely ones
    return Retrace(Run(tuple(states), tuple(actions)), None)


def under(other: Instance, instance: Instance, run: Run) -> Retrace:
    """How far another set of rules over the same state allows a run; `ModelError` if its states do not fit there."""
    schema = other.schema
    decoded = [instance.schema.decode(instance.schema.unpack(words)) for words in run.states]
    hints = [StepHint(step.action.name, step.arguments) for step in run.actions]
    found = retrace(other, [schema.pack(schema.encode(state)) for state in decoded], hints)
    if found.blocked is None:
        return found
    return replace(found, blocked=retell(other, found.run.actions, found.blocked))


def retell(instance: Instance, taken: Sequence[ActionInstance], blocked: BlockedStep) -> BlockedStep:
    """The blocked step after the steps `taken`, its clauses with the values with which people are shown the run.

    The search may number leader epochs by rank (`Protocol.told_with`). What does not come out alike stays as it is.
    """
    telling = instance.shown_instance
    if telling is instance or blocked.step is None or not blocked.clauses:
        return blocked
    refused = telling.counterpart(blocked.step)
    codes = telling.schema.encode(instance.schema.decode(instance.schema.unpack(instance.initial[0])))
    try:
        for known in map(telling.counterpart, taken):
            if known is None:
                return blocked
            codes = telling.fire(known, codes)
    except DomainOverflow:  # A run too long for the bounds of the telling.
        return blocked
    if refused is None:
        return blocked
    clauses = Explainer(telling).refusal(refused, codes).clauses
    same = [clause.label for clause in clauses] == [clause.label for clause in blocked.clauses]
    return replace(blocked, clauses=clauses) if same else blocked


def _fire(instance: Instance, step: ActionInstance, codes: Sequence[int]) -> list[int] | None:
    try:
        return instance.fire(step, codes)
    except ModelError:  # A disabled action may well leave a field's domain.
        return None


def _likeness(step: ActionInstance, hint: StepHint) -> tuple[bool, float]:
    same = hint.arguments is None or step.arguments == hint.arguments
    likeness = difflib.SequenceMatcher(None, step.action.name, hint.action).ratio() if hint.action else 0.0
    return same, likeness


def _nearest_step(
    instance: Instance, index: int, codes: Sequence[int], target: Sequence[int], hint: StepHint
) -> BlockedStep:
    """Prefers the disabled action that would reach the target, then the one the trace names, then one that changes the right
    fields.
    """
    explainer = Explainer(instance)
    before = instance.schema.decode(codes)
    nearest: tuple[tuple[object, ...], ActionInstance, tuple[tuple[str, object, object], ...]] | None = None
    for step in instance.actions:
        reached = _fire(instance, step, codes)
        if reached is None:
            continue
        leaves = [at for at, (got, asked) in enumerate(zip(reached, target, strict=True)) if got != asked]
        there, asked = instance.schema.decode(reached), instance.schema.decode(target)
        others = [instance.schema.leaves[at] for at in leaves]
        read = partial(value_at, instance.schema)
        elsewhere = tuple((leaf.name, *(read(state, leaf.path, None) for state in (there, asked))) for leaf in others)
        false = len(explainer.refusal(step, codes).clauses)
        same, likeness = _likeness(step, hint)
        if hint.action is None:
            # Of equally near ones the action with more parameters: it says more about the step.
            rank: tuple[object, ...] = (bool(leaves), len(leaves), false, -len(step.arguments))
        else:
            rank = (bool(leaves), not same, -likeness, len(leaves), false)
        # An action that changes nothing does not help, unless it was asked for.
        if there == before and not (same and hint.action):
            continue
        if nearest is None or rank < nearest[0]:
            nearest = (rank, step, elsewhere)
    if nearest is None:
        return BlockedStep(index, None, (), ())
    _, step, elsewhere = nearest
    return BlockedStep(index, step, explainer.refusal(step, codes).clauses, elsewhere)
