"""From a violation that executors found back to an initial state: the local search's run, in one Spark job at most."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.checker.native.compile import load_kernel
from acked.checker.native.shape import shape_of
from acked.checker.question.overflow import Overflow
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Words
from acked.checker.search.local import search
from acked.checker.spark import trace
from acked.checker.spark.driver import SparkSearch
from acked.checker.spark.meeting import Meeting, TaskLost
from acked.checker.spark.session import SparkDriver
from acked.checker.store.run_directory import RunDirectory
from tests.checker.spark.spark_cluster import kill_python_workers
from tests.checker.toys import always, answer, ask, counters, overflowing

pytestmark = pytest.mark.spark

TINY = 100
"""Bytes that hold one state, so that all levels but the first are looked for in files."""


@pytest.fixture
def jobs(driver: SparkDriver, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tasks of every Spark job, as they begin."""
    begun: list[int] = []
    collect = driver.collect

    def counted(items: Any, partitions: int, *others: Any, **options: Any) -> list[Any]:
        begun.append(partitions)
        return collect(items, partitions, *others, **options)

    monkeypatch.setattr(driver, "collect", counted)
    return begun


def over_spark(driver: SparkDriver, question: Question, folder: Path, is_temporary: bool = False) -> Result:
    with RunDirectory.create(folder, question, 7) as run:
        run.is_temporary = is_temporary
        return SparkSearch(question, run, driver).run()


def climbing() -> Question:
    """A violation 21 levels deep."""
    return ask(counters(4, 6), always("Sum", lambda s: s.n0 + s.n1 + s.n2 + s.n3 < 20))


def test_a_short_space_is_walked_back_in_the_driver(driver: SparkDriver, tmp_path: Path, jobs: list[int]) -> None:
    assert answer(over_spark(driver, climbing(), tmp_path / "run")) == answer(search(climbing(), Bounds(2)))
    assert jobs == [2]  # the search itself


@pytest.mark.parametrize("is_temporary", [False, True])
def test_deep_levels_are_walked_back_in_one_job_whatever_the_number_of_steps(
    driver: SparkDriver, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch, is_temporary: bool
) -> None:
    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", TINY)
    for number, question in enumerate((climbing(), load_spec("kip101").question())):
        jobs.clear()
        found = over_spark(driver, question, tmp_path / str(number), is_temporary)
        assert answer(found) == answer(search(question, Bounds(2)))
        assert len(jobs) == 2, "the search, and the walk back"


def test_the_way_to_a_step_that_leaves_its_domain_is_the_local_one(
    driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", TINY)
    with pytest.raises(Overflow) as there:
        over_spark(driver, ask(overflowing(5)), tmp_path / "run")
    with pytest.raises(Overflow) as here:
        search(ask(overflowing(5)))
    assert (str(there.value), there.value.run.states) == (str(here.value), here.value.run.states)


def test_the_jobs_of_a_search_and_its_last_level_stand_on_the_pages_of_spark(
    driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", TINY)
    over_spark(driver, climbing(), tmp_path / "run")
    jobs = driver.context._jsc.sc().statusStore().jobsList(None)
    listed = [jobs.apply(at) for at in range(jobs.size())]
    last = [job for job in listed if job.jobGroup() == listed[0].jobGroup()]
    shown = sorted((job.jobId(), job.description().get()) for job in last)
    assert last[0].jobGroup().get().startswith("acked counters ")
    assert shown[0][1] == "counters: searches from level 1 on: Sum"
    assert shown[-1][1] == "counters: walks back from a violation"
    assert shown[-2][1] == "counters: level 21, 35 states; 2,386 distinct states so far"


def test_a_task_killed_on_the_way_back_changes_no_trace(
    driver: SparkDriver, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", TINY)
    source, killed = trace.Lookers.source, list[int]()

    def deadly(lookers: trace.Lookers, level: int, target: Words) -> Any:
        if level == 12 and not killed:
            killed.extend(kill_python_workers(os.getpid()))
        return source(lookers, level, target)

    monkeypatch.setattr(trace.Lookers, "source", deadly)
    assert answer(over_spark(driver, climbing(), tmp_path / "run")) == answer(search(climbing(), Bounds(2)))
    assert killed
    assert len(jobs) == 3


@pytest.mark.timeout(60)
def test_who_comes_to_the_meeting_on_the_way_back_and_says_nothing_keeps_nobody_waiting(
    driver: SparkDriver, tmp_path: Path, jobs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The greeting of one was over before that of the next began."""
    strangers: list[socket.socket] = []

    class Visited(Meeting):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            strangers.append(socket.create_connection(self.place))

    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", TINY)
    monkeypatch.setattr(trace, "Meeting", Visited)
    assert answer(over_spark(driver, climbing(), tmp_path / "run")) == answer(search(climbing(), Bounds(2)))
    assert len(strangers) == 1
    assert len(jobs) == 2
    strangers[0].close()


def test_tasks_lost_on_the_way_back_again_and_again_are_one_sentence(
    driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> Any:
        raise TaskLost("a task died")

    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", TINY)
    monkeypatch.setattr(trace.Lookers, "source", lost)
    with pytest.raises(SystemFailure, match=r"lost the tasks that walk back .* 3 times in a row; .*--resume .*run"):
        over_spark(driver, climbing(), tmp_path / "run")


def test_a_level_file_damaged_since_is_named(driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", TINY)
    source = trace.WalkBack.source

    def damaging(walk: trace.WalkBack, level: int, target: Words) -> Any:
        if level == 9:
            for file in (tmp_path / "run" / "levels").glob("00009-*"):
                file.write_bytes(file.read_bytes()[:-1])
        return source(walk, level, target)

    monkeypatch.setattr(trace.WalkBack, "source", damaging)
    with pytest.raises(SystemFailure, match=r"00009-.* has another length than was written"):
        over_spark(driver, climbing(), tmp_path / "run")


def test_the_first_levels_are_those_that_fit_and_their_sources_the_least() -> None:
    question = climbing()
    kernel, shape = load_kernel(question.plan), shape_of(question.plan)
    run = search(question, Bounds(1)).violations[0].run
    numbers = {id(step): number for number, step in enumerate(question.instance.actions)}
    whole = trace.FirstLevels(question, shape, kernel, 1 << 20)
    assert whole.has(20)
    for level in range(1, len(run.states)):
        assert whole.source(level, run.states[level]) == (run.states[level - 1], numbers[id(run.actions[level - 1])])
    small = trace.FirstLevels(question, shape, kernel, 60_000)
    reached = [level for level in range(1, 26) if small.has(level)]
    assert reached == list(range(1, len(reached) + 1))
    assert 1 < len(reached) < 20
    for level in reached:
        assert small.source(level, run.states[level]) == whole.source(level, run.states[level])
