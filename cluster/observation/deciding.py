"""What the controller's lines may be in the model: changes of the partition, grants of an ISR, sessions that end and begin.

`Decisions` gives the plans of such an event, likeliest first: steps in a row, and what its line tells of the states before
and after them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from acked.cluster.observation.describing import has_code
from acked.cluster.observation.events import Event, Says
from acked.cluster.observation.moves import PASSED_OVER, Move, Plan, Statement, both, move
from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State


class Decisions:
    """Plans of what the controller of one subject's partition prints."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._is = partial(has_code, subject)

    def changes(self, event: Event, state: State) -> Iterator[Plan]:
        """A change of the partition: who left or joined the ISR, and who leads."""
        subject, told = self.subject, self._commit(event)
        was = state[subject.isr] if event.get("was") is None else subject.mask(event["was"])
        isr = was if event.get("isr") is None else subject.mask(event["isr"])
        leads = state[subject.leader] - 1
        gone = [index for index in range(len(subject.brokers)) if (was & ~isr) >> index & 1]
        leader = event.get("leader")
        elected = [] if leader is None or leader < 0 else self._elections(leader)
        lost = tuple(move("LoseSession", broker=index) for index in gone)
        with_leader = (*lost, move("LoseSession", broker=leads)) if leads >= 0 and leads not in gone else lost
        # Nobody leads: who is in the ISR has lost its session before, and an unclean election leaves it out of the new one.
        stay_away: tuple[tuple[Move, ...], ...] = ((),) if leads < 0 and elected else ()
        for away in dict.fromkeys((*stay_away, lost, with_leader)):
            stays = leader is None or (leader >= 0 and subject.index.get(leader) == leads)
            if event.get("recorded") and (stays or event.get("replicas") is not None):
                yield from self.commits_isr(event, state)  # A record does not say who asked for a change.
            if stays:
                yield away, told
            epoch = event.get("epoch")
            moves = leader is None and event.get("replicas") is not None
            if (leader is None and leads < 0) or (leader is not None and leader < 0) or moves:
                yield away if epoch is None else (*away, move(PASSED_OVER, epoch)), told
            for election in elected:
                yield (*away, election), told
                if away:
                    yield (election, *away), told
        if leader is None and was == isr:
            for action in ("MoveDirectory", "ChangeConfiguration") if event.get("elr") == frozenset() else ():
                yield (move(action),), told
            yield (), told

    def _elections(self, leader: int) -> list[Move]:
        index = self.subject.index.get(leader)
        if index is None:
            return []
        return [move(action, broker=index) for action in ("ElectLeader", "MoveLeadership", "ElectUncleanly")]

    def _commit(self, event: Event) -> Statement:
        subject = self.subject
        parts = []
        if event.get("was") is not None:
            parts.append(self._is(subject.isr, subject.mask(event["was"]), "that the ISR was", event["was"], before=True))
        if event.get("isr") is not None:
            parts.append(self._is(subject.isr, subject.mask(event["isr"]), "ISR", event["isr"]))
        if event.get("epoch") is not None:
            parts.append(self._is(subject.epoch, event["epoch"], "leader epoch", event["epoch"]))
        leader = _elected(event)
        if leader is not None:
            code = 0 if leader < 0 else 1 + subject.index.get(leader, len(subject.brokers))
            parts.append(self._is(subject.leader, code, "leader", leader))
        if event.get("elr") is not None and subject.concrete.layout.leaves[subject.elr].cardinality > 1:
            parts.append(self._is(subject.elr, subject.mask(event["elr"]), "ELR", event["elr"]))
        return both(*parts)

    def commits_isr(self, event: Event, state: State) -> Iterator[Plan]:
        """An ISR that a leader asked for is granted."""
        asked = event.get("leader") if event.says is Says.COMMITS_ISR else None
        # Where it is not told who asked, it was who leads.
        leader = state[self.subject.leader] - 1 if asked is None else self.subject.index.get(asked, -1)
        if leader < 0:
            yield (), lambda *_: "nobody leads" if asked is None else f"broker {asked} does not hold the partition"
            return
        if self.subject.concrete.has("CommitAlterPartition"):
            commits, told = move("CommitAlterPartition", leader=leader), self._commit(event)
            yield (commits,), told
            if event.get("replicas") is not None and event.get("isr") is not None:
                # With the last of the new replicas the former ones go, in the same change, with a leader epoch of its own; if
                # the leader is one of these, another is elected (NEW_LEADER_ELECTED).
                asked_for, isr = state[self.subject.at[leader].pending], self.subject.mask(event["isr"])
                gone = [index for index in range(len(self.subject.brokers)) if (asked_for & ~isr) >> index & 1]
                leaves = tuple(move("LoseSession", broker=index) for index in gone)
                epoch = () if event.get("epoch") is None else (move(PASSED_OVER, event["epoch"]),)
                yield (commits, *leaves, *epoch), told
                elected = _elected(event)
                for election in [] if elected is None else self._elections(elected):
                    yield (commits, *leaves, election), told

    def fences(self, event: Event, state: State) -> Iterator[Plan]:
        """A broker's session is over."""
        index = self.subject.index.get(event["broker"])
        if index is not None and not state[self.subject.isr] >> index & 1 and state[self.subject.leader] != index + 1:
            yield (move("LoseSession", broker=index),), lambda *_: None
        # Who is in the ISR leaves it in the change that the controller prints next, and who is gone already stays so.
        yield (), lambda *_: None

    def unfences(self, event: Event, state: State) -> Iterator[Plan]:
        """A broker's session begins again."""
        index = self.subject.index.get(event["broker"])
        if index is not None and state[self.subject.gone] >> index & 1 and not state[self.subject.at[index].down]:
            yield (move("RegainSession", broker=index),), lambda *_: None
        yield (), lambda *_: None


def _elected(event: Event) -> int | None:
    """Who leads from a change of the partition on, if its line tells: where an ISR is granted, who asked has another name."""
    leader: int | None = event.get("elects" if event.says is Says.COMMITS_ISR else "leader")
    return leader
