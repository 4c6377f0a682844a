"""From a violation that executors found back to an initial state.

The first levels, as many as fit into a little memory, the driver finds anew, which takes less time than a Spark job. For
those behind them there is one barrier job, whose tasks look for the source of a state in their part of a level's files as
often as the driver asks; Spark's own barrier takes most of a second, so they are asked through a connection to each of them.
"""

from __future__ import annotations

import json
import pickle
import secrets
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from acked.base.errors import AckedError, SystemFailure
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape
from acked.checker.question.question import Question
from acked.checker.question.result import Words
from acked.checker.shards.shard import alone, begin_level
from acked.checker.spark.pages import Pages
from acked.checker.spark.session import SparkDriver
from acked.checker.spark.shipping import remote
from acked.checker.spark.task import TaskPlan, walker
from acked.checker.store.trace_back import Edge

FIRST_LEVELS_BYTES = 32 << 20
"""Memory for the first levels: somewhat over a million states, which the driver finds in about a second."""
ATTEMPTS = 3
LOOK_SECONDS = 0.5
"""How often Spark is asked, while the driver waits, whether it still has the slots of all tasks."""
END_SECONDS = 5.0
SECRET_BYTES = 32


class FirstLevels:
    """The first levels of a space, found by one worker in this process as far as they are asked for and memory reaches."""

    def __init__(self, question: Question, shape: Shape, kernel: Kernel, memory: int) -> None:
        self._shard = alone(shape, kernel, memory)
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
        self, question: Question, driver: SparkDriver, plan: TaskPlan, kernel: Kernel, pages: Pages, is_shared: bool
    ) -> None:
        self._driver, self._plan, self._pages, self._is_shared = driver, plan, pages, is_shared
        self._first = FirstLevels(question, plan.shape, kernel, FIRST_LEVELS_BYTES)
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
            looking = walker(plan.shape, plan.code, plan.portable, plan.exchange, plan.buckets)
            return looking.source_in(Path(plan.run) / "levels", level, plan.levels[level - 1], target)
        for _ in range(ATTEMPTS):
            try:
                if self._lookers is None:
                    self._lookers = Lookers(self._driver, self._plan, self._pages)
                return self._lookers.source(level, target)
            except LookersLost as lost:
                self._driver.note_failure(str(lost))
                if self._lookers is not None:
                    self._lookers.end()
                self._lookers = None
        raise SystemFailure(
            f"Spark lost the tasks that walk back from the violation {ATTEMPTS} times in a row; its log is "
            f"{self._driver.log}, and --resume {self._plan.run} tries again"
        )


class LookersLost(Exception):
    """A task that looks for sources is gone, and with it the job."""


class Lookers:
    """The tasks of a barrier job that look for sources, each in its part of a level's files, until `end`."""

    def __init__(self, driver: SparkDriver, plan: TaskPlan, pages: Pages) -> None:
        self._driver = driver
        slots = driver.slots_now() or driver.slots()
        self._tasks = min(slots, max(len(files) for files in plan.levels))
        secret = secrets.token_bytes(SECRET_BYTES)
        host, bound = driver.addresses
        port = driver.settings.port  # That of the search, which is over.
        try:
            self._listener = Listener((bound, port), backlog=self._tasks, authkey=secret)
        except OSError as error:
            raise SystemFailure(f"the driver cannot listen at {bound}:{port}: {error.strerror or error}") from None
        self._comers: SimpleQueue[Connection] = SimpleQueue()
        Thread(target=self._accept, daemon=True).start()
        at = (host, self._listener.address[1])
        payload = pickle.dumps((plan, self._tasks, at, secret), pickle.HIGHEST_PROTOCOL)
        function = remote("acked.checker.spark.trace:look", payload)
        self._thread = ThreadPoolExecutor(1)
        self._thread.submit(pages.describe, "walks back from a violation")
        self._job: Future[list[Any]] = self._thread.submit(
            driver.collect, range(self._tasks), self._tasks, function, is_barrier=True
        )
        self._connections: list[Connection] = []

    def _accept(self) -> None:
        while True:
            try:
                self._comers.put(self._listener.accept())
            except AuthenticationError:
                continue  # a stranger
            except OSError:
                return  # It is closed.

    def source(self, level: int, target: Words) -> Edge | None:
        """The least (state, action) of a level that leads to `target`; `LookersLost` if a task is lost."""
        try:
            while len(self._connections) < self._tasks:
                try:
                    self._connections.append(self._comers.get(timeout=LOOK_SECONDS))
                except Empty:
                    self._refuse_loss()
            for connection in self._connections:
                connection.send_bytes(json.dumps([level, target]).encode())
            answers = [self._answer(connection) for connection in self._connections]
        except (OSError, EOFError) as error:
            raise LookersLost(str(error)) from None
        if errors := [error for _, error in answers if error is not None]:
            raise SystemFailure(errors[0])
        return min(((tuple(edge[0]), edge[1]) for edge, _ in answers if edge is not None), default=None)

    def _answer(self, connection: Connection) -> list[Any]:
        while not connection.poll(LOOK_SECONDS):
            self._refuse_loss()
        answer: list[Any] = json.loads(connection.recv_bytes())
        return answer

    def _refuse_loss(self) -> None:
        if self._job.done():
            raise LookersLost(str(self._job.exception()))
        # A barrier stage that has not begun waits without an end for a slot that is gone.
        if self._driver.slots_now() < self._tasks:
            raise LookersLost("an executor was lost")

    def end(self) -> None:
        """Ends the tasks, and cancels those that do not end."""
        self._listener.close()
        for connection in self._connections:
            connection.close()
        try:
            self._job.exception(END_SECONDS)
        except TimeoutError:
            self._driver.cancel()
        self._thread.shutdown(wait=False)


def look(payload: bytes, partition: Iterator[int]) -> Iterator[int]:
    """A barrier task: looks for sources as often as the driver asks."""
    plan, tasks, at, secret = pickle.loads(payload)
    for number in partition:
        try:
            connection = Client(at, authkey=secret)
        except OSError as error:
            raise RuntimeError(f"the driver does not answer at {at[0]}:{at[1]}: {error.strerror or error}") from None
        with connection:
            answer_driver(plan, (number, tasks), connection)
        yield number


def answer_driver(plan: TaskPlan, share: tuple[int, int], connection: Connection) -> None:
    """Answers (level, target) with (edge, error), from the files of this task of so many, until the driver ends."""
    looking = walker(plan.shape, plan.code, plan.portable, plan.exchange, plan.buckets)
    number, tasks = share
    while True:
        try:
            level, target = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        edge, error = None, None
        try:
            files = plan.levels[level - 1][number::tasks]
            edge = looking.source_in(Path(plan.run) / "levels", level, files, tuple(target))
        except AckedError as raised:
            error = str(raised)
        connection.send_bytes(json.dumps([edge, error]).encode())
