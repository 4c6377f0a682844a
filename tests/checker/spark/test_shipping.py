"""What executors get of acked: an archive that is enough for another Python, and a sentence where it is not."""

from __future__ import annotations

import pickle
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.checker.search.local import search
from acked.checker.spark import shipping, task
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.jobs import reason_of
from acked.checker.spark.session import SparkDriver, SparkSettings
from acked.checker.spark.shipping import SHIPPED, environment_archive, remote
from acked.checker.store.run_directory import RunDirectory
from tests.checker.spark.spark_cluster import PATIENT
from tests.checker.spark.test_tasks import CLUSTER, LOOPBACK, Threads, small
from tests.checker.toys import always, answer, ask, counters

BARE = Path(sys.base_prefix) / "bin" / "python3"
"""The Python of which this environment was made, which has none of its packages."""


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shipping, "cache_folder", lambda *_: None)
    monkeypatch.setattr(shipping, "NEEDED", "click")  # llvmlite takes a while to compress
    return Path(environment_archive(tmp_path).removesuffix(f"#{SHIPPED}"))


@pytest.mark.slow
def test_the_archive_has_what_tasks_import_and_is_made_once(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(archive) as made:
        names = set(made.getnames())
        assert not any(member.issym() for member in made.getmembers())
    assert {"acked/__init__.py", "acked/checker/spark/task.py", "acked/base/errors.py", "click/__init__.py"} <= names
    assert not any("__pycache__" in name or name.startswith("acked/specs") for name in names)
    monkeypatch.setattr(shipping, "_write", lambda *_: pytest.fail("it is written again"))
    assert environment_archive(tmp_path) == f"{archive}#{SHIPPED}"


def test_without_what_is_needed_a_task_says_where_it_ran_and_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "NEEDED", "no_such_package")
    call = remote("builtins:len", b"12")
    monkeypatch.setattr("pyspark.SparkFiles.get", lambda _: "/nowhere")
    monkeypatch.delitem(sys.modules, "acked")
    monkeypatch.setenv("SPARK_LOCAL_IP", "10.1.2.3")
    with pytest.raises(RuntimeError, match=r"no_such_package is not installed in .* on 10\.1\.2\.3; use --ship"):
        call()


def test_failures_that_another_attempt_would_have_too_are_told_by_their_remedy() -> None:
    mismatch = "x.PythonException: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver"
    assert "spark.pyspark.python" in reason_of(mismatch)
    full = "Stage failed because barrier task ResultTask(0, 0) finished.\njava.io.IOException: No space left on device"
    assert "no room on its disk for what is brought along; make some" in reason_of(full)
    assert "name one with" in reason_of('java.io.IOException: Cannot run program "/nowhere/python": error=2')


ANOTHER_PYTHON = """\
#!{python}
import collections, runpy, sys

Version = collections.namedtuple("Version", "major minor micro releaselevel serial")
sys.version_info = Version(3, 99, *sys.version_info[2:])
sys.argv = sys.argv[2:]  # of -m pyspark.daemon pyspark.worker
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""A Python that says it is of another minor version."""
AT = r" \(on the executor 127\.0\.0\.1\)"


# What Spark says of it is held above.
@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ANOTHER_PYTHON, r"another minor version than the driver's 3\.\d+; set PYSPARK_PYTHON, .*"),
        (None, r"has no Python there; name one with --conf spark.pyspark.python=…"),
    ],
)
def test_executors_of_another_python_or_none_are_told_with_their_host(tmp_path: Path, text: str | None, told: str) -> None:
    from acked.checker.spark.driver import SparkSearch
    from acked.checker.store.run_directory import RunDirectory

    python = tmp_path / "python"
    if text is not None:
        python.write_text(text.format(python=sys.executable))
        python.chmod(0o755)
    question = ask(counters(3, 5), always("Any", lambda s: s.n0 >= 0))
    conf = {"spark.executor.memory": "512m", "spark.pyspark.python": str(python), **PATIENT}
    settings = SparkSettings("local-cluster[1,1,1024]", conf)
    with (
        SparkDriver(settings, tmp_path / "spark.log") as driver,
        RunDirectory.create(tmp_path / "run", question) as run,
        pytest.raises(SystemFailure, match=told + AT),
    ):
        SparkSearch(question, run, driver).run()


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_python_without_packages_searches_with_what_is_brought_along_and_not_without(tmp_path: Path) -> None:
    """Two executors in processes of their own, whose Python is not the driver's environment."""
    from acked.checker.spark.driver import SparkSearch
    from acked.checker.store.run_directory import RunDirectory

    question = ask(counters(3, 5), always("Any", lambda s: s.n0 >= 0))
    for ship in (True, False):
        conf = {"spark.executor.memory": "512m", "spark.pyspark.python": str(BARE)}
        settings = SparkSettings("local-cluster[2,1,1024]", conf, ship)
        with (
            SparkDriver(settings, tmp_path / f"{ship}.log") as driver,
            RunDirectory.create(tmp_path / str(ship), question) as run,
        ):
            if ship:
                assert SparkSearch(question, run, driver).run().distinct_states == 216
            else:
                with pytest.raises(SystemFailure, match=r"llvmlite is not installed in .* use --ship"):
                    SparkSearch(question, run, driver).run()


# -- the run directory --------------------------------------------------------------------------------------------------


@pytest.mark.timeout(60)
def test_tasks_that_do_not_see_the_run_directory_have_the_local_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on hosts that share no folder: the driver writes down their levels, and they go on from what it reads to them."""

    def run(payload: bytes, partition: Iterator[int]) -> None:
        plan = replace(pickle.loads(payload), run=str(tmp_path / "elsewhere"))
        task.search(plan, next(partition), 2, LOOPBACK)

    monkeypatch.setattr(task, "run", run)
    threads, within = cast(SparkDriver, Threads(SparkSettings(CLUSTER))), SparkBounds(memory=1 << 26)
    with RunDirectory.create(tmp_path / "run", small()) as stored:
        SparkSearch(small(), stored, threads, bounds=replace(within, max_depth=12)).run()
    with RunDirectory.open(tmp_path / "run", small()) as stored:
        again = SparkSearch(small(), stored, threads, bounds=within).run()
    assert answer(again) == answer(search(small(), Bounds(1, 1 << 26)))
    assert again.violations
    assert not (tmp_path / "elsewhere").exists()
