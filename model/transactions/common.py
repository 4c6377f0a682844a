"""The vocabulary of `transactions`: predicates and updates that initialising, producing, ending and marking share.

What the coordinator accepts, what a partition's leader accepts and appends, what read_committed shows, and how transactions
are prepared and completed. Sources: `TransactionCoordinator`, `TransactionMetadata`, `ProducerAppendInfo`, `UnifiedLog`.
"""

from __future__ import annotations

from acked.model.language.action import require
from acked.model.language.context import literal
from acked.model.language.quantify import each, every, ite, some, truth
from acked.model.language.state import none_of, remembered
from acked.model.language.values import Bool, Int
from acked.model.ranks import ranks
from acked.model.transactions import settings
from acked.model.transactions.state import (
    CoordinatorEpoch,
    Entry,
    Epoch,
    Offset,
    Partition,
    Position,
    Producer,
    Sequence,
    State,
    Txn,
    TxnState,
    txn_state,
)

# -- the coordinator --------------------------------------------------------------------------------------------------


def is_state(s: State, value: int) -> Bool:
    """The coordinator's state of the id is this one."""
    return s.coordinator.state == value


def is_preparing(s: State) -> Bool:
    """A transaction is decided, and its markers are on their way."""
    return is_state(s, TxnState.PREPARE_COMMIT) | is_state(s, TxnState.PREPARE_ABORT)


def is_complete(s: State) -> Bool:
    """No transaction is open, and none waits for its markers."""
    return is_state(s, TxnState.EMPTY) | is_state(s, TxnState.COMPLETE_COMMIT) | is_state(s, TxnState.COMPLETE_ABORT)


def may_act(s: State) -> Bool:
    """The coordinator may do something because of what it has loaded: without the rule in any case."""
    return ~s.coordinator.differs if settings.waits.on else truth(True)


def settle(s: State, writes: Bool | None = None) -> None:
    """What the coordinator writes is committed, and with it all that was in its log before."""
    if settings.fails.on:
        other = s.coordinator.other
        differs = s.coordinator.differs & ~(truth(True) if writes is None else writes)
        s.coordinator.differs = differs
        other.state = ite(differs, other.state, TxnState.EMPTY)
        other.epoch = ite(differs, other.epoch, -1)
        other.last_epoch = ite(differs, other.last_epoch, -1)
        other.partitions = ite(differs, other.partitions, none_of(Partition))
        other.rotates = differs & other.rotates


def may_add(s: State, of: Epoch) -> Bool:
    """The coordinator adds partitions for this epoch (`handleAddPartitionsToTransaction`)."""
    return (of == s.coordinator.epoch) & ~is_preparing(s) & may_act(s)


def add_partition(s: State, p: Partition) -> None:
    """The partition belongs to the transaction, which is open from its first one on; no record says so twice."""
    settle(s, ~s.coordinator.partitions.contains(p))
    s.coordinator.state = TxnState.ONGOING
    s.coordinator.partitions = s.coordinator.partitions.add(p)


def is_last(of: Epoch) -> Bool:
    """It is the last epoch of its producer id that a client is given (`isProducerEpochExhausted`)."""
    return _is_any(of, 0)


def is_beyond(of: Epoch) -> Bool:
    """It is the one after that, which is for the coordinator alone (`Short.MAX_VALUE`); one more is the next id's first."""
    return _is_any(of, 1)


def _is_any(of: Epoch, more: int) -> Bool:
    last = settings.last_epoch.value
    found = truth(False)
    if settings.exhausts.on:
        for value in range(last + more, settings.highest_epoch.value + 1, last + 2):
            found = found | (of == value)
    return found


def next_given(of: Epoch) -> Epoch:
    """The next epoch that a client may be given, under a new producer id if need be (`prepareProducerIdRotation`)."""
    return ite(is_last(of), of + 2, of + 1) if settings.exhausts.on else of + 1


def told_epoch(s: State) -> Epoch:
    """The epoch that a client is told with the end of its transaction (`prepareComplete`)."""
    coordinator = s.coordinator
    if not settings.exhausts.on:
        return coordinator.epoch
    rotates = coordinator.rotates if settings.may_not_rotate.on else truth(True)
    return ite(is_beyond(coordinator.epoch) & rotates, coordinator.epoch + 1, coordinator.epoch)


