"""The metadata log of a real KRaft cluster says what its controller's own lines say, and damaged ones are refused."""

from __future__ import annotations

import base64
import gzip
import io
import re
import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch

from acked.base.errors import SpecUnreadable
from acked.cluster.lines.recording import Recording
from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observe.metadata import FOLDER, controller_events
from tests.observations import OBSERVED

FIRST = "00000000000000000000.log"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A node's directory with the metadata log that a run of `acked kafka exercise --kafka 4.1.0 --seed 12` left."""
    folder = tmp_path / "node" / FOLDER
    folder.mkdir(parents=True)
    (folder / FIRST).write_bytes(gzip.decompress((OBSERVED / "metadata" / "4.1.0.log.gz").read_bytes()))
    return tmp_path / "node"


def lines_of_the_controller() -> list[Event]:
    recording = Recording([str(OBSERVED / "metadata" / "4.1.0-controller.txt.gz")], "exercise", 0)
    return [recording.begin().created, *recording.events()]


def test_records_say_what_the_controllers_lines_say(data: Path) -> None:
    records = [event for event in controller_events(data, "exercise", 0) if event.says in (Says.CREATES, Says.CHANGES)]
    lines = lines_of_the_controller()
    assert len(records) == len(lines) > 30
    assert [event["version"] for event in records] == list(range(len(records)))
    for record, line in zip(records, lines, strict=True):
        assert record.by == line.by == CONTROLLER
        assert abs(record.at - line.at) < 1_000
        assert record["version"] == line["version"]
        assert line.get("isr") in (None, record["isr"])
        if line.says is not Says.COMMITS_ISR and line.get("leader") is not None:
            assert record["leader"] == line["leader"]
        assert line.get("epoch") in (None, record["epoch"])
    assert any(event.get("elr") for event in records)
    assert "offset 22 of the metadata log: PartitionRecord(replicas=[0, 1, 2]" in records[0].text


def test_who_is_fenced_and_unfenced_is_told(data: Path) -> None:
    told = [(event.says, event["broker"]) for event in controller_events(data, "exercise", 0) if "broker" in event.fields]
    assert {(Says.UNFENCES, 0), (Says.UNFENCES, 1), (Says.UNFENCES, 2)} <= set(told)
    assert any(says is Says.FENCES for says, _ in told)


@pytest.mark.parametrize(("topic", "partition"), [("exercise", 1), ("other", 0), ("exercis", 0)])
def test_other_partitions_have_no_changes(data: Path, topic: str, partition: int) -> None:
    assert not [event for event in controller_events(data, topic, partition) if "isr" in event.fields]


def test_a_copy_that_was_made_while_the_node_wrote_is_read_up_to_the_last_whole_batch(data: Path) -> None:
    segment = data / FOLDER / FIRST
    whole = controller_events(data, "exercise", 0)
    segment.write_bytes(segment.read_bytes()[:-40])
    cut = controller_events(data, "exercise", 0)
    assert 0 < len(cut) <= len(whole)
    assert [event.text for event in cut] == [event.text for event in whole[: len(cut)]]


def brokers(*ids: int) -> bytes:
    """Broker ids as a compact array (KIP-482)."""
    return bytes([1 + len(ids)]) + b"".join(struct.pack(">i", broker) for broker in ids)


def change_at_the_end(data: Path, tag: int, value: bytes) -> None:
    """Adds a batch with one PartitionChangeRecord of `exercise-0`, which has one tagged field."""
    text = gzip.decompress((OBSERVED / "metadata" / "4.1.0-controller.txt.gz").read_bytes()).decode()
    named = re.search(r"topic ID ([\w-]{22})", text)
    assert named is not None
    topic = base64.urlsafe_b64decode(named[1] + "==")
    record = b"\x01\x05\x00" + struct.pack(">i", 0) + topic + bytes([1, tag, len(value)]) + value
    added, at = io.BytesIO(), datetime(2026, 11, 23, 12, tzinfo=UTC)
    write_new_batch(added, NewRecordBatch(
        partition_leader_epoch=1, attributes=0, producer_id=-1, producer_epoch=-1, base_sequence=-1,
        records=(Record(attributes=0, timestamp=at, offset=900_000, key=None, value=record, headers=()),),
    ))  # fmt: skip
    with (data / FOLDER / FIRST).open("ab") as segment:
        segment.write(added.getvalue())


@pytest.mark.parametrize(("tag", "value"), [(2, brokers(0, 1)), (3, brokers(2)), (4, brokers(3))])
def test_a_reassignment_is_refused_with_its_record(data: Path, tag: int, value: bytes) -> None:
    change_at_the_end(data, tag, value)
    with pytest.raises(SpecUnreadable, match=r"0\.log: the record at offset 900000 of .* tells of a reassignment"):
        controller_events(data, "exercise", 0)


@pytest.mark.parametrize(("tag", "value"), [(2, brokers(2, 0, 1)), (3, brokers()), (4, brokers())])
def test_another_order_of_the_same_replicas_is_none(data: Path, tag: int, value: bytes) -> None:
    before = controller_events(data, "exercise", 0)
    change_at_the_end(data, tag, value)
    *same, last = controller_events(data, "exercise", 0)
    assert [event.text for event in same] == [event.text for event in before]
    assert (last.line, last.says) == (900_000, Says.CHANGES)


def test_damage_is_an_error(data: Path) -> None:
    segment = data / FOLDER / FIRST
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    segment.write_bytes(damaged)
    with pytest.raises(SpecUnreadable, match="cannot be read as a metadata log: a batch at byte"):
        controller_events(data, "exercise", 0)


def test_a_log_whose_beginning_a_snapshot_took_is_an_error(data: Path) -> None:
    (data / FOLDER / FIRST).rename(data / FOLDER / "00000000000000004000.log")
    later = controller_events(data, "exercise", 0)
    assert later  # The creation is in it, by its contents.
    with pytest.raises(SpecUnreadable, match="begins at offset 4000, after the creation of other-0"):
        controller_events(data, "other", 0)


def test_a_directory_without_a_metadata_log_says_nothing(tmp_path: Path) -> None:
    assert controller_events(tmp_path, "exercise", 0) == ()
