"""Producing: an instance begins a transaction, adds partitions to it, and sends one record to each.

AddPartitionsToTxn and Produce, answered at once or late. Sources: `TransactionCoordinator.handleAddPartitionsToTransaction`
and `handleVerifyPartitionsInTransaction`, `ProducerAppendInfo`, `UnifiedLog.analyzeAndValidateProducerState`, KIP-890.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import every, implies, ite, truth
from acked.model.language.telling import Fault, Telling, Tells, Those
from acked.model.language.values import Bool
from acked.model.transactions import settings
from acked.model.transactions.common import (
    add_partition,
    append_record,
    committed_offset,
    holds_offsets,
    is_known,
    is_next,
    is_ongoing,
    is_open,
    is_verified,
    may_add,
    opens_rightly,
    renumber_coordinators,
    renumber_epochs,
    require_room,
)
from acked.model.transactions.state import Fate, Partition, Phase, Producer, Sequence, State, Txn, TxnState, sequence
from acked.model.transactions.words import COORDINATOR, GROUP, arrives, departs, is_lost, owner, record_text, txn_of

# -- words ------------------------------------------------------------------------------------------------------------

ADD, PRODUCE = "AddPartitionsToTxn", "Produce"
"""Channels of late requests, by the names that Kafka's protocol gives them."""

LATE_ADD_SENDER = Those(Producer, lambda t: owner(t, t.before.late.add.txn))
LATE_PRODUCE_SENDER = Those(Producer, lambda t: owner(t, t.before.late.produce.txn))


def says_read(t: Telling) -> str:
    """What a transaction reads, as the end of a sentence; nothing where there is no input."""
    return f", which reads input {t.after.txn[t.txn].input}" if hasattr(t.after.txn[t.txn], "input") else ""


def says_position(t: Telling) -> str:
    """The offset that an instance is told."""
    return f"offset {t.after.producer[t.producer].position}"


def says_opened(t: Telling) -> str:
    """What a request of an instance did to the coordinator's transaction, as the end of a sentence."""
    if t.after.coordinator.state == TxnState.ONGOING != t.before.coordinator.state:
        return "; the coordinator's transaction is open"
    return ""


def add_text(epoch: int, partition: int) -> str:
    """An AddPartitionsToTxn request."""
    return f"{ADD} (epoch {epoch}): partition {partition}"


def produce_text(t: Telling, txn: int, epoch: int, partition: int) -> str:
    """A Produce request with one record; to the partition of offsets it is a TxnOffsetCommit."""
    what = record_text(t, txn, partition)
    return f"{PRODUCE if what == f'r{txn}' else 'TxnOffsetCommit'} (epoch {epoch}): {what}"


@action(
    says=lambda t: f"producer {t.producer} asks where to go on in the input, and is told {says_position(t)}",
    when=lambda: settings.offsets.on,
    actor="producer", messages=(Tells("producer", GROUP, "OffsetFetch"), Tells(GROUP, "producer", says_position)),
)
def fetch_offset(s: State, producer: Producer) -> None:
    """An instance asks for the group's committed offset: when it starts, and after an abort, to read the same input again."""
    mine = s.producer[producer]
    asks = mine.phase == Phase.READY
    require("may ask", asks if settings.init_first.on else asks | (mine.phase == Phase.NEW))
    require("does not know its position", mine.position.is_none)
    mine.position = committed_offset(s)


def _says_begins(t: Telling) -> str:
    return f"producer {t.producer} begins transaction {t.txn}{says_read(t)}"


@action(says=_says_begins, actor="producer")
def begin(s: State, producer: Producer, txn: Txn) -> None:
    """An instance begins the next transaction; nobody else is told."""
    mine = s.producer[producer]
    require("may begin a transaction", mine.phase == Phase.READY)
    require("those before were begun", every(Txn, lambda other: implies(other < txn, s.txn[other].fate != Fate.UNBEGUN)))
    require("a transaction is left", s.txn[txn].fate == Fate.UNBEGUN)
    if settings.offsets.on:
        require("knows its position", mine.position.is_some)
        s.txn[txn].input = mine.position.value
    s.txn[txn].owner = producer
    s.txn[txn].fate = Fate.OPEN
    mine.phase = Phase.IN_TXN
    mine.txn = txn


