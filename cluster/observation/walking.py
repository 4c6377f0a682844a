"""A behaviour that explains every event of a run, in an order in which brokers and controller may have done it.

`Walk` takes events one after the other on one carried state, and takes some back where it has to. Lines of one broker are in
order, but for a leader's about each follower's fetches, which threads print outside the partition's lock: those are lanes of
their own. Between lanes only time orders: an event may be taken before an open one of its own broker that is up to
`Slack.within` older, and before one of another that is up to `Slack.between` older.

Acceptance exhibits a behaviour, so slack can only make a rejection false; one is tried again with more of it before it is
told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from acked.base.frozen import frozen
from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.explaining import Explainer
from acked.cluster.observation.lanes import Lanes, Slack
from acked.cluster.observation.moves import Move, Way
from acked.cluster.observation.outlook import Outlook
from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State

Asked = tuple[tuple[int, int] | None, ...]
"""Of each broker the fetch that a leader has noted and that is not answered yet: the leader's id and the offset."""


WINDOW = 4_000
"""Steps that can be taken back; what was taken before them stays."""
LATELY = 20
"""Steps before a dead end that are told of."""
AHEAD = 1_500
"""By how many ms events are read ahead of the earliest open one as long as all goes well."""


class Taken(NamedTuple):
    """Events that were taken together, as which steps, and the state after them."""

    events: tuple[Event, ...]
    moves: tuple[Move, ...]
    after: State


class _Choice(NamedTuple):
    """One way to go on: the lanes whose heads are taken."""

    lanes: tuple[int, ...]
    taken: Taken
    asked: Asked


class _Frame(NamedTuple):
    """A choice that was made, and where it was made."""

    options: Iterator[_Choice]
    choice: _Choice
    before: State
    asked: Asked


@frozen
class Stuck:
    """Where no way goes on: the events that come next, earliest first, each with why it cannot be taken."""

    open: tuple[tuple[Event, tuple[str, ...]], ...]
    state: State
    explained: int
    lately: tuple[Taken, ...]


