"""The promises of `partition`: what Kafka says to its users, as predicates over its state.

Each promise with what it means to a user and under which settings Kafka makes it.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.invariants.partition.clients import (
    latest_offset_stays,
    no_duplicates,
    no_gaps,
    no_reordering,
    reads_stay,
    refusals_are_true,
)
from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, some
from acked.model.language.values import Bool
from acked.model.partition.common import has_session, holds, is_true_leader, presumes_leadership
from acked.model.partition.state import ACKED, Offset, RecordId, Replica, State

_ACKS = "acks in the producer configuration; KAFKA-1211, KIP-101"

# -- durability --------------------------------------------------------------------------------------------------------


def every_true_leader(s: State, body: Callable[[Replica], Bool]) -> Bool:
    """The body holds of the current leader, if there is one."""
    return every(Replica, lambda r: implies(is_true_leader(s, r), body(r)))


def _holds_acked(s: State, r: Replica) -> Bool:
    return every(RecordId, lambda record: implies(s.producer.status[record] == ACKED, holds(s, r, record)))


@promise(
    "an acknowledged record is in the log of every later leader",
    _ACKS,
    "acks=all, min.insync.replicas of at least 2, clean elections; never promised with acks=0 and acks=1",
)
def acked_records_survive(s: State) -> Bool:
    """The current leader holds every acknowledged record."""
    return every_true_leader(s, lambda r: _holds_acked(s, r))


@promise(
    "an acknowledged record is on every in-sync replica, so the next leader has it, whichever of them is elected",
    _ACKS,
    "acks=all; never promised with acks=1",
)
def acked_records_in_isr(s: State) -> Bool:
    """Every member of the ISR holds every acknowledged record, so each possible clean election keeps it."""
    return every(s.controller.isr, lambda r: _holds_acked(s, r))


@promise(
    "an acknowledged record is on the disk of some broker, so an operator could still bring it back",
    _ACKS,
    "as for AckedRecordsSurvive",
)
def acked_records_exist(s: State) -> Bool:
    """Every acknowledged record is in some broker's log, in sync or not, up or down."""
    return every(
        RecordId,
        lambda record: implies(s.producer.status[record] == ACKED, some(Replica, lambda r: holds(s, r, record))),
    )


@promise(
    "what consumers can read from the leader is on every in-sync replica",
    "the definition of the high watermark; KIP-101, KIP-320",
    "2.5, clean elections",
)
def committed_in_isr(s: State) -> Bool:
    """Every member of the ISR holds what the current leader has below its high watermark."""

    def is_held(leader: Replica) -> Bool:
        hw = s.broker[leader].hw
        return every_two(s.controller.isr, Offset, lambda r, o: implies(o < hw, s.log[leader].same_record_at(s.log[r], o)))

    return every_true_leader(s, is_held)


@promise(
    "the high watermark never passes the log end of an in-sync replica",
    "the definition of the high watermark: the least log end of the ISR",
    "2.5, crashes that lose nothing",
)
def hw_within_isr(s: State) -> Bool:
    """The high watermark of the current leader is at most the least log end of the ISR."""
    return every_true_leader(
        s, lambda leader: every(s.controller.isr, lambda r: s.broker[leader].hw <= s.log[r].end)
    )


# -- agreement ---------------------------------------------------------------------------------------------------------


@promise(
    "two replicas never hold different records at an offset below both their high watermarks",
    "KIP-101, KIP-279, KIP-320",
    "2.5, clean elections",
)
def logs_agree_below_hw(s: State) -> Bool:
    """Any two brokers hold the same records below both their high watermarks."""

    def agree(a: Replica, b: Replica) -> Bool:
        return every(
            Offset,
            lambda o: implies(
                (o < s.broker[a].hw) & (o < s.broker[b].hw), s.log[a].same_record_at(s.log[b], o)
            ),
        )

    return every_two(Replica, Replica, agree)


@promise(
    "two records with the same offset and leader epoch are the same record, on all replicas",
    "KIP-101: what OffsetsForLeaderEpoch takes for granted",
    "0.11",
)
def log_matching(s: State) -> Bool:
    """Two logs that hold a record of one leader epoch at one offset hold the same one there."""

    def same(a: Replica, b: Replica) -> Bool:
        here, there = s.log[a], s.log[b]
        return every(
            Offset,
            lambda o: implies(
                here.has(o) & there.has(o) & (here.at(o).epoch == there.at(o).epoch), here.at(o) == there.at(o)
            ),
        )

    return every_two(Replica, Replica, same)


