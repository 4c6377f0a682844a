"""The metadata log of a KRaft cluster as it lies in every node's data directory: what the controller decided, in its order.

`__cluster_metadata-0` has every change of a partition as a record, with the controller's clock: complete where its first
segment is still there, and needing no logging at all. Frames and records are those of KIP-746 and of Kafka's
`metadata/src/main/resources/common/metadata/*.json`: a frame version, the record's number and version, and then fields in the
flexible encoding of KIP-482. Only what tells of one partition and of who is fenced is read; the rest is passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum, unique
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from kio.records.readers import read_batch
from kio.serial.readers import read_compact_string, read_int8, read_int32, read_int64, read_unsigned_varint, read_uuid

from acked.base.errors import SpecUnreadable
from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observe.disk import segments

T = TypeVar("T")
FOLDER = "__cluster_metadata-0"
_HEAD = struct.Struct(">qi")
_CONTROL_BATCH = 0x20
_NO_CHANGE = -2
"""What a change says of a leader that stays (`LeaderConstants.NO_LEADER_CHANGE`)."""


@unique
class Kind(IntEnum):
    """Records by their numbers (`MetadataRecordType`), those that are read."""

    TOPIC = 2
    PARTITION = 3
    PARTITION_CHANGE = 5
    FENCE_BROKER = 7
    UNFENCE_BROKER = 8
    REMOVE_TOPIC = 9
    REGISTRATION_CHANGE = 17


class Garbled(ValueError):
    """Bytes that are no metadata record."""


@dataclass
class _Fields:
    """The fields of one record, read from left to right."""

    data: bytes
    at: int = 0

    def take(self, read: Callable[[bytes, int], tuple[T, int]]) -> T:
        """The next field, by one of kio's readers."""
        try:
            value, size = read(self.data, self.at)
        except Exception as error:  # kio raises what the bytes happen to lead to.
            raise Garbled(repr(error)) from None
        self.at += size
        return value

    def brokers(self) -> list[int] | None:
        """A compact array of broker ids; None if it is null."""
        count = self.take(read_unsigned_varint) - 1
        if count > len(self.data):
            raise Garbled("a list longer than the record")
        return None if count < 0 else [self.take(read_int32) for _ in range(count)]

    def tags(self) -> dict[int, _Fields]:
        """The optional fields at the end, by their tags."""
        count = self.take(read_unsigned_varint)
        return {self.take(read_unsigned_varint): _Fields(self.take(_read_sized)) for _ in range(count)}


def _read_sized(data: bytes, at: int) -> tuple[bytes, int]:
    """Bytes after their number, as those of a tagged field."""
    size, begin = read_unsigned_varint(data, at)
    found = data[at + begin : at + begin + size]
    if len(found) < size:
        raise ValueError("it ends too early")
    return found, begin + size


@dataclass
class _Partition:
    """What the records so far say of the partition: which topic it is of, and what its next change begins from."""

    topic: str
    number: int
    ids: set[UUID | None] = field(default_factory=set)
    isr: frozenset[int] = frozenset()
    replicas: frozenset[int] = frozenset()
    epoch: int = 0
    version: int = 0


def controller_events(data: Path, topic: str, partition: int) -> tuple[Event, ...]:
    """What a node's copy of the metadata log says of a partition, from its creation on; empty if there is nothing.

    `data` is the node's `metadata.log.dir`. An event's `line` is the record's offset in the metadata log. `SpecUnreadable` if
    the beginning is gone, which snapshots take, or if bytes are damaged.
    """
    folder, known = data / FOLDER, _Partition(topic, partition)
    found: list[Event] = []
    for segment in segments(folder):
        try:
            for offset, at, value in _records(segment.read_bytes()):
                event = _event(known, value, at, str(segment), offset)
                if event is not None:
                    found.append(event)
        except (Garbled, OSError) as error:
            raise SpecUnreadable(f"{segment} cannot be read as a metadata log: {error}") from None
    files = segments(folder)
    if files and int(files[0].stem) > 0 and not any(event.says is Says.CREATES for event in found):
        raise SpecUnreadable(
            f"{folder} begins at offset {int(files[0].stem)}, after the creation of {topic}-{partition}: a snapshot took "
            "what was before it; copy the directory earlier, or give the controllers' log files"
        )
    return tuple(found)


