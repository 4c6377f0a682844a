"""The promises of `partition`: what Kafka says to its users, as predicates over its state.

Each promise with what it means to a user and under which settings Kafka makes it.
"""

from __future__ import annotations

from acked.invariants.partition.clients import (
    lacks_answers,
    lacks_consumer,
    lacks_queries,
    latest_offset_stays,
    no_duplicates,
    no_gaps,
    no_reordering,
    reads_stay,
    refusals_are_true,
)
from acked.invariants.property import Kind, Property
from acked.model.language.quantify import every, implies, some
from acked.model.language.values import Bool
from acked.model.partition.common import has_session, holds, is_true_leader, presumes_leadership
from acked.model.partition.state import ACKED, Offset, RecordId, Replica, State

# -- durability --------------------------------------------------------------------------------------------------------


def _holds_acked(s: State, r: Replica) -> Bool:
    return every(RecordId, lambda record: implies(s.producer.status[record] == ACKED, holds(s, r, record)))


def acked_records_survive(s: State) -> Bool:
    """The current leader holds every acknowledged record."""
    return every(Replica, lambda r: implies(is_true_leader(s, r), _holds_acked(s, r)))


def acked_records_in_isr(s: State) -> Bool:
    """Every member of the ISR holds every acknowledged record, so each possible clean election keeps it."""
    return every(s.controller.isr, lambda r: _holds_acked(s, r))


def acked_records_exist(s: State) -> Bool:
    """Every acknowledged record is in some broker's log, in sync or not, up or down."""
    return every(
        RecordId,
        lambda record: implies(s.producer.status[record] == ACKED, some(Replica, lambda r: holds(s, r, record))),
    )


def committed_in_isr(s: State) -> Bool:
    """Every member of the ISR holds what the current leader has below its high watermark."""

    def held(leader: Replica) -> Bool:
        hw = s.broker[leader].hw
        return every(
            s.controller.isr,
            lambda r: every(Offset, lambda o: implies(o < hw, s.log[leader].same_record_at(s.log[r], o))),
        )

    return every(Replica, lambda leader: implies(is_true_leader(s, leader), held(leader)))


def hw_within_isr(s: State) -> Bool:
    """The high watermark of the current leader is at most the least log end of the ISR."""
    return every(
        Replica,
        lambda leader: implies(
            is_true_leader(s, leader), every(s.controller.isr, lambda r: s.broker[leader].hw <= s.log[r].end)
        ),
    )


# -- agreement ---------------------------------------------------------------------------------------------------------


def logs_agree_below_hw(s: State) -> Bool:
    """Any two brokers hold the same records below both their high watermarks."""

    def agree(a: Replica, b: Replica) -> Bool:
        return every(
            Offset,
            lambda o: implies(
                (o < s.broker[a].hw) & (o < s.broker[b].hw), s.log[a].same_record_at(s.log[b], o)
            ),
        )

    return every(Replica, lambda a: every(Replica, lambda b: agree(a, b)))


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

    return every(Replica, lambda a: every(Replica, lambda b: same(a, b)))


def one_leader_per_epoch(s: State) -> Bool:
    """No two brokers presume leadership in one leader epoch."""

    def same_office(a: Replica, b: Replica) -> Bool:
        both = presumes_leadership(s, a) & presumes_leadership(s, b)
        return both & (s.broker[a].leader_epoch == s.broker[b].leader_epoch)

    return every(Replica, lambda a: every(Replica, lambda b: implies(same_office(a, b), a == b)))


def leader_hw_stays(before: State, after: State) -> Bool:
    """While a broker leads in one epoch its high watermark does not fall."""

    def leads_on(r: Replica) -> Bool:
        return presumes_leadership(before, r) & presumes_leadership(after, r)

    return every(Replica, lambda r: implies(leads_on(r), before.broker[r].hw <= after.broker[r].hw))