def is_in_open_txn(s: State, i: Producer) -> Bool:
    """It is in a transaction and has asked for no end so far."""
    return (s.producer[i].phase == Phase.IN_TXN) & (s.txn[s.producer[i].txn].fate == Fate.OPEN)


# -- AddPartitionsToTxn ------------------------------------------------------------------------------------------------


def _add_text(t: Telling) -> str:
    return add_text(t.before.producer[t.producer].epoch, t.partition)


@action(
    says=lambda t: f"producer {t.producer} adds partition {t.partition} to its transaction {txn_of(t)}{says_opened(t)}",
    when=lambda: settings.adds_partitions.on,
    actor="producer", messages=(Tells("producer", COORDINATOR, _add_text), Tells(COORDINATOR, "producer", "added")),
)
def add_partition_to_txn(s: State, producer: Producer, partition: Partition) -> None:
    """An instance adds a partition to its transaction before it sends a record there (transaction_version 1)."""
    mine = s.producer[producer]
    require("in a transaction", is_in_open_txn(s, producer))
    require("not added yet", ~mine.added.contains(partition))
    require("the coordinator adds it", may_add(s, mine.epoch))
    add_partition(s, partition)
    mine.added = mine.added.add(partition)


@action(
    says=lambda t: f"producer {t.producer} asks to add partition {t.partition}, and the request is late; it will ask again",
    when=lambda: settings.adds_late.on,
    actor="producer", fault=Fault.LATE, messages=(departs("producer", COORDINATOR, _add_text, ADD),),
)
def delay_add(s: State, producer: Producer, partition: Partition) -> None:
    """An AddPartitionsToTxn is late; the instance asks again."""
    mine, late = s.producer[producer], s.late.add
    require("in a transaction", is_in_open_txn(s, producer))
    require("not added yet", ~mine.added.contains(partition))
    require("no other is late", late.txn.is_none)
    late.txn = mine.txn
    late.partition = partition
    late.epoch = mine.epoch


def _end_late_add(s: State) -> None:
    s.late.add.txn = None
    s.late.add.partition = None
    s.late.add.epoch = -1
    renumber_epochs(s)


def _late_add_text(t: Telling) -> str:
    late = t.before.late.add
    return add_text(late.epoch, late.partition)


@action(
    says=lambda t: (
        f"the late request of transaction {t.before.late.add.txn} to add partition {t.partition} arrives"
        f"{says_opened(t) or '; the partition belongs to the open transaction now'}"
    ),
    when=lambda: settings.adds_late.on,
    actor=COORDINATOR, messages=(arrives(LATE_ADD_SENDER, COORDINATOR, _late_add_text, ADD),),
)
def late_add_arrives(s: State, partition: Partition) -> None:
    """A late AddPartitionsToTxn opens a transaction, or adds to the one that is open; the answer reaches nobody."""
    late = s.late.add
    require("one is on its way", late.txn.is_some)
    require("it names the partition", late.partition == partition)
    require("the coordinator adds it", may_add(s, late.epoch))
    add_partition(s, partition)
    _end_late_add(s)


@action(
    says=lambda t: f"the late request of transaction {t.before.late.add.txn} to add a partition is lost or refused",
    when=lambda: settings.adds_late.on,
    actor=COORDINATOR, fault=Fault.LOST, messages=(is_lost(LATE_ADD_SENDER, COORDINATOR, _late_add_text, ADD),),
)
def late_add_is_lost(s: State) -> None:
    """A late AddPartitionsToTxn is lost, or refused."""
    require("one is on its way", s.late.add.txn.is_some)
    _end_late_add(s)


# -- Produce -----------------------------------------------------------------------------------------------------------


def number_of(s: State, i: Producer, p: Partition) -> Sequence:
    """The sequence number of the instance's record; under an epoch for each transaction it is always 0, and of offsets."""
    return ite(holds_offsets(p), sequence(0), s.producer[i].sequence[p]) if settings.numbers_records.on else sequence(0)


