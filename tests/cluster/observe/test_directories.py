"""Copies of data directories: whose they are, and what differs between them, and from what lines led to."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from acked.base.errors import SpecUnreadable
from acked.cluster.observation.validation import Held
from acked.cluster.observe.acknowledgements import look_for, read_acknowledged, write_acknowledged
from acked.cluster.observe.directories import CLEANED, META, compare, find_directories, folders_of
from acked.cluster.observe.disk import EpochStart, partition_folder, write_epochs
from acked.cluster.wire.records import write_records

HELD = tuple(Held(broker, 3, 2, ((0, 0), (2, 2))) for broker in (0, 1))


def batch(offset: int, epoch: int, value: str) -> bytes:
    """A record as a broker writes it."""
    data = bytearray(write_records([value.encode()]))
    struct.pack_into(">q", data, 0, offset)
    struct.pack_into(">i", data, 12, epoch)
    return bytes(data)


def write(root: Path, broker: int, *batches: bytes) -> Path:
    """The directory of a broker that has t-0."""
    data = root / f"broker{broker}"
    folder = partition_folder(data, "t")
    folder.mkdir(parents=True)
    (folder / "00000000000000000000.log").write_bytes(b"".join(batches))
    write_epochs(folder, [EpochStart(0, 0), EpochStart(1, 2), EpochStart(2, 2)])
    (data / META).write_text(f"version=1\nnode.id={broker}\n", "utf-8")
    return data


@pytest.fixture
def same() -> list[bytes]:
    """Three batches of two epochs; between them epoch 1, in which nothing was appended."""
    return [batch(0, 0, "a"), batch(1, 0, "b"), batch(2, 2, "c")]


def folders(root: Path) -> dict[int, Path]:
    return dict(folders_of(find_directories([root]), "t", 0))


def test_directories_are_found_below_a_folder_and_say_whose_they_are(tmp_path: Path, same: list[bytes]) -> None:
    for broker in (0, 1):
        write(tmp_path, broker, *same)
    assert sorted(folders(tmp_path)) == [0, 1]
    found = compare(folders(tmp_path), HELD, 3)
    assert (found.brokers, found.batches, found.differences) == ((0, 1), 3, ())


def test_a_folder_that_is_no_directory_of_a_node_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecUnreadable, match=r"there is no meta\.properties; give a log\.dirs"):
        find_directories([tmp_path])
    (tmp_path / META).write_text("version=1\n", "utf-8")
    with pytest.raises(SpecUnreadable, match=r"names no node\.id and no broker\.id"):
        find_directories([tmp_path])


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ([batch(0, 0, "a"), batch(1, 0, "x"), batch(2, 2, "c")], "below the high watermark 3 the replicas differ: broker"),
        ([batch(0, 0, "a"), batch(1, 1, "b"), batch(2, 2, "c")], "are of epoch 0 from 0, epoch 1 from 1, epoch 2 from 2"),
        ([batch(0, 0, "a"), batch(1, 0, "b")], "ends at offset 2, and by its lines it ends at 3"),
    ],
)
def test_what_differs_is_named(tmp_path: Path, same: list[bytes], other: list[bytes], says: str) -> None:
    write(tmp_path, 0, *same)
    write(tmp_path, 1, *other)
    assert any(says in text for text in compare(folders(tmp_path), HELD, 3).differences)


def test_above_the_high_watermark_replicas_may_differ(tmp_path: Path, same: list[bytes]) -> None:
    write(tmp_path, 0, *same)
    write(tmp_path, 1, *same[:2], batch(2, 2, "another"))
    assert compare(folders(tmp_path), HELD, 2).differences == ()


def test_a_checkpoint_of_epochs_that_is_not_of_this_log_is_named(tmp_path: Path, same: list[bytes]) -> None:
    write(tmp_path, 0, *same)
    write_epochs(folders(tmp_path)[0], [EpochStart(0, 0), EpochStart(2, 1)])
    [text] = compare(folders(tmp_path), HELD[:1], 3).differences
    assert "leader-epoch-checkpoint says epoch 0 from 0, epoch 2 from 1" in text


def test_acknowledged_records_are_looked_for_at_every_broker_that_is_in_sync(tmp_path: Path, same: list[bytes]) -> None:
    for broker in (0, 1):
        write(tmp_path, broker, *same)
    file = tmp_path / "acknowledged.csv"
    write_acknowledged(file, {0: b"a", 1: b"b", 2: b"c"})
    found = look_for(read_acknowledged(file), HELD, {0, 1}, folders(tmp_path))
    assert (found.records, found.brokers, found.values, found.missing, found.unread) == (3, (0, 1), 6, (), ())
    write_acknowledged(file, {1: b"B", 5: b"late"})
    told = " ".join(look_for(read_acknowledged(file), HELD, {1}, folders(tmp_path)).missing)
    assert "(another record, or none, is there on its disk), at offsets 1" in told
    assert "(its log ends at 3), at offsets 5" in told


def test_json_lines_are_read_and_without_disks_only_log_ends_decide(tmp_path: Path) -> None:
    file = tmp_path / "acknowledged.jsonl"
    file.write_text('{"offset": 2, "value": "c"}\n\n{"offset": 3}\n', "utf-8")
    found = look_for(read_acknowledged(file), HELD, {0}, {})
    assert (found.records, found.values) == (2, 0)
    told = "1 acknowledged record is not there (its log ends at 3), at offsets 3"
    assert found.missing == (f"broker 0, which is in sync: {told}",)


def test_a_record_without_an_offset_is_looked_for_by_its_value(tmp_path: Path, same: list[bytes]) -> None:
    """Idempotent producers are told none of a record that they sent twice: null of librdkafka's wrappers, -1 in Java."""
    for broker in (0, 1):
        write(tmp_path, broker, *same)
    file = tmp_path / "acknowledged.jsonl"
    file.write_text('{"offset": null, "value": "b"}\n{"offset": -1, "value": "lost"}\n', "utf-8")
    found = look_for(read_acknowledged(file), HELD, {0, 1}, folders(tmp_path))
    assert (found.records, found.values) == (2, 4)
    assert len(found.missing) == 2
    assert "1 acknowledged record is not there (another record, or none, is there on its disk), of" in found.missing[0]
    without = look_for(read_acknowledged(file), HELD, {0, 1}, {})
    assert (without.missing, without.unread) == (
        (), ("2 records without an offset could not be looked for: that takes values, and --data",)
    )  # fmt: skip


