"""What is seen of transactions on real brokers, in the model's terms; where it differs; which promises it breaks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acked.cluster.stories.seen import Difference, differing
from acked.cluster.wire.records import LogEntry
from acked.cluster.wire.transactional import CoordinatorView, LedgerView
from acked.model.transactions.state import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)

STATES: Mapping[int, str] = {
    EMPTY: "Empty",
    ONGOING: "Ongoing",
    PREPARE_COMMIT: "PrepareCommit",
    PREPARE_ABORT: "PrepareAbort",
    COMPLETE_COMMIT: "CompleteCommit",
    COMPLETE_ABORT: "CompleteAbort",
}
"""The coordinator's states as Kafka names them."""

WITH_PARTITIONS = ("Ongoing", "PrepareCommit", "PrepareAbort")
COMMITTED, ABORTED, ASKED = "committed", "aborted", "asked to commit"
"""What a client has been told of its transaction, or that it has asked for a COMMIT and was told nothing so far."""


@dataclass(frozen=True)
class PartitionSeen:
    """A partition as the model has it: records, those markers that end something, where the open transaction begins."""

    log: tuple[str, ...]
    stable: int
    epoch: int
    last_sequence: int


@dataclass(frozen=True)
class Seen:
    """The coordinator and every partition at one moment; `raw` is what the partitions' leaders say, offsets included."""

    state: str
    epoch: int
    partitions: frozenset[int]
    ledgers: tuple[PartitionSeen, ...]
    raw: tuple[LedgerView, ...] = ()


def name_of(txn: int) -> str:
    """The value of a transaction's records: r0."""
    return f"r{txn}"


def text_of(entry: LogEntry) -> str:
    """A record's value as the model names it: r0; of an offset it is the metadata that it was committed with."""
    found = None if entry.is_marker else re.search(r"r\d+", entry.text)
    return entry.text if found is None else found.group()


def kept(entries: tuple[LogEntry, ...]) -> tuple[LogEntry, ...]:
    """The entries without markers that end nothing, which the model does not have."""
    found: list[LogEntry] = []
    for entry in entries:
        if not entry.is_marker or (found and not found[-1].is_marker):
            found.append(entry)
    return tuple(found)


def seen_of(coordinator: CoordinatorView, ledgers: tuple[LedgerView, ...], topics: tuple[str, ...]) -> Seen:
    """What brokers say, as the model has it."""
    members = frozenset(topics.index(name) for name in coordinator.topics if name in topics)
    state = coordinator.state
    partitions = [
        PartitionSeen(
            tuple(text_of(entry) for entry in kept(one.entries)),
            sum(entry.offset < one.stable for entry in kept(one.entries)),
            one.epoch,
            one.last_sequence,
        )
        for one in ledgers
    ]
    return Seen(state, coordinator.epoch, members if state in WITH_PARTITIONS else frozenset(), tuple(partitions), ledgers)


def modelled(state: Mapping[str, Any]) -> Seen:
    """What the model says."""
    coordinator = state["coordinator"]
    name = STATES[coordinator["state"]]
    # A coordinator strikes off a partition whose marker is written.
    left = coordinator["awaiting"] if name.startswith("Prepare") else coordinator["partitions"]
    members = frozenset[int](left) if name in WITH_PARTITIONS else frozenset[int]()
    ledgers = tuple(
        PartitionSeen(_texts(log), partition["lso"], partition["epoch"], partition["last_seq"])
        for log, partition in zip(state["log"], state["partition"], strict=True)
    )
    return Seen(name, coordinator["epoch"], members, ledgers)


def _texts(log: Mapping[str, Any]) -> tuple[str, ...]:
    entries = log["records"][: log["end"]]
    return tuple(
        name_of(one["txn"]) if one["txn"] is not None else "COMMIT" if one["commits"] else "ABORT" for one in entries
    )


def differences(state: Mapping[str, Any], seen: Seen) -> tuple[Difference, ...]:
    """In what brokers are not as the model says."""
    model = modelled(state)
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


# -- the promises ------------------------------------------------------------------------------------------------------


def ended(log: tuple[str, ...], result: str) -> list[str]:
    """The records that such a marker ends, in order."""
    found: list[str] = []
    run: list[str] = []
    for text in log:
        if text in ("COMMIT", "ABORT"):
            found += run if text == result else []
            run = []
        else:
            run.append(text)
    return found


def broken(seen: Seen, told: Mapping[int, str], inputs: Mapping[int, int] | None = None) -> dict[str, bool]:
    """By promise whether it is broken, of ZombieFenced nothing; `told` is by transaction what the client has been told.

    `inputs` are by transaction the input that it read, where the last partition has a group's offsets; None: it has none. Of
    an offset a copy may be readable beside one that is aborted, or twice.
    """
    has_offsets = inputs is not None
    readable = [ended(one.log, "COMMIT") for one in seen.ledgers]
    hidden = [ended(one.log, "ABORT") for one in seen.ledgers]
    if has_offsets:
        hidden[-1] = [name for name in hidden[-1] if name not in readable[-1]]
    shown = {name for names in readable for name in names}
    gone = {name for names in hidden for name in names}
    committed = {name_of(txn) for txn, what in told.items() if what == COMMITTED}
    asked = committed | {name_of(txn) for txn, what in told.items() if what == ASKED}
    aborted = {name_of(txn) for txn, what in told.items() if what == ABORTED}
    hangs = any(one.stable < len(one.log) and p not in seen.partitions for p, one in enumerate(seen.ledgers))
    pairs = list(zip(seen.ledgers, hidden, strict=True))
    whole = all(name in one.log and name not in aborted_here for name in committed for one, aborted_here in pairs)
    once = readable[:-1] if has_offsets else readable
    return {
        "AtomicTransactions": not whole,
        "NoAbortedRead": bool(aborted & shown),
        "NoTornTransaction": bool(shown & gone),
        "NoRecordOfAnother": not shown <= asked,
        "NoDuplicates": any(len(set(names)) < len(names) for names in once),
        "NoHangingTransaction": hangs,
        **({} if inputs is None else _of_inputs(seen, readable, hidden, inputs)),
    }


def _of_inputs(
    seen: Seen, readable: list[list[str]], hidden: list[list[str]], inputs: Mapping[int, int]
) -> dict[str, bool]:
    """Whether an input was processed twice, or passed over: results of it are not in all partitions but the last."""
    named = {name_of(txn): read for txn, read in inputs.items()}
    results = list(zip(seen.ledgers[:-1], hidden[:-1], strict=True))
    done = {read for name, read in named.items() if all(name in one.log and name not in gone for one, gone in results)}
    valid = named[readable[-1][-1]] + 1 if readable[-1] else 0
    return {
        "NoInputTwice": any(len({named[name] for name in names}) < len(set(names)) for names in readable[:-1]),
        "NoInputLost": not set(range(valid)) <= done,
    }
