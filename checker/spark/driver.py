"""The search over Spark: the same levels and answers as the local search, the states spread over executors.

One barrier job holds all levels; its tasks keep the visited set in native memory (`task.py`), and the driver sees counts
and violations, never the states. Each level is committed to the run directory; when a task is lost, the job is begun again
from the last commit, with fewer tasks if slots are gone.

A barrier job cannot lose one task and go on, so a loss costs reading back what is stored; in return no level pays for Spark's
scheduling. A task per bucket and level, which Spark could rerun alone, took two to three times as long.
"""

from __future__ import annotations

import json
import os
import pickle
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.base.observer import Observer, Progress
from acked.checker.native.compile import Kernel, ObjectCode, compile_optimized, portable_code
from acked.checker.native.shape import shape_of
from acked.checker.question.engine import Capabilities, Storage, Unsupported
from acked.checker.question.ledger import Ledger, LevelReport, StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason, Violation, Words
from acked.checker.shards.compact import FORGET_FROM
from acked.checker.shards.shard import address, numbers
from acked.checker.spark.grid import columns_for
from acked.checker.spark.pages import Pages
from acked.checker.spark.part import load_code
from acked.checker.spark.session import SparkDriver, remote
from acked.checker.spark.task import Orphaned, TaskPlan
from acked.checker.spark.trace import WalkBack
from acked.checker.store.level_file import LevelFile, StateCodec, exchange_code
from acked.checker.store.run_directory import RunDirectory, report_from_json
from acked.checker.store.trace_back import Edge, refusing_overflow, shortest_run

POLL_SECONDS = 0.0004
FRUITLESS_ATTEMPTS = 3
"""So many attempts in a row that complete no level end the search."""
SLOT_WAIT = (2.0, 5.0)
"""Seconds that a lost slot may take to come back before the search goes on with fewer: as long as the search has taken so
far, but not less than the one and not more than the other. A short search is sooner done without the slot."""
LOOK_SECONDS = 0.5
"""How often Spark is asked, while the driver waits for tasks, whether it still has their slots."""

SECRET_BYTES = 32
LATE_EXECUTOR_SECONDS = 10.0
"""How long a search whose memory is full waits for executors that had not come when it began."""

SPARK = Capabilities(
    "spark",
    Storage.REQUIRED,
    no_graph_properties=Unsupported("over Spark", "use --engine local"),
    is_distributed=True,
)


class _JobLost(Exception):
    """The job of an attempt ended before the search did."""


class _MoreSlots(Exception):
    """Memory is full, and the cluster has slots that had not come when the attempt began."""


@dataclass(frozen=True)
class SparkBounds:
    """Limits of a run over Spark.

    There are as many tasks as slots and buckets allow, and at most `tasks`, if given. `memory` is bytes for each task; None
    for a fair part of what its machine has. `max_depth` counts levels, `max_states` states.
    """

    tasks: int | None = None
    memory: int | None = None
    max_depth: int | None = None
    max_states: int | None = None


