"""Events in an order that is certain: those of one broker, or a leader's lines about one follower; all such lanes of a run.

Between lanes only time orders, and how far that may be wrong is `Slack`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from acked.base.frozen import frozen
from acked.cluster.observation.events import CONTROLLER, Event, Says


@frozen
class Slack:
    """How far events may be taken out of the order of their times, in ms, and how long a dead end is looked around."""

    within: int = 300
    between: int = 20_000
    nodes: int = 10_000

    def more(self) -> Slack:
        """Ten times as much."""
        return Slack(10 * self.within, 10 * self.between, 10 * self.nodes)


@dataclass(slots=True)
class Lane:
    """Events in an order that is certain; `taken` is the place of the next one, those before `settled` are not needed."""

    events: list[Event] = field(default_factory=list)
    taken: int = 0
    settled: int = 0

    def settle(self) -> None:
        """The earliest event stays; what is not needed is dropped now and then."""
        self.settled += 1
        if self.settled > KEPT:
            del self.events[: self.settled]
            self.taken -= self.settled
            self.settled = 0

    def head(self) -> Event | None:
        """The next event, if it has been read."""
        return self.events[self.taken] if self.taken < len(self.events) else None


_REPEATED = 8
"""Fetches and answers at one offset that are counted."""
KEPT = 1_000
"""Events that a lane may keep beyond what is needed."""


_RISES = {
    Says.APPENDS: "hw", Says.NOTES_FETCH: "hw", Says.ASKS_TO_SHRINK: "hw", Says.ASKS_TO_EXPAND: "hw", Says.RAISES_HW: "hw",
    Says.LEARNS_ISR: "raised", Says.LEADS: "raised",
}  # fmt: skip
"""By line what it calls the high watermark to which its leader's rose."""


def rise_of(event: Event) -> int | None:
    """The high watermark to which a leader's rose, if a line tells that one did."""
    hw: int | None = event.get(_RISES.get(event.says, ""))
    return hw


_REMEMBERED = 400_000
"""Rises are known for so many ms."""
_OWED = 10_000
"""So many rises of a broker at least are known for the last that must have come."""


class Rises:
    """The high watermarks to which leaders' have risen, as their lines tell.

    Which thread tells is not which fetch a rise is due to: a leader notes how far a follower has come, and looks at its high
    watermark later, under a lock; in between another request, such as an append, may have raised it and says so
    (`Partition.updateFollowerFetchState`). So a rise is held against the lines of its broker: none without a line near it,
    and no line without it some time later.
    """

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self._moments: dict[tuple[int, int], list[int]] = {}
        self._forgettable: deque[tuple[int, int, int]] = deque()
        self._lately: dict[int, list[Event]] = {}
        """By broker its rises since it took office or started last, in the order of their times."""

    def note(self, event: Event) -> None:
        """A line of a broker, whatever it tells."""
        if event.says in (Says.LEADS, Says.RESTARTS):
            self._lately.pop(event.by, None)  # It may have a lower one then.
        hw = rise_of(event)
        if hw is None:
            return
        self._moments.setdefault((event.by, hw), []).append(event.at)
        self._forgettable.append((event.at, event.by, hw))
        lines = self._lately.setdefault(event.by, [])
        lines.append(event)
        if len(lines) > 2 * _OWED:
            del lines[:_OWED]
        while self._forgettable[0][0] < event.at - _REMEMBERED:
            _, *former = self._forgettable.popleft()
            moments = self._moments[former[0], former[1]]
            moments.pop(0)
            if not moments:
                del self._moments[former[0], former[1]]

    def are_told(self, broker: int, hw: int, at: int) -> bool:
        """Whether a line near a moment tells that a broker's high watermark rose to this."""
        return any(abs(moment - at) <= self.slack.within for moment in self._moments.get((broker, hw), ()))

    def owed(self, broker: int, at: int) -> int:
        """What a broker's high watermark is at least, at a moment, by the lines shortly before."""
        lines = self._lately.get(broker, [])
        before = bisect_left(lines, at - self.slack.within, key=attrgetter("at"))
        return (rise_of(lines[before - 1]) or 0) if before else 0

    def last(self, broker: int) -> Event | None:
        """The line of a broker that told of its last rise, since it took office."""
        lines = self._lately.get(broker)
        return lines[-1] if lines else None