class Walk:
    """Explains the events of one run; `events` come in the order of their times and are read only as far as they are needed.

    `on_taken` is told of every step that stays: those that are no longer taken back, and at the end all that are left.
    """

    def __init__(
        self,
        subject: Subject,
        events: Iterable[Event],
        start: State,
        *,
        without: frozenset[str] = frozenset(),
        slack: Slack | None = None,
        on_taken: Callable[[State, Taken], None] | None = None,
        window: int = WINDOW,
    ) -> None:
        """`window`: steps that can be taken back."""
        self._window = window
        self.subject = subject
        self.state = start
        self.visited = 0
        self._looks_ahead = True
        self.explained = 0
        self._on_taken = on_taken
        self.slack = slack or Slack()
        self._lanes = Lanes(subject.brokers, events, self.slack)
        self.explainer = Explainer(subject, self._lanes.rises, without)
        self._outlook = Outlook(subject, self._lanes)
        self._names_epoch = bool(subject.concrete.constants["answer_names_epoch"])
        self._asked: Asked = (None,) * len(subject.brokers)
        self._frames: deque[_Frame] = deque()
        self._dead: set[tuple[tuple[int, ...], State, Asked]] = set()

    def run(self) -> Stuck | None:
        """Takes every event; None if a behaviour explains them all, else where the deepest try ended."""
        stuck = self._search()
        if stuck is not None:
            stuck = self._search_again(stuck, self.slack.more())
        if stuck is not None:
            self._looks_ahead = False  # So that what is told is the line that fails, and not one before it.
            stuck = self._search_again(stuck, replace(self.slack, nodes=self.slack.nodes // 10))
        if stuck is None:
            while self._frames:
                self._settle()
        return stuck

    # -- the search -----------------------------------------------------------------------------------------------------

    def _search_again(self, stuck: Stuck, slack: Slack) -> Stuck | None:
        """From the beginning, as far as it can be taken back; with more slack the search may lose its way earlier."""
        while self._frames:
            self._undo()
        self._dead.clear()
        self._lanes.slack = self._lanes.rises.slack = self.slack = slack
        again = self._search()
        return again if again is None or again.explained > stuck.explained else stuck

    def _search(self) -> Stuck | None:
        best, since, deepest = self.explained, 0, None
        options = self._options()
        while True:
            choice = next(options, None)
            if choice is not None:
                self._go(choice, options)
                options = self._options()
                if self.explained > best:
                    best, since, deepest = self.explained, 0, None
                    self._dead.clear()
                    if len(self._frames) > self._window:
                        self._settle()
                    continue
            elif self._lanes.are_over() and not self._outlook.unrisen(self.state):
                return None
            else:
                if deepest is None:
                    deepest = self._stuck()
                if not self._frames:
                    return deepest
                self._dead.add(self._key())
                options = self._undo()
            since += 1
            if since > self.slack.nodes and deepest is not None:
                return deepest

    def _go(self, choice: _Choice, options: Iterator[_Choice]) -> None:
        self._frames.append(_Frame(options, choice, self.state, self._asked))
        for lane in choice.lanes:
            self._lanes[lane].taken += 1
        self.state, self._asked = choice.taken.after, choice.asked
        self.explained += len(choice.lanes)
        self.visited += 1

    def _undo(self) -> Iterator[_Choice]:
        frame = self._frames.pop()
        for lane in frame.choice.lanes:
            self._lanes[lane].taken -= 1
        self.state, self._asked = frame.before, frame.asked
        self.explained -= len(frame.choice.lanes)
        return frame.options

    def _settle(self) -> None:
        """The earliest step stays."""
        frame = self._frames.popleft()
        for number in frame.choice.lanes:
            self._lanes[number].settle()
        if self._on_taken is not None:
            self._on_taken(frame.before, frame.choice.taken)

    def _key(self) -> tuple[tuple[int, ...], State, Asked]:
        return tuple(lane.taken for lane in self._lanes), self.state, self._asked

    def _stuck(self) -> Stuck:
        heads = sorted((head for lane in self._lanes if (head := lane.head()) is not None), key=lambda event: event.at)
        told = [(head, self._why_not(head)) for head in heads]
        told = told or [(last, self._outlook.missed_rise(last, self.state)) for last in self._outlook.unrisen(self.state)]
        lately = tuple(frame.choice.taken for frame in list(self._frames)[-LATELY:])
        return Stuck(tuple(told), self.state, self.explained, lately)

    def _why_not(self, event: Event) -> tuple[str, ...]:
        reasons = self.explainer.reasons(event, self.state)
        reasons = reasons or self._outlook.missed_rise(event, self.state)
        if not reasons and event.says is Says.TAKES_ANSWER:
            return (f"broker {event['leader']} has not noted a fetch at {event['offset']} since the last answer",)
        return reasons

    # -- what may come next ---------------------------------------------------------------------------------------------

    def _options(self) -> Iterator[_Choice]:
        """Ways to go on: answers that a leader could give now, then the earliest open event, then the others by time."""
        heads = self._lanes.heads(AHEAD)
        again = []
        for _, number, event in heads:
            if event.says is Says.TAKES_ANSWER and self._asked[self.subject.index[event.by]] is not None:
                if self._lanes.is_asked_again(event, 0):
                    again.append((number, event))
                else:
                    yield from self._answers(number, event)
        for number, event in self._held_up(heads):
            yield from self._answers(number, event)
        yielded, awaiting = set(), []
        for _, number, event in heads:
            if event.says is not Says.TAKES_ANSWER:
                yielded.add(number)
                if event.says is Says.RESTARTS and self._is_missed_later(event):
                    awaiting.append((number, event))
                else:
                    yield from self._choices(number, event)
        for number, event in again:
            yield from self._answers(number, event)
        # Nothing of what is near goes on: read as far ahead as lanes may be apart.
        for _, number, event in self._lanes.heads(self.slack.between):
            if event.says is Says.TAKES_ANSWER:
                yield from self._answers(number, event)
            elif number not in yielded:
                yield from self._choices(number, event)
        for number, event in awaiting:
            yield from self._choices(number, event)

    def _is_missed_later(self, restarts: Event) -> bool:
        """Whether a broker is back before the controller has missed it: the controller's change comes first then.

        In the model a crash takes the broker out of the ISR and out of office in the same step.
        """
        mine, leads = self.subject.mask([restarts.by]), self.state[self.subject.leader] - 1
        if not self.state[self.subject.isr] & mine and leads != self.subject.index[restarts.by]:
            return False
        self._lanes.read_until(restarts.at + self.slack.between)
        lane = self._lanes[self._lanes.numbers[CONTROLLER, None]]
        for event in lane.events[lane.taken :]:
            if event.get("was") is not None and event.get("isr") is not None:
                if not self.subject.mask(event["was"]) & mine:
                    return False
                if not self.subject.mask(event["isr"]) & mine:
                    return True
        return False

    def _held_up(self, heads: list[tuple[int, int, Event]]) -> Iterator[tuple[int, Event]]:
        """Answers that were taken long after their leader gave them: lines of other brokers came between by the thousand.

        Where a follower has asked and has no line soon, its next ones are read, as far ahead as lanes may be apart.
        """
        if not heads:
            return
        now = heads[0][0]
        for index, asked in enumerate(self._asked):
            lane = self._lanes[self._lanes.own[index]]
            if asked is None or (lane.taken < len(lane.events) and lane.events[lane.taken].at <= now + AHEAD):
                continue
            horizon = now + self.slack.between
            event = self._lanes.head_before(lane, horizon)
            if event is None or event.says is not Says.TAKES_ANSWER or not now + AHEAD < event.at <= horizon:
                continue
            leader, offset = asked
            again = self._lanes[self._lanes.numbers[leader, self.subject.brokers[index]]].head()
            if again is None or again.at > event.at or again["offset"] != offset:
                yield self._lanes.own[index], event

    def _choices(self, number: int, event: Event) -> Iterator[_Choice]:
        if event.says is Says.NOTES_FETCH:
            yield from self._fetches(number, event)
            return
        asked = self._asked
        if event.says in (Says.RESTARTS, Says.FOLLOWS, Says.LEADS):
            index = self.subject.index[event.by]
            goes_on = self._before_removal(number, event, index) if event.says is Says.FOLLOWS else iter(())
            if not self._takes_late(event, index):
                yield from goes_on
            if event.says is not Says.RESTARTS and asked[index] is not None:
                yield from self._appends_before(number, asked)
                yield from self._departs(number, (number,), event, asked)
                if self.state[self.subject.at[index].late_leader]:
                    yield from self._ways((number,), (event,), asked)
            yield from goes_on
            asked = (*asked[:index], None, *asked[index + 1 :])
            truncates = self._late_truncation(number, index) if event.says is not Says.RESTARTS else None
            if truncates is not None:
                ways = self.explainer.departing_ways(event, truncates, self.state)
                departs = self._make_choices(ways, (number,), (event,), asked)
                now = self._ways((number,), (event,), asked)
                yield from chain(now, departs) if self._leads_by(truncates, event) else chain(departs, now)
                return
        yield from self._ways((number,), (event,), asked)

    def _takes_late(self, event: Event, index: int) -> bool:
        """Whether an answer of the former epoch may count when the fetcher was removed, too: the same leader leads again."""
        leads = self.state[self.subject.at[index].leader] - 1
        again = leads >= 0 and event.get("leader") == self.subject.brokers[leads]
        return again and not self._names_epoch

    def _before_removal(self, number: int, follows: Event, index: int) -> Iterator[_Choice]:
        """A broker hears whom to follow; if its lines say so, its fetcher then takes another answer of the former leader."""
        answer = self._answer_before_removal(number, self.state[self.subject.at[index].leader] - 1)
        if answer is None:
            return
        yield from self._make_choices(self.explainer.before_removal(follows, self.state), (number,), (follows,), self._asked)
        if answer.says is Says.TAKES_ANSWER:
            departs = self.explainer.departing_ways(follows, answer, self.state, goes_on=True)
            yield from self._make_choices(departs, (number,), (follows,), self._asked)

    def _answer_before_removal(self, number: int, leader: int) -> Event | None:
        """The next thing that a follower does, if it is to take an answer of that leader before its fetcher is removed."""
        if leader < 0:
            return None
        for event in self._lanes.ahead(number):
            if event.says in (Says.TAKES_ANSWER, Says.TRUNCATES):
                return event if event.get("leader") == self.subject.brokers[leader] else None
            if event.says in (Says.REMOVES_FETCHER, Says.RESTARTS, Says.FOLLOWS, Says.LEADS):
                return None
        return None

    def _late_truncation(self, number: int, broker: int) -> Event | None:
        """The line that a follower truncates, after it has heard of a leader epoch, if its former leader may have told it to.

        Which fetch that was its leader does not print. None where answers of former epochs are dropped (KAFKA-18991).
        """
        if self._names_epoch or not self.explainer.is_told_to_truncate(broker, self.state):
            return None
        end = self.state[self.subject.at[broker].end]
        for event in self._lanes.ahead(number):
            if event.says is Says.TRUNCATES and event["to"] < end:
                return event
            if event.says in (Says.RESTARTS, Says.TAKES_ANSWER, Says.APPENDS):
                return None
        return None

    def _leads_by(self, truncates: Event, heard: Event) -> bool:
        """Whether the leader of whom a follower hears leads in that epoch before the follower truncates, by their times."""
        leader = self.subject.index.get(truncates.get("leader", heard.get("leader")), -1)
        if leader < 0 or self.state[self.subject.at[leader].epoch] > heard["epoch"]:
            return True
        lane = self._lanes[self._lanes.own[leader]]
        ahead = lane.events[lane.taken :]
        return any(e.says is Says.LEADS and e["epoch"] >= heard["epoch"] and e.at <= truncates.at for e in ahead)

    def _departs(self, follower: int, lanes: tuple[int, ...], event: Event, asked: Asked) -> Iterator[_Choice]:
        """The event together with the departure of the answer that the follower, by its lane, takes in a later epoch."""
        answer = self._late_answer(follower, asked)
        if answer is not None:
            yield from self._make_choices(self.explainer.departing_ways(event, answer, self.state), lanes, (event,), asked)

    def _appends_before(self, number: int, asked: Asked) -> Iterator[_Choice]:
        """The next append of a leader that stood still, where it answers with more than it has.

        It has not heard of the epoch in which its answer is taken, so the order of its own lines allows all before.
        """
        answer = self._late_answer(number, asked)
        if answer is None or not self.explainer.reads_too_far(answer, self.state):
            return
        lane = self._lanes.numbers[answer["leader"], None]
        append = self._lanes.head_before(self._lanes[lane], answer.at)
        if append is not None and append.says is Says.APPENDS and append.at <= answer.at:
            yield from self._ways((lane,), (append,), asked)

    def _late_answer(self, number: int, asked: Asked) -> Event | None:
        """The answer that a follower takes after it has heard of a leader epoch, if it is to the fetch that it has asked.

        Where answers of former epochs are dropped (KAFKA-18991) that is one before the former leader's fetcher is removed.
        """
        wanted, head = asked[self.subject.index[self._lanes.owners[number]]], self._lanes[number].head()
        if wanted is None or (self._names_epoch and head is not None and head.says is Says.LEADS):
            return None
        for event in self._lanes.ahead(number):
            if event.says is Says.RESTARTS or (self._names_epoch and event.says is Says.REMOVES_FETCHER):
                return None
            if event.says is Says.TAKES_ANSWER and event["leader"] == wanted[0]:
                return event if event["offset"] == wanted[1] else None
        return None

    def _ways(self, lanes: tuple[int, ...], events: tuple[Event, ...], asked: Asked) -> Iterator[_Choice]:
        ways = (
            self.explainer.ways(events[0], self.state)
            if len(events) == 1
            else self.explainer.joint_ways(events[0], events[1], self.state)
        )
        return self._make_choices(ways, lanes, events, asked)

    def _make_choices(
        self, ways: Iterator[Way], lanes: tuple[int, ...], events: tuple[Event, ...], asked: Asked
    ) -> Iterator[_Choice]:
        for way in ways:
            choice = _Choice(lanes, Taken(events, way.moves, way.after), asked)
            if self._looks_ahead and self._outlook.leads_nowhere(events[0], lanes, self.state, way.after):
                continue
            if any(self._outlook.misses_rise(event, way.after) for event in events):
                continue
            if not self._dead or not self._is_dead(choice):
                yield choice

    def _is_dead(self, choice: _Choice) -> bool:
        taken = [lane.taken for lane in self._lanes]
        for lane in choice.lanes:
            taken[lane] += 1
        return (tuple(taken), choice.taken.after, choice.asked) in self._dead

    def _fetches(self, number: int, noted: Event) -> Iterator[_Choice]:
        """A fetch that a leader notes: together with its answer, if that was read before, or alone."""
        follower = self.subject.index.get(noted["follower"])
        if follower is None:
            yield from self._ways((number,), (noted,), self._asked)
            return
        before, after = self._asked[:follower], self._asked[follower + 1 :]
        lane = self._lanes.numbers[noted["follower"], None]
        answer = self._lanes[lane].head()
        at_once: Iterator[_Choice] = iter(())
        if answer is not None and answer.says is Says.TAKES_ANSWER and _may_answer(noted, answer):
            at_once = self._ways((number, lane), (noted, answer), (*before, None, *after))
            if not self._lanes.is_asked_again(answer, 1):
                yield from at_once
        asked = (*before, (noted.by, noted["offset"]), *after)
        if answer is not None and answer.says in (Says.FOLLOWS, Says.LEADS):
            yield from self._departs(lane, (number,), noted, asked)
        yield from self._ways((number,), (noted,), asked)
        yield from at_once

    def _answers(self, number: int, answer: Event) -> Iterable[_Choice]:
        """An answer to a fetch that its leader has noted; one that has departed though another leader is asked since."""
        follower = self.subject.index[answer.by]
        if self._asked[follower] == (answer["leader"], answer["offset"]):
            asked = (*self._asked[:follower], None, *self._asked[follower + 1 :])
            return self._ways((number,), (answer,), asked)
        departed = self.state[self.subject.at[follower].late_leader]
        is_late = departed and self.subject.brokers[departed - 1] == answer["leader"]
        return self._ways((number,), (answer,), self._asked) if is_late else ()

def _may_answer(noted: Event, answer: Event) -> bool:
    """Whether two lines may be of one fetch."""
    return bool(noted.by == answer["leader"] and noted["offset"] == answer["offset"])
