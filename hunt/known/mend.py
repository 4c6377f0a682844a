"""What prevents a loss: constants at other values, or an event that does not happen; and a trace, replayed under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import product

from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.checker.question.user_properties import sought
from acked.invariants.property import Kind
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance
from acked.model.language.semantics import Guard
from acked.model.language.tracings import ActionInstance, Tracings


@frozen
class Bar:
    """An event that is not to happen: an action where a predicate, as specs write it, holds before it."""

    action: str
    where: str

    def condition(self, instance: Instance) -> Expr:
        """The predicate over the states of an instance."""
        return instance.state_predicate("bar", sought("bar", self.where).predicate)


@frozen
class Mend:
    """Constants by name as they must be, and events that must not happen; either may be empty."""

    constants: Mapping[str, int] = field(default_factory=dict)
    bars: tuple[Bar, ...] = ()

    def changes(self, constants: Mapping[str, int]) -> dict[str, int]:
        """The constants that it sets otherwise than they are."""
        return {name: value for name, value in self.constants.items() if constants.get(name) != value}

    def prevents(self, traced: Replayed) -> bool:
        """Whether a trace cannot happen with it, or happens and breaks nothing."""
        if any(traced.meets(bar) for bar in self.bars):
            return True
        changes = self.changes(traced.question.instance.constants)
        return bool(changes) and not traced.breaks_under(changes)


def bar_events(instance: Instance, bars: Sequence[Bar]) -> None:
    """Gives the actions of an instance a further clause each, by which these events do not happen."""
    for bar in bars:
        condition = instance.pool.not_(bar.condition(instance))
        instance.actions = tuple(
            _with_clause(instance, step, condition) if step.action.name == bar.action else step for step in instance.actions
        )


def _with_clause(instance: Instance, step: ActionInstance, condition: Expr) -> ActionInstance:
    guard = Guard("is not barred", condition, step.action.file, step.action.line)
    return replace(step, guards=(*step.guards, guard), guard=instance.pool.and_(step.guard, condition))


@frozen
class Replayed:
    """A violating run of a question about one property, which is replayed under other constants.

    `tracings` have what questions have in common that are asked one after the other.
    """

    question: Question
    run: Run
    tracings: Tracings | None = None

    def meets(self, bar: Bar) -> bool:
        """Whether an event that is barred happens in it."""
        instance = self.question.instance
        holds = Evaluator([bar.condition(instance)])
        taken = zip(self.run.actions, self.run.states, strict=False)
        return any(step.action.name == bar.action and holds(instance.schema.unpack(words))[0] for step, words in taken)

    def breaks_under(self, changes: Mapping[str, int]) -> bool:
        """Whether the same events can happen, and break the promise, with some constants at other values."""
        return self.under(changes) is not None

    def under(self, changes: Mapping[str, int]) -> Replayed | None:
        """The same events under other constants, up to the one that breaks the promise; None if none does."""
        old = self.question.instance
        try:
            constants = old.protocol.bind({**old.constants, **changes})
            other = Instance(old.protocol, constants, old.dropped, is_lazy=True, tracings=self.tracings)
            question = replace(self.question, instance=other)
            if self.question.properties[0].lacks(constants):
                return None
            run = _follow(question, self.run.actions)
            return None if run is None else Replayed(question, run, self.tracings)
        except ModelError:  # Other constants may refuse each other, or have no room for the run.
            return None


def _follow(question: Question, actions: Sequence[ActionInstance]) -> Run | None:
    """The run of the same events up to the one that breaks the promise; None if one is not possible, or none breaks it."""
    instance, is_step = question.instance, question.properties[0].kind is Kind.STEP
    holds = None if is_step else Evaluator([question.holds_in_state(0)])
    codes = instance.schema.unpack(instance.initial[0])
    states, taken = [instance.initial[0]], []
    for action in actions:
        step = _possible(instance, action, codes)
        if step is None:
            return None
        breaks = is_step and not Evaluator([question.holds_in_step(0, step)])(codes)[0]
        codes = instance.fire(step, codes)
        states.append(instance.schema.pack(codes))
        taken.append(step)
        if breaks or (holds is not None and not holds(codes)[0]):
            return Run(tuple(states), tuple(taken))
    return None


def _possible(instance: Instance, action: ActionInstance, codes: Sequence[int]) -> ActionInstance | None:
    """The step as an instance has it, if it can be taken; rules may tell two kinds of an event apart by a yes or no."""
    flags = {name: value for name, value in action.arguments.items() if isinstance(value, bool)}
    for values in product(*((value, not value) for value in flags.values())):
        try:
            step = instance.action_instance(action.action.name, {**action.arguments, **dict(zip(flags, values, strict=True))})
        except ModelError:
            continue
        if Evaluator([step.guard])(codes)[0]:
            return step
    return None
