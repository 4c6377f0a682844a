"""What a frame says of a partition's replication: the few fields that gates choose by and the driver compares.

A topic is named as the frame names it: by its name, or since Kafka 2.8 and 3.1 often by its id in 32 hexadecimal digits.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from acked.base.frozen import frozen
from acked.cluster.wire.apis import Api
from acked.cluster.wire.codec import Unreadable, read_request, read_response, request_head


@frozen
class FetchPosition:
    """Where a replica fetches a partition from."""

    topic: str
    partition: int
    offset: int


@frozen
class FetchRequest:
    """A request for records. In a fetch session it names only what changed since the last one."""

    positions: tuple[FetchPosition, ...]
    forgets: bool = False
    """Whether it takes partitions out of the session, which are not fetched then."""


@frozen
class FetchedPartition:
    """What a leader answers of one partition. `diverging` is the end of an epoch to truncate to: (epoch, end offset)."""

    topic: str
    partition: int
    error: int
    diverging: tuple[int, int] | None = None


@frozen
class FetchResponse:
    """The answer to a fetch."""

    error: int
    partitions: tuple[FetchedPartition, ...]


@frozen
class PartitionState:
    """Leader (None: not told), epoch and ISR of a partition, as one node tells another: LeaderAndIsr and AlterPartition."""

    topic: str
    partition: int
    leader: int | None
    epoch: int
    isr: tuple[int, ...]


@frozen
class Registration:
    """What KRaft's controller answers to a broker that registers: the epoch in which the broker lives from now on."""

    error: int
    broker_epoch: int


@frozen
class Heartbeat:
    """What a broker of KRaft tells the controller of itself: up to which offset it has applied the log of metadata."""

    applied: int


Facts = FetchRequest | FetchResponse | Registration | Heartbeat | tuple[PartitionState, ...] | None
"""None: nothing that is compared, or a version that nothing here reads."""


def request_facts(payload: bytes) -> Facts:
    """What a request says."""
    api = request_head(payload).api
    if api not in (Api.FETCH, Api.LEADER_AND_ISR, Api.ALTER_PARTITION, Api.BROKER_HEARTBEAT):
        return None
    try:
        body = read_request(payload)
    except Unreadable:
        return None
    if api == Api.FETCH:
        positions = tuple(FetchPosition(_topic(topic), one.partition, one.fetch_offset) for topic, one in _each(body.topics))
        return FetchRequest(positions, bool(getattr(body, "forgotten_topics_data", ())))
    if api == Api.BROKER_HEARTBEAT:
        return Heartbeat(body.current_metadata_offset)
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
    if api not in (Api.FETCH, Api.BROKER_REGISTRATION):
        return None
    try:
        body = read_response(api, version, payload)
    except Unreadable:
        return None
    if api == Api.BROKER_REGISTRATION:
        return Registration(int(body.error_code), body.broker_epoch)
    partitions = []
    for topic, one in _each(body.responses):
        end = getattr(one, "diverging_epoch", None)
        diverging = (end.epoch, end.end_offset) if end is not None and end.epoch >= 0 else None
        partitions.append(FetchedPartition(_topic(topic), one.partition_index, int(one.error_code), diverging))
    return FetchResponse(int(getattr(body, "error_code", 0)), tuple(partitions))


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
