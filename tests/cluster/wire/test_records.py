"""Records in both formats, held against kafka-python's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from acked.cluster.wire.records import Damaged, batches, read_entries, read_records, write_records

VALUES = st.lists(st.binary(max_size=40), min_size=1, max_size=5)


def independent(data: bytes) -> list[bytes | None]:
    found: list[bytes | None] = []
    read: Any = MemoryRecords(data)
    while (batch := read.next_batch()) is not None:
        assert batch.validate_crc()
        found += [record.value for record in batch]
    return found


@given(VALUES, st.booleans())
def test_records_that_are_written_are_those_that_kafka_python_reads(values: list[bytes], epochs: bool) -> None:
    assert independent(write_records(values, epochs)) == values


def test_a_batch_of_an_idempotent_producer_is_what_kafka_python_reads_as_one() -> None:
    read: Any = MemoryRecords(write_records([b"r0"], True, 5, 2, 9))
    batch = read.next_batch()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (5, 2, 9)


@given(VALUES, st.booleans())
def test_records_that_are_written_are_read_again(values: list[bytes], epochs: bool) -> None:
    found = read_records(write_records(values, epochs, 5, 0, 9) if epochs else write_records(values, epochs))
    assert [record.value for record in found] == values
    assert {record.epoch for record in found} == {-1 if epochs else None}
    if epochs:
        assert [(record.producer, record.sequence) for record in found] == [(5, 9 + number) for number in range(len(values))]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_records_that_kafka_python_writes_are_read(magic: int) -> None:
    builder: Any = (
        DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
        if magic == 2
        else LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=1 << 20)
    )
    for offset, value in enumerate((b"a", None, b"")):
        builder.append(offset, timestamp=1000 + offset, key=b"k", value=value, **({"headers": []} if magic == 2 else {}))
    assert [record.value for record in read_records(bytes(builder.build()))] == [b"a", None, b""]


@pytest.mark.parametrize("epochs", [False, True])
def test_an_unfinished_batch_at_the_end_is_left_out_and_a_damaged_one_is_an_error(epochs: bool) -> None:
    whole, next_one = write_records([b"one"], epochs), write_records([b"two"], epochs)
    assert [batch.size for batch in batches(whole + next_one[:-1])] == [len(whole)]
    damaged = bytearray(whole)
    damaged[-2] ^= 1
    with pytest.raises(Damaged):
        read_records(bytes(damaged))


@pytest.mark.parametrize("data", [
    b"\0" * 8 + b"\0\0\0\1" + b"a", b"\0" * 8 + b"\0\0\0\4" + b"aaaa", b"\0" * 8 + b"\0\0\0\5" + b"\0" * 5,
])  # fmt: skip
def test_a_batch_that_is_too_short_to_be_one_is_damaged(data: bytes) -> None:
    for read in (read_records, read_entries):
        with pytest.raises(Damaged):
            read(data)
