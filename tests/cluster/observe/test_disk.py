"""A replica on disk: what is read of it, and what the death of a machine leaves."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from acked.base.errors import SystemFailure
from acked.cluster.observe.disk import (
    EPOCHS,
    HIGH_WATERMARKS,
    EpochStart,
    log_lines,
    lose_page_cache,
    partition_folder,
    read_epochs,
    read_high_watermarks,
    read_log,
    read_replica,
    write_epochs,
    write_high_watermark,
)
from acked.cluster.wire.records import write_records


def batch(offset: int, epoch: int, value: bytes, epochs: bool = True) -> bytes:
    """A record as a broker writes it: at its offset, and in format 2 with the leader's epoch, which no checksum covers."""
    data = bytearray(write_records([value], epochs))
    struct.pack_into(">q", data, 0, offset)
    if epochs:
        struct.pack_into(">i", data, 12, epoch)
    return bytes(data)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A replica of t-0 with two segments, three records of two epochs, and checkpoints."""
    folder = partition_folder(tmp_path, "t")
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(0, 0, b"r0") + batch(1, 2, b"r1"))
    (folder / f"{2:020}.log").write_bytes(batch(2, 2, b"r2"))
    for offset in (0, 2):
        for kind in ("index", "timeindex"):
            (folder / f"{offset:020}.{kind}").write_bytes(b"x")
    write_epochs(folder, [EpochStart(0, 0), EpochStart(2, 1)])
    (tmp_path / HIGH_WATERMARKS).write_text("0\n2\nt 0 2\nother 3 9\n")
    return tmp_path


def test_a_replica_is_its_records_its_epochs_and_its_high_watermark(data: Path) -> None:
    found = read_replica(1, data, "t")
    assert [(record.offset, record.epoch, record.text) for record in found.log] == [(0, 0, "r0"), (1, 2, "r1"), (2, 2, "r2")]
    assert found.epochs == (EpochStart(0, 0), EpochStart(2, 1))
    assert found.high_watermark == 2
    assert found.values == ("r0", "r1", "r2")


def test_a_replica_that_is_not_there_is_empty(tmp_path: Path) -> None:
    found = read_replica(0, tmp_path, "t")
    assert (found.log, found.epochs, found.high_watermark) == ((), None, None)


def test_a_replica_of_the_old_format_has_no_epochs(tmp_path: Path) -> None:
    folder = partition_folder(tmp_path, "t")
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(0, 0, b"r0", False) + batch(1, 0, b"r1", False))
    assert [(record.offset, record.epoch) for record in read_log(folder)] == [(0, None), (1, None)]
    lose_page_cache(folder, 1)
    assert [record.text for record in read_log(folder)] == ["r0"]
    assert read_epochs(folder) is None


@pytest.mark.parametrize(("flushed", "left"), [(0, 0), (1, 1), (2, 2), (3, 3)])
def test_the_death_of_a_machine_leaves_what_was_flushed(data: Path, flushed: int, left: int) -> None:
    folder = partition_folder(data, "t")
    lose_page_cache(folder, flushed)
    assert [record.offset for record in read_log(folder)] == list(range(left))
    assert read_epochs(folder) == tuple(one for one in (EpochStart(0, 0), EpochStart(2, 1)) if one.offset < flushed)
    assert list(folder.glob("*index")) == []
    assert read_replica(0, data, "t").high_watermark == 2, "checkpoints are written through to the disk"
    assert (folder / f"{0:020}.log").is_file(), "the first segment stays, empty or not"
    assert (folder / f"{2:020}.log").is_file() == (flushed > 2)


def test_a_damaged_segment_is_one_sentence(data: Path) -> None:
    segment = partition_folder(data, "t") / f"{2:020}.log"
    content = bytearray(segment.read_bytes())
    content[-3] ^= 1
    segment.write_bytes(content)
    with pytest.raises(SystemFailure, match=r"0002\.log cannot be read: a batch at byte 0"):
        read_replica(0, data, "t")


def test_lines_of_a_brokers_log_are_found_from_a_place_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("INFO Truncating to 1\nINFO else\n")
    start = log.stat().st_size
    with open(log, "a") as file:
        file.write("INFO truncated\n")
    assert log_lines(log, "[Tt]runcat") == ("INFO Truncating to 1", "INFO truncated")
    assert log_lines(log, "[Tt]runcat", start) == ("INFO truncated",)
    assert log_lines(tmp_path / "none", "x") == ()


def test_epochs_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    write_epochs(tmp_path, [EpochStart(3, 7)])
    assert (tmp_path / EPOCHS).read_text() == "0\n1\n3 7\n"


def test_another_high_watermark_is_written_beside_those_of_other_partitions(data: Path, tmp_path: Path) -> None:
    write_high_watermark(data, "t", 1)
    assert read_high_watermarks(data) == {("t", 0): 1, ("other", 3): 9}
    assert (data / HIGH_WATERMARKS).read_text() == "0\n2\nother 3 9\nt 0 1\n"
    empty = tmp_path / "empty"
    empty.mkdir()
    write_high_watermark(empty, "t", 5)
    assert read_high_watermarks(empty) == {("t", 0): 5}
