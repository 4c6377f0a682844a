"""Many questions at once: answered by processes, each with its bound of memory, and from the cache where it has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from types import TracebackType
from typing import Protocol, Self

from acked.base.bounds import Bounds, default_memory, default_workers
from acked.base.cache import open_cache
from acked.base.errors import AckedError
from acked.base.frozen import frozen
from acked.base.processes import Done, Limits, Lost, Note, ProcessPool, Reply, Service
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.question.observer import Observer, Progress
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.tracings import Tracings

ROOM_FOR_CODE = 3 << 30
"""Bytes of address space that a search's process has besides its states: libraries, compilation, threads."""

_REPORT_EVERY = 0.5
"""Seconds between two reports of a search's progress."""


_KIN = attrgetter("kin"), attrgetter("twin")

SEARCH = Service("acked.checker.batch.local:BatchProcess", "search")
"""Processes that search."""


@frozen
class InvalidTask:
    """A task that has no answer, because of what it asks: `reason` is the error's sentence.

    `is_overflow` is true if the protocol left a field's domain.
    """

    reason: str
    is_overflow: bool = False


@frozen
class Answered:
    """What became of a task: an outcome, or `failure` says why there is none. `task` is its number.

    `is_overflow` is true if there is none because the protocol left a field's domain.
    """

    task: int
    outcome: Outcome | None
    failure: str = ""
    is_cached: bool = False
    is_overflow: bool = False


@frozen
class Under:
    """How a task gets on that is still being answered."""

    task: int
    progress: Progress


class Runner(Protocol):
    """What searches: processes here (`BatchLimits`), or Spark's tasks (`many.SparkBatch`)."""

    def run(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """Every task ends with a `Done`, whose value is an `Outcome` or a `InvalidTask`, or with a `Lost`."""
        ...


@frozen
class BatchLimits:
    """Processes of this machine: how many at a time, and bytes of states for each search."""

    jobs: int
    memory: int

    @classmethod
    def default(cls, jobs: int | None = None, memory: int | None = None) -> BatchLimits:
        """A process a core, sharing most of the memory at hand."""
        number = jobs or default_workers()
        return cls(number, memory or max(default_memory() // number, 64 << 20))

    def run(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """Has processes search, which end with the last task; a process that dies is replaced."""
        with self.pool(min(self.jobs, len(tasks))) as pool:
            pool.load(self.memory)
            yield from pool.run(tasks, *_KIN)

    def pool(self, jobs: int) -> ProcessPool:
        """So many processes, not started."""
        open_cache()  # If it must not be used, that is reported here, and not by every process.
        return ProcessPool(Limits(jobs, float("inf"), 2 * self.memory + ROOM_FOR_CODE), SEARCH)


class KeptProcesses:
    """The processes of `BatchLimits`, kept from one batch to the next for a `with` block; started when one is needed first.

    For those who ask again and again, each time by what they have heard: a process takes longer to start than small searches.
    """

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._pool: ProcessPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.__exit__(kind, error, traceback)
            self._pool = None

    def run(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """See `Runner`."""
        if self._pool is None:
            self._pool = self._limits.pool(self._limits.jobs).__enter__()
            self._pool.load(self._limits.memory)
        yield from self._pool.run(tasks, *_KIN)


def answer_all(
    tasks: Sequence[Task],
    runner: Runner | None = None,
    cache: ResultCache | None = None,
    on_progress: Callable[[Under], None] | None = None,
) -> Iterator[Answered]:
    """Answers every task, cached ones first, then as they are finished; equal tasks are searched once.

    The order in which they are begun is the order given: put the long ones first. A process that dies costs its task,
    which is answered by a failure. By default the processes are of this machine, one a core.
    """
    wanted: dict[Task, list[int]] = {}
    for number, task in enumerate(tasks):
        wanted.setdefault(task, []).append(number)
    open_: list[Task] = []
    for task, numbers in wanted.items():
        stored = cache.get(task) if cache is not None else None
        if stored is None:
            open_.append(task)
        else:
            yield from (Answered(number, stored, is_cached=True) for number in numbers)
    if not open_:
        return
    for reply in (runner or BatchLimits.default()).run(open_):
        task = open_[reply.task]
        if isinstance(reply, Note):
            if on_progress is not None:
                on_progress(Under(wanted[task][0], reply.value))
            continue
        yield from _answers(reply, task, wanted[task], cache)


def _answers(reply: Done | Lost, task: Task, numbers: Sequence[int], cache: ResultCache | None) -> Iterator[Answered]:
    value = InvalidTask(reply.reason) if isinstance(reply, Lost) else reply.value
    if isinstance(value, InvalidTask):
        yield from (Answered(number, None, value.reason, is_overflow=value.is_overflow) for number in numbers)
        return
    if cache is not None:
        cache.put(task, value)
    yield from (Answered(number, value) for number in numbers)


class BatchProcess:
    """What a process of the batch does with a task; it is given first how many bytes of states its searches may have.

    Questions under other constants that come out the same, by their expressions, are searched once.
    """

    def __init__(self, memory: int, _: float) -> None:
        self._memory = memory
        self._tracings = Tracings()
        self._known: dict[tuple[str, Task], Outcome] = {}

    def answer(self, task: Task, tell: Callable[[Progress], None]) -> Outcome | InvalidTask:
        """Runs the search; an invalid task yields `InvalidTask` with a one-sentence reason."""
        from acked.checker.search.local import search

        try:
            question = task.question(self._tracings)
            alike = question.fingerprint, replace(task, asked=replace(task.asked, constants=()))
            if alike not in self._known:
                bounds = Bounds(1, self._memory, task.max_depth, task.max_states)
                self._known[alike] = Outcome.of(search(question, bounds, task.policy, _Throttled(tell)))
            outcome = self._known[alike]
            if not outcome.is_repeatable:
                del self._known[alike]
            return outcome
        except (AckedError, ModelError, DomainOverflow) as error:
            return InvalidTask(str(error), isinstance(error, DomainOverflow))


class _Throttled(Observer):
    """Passes progress on, at most twice a second."""

    def __init__(self, tell: Callable[[Progress], None]) -> None:
        self._tell = tell
        self._next = time.monotonic() + _REPORT_EVERY

    def progress(self, now: Progress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _REPORT_EVERY
            self._tell(now)
