"""Marking: the coordinator has every partition of a decided transaction write a marker.

WriteTxnMarkers, answered at once or late. Sources: `TransactionMarkerChannelManager`,
`TransactionMarkerRequestCompletionHandler`, `ProducerAppendInfo.appendEndTxnMarker`.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.state import none_of
from acked.model.language.telling import Fault, PlainStruct, Telling, Tells, Those, says_list
from acked.model.language.values import Bool
from acked.model.transactions import settings
from acked.model.transactions.common import (
    acknowledge,
    append_marker,
    is_preparing,
    is_state,
    may_act,
    renumber_coordinators,
    renumber_epochs,
    takes_marker,
)
from acked.model.transactions.state import Partition, State, TxnState
from acked.model.transactions.words import COORDINATOR, arrives, departs, is_lost, record_text, result

# -- words ------------------------------------------------------------------------------------------------------------

MARKER = "WriteTxnMarkers"
"""The channel of late requests, by the name that Kafka's protocol gives them."""

LATE_MARKER_PARTITION = Those(Partition, lambda t: t.before.late.marker.partition)


def marker_text(epoch: int, coordinator_epoch: int, commits: bool) -> str:
    """A WriteTxnMarkers request."""
    return f"{MARKER} (epoch {epoch}, coordinator epoch {coordinator_epoch}): {result(commits)}"


def _commits(s: State) -> Bool:
    return is_state(s, TxnState.PREPARE_COMMIT)


def _is_commit(t: Telling) -> bool:
    return bool(t.before.coordinator.state == TxnState.PREPARE_COMMIT)


def is_marking(coordinator: PlainStruct) -> bool:
    """Its transaction is decided, and the markers are on their way; of a state as it is told."""
    return coordinator.state in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)


def _text(t: Telling) -> str:
    coordinator = t.before.coordinator
    return marker_text(coordinator.epoch, coordinator.coordinator_epoch, _is_commit(t))


def _says_written(t: Telling, commits: bool) -> str:
    p = t.partition
    if t.before.log[p].end == t.after.log[p].end:
        return f"partition {p} writes the {result(commits)} marker, with no transaction open there"
    open_ones = t.before.log[p].records[t.before.partition[p].lso :]
    records = [record_text(t, entry.txn, p) for entry in open_ones]
    seen = ("is" if len(records) == 1 else "are") + (" readable" if commits else " aborted")
    return f"partition {p} writes the {result(commits)} marker, by which {says_list(records)} {seen}"


def _says_marker(t: Telling) -> str:
    done = "" if is_marking(t.after.coordinator) else "; the transaction is complete"
    return _says_written(t, _is_commit(t)) + done


def _require_due(s: State, partition: Partition) -> None:
    require("awaits its marker", s.coordinator.awaiting.contains(partition))
    if settings.waits.on:
        require("what it has loaded is committed", may_act(s))


def _write(s: State, partition: Partition) -> None:
    epoch, by = s.coordinator.epoch, s.coordinator.coordinator_epoch
    require("the partition accepts it", takes_marker(s, partition, epoch, by))
    append_marker(s, partition, epoch, by, _commits(s))


@action(
    says=_says_marker, actor=COORDINATOR,
    messages=(Tells(COORDINATOR, "partition", _text), Tells("partition", COORDINATOR, "written")),
)
def write_marker(s: State, partition: Partition) -> None:
    """A partition writes the marker of the transaction and says so; with the last one the transaction is complete."""
    _require_due(s, partition)
    _write(s, partition)
    acknowledge(s, partition)
    renumber_coordinators(s)
    renumber_epochs(s)


