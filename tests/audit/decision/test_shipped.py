"""The answers that ship with acked: what a search says, of the questions that an audit asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from acked.audit.commands.audit import audit
from acked.audit.decision.joint import SHIPPED
from acked.checker.batch import shipped
from acked.checker.batch.local import BatchLimits, answer_all
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.batch.shipped import ShippedAnswers, shippable
from acked.checker.question.result import Verdict
from acked.model.language.tracings import Tracings

LIMITS = BatchLimits(1, 1 << 29)
MOST_BYTES = 200_000
COMMON = ("--set", "replication.factor=3", "--set", "min.insync.replicas=2", "--set", "acks=all")


@cache
def answers() -> dict[Task, Outcome]:
    """All of the file, as if it were of today, so that no question is traced for it; that it is so is asked below."""
    ships = ShippedAnswers(SHIPPED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shipped, "stamp", lambda: ships._file["stamp"])
        found = {task: ships.get(task) for task in ships.tasks}
    assert ships.warnings == []
    return {task: outcome for task, outcome in found.items() if outcome is not None}


def sample(number: int, most: int) -> list[Task]:
    """So many, far from each other, of few states, and of each verdict."""
    few = [task for task, outcome in answers().items() if outcome.distinct_states < most]
    by_verdict = [[task for task in few if answers()[task].verdict is verdict] for verdict in Verdict]
    return [tasks[at * len(tasks) // number] for tasks in by_verdict if tasks for at in range(number)]


def searched(tasks: Sequence[Task], limits: BatchLimits = LIMITS) -> dict[Task, Outcome]:
    found = {tasks[answered.task]: answered.outcome for answered in answer_all(tasks, limits)}
    return {task: shippable(outcome) for task, outcome in found.items() if outcome is not None}


def audited(folder: Path, *arguments: str) -> dict[str, Any]:
    wanted = ["--format", "json", "-q", *arguments]
    done = CliRunner(env={"ACKED_CACHE_DIR": str(folder)}).invoke(audit, wanted, standalone_mode=False)
    assert done.exception is None
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.slow
def test_the_file_is_small() -> None:
    assert len(answers()) > 500
    assert SHIPPED.stat().st_size < MOST_BYTES


def test_the_answers_are_used_without_tracing_their_questions() -> None:
    """Else an audit of 200 topics takes 45 s of processor time."""
    assert ShippedAnswers(SHIPPED).is_current, "python tools/answers/shipped.py --minutes 0 compares them with the new model"


@pytest.mark.slow
def test_a_sample_is_what_a_search_says() -> None:
    tasks = sample(2, 3_000)
    assert len(tasks) >= 4
    assert searched(tasks) == {task: answers()[task] for task in tasks}


@pytest.mark.slow
def test_a_sample_is_of_the_questions_of_today() -> None:
    tracings = Tracings()
    for task in list(answers())[:: max(1, len(answers()) // 4)]:
        assert task.question(tracings).fingerprint.startswith(answers()[task].fingerprint), task


@pytest.mark.long
@pytest.mark.timeout(0)
def test_every_answer_is_what_a_search_says() -> None:
    tasks = list(answers())
    assert searched(tasks, BatchLimits.default()) == answers()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.9.1", "4.1", "4.4"])
def test_the_commonest_settings_are_answered_by_what_ships(version: str, tmp_path: Path) -> None:
    feature = () if version == "3.9.1" else ("--set", "eligible.leader.replicas.version=1")
    document = audited(tmp_path, *COMMON, "--kafka-version", version, "--control-plane", "kraft", *feature)
    assert {answer["decided_by"] for answer in document["answers"]} == {"shipped answer", "proof"}
    assert {answer["answer"] for answer in document["answers"]} == {"yes", "no"}
    assert len(document["answers"]) == 26
    assert not list(tmp_path.glob("results/answers/*"))


@pytest.mark.slow
def test_what_does_not_ship_or_is_not_wanted_is_searched_with_the_same_answer(tmp_path: Path) -> None:
    one = ("--kafka-version", "4.1", "--set", "eligible.leader.replicas.version=1", "--set", "replication.factor=1",
           "--set", "min.insync.replicas=1", "--set", "acks=all", "--ask", "loss,vanishing", "--faults", "clean",
           "--no-advice")  # fmt: skip
    shipped, searched_, anew = (audited(tmp_path, *one, *more) for more in ((), ("--no-shipped",), ("--no-cache",)))
    decided = [[answer.pop("decided_by") for answer in found["answers"]] for found in (shipped, searched_, anew)]
    assert decided == [["shipped answer"] * 2, ["search"] * 2, ["search"] * 2]
    assert shipped == searched_ == anew
    other = audited(tmp_path, *one, "--log-size", "2")
    # No answer ships for another size; a proof for all constants is of that, too.
    assert {answer["decided_by"] for answer in other["answers"]} == {"proof"}
