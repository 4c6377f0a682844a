"""The state that all five variants of the replication family share, with its constants and types.

The family follows a published TLA+ model of Kafka replication in which followers read their leader's log directly: one
partition, a controller that changes the quorum's state atomically, LeaderAndIsr requests that may be seen late or never, and
no crashes.
"""

from __future__ import annotations

from acked.model.language.context import Constant
from acked.model.language.state import Array, Between, Log, Optional, SetOf, Struct, all_of, field
from acked.model.language.values import Id, Int

replicas = Constant("replicas", 1, 12, "brokers that hold a copy of the partition")
log_size = Constant("log_size", 1, 16, "offsets a log has room for")
max_records = Constant("max_records", 1, 16, "different records that producers send")
max_leader_epoch = Constant("max_leader_epoch", 0, 14, "the last leader epoch; epochs count from 0")

CONSTANTS = (replicas, log_size, max_records, max_leader_epoch)

BUDGETS = (
    "a leader epoch is left", "a record is left", "room in the log", "room in the follower's log", "HW below the log size",
)  # fmt: skip
"""Clauses that only keep the model finite."""


class Replica(Id, size=replicas):
    """A broker that holds a copy of the partition."""


class Offset(Int, lo=0, hi=log_size):
    """A position in the log, a log end or a high watermark."""


class Epoch(Int, lo=0, hi=max_leader_epoch, name="leader epoch"):
    """A leader epoch."""


class RecordId(Int, lo=0, hi=max_records - 1):
    """What tells one record from another."""


class Record(Struct):
    """One record of a log."""

    id = field(RecordId, "which record")
    epoch = field(Epoch, "the epoch of the leader that appended it")


class ReplicaState(Struct):
    """What one replica believes, from the last LeaderAndIsr request that it took up."""

    hw = field(Offset, "its high watermark: offsets below it are committed as far as it knows")
    leader_epoch = field(Optional(Epoch), "the newest leader epoch it knows")
    leader = field(Optional(Replica), "whom it takes for the leader")
    isr = field(SetOf(Replica), "the in-sync replicas it last heard of, or set itself as leader")


class Quorum(Struct):
    """The truth, kept by the controller and its store."""

    leader_epoch = field(Optional(Epoch), "the current leader epoch")
    leader = field(Optional(Replica), "the current leader")
    isr = field(SetOf(Replica), "the in-sync replicas")


class Request(Struct):
    """A LeaderAndIsr request; the one of epoch e exists once `next_leader_epoch` is beyond e."""

    leader = field(Optional(Replica), "the leader it announces, or none")
    isr = field(SetOf(Replica), "the in-sync replicas it announces")


class State(Struct):
    """One partition and everything that was ever said about its leadership."""

    log = field(Array(Replica, Log(Record, Offset, log_size)), "each replica's log")
    replica = field(Array(Replica, ReplicaState), "each replica's own view")
    quorum = field(Quorum, "the controller's view")
    next_record_id = field(Between(RecordId, 0, max_records), "how many records were sent so far")
    next_leader_epoch = field(Between(Epoch, 0, max_leader_epoch + 1), "how many leader epochs were used so far")
    requests = field(Array(Epoch, Request), "every LeaderAndIsr request ever sent, by its epoch")


def initial(s: State) -> None:
    """Empty logs, no leader, everyone in sync; whatever is not said is zero, none or empty."""
    s.quorum.isr = all_of(Replica)