def prepare(s: State, commits: Bool) -> None:
    """The end is decided and committed in the coordinator's log; every partition is to get a marker."""
    settle(s)
    coordinator = s.coordinator
    coordinator.state = ite(commits, txn_state(TxnState.PREPARE_COMMIT), TxnState.PREPARE_ABORT)
    coordinator.awaiting = coordinator.partitions


def fence(s: State) -> None:
    """An open transaction is aborted under an epoch that nobody is told (`prepareFenceProducerEpoch`).

    In 4.0.0 `endTransaction` writes the epoch of the fence into the metadata, to which `prepareAbortOrCommit` adds one more.
    """
    coordinator = s.coordinator
    require_fenceable(s)
    coordinator.rotates = False
    coordinator.epoch = coordinator.epoch + settings.fence_takes.value
    coordinator.last_epoch = -1
    prepare(s, truth(False))
    renumber_epochs(s)


def require_fenceable(s: State) -> None:
    """To 4.2 nothing comes after the epoch that no client is given (`prepareFenceProducerEpoch`, IllegalStateException)."""
    if settings.may_not_rotate.on:
        require("an epoch is left", ~is_beyond(s.coordinator.epoch))


def acknowledge(s: State, p: Partition) -> None:
    """A partition has its marker; with the last one the transaction is complete."""
    coordinator = s.coordinator
    left = coordinator.awaiting.remove(p)
    settle(s, left.is_empty)
    completed = ite(is_state(s, TxnState.PREPARE_COMMIT), txn_state(TxnState.COMPLETE_COMMIT), TxnState.COMPLETE_ABORT)
    if settings.exhausts.on:
        coordinator.epoch = ite(left.is_empty, told_epoch(s), coordinator.epoch)
        coordinator.rotates = ~left.is_empty & coordinator.rotates if settings.may_not_rotate.on else truth(False)
    coordinator.state = ite(left.is_empty, completed, coordinator.state)
    coordinator.partitions = ite(left.is_empty, none_of(Partition), coordinator.partitions)
    coordinator.awaiting = left


def renumber_coordinators(s: State) -> None:
    """Of coordinator epochs it is kept what can matter: who is ahead of the late marker, unless the question bounds them.

    A marker that is not late has the coordinator's own epoch, and no partition has a newer one. So the only comparison that
    can go either way is that of the late marker with its partition, now or once the coordinator has written there.
    """
    if not settings.forgets_moves.on:
        return
    late, coordinator = s.late.marker, s.coordinator
    before, after = CoordinatorEpoch(literal(0)), CoordinatorEpoch(literal(1))
    for p in each(Partition):
        mine = s.partition[p]
        is_ahead = (late.partition == p) & (late.coordinator_epoch < mine.coordinator_epoch)
        mine.coordinator_epoch = ite(is_ahead, after, before)
    is_ahead = late.partition.is_some & (late.coordinator_epoch < coordinator.coordinator_epoch)
    coordinator.coordinator_epoch = ite(is_ahead, after, before)
    late.coordinator_epoch = before


class _Shifted(Int, lo=0, hi=settings.HIGHEST_EPOCH_RANK + 1):
    """A producer epoch, counted from 1; 0 where there is none."""


def renumber_epochs(s: State) -> None:
    """Of producer epochs it is kept who is before whom, if instances start again any number of times.

    Epochs are compared with each other; an EndTxn under transaction_version 2 also with the one after its own, so that one is
    kept as if it were in use.
    """
    if not settings.ranks_epochs.on:
        return
    late, coordinator = s.late, s.coordinator
    enders = [s.producer[i].epoch for i in each(Producer)] + [late.end.epoch]
    others = [s.partition[p].epoch for p in each(Partition)]
    others += [coordinator.epoch, coordinator.last_epoch]
    others += [late.init.epoch, late.add.epoch, late.produce.epoch, late.marker.epoch]
    in_use = [(item != -1, _shift(item)) for item in (*enders, *others)]
    if settings.transaction_version.value == settings.TV2:
        in_use += [(item != -1, _shift(item) + 1) for item in enders]
    rank = ranks(_Shifted, [(truth(True), _Shifted(literal(0))), *in_use])

    def renumber(number: Epoch) -> Epoch:
        return Epoch((rank(_shift(number)) - 1).expr)

    for i in each(Producer):
        s.producer[i].epoch = renumber(s.producer[i].epoch)
    for p in each(Partition):
        s.partition[p].epoch = renumber(s.partition[p].epoch)
    coordinator.epoch = renumber(coordinator.epoch)
    coordinator.last_epoch = renumber(coordinator.last_epoch)
    late.init.epoch = renumber(late.init.epoch)
    late.add.epoch = renumber(late.add.epoch)
    late.produce.epoch = renumber(late.produce.epoch)
    late.end.epoch = renumber(late.end.epoch)
    late.marker.epoch = renumber(late.marker.epoch)


