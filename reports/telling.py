"""What it takes to tell a step: who acts, which brokers it involves, and whether it is a fault.

What lives here: these facts, for every protocol. What does not: choosing among runs (`checker/easiest.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from checker.easiest import Effort
from model.domain import IdDomain, OptionalDomain, SetDomain
from model.protocol import ActionInstance, Instance
from reports.providers import provider_of

_FAULTS = frozenset(
    {
        *("ControllerShrinkIsr", "LoseRequest", "RestartProducer", "Crash", "Restart", "RestartUnnoticed", "LoseSession"),
        *("RegainSession", "ElectUncleanly", "FetchUnanswered", "FetchDivergingLate", "Halt", "LoseAnswer", "Stand"),
    }
)
"""Actions that happen to somebody and that nobody does: a broker is gone or back, a request or an answer is lost or late."""


def effort_of(instance: Instance) -> Callable[[ActionInstance], Effort]:
    """The effort of every step of an instance.

    The brokers that a step involves are those that its parameters name. Where nobody knows who acts it is the first of
    them, and of an action without any the action itself.
    """
    provider = provider_of(instance)

    def effort(step: ActionInstance) -> Effort:
        involved = _ids(step)
        actor = provider.actor(step) if provider is not None else None
        if actor is None:
            actor = str(involved[0]) if involved else step.action.name
        return Effort(sum(1 << number for number in set(involved)), actor, step.action.name in _FAULTS)

    return effort


def _ids(step: ActionInstance) -> list[int]:
    found: list[int] = []
    for name, domain in step.action.parameters().items():
        value = step.arguments[name]
        if isinstance(domain, SetDomain):
            found += value
        elif isinstance(domain, IdDomain) or (isinstance(domain, OptionalDomain) and isinstance(value, int)):
            found.append(value)
    return found