class SparkSearch:
    """One exhaustive search over Spark; `run` may be called once.

    Afterwards `timings` has, for every worker of the last attempt, where its time went.
    """

    def __init__(
        self,
        question: Question,
        stored: RunDirectory,
        driver: SparkDriver,
        policy: StopPolicy = StopPolicy.FIRST_VIOLATION,
        observer: Observer | None = None,
        bounds: SparkBounds | None = None,
    ) -> None:
        bounds = bounds or SparkBounds()
        self.question = question
        self.stored = stored
        self._stored_levels = len(stored.reports)
        self.driver = driver
        self.observer = observer or Observer()
        self.ledger = Ledger(question, policy, bounds.max_depth, bounds.max_states)
        self._memory = bounds.memory
        self._max_tasks = min(stored.buckets, stored.buckets if bounds.tasks is None else bounds.tasks)
        self.workers = 0
        self.timings: list[dict[str, float]] = []
        self.notes: list[str] = []
        self._memory_bytes = 0
        self._seconds = 0.0
        self._started: float | None = None
        self._walk_back: WalkBack | None = None
        self._pages = Pages(driver, question)

    def run(self) -> Result:
        """Searches until the space, a bound, a violation or Ctrl-C ends it."""
        violations: tuple[Violation, ...] = ()
        try:
            self._set_up()
            with refusing_overflow(self.question, self._source):
                if all(self.ledger.commit(report) for report in self.stored.reports):
                    self._search()
                else:
                    self.stored.verify(self._codec)
            if self.ledger.findings:
                self.observer.phase("rebuilding the shortest trace")
            violations = tuple(shortest_run(self.question, found, self._source) for found in self.ledger.findings_to_report())
        except KeyboardInterrupt:
            self.notes += self.ledger.interrupt()
        finally:
            if self._walk_back is not None:
                self._walk_back.end()
        return self.ledger.result(
            "spark",
            self.workers,
            violations,
            seconds=self._seconds,
            memory_bytes=self._memory_bytes,
            notes=self.notes,
            stored_levels=self._stored_levels,
        )

    def _set_up(self) -> None:
        self.observer.phase("compiling")
        self.question.refuse_asymmetry()
        SPARK.check(self.question, is_stored=True)
        plan = self.question.plan
        self._shape = shape_of(plan)
        self._code: ObjectCode = compile_optimized(plan)
        self._moves = exchange_code(self._shape)
        # Executors of one machine have its processor.
        self._portable = None if self.driver.settings.is_local else portable_code(plan)
        self._codec = StateCodec(self._shape, self.stored.buckets, Kernel(self._moves))
        self.stored.agree_on_layout(self._codec)
        if not self.stored.commits:
            self.stored.commit(None, self._store_initial())

    def _store_initial(self) -> tuple[LevelFile, ...]:
        states = self.question.initial
        words = numbers(word for state in states for word in state)
        path = self.stored.path / "levels" / f"00001-{self.stored.new_attempt()}-0.states"
        return (self._codec.write(path, 1, address(words), len(states)),)

    # -- attempts ---------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        self.observer.phase("waiting for executors")
        self.workers = min(self.driver.slots(), self._max_tasks)
        fruitless = 0
        while True:
            known = self.stored.known_levels
            try:
                self._attempt()
                return
            except _MoreSlots:
                before, self.workers = self.workers, min(self.driver.slots(), self._max_tasks)
                self.notes.append(
                    f"memory was full at level {self.stored.known_levels}; resumed from it with {self.workers} instead of "
                    f"{before} tasks, which the cluster offers by now"
                )
            except _JobLost as lost:
                fruitless = 0 if self.stored.known_levels > known else fruitless + 1
                if fruitless == FRUITLESS_ATTEMPTS:
                    raise SystemFailure(
                        f"Spark's tasks failed {fruitless} times in a row at level {self.stored.known_levels}: {lost}; "
                        f"Spark's log is {self.driver.log}, and --resume {self.stored.path} continues from there"
                    ) from None
                self.observer.phase("waiting for executors")
                before = self.workers
                self.workers = min(self.driver.slots(self.workers, self._patience), self._max_tasks)
                fewer = f" with {self.workers} instead of {before} tasks" if self.workers != before else ""
                self.notes.append(f"tasks were lost at level {self.stored.known_levels} ({lost}); resumed from it{fewer}")

    def _could_grow(self) -> bool:
        if self.driver.settings.is_local or self.workers >= self._max_tasks:
            return False
        self.observer.phase("memory is full: waiting for more executors")
        return self.driver.slots(self.workers + 1, LATE_EXECUTOR_SECONDS) > self.workers

    @property
    def _patience(self) -> float:
        least, most = SLOT_WAIT
        return min(max(self._seconds, least), most)

    def _attempt(self) -> None:
        attempt = self.stored.new_attempt()
        meeting = self.stored.path / "scratch" / attempt
        plan = self._plan(attempt)
        meeting.mkdir()
        self.observer.phase("starting tasks")
        names = ", ".join(item.name for item in self.question.properties)
        job = _Job(self.driver, plan, partial(self._pages.describe, f"searches from level {len(plan.levels)} on: {names}"))
        try:
            full: list[bool] = []
            self._gather(job, meeting, "ready-{}", lambda body: full.append(body["is_full"]))
            if any(full):
                if self._could_grow():
                    raise _MoreSlots
                self.ledger.abandon(StopReason.MEMORY)
                return
            self._touch(meeting / "begin")
            self.observer.phase("searching")
            begun = time.perf_counter()
            self._started = self._started or begun
            try:
                while self._level(job, meeting):
                    pass
            finally:
                self._seconds += time.perf_counter() - begun
        finally:
            self._touch(meeting / "stop")
            job.end()
            _end(meeting)

    def _plan(self, attempt: str) -> TaskPlan:
        return TaskPlan(
            run=str(self.stored.path.resolve()),
            attempt=attempt,
            shape=self._shape,
            code=self._code,
            exchange=self._moves,
            portable=self._portable,
            buckets=self.stored.buckets,
            layout=self._codec.fingerprint,
            workers=self.workers,
            memory=self._memory,
            levels=tuple(commit.files for commit in self.stored.commits),
            # On one machine there are no more tasks than it has processors.
            columns=1 if self.driver.settings.is_local else columns_for(self.workers),
            forget_from=FORGET_FROM,
            secret=None if self.driver.settings.is_local else secrets.token_bytes(SECRET_BYTES),
        )

    def _level(self, job: _Job, meeting: Path) -> bool:
        """Waits for a level and commits it; whether there is another one to come."""
        number = self.stored.known_levels
        parts: list[LevelReport] = []
        files: list[LevelFile] = []
        self.timings, self._memory_bytes = [], 0

        def take(body: dict[str, Any]) -> None:
            parts.append(report_from_json(body["report"]))
            if body["file"] is not None:
                files.append(LevelFile(*body["file"]))
            self.timings.append(body["timing"])
            self._memory_bytes += body["memory"]

        self._gather(job, meeting, f"done-{number:05}-{{}}", take)
        report = LevelReport.of(parts)
        if not report.is_expanded and self._could_grow():
            raise _MoreSlots
        goes_on = self.ledger.commit(report)
        if not goes_on:
            # Before the commit, at which the tasks would begin the next level.
            self._touch(meeting / "stop")
        if report.is_expanded:
            self.stored.commit(report, tuple(files))
        self._report_progress(report, not goes_on)
        return goes_on

    def _gather(self, job: _Job, meeting: Path, name: str, take: Callable[[dict[str, Any]], None]) -> None:
        """Takes what every worker announces under a name, in the workers' order."""
        looks, looked = 0, time.monotonic()
        for worker in range(self.workers):
            path = meeting / name.format(worker)
            while not path.exists():
                looks += 1
                if looks % 64 == 0:
                    self._refuse_failure(meeting)
                    if time.monotonic() - looked > LOOK_SECONDS:
                        job.refuse_lost_slots()
                        looked = time.monotonic()
                if job.is_over:
                    self._refuse_failure(meeting)
                    if not path.exists():
                        raise _JobLost(job.reason)
                time.sleep(POLL_SECONDS)
            take(json.loads(path.read_bytes()))

    def _refuse_failure(self, meeting: Path) -> None:
        """Raises the error of a task that could not go on."""
        for worker in range(self.workers):
            path = meeting / f"failed-{worker}"
            if path.exists():
                raise SystemFailure(json.loads(path.read_bytes())["error"])

    def _touch(self, path: Path) -> None:
        try:
            path.write_bytes(b"{}")
        except OSError:
            if path.parent.exists():
                raise SystemFailure(f"cannot write {path}; make room, or choose another --run-dir") from None

    def _report_progress(self, report: LevelReport, is_last: bool) -> None:
        now = Progress(
            depth=self.ledger.depth,
            distinct_states=sum(self.ledger.level_sizes) + report.next_states,
            generated_states=self.ledger.generated_states + sum(report.enabled),
            frontier=report.next_states,
            seconds=time.perf_counter() - (self._started or 0.0),
            memory_bytes=self._memory_bytes,
        )
        self.observer.progress(now)
        self._pages.show_level(report.states, now, is_last)

    # -- traces -----------------------------------------------------------------------------------------------------

    def _source(self, depth: int, target: Words) -> Edge:
        """The least (state of level `depth`, action) that leads to `target`."""
        if self._walk_back is None:
            plan, kernel = self._plan("none"), load_code(self._code)
            self._walk_back = WalkBack(self.question, self.driver, plan, kernel, self._pages)
        return self._walk_back.source(depth, target)


