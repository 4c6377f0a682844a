"""A group's offsets: commits, transactions and their markers, generations, and expiry.

Sources: `OffsetMetadataManager` and `GroupMetadataManager` of 4.3.1, `GroupMetadata.removeExpiredOffsets` of 2.1 and 3.9.
"""

from __future__ import annotations

from acked.model.coordinator.common import (
    CONSUMER,
    PRODUCER,
    begin_load,
    has_caught_up,
    has_enough,
    is_asked,
    is_in_sync,
    leads,
    leads_newest,
    newest_offsets,
    record,
    require_writes,
    tells,
    write,
)
from acked.model.coordinator.coordinating import end_txn
from acked.model.coordinator.settings import (
    asks,
    commits,
    delays_markers,
    expiry,
    holds_back,
    keeps_default_timestamps,
    rebalances,
    some_rebalances,
    spares_rebalancing,
    transactions,
)
from acked.model.coordinator.state import (
    ABORTING,
    COMMITTED,
    COMMITTING,
    EMPTY,
    GENERATION,
    IN_TXN,
    MARKED_ABORT,
    MARKED_COMMIT,
    NO_TXN,
    OPEN,
    REBALANCING,
    STABLE,
    TOMBSTONE,
    Broker,
    Entry,
    Kind,
    Offset,
    State,
    TxnPhase,
)
from acked.model.language.action import action, require
from acked.model.language.quantify import every, implies, ite, named, some, truth
from acked.model.language.telling import Telling, Tells
from acked.model.language.values import Bool

# -- commits ----------------------------------------------------------------------------------------------------------


def _record_commit(s: State) -> None:
    s.sent = s.sent + 1
    if expiry.on:
        s.old = False


def _require_member(s: State, broker: Broker) -> None:
    """Who commits is a member of the newest generation, as the coordinator has it (`ConsumerGroup.validateOffsetCommit`)."""
    if expiry.on:
        require("the group has members", s.group == STABLE)
    if some_rebalances.on:
        require("the coordinator has its generation", newest_offsets(s, broker).generation == s.generation)


def _says_commit(t: Telling) -> str:
    held = t.after.broker[t.broker].written != len(t.after.view[t.broker].records)
    how = "holds it back in a batch" if held else f"appends it at offset {t.before.log[t.broker].end}"
    return f"the consumer commits offset {t.after.sent} at broker {t.broker}, whose coordinator {how}"


COMMIT = (Tells(CONSUMER, "broker", lambda t: f"commit {t.after.sent}"),)


@action(says=_says_commit, actor="broker", messages=COMMIT)
def commit(s: State, broker: Broker) -> None:
    """A consumer commits an offset (`OffsetMetadataManager.commitOffset`); the answer waits for the high watermark."""
    require("an offset is left", s.sent < commits)
    _require_member(s, broker)
    entry = record(COMMITTED, s.sent + 1)
    if holds_back.on:
        require("is active, and asked", is_asked(s, broker))
        require("the view has room", ~s.view[broker].is_full)
        s.view[broker].append(entry)
    else:
        require_writes(s, broker)
        write(s, broker, entry)
    _record_commit(s)


@action(
    says=lambda t: (
        f"the consumer commits offset {t.after.sent} at broker {t.broker}, whose coordinator appends it at offset "
        f"{t.before.log[t.broker].end} where it took offset {t.before.broker[t.broker].written} for the end, and loads anew"
    ),
    actor="broker", messages=COMMIT,
)
def commit_out_of_step(s: State, broker: Broker) -> None:
    """A record is appended elsewhere than the coordinator thought: it fails and loads again (`flushCurrentBatch`)."""
    require("an offset is left", s.sent < commits)
    mine = s.broker[broker]
    require("is active, and asked", is_asked(s, broker))
    require("leads", leads(s, broker))
    require("is out of step with the log", ~is_in_sync(s, broker))
    require("the log has room", ~s.log[broker].is_full)
    _require_member(s, broker)
    s.log[broker].append(record(COMMITTED, s.sent + 1))
    begin_load(s, broker, mine.epoch)
    _record_commit(s)


