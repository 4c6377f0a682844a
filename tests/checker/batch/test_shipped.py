"""Answers that ship: what they say is what a search says, of the same question alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acked.checker.batch import shipped
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import BatchProcess
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.batch.shipped import ShippedAnswers, pack, shippable
from acked.checker.question.result import StopReason, Verdict
from acked.checker.search import local
from acked.checker.spec.question_text import QuestionText


def asked(*properties: str, protocol: str = "truncate-to-hw", max_states: int | None = 1_000, **constants: int) -> Task:
    sizes = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1} | constants
    return Task(QuestionText(protocol, tuple(sizes.items()), properties), max_states=max_states)


HOLDS, BROKEN = asked("LeaderEpochsOnlyGrow"), asked("WeakIsr")
BOUNDED = asked("WeakIsr", max_states=5, log_size=2)


def found(task: Task) -> Outcome:
    outcome = BatchProcess(1 << 28, 0).answer(task, lambda _: None)
    assert isinstance(outcome, Outcome)
    return outcome


@pytest.fixture(scope="module")
def answers() -> dict[Task, Outcome]:
    return {task: found(task) for task in (HOLDS, BROKEN, BOUNDED)}


def shipping(answers: dict[Task, Outcome], folder: Path) -> ShippedAnswers:
    (folder / "shipped.xz").write_bytes(pack(answers.items()))
    return ShippedAnswers(folder / "shipped.xz")


@pytest.mark.slow
def test_what_ships_is_what_was_found(answers: dict[Task, Outcome], tmp_path: Path) -> None:
    ships = shipping(answers, tmp_path)
    assert {answers[task].stopped for task in answers} == {StopReason.COMPLETE, StopReason.VIOLATION, StopReason.MAX_STATES}
    assert {task: ships.get(task) for task in answers} == {task: shippable(outcome) for task, outcome in answers.items()}
    assert sorted(map(repr, ships.tasks)) == sorted(map(repr, answers))
    assert (len(ships), ships.warnings) == (3, [])


@pytest.mark.slow
def test_an_answer_is_of_its_own_question_alone(answers: dict[Task, Outcome], tmp_path: Path) -> None:
    ships = shipping(answers, tmp_path)
    others = [
        asked("WeakIsr", log_size=3), asked("WeakIsr", "StrongIsr"), asked("WeakIsr", protocol="kip320"),
        replace(HOLDS, every_property=True), replace(HOLDS, probing=Probing.VACUITY), replace(HOLDS, max_depth=9),
        replace(HOLDS, asked=HOLDS.asked.without(("LeaderWrite", "room in the log"))),
    ]  # fmt: skip
    assert [ships.get(task) for task in others] == [None] * len(others)


@pytest.mark.slow
def test_a_bound_of_states_keeps_back_no_answer_and_what_met_its_bound_answers_no_other(
    answers: dict[Task, Outcome], tmp_path: Path
) -> None:
    ships = shipping(answers, tmp_path)
    assert ships.get(replace(HOLDS, max_states=None)) == shippable(answers[HOLDS])
    assert ships.get(replace(BOUNDED, max_states=6)) is None


@pytest.mark.slow
def test_a_change_of_a_rule_takes_its_answers_out_of_use_and_no_others(
    answers: dict[Task, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = replace(answers[BROKEN], fingerprint="f" * 64, verdict=Verdict.HOLDS, stopped=StopReason.COMPLETE, violations=())
    ships = shipping({**answers, BROKEN: before}, tmp_path)
    monkeypatch.setattr(shipped, "stamp", lambda: "other sources")
    assert ships.get(BROKEN) is None
    assert ships.get(HOLDS) == shippable(answers[HOLDS])


@pytest.mark.slow
@pytest.mark.parametrize("change", ["edited", "cut", "empty", "absent"])
def test_a_damaged_file_is_not_used_and_said(answers: dict[Task, Outcome], tmp_path: Path, change: str) -> None:
    ships = shipping(answers, tmp_path)
    path, content = tmp_path / "shipped.xz", (tmp_path / "shipped.xz").read_bytes()
    if change == "absent":
        path.unlink()
    else:
        at = len(content) // 2
        path.write_bytes({"edited": content[:at] + b"x" + content[at + 1 :], "cut": content[:at], "empty": b""}[change])
    assert ships.get(HOLDS) is None
    [warning] = ships.warnings
    assert str(path) in warning


@pytest.mark.slow
def test_the_cache_asks_what_ships_first_and_stores_none_of_it(answers: dict[Task, Outcome], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    ships = shipping(answers, tmp_path)
    cache = ResultCache(tmp_path / "cache", "1", ships)
    cache.put(HOLDS, replace(answers[HOLDS], depth=99))
    assert cache.get(HOLDS) == shippable(answers[HOLDS])
    assert ResultCache(tmp_path / "cache", "1").get(BROKEN) is None


@pytest.mark.slow
def test_without_a_folder_a_cache_has_what_ships_and_keeps_nothing(answers: dict[Task, Outcome], tmp_path: Path) -> None:
    cache = ResultCache(None, "1", shipping({HOLDS: answers[HOLDS]}, tmp_path))
    cache.put(BROKEN, answers[BROKEN])
    cache.keep("told", "words", "a run")
    assert (cache.get(HOLDS), cache.get(BROKEN)) == (shippable(answers[HOLDS]), None)
    assert cache.recall("told", "a run") is None


@pytest.mark.slow
def test_questions_that_come_out_the_same_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []
    search = local.search
    monkeypatch.setattr(local, "search", lambda question, *more: searched.append(question) or search(question, *more))
    process = BatchProcess(1 << 28, 0)
    other = asked("WeakIsr", log_size=2)
    one, again, another = (process.answer(task, lambda _: None) for task in (HOLDS, replace(HOLDS), other))
    assert one == again != another
    assert len(searched) == 2
