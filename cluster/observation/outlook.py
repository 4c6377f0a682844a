"""What the lines to come rule out of a state: most ways that lead nowhere end as soon as they are taken."""

from __future__ import annotations

from collections.abc import Collection

from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.lanes import Lanes, rise_of
from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State

_HEARS = (Says.LEADS, Says.FOLLOWS)
"""By which a broker hears of a leader epoch."""


class Outlook:
    """The lines to come of one run, as far as they have been read."""

    def __init__(self, subject: Subject, lanes: Lanes) -> None:
        self._subject, self._lanes = subject, lanes

    def leads_nowhere(self, event: Event, taken: Collection[int], before: State, after: State) -> bool:
        """Whether lines to come rule out that an event is taken now, with the heads of some lanes."""
        if event.says in _HEARS and self._misses_fetch(event, after):
            return True
        if event.by == CONTROLLER and self._misses_news(event, before, after):
            return True
        return self._misses_answer(taken, after)

    def _misses_answer(self, taken: Collection[int], after: State) -> bool:
        """Whether a follower is to take an answer that its leader can give no more, once the heads of some lanes are taken.

        That has a lower high watermark than the leader, or no record where the leader has one: neither log nor high watermark
        gets less but where the leader starts again, or takes office.
        """
        places = self._subject.at
        for own, place in zip(self._lanes.own, places, strict=True):
            answer = self._lanes[own].head()
            if answer is None or answer.says is not Says.TAKES_ANSWER or own in taken or after[place.late_leader]:
                continue
            leader = self._subject.index.get(answer["leader"])
            if leader is None:
                continue
            has_more = not answer["records"] and after[places[leader].end] > answer["offset"]
            if answer["leader_hw"] >= after[places[leader].hw] and not has_more:
                continue
            lane = self._lanes[self._lanes.own[leader]]
            begins_anew = (Says.RESTARTS, Says.LEADS)
            return not any(e.says in begins_anew for e in lane.events[lane.taken :] if e.at <= answer.at)
        return False

    def _misses_fetch(self, event: Event, after: State) -> bool:
        """Whether a broker hears of a leader epoch before a leader that has not heard of it notes a last fetch of its.

        The fetch came before, however long its leader took to note it; or it is of that leader's next office.
        """
        me = self._subject.index[event.by]
        place = self._subject.at[me]
        for leader, theirs in enumerate(self._subject.at):
            leads = leader != me and after[theirs.leader] == leader + 1 and not after[theirs.down]
            if not leads or after[place.epoch] <= after[theirs.epoch] or after[place.former] == leader + 1:
                continue
            lane = self._lanes[self._lanes.numbers[self._subject.brokers[leader], event.by]]
            noted = self._lanes.head_before(lane, event.at + self._lanes.slack.between)
            if noted is None:
                continue
            own = self._lanes[self._lanes.own[leader]]
            until = noted.at + self._lanes.slack.within
            if not any(e.says is Says.LEADS and e.at <= until for e in own.events[own.taken :]):
                return True
        return False

    def _misses_news(self, event: Event, before: State, after: State) -> bool:
        """Whether the controller goes on to another leader epoch before all have heard of the last whose lines say so.

        In the model a broker hears of the newest one.
        """
        epoch = before[self._subject.epoch]
        if after[self._subject.epoch] == epoch or not before[self._subject.leader]:
            return False
        self._lanes.read_until(event.at + self._lanes.slack.between)
        for own, place in zip(self._lanes.own, self._subject.at, strict=True):
            if not 0 < after[place.epoch] <= epoch:  # Who has just started may hear of former ones; codes are one more.
                continue
            lane = self._lanes[own]
            heard = next((e for e in lane.events[lane.taken :] if e.says in _HEARS or e.says is Says.RESTARTS), None)
            if heard is not None and heard.get("epoch") == epoch and heard.get("leader") != -1:
                return True
        return False

    def misses_rise(self, event: Event, after: State) -> bool:
        """Whether a leader's high watermark has not risen as its lines have told some time before this one."""
        if event.says not in (Says.APPENDS, Says.NOTES_FETCH):
            return False
        return self._hw_of(event.by, after) < self._lanes.rises.owed(event.by, event.at)

    def unrisen(self, state: State) -> list[Event]:
        """When all lines are over: of who leads then, the line of a last rise that has not come."""
        found = []
        for index, broker in enumerate(self._subject.brokers):
            last, place = self._lanes.rises.last(broker), self._subject.at[index]
            leads = state[place.leader] == index + 1 and not state[place.down]
            if last is not None and leads and state[place.hw] < (rise_of(last) or 0):
                found.append(last)
        return found

    def missed_rise(self, event: Event, state: State) -> tuple[str, ...]:
        """In words, which rise a broker's lines have told of up to this one that has not come; empty if none."""
        if event.by not in self._subject.index:
            return ()
        told = rise_of(event) if event in self.unrisen(state) else self._lanes.rises.owed(event.by, event.at)
        hw = self._hw_of(event.by, state)
        return () if hw >= (told or 0) else (
            f"lines of this broker say HW {told} up to this one, and by the rules it is {hw}",
        )

    def _hw_of(self, broker: int, state: State) -> int:
        hw: int = state[self._subject.at[self._subject.index[broker]].hw]
        return hw
