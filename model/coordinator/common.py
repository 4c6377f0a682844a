"""The vocabulary of `coordinator`: who leads, what a view says, writing to the log, and what is gone with a coordinator."""

from __future__ import annotations

from acked.base.frozen import frozen
from acked.model.coordinator.settings import (
    brokers,
    delays_markers,
    min_isr,
    queues_requests,
    skips,
    some_rebalances,
    tells_loaded,
    transactions,
)
from acked.model.coordinator.state import (
    ABSENT,
    ACTIVE,
    COMMITTED,
    GENERATION,
    IN_TXN,
    LOADING,
    MARKED_ABORT,
    MARKED_COMMIT,
    TOMBSTONE,
    Broker,
    Commit,
    Entry,
    Epoch,
    Generation,
    Kind,
    Offset,
    Phase,
    State,
)
from acked.model.language.action import require
from acked.model.language.context import literal
from acked.model.language.quantify import each, every, greatest, implies, ite, named, truth
from acked.model.language.telling import Role
from acked.model.language.values import Bool

CONSUMER = Role("consumer")
PRODUCER = Role("producer")

# -- who leads --------------------------------------------------------------------------------------------------------


def leads(s: State, r: Broker) -> Bool:
    """The broker is the leader of the epoch that it knows."""
    epoch = s.broker[r].epoch
    return (epoch > 0) & (s.leader[epoch] == r)


def leads_newest(s: State, r: Broker) -> Bool:
    """The broker is the leader of the newest epoch, and knows."""
    return leads(s, r) & (s.broker[r].epoch == s.epoch)


def is_told(s: State, r: Broker) -> Bool:
    """The broker's coordinator was told of every epoch that the broker knows."""
    return every(Epoch, lambda e: ~s.broker[r].duties[e])


def is_asked(s: State, r: Broker) -> Bool:
    """The broker's coordinator is active, and requests reach it: it was told of what came before them."""
    is_active = s.broker[r].phase == ACTIVE
    return is_active & is_told(s, r) if queues_requests.on else is_active


def agree_until(s: State, a: Broker, b: Broker, until: Offset) -> Bool:
    """Two logs hold the same records below an offset."""
    return every(Offset, lambda o: implies(o < until, s.log[a].same_record_at(s.log[b], o)))


def agreement(s: State, a: Broker, b: Broker) -> Offset:
    """The greatest offset up to which two logs hold the same records (KIP-101, KIP-279: what a follower truncates to)."""
    return greatest(Offset, lambda o: agree_until(s, a, b, o))


def has_caught_up(s: State, r: Broker, leader: Broker) -> Bool:
    """The replica knows the newest epoch, and its log is the leader's."""
    end = s.log[leader].end
    return (s.broker[r].epoch == s.epoch) & (s.log[r].end == end) & agree_until(s, r, leader, end)


def has_enough(s: State) -> Bool:
    """As many replicas are in sync as min.insync.replicas asks for (`Partition.isUnderMinIsr`)."""
    return s.isr.size >= min(min_isr.value, brokers.value)


# -- what a view says -------------------------------------------------------------------------------------------------


@frozen
class Offsets:
    """A group's state: its offset, the one that is pending in a transaction, and its generation."""

    value: Commit
    pending: Commit
    generation: Generation


def _end_txn(value: Commit, pending: Commit, commits: Bool) -> Commit:
    """A marker's offset takes the place of an earlier one (`OffsetMetadataManager.replayEndTransactionMarker`, 4.3.1)."""
    return ite(commits & (pending > value), pending, value)


def offsets_of(s: State, r: Broker, until: Offset, of_log: bool = False) -> Offsets:
    """What the first records of a coordinator's view make, or of its log (`OffsetMetadataManager.replay`)."""
    mine, view = s.broker[r], s.log[r] if of_log else s.view[r]
    value, pending, generation = Commit(literal(0)), Commit(literal(0)), Generation(literal(0))
    for o in each(Offset)[:-1]:
        entry = view.at(o)
        counts = view.has(o) & (o < until)
        if skips.on:
            counts = counts & ~((o >= mine.skipped_from) & (o < mine.skipped_to))
        value = ite(counts & (entry.kind == COMMITTED), entry.commit, value)
        if transactions.on:
            in_place = counts & (mine.late != o) if delays_markers.on else counts
            commits, aborts = in_place & (entry.kind == MARKED_COMMIT), in_place & (entry.kind == MARKED_ABORT)
            value = _end_txn(value, pending, commits)
            pending = ite(counts & (entry.kind == IN_TXN), entry.commit, ite(commits | aborts, 0, pending))
        value = ite(counts & (entry.kind == TOMBSTONE), 0, value)
        pending = ite(counts & (entry.kind == TOMBSTONE), 0, pending)
        if some_rebalances.on:
            generation = ite(counts & (entry.kind == GENERATION), entry.generation, generation)
        if delays_markers.on:
            is_now = mine.late.is_some & (mine.applied == o + 1) & counts
            value = _end_txn(value, pending, is_now & (view.at(mine.late.value).kind == MARKED_COMMIT))
            pending = ite(is_now, 0, pending)
    return Offsets(value, pending, generation)