def require_may_send(s: State, producer: Producer, partition: Partition) -> None:
    """The instance has a record for the partition that was not acknowledged so far."""
    mine = s.producer[producer]
    require("in a transaction", is_in_open_txn(s, producer))
    if settings.adds_partitions.on and settings.adds_first.on:
        require("partition was added", mine.added.contains(partition))
    require("not acknowledged yet", ~mine.acked.contains(partition))


def note_ack(s: State, producer: Producer, partition: Partition) -> None:
    """The instance hears that its record is in the log."""
    mine = s.producer[producer]
    mine.unanswered = mine.unanswered.remove(partition)
    mine.acked = mine.acked.add(partition)
    if settings.numbers_records.on:
        number = mine.sequence[partition]
        mine.sequence[partition] = ite(holds_offsets(partition), number, number + 1)


def _produce_text(t: Telling) -> str:
    return produce_text(t, txn_of(t), t.before.producer[t.producer].epoch, t.partition)


def _own(t: Telling) -> str:
    return record_text(t, txn_of(t), t.partition)


def _says_appended(t: Telling) -> str:
    end = t.before.log[t.partition].end
    opens = ", where it opens a transaction" if t.before.partition[t.partition].lso == end else ""
    return f"which appends it at offset {end}{opens}{says_opened(t)}"


@action(
    says=lambda t: f"producer {t.producer} sends {_own(t)} to partition {t.partition}, {_says_appended(t)}",
    actor="producer", messages=(Tells("producer", "partition", _produce_text), Tells("partition", "producer", "ack")),
)
def produce(s: State, producer: Producer, partition: Partition) -> None:
    """A record is appended and acknowledged; before a partition's leader opens a transaction it asks the coordinator."""
    require_may_send(s, producer, partition)
    mine = s.producer[producer]
    number = number_of(s, producer, partition)
    require("not known to the leader", ~is_known(s, partition, mine.epoch, number))
    require("epoch and sequence number fit", is_next(s, partition, mine.epoch, number))
    require("the coordinator knows the transaction", opens_rightly(s, partition, mine.epoch))
    require_room(s, partition)
    append_record(s, partition, mine.txn, mine.epoch, number)
    note_ack(s, producer, partition)
    renumber_epochs(s)


@action(
    says=lambda t: f"producer {t.producer} sends {_own(t)} to partition {t.partition} again, which has it already",
    when=lambda: settings.late_produce.on,
    actor="producer", messages=(Tells("producer", "partition", _produce_text), Tells("partition", "producer", "ack")),
)
def produce_again(s: State, producer: Producer, partition: Partition) -> None:
    """A record that the leader has already is acknowledged and not appended again (KIP-98)."""
    require_may_send(s, producer, partition)
    require(
        "known to the leader",
        is_known(s, partition, s.producer[producer].epoch, number_of(s, producer, partition)),
    )
    note_ack(s, producer, partition)


@action(
    says=lambda t: f"producer {t.producer} sends {_own(t)} to partition {t.partition}; the request is late",
    when=lambda: settings.late_produce.on,
    actor="producer", fault=Fault.LATE, messages=(departs("producer", "partition", _produce_text, PRODUCE),),
)
def delay_produce(s: State, producer: Producer, partition: Partition) -> None:
    """A Produce request is late; the client may send it again, or give it up and abort."""
    require_may_send(s, producer, partition)
    mine, late = s.producer[producer], s.late.produce
    require("no other is late", late.txn.is_none)
    late.txn = mine.txn
    late.partition = partition
    late.epoch = mine.epoch
    late.sequence = number_of(s, producer, partition)
    mine.unanswered = mine.unanswered.add(partition)


def _end_late_produce(s: State) -> None:
    late = s.late.produce
    late.txn = None
    late.partition = None
    late.epoch = -1
    late.sequence = -1
    late.verified = False
    renumber_epochs(s)


def _late(t: Telling) -> str:
    return record_text(t, t.before.late.produce.txn, t.partition)


def _late_produce_text(t: Telling) -> str:
    late = t.before.late.produce
    return produce_text(t, late.txn, late.epoch, late.partition)


def _counts_as_verified(s: State, partition: Partition) -> Bool:
    """The coordinator's answer is at hand, and some request of the producer waits for one (without KAFKA-14884)."""
    if not settings.shares_guard.on:
        return truth(False)
    return s.late.produce.verified & s.partition[partition].verifying


