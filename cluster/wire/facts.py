"""What a frame says of a partition's replication: the few fields that gates choose by and observers compare.

A topic is named as the frame names it: by its name, or since Kafka 2.8 and 3.1 often by its id in 32 hexadecimal digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from acked.cluster.wire.apis import Api
from acked.cluster.wire.codec import Unreadable, read_request, read_response, request_head
from acked.cluster.wire.records import Damaged, Record, read_records


@dataclass(frozen=True)
class FetchPosition:
    """Where a replica fetches a partition from. `current_epoch` since KIP-320 (2.1), `last_epoch` since KIP-595 (2.7)."""

    topic: str
    partition: int
    offset: int
    current_epoch: int | None = None
    last_epoch: int | None = None

    def __str__(self) -> str:
        epoch = "" if self.current_epoch in (None, -1) else f" in epoch {self.current_epoch}"
        last = "" if self.last_epoch in (None, -1) else f" after epoch {self.last_epoch}"
        return f"{self.topic}-{self.partition} at offset {self.offset}{epoch}{last}"


@dataclass(frozen=True)
class FetchRequest:
    """A request for records. In a fetch session it names only what changed since the last one."""

    replica: int | None
    session: int
    positions: tuple[FetchPosition, ...]
    forgets: bool = False
    """Whether it takes partitions out of the session, which are not fetched then."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.positions)) or "nothing changed"


@dataclass(frozen=True)
class FetchedPartition:
    """What a leader answers of one partition. `diverging` is the end of an epoch to truncate to: (epoch, end offset)."""

    topic: str
    partition: int
    error: int
    high_watermark: int
    records: tuple[Record, ...]
    diverging: tuple[int, int] | None = None

    def __str__(self) -> str:
        if self.error:
            return f"{self.topic}-{self.partition} error {self.error}"
        held = f"records {self.records[0].offset} to {self.records[-1].offset}" if self.records else "no records"
        cut = f", truncate to the end {self.diverging[1]} of epoch {self.diverging[0]}" if self.diverging else ""
        return f"{self.topic}-{self.partition} {held}, high watermark {self.high_watermark}{cut}"


@dataclass(frozen=True)
class FetchResponse:
    """The answer to a fetch."""

    error: int
    partitions: tuple[FetchedPartition, ...]

    def __str__(self) -> str:
        return f"error {self.error}" if self.error else "; ".join(map(str, self.partitions)) or "nothing new"


@dataclass(frozen=True)
class EpochQuestion:
    """Where does the leader say that an epoch ends?"""

    topic: str
    partition: int
    epoch: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} end of epoch {self.epoch}"


@dataclass(frozen=True)
class EpochEnd:
    """Where an epoch ends, by the leader's answer; epoch None in the first version of the protocol."""

    topic: str
    partition: int
    error: int
    epoch: int | None
    end_offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} error {self.error} epoch {self.epoch} ends at {self.end_offset}"


@dataclass(frozen=True)
class PartitionState:
    """Leader, epoch and ISR of a partition, as one node tells another: LeaderAndIsr and AlterPartition."""

    topic: str
    partition: int
    leader: int | None
    epoch: int
    isr: tuple[int, ...]
    error: int = 0

    def __str__(self) -> str:
        leader = "" if self.leader is None else f" leader {self.leader}"
        return f"{self.topic}-{self.partition}{leader} epoch {self.epoch} ISR {list(self.isr)}"


@dataclass(frozen=True)
class ProducedPartition:
    """The answer to a producer."""

    topic: str
    partition: int
    error: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} error {self.error} offset {self.offset}"


@dataclass(frozen=True)
class Registration:
    """What KRaft's controller answers to a broker that registers: the epoch in which the broker lives from now on."""

    error: int
    broker_epoch: int


@dataclass(frozen=True)
class Heartbeat:
    """What a broker of KRaft tells the controller of itself: up to which offset it has applied the log of metadata."""

    applied: int


OfPartition = EpochQuestion | EpochEnd | PartitionState | ProducedPartition
Facts = FetchRequest | FetchResponse | Registration | Heartbeat | tuple[OfPartition, ...] | None
"""None: nothing that is compared, or a version that nothing here reads."""


_REQUESTS = (Api.FETCH, Api.OFFSET_FOR_LEADER_EPOCH, Api.LEADER_AND_ISR, Api.ALTER_PARTITION, Api.BROKER_HEARTBEAT)
"""Those of which something is compared."""