@action(
    says=lambda t: f"a consumer asks broker {t.broker} where to go on, and is told offset {t.after.told}",
    when=lambda: asks.on, actor="broker",
    messages=(Tells(CONSUMER, "broker", "OffsetFetch"), Tells("broker", CONSUMER, lambda t: f"offset {t.after.told}")),
)
def fetch_offset(s: State, broker: Broker) -> None:
    """A fetch of a stable offset is a write without records, which waits for those before it (`fetchOffsets`, 4.3.1)."""
    require("answers", tells(s, broker))
    require("it is news", newest_offsets(s, broker).value != s.told)
    s.told = newest_offsets(s, broker).value


# -- transactions -----------------------------------------------------------------------------------------------------


@action(
    says=lambda t: f"the producer commits offset {t.after.sent} in a transaction at broker {t.broker}",
    when=lambda: transactions.on, actor="broker", messages=(Tells(PRODUCER, "broker", lambda t: f"txn {t.after.sent}"),),
)
def commit_in_txn(s: State, broker: Broker) -> None:
    """A producer sends an offset into a transaction (`OffsetMetadataManager.commitTransactionalOffset`)."""
    require("an offset is left", s.sent < commits)
    require("no transaction is under way", s.txn == NO_TXN)
    _require_member(s, broker)
    require_writes(s, broker)
    write(s, broker, record(IN_TXN, s.sent + 1))
    s.txn = OPEN
    s.txn_commit = s.sent + 1
    _record_commit(s)


@action(
    says=lambda t: f"the transaction coordinator decides to {'commit' if t.after.txn == COMMITTING else 'abort'}",
    when=lambda: transactions.on, actor=PRODUCER,
)
def decide(s: State, commits_it: Bool) -> None:
    """The producer ends its transaction, or is fenced; it commits only what it knows to be there (`handleEndTransaction`)."""
    require("a transaction is under way", s.txn == OPEN)
    require("it is known to be there, or aborted", s.txn_acked | ~commits_it)
    s.aborted = ite(commits_it, s.aborted, s.txn_commit)
    s.txn = ite(commits_it, named(TxnPhase, COMMITTING), named(TxnPhase, ABORTING))


def _says_marker(t: Telling) -> str:
    what = "commits" if t.before.txn == COMMITTING else "aborts"
    when = ""
    if getattr(t.after.broker[t.broker], "late", None) is not None:
        when = "; it is to be applied later"
    return f"the marker that {what} is appended at broker {t.broker} at offset {t.before.log[t.broker].end}{when}"


@action(says=_says_marker, when=lambda: transactions.on, actor="broker")
def write_marker(s: State, broker: Broker) -> None:
    """A marker is appended and applied (`CoordinatorContext.completeTransaction`), or applied later (before 4.0)."""
    mine = s.broker[broker]
    require("it is decided", (s.txn == COMMITTING) | (s.txn == ABORTING))
    require_writes(s, broker)
    require("its offset is pending", newest_offsets(s, broker).pending == s.txn_commit)
    at = s.view[broker].end
    if delays_markers.on:
        require("no marker waits", mine.late.is_none)
        require("it was not appended before", ~_has_marker(s, broker))
        mine.late = at
    commits_it = s.txn == COMMITTING
    write(s, broker, record(ite(commits_it, named(Kind, MARKED_COMMIT), named(Kind, MARKED_ABORT)), s.txn_commit))


def _has_marker(s: State, broker: Broker) -> Bool:
    view = s.view[broker]

    def is_it(o: Offset) -> Bool:
        entry: Entry = view.at(o)
        is_marker = (entry.kind == MARKED_COMMIT) | (entry.kind == MARKED_ABORT)
        return view.has(o) & is_marker & (entry.commit == s.txn_commit)

    return some(Offset, is_it)