def newest_offsets(s: State, r: Broker) -> Offsets:
    """What a coordinator has in memory, committed or not."""
    return offsets_of(s, r, s.view[r].end)


def is_owner(s: State, r: Broker) -> Bool:
    """The broker leads the newest epoch, and its coordinator answers."""
    return leads_newest(s, r) & is_asked(s, r)


def tells(s: State, r: Broker) -> Bool:
    """The owner answers who waits for a stable offset: all that it has is committed, and nothing is pending."""
    settled = s.broker[r].committed == s.view[r].end
    return is_owner(s, r) & settled & (newest_offsets(s, r).pending == 0)


# -- writing ----------------------------------------------------------------------------------------------------------


def is_in_sync(s: State, r: Broker) -> Bool:
    """What the coordinator takes for written is where the log ends."""
    return s.broker[r].written == s.log[r].end


def record(kind: Kind | str, commit: Commit | int = 0, generation: Generation | int = 0) -> Entry:
    """A record of the partition."""
    return Entry(kind=kind, commit=commit, generation=generation)


def require_writes(s: State, r: Broker) -> None:
    """The coordinator is active on a leader, and nothing that it holds back is before what it is to write."""
    mine = s.broker[r]
    require("is active, and asked", is_asked(s, r))
    require("leads", leads(s, r))
    require("is in step with the log", is_in_sync(s, r))
    require("holds nothing back", mine.written == s.view[r].end)
    require("the log has room", ~s.log[r].is_full)


def write(s: State, r: Broker, entry: Entry) -> None:
    """Replays a record and appends it to the log (`CoordinatorContext.append`, `flushCurrentBatch`)."""
    s.view[r].append(entry)
    flush_view(s, r)


def flush_view(s: State, r: Broker) -> None:
    """Appends what is held back to the log."""
    s.log[r].copy(s.view[r], s.view[r].end)
    s.broker[r].written = s.view[r].end


# -- what is gone -----------------------------------------------------------------------------------------------------


def clear_coordinator(s: State, r: Broker, clears: Bool | None = None) -> None:
    """A coordinator's memory is dropped, and with it whatever waits for an answer (`CoordinatorContext.unload`)."""
    clears = truth(True) if clears is None else clears
    mine = s.broker[r]
    s.view[r].truncate(ite(clears, 0, s.view[r].end))
    mine.phase = ite(clears, named(Phase, ABSENT), mine.phase)
    mine.own = ite(clears, 0, mine.own)
    mine.written = ite(clears, 0, mine.written)
    mine.committed = ite(clears, 0, mine.committed)
    mine.listens = ~clears & mine.listens
    if tells_loaded.on:
        mine.loaded = ite(clears, 0, mine.loaded)
    if skips.on:
        mine.skipped_from = ite(clears, 0, mine.skipped_from)
        mine.skipped_to = ite(clears, 0, mine.skipped_to)
    if delays_markers.on:
        mine.late = ite(clears, None, mine.late)
        mine.applied = ite(clears, None, mine.applied)


def begin_load(s: State, r: Broker, epoch: Epoch, begins: Bool | None = None) -> None:
    """A new coordinator, without any record, waits for its load (`CoordinatorContext.transitionTo(LOADING)`)."""
    begins = truth(True) if begins is None else begins
    clear_coordinator(s, r, begins)
    mine = s.broker[r]
    mine.phase = ite(begins, named(Phase, LOADING), mine.phase)
    mine.own = ite(begins, epoch, mine.own)
    mine.loads[epoch] = mine.loads[epoch] | begins
