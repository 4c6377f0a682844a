"""The actor and the messages of a step: what actions declare, under the names of lanes and with step numbers.

Reading the declarations of a step (`acked.model.language.telling`), and what is on its way from one step to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from functools import cache

from acked.base.frozen import frozen
from acked.model.language.action import Action
from acked.model.language.context import resolve
from acked.model.language.domain import Constants, SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.telling import Course, Ends, Party, Role, Sort, Telling, Tells, Those, party_of, sort_of
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Id
from acked.reports.pictures.picture import Message, Moment, Pictures


@frozen
class Underway:
    """A message that departed and did not arrive so far; which one of which channel it is (see `Tells`)."""

    message: Message
    channel: str
    number: Hashable = None


@frozen
class StepMessages:
    """Who took a step, its messages in order, and what is on its way after it."""

    actor: str | None
    messages: tuple[Message, ...] = ()
    underway: tuple[Underway, ...] = ()


Named = Callable[[Sort, int], str]
"""What one of many is called."""


@cache
def sorts_of(action: Action) -> dict[str, Sort]:
    """The parameters of an action that can be parties, with their sorts."""
    sorts = {name: party_of(domain) for name, domain in action.parameters().items()}
    return {name: sort for name, sort in sorts.items() if sort is not None}


def ids_of(step: ActionInstance) -> list[tuple[type[Id], int]]:
    """Every id that the parameters of a step name, in their order."""
    sorts = {name: sort_of(domain) for name, domain in step.parameters.items()}
    return [(sort, number) for name, sort in sorts.items() if sort is not None for number in _numbers(step.arguments[name])]


def actor_of(step: ActionInstance, provider: Pictures, telling: Telling | None = None) -> str | None:
    """Who takes a step: whom the action declares, else whom its first parameter names; None if nobody is known to.

    Whom only the states say is not known without the step's telling.
    """
    declared = step.action.actor
    if declared is None:
        first = _first(step, provider)
        numbers = [] if first is None else _numbers(step.arguments[first[0]])
        return provider.name(first[1], numbers[0]) if first is not None and numbers else None
    if isinstance(declared, Those) and telling is None:
        return None
    return next(iter(_names(declared, step, provider.name, telling)), None)


def lanes_of_protocol(instance: Instance, provider: Pictures) -> tuple[str, ...]:
    """Every role that a declaration of the protocol's actions speaks of, then every id of the sorts of their parties."""
    parties = [(party, action) for action in instance.action_rules for party in _parties(action)]
    roles = dict.fromkeys(party.name for party, _ in parties if isinstance(party, Role))
    sorts = dict.fromkeys(_sort(party, action) for party, action in parties if not isinstance(party, Role))
    if any(action.actor is None for action in instance.action_rules):
        undeclared = [step for step in instance.actions if step.action.actor is None]
        sorts |= dict.fromkeys(first[1] for step in undeclared if (first := _first(step, provider)) is not None)
    return (*roles, *(name for sort in sorts for name in names_of(sort, instance.constants, provider).values()))


def names_of(sort: Sort, constants: Constants, provider: Pictures) -> dict[int, str]:
    """What those of a sort are called, by their numbers."""
    if issubclass(sort, Id):
        numbers = range(resolve(sort.size, constants))
    else:
        numbers = range(resolve(sort.lo, constants), resolve(sort.hi, constants) + 1)
    return {number: provider.name(sort, number) for number in numbers}


def _first(step: ActionInstance, provider: Pictures) -> tuple[str, Sort] | None:
    """The parameter, or choice, that says who takes a step of an action which declares nobody, and its sort."""
    # A set of ids, such as a quorum, takes no step.
    single = ((name, domain) for name, domain in step.parameters.items() if not isinstance(domain.bare, SetDomain))
    sorts = [(name, party_of(domain)) for name, domain in single]
    actors = ((name, sort) for name, sort in sorts if sort is not None and sort not in provider.held)
    acting = ((name, sort) for name, sort in actors if issubclass(sort, Id) or sort in provider.ordered)
    return next(acting, None)


def _sort(party: str | Those, action: Action) -> Sort:
    return party.sort if isinstance(party, Those) else sorts_of(action)[party]


def messages_of(
    instance: Instance, provider: Pictures, moment: Moment, underway: tuple[Underway, ...], is_whole: bool
) -> StepMessages:
    """The actor and messages of a step, given what was on its way before it.

    A run that begins in the initial state `is_whole`. What arrives there and was not seen to depart is sent in this very
    step; elsewhere it was sent before the run began.
    """
    if moment.action is None or moment.before is None:
        return StepMessages(None, (), underway)
    telling = Telling(moment.before, moment.after, moment.action.arguments)
    with instance.author_context(f"the messages of {moment.action.action.name}"):
        actor = actor_of(moment.action, provider, telling)
        reading = _Reading(moment.index, moment.action, provider.name, telling, underway, is_whole)
        return StepMessages(actor, reading.messages(), reading.underway)


