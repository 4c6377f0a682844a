"""`acked states`, `acked states query` and `acked states stats` as a user runs them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.e2e.driver import TINY, acked


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(TINY)
    return tmp_path


@pytest.mark.slow
def test_states_and_stats_need_no_java(tiny: Path) -> None:
    done = acked("states", "tiny.toml", "--out", "data", "--transitions", "-q", cwd=tiny, JAVA_HOME="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "277 states and 464 transitions of 'tiny' are in data\n"
    shown = acked("stats", "data", "--out", "p.svg", cwd=tiny)
    assert shown.returncode == 0
    assert "ControllerElectLeader" in shown.stdout
    assert (tiny / "p.svg").read_text().startswith("<?xml")


@pytest.mark.spark
def test_a_query_of_a_dataset_prints_a_table_and_one_of_a_spec_writes_a_file(tiny: Path) -> None:
    sql = "SELECT level, count(*) AS n FROM states WHERE size(quorum.isr) = 1 GROUP BY level ORDER BY level"
    acked("states", "tiny.toml", "--out", "data", "-q", cwd=tiny)
    printed = acked("query", "data", sql, "-q", cwd=tiny)
    assert (printed.returncode, printed.stderr) == (0, "")
    expected = {}
    for row in pq.read_table(tiny / "data" / "states").to_pylist():
        if len(row["quorum"]["isr"]) == 1:
            expected[row["level"]] = expected.get(row["level"], 0) + 1
    lines = [line.split() for line in printed.stdout.splitlines()]
    assert [(int(a), int(b)) for a, b in lines[1:]] == sorted(expected.items())
    spec = acked("query", "tiny.toml", "SELECT count(*) AS n FROM transitions", "--out", "n.csv", "-q", cwd=tiny)
    assert spec.returncode == 0, spec.stderr
    with open(tiny / "n.csv") as file:
        assert list(csv.reader(file)) == [["n"], ["464"]]


@pytest.mark.slow
def test_a_condition_in_the_words_of_traces_needs_no_java(tiny: Path) -> None:
    every = acked("states", "tiny.toml", "--out", "all", "--transitions", "-q", cwd=tiny)
    assert every.returncode == 0
    where = "quorum.isr == {0} and log[0].end > 0"
    wanted = ("--where", where, "--transitions", "-q")
    done = acked("states", "tiny.toml", "--out", "some", *wanted, cwd=tiny, JAVA_HOME="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    rows = pq.read_table(tiny / "all" / "states").to_pylist()
    kept = {row["id"] for row in rows if row["quorum"]["isr"] == [0] and row["log"][0]}
    assert 0 < len(kept) < 277
    assert {row["id"] for row in pq.read_table(tiny / "some" / "states").to_pylist()} == kept
    edges = [
        edge
        for edge in pq.read_table(tiny / "all" / "transitions").to_pylist()
        if edge["source"] in kept and edge["target"] in kept
    ]
    found = pq.read_table(tiny / "some" / "transitions").to_pylist()
    assert edges
    assert sorted(map(str, found)) == sorted(map(str, edges))
    assert done.stdout == f"{len(kept)} states and {len(edges)} transitions of 'tiny' are in some\n"
    assert json.loads((tiny / "some" / "about.json").read_text())["where"] == where


@pytest.mark.slow
def test_a_condition_that_nothing_satisfies_leaves_a_dataset_without_states(tiny: Path) -> None:
    done = acked("states", "tiny.toml", "--out", "none", "--where", "log[0].end > 0 and log[0].end < 0", "-q", cwd=tiny)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 states of 'tiny' are in none\n"
    assert not list((tiny / "none" / "states").iterdir())


@pytest.mark.long
@pytest.mark.spark
def test_a_condition_thins_the_dataset_out(tiny: Path) -> None:
    where = "size(quorum.isr) = 1"
    done = acked("states", "tiny.toml", "--out", "some", "--where", where, "--transitions", "-q", cwd=tiny)
    assert done.returncode == 0, done.stderr
    kept = pq.read_table(tiny / "some" / "states").to_pylist()
    assert kept
    assert all(len(row["quorum"]["isr"]) == 1 for row in kept)
    ids = {row["id"] for row in kept}
    edges = pq.read_table(tiny / "some" / "transitions").to_pylist()
    assert edges
    assert all(edge["source"] in ids and edge["target"] in ids for edge in edges)


@pytest.mark.long
@pytest.mark.spark
def test_a_query_that_cannot_run_is_one_sentence(tiny: Path) -> None:
    acked("states", "tiny.toml", "--out", "data", "-q", cwd=tiny)
    done = acked("query", "data", "SELECT nonsense FROM transitions", "-q", cwd=tiny)
    assert (done.returncode, done.stdout) == (151, "")
    assert "make it with --transitions" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["query", "nowhere.toml", "SELECT 1"], 150, "there is no file"),
        (["query", ".", "SELECT 1"], 151, "is not a dataset of states"),
        (["query", "tiny.toml", "SELECT 1", "--out", "x.txt"], 151, "use .csv, .json or .parquet"),
        (["stats", "."], 151, "neither a run directory"),
        (["stats", "nowhere", "--out", "x.png"], 151, "a name that ends in .svg"),
        (["states", "tiny.toml", "--out", "."], 151, "is there already"),
        (["states", "tiny.toml", "--out", "a/b"], 153, "does not exist"),
        (["states", "tiny.toml", "--out", "x", "--levels", "4-2"], 151, "is not a list of levels"),
        (["states", "tiny.toml", "--out", "x", "--run-dir", "y"], 153, "there is no run directory y"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tiny: Path, arguments: list[str], code: int, reason: str) -> None:
    quiet = [] if arguments[0] == "stats" else ["-q"]
    done = acked(*arguments, *quiet, cwd=tiny)
    assert done.returncode == code, done.stderr
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tiny.iterdir()] == ["tiny.toml"]
