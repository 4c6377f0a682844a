"""A step that leaves the domain of a field, as a search reports it: with the line of the assignment and the way there."""

from __future__ import annotations

from contextlib import closing

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.model.formulas.errors import DomainOverflow, StepError
from acked.model.formulas.functions import place_text
from acked.model.language.choices import Choices
from acked.model.language.context import active
from acked.model.language.finite import FINITE
from acked.model.language.protocol import Instance
from acked.model.language.semantics import Trace
from acked.model.language.storage.store import PlacedStore
from acked.model.language.tracings import ActionInstance


class Overflow(DomainOverflow):
    """A `DomainOverflow` with a shortest run to the state in which the action is fired; `question` is what was asked."""

    def __init__(self, text: str, question: Question, run: Run) -> None:
        super().__init__(text)
        self.question = question
        self.run = run


def overflow_of(question: Question, run: Run, step: ActionInstance) -> DomainOverflow:
    """What is wrong with a step that leaves a domain in the last state of a run."""
    instance = question.instance
    codes = instance.schema.unpack(run.states[-1])
    try:
        instance.fire(step, codes)
    except DomainOverflow as error:
        leaf = step.overflowing(codes)
        place = None if leaf is None else assigned_at(instance, step, leaf)
        before, mark, after = str(error).partition("; the state is ")
        return Overflow(f"{before}{place_text(place)}{mark}{after}", question, run)
    return DomainOverflow(
        f"{instance.protocol.name}: {step.label} is reported to leave a domain by the native kernel but not by the plain "
        "evaluator; please report this as a defect of acked"
    )


def overflowing(instance: Instance, codes: list[int]) -> ActionInstance | None:
    """The first enabled action instance that leaves a domain in a state."""
    for step in instance.enabled_actions(codes):
        if step.overflowing(codes) is not None:
            return step
    return None


def assigned_at(instance: Instance, step: ActionInstance, leaf: int) -> tuple[str, int] | None:
    """The file and the line of the last assignment to a leaf by an action instance."""
    constants, store = instance.constants, PlacedStore(instance.schema, instance.codes())
    choices = Choices({name: item.from_plain(step.arguments[name], constants) for name, item in step.parameters.items()})
    with active(Trace(instance.pool, constants, FINITE, [], choices)), closing(store):
        try:
            step.action.apply(instance.protocol.state.at(store, ()), choices)
        except StepError:
            return None
    return store.places.get(leaf)