@action(
    says=lambda t: f"the late {_late(t)} reaches partition {t.partition}, {_says_appended(t)}",
    when=lambda: settings.late_produce.on,
    actor="partition", messages=(arrives(LATE_PRODUCE_SENDER, "partition", _late_produce_text, PRODUCE),),
)
def late_produce_arrives(s: State, partition: Partition) -> None:
    """A late Produce request is appended; nobody waits for the answer."""
    late = s.late.produce
    require("one is on its way", late.txn.is_some)
    require("to this partition", late.partition == partition)
    require("not known to the leader", ~is_known(s, partition, late.epoch, late.sequence))
    require("epoch and sequence number fit", is_next(s, partition, late.epoch, late.sequence))
    at_hand = _counts_as_verified(s, partition)
    require("the coordinator knows the transaction", opens_rightly(s, partition, late.epoch) | at_hand)
    require_room(s, partition)
    append_record(s, partition, late.txn.value, late.epoch, late.sequence)
    _end_late_produce(s)


@action(
    says=lambda t: f"the late {_late(t)} for partition {t.partition} is lost or refused",
    when=lambda: settings.late_produce.on,
    actor="partition", fault=Fault.LOST,
    messages=(is_lost(LATE_PRODUCE_SENDER, "partition", _late_produce_text, PRODUCE),),
)
def late_produce_is_lost(s: State, partition: Partition) -> None:
    """A late Produce request is lost, refused, or known to the leader already."""
    require("one is on its way", s.late.produce.txn.is_some)
    require("to this partition", s.late.produce.partition == partition)
    _end_late_produce(s)


# -- what verification was before KAFKA-14884 --------------------------------------------------------------------------


@action(
    says=lambda t: (
        f"the late {_late(t)} reaches partition {t.partition}, whose leader is told by the coordinator "
        "that the transaction is open; the record is yet to be appended"
    ),
    when=lambda: settings.shares_guard.on,
    actor="partition",
    messages=(Tells("partition", COORDINATOR, "verify"), Tells(COORDINATOR, "partition", "the transaction is open")),
)
def verify_late_produce(s: State, partition: Partition) -> None:
    """The coordinator's answer for a late request is at hand; appending it takes a while longer."""
    late = s.late.produce
    require("one is on its way", late.txn.is_some)
    require("to this partition", late.partition == partition)
    require("not verified yet", ~late.verified)
    require("no transaction open here", ~is_ongoing(s, partition, late.epoch))
    require("the coordinator knows the transaction", is_verified(s, partition, late.epoch))
    late.verified = True
    s.partition[partition].verifying = True


@action(
    says=lambda t: (
        f"another copy of the request reaches partition {t.partition}, whose leader asks the coordinator; the copy will be "
        "refused"
    ),
    when=lambda: settings.shares_guard.on,
    actor="partition", messages=(Tells("partition", COORDINATOR, "verify"),),
)
def verify_another_copy(s: State, partition: Partition) -> None:
    """A further copy of a request waits for the coordinator; all that matters of it is that it waits."""
    require("one is verified", s.late.produce.verified & (s.late.produce.partition == partition))
    require("none waits here", ~s.partition[partition].verifying)
    require("no transaction open here", ~is_open(s, partition))
    s.partition[partition].verifying = True


# -- a partition forgets a producer ------------------------------------------------------------------------------------


@action(
    says=lambda t: f"partition {t.partition} forgets the producer, with its epoch and sequence numbers",
    when=lambda: not settings.marker_time_kept.on,
    actor="partition", fault=Fault.UNHEARD,
)
def forget_producer(s: State, partition: Partition) -> None:
    """A leader forgets a producer whose last record is long ago, although its marker is new (to 2.4.0, KAFKA-9144)."""
    mine = s.partition[partition]
    require("knows it", mine.epoch != -1)
    require("no transaction open here", ~is_open(s, partition))
    mine.epoch = -1
    mine.last_seq = -1
    mine.coordinator_epoch = 0
    renumber_coordinators(s)
    renumber_epochs(s)
