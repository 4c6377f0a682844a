"""Run directories in a file system of Spark's: what is completed there resumes, and nothing is written twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.search.local import search
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.hadoop import HadoopRun
from acked.checker.spark.session import SparkDriver
from acked.checker.store.run_directory import RunDirectory
from tests.checker.spark.test_spark import spec
from tests.checker.toys import answer

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NAME = "kip101"


def begun(driver: SparkDriver, uri: str, home: Path, depth: int) -> None:
    """A run whose first levels are complete, in a file system of Spark's."""
    home.mkdir()
    with HadoopRun(driver, uri) as kept:
        kept.begin(home)
        with RunDirectory.create(home, spec(NAME), 7) as run:
            run.copy = kept.copy
            SparkSearch(spec(NAME), run, driver, bounds=SparkBounds(max_depth=depth)).run()


def gone_on(driver: SparkDriver, kept: HadoopRun, home: Path) -> None:
    """Two levels more of a run that was fetched."""
    with kept, RunDirectory.open(home, spec(NAME)) as run:
        run.copy = kept.copy
        SparkSearch(spec(NAME), run, driver, bounds=SparkBounds(max_depth=5)).run()


def test_what_was_completed_there_is_resumed_by_spark_and_as_a_folder_by_the_local_search(
    driver: SparkDriver, tmp_path: Path
) -> None:
    uri = f"file://{tmp_path}/there"
    begun(driver, uri, tmp_path / "here", 5)
    shutil.rmtree(tmp_path / "here")
    shutil.copytree(tmp_path / "there", tmp_path / "copy")
    expected = answer(search(spec(NAME), Bounds(2, 1 << 28)))
    (tmp_path / "again").mkdir()
    with HadoopRun(driver, uri) as kept:
        kept.fetch(tmp_path / "again")
        with RunDirectory.open(tmp_path / "again", spec(NAME)) as run:
            run.copy = kept.copy
            result = SparkSearch(spec(NAME), run, driver).run()
    assert answer(result) == expected
    assert result.stored_levels == 5
    assert len(list((tmp_path / "there" / "commits").glob("*.json"))) == result.depth + 1
    with RunDirectory.open(tmp_path / "copy", spec(NAME)) as run:
        local = search(spec(NAME), Bounds(2, 1 << 28), stored=run)
    assert (answer(local), local.stored_levels) == (expected, 5)


def test_a_second_search_at_the_same_place_is_refused(driver: SparkDriver, tmp_path: Path) -> None:
    uri = f"file://{tmp_path}/there"
    begun(driver, uri, tmp_path / "here", 3)
    with pytest.raises(ConfigurationError, match=r"already holds a run; resume it with --resume"):
        HadoopRun(driver, uri).begin(tmp_path)
    resumed = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        kept = HadoopRun(driver, uri)
        kept.fetch(tmp_path / name)
        resumed.append((kept, tmp_path / name))
    gone_on(driver, *resumed[0])
    with pytest.raises(SystemFailure, match=r"commits/0000\d.json is there already: another search"):
        gone_on(driver, *resumed[1])


def test_places_that_spark_does_not_have_are_one_sentence(driver: SparkDriver, tmp_path: Path) -> None:
    with pytest.raises(SystemFailure, match=r"Spark cannot reach nowhere://x: No FileSystem for scheme"):
        HadoopRun(driver, "nowhere://x")
    with pytest.raises(SystemFailure, match=r"there is no run at file://.*; a search with --run-dir"):
        HadoopRun(driver, f"file://{tmp_path}/nothing").fetch(tmp_path)