@pytest.mark.parametrize("text", [
    "topic,partition,offset\norders,0,1\norders,1,7\npayments,0,8\n",
    '{"partition": 0, "offset": 1}\n{"partition": 1, "offset": 7}\n',
])  # fmt: skip
def test_of_a_file_that_names_partitions_the_records_of_one_count(tmp_path: Path, text: str) -> None:
    file = tmp_path / "acknowledged"
    file.write_text(text, "utf-8")
    assert [one.offset for one in read_acknowledged(file, "orders", 0)] == [1]


def test_what_retention_has_deleted_is_no_difference_where_the_lines_tell_it(tmp_path: Path) -> None:
    batches = [batch(1, 0, "b"), batch(2, 2, "c")]  # Of one moment: the time is in them.
    for broker in (0, 1):
        write(tmp_path, broker, *batches)
        segment = next(folders(tmp_path)[broker].glob("*.log"))
        segment.rename(segment.with_name(f"{1:020d}.log"))
        write_epochs(folders(tmp_path)[broker], [EpochStart(0, 1), EpochStart(2, 2)])
    told = tuple(replace(held, start=1) for held in HELD)
    assert compare(folders(tmp_path), told, 3).differences == ()
    assert "begins at offset 1, and by its lines at 0" in compare(folders(tmp_path), HELD, 3).differences[0]
    file = tmp_path / "acknowledged.csv"
    write_acknowledged(file, {0: b"a", 1: b"b"})
    found = look_for(read_acknowledged(file), told, {0}, folders(tmp_path))
    assert (found.missing, found.values) == ((), 1)
    assert "below which 1 record could not be looked for" in found.unread[0]


def test_batches_of_a_compacted_log_are_not_compared_and_that_is_told(tmp_path: Path) -> None:
    write(tmp_path, 0, batch(0, 0, "a"), batch(2, 2, "c"))
    place = folders(tmp_path)[0]
    topic, _, partition = place.name.rpartition("-")
    (place.parent / CLEANED).write_text(f"0\n1\n{topic} {partition} 2\n", "utf-8")
    found = compare(folders(tmp_path), HELD[:1], 3)
    assert (found.differences, found.batches) == ((), 0)
    assert "have gaps, as compaction leaves them" in found.unread[0]


def test_a_gap_in_a_log_that_nobody_compacted_is_a_lost_batch(tmp_path: Path) -> None:
    write(tmp_path, 0, batch(0, 0, "a"), batch(2, 2, "c"))
    (folders(tmp_path)[0].parent / CLEANED).write_text("0\n1\nanother 0 2\n", "utf-8")
    found = compare(folders(tmp_path), HELD[:1], 3)
    assert "has nothing from offset 1 up to 2" in found.differences[0]
    assert found.unread == ()


def test_where_nobody_is_in_sync_nothing_was_looked_for_and_that_is_told(tmp_path: Path) -> None:
    file = tmp_path / "acknowledged.csv"
    write_acknowledged(file, {0: b"a"})
    found = look_for(read_acknowledged(file), HELD, (), {})
    assert found.brokers == ()
    assert "no record was looked for" in found.unread[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("value\na\n", r"1: no column is named offset"),
        ("offset,value\n-2,a\n", r"2: '-2' is no offset"),
        ("offset\n-1\n", r"2: '-1' is no offset.*none, with its value"),
        ('{"value": "a"}\n', r"1: no offset is named"),
        ('{"offset": true}\n', r"1: True is no offset"),
        ("{offset}\n", r"1: this line is no JSON"),
    ],
)
def test_a_file_that_says_something_else_is_an_error_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "file"
    file.write_text(text, "utf-8")
    with pytest.raises(SpecUnreadable, match=says):
        list(read_acknowledged(file))
