"""Releases of Kafka as settings of `transactions`: which rules brokers and clients of that release have.

A profile is of a cluster whose brokers and clients are of one release; `transaction_version` is that of a new cluster. Older
clients with newer brokers are asked for by the constants themselves.

Sources: the Kafka source at the release tags (`TransactionCoordinator`, `TransactionMetadata`, `ProducerAppendInfo`,
`ProducerStateManager`, `UnifiedLog`), KIPs and JIRA ids as the rules name them.
"""

from __future__ import annotations

from dataclasses import dataclass

from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, Setting, known_version
from acked.model.transactions import settings

LATEST = "latest"
"""The newest release with every known fix."""

VERSIONS = (
    "0.11", "0.11.0.2", "1.0", "1.1", "2.0", "2.0.1", "2.1", "2.2", "2.3", "2.4", "2.4.1", "2.5", "2.6", "2.7", "2.8",
    "2.8.1", "3.0", "3.1", "3.2", "3.3", "3.4", "3.4.1", "3.5", "3.5.1", "3.6", "3.7", "3.8", "3.9", "3.9.1", "4.0",
    "4.0.1", "4.1", "4.2", "4.3", "4.4", LATEST,
)  # fmt: skip
"""Releases at which something changed here or in another protocol, and those in between, oldest first."""


@dataclass(frozen=True)
class Change:
    """From a release on a constant has another value."""

    constant: Constant
    since: str
    value: bool | int | str
    source: str


_KEEPS_EPOCH = "TransactionManager.maybeTransitionToErrorState of 2.5.0 to 4.4.0: not while it is completing"
CHANGES: tuple[Change, ...] = (
    Change(settings.transaction_version, "0.11", 1, "KIP-98"),
    Change(settings.transaction_version, "4.0", 2, "KIP-890 part 2: transaction.version=2 on new clusters, clients of 4.0"),
    Change(settings.timeout_bumps_epoch, "0.11", False, "0.11.0.0: abortTimedOutTransactions names the epoch as it is"),
    Change(settings.timeout_bumps_epoch, "0.11.0.2", True, "KAFKA-6119 (0.11.0.2 and 1.0.0): prepareFenceProducerEpoch"),
    Change(settings.marker_time_kept, "0.11", False, "0.11.0.0: appendEndTxnMarker keeps the time of the last record"),
    Change(settings.marker_time_kept, "2.4.1", True, "KAFKA-9144 (2.4.1, 2.5.0): appendEndTxnMarker sets lastTimestamp"),
    Change(settings.unknown_producers_accepted, "0.11", False, "0.11.0.0: UNKNOWN_PRODUCER_ID"),
    Change(settings.unknown_producers_accepted, "2.5", True, "KIP-360"),
    Change(settings.client_bumps_epoch, "0.11", settings.NEVER, "0.11.0.0: InitProducerId names no producer epoch"),
    Change(settings.client_bumps_epoch, "2.5", settings.KNOWN, f"KIP-360; {_KEEPS_EPOCH}"),
    Change(settings.verification, "0.11", False, "0.11.0.0: a partition's leader asks nobody"),
    Change(settings.verification, "3.6", True, "KIP-890 part 1, KAFKA-14402: transaction.partition.verification.enable"),
    Change(settings.offsets_verified, "0.11", False, "0.11.0.0: a group's coordinator asks nobody"),
    Change(settings.offsets_verified, "3.7", True, "KAFKA-15449: handleTxnCommitOffsets of 3.7.0 verifies, too"),
    Change(settings.guard_unique, "0.11", True, "KAFKA-14884: in 3.6.0 from the start, without effect before"),
    Change(settings.completion_noticed, "0.11", False, "0.11.0.0: DelayedTxnMarker in a purgatory"),
    Change(settings.completion_noticed, "2.6", True, "KAFKA-9777: a map of transactions with pending markers instead"),
    Change(settings.pending_by_epoch, "0.11", False, "0.11.0.0: removeMarkersForTxnId, whatever the epoch"),
    Change(settings.pending_by_epoch, "3.8", True, "KAFKA-16352: only the entry that the request belongs to is removed"),
    Change(settings.fence_takes_one_epoch, "0.11", True, "KIP-98: prepareFenceProducerEpoch"),
    Change(settings.fence_takes_one_epoch, "4.0", False, "4.0.0: prepareAbortOrCommit adds one to the epoch of the fence"),
    Change(settings.fence_takes_one_epoch, "4.0.1", True, "KAFKA-19367 (4.0.1 and 4.1.0)"),
    Change(settings.marker_epoch_above, "0.11", False, "0.11.0.0: checkProducerEpoch refuses lower epochs only"),
    Change(settings.marker_epoch_above, "4.2", True, "KAFKA-19446: checkProducerEpoch of 4.2.0; not that of 4.0.2 and 4.1.2"),
    Change(settings.marker_retry_taken, "0.11", True, "KAFKA-19999: in 4.2.0 with KAFKA-19446, without effect before"),
)
"""Every rule that a release changed, oldest first for each constant."""


def changes_of(version: str) -> dict[str, Change]:
    """By constant the change that decides it in a release, with its source."""
    at = VERSIONS.index(version)
    return {change.constant.name: change for change in CHANGES if VERSIONS.index(change.since) <= at}


def profile(version: str | None, control_plane: str | None) -> dict[str, Setting]:
    """The rules of a release; `ModelError` if there is no such release, or a control plane is named."""
    if control_plane is not None:
        raise ModelError("transactions are the same with ZooKeeper and KRaft; remove the control plane")
    wanted = known_version(version, VERSIONS)
    return {
        name: Setting(change.constant.read(change.value), change.source) for name, change in changes_of(wanted).items()
    }
