"""A dataset that executors write has the rows of the one that is written here, wherever it is written to."""

from __future__ import annotations

import json
import pickle
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.dataset as ds
import pytest

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import is_uri
from acked.checker.dataset import executors
from acked.checker.dataset.counting import count
from acked.checker.dataset.executors import Wanted, parts_of, write_on_spark
from acked.checker.dataset.parquet import Condition, Written, write_dataset
from acked.checker.dataset.profile import read_profile
from acked.checker.dataset.sql import answer_sql
from acked.checker.question.observer import Observer
from acked.checker.spark.session import SparkDriver, reason
from acked.checker.store.level_file import LevelFile
from acked.checker.store.run_directory import RunDirectory
from tests.checker.dataset.test_dataset import explored, small_spec
from tests.e2e.driver import acked
from tests.places import CHECKOUT
from tools.examples import examples

OURS, SQL = "quorum.isr == {0}", "size(quorum.isr) = 1 AND quorum.isr[0] = 0"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with all states."""
    return explored(small_spec().question(), tmp_path_factory.mktemp("run") / "run")


def by_executors(driver: SparkDriver, finished: Path, out: str, wanted: Wanted) -> Written:
    with RunDirectory.open(finished, small_spec().question()) as run:
        return write_on_spark(driver, small_spec(), run, out, wanted, Observer())


def here(finished: Path, out: Path, **options: Any) -> Written:
    question = small_spec().question()
    with RunDirectory.open(finished, question) as run:
        return write_dataset(question, run, out, **options)


def rows(place: Path) -> list[str]:
    """Every row as text, in some order; a level may stand in the name of a folder."""
    if not place.exists():
        return []
    found = ds.dataset(place, format="parquet", partitioning="hive").to_table().to_pylist()
    return sorted(json.dumps(row, sort_keys=True) for row in found)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        # One by one they are asked together with others below.
        pytest.param(Wanted(transitions=True), None, marks=pytest.mark.long),
        pytest.param(Wanted({2, 5, 6}, transitions=True), None, marks=pytest.mark.long),
        pytest.param(Wanted(transitions=True, where=OURS), OURS, marks=pytest.mark.long),
        pytest.param(Wanted(transitions=True, sql=SQL), OURS, marks=pytest.mark.long),
        (Wanted({2, 5, 6}, transitions=True, sql=SQL), OURS),
    ],
    ids=["all", "levels", "ours", "sql", "levels by sql"],
)
def test_executors_write_the_rows_that_are_written_here(
    driver: SparkDriver,
    finished: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wanted: Wanted,
    condition: str | None,
) -> None:
    monkeypatch.setattr(executors, "PART_STATES", 2500)
    theirs = by_executors(driver, finished, str(tmp_path / "theirs"), wanted)
    where = None if condition is None else Condition(small_spec().question(), condition)
    mine = here(finished, tmp_path / "mine", levels=wanted.levels, transitions=True, where=where)
    assert theirs == mine
    assert mine.transitions
    for table in ("states", "transitions", "levels.parquet", "actions.parquet"):
        assert rows(tmp_path / "theirs" / table) == rows(tmp_path / "mine" / table), table
    about = [json.loads((tmp_path / name / "about.json").read_text()) for name in ("theirs", "mine")]
    assert {**about[0], "where": None} == {**about[1], "where": None}
    assert read_profile(tmp_path / "theirs") == read_profile(tmp_path / "mine")
    assert not [path for path in (tmp_path / "theirs").rglob("*") if path.name.startswith((".", "_"))]


@pytest.mark.spark
def test_a_dataset_is_written_to_and_queried_at_a_uri(driver: SparkDriver, finished: Path, tmp_path: Path) -> None:
    uri = (tmp_path / "data").as_uri()
    written = by_executors(driver, finished, uri, Wanted())
    sql = "SELECT level, count(*) AS n FROM states GROUP BY level ORDER BY level"
    table = answer_sql(driver, uri, sql)
    assert sum(table["n"].to_pylist()) == written.states
    assert table.to_pylist() == count(tmp_path / "data", sql).to_pylist()
    with pytest.raises(ConfigurationError, match="is there already"):
        by_executors(driver, finished, uri, Wanted())
    with pytest.raises(ConfigurationError, match="is not a dataset of states"):
        answer_sql(driver, tmp_path.as_uri(), sql)


@pytest.mark.spark
def test_the_join_that_the_page_shows_has_the_rows_that_it_shows(driver: SparkDriver, tmp_path: Path) -> None:
    made, *_, asked = examples((CHECKOUT / "docs" / "sql.md").read_text("utf-8"))
    assert acked(*shlex.split(made.command)[1:], cwd=tmp_path).returncode == 0
    sql = shlex.split(asked.command.replace("\\\n", " "))[-1]
    assert " JOIN " in sql
    _, *rows_shown = [line.replace(",", "").split() for line in asked.expected if line]
    found = answer_sql(driver, str(tmp_path / "states"), sql).to_pylist()
    assert [[str(row["dropped"]), str(row["times"])] for row in found] == rows_shown


@pytest.mark.spark
def test_what_fails_leaves_nothing_behind(driver: SparkDriver, finished: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    with pytest.raises(ConfigurationError, match=r"is not a condition on states: .*nonsense"):
        by_executors(driver, finished, str(out), Wanted(sql="nonsense = 1"))
    assert not out.exists()
    with pytest.raises(ConfigurationError, match="level 99 is not among"):
        by_executors(driver, finished, str(out), Wanted({99}))
    assert not out.exists()
    with pytest.raises(SystemFailure, match=r"cannot reach nosuch://host/data: .*nosuch"):
        by_executors(driver, finished, "nosuch://host/data", Wanted())


def test_an_executor_that_does_not_see_the_run_directory_says_so(tmp_path: Path) -> None:
    payload = pickle.dumps((executors.Reading(small_spec(), tmp_path / "elsewhere", 64, None), "states"))
    with pytest.raises(SystemFailure, match=r"does not see the run directory .*elsewhere, which executors read; have it"):
        list(executors.read_rows(payload, pickle.dumps(())))


def test_every_block_is_the_work_of_one_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "PART_STATES", 100)
    sizes = {1: [1], 2: [30, 40], 3: [250], 4: [90, 99], 5: [100]}
    files = {
        level: tuple(LevelFile(f"{level}-{at}", states, 0, 0) for at, states in enumerate(counts))
        for level, counts in sizes.items()
    }
    run = cast(RunDirectory, SimpleNamespace(files_of=files.get))
    parts = parts_of(run, sorted(files))
    taken = sorted((piece.level, piece.file.name, piece.turn, piece.turns) for part in parts for piece in part)
    assert [(level, name) for level, name, turn, _ in taken if not turn] == [
        (level, file.name) for level in sorted(files) for file in files[level]
    ]
    assert [turn for level, _, turn, turns in taken if level == 3] == [0, 1, 2]
    assert max(sum(piece.file.states / piece.turns for piece in part) for part in parts) <= 100


def test_a_uri_is_told_from_a_path_and_a_cause_from_a_stack() -> None:
    assert all(is_uri(place) for place in ("s3a://b/x", "hdfs://h:1/x", "file:/x"))
    assert not any(is_uri(place) for place in ("data", "a/b", "./x:1", "/x"))
    java = "An error occurred.\n: org.apache.X: outer\n\tat a.b\nCaused by: java.io.IOException: disk\n\tat c"
    assert reason(Exception(java)) == "disk"
    ours = "x\nacked.base.errors.SystemFailure: h does not see it\n\tat a\nCaused by: java.io.IOException: disk"
    assert reason(Exception(ours)) == "h does not see it"
    assert reason(Exception("[PARSE] Syntax error. SQLSTATE: 1\n== SQL ==")) == "[PARSE] Syntax error"