class Lanes:
    """The lanes of one run, by number; events come in the order of their times, and are read as far as they are needed."""

    def __init__(self, brokers: Sequence[int], events: Iterable[Event], slack: Slack) -> None:
        names: list[tuple[int, int | None]] = [(CONTROLLER, None), *((broker, None) for broker in brokers)]
        names += [(leader, follower) for leader in brokers for follower in brokers if leader != follower]
        self.slack = slack
        self.rises = Rises(slack)
        self.numbers = {name: number for number, name in enumerate(names)}
        self.own = [self.numbers[broker, None] for broker in brokers]
        self.owners = [by for by, _ in names]
        self._lanes = [Lane() for _ in names]
        self._source = iter(events)
        self._next: Event | None = next(self._source, None)

    def __getitem__(self, number: int) -> Lane:
        return self._lanes[number]

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes)

    def are_over(self) -> bool:
        """Whether every event has been taken."""
        return self._next is None and all(lane.head() is None for lane in self._lanes)

    def heads(self, ahead: int) -> list[tuple[int, int, Event]]:
        """The next events of the lanes that may be taken, by time."""
        heads = self._open_heads()
        if not heads:
            self.read_until(None)
            heads = self._open_heads()
        if not heads:
            return []
        horizon = heads[0][0] + min(ahead, self.slack.between)
        if self._next is not None and self._next.at <= horizon and self.read_until(horizon):
            heads = self._open_heads()
        first: dict[int, int] = {}
        free = []
        for head in heads:
            at, number, _ = head
            if at > horizon:
                break
            if at <= first.setdefault(self.owners[number], at) + self.slack.within:
                free.append(head)
        return free

    def _open_heads(self) -> list[tuple[int, int, Event]]:
        """The next events by time, those of one moment and broker in the order of their lines."""
        found = []
        for number, lane in enumerate(self._lanes):
            if lane.taken < len(lane.events):
                event = lane.events[lane.taken]
                found.append((event.at, self.owners[number], event.line, number, event))
        found.sort()
        return [(at, number, event) for at, _, _, number, event in found]

    def head_before(self, lane: Lane, horizon: int) -> Event | None:
        """The next event of a lane, for which events are read up to a time."""
        while lane.head() is None and self._next is not None and self._next.at <= horizon:
            self.read_until(self._next.at)
        return lane.head()

    def is_asked_again(self, answer: Event, beyond: int) -> bool:
        """Whether the leader notes further fetches at the same offset, enough for what is answered there, before this is.

        An answer has only the partitions of which there is news, so a fetch of several may bring none of one that waits; and
        who has taken up records fetches at the next offset. `beyond` so many notes that come next.
        """
        number = self.numbers.get((answer["leader"], answer.by))
        if number is None:
            return False
        lane, offset = self._lanes[number], answer["offset"]
        begin = lane.taken + beyond
        if begin >= len(lane.events) or lane.events[begin]["offset"] != offset:
            return False
        if not answer["records"] and lane.events[begin].at > answer.at:
            return False
        notes = lane.events[begin : begin + _REPEATED]
        own = self._lanes[self.numbers[answer.by, None]]
        answers = own.events[own.taken : own.taken + _REPEATED]
        wanted = next((at for at, one in enumerate(answers) if one.get("offset") != offset), len(answers))
        return next((at for at, one in enumerate(notes) if one["offset"] != offset), len(notes)) >= wanted

    def ahead(self, number: int) -> Iterator[Event]:
        """The events of a lane after its head, as far ahead as lanes may be apart."""
        lane = self._lanes[number]
        head = lane.head()
        if head is None:
            return
        at = lane.taken + 1
        while True:
            yield from lane.events[at:]
            at = len(lane.events)
            if self._next is None or self._next.at > head.at + self.slack.between:
                return
            self.read_until(self._next.at)

    def read_until(self, horizon: int | None) -> bool:
        """Reads events up to a time; without one the next of all. Whether a lane that had no open event has one now."""
        is_opened = False
        while self._next is not None:
            if horizon is not None and self._next.at > horizon:
                break
            event, self._next = self._next, next(self._source, None)
            follower = event["follower"] if event.says is Says.NOTES_FETCH else None
            number = self.numbers.get((event.by, follower))
            if number is None and (number := self.numbers.get((event.by, None))) is None:
                continue
            lane = self._lanes[number]
            self.rises.note(event)
            is_opened = is_opened or lane.taken == len(lane.events)
            lane.events.append(event)
            if horizon is None:
                break
        return is_opened
