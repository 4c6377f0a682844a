"""What a property is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, unique
from typing import Any

from acked.base.frozen import frozen
from acked.model.language.values import Bool


@unique
class Kind(Enum):
    """What a property speaks about; the values are those of JSON results.

    >>> nothing_lost.kind, Kind.STEP.value
    (<Kind.STATE: 'invariant'>, 'step property')
    """

    STATE = "invariant"
    STEP = "step property"
    DEADLOCK = "deadlock"
    REACH = "witness"
    RECOVERABLE = "recoverability"
    LIVENESS = "liveness"


ONE_TRACE = (Kind.STATE, Kind.STEP, Kind.DEADLOCK)
"""What one finite trace can violate. The other kinds are decided once every reachable state is known."""


def nothing(_: Mapping[str, int]) -> str:
    """Of a property that any configuration can be asked: it lacks nothing."""
    return ""


@frozen
class Liveness:
    """What a LIVENESS promise says of infinite runs: `goal` comes at or after every state that asks for it.

    Those are the states of the promise's predicate, or the first one alone if `trigger_text` is None; the texts are the two
    predicates as they were typed. Runs that do not keep the fairness of the `weak` and `strong` actions do not count.
    """

    goal: Callable[..., Bool]
    trigger_text: str | None
    goal_text: str
    weak: tuple[str, ...] = ()
    strong: tuple[str, ...] = ()


@frozen
class Property:
    """A named property of a protocol.

    `predicate` takes the state (STATE) or the states before and after a step (STEP). `promise` says in a sentence what the
    property means to a user of Kafka, `source` where it comes from, and `since` from which variant or release on it holds.
    `text` is the predicate as it was typed, if a spec or a user wrote it. REACH asks for the opposite: a state in which the
    predicate holds. `lacks` says which part of the model that the property is about is switched off by given constants, and
    what to set instead; nothing if the property makes sense with them.

    RECOVERABLE means that from every reachable state some continuation, without the actions in `without`, leads to a state
    in which `predicate` holds. LIVENESS means what `liveness` says; its trigger is `predicate`.

    >>> nothing_lost.name, nothing_lost.kind.value, nothing_lost.text
    ('NothingLost', 'invariant', 'all(acked <= end[b] for b in brokers if leader == b)')
    """

    name: str
    kind: Kind
    predicate: Callable[..., Bool] = field(repr=False)
    promise: str
    source: str
    since: str
    text: str | None = None
    without: tuple[str, ...] = ()
    lacks: Callable[[Mapping[str, int]], str] = nothing
    liveness: Liveness | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Every predicate of it that a spec or a user typed."""
        if self.liveness is not None:
            trigger = self.liveness.trigger_text
            return (self.liveness.goal_text,) if trigger is None else (trigger, self.liveness.goal_text)
        return () if self.text is None else (self.text,)

    def __call__(self, *states: Any) -> Bool:
        return self.predicate(*states)


def promise(
    text: str, source: str, since: str, *, lacks: Callable[[Mapping[str, int]], str] = nothing, name: str = ""
) -> Callable[[Callable[..., Bool]], Property]:
    """Makes a shipped property of a function of the state, or of the states before and after a step.

    Its name is the function's in camel case, unless another `name` is given.
    """

    def decorate(predicate: Callable[..., Bool]) -> Property:
        kind = Kind.STATE if predicate.__code__.co_argcount == 1 else Kind.STEP
        known_as = name or "".join(part.capitalize() for part in predicate.__name__.split("_"))
        return Property(known_as, kind, predicate, text, source, since, lacks=lacks)

    return decorate
