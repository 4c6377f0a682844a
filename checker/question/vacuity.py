"""Vacuity: whether a promise says anything, and the probes that look for a state or step in which it does.

A probe per property, met where an antecedent of the property is true (`acked.model.language.quantify.exercised`), and which
properties turned out to be vacuous. A property that is true in every conceivable state is vacuous as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acked.checker.question.question import Probe
from acked.invariants.property import Kind, Property
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance
from acked.model.language.quantify import exercise
from acked.model.language.tracings import ActionInstance

_NAME = "says something: "


def vacuity_probes(properties: Iterable[Property]) -> tuple[Probe, ...]:
    """A probe per property; none for a deadlock, about which every state is, nor for a goal without a trigger."""
    asked = [item for item in properties if item.kind in (Kind.STATE, Kind.STEP, Kind.LIVENESS)]
    return tuple(_probe(item) for item in asked if item.liveness is None or item.liveness.trigger_text is not None)


def vacuous(probes: Mapping[str, int | None]) -> list[str]:
    """The properties whose probe was met nowhere in what was covered."""
    return [name.removeprefix(_NAME) for name, met in probes.items() if name.startswith(_NAME) and met is None]


def _probe(item: Property) -> Probe:
    exercised = exercise(item.predicate)
    if item.kind is Kind.LIVENESS:
        return Probe(_NAME + item.name, in_state=lambda instance: instance.state_predicate(item.name, item.predicate))
    if item.kind is Kind.STATE:

        def in_state(instance: Instance) -> Expr:
            if instance.state_predicate(item.name, item.predicate) is instance.pool.true:
                return instance.pool.false
            return instance.state_predicate(item.name, exercised)

        return Probe(_NAME + item.name, in_state=in_state)

    def in_step(instance: Instance, step: ActionInstance) -> Expr:
        if instance.step_predicate(item.name, item.predicate, step) is instance.pool.true:
            return instance.pool.false
        return instance.step_predicate(item.name, exercised, step)

    return Probe(_NAME + item.name, in_step=in_step)