@action(
    says=lambda t: f"{_says_written(t, _is_commit(t))}; the coordinator misses that it was the last one",
    when=lambda: not settings.completion_noticed.on,
    actor=COORDINATOR, fault=Fault.UNHEARD,
    messages=(Tells(COORDINATOR, "partition", _text), Tells("partition", COORDINATOR, "written")),
)
def write_last_marker_unnoticed(s: State, partition: Partition) -> None:
    """The last answer comes while the coordinator is busy, and nobody completes the transaction (KAFKA-9777)."""
    coordinator = s.coordinator
    _require_due(s, partition)
    require("no other does", coordinator.awaiting.remove(partition).is_empty)
    _write(s, partition)
    coordinator.awaiting = none_of(Partition)
    renumber_coordinators(s)
    renumber_epochs(s)


@action(
    says=lambda t: f"the marker for partition {t.partition} is late; the coordinator will send it again",
    when=lambda: settings.late_marker.on,
    actor=COORDINATOR, fault=Fault.LATE, messages=(departs(COORDINATOR, "partition", _text, MARKER),),
)
def delay_marker(s: State, partition: Partition) -> None:
    """A WriteTxnMarkers is late; the coordinator sends it again."""
    coordinator, late = s.coordinator, s.late.marker
    _require_due(s, partition)
    require("no other is late", late.partition.is_none)
    late.partition = partition
    late.epoch = coordinator.epoch
    late.coordinator_epoch = coordinator.coordinator_epoch
    late.commits = _commits(s)


def _end_late_marker(s: State) -> None:
    late = s.late.marker
    late.partition = None
    late.epoch = -1
    late.coordinator_epoch = 0
    late.commits = False
    renumber_coordinators(s)
    renumber_epochs(s)


def _late_text(t: Telling) -> str:
    late = t.before.late.marker
    return marker_text(late.epoch, late.coordinator_epoch, late.commits)


@action(
    says=lambda t: f"a late marker arrives: {_says_written(t, t.before.late.marker.commits)}",
    when=lambda: settings.late_marker.on,
    actor="partition", messages=(arrives(COORDINATOR, LATE_MARKER_PARTITION, _late_text, MARKER),),
)
def late_marker_arrives(s: State, partition: Partition) -> None:
    """A late marker ends the transaction that is open in the partition, whichever that is; nobody waits for the answer."""
    late = s.late.marker
    require("one is on its way", late.partition == partition)
    require("the partition accepts it", takes_marker(s, partition, late.epoch, late.coordinator_epoch))
    append_marker(s, partition, late.epoch, late.coordinator_epoch, late.commits)
    _end_late_marker(s)


@action(
    says=lambda t: (
        f"partition {t.partition} refuses the late marker, and the coordinator, which sent it for a transaction before, "
        "gives up the markers of the present one"
    ),
    when=lambda: settings.late_marker.on and not settings.pending_by_epoch.on,
    actor="partition", messages=(
        arrives(COORDINATOR, LATE_MARKER_PARTITION, _late_text, MARKER),
        Tells("partition", COORDINATOR, "INVALID_PRODUCER_EPOCH"),
    ),
)
def late_marker_is_refused(s: State, partition: Partition) -> None:
    """The coordinator's list has one entry for each transactional id, and removes it whichever transaction it is of."""
    late, coordinator = s.late.marker, s.coordinator
    require("one is on its way", late.partition == partition)
    require("the partition refuses it", ~takes_marker(s, partition, late.epoch, late.coordinator_epoch))
    require("this coordinator sent it", late.coordinator_epoch == coordinator.coordinator_epoch)
    require("another transaction is in its markers", is_preparing(s) & (late.epoch != coordinator.epoch))
    coordinator.awaiting = none_of(Partition)
    _end_late_marker(s)


@action(
    says=lambda t: f"the late marker for partition {t.before.late.marker.partition} is lost or refused",
    when=lambda: settings.late_marker.on,
    actor=COORDINATOR, fault=Fault.LOST, messages=(is_lost(COORDINATOR, LATE_MARKER_PARTITION, _late_text, MARKER),),
)
def late_marker_is_lost(s: State) -> None:
    """A late marker is lost, or refused."""
    require("one is on its way", s.late.marker.partition.is_some)
    _end_late_marker(s)
