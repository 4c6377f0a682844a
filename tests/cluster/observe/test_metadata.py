"""The metadata log of a real KRaft cluster says what its controller's own lines say, and damaged ones are refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from acked.checker.errors import SpecUnreadable
from acked.checker.observation.events import CONTROLLER, Event, Says
from acked.cluster.lines.recorded import Recording
from acked.cluster.observe.metadata import FOLDER, controller_events
from tests.observations import OBSERVED

FIRST = "00000000000000000000.log"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A node's directory with the metadata log that a run of `acked exercise --kafka 4.1.0 --seed 12` left."""
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
