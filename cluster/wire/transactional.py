"""The requests of a transactional producer, and those that tell how transactions stand (KIP-98, KIP-664, KIP-890).

Every request is asked of one given broker and nothing is retried. A client of `transaction_version` 2 is known by the
versions of its requests: EndTxn from 5 on, whose answer has the next producer epoch, and Produce from 12 on, whose partitions
the leader adds to the transaction.
"""

from __future__ import annotations

import math
from typing import Any

from acked.base.frozen import frozen
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import ALL_REPLICAS, Client
from acked.cluster.wire.codec import Values
from acked.cluster.wire.records import LogEntry, read_entries, write_records

NO_ERROR = 0
COORDINATOR_AWAY = frozenset({14, 15, 16})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR: a client asks again."""
CONCURRENT = 51
"""CONCURRENT_TRANSACTIONS: the end of the one before is not complete; a client asks again."""
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1
_TIMEOUT_MS = 60_000
_NOT_FOUND = 105
"""TRANSACTIONAL_ID_NOT_FOUND."""


@frozen
class Identity:
    """Under which producer id and epoch an instance writes; −1 and −1 before it is initialised."""

    producer: int = -1
    epoch: int = -1


@frozen
class Asked:
    """A request as it is sent: its API, version and fields; its answer is read by `error_of`."""

    api: Api
    version: int
    values: Values

    def send(self, ask: Client) -> None:
        """Sends it; the answer is read by `receive`."""
        ask.send(self.api, self.values, self.version)

    def receive(self, ask: Client) -> tuple[int, Identity]:
        """The error of the answer, and the identity that it gives, (−1, −1) if it gives none."""
        body = ask.receive(self.api, self.version)
        if self.api is Api.PRODUCE:
            return int(body.responses[0].partition_responses[0].error_code), Identity()
        if self.api is Api.TXN_OFFSET_COMMIT:
            return int(body.topics[0].partitions[0].error_code), Identity()
        if self.api is Api.ADD_PARTITIONS_TO_TXN:
            [topic] = body.results_by_topic_v3_and_below
            return int(topic.results_by_partition[0].partition_error_code), Identity()
        given = Identity(getattr(body, "producer_id", -1), getattr(body, "producer_epoch", -1))
        return int(body.error_code), given


def init_request(transactional_id: str, timeout_ms: int, named: Identity | None = None) -> Asked:
    """InitProducerId; `named` is the identity that a client asks another epoch for (KIP-360)."""
    values: dict[str, object] = {"transactional_id": transactional_id, "transaction_timeout": timeout_ms}
    if named is None:
        return Asked(Api.INIT_PRODUCER_ID, 1, values)
    return Asked(Api.INIT_PRODUCER_ID, 4, {**values, "producer_id": named.producer, "producer_epoch": named.epoch})


def add_request(transactional_id: str, mine: Identity, topic: str, partition: int = 0) -> Asked:
    """AddPartitionsToTxn for one partition of a topic."""
    values = {
        "v3_and_below_transactional_id": transactional_id,
        "v3_and_below_producer_id": mine.producer,
        "v3_and_below_producer_epoch": mine.epoch,
        "v3_and_below_topics": [{"name": topic, "partitions": (partition,)}],
    }
    return Asked(Api.ADD_PARTITIONS_TO_TXN, 1, values)


def produce_request(transactional_id: str, mine: Identity, topic: str, value: str, sequence: int, is_v2: bool,
                    partition: int = 0) -> Asked:  # fmt: skip
    """Produce with one record of the transaction."""
    batch = write_records([value.encode()], True, mine.producer, mine.epoch, sequence, is_transactional=True)
    data = {"index": partition, "records": batch}
    values = {"transactional_id": transactional_id, "acks": ALL_REPLICAS, "timeout": _TIMEOUT_MS,
              "topic_data": [{"name": topic, "partition_data": [data]}]}  # fmt: skip
    return Asked(Api.PRODUCE, 12 if is_v2 else 3, values)


def add_offsets_request(transactional_id: str, mine: Identity, group: str) -> Asked:
    """AddOffsetsToTxn: the partition in which the group's offsets are."""
    values = {"transactional_id": transactional_id, "producer_id": mine.producer, "producer_epoch": mine.epoch,
              "group_id": group}  # fmt: skip
    return Asked(Api.ADD_OFFSETS_TO_TXN, 1, values)


def offset_request(
    transactional_id: str, mine: Identity, group: str, topic: str, offset: int, note: str, is_v2: bool
) -> Asked:
    """TxnOffsetCommit of a group's offset in the one partition of a topic; `note` is its metadata, which stays in the log."""
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": note}
    values = {"transactional_id": transactional_id, "group_id": group, "producer_id": mine.producer,
              "producer_epoch": mine.epoch, "topics": [{"name": topic, "partitions": [partition]}]}  # fmt: skip
    return Asked(Api.TXN_OFFSET_COMMIT, 5 if is_v2 else 2, values)


