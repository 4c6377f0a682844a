"""An exercise that fails leaves what it has: without brokers, with a cluster that is none."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acked.base.errors import SystemFailure
from acked.cli import main
from acked.cluster.exercising import exercise as module
from acked.cluster.exercising.course import Disturbance, Kind
from acked.cluster.exercising.exercise import COURSE, DATA, Exercise, acknowledged_file, exercise
from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.observe.acknowledgements import read_acknowledged
from acked.cluster.observe.directories import META
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import NotSeen

ACKNOWLEDGED = acknowledged_file(0)
UP = "that broker 2 answers was not seen within 180 seconds"
BACK = "that all replicas of exercise are in sync again was not seen within 120 seconds"


class FakeCluster:
    """Nodes with a log and a data directory, which write until they are ended; the cluster does not start, or not again."""

    def __init__(self, folder: Path, starts: bool) -> None:
        self.starts, self.is_closed = starts, False
        self.plan = SimpleNamespace(mode=Mode.KRAFT)
        self.network = SimpleNamespace(lift=lambda: None)
        self.nodes: dict[int, Any] = {}
        self.deleted: list[str] = []
        for number in (0, 1, 2, CONTROLLER):
            data = folder / f"node{number}" / "data"
            (data / "exercise-0").mkdir(parents=True)
            (data / META).write_text(f"node.id={number}\n")
            log = data.parent / "log"
            log.write_text(f"a line of node {number}\n")
            self.nodes[number] = SimpleNamespace(log=log, data=data, is_running=False)

    def __exit__(self, *_: object) -> None:
        self.is_closed = True

    def end_nodes(self) -> None:
        for node in self.nodes.values():
            with node.log.open("a") as file:
                file.write("its last line\n")

    def client(self, broker: int, timeout: float) -> None:
        raise AssertionError("nobody is asked")

    def admin(self) -> Any:
        return nullcontext(SimpleNamespace(delete_topic=self.deleted.append))

    def start(self) -> None:
        if not self.starts:
            raise NotSeen(UP)

    def restart(self, broker: int) -> None:
        raise NotSeen(BACK)


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], FakeCluster]:
    def make(starts: bool) -> FakeCluster:
        cluster = FakeCluster(tmp_path / "cluster", starts)
        monkeypatch.setattr(module, "make_plan", lambda *_, **__: None)
        monkeypatch.setattr(module, "add_archive", lambda plan, said: plan)
        monkeypatch.setattr(module, "Cluster", lambda plan, said: cluster)
        return cluster

    return make


def runs(runner: Any) -> None:
    """An exercise that has acknowledged a record and killed a broker when the cluster does not come back."""
    writes(runner)
    runner._disturber.mend()


def writes(runner: Any) -> None:
    """What a round has done by its end."""
    runner._writers[0].written.acknowledged[0, 0] = b"record 0"
    runner._course.append((3.25, Disturbance(Kind.KILL, 1, 2.0, 0.5, 0.5), True))
    runner._course.append((6.0, Disturbance(Kind.MOVE, 1, 0.0, 0.5, 0.5), False))


@pytest.mark.parametrize(("starts", "why", "kills"), [(False, UP, 0), (True, BACK, 1)])
def test_an_exercise_that_fails_names_the_folder_with_what_it_has(
    starts: bool, why: str, kills: int, clusters: Callable[[bool], FakeCluster], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    cluster, logs = clusters(starts), tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr(module._Round, "run", runs)
    with pytest.raises(SystemFailure) as failed:
        next(exercise(Exercise("4.1.0", 1.0, 7), logs))
    files = f"0.log, 1.log, 2.log, {ACKNOWLEDGED}, controller.log, {COURSE}, {DATA}"
    assert str(failed.value) == f"{why}; what there is up to then is in {logs}: {files}"
    assert (logs / "controller.log").read_text() == f"a line of node {CONTROLLER}\nits last line\n"
    assert (logs / DATA / "2" / META).read_text() == "node.id=2\n"
    assert (logs / DATA / "0" / "exercise-0").is_dir()
    assert [(one.offset, one.value) for one in read_acknowledged(logs / ACKNOWLEDGED)] == [(0, b"record 0")][:kills]
    rows = list(csv.DictReader((logs / COURSE).read_text("utf-8").splitlines()))
    assert [(row["seconds"], row["disturbance"], row["broker"], row["done"]) for row in rows] == [
        ("3.2", "kill", "1", "yes"), ("6.0", "move", "1", "no"),
    ][: 2 * kills]  # fmt: skip
    assert cluster.is_closed


def test_rounds_are_on_one_cluster_each_with_a_topic_a_seed_and_logs_of_its_own(
    clusters: Callable[[bool], FakeCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes run on, and what they have logged of a round is not kept twice."""
    cluster, logs = clusters(True), tmp_path / "logs"
    logs.mkdir()
    monkeypatch.setattr(module._Round, "run", writes)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=iter([0.0, 1.0, 3600.0]).__next__))
    for node in cluster.nodes.values():
        (node.data / "exercise1-0").mkdir()
    done = []
    for one in exercise(Exercise("4.1.0", 1.0, 7, hours=1.0), logs):
        done.append(one)
        assert not cluster.is_closed
        assert [node.log.read_text() for node in cluster.nodes.values()] == [""] * 4
        cluster.nodes[0].log.write_text(f"a line after round {len(done)}\n")
    assert cluster.is_closed
    assert [(one.topic, one.seed) for one in done] == [("exercise0", 7), ("exercise1", 8)]
    assert [one.logs.name for one in done] == ["round-0", "round-1"]
    assert [(one.logs / "0.log").read_text() for one in done] == ["a line of node 0\n", "a line after round 1\n"]
    assert (done[1].logs / DATA / "2" / "exercise1-0").is_dir()
    assert [one.counts for one in done] == [{Kind.KILL: 1}] * 2
    assert cluster.deleted == ["exercise0", "exercise1"]


def test_without_a_folder_what_a_failure_leaves_stays_in_one_that_the_sentence_names(
    clusters: Callable[[bool], FakeCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    clusters(False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["exercise", "--kafka", "4.1.0", "-q"]) == 153
    [line] = capsys.readouterr().err.splitlines()
    [left] = tmp_path.glob("acked-exercise-*")
    assert line.startswith(f"acked: {UP}; what there is up to then is in {left}: 0.log, ")
    assert (left / "0.log").is_file()


def test_what_is_refused_before_anything_starts_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["exercise", "--kafka", "3.2.3", "-q"]) == 151
    assert list(tmp_path.iterdir()) == []