def isr_has_leader(s: State) -> Bool:
    """The controller's leader, if there is one, is in the ISR."""
    return every(Replica, lambda r: implies(s.controller.leader == r, s.controller.isr.contains(r)))


def isr_is_alive(s: State) -> Bool:
    """While there is a leader no member of the ISR is down, or fenced for want of a session."""
    return implies(s.controller.leader.is_some, every(s.controller.isr, lambda r: has_session(s, r)))


def hw_below_log_end(s: State) -> Bool:
    """The high watermark of a leader that holds something is below its log end: often said, and not so."""
    return every(
        Replica,
        lambda r: implies(presumes_leadership(s, r) & ~s.log[r].is_empty, s.broker[r].hw < s.log[r].end),
    )


def everyone_holds_what_is_visible(s: State) -> Bool:
    """What a leader lets consumers read is on every replica, in sync or not: often said, and not so."""
    return every(
        Replica,
        lambda leader: implies(
            is_true_leader(s, leader),
            every(
                Replica,
                lambda r: every(
                    Offset,
                    lambda o: implies(o < s.broker[leader].hw, s.log[leader].same_record_at(s.log[r], o)),
                ),
            ),
        ),
    )


def followers_know_hw(s: State) -> Bool:
    """Every in-sync follower of the current leader has the leader's high watermark: often thought, and not so."""
    return every(
        Replica,
        lambda leader: implies(
            is_true_leader(s, leader),
            every(s.controller.isr, lambda r: s.broker[r].hw == s.broker[leader].hw),
        ),
    )


def in_sync_is_caught_up(s: State) -> Bool:
    """Every in-sync replica has all that the current leader has: often thought, and not so."""
    return every(
        Replica,
        lambda leader: implies(
            is_true_leader(s, leader),
            every(s.controller.isr, lambda r: s.log[leader].end <= s.log[r].end),
        ),
    )


def one_leader(s: State) -> Bool:
    """Only one broker presumes leadership: often said, and not so."""
    return every(
        Replica,
        lambda a: every(Replica, lambda b: implies(presumes_leadership(s, a) & presumes_leadership(s, b), a == b)),
    )


# -- what consumers see ------------------------------------------------------------------------------------------------


_ACKS = "acks in the producer configuration; KAFKA-1211, KIP-101"