def committed_offset(ask: Client, group: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """Error, and the group's committed offset in one partition of a topic, 0 if there is none."""
    body = ask.ask(Api.OFFSET_FETCH, {"group_id": group, "topics": [{"name": topic, "partition_indexes": (partition,)}]}, 2)
    if body.error_code:
        return int(body.error_code), 0
    [found] = body.topics[0].partitions
    return int(found.error_code), max(found.committed_offset, 0)


def end_request(transactional_id: str, mine: Identity, commits: bool, is_v2: bool) -> Asked:
    """EndTxn."""
    values = {"transactional_id": transactional_id, "producer_id": mine.producer, "producer_epoch": mine.epoch,
              "committed": commits}  # fmt: skip
    return Asked(Api.END_TXN, 5 if is_v2 else 1, values)


# -- how transactions stand --------------------------------------------------------------------------------------------


@frozen
class CoordinatorView:
    """The coordinator's state of a transactional id: Empty with epoch −1 if it knows nothing of it."""

    state: str
    epoch: int
    topics: frozenset[str]


@frozen
class LedgerView:
    """What a partition's leader has: its log, last stable offset and high watermark, and its entry for the producer id.

    `epoch` and `last_sequence` are −1 where it has none. `readable` are the records that a consumer in read_committed is
    served, in order.
    """

    entries: tuple[LogEntry, ...]
    stable: int
    high_watermark: int
    epoch: int
    last_sequence: int
    readable: tuple[LogEntry, ...]


def describe_id(ask: Client, transactional_id: str) -> tuple[int, CoordinatorView]:
    """Error, and the coordinator's state (since 3.0)."""
    body = ask.ask(Api.DESCRIBE_TRANSACTIONS, {"transactional_ids": (transactional_id,)}, 0)
    [one] = body.transaction_states
    if int(one.error_code) == _NOT_FOUND:
        return NO_ERROR, CoordinatorView("Empty", -1, frozenset())
    topics = frozenset(str(topic.topic) for topic in one.topics)
    return int(one.error_code), CoordinatorView(one.transaction_state, one.producer_epoch, topics)


def describe_partition(ask: Client, topic: str, producer: int) -> tuple[int, LedgerView]:
    """Error, and what the leader has of the topic's one partition (since 2.8)."""
    body = ask.ask(Api.DESCRIBE_PRODUCERS, {"topics": [{"name": topic, "partition_indexes": (0,)}]}, 0)
    [found] = body.topics[0].partitions
    entry = next((one for one in found.active_producers if one.producer_id == producer), None)
    error, stable, high, entries, _ = _fetch(ask, topic, _READ_UNCOMMITTED)
    error_2, stable, high, served, aborted = _fetch(ask, topic, _READ_COMMITTED)
    epoch, last = (-1, -1) if entry is None else (entry.producer_epoch, entry.last_sequence)
    view = LedgerView(entries, stable, high, epoch, last, _without_aborted(served, aborted))
    return int(found.error_code) or error or error_2, view


def _fetch(ask: Client, topic: str, isolation: int) -> tuple[int, int, int, tuple[LogEntry, ...], list[tuple[int, int]]]:
    """Error, last stable offset, high watermark, what is served, and where aborted transactions begin, by producer id."""
    one = ask.fetch_partition(topic, isolation=isolation)
    return _served(one)


@frozen
class CommittedRead:
    """What a consumer in read_committed is given from an offset: records that it keeps, and where it goes on."""

    error: int
    kept: tuple[LogEntry, ...]
    position: int


def read_committed(ask: Client, topic: str, partition: int, offset: int) -> CommittedRead:
    """Asks a leader for what is committed from an offset on (KIP-98)."""
    error, _, _, served, aborted = _served(ask.fetch_partition(topic, offset, _READ_COMMITTED, partition=partition))
    kept = tuple(entry for entry in _without_aborted(served, aborted) if entry.offset >= offset)
    return CommittedRead(error, kept, max((entry.offset + 1 for entry in served), default=offset))


def _served(one: Any) -> tuple[int, int, int, tuple[LogEntry, ...], list[tuple[int, int]]]:
    """What `_fetch` returns, of an answer in kio's form."""
    aborted = [(found.producer_id, found.first_offset) for found in one.aborted_transactions or ()]
    return int(one.error_code), one.last_stable_offset, one.high_watermark, read_entries(one.records or b""), aborted


def _without_aborted(served: tuple[LogEntry, ...], aborted: list[tuple[int, int]]) -> tuple[LogEntry, ...]:
    """The records that a consumer in read_committed keeps: the leader names where aborted transactions begin (KIP-98)."""
    kept = []
    for entry in served:
        if entry.is_marker:
            continue
        begun = [first for producer, first in aborted if producer == entry.producer and first <= entry.offset]
        ends = [one.offset for one in served if one.is_marker and one.producer == entry.producer and one.text == "ABORT"]
        # A fetch ends with its segment, which the marker may be beyond.
        if not any(entry.offset < min((end for end in ends if end > first), default=math.inf) for first in begun):
            kept.append(entry)
    return tuple(kept)
