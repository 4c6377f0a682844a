"""What an action declares about its steps beside their sentence: the actor, the fault, and the messages.

The declarations that stand with an action where it is defined (`@action(actor=…, fault=…, messages=…)`), as plain data.

    @action(actor="follower", messages=asks("follower", "leader", "fetch", lambda t: f"HW {t.after.broker[t.leader].hw}"))
    def fetch(s: State, follower: Replica, leader: Replica) -> None: ...

Functions among the declarations are given a `Telling` of the step, and may ask for the constants.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from enum import Enum, unique
from typing import Any

from acked.base.frozen import frozen
from acked.model.formulas.errors import UnknownName
from acked.model.language.domain import LeafDomain, Range
from acked.model.language.values import Id, Int


class PlainStruct:
    """A decoded state by attribute, `t.after.log[0].end`; structs in it, in lists too, are of this kind."""

    def __getattr__(self, name: str) -> Any:
        """Which fields there are is a matter of the protocol."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownName(f"there is no field {name!r} here; the fields are {', '.join(self.__dict__)}")

    def __init__(self, values: Mapping[str, object]) -> None:
        self.__dict__.update({key: _wrap(value) for key, value in values.items()})

    def __repr__(self) -> str:
        return ", ".join(f"{name} {'none' if value is None else value}" for name, value in self.__dict__.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlainStruct) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


def _wrap(value: object) -> object:
    if isinstance(value, Mapping):
        return PlainStruct(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value


class Telling:
    """What an action's words are made of: `before` and `after` (plain states by attribute) and its parameters."""

    def __init__(self, before: Mapping[str, object], after: Mapping[str, object], arguments: Mapping[str, object]) -> None:
        self.before = PlainStruct(before)
        self.after = PlainStruct(after)
        self.arguments = dict(arguments)
        self._named = nested(arguments)

    def __repr__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.arguments.items())

    def __getattr__(self, name: str) -> Any:
        """A parameter or a choice; of a struct `t.message.source`."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._named:
            raise UnknownName(f"a step has no {name!r}; it has {', '.join(['before', 'after', *self._named])}")
        return self._named[name]

    def __getitem__(self, name: str) -> Any:
        """A parameter by its whole name: `t["message.source"]`."""
        return self.arguments[name]


def nested(arguments: Mapping[str, object]) -> dict[str, Any]:
    """Parameters by their names; those that are the fields of a struct, `message.source`, as what a struct has."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        *outer, last = name.split(".")
        inside = found
        for part in outer:
            inside = inside.setdefault(part, {})
        inside[last] = value
    return {name: _wrap(value) for name, value in found.items()}


Words = Callable[[Telling], str]
"""From the telling of a step to a sentence."""


@frozen
class Role:
    """A party of which there is one, by the name that readers see.

    >>> operator = Role("operator")
    >>> CLIENT, operator
    (Role(name='client'), Role(name='operator'))
    """

    name: str


CONTROLLER = Role("controller")
PRODUCER = Role("producer")
CONSUMER = Role("consumer")
CLIENT = Role("client")


@frozen
class Those:
    """Ids that are taken from the state: `Those(Replica, lambda t: t.before.controller.leader)`; None stands for nobody.

    >>> leader = Those(Broker, lambda t: t.before.leader)
    >>> @action(says=lambda t: "the leader stops", actor=leader, fault=Fault.STOPS)
    ... def stop(s: State) -> None:
    ...     s.end[s.leader] = 0
    >>> stop.actor == leader
    True
    """

    sort: Sort
    which: Callable[[Telling], int | Iterable[int] | None]


Sort = type[Id] | type[Int]
"""What parties are: ids, or numbers where processes have an order."""

Party = str | Role | Those
"""Who has to do with a step: the name of a parameter (an id, an id or none, a set of ids, a number), a role, or ids from the
states."""


@unique
class Fault(Enum):
    """What goes wrong in a step: something that happens to a party rather than something that it does.

    >>> @action(says=lambda t: f"broker {t.broker} restarts", actor="broker", fault=Fault.RESTARTS)
    ... def restart(s: State, broker: Broker) -> None:
    ...     s.end[broker] = s.acked
    >>> restart.fault.name
    'RESTARTS'
    """

    STOPS = "a process or a machine stops, or halts of its own accord"
    RESTARTS = "a process or a machine comes back"
    DISK = "a disk is replaced by an empty one"
    SESSION = "a session with the controller is lost or regained"
    LOST = "a request or an answer is lost"
    LATE = "an answer is late"
    UNCLEAN = "a broker is elected that may lack records"
    UNHEARD = "no leader has been heard of for too long"