@promise("two brokers may both act as leader, but never in the same leader epoch", "KIP-101, KIP-320", "0.8")
def one_leader_per_epoch(s: State) -> Bool:
    """No two brokers presume leadership in one leader epoch."""

    def same_office(a: Replica, b: Replica) -> Bool:
        both = presumes_leadership(s, a) & presumes_leadership(s, b)
        return both & (s.broker[a].leader_epoch == s.broker[b].leader_epoch)

    return every_two(Replica, Replica, lambda a, b: implies(same_office(a, b), a == b))


@promise(
    "while a broker leads, what it lets consumers read does not shrink",
    "the high watermark never decreases on a leader",
    "0.8",
)
def leader_hw_stays(before: State, after: State) -> Bool:
    """While a broker leads in one epoch its high watermark does not fall."""

    def leads_on(r: Replica) -> Bool:
        return presumes_leadership(before, r) & presumes_leadership(after, r)

    return every(Replica, lambda r: implies(leads_on(r), before.broker[r].hw <= after.broker[r].hw))


@promise("the leader is one of the in-sync replicas", "the Kafka documentation, design: replication", "0.8")
def isr_has_leader(s: State) -> Bool:
    """The controller's leader, if there is one, is in the ISR."""
    return every(Replica, lambda r: implies(s.controller.leader == r, s.controller.isr.contains(r)))


@promise("a replica that is down or fenced does not count as in sync while there is a leader", "KIP-841", "3.3 with KRaft")
def isr_is_alive(s: State) -> Bool:
    """While there is a leader no member of the ISR is down, or fenced for want of a session."""
    return implies(s.controller.leader.is_some, every(s.controller.isr, lambda r: has_session(s, r)))


@promise(
    "the high watermark is always smaller than the log end offset: a common sentence",
    "articles about replication",
    "never: the two are equal whenever the ISR has caught up",
)
def hw_below_log_end(s: State) -> Bool:
    """The high watermark of a leader that holds something is below its log end: often said, and not so."""
    return every(
        Replica,
        lambda r: implies(presumes_leadership(s, r) & ~s.log[r].is_empty, s.broker[r].hw < s.log[r].end),
    )


@promise(
    "a record is readable only once every follower has it: a common sentence",
    "articles about replication",
    "never: only the in-sync replicas count",
)
def everyone_holds_what_is_visible(s: State) -> Bool:
    """What a leader lets consumers read is on every replica, in sync or not: often said, and not so."""

    def is_everywhere(leader: Replica) -> Bool:
        hw, log = s.broker[leader].hw, s.log[leader]
        return every_two(Replica, Offset, lambda r, o: implies(o < hw, log.same_record_at(s.log[r], o)))

    return every_true_leader(s, is_everywhere)


@promise(
    "in-sync replicas agree on the high watermark: a common idea",
    "articles about replication",
    "never: a follower learns of an advance with its next fetch",
)
def followers_know_hw(s: State) -> Bool:
    """Every in-sync follower of the current leader has the leader's high watermark: often thought, and not so."""
    return every_true_leader(
        s, lambda leader: every(s.controller.isr, lambda r: s.broker[r].hw == s.broker[leader].hw)
    )


@promise(
    "an in-sync replica holds all that the leader holds: a common idea",
    "articles about replication",
    "never: it holds all that is committed, and was caught up not long ago",
)
def in_sync_is_caught_up(s: State) -> Bool:
    """Every in-sync replica has all that the current leader has: often thought, and not so."""
    return every_true_leader(
        s, lambda leader: every(s.controller.isr, lambda r: s.log[leader].end <= s.log[r].end)
    )


@promise(
    "a partition has one leader at any time: a common sentence",
    "articles about replication",
    "never: there is one leader per epoch, and a deposed one may not know yet",
)
def one_leader(s: State) -> Bool:
    """Only one broker presumes leadership: often said, and not so."""
    return every_two(Replica, Replica, lambda a, b: implies(presumes_leadership(s, a) & presumes_leadership(s, b), a == b))


PROPERTIES: tuple[Property, ...] = (
    acked_records_survive, acked_records_in_isr, acked_records_exist, committed_in_isr, hw_within_isr, logs_agree_below_hw,
    log_matching, one_leader_per_epoch, isr_has_leader, isr_is_alive, reads_stay, no_duplicates, no_reordering, no_gaps,
    refusals_are_true, hw_below_log_end, everyone_holds_what_is_visible, followers_know_hw, in_sync_is_caught_up, one_leader,
    leader_hw_stays, latest_offset_stays,
)  # fmt: skip
"""Every promise, durability first."""
