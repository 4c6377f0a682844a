"""What is seen of transactions on real brokers, in the model's terms, beside a state of the model."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acked.base.frozen import frozen
from acked.cluster.playing.script import State
from acked.cluster.topics.topic import Difference, differing
from acked.cluster.wire.records import LogEntry
from acked.cluster.wire.transactional import CoordinatorView, LedgerView
from acked.model.transactions.state import TxnState

STATES: Mapping[int, str] = {
    TxnState.EMPTY: "Empty",
    TxnState.ONGOING: "Ongoing",
    TxnState.PREPARE_COMMIT: "PrepareCommit",
    TxnState.PREPARE_ABORT: "PrepareAbort",
    TxnState.COMPLETE_COMMIT: "CompleteCommit",
    TxnState.COMPLETE_ABORT: "CompleteAbort",
}
"""The coordinator's states as Kafka names them."""

WITH_PARTITIONS = ("Ongoing", "PrepareCommit", "PrepareAbort")


@frozen
class LedgerState:
    """A partition as the model has it: records, those markers that end something, where the open transaction begins."""

    log: tuple[str, ...]
    stable: int
    epoch: int
    last_sequence: int


@frozen
class TransactionView:
    """The coordinator and every partition at one moment; `raw` is what the partitions' leaders say, offsets included."""

    state: str
    epoch: int
    partitions: frozenset[int]
    ledgers: tuple[LedgerState, ...]
    raw: tuple[LedgerView, ...] = ()


def name_of(txn: int) -> str:
    """The value of a transaction's records: r0."""
    return f"r{txn}"


def text_of(entry: LogEntry) -> str:
    """A record's value as the model names it: r0; of an offset it is the metadata that it was committed with."""
    found = None if entry.is_marker else re.search(r"r\d+", entry.text)
    return entry.text if found is None else found.group()


def without_idle_markers(entries: tuple[LogEntry, ...]) -> tuple[LogEntry, ...]:
    """The entries without markers that end nothing, which the model does not have."""
    found: list[LogEntry] = []
    for entry in entries:
        if not entry.is_marker or (found and not found[-1].is_marker):
            found.append(entry)
    return tuple(found)


def view_of(coordinator: CoordinatorView, ledgers: tuple[LedgerView, ...], topics: tuple[str, ...]) -> TransactionView:
    """What brokers say, as the model has it."""
    members = frozenset(topics.index(name) for name in coordinator.topics if name in topics)
    state = coordinator.state
    partitions = [
        LedgerState(
            tuple(text_of(entry) for entry in without_idle_markers(one.entries)),
            sum(entry.offset < one.stable for entry in without_idle_markers(one.entries)),
            one.epoch,
            one.last_sequence,
        )
        for one in ledgers
    ]
    members = members if state in WITH_PARTITIONS else frozenset()
    return TransactionView(state, coordinator.epoch, members, tuple(partitions), ledgers)


def model_view(state: State) -> TransactionView:
    """What the model says."""
    coordinator = state["coordinator"]
    name = STATES[coordinator["state"]]
    # A coordinator strikes off a partition whose marker is written.
    left = coordinator["awaiting"] if name.startswith("Prepare") else coordinator["partitions"]
    members = frozenset[int](left) if name in WITH_PARTITIONS else frozenset[int]()
    ledgers = tuple(
        LedgerState(_texts(log), partition["lso"], partition["epoch"], partition["last_seq"])
        for log, partition in zip(state["log"], state["partition"], strict=True)
    )
    return TransactionView(name, coordinator["epoch"], members, ledgers)


def _texts(log: State) -> tuple[str, ...]:
    entries = log["records"][: log["end"]]
    return tuple(
        name_of(one["txn"]) if one["txn"] is not None else "COMMIT" if one["commits"] else "ABORT" for one in entries
    )


def differences(state: State, seen: TransactionView) -> tuple[Difference, ...]:
    """In what brokers are not as the model says."""
    model = model_view(state)
    pairs: list[tuple[str, object, object]] = [
        ("the coordinator's state", model.state, seen.state),
        ("the coordinator's producer epoch", model.epoch, seen.epoch),
        ("the partitions of the transaction", sorted(model.partitions), sorted(seen.partitions)),
    ]
    for p, (mine, real) in enumerate(zip(model.ledgers, seen.ledgers, strict=True)):
        pairs += [
            (f"the log of partition {p}", list(mine.log), list(real.log)),
            (f"the last stable offset of partition {p}", mine.stable, real.stable),
            (f"the producer epoch that partition {p} knows", mine.epoch, real.epoch),
            (f"the last sequence number that partition {p} knows", mine.last_sequence, real.last_sequence),
        ]
    return differing(pairs)
