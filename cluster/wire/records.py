"""Records as they lie in log segments, Produce requests and Fetch responses: message format 1 (to 0.10) and 2 (since 0.11).

kio reads and writes format 2; format 1, which Kafka 4 forgot, is here.
"""

from __future__ import annotations

import io
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, RecordBatch
from kio.records.schema import Record as KioRecord
from kio.records.writers import write_new_batch

from acked.base.frozen import frozen

_HEAD = struct.Struct(">qi")
_MESSAGE = struct.Struct(">Ibb")
_CONTROL, _TRANSACTIONAL, _COMPRESSION = 0x20, 0x10, 0x07
_RESULTS = {b"\x00\x00": "ABORT", b"\x00\x01": "COMMIT"}
"""What a marker's key says after its version (`ControlRecordType`)."""
MAGIC_AT = 16


@frozen
class Record:
    """A record at its place. `epoch` is the leader's that appended it, None in format 1; `value` None is a tombstone."""

    offset: int
    epoch: int | None
    value: bytes | None
    producer: int = -1
    sequence: int = -1

    @property
    def text(self) -> str:
        """The value as the tests write it."""
        return "" if self.value is None else self.value.decode("utf-8", "replace")


@frozen
class Batch:
    """Where a batch lies in some bytes, and its records; in format 1 a batch is one message."""

    position: int
    size: int
    base_offset: int
    records: tuple[Record, ...]


class Damaged(ValueError):
    """A batch whose checksum is wrong, or that is compressed, which no driver of ours does."""


def batches(data: bytes) -> Iterator[Batch]:
    """The whole batches in some bytes, in order; an unfinished one at the end is left out, as Kafka does. `Damaged`."""
    position = 0
    while position + _HEAD.size <= len(data):
        base, length = _HEAD.unpack_from(data, position)
        end = position + _HEAD.size + length
        if length <= 0 or end > len(data):
            return
        if length + _HEAD.size <= MAGIC_AT:
            raise Damaged(f"a batch of {length} bytes at byte {position}")
        magic = data[position + MAGIC_AT]
        records = _batch_records(data, position) if magic >= 2 else _message_records(data, position, base)
        yield Batch(position, end - position, base, records)
        position = end


def read_records(data: bytes) -> tuple[Record, ...]:
    """The records in some bytes, without those that only mark transactions. `Damaged`."""
    return tuple(record for batch in batches(data) for record in batch.records)


@frozen
class LogEntry:
    """A record of a transaction, or the marker that ends one: its value, or COMMIT or ABORT."""

    offset: int
    producer: int
    text: str
    is_marker: bool


def read_entries(data: bytes) -> tuple[LogEntry, ...]:
    """Records and markers in some bytes of format 2, in order. `Damaged`."""
    found: list[LogEntry] = []
    for one in batches(data):
        batch = _batch(data, one.position)
        if batch.attributes & _CONTROL:
            key = next(iter(batch.records)).key or b""
            text = _RESULTS.get(key[2:4], "other")
            found.append(LogEntry(one.base_offset, batch.producer_id, text, True))
        else:
            found += [LogEntry(record.offset, batch.producer_id, record.text, False) for record in one.records]
    return tuple(found)


def write_records(values: Sequence[bytes], epochs: bool = True, producer: int = -1, producer_epoch: int = -1,
                  sequence: int = -1, is_transactional: bool = False) -> bytes:  # fmt: skip
    """Records of these values as a client sends them, in format 2, or without leader epochs in format 1.

    `is_transactional`: they belong to the producer's transaction.
    """
    if not epochs:
        return b"".join(_message(value) for value in values)
    now = datetime.fromtimestamp(int(time.time()), UTC)
    written = [KioRecord(attributes=0, timestamp=now, offset=number, key=None, value=value, headers=())  # type: ignore[arg-type]
               for number, value in enumerate(values)]  # fmt: skip
    batch = NewRecordBatch(
        producer_id=producer,  # type: ignore[arg-type]
        producer_epoch=producer_epoch,  # type: ignore[arg-type]
        partition_leader_epoch=-1,  # type: ignore[arg-type]
        base_sequence=sequence,  # type: ignore[arg-type]
        records=tuple(written),
        attributes=_TRANSACTIONAL if is_transactional else 0,  # type: ignore[arg-type]
    )
    buffer = io.BytesIO()
    write_new_batch(buffer, batch)
    return buffer.getvalue()


def _batch_records(data: bytes, position: int) -> tuple[Record, ...]:
    batch = _batch(data, position)
    if batch.attributes & _COMPRESSION:
        raise Damaged(f"a compressed batch at byte {position}")
    if batch.attributes & _CONTROL:
        return ()
    first = batch.base_sequence
    return tuple(
        Record(one.offset, batch.partition_leader_epoch, one.value, batch.producer_id, first + number if first >= 0 else -1)
        for number, one in enumerate(batch.records)
    )


def _batch(data: bytes, position: int) -> RecordBatch:
    try:
        batch, _ = read_batch(data, position)
    except (ValueError, OverflowError, IndexError) as error:
        raise Damaged(f"a batch at byte {position}: {error}") from None
    return batch


def _message_records(data: bytes, position: int, offset: int) -> tuple[Record, ...]:
    try:
        return _message_at(data, position, offset)
    except struct.error as error:
        raise Damaged(f"a message at byte {position}: {error}") from None


def _message_at(data: bytes, position: int, offset: int) -> tuple[Record, ...]:
    start = position + _HEAD.size
    (length,) = struct.unpack_from(">i", data, position + 8)
    checksum, magic, attributes = _MESSAGE.unpack_from(data, start)
    if zlib.crc32(data[start + 4 : start + length]) != checksum:
        raise Damaged(f"a message at byte {position} has a wrong checksum")
    if attributes & _COMPRESSION:
        raise Damaged(f"a compressed message at byte {position}")
    at = start + _MESSAGE.size + (8 if magic == 1 else 0)
    _, at = _bytes(data, at)
    value, _ = _bytes(data, at)
    return (Record(offset, None, value),)


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    (length,) = struct.unpack_from(">i", data, at)
    return (None, at + 4) if length < 0 else (data[at + 4 : at + 4 + length], at + 4 + length)


def _message(value: bytes) -> bytes:
    body = struct.pack(">bbqi", 1, 0, int(time.time() * 1000), -1) + struct.pack(">i", len(value)) + value
    return _HEAD.pack(0, len(body) + 4) + struct.pack(">I", zlib.crc32(body)) + body