def _shift(number: Epoch) -> _Shifted:
    return _Shifted((number + 1).expr)


# -- a partition's leader ---------------------------------------------------------------------------------------------


def is_open(s: State, p: Partition) -> Bool:
    """The last entry of the partition's log is a record whose transaction has not ended there."""
    return s.partition[p].lso < s.log[p].end


def is_ongoing(s: State, p: Partition, of: Epoch) -> Bool:
    """A transaction is open in the partition under this very epoch (`UnifiedLog.hasOngoingTransaction`)."""
    return is_open(s, p) & (s.partition[p].epoch == of)


def holds_offsets(p: Partition) -> Bool:
    """It is the partition of `__consumer_offsets` in which the group's offsets are.

    Its leader is the group's coordinator, which appends offsets itself: their sequence number is 0 and not looked at, nor
    is a record that it has already (`AppendOrigin.COORDINATOR`). Epochs are as everywhere, and verification from 3.7 on.
    """
    return p == Partition(literal(settings.partitions.value - 1)) if settings.offsets.on else truth(False)


def is_known(s: State, p: Partition, of: Epoch, number: Sequence) -> Bool:
    """It is one of the last batches under this epoch: answered as the first time, and not appended (KIP-98)."""
    mine = s.partition[p]
    return (mine.epoch == of) & (number <= mine.last_seq) & ~holds_offsets(p)


def is_next(s: State, p: Partition, of: Epoch, number: Sequence) -> Bool:
    """Neither its epoch nor its sequence number speaks against the record (`checkProducerEpoch`, `checkSequence`)."""
    mine = s.partition[p]
    unknown = truth(True) if settings.unknown_producers_accepted.on else number == 0
    fits = ite(mine.epoch == of, number == mine.last_seq + 1, number == 0)
    unnumbered = holds_offsets(p)
    return ite(mine.epoch == -1, unknown | unnumbered, (mine.epoch <= of) & (fits | unnumbered))


def is_verified(s: State, p: Partition, of: Epoch) -> Bool:
    """The coordinator says that the partition belongs to this epoch's transaction (`handleVerifyPartitionsInTransaction`).

    With transaction_version 2 it adds the partition if it can.
    """
    if settings.transaction_version.value == settings.TV2:
        return may_add(s, of)
    return may_add(s, of) & s.coordinator.partitions.contains(p)


def opens_rightly(s: State, p: Partition, of: Epoch) -> Bool:
    """A record may go into the partition's open transaction, or the coordinator lets it open one (KIP-890)."""
    if not settings.verifies.on:
        return truth(True)
    asks_nobody = holds_offsets(p) if not settings.verifies_offsets.on else truth(False)
    return asks_nobody | is_ongoing(s, p, of) | is_verified(s, p, of)


def require_room(s: State, p: Partition) -> None:
    """There is room for a record and the marker that ends its transaction."""
    require("room in the log", s.log[p].end + 2 <= settings.log_size)


def append_record(s: State, p: Partition, txn: Txn, of: Epoch, number: Sequence) -> None:
    """The leader appends a record; with transaction_version 2 it has added the partition to the transaction before."""
    mine = s.partition[p]
    if settings.transaction_version.value == settings.TV2:
        asks = ~is_ongoing(s, p, of)
        settle(s, asks & ~s.coordinator.partitions.contains(p))
        s.coordinator.partitions = ite(asks, s.coordinator.partitions.add(p), s.coordinator.partitions)
        s.coordinator.state = ite(asks, TxnState.ONGOING, s.coordinator.state)
    s.log[p].append(Entry(txn=txn, commits=truth(False)))
    mine.epoch = of
    mine.last_seq = number
    forget_verified(s, p)


