"""What coordinators' lines say of loads and generations: recorded ones are valid; each promise that they may contradict."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from acked.base.errors import SpecUnreadable
from acked.cli import main
from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.nodes.plan import make_plan
from acked.cluster.releases.release import Mode
from acked.cluster.topics.topic import Topic
from acked.cluster.validating.coordinators import judge_coordinators
from acked.cluster.waiting import wait_for
from acked.cluster.wire.groups import Membership, commit_offsets, join
from tests.cluster.conftest import real_plan, users_cache
from tests.places import CHECKOUT

__all__ = ["users_cache"]

RECORDED = CHECKOUT / "tests/data/observed/coordinators"
TOPIC = "__consumer_offsets"
COMMAND = ["-t", TOPIC, "--coordinators"]


def judged(folder: Path) -> list[tuple[str, str]]:
    return [(one.promise, one.text) for one in judge_coordinators([str(folder)], TOPIC).breaches]


@pytest.mark.parametrize("release", ["4.3.1", "3.9.1"])
def test_what_brokers_logged_is_valid_and_told_in_both_forms(release: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "validate", str(RECORDED / release), *COMMAND, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["brokers"] == [0, 1, 2]
    assert len({one["broker"] for one in document["loads"]}) == 3
    assert document["unloads"] >= 2
    assert document["generations"] >= 3
    assert document["groups"] == ["readers"]
    assert main(["kafka", "validate", str(RECORDED / release), *COMMAND]) == 0
    assert "nothing contradicts a promise" in capsys.readouterr().out


def tamper(release: str, to: Path, pattern: str, change: str, last: bool = True) -> str:
    """A copy with the last line, or the first, that has a pattern changed; the place of that line."""
    shutil.copytree(RECORDED / release, to)
    found = []
    for file in sorted(to.glob("*.log")):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if re.search(pattern, line):
                found.append((line[:23], file, number))
    _, file, number = sorted(found)[-1 if last else 0]
    lines = file.read_text("utf-8").splitlines(keepends=True)
    lines[number - 1] = re.sub(pattern, change, lines[number - 1])
    file.write_text("".join(lines), "utf-8")
    return f"{file.name}:{number}"


@pytest.mark.parametrize("release", ["4.3.1", "3.9.1"])
@pytest.mark.parametrize(
    ("pattern", "change", "promise"),
    [
        (r"(Stabilized group readers generation) \d+", r"\1 1", "ReplacedOwnersAreFenced"),
        (r"(Finished loading .* epoch) \d+", r"\1 0", "one owner in an epoch|foreign load"),
        (r"(Finished unloading .* epoch \D*)\d+(?!.* and 0 cached)", r"\g<1>0", "LoadingEnds, KAFKA-10614"),
    ],
)
def test_a_changed_line_is_refused_with_its_place(
    release: str, pattern: str, change: str, promise: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tamper(release, tmp_path / "logs", pattern, change)
    assert any(re.search(promise, name) and place in text for name, text in judged(tmp_path / "logs"))
    assert main(["kafka", "validate", str(tmp_path / "logs"), *COMMAND]) == 12
    assert place in re.sub(r"\s+", "", capsys.readouterr().out)


def lines(folder: Path, *said: str) -> Path:
    text = "".join(f"[2026-11-26 20:00:00,000] INFO [GroupCoordinator id=0] {one} (o.a.k.c.Runtime)\n" for one in said)
    (folder / "0.log").write_text(text, "utf-8")
    return folder


SCHEDULED = "Scheduling loading of metadata from __consumer_offsets-1 with epoch {}"
LOADED = "Finished loading of metadata from __consumer_offsets-1 with epoch {} in 5232ms where 2886ms was spent"
UNLOADED = "Finished unloading metadata for __consumer_offsets-1 with epoch OptionalInt[{}]."


def test_the_load_of_a_former_leadership_is_told_by_the_lines_of_4_4_0(tmp_path: Path) -> None:
    """As `docs/found/foreign-load.md` has them."""
    said = [SCHEDULED.format(2), UNLOADED.format(3), SCHEDULED.format(4), LOADED.format(2)]
    [(promise, text)] = judged(lines(tmp_path, *said))
    assert promise == "AcknowledgedCommitsSurvive, foreign load"
    assert "epoch 2" in text
    assert judged(lines(tmp_path, *said[:3], LOADED.format(4))) == []
    assert judged(lines(tmp_path, said[0], LOADED.format(2), said[2], "The coordinator is already active.")) == []


def test_a_group_that_was_deleted_begins_anew(tmp_path: Path) -> None:
    context = "topic=__consumer_offsets partition=1] "
    stable = context + "Preparing to rebalance group g in state PreparingRebalance with old generation 5 (reason: Leader x "
    stable += "re-joining group during Stable; client reason: not provided)."
    anew = context + "Stabilized group g generation 1 with 1 members."
    begin = (SCHEDULED.format(2), LOADED.format(2), stable)
    assert [name for name, _ in judged(lines(tmp_path, *begin, anew))] == ["ReplacedOwnersAreFenced"]
    dead, removed = "Group g transitioned to Dead in generation 6", "The following groups were deleted: f, g. A total of 1"
    for deleted in (dead, removed):
        assert judged(lines(tmp_path, *begin, context + deleted, anew)) == []


def test_another_topic_is_not_read_and_logs_without_loads_are_refused(tmp_path: Path) -> None:
    lines(tmp_path, SCHEDULED.format(2).replace("consumer_offsets", "share_group_state"))
    with pytest.raises(SpecUnreadable, match=r"no line of .* tells of a load of __consumer_offsets"):
        judged(tmp_path)
    assert judge_coordinators([str(tmp_path)], "__share_group_state").partitions == (1,)


# -- on brokers -------------------------------------------------------------------------------------------------------

SECONDS, SESSION_MS = 60.0, 300_000


def use(cluster: Cluster) -> None:
    """A group has two generations at each of its three owners, and commits in each."""
    Topic(cluster, "input").create([0, 1, 2])
    Topic(cluster, TOPIC).create([0, 1, 2], {"cleanup.policy": "compact"})
    mine = Membership(0)

    def joins(broker: int) -> bool:
        nonlocal mine
        with cluster.client(broker, SECONDS) as ask:
            found = join(ask, "readers", mine.member, 1, session_ms=SESSION_MS)
        if not found.error:
            mine = found
        return not found.error

    for owner in (0, 1, 2, 0):
        move_leadership(cluster, TOPIC, [owner, *(one for one in (0, 1, 2) if one != owner)], SECONDS)
        for at in range(2):
            wait_for(lambda owner=owner: joins(owner), "that a member joins", SECONDS, cluster.check)
            with cluster.client(owner, SECONDS) as ask:
                assert commit_offsets(ask, "readers", mine, "input", {0: at}) == 0


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("version", ["4.3.1", "3.9.1"])
def test_what_a_group_makes_brokers_log_across_failovers_is_valid(version: str, users_cache: None, tmp_path: Path) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    with Cluster(add_archive(make_plan(version, Mode.KRAFT, has_witness=True))) as cluster:
        use(cluster)
        for number in (0, 1, 2):
            shutil.copy(cluster.nodes[number].log, tmp_path / f"{number}.log")
    found = judge_coordinators([str(tmp_path)], TOPIC)
    assert found.breaches == []
    assert len(found.partitions) == 1
    assert found.nodes == (0, 1, 2)