@dataclass(frozen=True)
class SparkEngine:
    """The engine of `--engine spark`.

    `connect` starts Spark for one search; `memory` is bytes for each task, None for a fair part of what its machine has.
    """

    connect: Callable[[], AbstractContextManager[SparkDriver]]
    memory: int | None = None
    capabilities: ClassVar[Capabilities] = SPARK

    def search(
        self, question: Question, bounds: Bounds, policy: StopPolicy, observer: Observer, stored: RunDirectory | None
    ) -> Result:
        """See `Engine`; of `bounds` those of depth and states, because workers and memory are of the cluster."""
        assert stored is not None, "Spark's capabilities say that it cannot search without a run directory"
        self.capabilities.check(question, is_stored=True)
        observer.phase("starting Spark")
        with self.connect() as driver:
            limits = SparkBounds(memory=self.memory, max_depth=bounds.max_depth, max_states=bounds.max_states)
            return SparkSearch(question, stored, driver, policy, observer, limits).run()


def _end(meeting: Path) -> None:
    """The meeting is gone at once: a task that still writes in it could else find it without the word to stop, and go on."""
    over = meeting.with_name(f"{meeting.name}.over")
    try:
        os.rename(meeting, over)
    except OSError:
        over = meeting  # Somebody has removed it, or nothing can be renamed there.
    shutil.rmtree(over, ignore_errors=True)


