"""The state of `transactions`: what coordinator, partitions and producers know, and which request is late.

There is one transactional id, hence one producer id; where its epochs end, those of the next id go on counting. A
partition's log is what its replicas have committed: the high watermark is the log end. Of markers only those that end a
transaction in their partition stand in the log; Kafka appends the others too, and neither the last stable offset nor any
reader sees a difference. What was left out, and why that is sound, is in `docs/transactions.md`.

A part that a question turns off has no field.
"""

from __future__ import annotations

from acked.model.language.context import literal
from acked.model.language.state import Array, Between, Log, Optional, Present, SetOf, Struct, field
from acked.model.language.values import Bool, Id, Int
from acked.model.transactions.settings import (
    adds_late,
    adds_partitions,
    bumps,
    bumps_late,
    fails,
    highest_coordinator_epoch,
    highest_epoch,
    late_end,
    late_init,
    late_marker,
    late_produce,
    log_size,
    may_not_rotate,
    numbers_records,
    offsets,
    partitions,
    producers,
    shares_guard,
    transactions,
)


class Partition(Id, size=partitions):
    """A partition that transactions write to, which is its leader as well."""


class Producer(Id, size=producers):
    """An instance of the application: one of those that have the transactional id at the same time or one after another."""


class Txn(Int, lo=0, hi=transactions - 1, name="transaction"):
    """A transaction as the application knows it, and the record that it writes to each partition."""


class Epoch(Int, lo=-1, hi=highest_epoch, name="producer epoch"):
    """A producer epoch; −1 where there is none."""


class CoordinatorEpoch(Int, lo=0, hi=highest_coordinator_epoch, name="coordinator epoch"):
    """The leader epoch of the id's partition of `__transaction_state`; without a bound 1 if it is above the late marker's."""


class Sequence(Int, lo=-1, hi=transactions, name="sequence number"):
    """The number of a record under one producer epoch in one partition; −1 where there is none."""


class Offset(Int, lo=0, hi=log_size):
    """A position in a partition's log, its end or its last stable offset."""


class Position(Int, lo=0, hi=transactions):
    """A position in the input: the record that an instance reads next, as committed or as it knows it."""


class TxnState(Int, lo=0, hi=5, name="transaction state"):
    """The coordinator's state of the transactional id (`TransactionState`).

    Dead and PrepareEpochFence are left out: nothing expires, and a fence is one step with its abort.
    """

    EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)


class Phase(Int, lo=0, hi=3):
    """What an instance is about: has to be initialised; may begin; is in a transaction; has to ask for another epoch."""

    NEW, READY, IN_TXN, BUMPING = range(4)


class Fate(Int, lo=0, hi=5):
    """What the application knows of a transaction.

    OPEN until it commits or aborts; COMMITTING and ABORTING until it is told that it did.
    """

    UNBEGUN, OPEN, COMMITTING, COMMITTED, ABORTING, ABORTED = range(6)


def txn_state(value: int) -> TxnState:
    """A state of the coordinator as a symbolic value."""
    return TxnState(literal(value))


def epoch(value: int) -> Epoch:
    """A producer epoch as a symbolic value."""
    return Epoch(literal(value))


def sequence(value: int) -> Sequence:
    """A sequence number as a symbolic value."""
    return Sequence(literal(value))


class Entry(Struct):
    """One entry of a partition's log: a record, or a marker."""

    txn = field(Optional(Txn), "of a record: the transaction that it was sent in; none of a marker")
    commits = field(Bool, "of a marker: COMMIT rather than ABORT")


class PartitionState(Struct):
    """A partition, and what its leader knows of the producer id (`ProducerStateEntry`)."""

    lso = field(Offset, "the last stable offset: where the open transaction begins, or the log end")
    epoch = field(Epoch, "the newest producer epoch that it has seen; −1 if it knows nothing of the producer")
    last_seq = field(Sequence, "the last sequence number under that epoch")
    coordinator_epoch = field(CoordinatorEpoch, "the coordinator epoch of the last marker")
    verifying = field(Present(Bool, shares_guard), "a request waits for the coordinator's answer: verified ones may append")


class ProducerState(Struct):
    """An instance of the application with its client."""

    phase = field(Phase, "what it is about")
    epoch = field(Epoch, "the producer epoch that it was given")
    txn = field(Txn, "the transaction it is in")
    added = field(Present(SetOf(Partition), adds_partitions), "partitions that it has added to its transaction")
    unanswered = field(SetOf(Partition), "partitions to which it has sent the transaction's record, without an answer so far")
    acked = field(SetOf(Partition), "partitions that have acknowledged the transaction's record")
    sequence = field(
        Array(Partition, Present(Between(Sequence, 0, transactions), numbers_records)),
        "the sequence number of its next record",
    )
    position = field(Present(Optional(Position), offsets), "where it reads next in the input; none until it has asked")


