"""Why KIP-320 does not take a step that an older variant takes: which clauses of its rules forbid it.

The comparison of one step of a variant with the rule of `kip320` that took its rule's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from acked.base.frozen import frozen
from acked.checker.question.marks import false_guards
from acked.checker.solver.lemma_sets import StepCounterexample
from acked.invariants.proofs import COUNTERPARTS, FENCED, argument_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import DomainOverflow
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.tracings import ActionInstance


@frozen
class Objection:
    """The rule of kip320, and the labels of its clauses that forbid a step; none if it takes a step with another outcome."""

    rule: str
    clauses: tuple[str, ...]


@frozen
class BrokenRule:
    """An action of a variant, the clauses that it breaks, and what kip320 has against the steps that break them.

    `example` is such a step; of a promise if the action breaks one, else of the first lemma.
    """

    action: str
    breaks: tuple[str, ...]
    rule: str
    clauses: tuple[str, ...]
    example: StepCounterexample


class Counterparts:
    """Compares steps of a variant, under given constants, with those of kip320."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    @cached_property
    def _fenced(self) -> Instance:
        return PROTOCOLS[FENCED].instantiate(self.instance.constants)

    def objection(self, step: ActionInstance, codes: Sequence[int]) -> Objection | None:
        """What kip320 has against a step from a state; None if no rule of it took the place of the step's."""
        name = COUNTERPARTS.get(step.action.name) if self.instance.protocol.state is PROTOCOLS[FENCED].state else None
        if name is None:
            return None
        rule = next(
            (item for item in self._fenced.actions if item.action.name == name and item.arguments == step.arguments), None
        )
        if rule is None:
            return None
        return Objection(name, tuple(guard.label for guard in false_guards(rule, codes)))


def broken_rules(
    protocol: Protocol, drop: Iterable[tuple[str, str]], found: Sequence[StepCounterexample]
) -> tuple[BrokenRule, ...]:
    """The actions that break something, with kip320's objections to all their steps together."""
    made: dict[str, list[tuple[StepCounterexample, Objection | None]]] = {}
    comparing: dict[tuple[int, ...], Counterparts] = {}
    dropped = tuple(drop)
    for item in found:
        key = tuple(item.constants.values())
        if key not in comparing:
            comparing[key] = Counterparts(protocol.instantiate(item.constants, dropped))
        step = step_of(comparing[key].instance, item.step)
        made.setdefault(step.action.name, []).append((item, comparing[key].objection(step, item.codes)))
    rules = []
    argument = argument_of(protocol)
    goals = () if argument is None else argument.goals
    for action, items in made.items():
        telling = next((item for item, _ in items if item.breaks in goals), items[0][0])
        objections = [one for _, one in items if one is not None]
        clauses = dict.fromkeys(label for one in objections for label in one.clauses)
        rule = objections[0].rule if objections else ""
        rules.append(BrokenRule(action, tuple(item.breaks for item, _ in items), rule, tuple(clauses), telling))
    return tuple(rules)


def step_of(instance: Instance, label: str) -> ActionInstance:
    """The action instance with this label."""
    return next(item for item in instance.actions if item.label == label)


def states_of(instance: Instance, item: StepCounterexample) -> tuple[tuple[int, ...], ...]:
    """The packed states of a counterexample: two, or one if its step leaves a domain."""
    schema = instance.schema
    try:
        after = instance.fire(step_of(instance, item.step), item.codes)
    except DomainOverflow:
        return (schema.pack(item.codes),)
    return schema.pack(item.codes), schema.pack(after)
