"""The search over Spark: the same levels and answers as the local search, the states spread over executors.

One barrier job holds all levels; its tasks keep the visited set in native memory (`task.py`), and the driver sees counts
and violations (`meeting.py`). Each level is committed to the run directory; when a task is lost, the job is begun again
from the last commit, with fewer tasks if slots are gone. Where the run directory is temporary, nothing is written in the
first seconds, nor ever in a search that ends by then, unless the way back from a violation asks for it.

A barrier job cannot lose one task and go on, so a loss costs reading back what is stored; in return no level pays for Spark's
scheduling. A task per bucket and level, which Spark could rerun alone, took two to three times as long.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.checker.native.compile import Kernel, ObjectCode, compile_optimized
from acked.checker.native.shape import shape_of
from acked.checker.question.engine import Capabilities, Storage, Unsupported
from acked.checker.question.ledger import LeavesDomain, Ledger, LevelReport, StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason, Violation, Words
from acked.checker.shards.compact import FORGET_FROM
from acked.checker.shards.shard import address, numbers
from acked.checker.spark.grid import columns_for
from acked.checker.spark.jobs import Job, Pages
from acked.checker.spark.meeting import Meeting, TaskLost
from acked.checker.spark.part import load_code
from acked.checker.spark.session import SparkDriver
from acked.checker.spark.task import TaskPlan
from acked.checker.spark.trace import FirstLevels, WalkBack
from acked.checker.store.dealing import steady_masks
from acked.checker.store.level_file import LevelFile, StateCodec, cannot_write, exchange_code
from acked.checker.store.run_directory import RunDirectory, report_from_json
from acked.checker.store.trace_back import Edge, refusing_overflow, shortest_run

FRUITLESS_ATTEMPTS = 3
"""So many attempts in a row that complete no level end the search."""
SLOT_WAIT = (2.0, 5.0)
"""Seconds that a lost slot may take to come back before the search goes on with fewer: as long as the search has taken so
far, but not less than the one and not more than the other. A short search is sooner done without the slot."""
UNSTORED_SECONDS = 10.0
"""So long a search does not store its levels in a run directory that nobody asked for: about what it takes to lose and to
replace an executor. From then on, or once a task has been lost, it stores them all."""
LATE_EXECUTOR_SECONDS = 10.0
"""How long a search whose memory is full waits for executors that had not come when it began."""

SPARK = Capabilities(
    "spark",
    Storage.REQUIRED,
    no_graph_properties=Unsupported("over Spark", "use --engine local"),
    is_distributed=True,
)


class _MoreSlots(Exception):
    """Memory is full, and the cluster has slots that had not come when the attempt began."""


@frozen
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
        self._new_ledger = partial(Ledger, question, policy, bounds.max_depth, bounds.max_states)
        self.ledger = self._new_ledger()
        self._memory = bounds.memory
        self._max_tasks = min(stored.buckets, stored.buckets if bounds.tasks is None else bounds.tasks)
        self.workers = 0
        self.timings: list[dict[str, float]] = []
        self.notes: list[str] = []
        self._memory_bytes = 0
        self._seconds = 0.0
        self._started: float | None = None
        self._shares_levels = driver.settings.is_local
        self._stores = not stored.is_temporary
        self._unstored: list[LevelReport] = []
        self._files: dict[int, list[LevelFile]] = defaultdict(list)
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
        self._codec = StateCodec(self._shape, self.stored.buckets, Kernel(self._moves))
        if self.stored.commits:
            self.stored.agree_on_layout(self._codec)

    def _begin(self) -> None:
        """Decides how states are dealt, and stores the first level."""
        if self.stored.layout is None and self.workers > 1:
            kernel = load_code(self._code)
            self._codec.deal_by(steady_masks(self.question, self._shape, kernel, self._codec, self.workers))
        self.stored.agree_on_layout(self._codec)
        self.stored.commit(None, self._store_initial())

    def _store_initial(self) -> tuple[LevelFile, ...]:
        states = self.question.initial
        words = numbers(word for state in states for word in state)
        path = self.stored.path / "levels" / f"00001-{self.stored.new_attempt()}-0.states"
        return (self._codec.write(path, 1, [(address(words), len(states))]),)

    # -- attempts ---------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        self.observer.phase("waiting for executors")
        self.workers = min(self.driver.slots(), self._max_tasks)
        if not self.stored.commits:
            self._begin()
        fruitless = 0
        while True:
            known = self.stored.known_levels
            if self._unstored:
                self._unstored, self.ledger = [], self._new_ledger()
                for report in self.stored.reports:
                    self.ledger.commit(report)
            try:
                self._attempt()
                return
            except _MoreSlots:
                before, self.workers = self.workers, min(self.driver.slots(), self._max_tasks)
                self.notes.append(
                    f"memory was full at level {self.stored.known_levels}; resumed from it with {self.workers} instead of "
                    f"{before} tasks, which the cluster offers by now"
                )
            except TaskLost as lost:
                fruitless = 0 if self.stored.known_levels > known or self._unstored else fruitless + 1
                if fruitless == FRUITLESS_ATTEMPTS:
                    resume = f", and --resume {self.stored.path} continues from there" if self.stored.keep() else ""
                    raise SystemFailure(
                        f"Spark's tasks failed {fruitless} times in a row at level {self.stored.known_levels}: {lost}; "
                        f"Spark's log is {self.driver.log}{resume}"
                    ) from None
                self.observer.phase("waiting for executors")
                before = self.workers
                self.workers = min(self.driver.slots(self.workers, self._patience), self._max_tasks)
                fewer = f" with {self.workers} instead of {before} tasks" if self.workers != before else ""
                at, self._stores = self.stored.known_levels + len(self._unstored), True
                again = "begun again" if self._unstored else "resumed from it"
                self.notes.append(f"tasks were lost at level {at} ({lost}); {again}{fewer}")

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
        attempt, port = self.stored.new_attempt(), self.driver.settings.port
        sign = self.stored.path / "scratch" / attempt
        try:
            sign.touch()
        except OSError as error:
            raise cannot_write(sign, error) from None
        meeting = Meeting(self.driver, self.workers, self.stored.path / "levels", self.question)
        self.observer.phase("starting tasks")
        first_port = port + 1 if port else 0
        plan = replace(self._plan(attempt), driver=meeting.place, first_port=first_port, secret=meeting.secret)
        names = ", ".join(item.name for item in self.question.properties)
        describe = partial(self._pages.describe, f"searches from level {len(plan.levels)} on: {names}")
        job = Job(self.driver, plan.workers, "acked.checker.spark.task:run", plan, describe)
        try:
            with closing(meeting):
                self._meet(meeting, job)
        except TaskLost as lost:
            raise TaskLost(job.explain(lost)) from None
        finally:
            job.end()
            sign.unlink(missing_ok=True)

    def _meet(self, meeting: Meeting, job: Job) -> None:
        """All of one attempt."""
        self._files.clear()
        here = meeting.gather("here", job.look_for_slots)
        self._shares_levels = all(body["sees_levels"] for body in here)
        self.observer.phase("reading what is stored" if self.stored.known_levels > 1 else "starting tasks")
        if any(body["is_full"] for body in meeting.gather("ready", job.look)):
            if self._could_grow():
                raise _MoreSlots
            self.ledger.abandon(StopReason.MEMORY)
            return
        meeting.tell("begin", {"addresses": [body["address"] for body in here]})
        self.observer.phase("searching")
        begun = time.perf_counter()
        self._started = self._started or begun
        try:
            while self._level(meeting, job):
                pass
        except LeavesDomain as left:
            self._store_for_trace(meeting, job, left.found.depth)
            raise
        finally:
            self._seconds += time.perf_counter() - begun
        if self.ledger.stopped is StopReason.MEMORY:
            self._store(meeting, job)
        else:
            self._store_for_trace(meeting, job, max((found.depth for found in self.ledger.findings.values()), default=0))

    def _plan(self, attempt: str) -> TaskPlan:
        """What tasks need, but for where they meet."""
        return TaskPlan(
            run=str(self.stored.path.resolve()),
            attempt=attempt,
            shape=self._shape,
            code=self._code,
            exchange=self._moves,
            buckets=self.stored.buckets,
            layout=self._codec.fingerprint,
            workers=self.workers,
            memory=self._memory,
            levels=tuple(commit.files for commit in self.stored.commits),
            # On one machine there are no more tasks than it has processors.
            columns=1 if self.driver.settings.is_local else columns_for(self.workers),
            stores=self._stores,
            forget_from=FORGET_FROM,
        )

    def _level(self, meeting: Meeting, job: Job) -> bool:
        """Waits for a level, says whether the search goes on behind it, and commits it; whether it does."""
        bodies = meeting.gather("done", job.look)
        report = LevelReport.of([report_from_json(body["report"]) for body in bodies])
        self._note_files(bodies)
        self.timings = [body["timing"] for body in bodies]
        self._memory_bytes = sum(body["memory"] for body in bodies)
        if not report.is_expanded and self._could_grow():
            self._store(meeting, job)
            raise _MoreSlots
        if report.is_expanded:
            self._unstored.append(report)
        try:
            goes_on = self.ledger.commit(report)
            if goes_on:
                self._stores = self._stores or time.perf_counter() - (self._started or 0.0) > UNSTORED_SECONDS
                meeting.tell("next", {"stores": self._stores})  # Nobody waits for the disk.
        finally:
            if report.is_expanded:
                self._commit(bodies)
        self._report_progress(report, not goes_on)
        return goes_on

    def _note_files(self, bodies: Sequence[dict[str, Any]]) -> None:
        """Keeps what tasks have written: one may have done so at a level at which another's memory was full."""
        for body in bodies:
            for level, file in body["files"]:
                self._files[level].append(LevelFile(*file))

    def _commit(self, bodies: Sequence[dict[str, Any]]) -> None:
        """Commits the levels that all tasks have written."""
        upto = min(body["stored"] for body in bodies)
        while self._unstored and self.stored.known_levels < upto:
            report, files = self._unstored.pop(0), self._files.pop(self.stored.known_levels + 1, [])
            stored = sum(file.states for file in files)
            if stored != report.next_states:  # A run that lacks states would be gone on with, and hold.
                raise SystemFailure(f"of {report.next_states:,} states of level {self.stored.known_levels + 1} tasks stored "
                                    f"{stored:,}; this is a defect of acked, please report it")  # fmt: skip
            self.stored.commit(report, tuple(files))

    def _store(self, meeting: Meeting, job: Job) -> None:
        """Has all levels stored that are complete."""
        if self._unstored:
            meeting.tell("enough", {"last": self.stored.known_levels + len(self._unstored)})
            bodies = meeting.gather("stored", job.look)
            self._note_files(bodies)
            self._commit(bodies)

    def _store_for_trace(self, meeting: Meeting, job: Job, depth: int) -> None:
        """The same, unless the driver finds those again that the way back from a violation of level `depth` needs."""
        if depth > 1 and self._unstored and not self._first_levels.has(depth - 1):
            self.observer.phase("storing the levels for the trace")
            self._store(meeting, job)

    @cached_property
    def _first_levels(self) -> FirstLevels:
        return FirstLevels(self.question, self._shape, load_code(self._code))

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
            plan, first = self._plan("none"), self._first_levels
            self._walk_back = WalkBack(self.question, self.driver, plan, first, self._pages, self._shares_levels)
        return self._walk_back.source(depth, target)


@frozen
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
