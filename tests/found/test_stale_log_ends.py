"""Stale log ends (gallery row 36) on Kafka's own `Partition`, and the control that no release offers: a mended broker.

The mended class is made from the release's own: `makeLeader` resets what it knows of its followers' logs if
`isNewLeaderEpoch`, in place of `isNewLeader`. In the class file that is one byte.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from acked.cluster.releases.jars import Jars
from acked.cluster.reports.reproductions.verdict import Control, control_of
from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.java import SOURCES, compiled, kafka, mended, ran
from tests.found.playing.plays import play_mended

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

CLASSES_OF = {"4.4.0": "4.3", "4.3.1": "4.3", "3.9.1": "3.9", "3.4.1": "3.4"}
"""By release, whose classes a leader is registered with: the folder of `Registered.java`."""
PARTITION = "kafka/cluster/Partition.class"

NOT_FETCHED = "epoch 2, 2 has the record and 1 has not fetched"
RED = {"epoch 0, 1 has the record": (1, -1, 0), NOT_FETCHED: (1, 1, 1)}
GREEN = {
    "epoch 0, 1 has the record": (1, -1, 0),
    NOT_FETCHED: (-1, 1, 0),
    "epoch 2, 1 fetches from its own end": (0, 1, 0),
    "epoch 2, 1 has the record again": (1, 1, 1),
}
"""The log ends that broker 0 knows of 1 and 2, and its high watermark, as far as the assertions let it come."""


def said(text: str) -> dict[str, tuple[int, int, int]]:
    found = re.findall(r"^(.+): log end of 1 (-?\d+), of 2 (-?\d+), high watermark (-?\d+)$", text, re.MULTILINE)
    return {when: (int(one), int(two), int(high)) for when, one, two, high in found}


def only_difference(jars: Jars, folder: Path) -> int:
    """In how many bytes the mended class differs from the release's, which is as long."""
    own = next(path for path in jars.paths if path.name.startswith("kafka_2"))
    before, after = zipfile.ZipFile(own).read(PARTITION), (folder / PARTITION).read_bytes()
    return sum(one != other for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("version", CLASSES_OF)
def test_a_leader_elected_again_commits_what_a_follower_had_truncated_and_the_mended_one_waits(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars, classes = kafka(version), tmp_path / "classes"
    classes.mkdir()
    sources = (SOURCES / "Filled.java", SOURCES / "StaleLogEnds.java", SOURCES / CLASSES_OF[version] / "Registered.java")
    compiled(jars.class_path, sources, classes)
    red = ran((classes, jars.class_path), "StaleLogEnds")
    print(version, red.stdout)
    assert said(red.stdout) == RED
    assert "AssertionError: the high watermark is 1, expected 0" in red.stderr
    folder = mended("Partition", jars, tmp_path)
    assert only_difference(jars, folder) == 1
    green = ran((classes, folder, jars.class_path), "StaleLogEnds")
    print(version, "mended", green.stdout)
    assert said(green.stdout) == GREEN, green.stderr
    assert green.returncode == 0


def test_brokers_with_the_mended_class_part_from_the_trace_at_the_step_of_the_fix_and_acknowledge_nothing(
    users_cache: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    version = "4.4.0"
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    promise, kept = play_mended("stale-ends-bug", "Partition", version, monkeypatch, tmp_path)
    print(kept.reason, kept.last)
    assert kept.parted is not None, kept.last
    assert kept.parted.index == 14, kept.reason
    assert control_of(promise, kept) is Control.KEEPS, kept.last
    assert kept.reason == "the producer of r0 has no answer, and in the model it is acknowledged"
