"""The state of `coordinator`: replicas of a partition of `__consumer_offsets`, coordinators on them, and what clients know.

A coordinator's state is what replaying records makes of them, so it is kept as the records that it has replayed, its
*view*: a snapshot of it is a beginning of the view, and rolling back drops its end. What was left out, and why that is
sound, is in `docs/coordinators.md`. A part that a question turns off has no field.
"""

from __future__ import annotations

from acked.model.coordinator.settings import (
    asks,
    brokers,
    commits,
    delays_markers,
    expiry,
    lost_disks,
    max_epoch,
    rebalances,
    records,
    skips,
    some_disks,
    some_rebalances,
    tells_loaded,
    transactions,
)
from acked.model.language.state import Array, Log, Optional, Present, SetOf, Struct, all_of, field
from acked.model.language.values import Bool, Enum, Id, Int


class Broker(Id, size=brokers):
    """A replica of the partition, on which a coordinator may run."""


class Offset(Int, lo=0, hi=records):
    """An offset of the partition, a log end or a high watermark."""


class Epoch(Int, lo=0, hi=max_epoch):
    """A leader epoch; 0 where none is known."""


class Commit(Int, lo=0, hi=commits):
    """An offset that the group commits, in the order in which they are sent; 0: none."""


class Generation(Int, lo=0, hi=rebalances):
    """A generation (classic group) or epoch (KIP-848) of the group."""


class Kind(Enum, names=("offset", "in transaction", "commit", "abort", "tombstone", "generation")):
    """What a record of the partition says."""


class Phase(Enum, names=("absent", "loading", "active", "failed")):
    """What a broker's coordinator of the partition is about (`CoordinatorRuntime.CoordinatorState`)."""


class TxnPhase(Enum, names=("none", "open", "committing", "aborting")):
    """How far the producer's transaction is, as the transaction coordinator knows it."""


class GroupPhase(Enum, names=("stable", "empty", "rebalancing")):
    """Whether the group has members."""


class Disks(Int, lo=0, hi=lost_disks):
    """How many disks may still be lost."""


COMMITTED, IN_TXN, MARKED_COMMIT, MARKED_ABORT, TOMBSTONE, GENERATION = Kind.names
"""Values of `Kind`: an offset; one in a transaction; the marker that commits it, or aborts it; no offset; a generation."""

ABSENT, LOADING, ACTIVE, FAILED = Phase.names
"""Values of `Phase`: there is none; reads the log; answers; could not read it."""

NO_TXN, OPEN, COMMITTING, ABORTING = TxnPhase.names
"""Values of `TxnPhase`: there is none; offsets were sent; it is decided to be committed, or aborted, and markers are sent."""

STABLE, EMPTY, REBALANCING = GroupPhase.names
"""Values of `GroupPhase`: members have their partitions; there are no members; members have joined and wait."""


class Entry(Struct):
    """A record of the partition."""

    kind = field(Kind, "what it says")
    commit = field(Commit, "of an offset or a marker: which")
    generation = field(Present(Generation, some_rebalances), "of a generation: which")


class BrokerState(Struct):
    """A replica, and the coordinator on it. Of these only the log lasts."""

    epoch = field(Epoch, "the newest leader epoch that it knows")
    hw = field(Offset, "its high watermark")
    phase = field(Phase, "its coordinator")
    own = field(Epoch, "the leader epoch for which the coordinator's load was begun")
    written = field(Offset, "how much of the view is in the log, as far as the coordinator knows (lastWrittenOffset)")
    committed = field(Offset, "how much of it is below the high watermark (lastCommittedOffset)")
    listens = field(Bool, "the coordinator is told of the high watermark")
    duties = field(Array(Epoch, Bool), "leader epochs of which the coordinator is still to be told")
    loads = field(Array(Epoch, Bool), "leader epochs whose loads the loader has not ended")
    loaded = field(Present(Offset, tells_loaded), "how much of the view was loaded")
    skipped_from = field(Present(Offset, skips), "records from here on were left out")
    skipped_to = field(Present(Offset, skips), "up to here; 0: none was")
    late = field(Present(Optional(Offset), delays_markers), "a marker that was not applied when it was appended")
    applied = field(Present(Optional(Offset), delays_markers), "how long the view was when it was")


class State(Struct):
    """A partition of `__consumer_offsets` with its coordinators, a group that commits offsets there, and a producer."""

    log = field(Array(Broker, Log(Entry, Offset, records)), "each replica's log")
    view = field(Array(Broker, Log(Entry, Offset, records)), "the records that each coordinator has replayed")
    broker = field(Array(Broker, BrokerState), "each broker")
    epoch = field(Epoch, "the controller's: the newest leader epoch")
    leader = field(Array(Epoch, Optional(Broker)), "who leads in each epoch")
    isr = field(SetOf(Broker), "the in-sync replicas, as the controller has them")
    sent = field(Commit, "how many commits were sent")
    acked = field(Commit, "the last commit that was acknowledged")
    told = field(Present(Commit, asks), "the last offset that a consumer was told")
    generation = field(Present(Generation, some_rebalances), "the newest generation that a member knows")
    txn = field(Present(TxnPhase, transactions), "the producer's transaction")
    txn_commit = field(Present(Commit, transactions), "the offset in it")
    txn_acked = field(Present(Bool, transactions), "it was acknowledged that the offset is in it")
    aborted = field(Present(Commit, transactions), "the offset that was aborted last")
    group = field(Present(GroupPhase, expiry), "the group's members")
    old = field(Present(Bool, expiry), "offsets.retention.minutes have passed since the last commit")
    left = field(Present(Bool, expiry), "and since the group was left by its last member")
    expired = field(Present(Commit, expiry), "the last commit that could be expired, and was")
    disks_left = field(Present(Disks, some_disks), "disks that may still be lost")


def initial(s: State) -> None:
    """Empty logs, nobody leads; whatever is not said is zero, none or empty."""
    s.isr = all_of(Broker)
    if some_disks.on:
        s.disks_left = lost_disks