@action(
    says=lambda t: f"the coordinator of broker {t.broker} has nothing pending for the marker, and answers that it is done",
    when=lambda: transactions.on, actor="broker",
)
def answer_marker(s: State, broker: Broker) -> None:
    """A marker that finds nothing pending changes nothing (`replayEndTransactionMarker`), and is not in the log here.

    It is written all the same, and answered once every replica in sync has it (`CoordinatorContext.completeTransaction`).
    """
    mine = s.broker[broker]
    require("it is decided", (s.txn == COMMITTING) | (s.txn == ABORTING))
    require_writes(s, broker)
    require("nothing is pending", newest_offsets(s, broker).pending != s.txn_commit)
    require("all of it is committed", mine.committed == mine.written)
    require("it is the newest leader", leads_newest(s, broker))
    require("as many are in sync as must be", has_enough(s))
    require("they have all that it has", every(Broker, lambda r: implies(s.isr.contains(r), has_caught_up(s, r, broker))))
    end_txn(s, truth(True))


# -- generations ------------------------------------------------------------------------------------------------------


@action(
    says=lambda t: f"the group gets a new generation at broker {t.broker}: its partition goes from one member to another",
    when=lambda: some_rebalances.on, actor="broker",
)
def rebalance(s: State, broker: Broker) -> None:
    """A coordinator writes a new generation; members hear of it when that is committed (`ConsumerGroup`)."""
    newest = newest_offsets(s, broker).generation
    require("a generation is left", newest < rebalances)
    require_writes(s, broker)
    write(s, broker, record(GENERATION, generation=newest + 1))


# -- expiry -----------------------------------------------------------------------------------------------------------


@action(says=lambda t: "the last member leaves the group", when=lambda: expiry.on, actor=CONSUMER)
def leave(s: State) -> None:
    """The group is empty, and its offsets are kept for offsets.retention.minutes."""
    require("the group has members", s.group == STABLE)
    s.group = EMPTY
    s.left = False


@action(says=lambda t: "members join the group, which rebalances", when=lambda: expiry.on, actor=CONSUMER)
def join(s: State) -> None:
    """Members have joined and have not fetched the group's offsets so far."""
    require("the group is empty", s.group == EMPTY)
    s.group = REBALANCING
    s.left = False


@action(says=lambda t: "the rebalance ends", when=lambda: expiry.on, actor=CONSUMER)
def settle(s: State) -> None:
    """The members have their partitions."""
    require("the group rebalances", s.group == REBALANCING)
    s.group = STABLE


@action(says=lambda t: "offsets.retention.minutes pass", when=lambda: expiry.on, actor=CONSUMER)
def let_time_pass(s: State) -> None:
    """Nobody commits for offsets.retention.minutes, and the group stays as it is."""
    require("they have not passed", ~s.old | ((s.group == EMPTY) & ~s.left))
    s.old = True
    s.left = s.group == EMPTY


def may_expire(s: State) -> Bool:
    """The group has been empty for offsets.retention.minutes (KIP-211)."""
    return (s.group == EMPTY) & s.left


@action(
    says=lambda t: f"the coordinator of broker {t.broker} expires the group's offset", when=lambda: expiry.on, actor="broker",
)
def expire(s: State, broker: Broker) -> None:
    """A coordinator removes an offset by a tombstone (`cleanupExpiredOffsets`, `removeExpiredOffsets`)."""
    offsets, mine = newest_offsets(s, broker), s.broker[broker]
    require("it has one", (offsets.value > 0) & (offsets.pending == 0))
    may = may_expire(s)
    if not spares_rebalancing.on:
        may = may | ((s.group == REBALANCING) & s.old)
    if not keeps_default_timestamps.on:

        def is_loaded(o: Offset) -> Bool:
            entry = s.view[broker].at(o)
            return (o < mine.loaded) & (entry.kind == COMMITTED) & (entry.commit == offsets.value)

        may = may | ((s.group == EMPTY) & some(Offset, is_loaded))
    require("it is expired", may)
    require_writes(s, broker)
    s.acked = ite(may_expire(s), 0, s.acked)
    s.expired = ite(may_expire(s) & (offsets.value > s.expired), offsets.value, s.expired)
    write(s, broker, record(TOMBSTONE))