class _Job:
    """The barrier job of one attempt, in a thread of its own."""

    def __init__(self, driver: SparkDriver, plan: TaskPlan, describe: Callable[[], None]) -> None:
        self._driver, self._describe = driver, describe
        self._workers = plan.workers
        self._function = remote("acked.checker.spark.task:run", pickle.dumps(plan, pickle.HIGHEST_PROTOCOL))
        self._error: Exception | None = None
        self._has_slots = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._describe()
            self._driver.collect(range(self._workers), self._workers, self._function, is_barrier=True)
        except Exception as error:  # whatever Spark or a task raises; see `reason`
            self._error = error

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, well or not."""
        return not self._thread.is_alive()

    @property
    def reason(self) -> str:
        """Why it ended, in one line."""
        if self._error is None:
            return "the tasks ended before the search did"
        self._driver.note_failure(str(self._error))
        return reason_of(str(self._error))

    def refuse_lost_slots(self) -> None:
        """Raises if Spark has fewer slots than the job has tasks.

        A slot may be gone that was counted when the job began. Spark fails a task that was running there, but a barrier stage
        that has not begun waits for the slot for ever, silently.
        """
        if self._driver.slots_now() < self._workers:
            self._has_slots = False
            raise _JobLost("an executor was lost")

    def end(self) -> None:
        """Waits for the tasks, which were asked to stop, and cancels them if they do not.

        A stage that has never begun is not waited for: should Spark begin it later, its tasks find their attempt gone.
        """
        self._thread.join(5.0 if self._has_slots else 0.0)
        if self._thread.is_alive():
            self._driver.cancel()
            self._thread.join(20.0 if self._has_slots else 1.0)


def reason_of(text: str) -> str:
    """Why a job failed, in a few words."""
    known = (
        ("ExecutorLostFailure", "an executor was lost"),
        (f"{Orphaned.__module__}.{Orphaned.__qualname__}", "the Python daemon of an executor died"),
        ("Python worker exited unexpectedly", "a Python worker died"),
        ("EOFException", "a Python worker died"),
        ("Connection reset", "a Python worker died"),
        ("Could not recover from a failed barrier", "a task of the barrier stage failed"),
        ("cancelled", "the job was cancelled"),
    )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if line.startswith(("RuntimeError: ", "ModuleNotFoundError: ", "ImportError: "))]
    if raised:
        return raised[-1].partition(": ")[2]
    return next((words for sign, words in known if sign in text), lines[0][:200] if lines else "no reason given")
