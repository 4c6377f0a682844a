"""Many questions at once: answers, dead processes, the cache, and promises that say nothing."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.plain import from_plain, to_plain
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import BatchLimits, Under, answer_all
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.gate.gate import judge
from acked.checker.question.coverage import clause_coverage, merge_coverage
from acked.checker.question.result import StopReason, Verdict
from acked.checker.question.vacuity import vacuous
from acked.checker.search.local import search
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.spec import load_spec
from acked.checker.spec.variants import specs_under
from tests.killing import opened_pools
from tests.places import SPECS

LIMITS = BatchLimits(1, 200 << 20)


def task(name: str, probing: Probing = Probing.VACUITY) -> Task:
    return Task.of(load_spec(SPECS / name), probing)


def small(*properties: str, protocol: str = "kip320", probing: Probing = Probing.VACUITY, **constants: int) -> Task:
    sizes = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1} | constants
    return Task(QuestionText(protocol, tuple(sizes.items()), properties), probing=probing)


def outcomes(tasks: list[Task], cache: ResultCache | None = None) -> list[Outcome]:
    found = {answered.task: answered.outcome for answered in answer_all(tasks, LIMITS, cache)}
    listed = [found[number] for number in range(len(tasks))]
    assert all(item is not None for item in listed)
    return [item for item in listed if item is not None]


def without_time(outcome: Outcome) -> Outcome:
    return replace(outcome, seconds=0.0)


@pytest.mark.slow
def test_an_answer_of_the_batch_is_that_of_a_search_in_this_process_on_two_workers() -> None:
    tasks = [
        task("counts/kip320-2221.toml"),
        task("answers/truncate-to-hw-2221-weak.toml"),
        task("controls/elect-outside-isr.toml"),
    ]
    for asked, found in zip(tasks, outcomes(tasks), strict=True):
        here = Outcome.of(search(replace(asked, probing=Probing.NOTHING).question(), Bounds(2, 200 << 20), asked.policy))
        assert without_time(replace(found, probes={})) == without_time(here)


def test_probes_change_neither_counts_nor_the_fingerprint() -> None:
    plain, vacuity, coverage = (
        Outcome.of(search(small("WeakIsr", "LeaderEpochsOnlyGrow", probing=probing).question(), Bounds(1, 200 << 20)))
        for probing in (Probing.NOTHING, Probing.VACUITY, Probing.COVERAGE)
    )
    assert without_time(replace(vacuity, probes={})) == without_time(plain)
    assert without_time(replace(coverage, probes={})) == without_time(plain)


def test_an_outcome_survives_its_document() -> None:
    for found in outcomes([task("answers/truncate-to-hw-2221-weak.toml"), task("counts/kip320-2111.toml")]):
        assert from_plain(Outcome, json.loads(json.dumps(to_plain(found)))) == found


def test_equal_tasks_are_searched_once_and_all_answered() -> None:
    asked = small("WeakIsr")
    answered = list(answer_all([asked, small("StrongIsr"), asked], LIMITS))
    assert sorted(item.task for item in answered) == [0, 1, 2]


@pytest.mark.slow
def test_a_process_that_is_killed_costs_its_task_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = opened_pools(monkeypatch)
    killed: list[int] = []

    def kill(under: Under) -> None:
        if not killed:
            killed.append(under.task)
            os.kill(pools[0].pids[0], signal.SIGKILL)

    tasks = [task("kip320-large.toml"), small("WeakIsr")]
    answered = {item.task: item for item in answer_all(tasks, BatchLimits(1, 2 << 30), None, kill)}
    assert killed == [0]
    assert answered[0].outcome is None
    assert "search process was killed by SIGKILL" in answered[0].failure
    assert answered[1].outcome is not None
    assert answered[1].outcome.verdict is Verdict.HOLDS


def test_a_search_that_meets_its_memory_is_incomplete_and_is_not_kept(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path, "1")
    asked = task("counts/kip320-3221.toml")
    [answered] = answer_all([asked], BatchLimits(1, 300_000), cache)
    assert answered.outcome is not None
    assert (answered.outcome.verdict, answered.outcome.stopped) == (Verdict.INCOMPLETE, StopReason.MEMORY)
    assert cache.get(asked) is None


# -- the cache ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cached_answer_is_the_fresh_one(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path, "1")
    tasks = [task("counts/kip320-2221.toml"), task("answers/truncate-to-hw-2221-weak.toml")]
    fresh = outcomes(tasks, cache)
    again = list(answer_all(tasks, LIMITS, cache))
    assert [item.is_cached for item in again] == [True, True]
    assert [item.outcome for item in again] == fresh
    assert [without_time(item) for item in outcomes(tasks)] == [without_time(item) for item in fresh]
    assert cache.warnings == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"asked": replace(small("WeakIsr").asked, properties=("StrongIsr",))},
        {"asked": small("WeakIsr").asked.without(("LeaderWrite", "room in the log"))},
        {"every_property": True},
        {"probing": Probing.NOTHING},
        {"max_depth": 3},
        {"asked": small("WeakIsr", max_leader_epoch=2).asked},
    ],
    ids=["properties", "drop", "every_property", "probing", "max_depth", "constants"],
)
def test_another_question_does_not_find_the_answer(tmp_path: Path, other: dict[str, Any]) -> None:
    cache = ResultCache(tmp_path, "1")
    asked = small("WeakIsr")
    outcomes([asked], cache)
    assert cache.get(asked) is not None
    assert cache.get(replace(asked, **other)) is None
    assert ResultCache(tmp_path, "2").get(asked) is None
    assert cache.warnings == []


def entry_of(folder: Path, outcome: Outcome) -> Path:
    [path] = [path for path in (folder / "answers").iterdir() if outcome.fingerprint.encode() in path.read_bytes()]
    return path


@pytest.mark.slow
@pytest.mark.parametrize("change", ["edited", "cut", "binary", "folder", "foreign", "no-json", "other-shape"])
def test_a_damaged_or_foreign_entry_is_ignored_with_a_warning_and_written_anew(tmp_path: Path, change: str) -> None:
    cache = ResultCache(tmp_path, "1")
    asked, other = small("WeakIsr"), small("StrongIsr")
    good, foreign = outcomes([asked, other], cache)
    path = entry_of(tmp_path, good)
    text = path.read_text("utf-8")
    if change == "edited":
        path.write_text(text.replace('"distinct_states": ', '"distinct_states": 1'), "utf-8")
    elif change == "cut":
        path.write_text(text[: len(text) // 2], "utf-8")
    elif change == "binary":
        path.write_bytes(b"\xff\x00" * 100)
    elif change == "folder":
        path.unlink()
        path.mkdir()
    elif change == "foreign":
        path.write_text(entry_of(tmp_path, foreign).read_text("utf-8"), "utf-8")
    else:
        body = "[" if change == "no-json" else json.dumps({"key": path.stem, "content": {"verdict": "holds"}})
        path.write_text(f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}", "utf-8")
    assert cache.get(asked) is None
    assert len(cache.warnings) == 1
    assert str(path) in cache.warnings[0]
    if change != "folder":
        outcomes([asked], cache)
        fresh = ResultCache(tmp_path, "1")
        assert fresh.get(asked) is not None
        assert fresh.warnings == []


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    cache = ResultCache(tmp_path / "file", "1")
    assert outcomes([small("WeakIsr")], cache)[0].verdict is Verdict.HOLDS


# -- promises that say nothing -----------------------------------------------------------------------------------------


def test_a_promise_whose_antecedent_is_never_true_is_vacuous() -> None:
    [found] = outcomes([small("LogEpochsAscend", "HwWithinLog")])  # One offset has no predecessor.
    assert found.verdict is Verdict.HOLDS
    assert vacuous(found.probes) == ["LogEpochsAscend"]


def test_a_promise_that_is_switched_off_is_vacuous() -> None:
    spec = next(load_spec(path) for path in specs_under(SPECS) if load_spec(path).protocol.name == "partition")
    constants = {**spec.constants, "consumer": 0}
    asked = replace(spec.asked, constants=tuple(constants.items()), properties=("ReadsStay",))
    question = Task(asked, probing=Probing.VACUITY).question()
    assert vacuous(search(question, Bounds(1, 200 << 20, max_depth=2)).probes) == ["ReadsStay"]


def test_a_gate_refuses_a_vacuous_promise_by_name() -> None:
    spec = load_spec(SPECS / "counts/kip320-2221.toml")
    [found] = outcomes([Task.of(spec, Probing.VACUITY)])
    assert judge(spec, found) == []
    silent = dict.fromkeys(found.probes)
    [departure] = judge(spec, replace(found, probes=silent))
    assert departure.reason.value == "vacuous"
    assert "LeaderInIsr, HwWithinLog" in departure.sentence


# -- coverage ----------------------------------------------------------------------------------------------------------


def test_coverage_agrees_with_the_plain_evaluator_in_every_reachable_state() -> None:
    from acked.model.formulas.evaluate import Evaluator
    from tests.oracle import Space

    asked = small("WeakIsr", probing=Probing.COVERAGE)
    question = asked.question()
    instance = question.instance
    was_false, was_decisive = set(), set()
    states = [instance.schema.unpack(state) for state in Space(question).level_of]
    for step in instance.actions:
        holds = Evaluator([guard.condition for guard in step.guards])
        for codes in states:
            false = [guard.label for guard, value in zip(step.guards, holds(codes), strict=True) if not value]
            was_false |= {f"{step.action.name}: {label}" for label in false}
            if len(false) == 1:
                was_decisive.add(f"{step.action.name}: {false[0]}")
    [found] = outcomes([asked])
    clauses = clause_coverage(found.probes)
    assert {item.name for item in clauses if item.was_false} == was_false
    assert {item.name for item in clauses if item.was_decisive} == was_decisive
    assert {item.name for item in clauses if item.is_fixed} == {
        "FencedLeaderShrinkIsr: not the leader itself",
        "FencedBecomeFollowerAndTruncate: another replica leads",
    }


def test_merged_coverage_is_that_of_any_search() -> None:
    first, second = outcomes(
        [small("WeakIsr", probing=Probing.COVERAGE), small("WeakIsr", probing=Probing.COVERAGE, log_size=2)]
    )
    parts = [clause_coverage(item.probes) for item in (first, second)]
    together = {item.name: item for item in merge_coverage(parts)}
    for item in (item for part in parts for item in part):
        assert together[item.name].was_decisive >= item.was_decisive
        assert together[item.name].was_false >= item.was_false