@unique
class Course(Enum):
    """What becomes of a message in a step.

    >>> lost = Tells("follower", CONTROLLER, "heartbeat", Course.LOST)
    >>> lost.course is Course.LOST
    True
    """

    AT_ONCE = "arrives in the step that sends it"
    LOST = "is lost: the one in flight or, if there is none, one that this step sends"
    DEPARTS = "is sent, and arrives in a later step or never"
    ARRIVES = "arrives: the one in flight or, if there is none, one that this step sends"


@frozen
class Tells:
    """A message of a step: its sender, its receiver and its text.

    `text` is a text, or a function of the step that returns one text, several (for several messages), or None where the step
    has no such message. `channel` distinguishes messages that may be in flight between the same two parties. The one that
    arrives has the same `number`; without a number it is the newest of its channel. Older messages of the channel are then
    overtaken and never arrive. An arriving message has the text that it departed with. `is_late` marks a departing message
    whose point is that it arrives late.

    >>> told = Tells(CLIENT, "leader", lambda t: f"record {t.before.end[t.leader]}")
    >>> told.sender, told.receiver, told.course.name
    (Role(name='client'), 'leader', 'AT_ONCE')
    """

    sender: Party
    receiver: Party
    text: str | Callable[[Telling], str | Iterable[str] | None]
    course: Course = Course.AT_ONCE
    channel: str = ""
    number: Callable[[Telling], Hashable] | None = None
    is_late: bool = False

    @property
    def parties(self) -> tuple[Party, ...]:
        """Who has to do with it."""
        return self.sender, self.receiver


@frozen
class Ends:
    """What is on its way from or to somebody will not arrive any more, such as on connections that are gone.

    Of one `channel` only, if it is named; and only where `when`, if there is one, says so of the step's telling.
    """

    whose: Party
    channel: str | None = None
    when: Callable[[Telling], bool] | None = None

    @property
    def parties(self) -> tuple[Party, ...]:
        """Who has to do with it."""
        return (self.whose,)


Message = Tells | Ends


def asks(
    sender: Party, receiver: Party, question: str | Words, answer: str | Words, course: Course = Course.AT_ONCE
) -> tuple[Message, ...]:
    """A request that arrives, and its answer with a course of its own.

    >>> leader = Those(Broker, lambda t: t.before.leader)
    >>> [message.text for message in asks("follower", leader, "fetch", "a record")]
    ['fetch', 'a record']
    """
    return Tells(sender, receiver, question), Tells(receiver, sender, answer, course)


def sort_of(domain: LeafDomain) -> type[Id] | None:
    """The sort of ids that the values of a field or parameter are, or are made of; None of numbers and truth values."""
    item = getattr(domain.bare, "item", None)
    return item if item is not None and issubclass(item, Id) else None


def party_of(domain: LeafDomain) -> Sort | None:
    """Whom the values of a parameter can be: ids, or numbers, as of processes that have an order."""
    return domain.bare.item if type(domain.bare) is Range else sort_of(domain)


def functions_of(says: Words | None, actor: Party | None, messages: Iterable[Message]) -> Iterator[Callable[[Telling], Any]]:
    """The functions among the declarations of an action, which are given the telling of a step."""
    texts: list[object] = [says]
    parties = [actor]
    for message in messages:
        parties += message.parties
        texts += [message.when] if isinstance(message, Ends) else [message.text, message.number]
    texts += [party.which for party in parties if isinstance(party, Those)]
    yield from (text for text in texts if callable(text))


def named_parameters(actor: Party | None, messages: Iterable[Message]) -> Iterator[str]:
    """The parameters that declarations speak of."""
    parties = [*([] if actor is None else [actor]), *(party for message in messages for party in message.parties)]
    yield from (party for party in parties if isinstance(party, str))


# -- words that protocols share --------------------------------------------------------------------------------------


def says_set(members: list[int]) -> str:
    """{0, 2}."""
    return "{" + ", ".join(map(str, members)) + "}"


def says_list(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


def says_brokers(members: list[int]) -> str:
    """`broker 1`, `brokers 1 and 2`."""
    return f"broker{'s' if len(members) > 1 else ''} {says_list([str(member) for member in members])}"


def says_cut(t: Telling, broker: int) -> str:
    """What a step did to a log that it may have truncated."""
    before, after = t.before.log[broker].end, t.after.log[broker].end
    if before == after:
        return f"keeps its log up to offset {after}"
    return f"truncates its log from offset {before} to {after}"