class Register(Struct):
    """What the id's record says in the log of a replica in sync that does not have the last one."""

    state = field(Present(TxnState, fails), "the state of the transaction")
    epoch = field(Present(Epoch, fails), "the producer epoch")
    last_epoch = field(Present(Present(Epoch, bumps), fails), "the producer epoch before it")
    partitions = field(Present(SetOf(Partition), fails), "the partitions of the transaction")
    rotates = field(Present(Present(Bool, may_not_rotate), fails), "a new producer id was taken")


class Coordinator(Struct):
    """The transaction coordinator's register of the id: what is committed in `__transaction_state`, and who reads it."""

    state = field(TxnState, "the state of the transaction")
    epoch = field(Epoch, "the producer epoch")
    last_epoch = field(Present(Epoch, bumps), "the producer epoch before it, if its owner asked for another; else −1")
    partitions = field(SetOf(Partition), "the partitions of the transaction")
    awaiting = field(SetOf(Partition), "those of them that have not acknowledged the marker")
    coordinator_epoch = field(CoordinatorEpoch, "the leader epoch under which it is the coordinator")
    rotates = field(Present(Bool, may_not_rotate), "a new producer id was taken, which counts once markers are written")
    differs = field(Present(Bool, fails), "some replicas in sync have another record of the id than it has loaded")
    other = field(Register, "that other record")


class LateInit(Struct):
    """An InitProducerId request that is late."""

    sender = field(Present(Optional(Producer), late_init), "who sent it, if one is on its way")
    epoch = field(Present(Epoch, bumps_late), "the producer epoch that it names; −1 if none")
    is_spent = field(Present(Bool, late_init), "one has been late")


class LateAdd(Struct):
    """An AddPartitionsToTxn request that is late."""

    txn = field(Present(Optional(Txn), adds_late), "the transaction for which it was sent, if one is on its way")
    partition = field(Present(Optional(Partition), adds_late), "the partition to add")
    epoch = field(Present(Epoch, adds_late), "its producer epoch")


class LateProduce(Struct):
    """A Produce request that is late."""

    txn = field(Present(Optional(Txn), late_produce), "the transaction of its record, if one is on its way")
    partition = field(Present(Optional(Partition), late_produce), "where it is to be appended")
    epoch = field(Present(Epoch, late_produce), "its producer epoch")
    sequence = field(Present(Sequence, late_produce), "its sequence number")
    verified = field(Present(Bool, shares_guard), "the coordinator has said that its transaction is open")


class LateEnd(Struct):
    """An EndTxn request that is late."""

    txn = field(Present(Optional(Txn), late_end), "the transaction that it is to end, if one is on its way")
    epoch = field(Present(Epoch, late_end), "its producer epoch")
    commits = field(Present(Bool, late_end), "COMMIT rather than ABORT")


class LateMarker(Struct):
    """A WriteTxnMarkers request that is late."""

    partition = field(Present(Optional(Partition), late_marker), "where it is to be written, if one is on its way")
    epoch = field(Present(Epoch, late_marker), "its producer epoch")
    coordinator_epoch = field(Present(CoordinatorEpoch, late_marker), "its coordinator epoch")
    commits = field(Present(Bool, late_marker), "COMMIT rather than ABORT")


class Late(Struct):
    """Requests that are late: at most one of each kind at a time. Who sent it has given up waiting for the answer."""

    init = field(LateInit, "InitProducerId")
    add = field(LateAdd, "AddPartitionsToTxn")
    produce = field(LateProduce, "Produce")
    end = field(LateEnd, "EndTxn")
    marker = field(LateMarker, "WriteTxnMarkers")


class TxnRecord(Struct):
    """What the application knows of one transaction."""

    owner = field(Optional(Producer), "the instance that began it")
    fate = field(Fate, "what became of it")
    input = field(Present(Position, offsets), "the input record that it reads")


class State(Struct):
    """One transactional id with its coordinator, the instances that use it, and the partitions they write to."""

    log = field(Array(Partition, Log(Entry, Offset, log_size)), "each partition's log")
    partition = field(Array(Partition, PartitionState), "what each partition's leader knows")
    coordinator = field(Coordinator, "the transaction coordinator")
    producer = field(Array(Producer, ProducerState), "the instances of the application")
    txn = field(Array(Txn, TxnRecord), "the transactions")
    late = field(Late, "requests that are late")


def initial(s: State) -> None:
    """Nobody is initialised, no transaction was begun, every log is empty; whatever is not said is zero, none or empty."""
