"""Protocols whose spaces can be counted in one's head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acked.checker.question.question import Question
from acked.checker.question.result import Result
from acked.invariants.property import Kind, Property
from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.state import Array, Between, Struct, field
from acked.model.language.values import Bool, Id, Int


class Number(Int, lo=0, hi=9):
    """What counters count."""


class Third(Int, lo=0, hi=2):
    """What is marked."""


class Place(Id, size=33):
    """Where the traveller may be."""


class Whereabouts(Struct):
    """The traveller's state."""

    place = field(Place)


def counters(count: int, top: int, start: int = 0, falls: bool = False) -> Protocol:
    """So many counters from `start` to `top`, each of which any step may raise by one.

    There are (top - start + 1) ** count states in count * (top - start) + 1 levels, also if one at the top `falls` back.
    """
    names = [f"n{i}" for i in range(count)]
    state = type("State", (Struct,), {name: field(Between(Number, 0, top)) for name in names})

    def initial(s: Any) -> None:
        for name in names:
            setattr(s, name, start)

    protocol = Protocol("counters", state, title="counters", source="test", constants=(), initial=initial)
    for name in names:

        def raise_one(s: Any, name: str = name) -> None:
            require("below the top", getattr(s, name) < top)
            setattr(s, name, getattr(s, name) + 1)

        def fall(s: Any, name: str = name) -> None:
            require("at the top", getattr(s, name) == top)
            setattr(s, name, start)

        for action in (raise_one, fall)[: 1 + falls]:
            action.__name__ = f"{action.__name__.removesuffix('_one')}_{name}"
            action.__signature__ = _ONLY_THE_STATE  # type: ignore[attr-defined]
            protocol.action()(action)
    return protocol


def _only_the_state(s: Any) -> None:
    """A signature."""


def _signature() -> Any:
    from inspect import signature

    return signature(_only_the_state)


_ONLY_THE_STATE = _signature()


def overflowing(top: int) -> Protocol:
    """A counter that nothing keeps from leaving its domain."""
    state = type("State", (Struct,), {"n": field(Between(Number, 0, top))})
    protocol = Protocol("overflowing", state, title="", source="test", constants=(), initial=lambda s: None)

    @protocol.action()
    def climb(s: Any) -> None:
        s.n = s.n + 1

    return protocol


def marking() -> Protocol:
    """A counter that marks the element of twice its number less one, of which the second is beyond the array."""
    state = type("State", (Struct,), {"n": field(Third), "marks": field(Array(Third, Bool))})
    protocol = Protocol("marking", state, title="", source="test", constants=(), initial=lambda s: None)

    @protocol.action()
    def mark(s: Any) -> None:
        require("another", s.n < 2)
        s.n = s.n + 1
        s.marks[s.n + s.n - 1] = True

    return protocol


def traveller() -> Protocol:
    """One place of 33, and a step from each to each: 1,089 action instances."""

    protocol = Protocol("traveller", Whereabouts, title="", source="test", constants=(), initial=lambda s: None)

    @protocol.action()
    def travel(s: Whereabouts, origin: Place, target: Place) -> None:
        require("is there", s.place == origin)
        s.place = target

    return protocol


def always(name: str, predicate: Callable[[Any], Bool]) -> Property:
    """An invariant."""
    return Property(name, Kind.STATE, predicate, "", "", "")


def every_step(name: str, predicate: Callable[[Any, Any], Bool]) -> Property:
    """A step property."""
    return Property(name, Kind.STEP, predicate, "", "", "")


def ask(protocol: Protocol, *properties: Property) -> Question:
    """The question about the protocol, which has no constants."""
    return Question(protocol.instantiate({}), properties)


def answer(result: Result) -> dict[str, Any]:
    """Everything that may depend neither on workers nor on the machine."""
    return {
        "stopped": result.stopped,
        "levels": result.level_sizes,
        "generated": result.generated_states,
        "actions": result.actions,
        "violations": [
            (item.property.name, item.run.states, [step.label for step in item.run.actions])
            for item in result.violations
        ],
    }
