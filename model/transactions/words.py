"""Words and messages that steps of `transactions` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from acked.model.language.telling import Course, Message, Role, Telling, Tells, Those
from acked.model.transactions.state import Partition, Producer, TxnState

COORDINATOR = Role("coordinator")
GROUP = Role("group coordinator")

INIT, ADD, PRODUCE, END, MARKER = "InitProducerId", "AddPartitionsToTxn", "Produce", "EndTxn", "WriteTxnMarkers"
"""Channels of late requests, by the names that Kafka's protocol gives them."""


def result(commits: bool) -> str:
    """COMMIT or ABORT."""
    return "COMMIT" if commits else "ABORT"


def owner(t: Telling, txn: int | None) -> int | None:
    """The instance that began a transaction."""
    whose: int | None = None if txn is None else t.before.txn[txn].owner
    return whose


def asks_coordinator(question: Callable[[Telling], str], answer: str | Callable[[Telling], str]) -> tuple[Message, ...]:
    """An instance asks the coordinator and is answered at once."""
    return Tells("producer", COORDINATOR, question), Tells(COORDINATOR, "producer", answer)


def says_given(t: Telling) -> str:
    """The producer epoch that an instance has now."""
    return f"producer epoch {t.after.producer[t.producer].epoch}"


def txn_of(t: Telling) -> int:
    """The transaction that an instance is in before the step."""
    number: int = t.before.producer[t.producer].txn
    return number


def holds_offsets(txns: Sequence[Any], logs: Sequence[Any], partition: int) -> bool:
    """Whether the records of a partition are offsets; from a state as it is told, or decoded."""
    first = txns[0]
    return bool("input" in first if isinstance(first, dict) else hasattr(first, "input")) and partition == len(logs) - 1


def record_text(t: Telling, txn: int, partition: int) -> str:
    """What a transaction writes to a partition: its record, or the offset after its input."""
    if not holds_offsets(t.before.txn, t.before.log, partition):
        return f"r{txn}"
    return f"offset {t.before.txn[txn].input + 1} (of transaction {txn})"


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


def says_fenced(t: Telling) -> str:
    """What a fence does, as the end of a sentence."""
    after = t.after.coordinator
    return f"takes producer epoch {after.epoch}, which nobody is told, and prepares to abort the open transaction"


def is_first(t: Telling) -> bool:
    """Nobody had been initialised before."""
    return bool(t.before.coordinator.epoch == -1 and t.before.coordinator.state == TxnState.EMPTY)


LATE_INIT_SENDER = Those(Producer, lambda t: t.before.late.init.sender)
LATE_ADD_SENDER = Those(Producer, lambda t: owner(t, t.before.late.add.txn))
LATE_PRODUCE_SENDER = Those(Producer, lambda t: owner(t, t.before.late.produce.txn))
LATE_END_SENDER = Those(Producer, lambda t: owner(t, t.before.late.end.txn))
LATE_MARKER_PARTITION = Those(Partition, lambda t: t.before.late.marker.partition)


def init_text(epoch: int | None) -> str:
    """An InitProducerId request, with the epoch that it names."""
    return INIT if epoch is None or epoch == -1 else f"{INIT} (epoch {epoch})"


def add_text(epoch: int, partition: int) -> str:
    """An AddPartitionsToTxn request."""
    return f"{ADD} (epoch {epoch}): partition {partition}"


def produce_text(t: Telling, txn: int, epoch: int, partition: int) -> str:
    """A Produce request with one record; to the partition of offsets it is a TxnOffsetCommit."""
    what = record_text(t, txn, partition)
    return f"{PRODUCE if what == f'r{txn}' else 'TxnOffsetCommit'} (epoch {epoch}): {what}"


def end_text(epoch: int, commits: bool) -> str:
    """An EndTxn request."""
    return f"{END} (epoch {epoch}): {result(commits)}"


def marker_text(epoch: int, coordinator_epoch: int, commits: bool) -> str:
    """A WriteTxnMarkers request."""
    return f"{MARKER} (epoch {epoch}, coordinator epoch {coordinator_epoch}): {result(commits)}"


def departs(sender: str | Role, receiver: str | Role, text: Callable[[Telling], str], channel: str) -> Tells:
    """A request that is late is sent."""
    return Tells(sender, receiver, text, Course.DEPARTS, channel, is_late=True)


def arrives(sender: Those | Role, receiver: str | Those | Role, text: Callable[[Telling], str], channel: str) -> Tells:
    """A late request arrives."""
    return Tells(sender, receiver, text, Course.ARRIVES, channel, is_late=True)


def is_lost(sender: Those | Role, receiver: str | Those | Role, text: Callable[[Telling], str], channel: str) -> Tells:
    """A late request will not count any more."""
    return Tells(sender, receiver, text, Course.LOST, channel, is_late=True)
