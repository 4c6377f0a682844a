"""States and transitions as Parquet: every row is what the plain evaluator says, and nothing is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.dataset.parquet import write_dataset
from acked.checker.dataset.profile import read_profile
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.spec import load_spec
from acked.checker.store.run_directory import RunDirectory
from acked.model.formulas.evaluate import Evaluator
from acked.model.majority.protocol import majority
from acked.model.partition.protocol import partition
from tests.checker.toys import always, ask, counters
from tests.places import SPECS


def small_spec() -> QuestionText:
    spec = load_spec(SPECS / "counts" / "kip101-2221.toml")
    return replace(spec.asked, constants=tuple({**spec.constants, "log_size": 2}.items()))


def small() -> Question:
    return small_spec().question()


def explored(question: Question, folder: Path, workers: int = 2) -> Path:
    with RunDirectory.create(folder, question) as run:
        search(question, Bounds(workers, 1 << 28), StopPolicy.EVERY_PROPERTY, stored=run)
    return folder


def written(make: Any, folder: Path, **options: Any) -> Path:
    explored(make(), folder / "run")
    question = make()
    with RunDirectory.open(folder / "run", question) as run:
        write_dataset(question, run, folder / "out", **options)
    return folder / "out"


def rows(place: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ds.dataset(place).to_table().to_pylist()
    return found


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the state that `Schema.encode` takes: a log says its end, too."""
    state = {name: value for name, value in row.items() if name not in ("id", "level")}
    state["log"] = [{"end": len(records), "records": records} for records in state["log"]]
    return state


@pytest.mark.slow
def test_every_state_and_transition_is_there_and_is_what_the_evaluator_says(tmp_path: Path) -> None:
    out = written(small, tmp_path, transitions=True)
    question = small()
    instance, schema = question.instance, question.instance.schema
    result = search(small(), Bounds(1, 1 << 28))
    states = rows(out / "states")
    assert len(states) == result.distinct_states
    assert [sum(row["level"] == level for row in states) for level in range(1, result.depth + 1)] == list(result.level_sizes)
    codes_of = {row["id"]: schema.encode(plain(row)) for row in states}
    assert len(codes_of) == len({tuple(codes) for codes in codes_of.values()}) == len(states)
    id_of = {tuple(codes): name for name, codes in codes_of.items()}
    holds = Evaluator([step.guard for step in instance.actions])
    expected = set()
    for name, codes in codes_of.items():
        for step, enabled in zip(instance.actions, holds(codes), strict=True):
            if enabled:
                target = id_of[tuple(instance.fire(step, codes))]
                expected.add((name, target, step.action.name, tuple(sorted(step.arguments.items()))))
    edges = rows(out / "transitions")
    assert len(edges) == len(expected) == result.generated_states - 1
    assert {
        (e["source"], e["target"], e["action"], tuple(sorted((k, v) for k, v in e["arguments"].items() if v is not None)))
        for e in edges
    } == expected


@pytest.mark.slow
def test_arguments_that_are_sets_or_truth_values_are_written_as_such(tmp_path: Path) -> None:
    def voting() -> Question:
        tiny = {"replicas": 3, "log_size": 1, "records": 1, "crashes": "none", "max_term": 1}
        return Question(majority.instantiate(tiny), ())

    def answering() -> Question:
        tiny = {"replicas": 2, "log_size": 1, "records": 1, "acks": "1", "retries": True, "crashes": "none"}
        return Question(partition.instantiate(tiny), ())

    elected = rows(written(voting, tmp_path / "sets", transitions=True) / "transitions")
    assert [0, 2] in [edge["arguments"]["voters"] for edge in elected if edge["action"] == "Elect"]
    produced = rows(written(answering, tmp_path / "truths", transitions=True) / "transitions")
    assert {edge["arguments"]["answered"] for edge in produced if edge["action"] == "Produce"} == {True, False}


@pytest.mark.slow
def test_ids_are_the_same_whoever_searched(tmp_path: Path) -> None:
    found = []
    for workers in (1, 3):
        question = small()
        explored(question, tmp_path / str(workers), workers)
        question = small()
        with RunDirectory.open(tmp_path / str(workers), question) as run:
            write_dataset(question, run, tmp_path / f"out-{workers}")
        found.append(sorted((row["id"], json.dumps(row)) for row in rows(tmp_path / f"out-{workers}" / "states")))
    assert found[0] == found[1]


def test_only_the_levels_that_were_asked_for_are_written(tmp_path: Path) -> None:
    out = written(small, tmp_path, levels={2, 5})
    assert {row["level"] for row in rows(out / "states")} == {2, 5}
    assert len(rows(out / "levels.parquet")) > 5
    assert not (out / "transitions").exists()


def test_a_level_that_is_not_there_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="level 99 is not among"):
        written(small, tmp_path, levels={99})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_an_occupied_place_is_left_alone(tmp_path: Path) -> None:
    out = written(small, tmp_path)
    before = sorted(out.rglob("*"))
    question = small()
    with RunDirectory.open(tmp_path / "run", question) as run:
        with pytest.raises(ConfigurationError, match="is there already"):
            write_dataset(question, run, out)
        with pytest.raises(SystemFailure, match="does not exist"):
            write_dataset(question, run, tmp_path / "no" / "where")
    assert sorted(out.rglob("*")) == before


@pytest.mark.slow
def test_actions_without_parameters_and_states_without_logs_are_data_too(tmp_path: Path) -> None:
    out = written(lambda: ask(counters(2, 3), always("Any", lambda s: s.n0 >= 0)), tmp_path, transitions=True)
    assert {(row["n0"], row["n1"], row["level"]) for row in rows(out / "states")} == {
        (a, b, a + b + 1) for a in range(4) for b in range(4)
    }
    assert set(rows(out / "transitions")[0]) == {"source", "target", "level", "action"}


def test_the_profile_of_a_run_is_that_of_its_dataset_and_of_the_search(tmp_path: Path) -> None:
    out = written(small, tmp_path)
    result = search(small(), Bounds(1, 1 << 28))
    of_run, of_dataset = read_profile(tmp_path / "run"), read_profile(out)
    assert of_run == of_dataset
    assert tuple(level.states for level in of_run.levels) == result.level_sizes
    assert {name: (e, n) for name, e, n in of_run.actions if e} == {
        name: (count.enabled, count.new) for name, count in result.actions.items() if count.enabled
    }
    with pytest.raises(ConfigurationError, match="neither a run directory"):
        read_profile(tmp_path)
