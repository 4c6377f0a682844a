"""What the lines to come rule out of a state: most ways that lead nowhere end as soon as they are taken."""

from __future__ import annotations

from collections.abc import Collection

from acked.cluster.observation.events import Event, Says
from acked.cluster.observation.lanes import Lanes, rise_of
from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State


class Outlook:
    """The lines to come of one run, as far as they have been read."""

    def __init__(self, subject: Subject, lanes: Lanes) -> None:
        self._subject, self._lanes = subject, lanes

    def misses_answer(self, taken: Collection[int], after: State) -> bool:
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
