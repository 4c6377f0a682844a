"""The promises of the replication family.

Predicates over the family's state, with what each means to a user of Kafka.
"""

from __future__ import annotations

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool
from acked.model.replication.common import presumes_leadership
from acked.model.replication.state import Epoch, Offset, Replica, State

_FAMILY = "the published TLA+ family of Kafka replication that these protocols restate"


def _agree_below_hw(s: State, leader: Replica, members: SetValue[Replica]) -> Bool:
    """Every member holds what the leader holds below the leader's high watermark."""
    return every_two(
        members, Offset, lambda member, o: implies(o < s.replica[leader].hw, s.log[leader].same_record_at(s.log[member], o))
    )


@promise(
    "every record below the high watermark of a (possibly stale) leader is present at the same offset on every replica "
    "in that leader's own ISR",
    _FAMILY,
    "kip320; kip101 and kip279 keep it with two leader epochs, not with three",
)
def weak_isr(s: State) -> Bool:
    """A broker that presumes leadership agrees with its own ISR below its high watermark."""
    return every(
        Replica, lambda r: implies(presumes_leadership(s, r), _agree_below_hw(s, r, s.replica[r].isr))
    )


@promise(
    "every record below the high watermark of a (possibly stale) leader is present at the same offset on every replica "
    "in the controller's ISR, so it survives the election of any of them",
    _FAMILY,
    "kip320",
)
def strong_isr(s: State) -> Bool:
    """A broker that presumes leadership agrees with the quorum's ISR below its high watermark."""
    return every(Replica, lambda r: implies(presumes_leadership(s, r), _agree_below_hw(s, r, s.quorum.isr)))


@promise(
    "the leader that clients are sent to is one of the in-sync replicas",
    f"{_FAMILY}; its text omits the case of no leader and so fails initially",
    "truncate-to-hw and all after it",
)
def leader_in_isr(s: State) -> Bool:
    """The controller's leader, if there is one, is in the ISR."""
    return every(Replica, lambda r: implies(s.quorum.leader == r, s.quorum.isr.contains(r)))


@promise(
    "no broker's high watermark lies beyond the end of its own log",
    "Kafka's definition of the high watermark; clamped to the log end on every follower fetch",
    "truncate-to-hw and all after it",
)
def hw_within_log(s: State) -> Bool:
    """No high watermark lies beyond its log's end."""
    return every(Replica, lambda r: s.replica[r].hw <= s.log[r].end)


def _hw_within(s: State, leader: Replica, members: SetValue[Replica]) -> Bool:
    return every(members, lambda member: s.replica[leader].hw <= s.log[member].end)


@promise(
    "a leader's high watermark never passes the log end of a replica that it counts as in sync",
    "corollary of WeakIsr; HW = min LEO over the ISR",
    "kip320; kip101 and kip279 keep it with two leader epochs, not with three",
)
def hw_within_own_isr(s: State) -> Bool:
    """The high watermark of a broker that presumes leadership is at most the least log end over its own ISR."""
    return every(Replica, lambda r: implies(presumes_leadership(s, r), _hw_within(s, r, s.replica[r].isr)))


@promise(
    "no broker's high watermark as leader passes the log end of a replica that the controller could elect",
    "corollary of StrongIsr; HW = min LEO over the ISR",
    "kip320",
)
def hw_within_quorum_isr(s: State) -> Bool:
    """The high watermark of a broker that presumes leadership is at most the least log end over the quorum's ISR."""
    return every(Replica, lambda r: implies(presumes_leadership(s, r), _hw_within(s, r, s.quorum.isr)))


@promise(
    "two brokers may both act as leader at once, but never in the same leader epoch, so the epoch identifies the leader "
    "that wrote a record",
    "KIP-101 and KIP-320 rest on it; the controller uses each leader epoch once",
    "truncate-to-hw and all after it",
)
def one_leader_per_epoch(s: State) -> Bool:
    """No two brokers presume leadership in one leader epoch."""
    return every_two(
        Replica, Replica,
        lambda a, b: implies(
            presumes_leadership(s, a) & presumes_leadership(s, b) & (s.replica[a].leader_epoch == s.replica[b].leader_epoch),
            a == b,
        ),
    )


@promise(
    "a log's leader epochs never fall from one record to the next, which the epoch cache and OffsetsForLeaderEpoch "
    "take for granted",
    "KIP-101",
    "kip320; a stale follower that fetches unfenced breaks it",
)
def log_epochs_ascend(s: State) -> Bool:
    """Along every log, leader epochs never fall."""
    return every_two(
        Replica, Offset, lambda r, o: implies((o > 0) & s.log[r].has(o), s.log[r].at(o - 1).epoch <= s.log[r].at(o).epoch)
    )


@promise(
    "no step takes a broker or the controller back to an older leader epoch",
    "KIP-101; a LeaderAndIsr request is ignored unless its leader epoch is higher",
    "truncate-to-hw and all after it",
)
def leader_epochs_only_grow(before: State, after: State) -> Bool:
    """No step lowers the leader epoch of a replica or of the quorum."""
    return (before.quorum.leader_epoch <= after.quorum.leader_epoch) & every(
        Replica, lambda r: before.replica[r].leader_epoch <= after.replica[r].leader_epoch
    )


@promise(
    "a record below a broker's high watermark is never removed from that broker's log or replaced in it",
    "the durability promise of acks=all, KIP-101, read at each replica by its own high watermark",
    "truncate-to-hw and kip320; kip101 and kip279 lost it",
)
def committed_records_stay(before: State, after: State) -> Bool:
    """What a replica holds below its high watermark before a step, it holds after it."""
    return every_two(
        Replica, Offset,
        lambda r, o: implies(
            (o < before.replica[r].hw) & before.log[r].has(o), before.log[r].same_record_at(after.log[r], o)
        ),
    )


@promise(
    "no broker acts in a leader epoch that the controller has not announced",
    "KIP-320",
    "truncate-to-hw and all after it",
    name="KnownEpochs",
)
def used_epochs_are_known(s: State) -> Bool:
    """No replica is in a leader epoch that the controller has not used."""
    return every_two(Replica, Epoch, lambda r, e: implies(s.replica[r].leader_epoch == e, e < s.next_leader_epoch))


PROPERTIES: tuple[Property, ...] = (
    weak_isr, strong_isr, leader_in_isr, hw_within_log, hw_within_own_isr, hw_within_quorum_isr, one_leader_per_epoch,
    log_epochs_ascend, used_epochs_are_known, leader_epochs_only_grow, committed_records_stay,
)  # fmt: skip
"""Every promise of the family, the two that matter most first."""
