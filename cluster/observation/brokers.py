"""What brokers' lines tell of the states before and after their steps, and what the lines about a leader's ISR may be.

`Brokers` gives statements of a line, `IsrLines` the plans of lines that ask for an ISR, hear of one, or give one up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from acked.cluster.observation.describing import has_code
from acked.cluster.observation.events import Event
from acked.cluster.observation.lanes import Rises
from acked.cluster.observation.moves import NOT_ASKED, Plan, Statement, both, move
from acked.cluster.observation.subject import Places, Subject
from acked.model.concrete.program import State


class Brokers:
    """Statements of the lines of one subject's brokers."""

    def __init__(self, subject: Subject, rises: Rises) -> None:
        self.subject, self._rises = subject, rises
        self.is_code = partial(has_code, subject)

    def me(self, event: Event) -> int:
        """Which broker of the subject tells it."""
        return self.subject.index[event.by]

    def mine(self, event: Event) -> tuple[int, Places]:
        """The broker whose line it is, and where a state has what it holds."""
        me = self.me(event)
        return me, self.subject.at[me]

    def stranger(self, broker: int) -> Statement:
        """What is told of a broker that does not hold the partition."""
        return lambda *_: f"broker {broker} does not hold the partition"

    def hw_moves(self, event: Event, name: str = "hw") -> Statement:
        """A broker prints every move of its high watermark: without a word of it there was none."""
        hw, who, told = self.subject.at[self.me(event)].hw, event.by, event.get(name)

        def check(before: State, after: State) -> str | None:
            wanted = before[hw] if told is None else told
            if after[hw] == wanted:
                return None
            says = "the line tells of no new high watermark" if told is None else f"the line says HW {told}"
            return f"{says}, and broker {who}'s is {after[hw]} by the rules"

        return check

    def hw_rises(self, event: Event, name: str = "hw") -> Statement:
        """A leader's high watermark rises only if a line tells so, be it another thread's; that it does is seen later."""
        hw, moves = self.subject.at[self.me(event)].hw, self.hw_moves(event, name)

        def check(before: State, after: State) -> str | None:
            if after[hw] == before[hw] or self._rises.are_told(event.by, after[hw], event.at):
                return None
            return moves(before, after)

        return check

    def is_in_flight(self, event: Event, follower: int, state: State) -> bool:
        """Whether a leader asks for what it has asked for already, and is no longer aware of.

        A record of the partition epoch that it has by an answer ends its pending state, not its request
        (`Partition.makeLeader`, `updateAssignmentAndIsr`). The model's leader goes on waiting, with the larger ISR.
        """
        place = self.subject.at[self.me(event)]
        return bool(event.get("again")) and state[place.pending] == state[place.isr] | self.subject.mask([follower])

    def from_isr(self, event: Event) -> Statement:
        """The ISR to which a leader asks to add a follower, where the line tells it."""
        isr, (_, place) = event.get("isr"), self.mine(event)
        return (lambda *_: None) if isr is None else self.is_code(place.isr, self.subject.mask(isr), "ISR", isr, before=True)


class IsrLines(Brokers):
    """Plans of the lines about a leader's ISR."""

    def learns_isr(self, event: Event, state: State) -> Iterator[Plan]:
        """A leader hears of an ISR, by metadata or by an answer."""
        me, place = self.mine(event)
        parts = [self.is_code(place.isr, self.subject.mask(event["isr"]), "ISR", event["isr"])]
        if event.get("epoch") is not None:
            parts.append(self.is_code(place.epoch, 1 + event["epoch"], "leader epoch", event["epoch"]))
        if event.get("hw") is not None:
            parts.append(self.is_code(place.hw, event["hw"], "HW", event["hw"], before=True))
        told = both(*parts, self.hw_rises(event, "raised"))
        if state[place.outdated] or not self.subject.concrete.has("AskToExpand"):
            yield (move("LearnIsr", leader=me),), told
            yield (move("LearnIsrWhileHwWaits", leader=me),), told
        yield (), told

    def asks_to_shrink(self, event: Event, state: State) -> Iterator[Plan]:
        """A leader asks for a smaller ISR."""
        (me, place), followers = self.mine(event), self.subject.mask(event["followers"])
        isr, told = event.get("isr"), self.hw_rises(event)
        if isr is not None:
            told = self.is_code(place.isr, self.subject.mask(isr), "ISR", isr, before=True)
        for action in ("AskToShrink", "ShrinkIsr", "ShrinkIsrWhileHwWaits"):
            if self.subject.concrete.has(action):
                yield (move(action, followers, leader=me),), told

    def asks_to_expand(self, event: Event, state: State) -> Iterator[Plan]:
        """A leader asks for a larger ISR, and no fetch follows."""
        me, follower = self.me(event), self.subject.index.get(event["follower"])
        if follower is None:
            yield (), self.stranger(event["follower"])
            return
        asks, told = move("AskToExpand", leader=me, follower=follower), both(self.from_isr(event), self.hw_rises(event))
        yield () if self.is_in_flight(event, event["follower"], state) else (asks,), told
        if event.get("cut"):
            yield (move("FetchUnanswered", follower=follower, leader=me), asks), told

    def gives_up_isr(self, event: Event, state: State) -> Iterator[Plan]:
        """A leader goes back to the ISR that is committed."""
        me, place = self.mine(event)
        told = both(
            self.is_code(place.isr, self.subject.mask(event["isr"]), "ISR", event["isr"]),
            self.is_code(place.pending, 0, "that no other ISR is asked for any more", frozenset()),
        )
        yield (move("RefuseAlterPartition", leader=me),), told
        yield (move(NOT_ASKED, me),), told
        yield (), told