def _parties(action: Action) -> Iterator[Party]:
    if action.actor is not None:
        yield action.actor
    for message in action.messages:
        yield from message.parties


def _numbers(value: object) -> list[int]:
    if value is None:
        return []
    return [value] if isinstance(value, int) else list(value)  # type: ignore[call-overload]


def _names(party: Party, step: ActionInstance, named: Named, telling: Telling | None) -> list[str]:
    """The lanes of a party; none if it is nobody."""
    if isinstance(party, Role):
        return [party.name]
    if isinstance(party, Those):
        assert telling is not None, "ids that are read from the states of a step need its telling"
        return [named(party.sort, number) for number in _numbers(party.which(telling))]
    sort = sorts_of(step.action)[party]
    return [named(sort, number) for number in _numbers(step.arguments[party])]


class _Reading:
    """The declarations of one step, read one after the other."""

    def __init__(
        self,
        index: int,
        step: ActionInstance,
        named: Named,
        telling: Telling,
        underway: tuple[Underway, ...],
        is_whole: bool,
    ) -> None:
        self._index, self._step, self._named, self._telling = index, step, named, telling
        self._unseen = index if is_whole else 0
        self._made = 0
        self.underway = underway

    def messages(self) -> tuple[Message, ...]:
        """The messages of the step, in order of the declarations."""
        return tuple(message for item in self._step.action.messages for message in self._messages(item))

    def _messages(self, item: Tells | Ends) -> Iterator[Message]:
        if isinstance(item, Ends):
            yield from self._end(item)
            return
        said = item.text if isinstance(item.text, str) else item.text(self._telling)
        texts = [] if said is None else [said] if isinstance(said, str) else list(said)
        for sender in self._who(item.sender):
            for receiver in self._who(item.receiver):
                for text in texts:
                    yield from self._passage(item, sender, receiver, text)

    def _passage(self, item: Tells, sender: str, receiver: str, text: str) -> Iterator[Message]:
        number = None if item.number is None else item.number(self._telling)
        fresh = self._message(sender, receiver, text, item.is_late)
        if item.course is Course.AT_ONCE:
            yield replace(fresh, received=self._index)
        elif item.course is Course.DEPARTS:
            self.underway += (Underway(fresh, item.channel, number),)
            yield fresh
        elif item.course is Course.ARRIVES:
            yield from self._arrival(item, fresh, number)
        else:
            lost = [flying for flying in self._between(fresh, item.channel) if number in (None, flying.number)]
            yield from self._drop(lost) if lost else [replace(fresh, dropped=self._index)]

    def _arrival(self, item: Tells, fresh: Message, number: Hashable) -> Iterator[Message]:
        between = self._between(fresh, item.channel)
        found = next((flying for flying in reversed(between) if number in (None, flying.number)), None)
        message = replace(fresh, sent=self._unseen) if found is None else found.message
        newer = [flying for flying in between if flying.message.sent > message.sent]
        yield from self._drop([flying for flying in between if flying is not found and flying not in newer])
        self._remove([] if found is None else [found])
        yield replace(message, received=self._index, is_late=message.is_late or bool(newer))

    def _end(self, item: Ends) -> Iterator[Message]:
        if item.when is not None and not item.when(self._telling):
            return
        whose = self._who(item.whose)
        yield from self._drop(
            [
                flying
                for flying in self.underway
                if item.channel in (None, flying.channel)
                and (flying.message.sender in whose or flying.message.receiver in whose)
            ]
        )

    def _drop(self, gone: list[Underway]) -> list[Message]:
        self._remove(gone)
        return [replace(flying.message, dropped=self._index) for flying in gone]

    def _remove(self, gone: list[Underway]) -> None:
        self.underway = tuple(flying for flying in self.underway if flying not in gone)

    def _between(self, like: Message, channel: str) -> list[Underway]:
        """What is on its way from the one to the other in a channel, the oldest first."""
        return [
            flying
            for flying in self.underway
            if (flying.message.sender, flying.message.receiver, flying.channel) == (like.sender, like.receiver, channel)
        ]

    def _message(self, sender: str, receiver: str, text: str, is_late: bool) -> Message:
        self._made += 1
        return Message(f"{self._index}.{self._made}", sender, receiver, text, self._index, is_late=is_late)

    def _who(self, party: Party) -> list[str]:
        return _names(party, self._step, self._named, self._telling)
