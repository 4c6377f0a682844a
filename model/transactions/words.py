"""Words and messages that steps of `transactions` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from acked.model.language.telling import Course, Message, Role, Telling, Tells, Those

COORDINATOR = Role("coordinator")
GROUP = Role("group coordinator")


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


def departs(sender: str | Role, receiver: str | Role, text: Callable[[Telling], str], channel: str) -> Tells:
    """A request that is late is sent."""
    return Tells(sender, receiver, text, Course.DEPARTS, channel, is_late=True)


def arrives(sender: Those | Role, receiver: str | Those | Role, text: Callable[[Telling], str], channel: str) -> Tells:
    """A late request arrives."""
    return Tells(sender, receiver, text, Course.ARRIVES, channel, is_late=True)


def is_lost(sender: Those | Role, receiver: str | Those | Role, text: Callable[[Telling], str], channel: str) -> Tells:
    """A late request will not count any more."""
    return Tells(sender, receiver, text, Course.LOST, channel, is_late=True)