def _records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Offset, time in ms since 1970, and value of every record; an unfinished batch at the end is left out."""
    position = 0
    while position + _HEAD.size <= len(data):
        _, length = _HEAD.unpack_from(data, position)
        if length <= 0 or position + _HEAD.size + length > len(data):
            return
        try:
            batch, size = read_batch(data, position)
        except (ValueError, OverflowError, IndexError) as error:
            raise Garbled(f"a batch at byte {position}: {error}") from None
        if not batch.attributes & _CONTROL_BATCH:
            for record in batch.records:
                if record.value is not None:
                    yield record.offset, int(batch.base_timestamp), record.value
        position += size


def _event(known: _Partition, value: bytes, at: int, file: str, offset: int) -> Event | None:
    fields = _Fields(value)
    fields.take(read_unsigned_varint)  # The version of the frame, which is 1.
    kind = int(fields.take(read_unsigned_varint))
    fields.take(read_unsigned_varint)  # The version of the record, which has more fields behind those that are read.
    match kind:
        case Kind.TOPIC:
            name = fields.take(read_compact_string)
            if name == known.topic:
                known.ids.add(fields.take(read_uuid))
        case Kind.REMOVE_TOPIC:
            known.ids.discard(fields.take(read_uuid))
        case Kind.PARTITION | Kind.PARTITION_CHANGE:
            number, topic = fields.take(read_int32), fields.take(read_uuid)
            if number == known.number and topic in known.ids:
                if kind == Kind.PARTITION:
                    says, told = Says.CREATES, _creation(known, fields)
                else:
                    says, told = Says.CHANGES, _change(known, fields, f"{file}: the record at offset {offset}")
                return Event(at, CONTROLLER, says, told, file, offset, _text(says, told, offset))
        case Kind.FENCE_BROKER | Kind.UNFENCE_BROKER | Kind.REGISTRATION_CHANGE:
            broker = fields.take(read_int32)
            is_fenced = _is_fenced(fields, kind)
            if is_fenced is not None:
                says = Says.FENCES if is_fenced else Says.UNFENCES
                return Event(at, CONTROLLER, says, {"broker": broker}, file, offset, _text(says, {"broker": broker}, offset))
    return None


def _creation(known: _Partition, fields: _Fields) -> dict[str, Any]:
    replicas, isr = fields.brokers() or [], fields.brokers() or []
    fields.brokers()
    fields.brokers()
    leader = fields.take(read_int32)
    known.epoch, known.version = fields.take(read_int32), fields.take(read_int32)
    known.isr, known.replicas = frozenset(isr), frozenset(replicas)
    return {
        "replicas": frozenset(replicas), "isr": known.isr, "leader": leader, "epoch": known.epoch, "version": known.version,
    }  # fmt: skip


def _change(known: _Partition, fields: _Fields, where: str) -> dict[str, Any]:
    """A change: what it does not name stays; the leader epoch rises where it names one (`PartitionRegistration.merge`)."""
    tags = fields.tags()
    replicas = tags[2].brokers() if 2 in tags else None
    moving = [tags[tag].brokers() for tag in (3, 4) if tag in tags]  # Those that are removed, and those that are added.
    if any(moving) or (replicas is not None and set(replicas) != known.replicas):
        raise SpecUnreadable(
            f"{where} of the metadata log tells of a reassignment of {known.topic}-{known.number}, which acked does not "
            "read, so what it tells would be lost"
        )
    was, leader = known.isr, tags[1].take(read_int32) if 1 in tags else _NO_CHANGE
    isr = tags[0].brokers() if 0 in tags else None
    known.isr = was if isr is None else frozenset(isr)
    known.version += 1
    told: dict[str, Any] = {"was": was, "isr": known.isr, "version": known.version, "recorded": True}
    if leader != _NO_CHANGE:
        known.epoch += 1
        told["leader"] = leader
    told["epoch"] = known.epoch
    if 6 in tags and (elr := tags[6].brokers()) is not None:
        told["elr"] = frozenset(elr)
    return told


def _is_fenced(fields: _Fields, kind: int) -> bool | None:
    """Whether a broker is fenced by a record, None if that stays."""
    if kind != Kind.REGISTRATION_CHANGE:
        return kind == Kind.FENCE_BROKER
    fields.take(read_int64)
    tags = fields.tags()
    change = tags[0].take(read_int8) if 0 in tags else 0
    return None if change == 0 else change > 0


def _text(says: Says, told: dict[str, Any], offset: int) -> str:
    shown = ", ".join(
        f"{name}={sorted(value) if isinstance(value, frozenset) else value}"
        for name, value in told.items() if name != "recorded"
    )  # fmt: skip
    names = {Says.CREATES: "PartitionRecord", Says.CHANGES: "PartitionChangeRecord"}
    name = names.get(says, "BrokerRegistrationChangeRecord")
    return f"offset {offset} of the metadata log: {name}({shown})"
