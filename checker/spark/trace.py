"""From a violation that executors found back to an initial state.

The first levels, as many as fit into a little memory, the driver finds anew, which takes less time than a Spark job. For
those behind them there is one barrier job, whose tasks look for the source of a state in their part of a level's files as
often as the driver asks, at a meeting (`meeting.py`): Spark's own barrier takes most of a second.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from acked.base.errors import SystemFailure
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape
from acked.checker.question.question import Question
from acked.checker.question.result import Words
from acked.checker.shards.shard import alone, begin_level
from acked.checker.spark.jobs import Job, Pages
from acked.checker.spark.meeting import Meeting, TaskLost
from acked.checker.spark.session import SparkDriver
from acked.checker.spark.task import TaskPlan, attendance, own_code, this_task, walker
from acked.checker.store.trace_back import Edge, Walker

FIRST_LEVELS_BYTES = 32 << 20
"""Memory for the first levels: somewhat over a million states, which the driver finds in about a second."""
ATTEMPTS = 3


class FirstLevels:
    """The first levels of a space, found by one worker in this process as far as they are asked for and memory reaches."""

    def __init__(self, question: Question, shape: Shape, kernel: Kernel, memory: int | None = None) -> None:
        self._shard = alone(shape, kernel, FIRST_LEVELS_BYTES if memory is None else memory)
        self._shard.insert(question.initial)
        self._levels = [(0, self._shard.count)]
        self._is_full = False

    def has(self, level: int) -> bool:
        """Whether all states of a level, counted from 1, are at hand."""
        while len(self._levels) < level and not self._is_full:
            begin, end = self._levels[-1]
            begin_level([self._shard])
            self._is_full = self._shard.expand(begin, end) < end or self._shard.is_full or self._shard.needs_growth
            if not self._is_full:
                self._levels.append((end, self._shard.count))
        return level <= len(self._levels)

    def source(self, level: int, target: Words) -> Edge | None:
        """The least (state of a level that is at hand, action) that leads to `target`."""
        return self._shard.find_source(*self._levels[level - 1], target)


class WalkBack:
    """The steps back from the violations of one search, until `end`; `plan` has the files of all levels.

    The driver reads them itself where executors do not see them.
    """

    def __init__(
        self, question: Question, driver: SparkDriver, plan: TaskPlan, first: FirstLevels, pages: Pages, is_shared: bool
    ) -> None:
        self._question, self._driver, self._plan, self._pages, self._is_shared = question, driver, plan, pages, is_shared
        self._first = first
        self._lookers: Lookers | None = None

    def end(self) -> None:
        """Ends the job, if there is one."""
        if self._lookers is not None:
            self._lookers.end()

    def source(self, level: int, target: Words) -> Edge:
        """The least (state of a level, action) that leads to `target`."""
        has_level = self._first.has(level)
        edge = self._first.source(level, target) if has_level else self._source_in_files(level, target)
        if edge is None:
            raise SystemFailure(
                f"{self._plan.run} has no state of level {level} that leads to the violation; search again"
            )
        return edge

    def _source_in_files(self, level: int, target: Words) -> Edge | None:
        """What executors find; asked again if one is lost."""
        if not self._is_shared:
            plan = self._plan
            return self._walker.source_in(Path(plan.run) / "levels", level, plan.levels[level - 1], target)
        for _ in range(ATTEMPTS):
            try:
                if self._lookers is None:
                    self._lookers = Lookers(self._driver, self._plan, self._question, self._pages)
                return self._lookers.source(level, target)
            except TaskLost as lost:
                self._driver.note_failure(str(lost))
                if self._lookers is not None:
                    self._lookers.end()
                self._lookers = None
        raise SystemFailure(
            f"Spark lost the tasks that walk back from the violation {ATTEMPTS} times in a row; its log is "
            f"{self._driver.log}, and --resume {self._plan.run} tries again"
        )

    @cached_property
    def _walker(self) -> Walker:
        return walker(self._plan, self._plan.code)


class Lookers:
    """The tasks of a barrier job that look for sources, each in its part of a level's files, until `end`.

    Once the search is over they meet where its tasks did.
    """

    def __init__(self, driver: SparkDriver, plan: TaskPlan, question: Question, pages: Pages) -> None:
        slots = driver.slots_now() or driver.slots()
        tasks = min(slots, max(len(files) for files in plan.levels))
        self._meeting = Meeting(driver, tasks, Path(plan.run) / "levels", question)
        plan = replace(plan, workers=tasks, driver=self._meeting.place, secret=self._meeting.secret)
        describe = partial(pages.describe, "walks back from a violation")
        self._job = Job(driver, tasks, "acked.checker.spark.trace:look", plan, describe)
        self._are_here = False

    def source(self, level: int, target: Words) -> Edge | None:
        """The least (state, action) of a level that leads to `target`; `TaskLost` if a task is."""
        if not self._are_here:
            self._meeting.gather("here", self._job.look_for_slots)
            self._are_here = True
        self._meeting.tell("look", {"level": level, "target": target})
        edges = [body["edge"] for body in self._meeting.gather("edge", self._job.look)]
        return min(((tuple(state), action) for state, action in filter(None, edges)), default=None)

    def end(self) -> None:
        """Ends the tasks, and cancels those that do not end."""
        self._meeting.close()
        self._job.end()


def look(payload: bytes, partition: Iterator[int]) -> Iterator[int]:
    """A barrier task: looks for sources as often as the driver asks, until it stops it."""
    number, hosts = this_task()
    plan: TaskPlan = pickle.loads(payload)
    for _ in partition:
        pass
    with attendance(plan, number, hosts[number]) as seat:
        looking = walker(plan, own_code(plan.code, seat))
        seat.say("here", {"host": hosts[number]})
        while True:
            asked = seat.wait_for("look")
            files = plan.levels[asked["level"] - 1][number :: plan.workers]
            edge = looking.source_in(Path(plan.run) / "levels", asked["level"], files, tuple(asked["target"]))
            seat.say("edge", {"edge": edge})
    yield number
