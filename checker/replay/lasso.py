"""Lassos by the plain evaluator: whether one breaks a promise of liveness, and how it keeps its fairness.

`refusal_of`, which believes nothing that a trace file says of a lasso, and `kept_in_words`, why one is fair.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.base.frozen import frozen
from acked.checker.question.fairness import Group, fairness
from acked.checker.question.marks import false_guards
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Words
from acked.invariants.property import Property
from acked.model.formulas.errors import DomainOverflow
from acked.model.formulas.evaluate import Evaluator

_MAX_LABELS = 4
"""Groups that are named together in a sentence."""


@frozen
class FairnessKept:
    """How a lasso keeps the fairness of a group: by the step of number `step` of the run, or because it is not enabled.

    In that case `state` is the number of a state of the loop in which it is not enabled; if the group is strong, it is
    enabled in none of them.
    """

    group: Group
    step: int | None
    state: int | None

    @property
    def is_kept(self) -> bool:
        """Whether it is."""
        return self.step is not None or self.state is not None


def refusal_of(question: Question, item: Property, run: Run) -> str:
    """Why a run is not a lasso that violates a liveness property, as the rest of a sentence; nothing if it is one."""
    assert item.liveness is not None
    loop, last = run.loop, len(run.states) - 1
    if loop is None:
        return "has no loop, and only an infinite trace can violate a liveness property"
    if not 0 <= loop <= last or run.states[loop] != run.states[last]:
        return f"does not come back to its step {loop}: its last state is another one"
    instance = question.instance
    asks = instance.state_predicate(item.name, item.predicate)
    evaluate = Evaluator([asks, instance.state_predicate(item.name, item.liveness.goal)])
    values = [tuple(map(bool, evaluate(instance.schema.unpack(state)))) for state in run.states]
    if any(goal for _, goal in values[loop:]):
        return f"has a state in its loop in which {item.liveness.goal_text}"
    begin = max((at + 1 for at, (_, goal) in enumerate(values) if goal), default=0)
    if item.liveness.trigger_text is None:
        if begin:
            return f"has a state in which {item.liveness.goal_text}"
    elif not any(asked for asked, _ in values[begin:]):
        return f"has no state in which {item.liveness.trigger_text}, and after which the goal stays away"
    if broken := [kept.group for kept in kept_by(question, item, run) if not kept.is_kept]:
        return f"is not fair: its loop passes over {broken[0].label}, whose fairness is {broken[0].kind}"
    return ""


def kept_in_words(question: Question, item: Property, run: Run) -> str:
    """How a lasso keeps the fairness that was asked for, as a sentence without its end; nothing if none was."""
    assert run.loop is not None
    is_still = run.loop == len(run.states) - 1
    places: dict[tuple[int, int, str], list[str]] = {}
    for kept in kept_by(question, item, run):
        if kept.step is not None:
            place = (0, kept.step, f"step {kept.step}")
        elif kept.group.is_strong or is_still:
            place = (1, 0, f"not enabled {'there' if is_still else 'in the loop'}")
        else:
            place = (2, kept.state or 0, f"not enabled after step {kept.state}")
        places.setdefault(place, []).append(kept.group.label)
    return "; ".join(f"{place[2]}: {_enumerate(labels)}" for place, labels in sorted(places.items()))


def _enumerate(labels: Sequence[str]) -> str:
    more = len(labels) - _MAX_LABELS
    return ", ".join([*labels[:_MAX_LABELS], f"and {more} more"] if more > 1 else labels)


def kept_by(question: Question, item: Property, run: Run) -> list[FairnessKept]:
    """How the loop of a lasso keeps, or does not keep, the fairness that a promise asks for.

    A step that is held up only by what bounds the model counts as enabled.
    """
    assert run.loop is not None
    instance = question.instance
    number = {id(step): at for at, step in enumerate(instance.actions)}
    taken = {
        number[id(step)]: at
        for at, step in reversed(list(enumerate(run.actions, start=1)))
        if at > run.loop and run.states[at - 1] != run.states[at]
    }
    found = []
    for group in fairness(instance, item):
        step = min((taken[at] for at in group.steps if at in taken), default=None)
        idle = [at for at in range(run.loop, len(run.states)) if not _is_enabled(question, group.steps, run.states[at])]
        is_free = len(idle) == len(run.states) - run.loop if group.is_strong else bool(idle)
        found.append(FairnessKept(group, step, idle[0] if is_free else None))
    return found


def _is_enabled(question: Question, steps: Sequence[int], state: Words) -> bool:
    """Whether one of these steps would change the state, or is held up there by nothing but a bound of the model."""
    instance, budgets = question.instance, question.instance.protocol.budgets
    codes = instance.schema.unpack(state)
    for number in steps:
        step = instance.actions[number]
        false = {guard.label for guard in false_guards(step, codes)}
        if not false <= budgets:
            continue
        if false:
            return True
        try:
            if instance.schema.pack(instance.fire(step, codes)) != state:
                return True
        except DomainOverflow:
            return True
    return False
