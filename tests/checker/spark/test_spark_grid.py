"""A real cluster whose tasks stand in a grid, and an executor of it killed; alone here, because a process has one Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.checker.search.local import search
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.grid import square
from acked.checker.spark.session import SparkDriver, SparkSettings
from acked.checker.store.run_directory import RunDirectory
from tests.checker.spark.spark_cluster import cluster, kill
from tests.checker.spark.test_spark import At, spec
from tests.checker.spark.test_spark_cluster import BOUNDS, executors
from tests.checker.toys import answer

pytestmark = [pytest.mark.spark, pytest.mark.long]
"""In every run an executor of a cluster is killed that stands in no grid, and threads that stand in one (`test_tasks.py`)."""


@pytest.mark.parametrize("cores", [3, 4])
def test_an_executor_killed_in_a_grid_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """Six tasks in two rows, or seven, the last of which is alone in its row; an executor has three or four of them."""
    monkeypatch.setattr("acked.checker.spark.driver.columns_for", square)
    question, tasks = spec("kip320-3222"), 2 * cores - cores // 4
    home = tmp_path / "cluster"
    home.mkdir()
    settings = {"spark.executor.memory": "512m"}
    with (
        cluster(home, cores=cores) as machines,
        SparkDriver(SparkSettings(machines.master, settings), tmp_path / "spark.log") as driver,
        RunDirectory.create(tmp_path / "run", question) as run,
    ):
        assert driver.slots(2 * cores, 60.0) == 2 * cores

        def act() -> None:
            kill(executors(machines)[0])

        bounds = SparkBounds(tasks=tasks, memory=1 << 28)
        result = SparkSearch(question, run, driver, observer=At(12, act), bounds=bounds).run()
    assert answer(result) == answer(search(spec("kip320-3222"), BOUNDS))
    assert any("tasks were lost at level" in note for note in result.notes), result.notes
