"""Lines that say of one step, or of one partition epoch, what cannot both be so are found, and named with what they say."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from acked.cluster.lines.recording import Recording
from acked.cluster.observation.events import Event, Says
from tests.observations import LINES

APPENDED = "UnifiedLog partition=t-0, dir=/kafka/data1] Appended message set with last offset: 0,"
CHANGED = "partition change for t-0 with topic ID JdYA3o5kRW2TmephMRTPFg: isr: [0, 1, 2] -> [1, 2],"
REPLAYED = "topicId=JdYA3o5kRW2TmephMRTPFg, isr=[1, 2], leader=1,"


def contradictions(tmp_path: Path, run: str, node: str, part: str, *instead: str) -> list[Event]:
    """What contradicts itself in a run of which one line of a node has others in its place, each with another text."""
    for file in (LINES / run).glob("*.gz"):
        lines = gzip.decompress(file.read_bytes()).decode().splitlines()
        if file.stem == f"{node}.log":
            [at] = [number for number, line in enumerate(lines) if part in line]
            lines[at : at + 1] = [lines[at].replace(part, text) for text in instead]
        (tmp_path / file.stem).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    recording = Recording([str(tmp_path)], "t", 0)
    recording.begin()
    return [event for event in recording.events() if event.says is Says.CONTRADICTS]


@pytest.mark.parametrize(("run", "node", "part", "instead", "says"), [
    ("k4-s1", "1", APPENDED, (APPENDED, APPENDED), "the line is there twice, of the same thread"),
    ("k4-s1", "1", APPENDED, (APPENDED.replace("t: 0", "t: 1"),), "the line says last offset 1 and next offset 1"),
    ("k4-s1", "0", "last offset: 1, first", ("last offset: 2, first",), "the line says last offset 2 and next offset 2"),
    ("k4-s3", "100", CHANGED, (CHANGED.replace("[1, 2]", "[2]"),), "of the same change isr {1, 2}, and the one"),
    ("k4-s3", "100", REPLAYED, (REPLAYED.replace("leader=1", "leader=2"),), "of the same change leader 2, and"),
    ("k4-s1", "1", "from offset 0 with partition epoch 0", ("from offset 0 with partition epoch 1",),
     "the line says partition epoch 1, and no controller's does"),
    ("k4-s3", "2", "starts at leader epoch 1 from offset 1 with partition epoch 1",
     ("starts at leader epoch 1 from offset 1 with partition epoch 0",), "of partition epoch 0 "),
    ("k4-s1", "1", "replica log end offset 0 for partition t-0. Received 0 bytes", (), "what became of an answer"),
    ("k4-s1", "1", "with initial high watermark 0", ("with initial high watermark 1",), "the line says HW 1 of a log"),
])  # fmt: skip
def test_what_cannot_both_be_so_is_named(
    tmp_path: Path, run: str, node: str, part: str, instead: tuple[str, ...], says: str
) -> None:
    found = contradictions(tmp_path, run, node, part, *instead)
    assert len(found) >= 1
    assert says in found[0]["wrong"]


@pytest.mark.parametrize("run", ["k39-s3", "k4-s3", "k4-s5"])
def test_recorded_lines_contradict_nothing(run: str) -> None:
    recording = Recording([str(LINES / run)], "t", 0)
    recording.begin()
    assert not [event for event in recording.events() if event.says is Says.CONTRADICTS]
