"""What it takes to follow a step: who acts, which brokers it involves, and whether it is a fault."""

from __future__ import annotations

from collections.abc import Callable

from acked.checker.diagnosis.easiest import Effort
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance
from acked.reports.pictures.messages import actor_of, ids_of
from acked.reports.pictures.providers import provider_of


def effort_of(instance: Instance) -> Callable[[ActionInstance], Effort]:
    """The effort of every step of an instance.

    The brokers that a step involves are those that its parameters name. Where no actor is known it is the action itself.
    """
    provider = provider_of(instance)

    def effort(step: ActionInstance) -> Effort:
        brokers = {number for _, number in ids_of(step)}
        actor = actor_of(step, provider) or step.action.name
        return Effort(sum(1 << number for number in brokers), actor, step.action.fault is not None)

    return effort
