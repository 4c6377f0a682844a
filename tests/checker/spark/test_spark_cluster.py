"""A real standalone cluster on loopback: the same answers, and executors and workers killed on the way.

In every run executors are killed whose workers are threads of the driver (`test_spark_session.py`), and hosts are played.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.checker.search.local import search
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.session import SparkDriver, SparkSettings
from acked.checker.store.run_directory import RunDirectory
from tests.checker.spark.spark_cluster import Cluster, cluster, descendants, executors_below, kill, python_daemons
from tests.checker.spark.test_spark import At, spec
from tests.checker.toys import answer

pytestmark = [pytest.mark.spark, pytest.mark.long]

BOUNDS = Bounds(workers=2, memory=1 << 30)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def driver(machines: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDriver]:
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    with SparkDriver(SparkSettings(machines.master, {"spark.executor.memory": "512m"}), log) as started:
        assert started.slots(2, 60.0) == 2
        yield started


def executors(machines: Cluster) -> list[int]:
    return [pid for process in machines.processes for pid in executors_below(process.pid)]


def daemons(machines: Cluster) -> list[int]:
    return [pid for executor in executors(machines) for pid in python_daemons(executor)]


def kill_worker(machines: Cluster) -> None:
    victim = machines.processes[-1]
    below = descendants(victim.pid)
    kill(victim.pid)
    for pid in below:
        kill(pid)


@pytest.mark.parametrize(
    ("name", "depth", "victims"),
    # Large enough that tasks, who do not wait for the driver, are still at work when it has seen level 9.
    [("kip320-3222", 9, executors), ("kip320-3222", 12, daemons)],
)
def test_a_cluster_has_the_local_answer_when_a_process_is_killed_in_a_level(
    machines: Cluster, driver: SparkDriver, tmp_path: Path, name: str, depth: int, victims: Callable[[Cluster], list[int]]
) -> None:
    killed = list[int]()
    assert driver.slots(2, 120.0) == 2
    question = spec(name)
    with RunDirectory.create(tmp_path / "run", question, 7) as run:

        def act() -> None:
            killed.extend(victims(machines)[:1])
            kill(killed[0])

        result = SparkSearch(question, run, driver, observer=At(depth, act)).run()
    assert killed
    assert answer(result) == answer(search(spec(name), BOUNDS))
    assert any("tasks were lost at level" in note for note in result.notes), result.notes
    assert any("on 127.0.0.1" in note for note in result.notes), "whose executor it was"


def test_a_worker_killed_for_good_leaves_its_part_to_the_other(
    machines: Cluster, driver: SparkDriver, tmp_path: Path
) -> None:
    """The cluster has one worker afterwards."""
    assert driver.slots(2, 120.0) == 2
    question = spec("kip320-3222")
    with RunDirectory.create(tmp_path / "run", question) as run:
        result = SparkSearch(question, run, driver, observer=At(12, lambda: kill_worker(machines))).run()
    assert answer(result) == answer(search(spec("kip320-3222"), BOUNDS))
    assert result.workers == 1
    assert any("with 1 instead of 2 tasks" in note for note in result.notes), result.notes


def test_a_worker_that_comes_during_a_search_is_used_when_memory_is_full(
    machines: Cluster, driver: SparkDriver, tmp_path: Path
) -> None:
    if driver.slots() == 2:
        kill_worker(machines)
        while driver.slots_now() == 2:
            time.sleep(0.05)

    def act() -> None:
        machines.start_workers(1)
        assert driver.slots(2, 120.0) == 2

    question = spec("kip320-3222")
    with RunDirectory.create(tmp_path / "run", question) as run:
        result = SparkSearch(question, run, driver, observer=At(5, act), bounds=SparkBounds(memory=9_000_000)).run()
    assert answer(result) == answer(search(spec("kip320-3222"), BOUNDS))
    assert result.workers == 2
    assert any("with 2 instead of 1 tasks" in note for note in result.notes), result.notes