PROPERTIES: tuple[Property, ...] = (
    Property(
        "AckedRecordsSurvive",
        Kind.STATE,
        acked_records_survive,
        "an acknowledged record is in the log of every later leader",
        _ACKS,
        "acks=all, min.insync.replicas of at least 2, clean elections; never promised with acks=0 and acks=1",
    ),
    Property(
        "AckedRecordsInIsr",
        Kind.STATE,
        acked_records_in_isr,
        "an acknowledged record is on every in-sync replica, so the next leader has it, whichever of them is elected",
        _ACKS,
        "acks=all; never promised with acks=1",
    ),
    Property(
        "AckedRecordsExist",
        Kind.STATE,
        acked_records_exist,
        "an acknowledged record is on the disk of some broker, so an operator could still bring it back",
        _ACKS,
        "as for AckedRecordsSurvive",
    ),
    Property(
        "CommittedInIsr",
        Kind.STATE,
        committed_in_isr,
        "what consumers can read from the leader is on every in-sync replica",
        "the definition of the high watermark; KIP-101, KIP-320",
        "2.5, clean elections",
    ),
    Property(
        "HwWithinIsr",
        Kind.STATE,
        hw_within_isr,
        "the high watermark never passes the log end of an in-sync replica",
        "the definition of the high watermark: the least log end of the ISR",
        "2.5, crashes that lose nothing",
    ),
    Property(
        "LogsAgreeBelowHw",
        Kind.STATE,
        logs_agree_below_hw,
        "two replicas never hold different records at an offset below both their high watermarks",
        "KIP-101, KIP-279, KIP-320",
        "2.5, clean elections",
    ),
    Property(
        "LogMatching",
        Kind.STATE,
        log_matching,
        "two records with the same offset and leader epoch are the same record, on all replicas",
        "KIP-101: what OffsetsForLeaderEpoch takes for granted",
        "0.11",
    ),
    Property(
        "OneLeaderPerEpoch",
        Kind.STATE,
        one_leader_per_epoch,
        "two brokers may both act as leader, but never in the same leader epoch",
        "KIP-101, KIP-320",
        "0.8",
    ),
    Property(
        "IsrHasLeader",
        Kind.STATE,
        isr_has_leader,
        "the leader is one of the in-sync replicas",
        "the Kafka documentation, design: replication",
        "0.8",
    ),
    Property(
        "IsrIsAlive",
        Kind.STATE,
        isr_is_alive,
        "a replica that is down or fenced does not count as in sync while there is a leader",
        "KIP-841",
        "3.3 with KRaft",
    ),
    Property(
        "ReadsStay",
        Kind.STATE,
        reads_stay,
        "a record that a consumer has read stays at its offset, across changes of leader",
        "the definition of the high watermark; KAFKA-15583",
        "3.7, clean elections",
        lacks=lacks_consumer,
    ),
    Property(
        "NoDuplicates",
        Kind.STATE,
        no_duplicates,
        "consumers get each record once",
        "KIP-98",
        "idempotence, and no restart of the producer",
    ),
    Property(
        "NoReordering",
        Kind.STATE,
        no_reordering,
        "consumers get the records of a producer in the order in which it sent them",
        "max.in.flight.requests.per.connection; KIP-98, KAFKA-5494",
        "one request in flight, or idempotence",
    ),
    Property(
        "NoGaps",
        Kind.STATE,
        no_gaps,
        "consumers get a record only after every record that its producer was given before it",
        "KIP-98, KIP-360, KAFKA-15591",
        "with one request in flight and retries",
    ),
    Property(
        "RefusalsAreTrue",
        Kind.STATE,
        refusals_are_true,
        "a record that was reported to the application as failed is not delivered to consumers",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND and time-outs in the producer's documentation",
        "never promised",
        lacks=lacks_answers,
    ),
    Property(
        "HwBelowLogEnd",
        Kind.STATE,
        hw_below_log_end,
        "the high watermark is always smaller than the log end offset: a common sentence",
        "articles about replication",
        "never: the two are equal whenever the ISR has caught up",
    ),
    Property(
        "EveryoneHoldsWhatIsVisible",
        Kind.STATE,
        everyone_holds_what_is_visible,
        "a record is readable only once every follower has it: a common sentence",
        "articles about replication",
        "never: only the in-sync replicas count",
    ),
    Property(
        "FollowersKnowHw",
        Kind.STATE,
        followers_know_hw,
        "in-sync replicas agree on the high watermark: a common idea",
        "articles about replication",
        "never: a follower learns of an advance with its next fetch",
    ),
    Property(
        "InSyncIsCaughtUp",
        Kind.STATE,
        in_sync_is_caught_up,
        "an in-sync replica holds all that the leader holds: a common idea",
        "articles about replication",
        "never: it holds all that is committed, and was caught up not long ago",
    ),
    Property(
        "OneLeader",
        Kind.STATE,
        one_leader,
        "a partition has one leader at any time: a common sentence",
        "articles about replication",
        "never: there is one leader per epoch, and a deposed one may not know yet",
    ),
    Property(
        "LeaderHwStays",
        Kind.STEP,
        leader_hw_stays,
        "while a broker leads, what it lets consumers read does not shrink",
        "the high watermark never decreases on a leader",
        "0.8",
    ),
    Property(
        "LatestOffsetStays",
        Kind.STEP,
        latest_offset_stays,
        "a client that asks for the latest offset twice does not get a lower one the second time",
        "KIP-207, KAFKA-2334, KIP-320",
        "2.2 with clients of 2.1, clean elections",
        lacks=lacks_queries,
    ),
)
"""Every promise, durability first."""
