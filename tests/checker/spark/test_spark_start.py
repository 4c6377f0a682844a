"""How a driver begins: workers that come late, and a cluster that has another secret. Each has a cluster of its own."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.checker.search.local import search
from acked.checker.spark.driver import SparkSearch
from acked.checker.spark.session import QUICK_START, STEADY_SECONDS, SparkDriver, SparkSettings
from acked.checker.store.run_directory import RunDirectory
from tests.checker.spark import spark_cluster
from tests.checker.spark.spark_cluster import cluster
from tests.checker.spark.test_spark import spec
from tests.checker.toys import answer

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BOUNDS = Bounds(workers=2, memory=1 << 30)
PATIENCE = 300.0
"""Seconds; machines have other work."""


@pytest.mark.long
def test_a_worker_that_comes_late_is_waited_for_as_long_as_sparks_settings_say(tmp_path: Path) -> None:
    """Of two that are asked for one comes when the search waits already; `test_spark_session.py` has clocks of its own."""
    conf = {
        "spark.executor.memory": "512m",
        "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "1s",
    }
    with (
        cluster(tmp_path, workers=1) as machines,
        SparkDriver(SparkSettings(machines.master, conf), tmp_path / "spark.log") as driver,
    ):
        driver._late += PATIENCE  # Spark itself waits as long before it is there, for which a second will do here.
        late = threading.Timer(STEADY_SECONDS + 2, machines.start_workers, [1])
        late.start()
        question = spec("kip101")
        with RunDirectory.create(tmp_path / "run", question) as run:
            result = SparkSearch(question, run, driver).run()
        late.join()
    assert (result.workers, answer(result)) == (2, answer(search(spec("kip101"), BOUNDS)))


@pytest.mark.long
@pytest.mark.parametrize("said", ["wrong", ""])
def test_a_wrong_secret_or_none_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """Its master refuses, whatever workers there are; `test_spark_session.py` has what Spark writes of it."""
    secret = "-Dspark.authenticate=true -Dspark.authenticate.secret=right"
    monkeypatch.setattr(spark_cluster, "QUICK_START", f"{QUICK_START} {secret}")
    conf = {"spark.authenticate": "true", "spark.authenticate.secret": said} if said else {}
    with (
        cluster(tmp_path, workers=0) as machines,
        SparkDriver(SparkSettings(machines.master, conf), tmp_path / "spark.log") as driver,
        pytest.raises(SystemFailure, match=r"has another secret than this driver; give --conf spark.authenticate="),
    ):
        driver.slots()