def takes_marker(s: State, p: Partition, of: Epoch, by: CoordinatorEpoch) -> Bool:
    """Neither the marker's epoch nor its coordinator's speaks against it (`appendEndTxnMarker`)."""
    mine = s.partition[p]
    fits = mine.epoch <= of
    if settings.transaction_version.value == settings.TV2 and settings.marker_epoch_above.on:
        again = (mine.epoch == of) & ~is_open(s, p)
        fits = (mine.epoch < of) | again if settings.marker_retry_taken.on else mine.epoch < of
    return fits & (mine.coordinator_epoch <= by)


def append_marker(s: State, p: Partition, of: Epoch, by: CoordinatorEpoch, commits: Bool) -> None:
    """The marker ends the partition's open transaction, if there is one; a newer epoch forgets the sequence numbers."""
    mine, log = s.partition[p], s.log[p]
    kept = ite(is_open(s, p), log.end + 1, log.end)
    mine.last_seq = ite(mine.epoch == of, mine.last_seq, -1)
    mine.epoch = of
    mine.coordinator_epoch = by
    log.append(Entry(txn=None, commits=commits))
    log.truncate(kept)
    mine.lso = log.end
    forget_verified(s, p)


def forget_verified(s: State, p: Partition) -> None:
    """What the coordinator said to requests that wait at this leader counts no more (`clearVerificationStateEntry`)."""
    s.partition[p].verifying = False


# -- what consumers read ----------------------------------------------------------------------------------------------


def is_record(s: State, p: Partition, o: Offset, txn: Txn) -> Bool:
    """The record of that transaction stands at this offset of the partition."""
    log = s.log[p]
    return log.has(o) & (log.at(o).txn == txn)


@remembered
def has(s: State, p: Partition, o: Offset) -> Bool:
    """The partition's log goes beyond the offset."""
    return s.log[p].has(o)


@remembered
def is_marker(s: State, p: Partition, o: Offset) -> Bool:
    """What stands at this offset of the partition ends a transaction."""
    return s.log[p].at(o).txn.is_none


@remembered
def ends_at(s: State, p: Partition, o: Offset, marker: Offset) -> Bool:
    """The first marker after an offset stands at `marker`."""
    between = some(Offset, lambda m: (o < m) & (m < marker) & has(s, p, m) & is_marker(s, p, m))
    return (o < marker) & has(s, p, marker) & is_marker(s, p, marker) & ~between


@remembered
def is_decided(s: State, p: Partition, o: Offset, commits: bool) -> Bool:
    """The transaction to which the record at this offset belongs in the partition ended so; it is below the LSO then."""
    return some(Offset, lambda m: ends_at(s, p, o, m) & (s.log[p].at(m).commits if commits else ~s.log[p].at(m).commits))


@remembered
def is_readable(s: State, p: Partition, txn: Txn) -> Bool:
    """A consumer in read_committed gets the record of that transaction from the partition."""
    return some(Offset, lambda o: is_record(s, p, o, txn) & is_decided(s, p, o, True))


@remembered
def is_hidden(s: State, p: Partition, txn: Txn) -> Bool:
    """The record of that transaction is in an aborted range of the partition; an offset is not if a copy of it is valid."""
    found = some(Offset, lambda o: is_record(s, p, o, txn) & is_decided(s, p, o, False))
    return found & ~(holds_offsets(p) & is_readable(s, p, txn)) if settings.offsets.on else found


def is_in_log(s: State, p: Partition, txn: Txn) -> Bool:
    """The record of that transaction was appended to the partition."""
    return some(Offset, lambda o: is_record(s, p, o, txn))


def committed_offset(s: State) -> Position:
    """Where the group goes on: the last offset that a COMMIT made valid, 0 if there is none."""
    p = Partition(literal(settings.partitions.value - 1))
    found = Position(literal(0))
    for o in each(Offset):
        is_valid = s.log[p].has(o) & s.log[p].at(o).txn.is_some & is_decided(s, p, o, True)
        found = ite(is_valid, s.txn[s.log[p].at(o).txn.value].input + 1, found)
    return found


def all_acked(s: State, i: Producer) -> Bool:
    """Every partition has acknowledged the transaction's record."""
    return every(Partition, lambda p: s.producer[i].acked.contains(p))