def request_facts(payload: bytes) -> Facts:
    """What a request says."""
    api = request_head(payload).api
    if api not in _REQUESTS:
        return None
    try:
        body = read_request(payload)
    except Unreadable:
        return None
    if api == Api.FETCH:
        return _fetch_request(body)
    if api == Api.BROKER_HEARTBEAT:
        return Heartbeat(body.current_metadata_offset)
    if api == Api.OFFSET_FOR_LEADER_EPOCH:
        return tuple(EpochQuestion(_topic(topic), one.partition, one.leader_epoch) for topic, one in _each(body.topics))
    if api == Api.LEADER_AND_ISR:
        grouped = [(_topic(topic), one) for topic in getattr(body, "topic_states", ()) for one in topic.partition_states]
        grouped += [(one.topic_name, one) for one in getattr(body, "ungrouped_partition_states", ())]
        return tuple(PartitionState(name, it.partition_index, it.leader, it.leader_epoch, it.isr) for name, it in grouped)
    return tuple(
        PartitionState(_topic(topic), one.partition_index, None, one.leader_epoch, _new_isr(one))
        for topic, one in _each(body.topics)
    )


def response_facts(api: int, version: int, payload: bytes) -> Facts:
    """What a response says."""
    if api not in (Api.PRODUCE, Api.FETCH, Api.OFFSET_FOR_LEADER_EPOCH, Api.ALTER_PARTITION, Api.BROKER_REGISTRATION):
        return None
    try:
        body = read_response(api, version, payload)
        if api == Api.FETCH:
            return _fetch_response(body)
    except (Unreadable, Damaged):
        return None
    if api == Api.BROKER_REGISTRATION:
        return Registration(int(body.error_code), body.broker_epoch)
    if api == Api.PRODUCE:
        named = [(_topic(topic), one) for topic in body.responses for one in topic.partition_responses]
        return tuple(ProducedPartition(name, one.index, int(one.error_code), one.base_offset) for name, one in named)
    if api == Api.OFFSET_FOR_LEADER_EPOCH:
        return tuple(
            EpochEnd(_topic(topic), one.partition, int(one.error_code), getattr(one, "leader_epoch", None), one.end_offset)
            for topic, one in _each(body.topics)
        )
    return tuple(
        PartitionState(_topic(topic), it.partition_index, it.leader_id, it.leader_epoch, tuple(it.isr), int(it.error_code))
        for topic, it in _each(body.topics)
    )


def _fetch_request(body: Any) -> FetchRequest:
    state = getattr(body, "replica_state", None)
    replica = getattr(body, "replica_id", None) if state is None else state.replica_id
    positions = tuple(
        FetchPosition(
            _topic(topic),
            one.partition,
            one.fetch_offset,
            getattr(one, "current_leader_epoch", None),
            getattr(one, "last_fetched_epoch", None),
        )
        for topic, one in _each(body.topics)
    )
    forgets = bool(getattr(body, "forgotten_topics_data", ()))
    return FetchRequest(replica, getattr(body, "session_id", 0), positions, forgets)


def _fetch_response(body: Any) -> FetchResponse:
    partitions = []
    for topic, one in _each(body.responses):
        end = getattr(one, "diverging_epoch", None)
        diverging = (end.epoch, end.end_offset) if end is not None and end.epoch >= 0 else None
        records = read_records(one.records or b"") if _topic(topic) not in METADATA_TOPIC else ()
        partitions.append(
            FetchedPartition(_topic(topic), one.partition_index, int(one.error_code), one.high_watermark, records, diverging)
        )
    return FetchResponse(int(getattr(body, "error_code", 0)), tuple(partitions))


METADATA_TOPIC = ("__cluster_metadata", UUID(int=1).hex)
"""KRaft's log of metadata by its name and by its id; its records have a format of their own."""


def _each(topics: Any) -> list[tuple[Any, Any]]:
    return [(topic, one) for topic in topics for one in topic.partitions]


def _topic(topic: Any) -> str:
    for name in ("topic", "name", "topic_name", "topic_id"):
        value = getattr(topic, name, None)
        if value:
            return value.hex if isinstance(value, UUID) else str(value)
    return ""


def _new_isr(partition: Any) -> tuple[int, ...]:
    with_epochs = getattr(partition, "new_isr_with_epochs", None)
    return tuple(partition.new_isr) if with_epochs is None else tuple(one.broker_id for one in with_epochs)
