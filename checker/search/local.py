"""The local search: level by level, one shard per worker, all of it in native code between two levels.

What workers do at once and when they wait for each other, the bounds of a run, and the walk back from a violation to an
initial state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from acked.base.bounds import Bounds, threads
from acked.base.errors import SystemFailure
from acked.checker.loops.lines import LineKind
from acked.checker.native.compile import compile_kernel, load_kernel
from acked.checker.native.shape import Shape, shape_of
from acked.checker.question.engine import Capabilities, Storage, Unsupported
from acked.checker.question.known import TextQuestion
from acked.checker.question.ledger import Ledger, LevelReport, StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.plan import BATCH
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Run, StopReason, Violation, Words
from acked.checker.search.tiers import Tiers, first_haste
from acked.checker.shards.compact import CompactShard, compact_team
from acked.checker.shards.forgetting import Forgetting
from acked.checker.shards.shard import Shard, address, begin_level, make_room, states_for, team
from acked.checker.store.trace_back import Walker, refusing_overflow, shortest_run

if TYPE_CHECKING:  # What a run directory needs is imported where there is one.
    from acked.checker.search.delayed import DelayedSearch
    from acked.checker.search.state_graph import GraphViolation
    from acked.checker.store.recorder import Recorder
    from acked.checker.store.run_directory import RunDirectory

CHUNK = 1 << 18
"""States that a worker expands between two looks at the clock, the keyboard and the other workers."""

LOCAL = Capabilities(
    "local",
    Storage.OPTIONAL,
    no_stored_graph_properties=Unsupported("in a stored run", "leave --run-dir, --resume, --disk and --master out"),
)

T = TypeVar("T")


class LocalSearch:
    """One exhaustive search in this process; `run` may be called once.

    With a run directory, completed levels are written there; if it has some already, the search continues after them, and
    if the bounds say so it goes on there when memory is full. With `keeps_states`, the shards still hold what was visited
    when `run` has returned; `levels` has of every level, the first counted, where its states begin and end in each shard.
    """

    def __init__(
        self,
        question: Question,
        bounds: Bounds | None = None,
        policy: StopPolicy = StopPolicy.FIRST_VIOLATION,
        observer: Observer | None = None,
        stored: RunDirectory | None = None,
        keeps_states: bool = False,
    ) -> None:
        self.question = question
        self._keeps_states = keeps_states
        self.bounds = limits = bounds or Bounds()
        self.observer = observer or Observer()
        self.ledger = Ledger(question, policy, limits.max_depth, limits.max_states)
        self.shards: list[Shard] = []
        self._stored = stored
        self._stored_levels = len(stored.reports) if stored is not None else 0
        self._recorder: Recorder | None = None
        self._walker: Walker | None = None
        self._has_all_levels = False
        self.levels: list[list[tuple[int, int]]] = []
        self._started = 0.0
        self._kind: LineKind | None = None
        self._most_bytes = 0
        self._delayed: DelayedSearch | None = None

    def run(self) -> Result:
        """Searches until the space, a bound, a violation or Ctrl-C ends it."""
        violations: tuple[Violation, ...] = ()
        notes: list[str] = []
        runs: dict[int, Run] = {}
        self._started = time.perf_counter()
        seconds = 0.0
        try:
            self._set_up()
            with (
                threads(self.bounds.workers) as self._pool,
                # What has not been begun to be compiled when the search ends is left to the next one. It does not give way:
                # it is compiled because the search would go on for longer without.
                threads(1, cancels=True) as self._compiler,
                refusing_overflow(self.question, self._source),
            ):
                begins = self._begin()
                self.observer.phase("searching")
                self._started = time.perf_counter()
                try:
                    if begins is not None:
                        with self._recorder or nullcontext():
                            self._search(begins)
                finally:
                    seconds = time.perf_counter() - self._started
                if self.question.graph_properties and self.ledger.stopped is StopReason.COMPLETE:
                    self.observer.phase("deciding recoverability and liveness")
                    violated = self._decide_graph_properties()
                    runs = {item.position: item.run for item in violated if item.run is not None}
                    notes += [sentence for item in violated for sentence in item.why]
                    self.ledger.add_graph_violations({item.position: item.finding for item in violated})
                if self.ledger.findings:
                    self.observer.phase("rebuilding the shortest trace")
                violations = tuple(
                    Violation(self.question.properties[found.position], runs[found.position])
                    if found.position in runs
                    else shortest_run(self.question, found, self._source, None if self._kind else self._kernel)
                    for found in self.ledger.findings_to_report()
                )
        except KeyboardInterrupt:
            notes = self.ledger.interrupt()
        self._measure_memory()
        memory = self._most_bytes
        if self._delayed is not None:
            memory = max(memory, self._delayed.most_bytes)
            notes = [*notes, self._delayed.note]
        if not self._keeps_states:
            self.shards.clear()  # gigabytes, perhaps, that a search after this one in the same process wants to have
        return self.ledger.result(
            "local",
            self.bounds.workers,
            violations,
            seconds=seconds,
            memory_bytes=memory,
            notes=notes,
            stored_levels=self._stored_levels,
        )

    def _set_up(self) -> None:
        self.observer.phase("compiling")
        self.question.refuse_asymmetry()
        LOCAL.check(self.question, is_stored=self._stored is not None)
        plan, workers = self.question.plan, self.bounds.workers
        shape = shape_of(plan)
        forgets = not self._keeps_states and not self.question.graph_properties
        self._forgetting = Forgetting(shape, self.bounds.memory, partial(compile_kernel, plan), is_allowed=forgets)
        with self._refusing_too_much():
            self._reserve(shape)
        self._tiers = Tiers(plan)
        if isinstance(self.question, TextQuestion):
            self.question.remember()
        if self._stored is not None:
            from acked.checker.store.recorder import Recorder
            self._recorder = Recorder(self._stored, shape, workers, packs=not self.bounds.beyond_memory)

    @contextmanager
    def _refusing_too_much(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, OverflowError) as error:
            raise SystemFailure(f"cannot reserve address space for {self.bounds.workers} workers and {self.bounds.memory} "
                                f"bytes of states ({error}); use fewer --workers or less --memory") from None  # fmt: skip

    def _reserve(self, shape: Shape) -> None:
        """Takes a table with states, unless what is stored would not fit into it."""
        plan, memory, workers = self.question.plan, self.bounds.memory, self.bounds.workers
        stored = self._stored
        levels = range(1, stored.known_levels + 1) if stored is not None and stored.commits else ()
        known = sum(file.states for level in levels if stored is not None for file in stored.files_of(level))
        if known > states_for(shape.words, workers, memory):
            lines = self._forgetting.first_lines(workers)
            if lines is not None:
                self._kind = lines.kind
                self._kernel = load_kernel(plan, lines.kind)
                self.shards = [*compact_team(shape, self._kernel, workers, memory, lines)]
                return
        self._kernel = load_kernel(plan, most=first_haste(plan.instance.schema))
        self.shards = team(shape, self._kernel, workers, memory)
        for shard in self.shards:
            shard.defer()

    # -- levels ---------------------------------------------------------------------------------------------------

    def _begin(self) -> list[int] | None:
        """Finds the first level's states, or takes up what is stored; where the level to expand begins in every shard.

        None if what is stored answers the question, or does not fit into memory; an empty list if it does not fit, and the
        search goes on beyond memory.
        """
        stored = self._stored
        if stored is not None and stored.commits:
            from acked.checker.store.recorder import load_levels
            assert self._recorder is not None
            self.observer.phase("reading the completed levels")
            for report in stored.reports:
                if not self.ledger.commit(report):
                    stored.verify(self._recorder.codecs[0])
                    return None
            levels = load_levels(stored, self._recorder.codecs, self.shards, self._pool)
            if levels is None and self._goes_beyond:
                return []
            if levels is None:
                self.ledger.abandon(StopReason.MEMORY)
                return None
            self.levels = levels[:-1]
            self._has_all_levels = True  # in memory, where steps back are faster
            return [begin for begin, _ in levels[-1]]
        if not make_room(self.shards, len(self.question.initial)):
            self.ledger.abandon(StopReason.MEMORY)
            return None
        self.shards[0].insert(self.question.initial)
        self._has_all_levels = True
        return [0] * len(self.shards)

    def _search(self, begins: list[int]) -> None:
        if self._stored is not None and not self._stored.commits:
            self._record(None, begins)
        while begins:
            ends = [shard.count for shard in self.shards]
            self.levels.append(list(zip(begins, ends, strict=True)))
            begin_level(self.shards)
            is_expanded, begins, ends = self._expand_level(begins, ends)
            if not is_expanded and self._goes_beyond:
                break
            report = self._report(begins, ends, is_expanded)
            goes_on = self.ledger.commit(report)
            if is_expanded:
                self._record(report, ends)
            if not goes_on:
                return
            self._tier_up()
            begins = ends
        self._search_beyond()

    @property
    def _goes_beyond(self) -> bool:
        """Whether the search goes on in the run directory when memory is full."""
        return self.bounds.beyond_memory and self._stored is not None

    def _search_beyond(self) -> None:
        """Goes on from the last level that is stored, see `DelayedSearch`."""
        from acked.checker.search.delayed import DelayedSearch
        assert self._stored is not None
        assert self._recorder is not None
        self._recorder.wait()
        self._recorder.check()
        self.observer.phase("going on with the visited states on disk")
        self.shards, self._has_all_levels = [], False
        plan, memory = self.question.plan, self.bounds.memory
        if self._kind is not None:
            self._kernel, self._kind = load_kernel(plan), None
        codecs = self._recorder.codecs
        with self._refusing_too_much():
            self._delayed = DelayedSearch(shape_of(plan), self._kernel, self._stored, codecs, self._pool, memory, self._tell)
        self.shards = [*self._delayed.shards]
        while True:
            report, files = self._delayed.expand()
            goes_on = self.ledger.commit(report)
            self._stored.commit(report, files)
            if not goes_on:
                return
            self._tier_up()

    def _record(self, report: LevelReport | None, begins: Sequence[int]) -> None:
        """Has a completed step written, and the states found since with it."""
        if self._recorder is not None:
            bytes_per_state = 8 * self.question.instance.schema.words
            parts = [
                (address(shard.states) + begin * bytes_per_state, shard.count - begin)
                for shard, begin in zip(self.shards, begins, strict=True)
            ]
            self._recorder.record(report, parts, bytes_per_state)

    def _expand_level(self, begins: list[int], ends: list[int]) -> tuple[bool, list[int], list[int]]:
        """Expands a level; False if the memory budget is reached: all its states are checked, not all successors known.

        And where the level begins and ends in every shard, which changes where states are given up (a level that was moved
        begins before 0).
        """
        done = list(begins)
        if self._forgetting.is_ready(self.shards, self._compiler, self._level_sizes) and self._forget_states(done):
            begins, ends, done = self._counted_from(done, begins, ends)
        is_deferred = False
        while is_deferred or any(at < end for at, end in zip(done, ends, strict=True)):
            if self._recorder is not None:
                self._recorder.catch_up(sum(ends) - sum(done), self._pool)
            done = self._each(
                lambda worker, shard: shard.expand(done[worker], min(done[worker] + CHUNK, ends[worker])),  # noqa: B023
                sum(ends) - sum(done) > BATCH,
            )
            is_deferred = self.shards[0].needs_growth
            if is_deferred:
                self._make_room_for_deferred()
                if any(shard.is_full for shard in self.shards) and self._forget_states(done):
                    self.observer.phase("going on without the states of expanded levels")
                    begins, ends, done = self._counted_from(done, begins, ends)
            if any(shard.is_broken for shard in self.shards):
                raise SystemFailure("the table of visited states could not be rearranged; please report this with the spec")
            if any(shard.is_full for shard in self.shards):
                if not self._goes_beyond:
                    self._each(lambda worker, shard: shard.inspect(done[worker], ends[worker]))  # noqa: B023
                return False, begins, ends
            self._measure_memory()
            if not is_deferred:
                self._release(done)
                self._tell(sum(shard.found for shard in self.shards), sum(ends) - sum(done))
        return True, begins, ends

    @staticmethod
    def _counted_from(done: Sequence[int], begins: Sequence[int], ends: Sequence[int]) -> tuple[list[int], ...]:
        """Where a level begins and ends, and how far it is done, when the first state that is not done becomes number 0."""
        return (
            [begin - at for begin, at in zip(begins, done, strict=True)],
            [end - at for end, at in zip(ends, done, strict=True)],
            [0] * len(done),
        )

    def _measure_memory(self) -> None:
        self._most_bytes = max(self._most_bytes, sum(shard.memory_bytes for shard in self.shards))

    def _forget_states(self, done: Sequence[int]) -> bool:
        """Goes on without the states of expanded levels; False if that does not help, or they have been given up already."""

        def at_once(work: Callable[[int], int], workers: int) -> list[int]:
            return list(self._pool.map(work, range(workers)))

        # What the recorder has yet to write must stay where it is.
        settle = self._recorder.wait if self._recorder is not None else lambda: None
        forgotten = self._forgetting.forget(self.shards, self.levels, done, at_once, settle)
        if forgotten is not None:
            self._kind, self.shards = forgotten.kind, [*forgotten.shards]
            self._kernel = self._tiers.use_pieces(forgotten.kernel, self.shards)
        return forgotten is not None

    def _release(self, done: Sequence[int]) -> None:
        """Gives the memory of expanded states back, unless they have yet to be written."""
        for worker, (shard, end) in enumerate(zip(self.shards, done, strict=True)):
            needed = None if self._recorder is None else self._recorder.first_unwritten(worker)
            if needed is not None:
                end = min(end, (needed - address(shard.states)) // (8 * shard.words))
            shard.release(end)

    def _make_room_for_deferred(self) -> None:
        """Makes room for the candidates that workers deferred, or has them find that there is none."""
        if self.shards[0].at_memory_limit:
            # Workers keep room for states that turn out to be known. One after the other, none keeps what another needs, and
            # whether a level fits does not depend on who was first.
            for shard in self.shards:
                shard.insert_deferred()
        else:
            self._each(lambda _, shard: shard.grow())

    def _tier_up(self) -> None:
        self._kernel = self._tiers.advance(self._kernel, self.shards, self.ledger, self._compiler)

    def _report(self, begins: Sequence[int], ends: Sequence[int], is_expanded: bool) -> LevelReport:
        parts = zip(begins, ends, self.shards, strict=True)
        return LevelReport.of([shard.report(end - begin, shard.count - end, is_expanded) for begin, end, shard in parts])

    def _tell(self, distinct_states: int, frontier: int) -> None:
        fired = sum(sum(shard.enabled) for shard in self.shards)
        self.observer.progress(
            Progress(
                depth=self.ledger.depth + 1,
                distinct_states=distinct_states,
                generated_states=self.ledger.generated_states + fired,
                frontier=frontier,
                seconds=time.perf_counter() - self._started,
                memory_bytes=sum(shard.memory_bytes for shard in self.shards),
            )
        )

    def _level_sizes(self) -> list[int]:
        return [sum(end - begin for begin, end in level) for level in self.levels]

    def _each(self, work: Callable[[int, Shard], T], at_once: bool = True) -> list[T]:
        """The work done by every worker, at once if there is enough; a Ctrl-C waits until the native calls are back.

        The first worker is the calling thread: waking one takes as long as a small level.
        """
        if len(self.shards) == 1 or not at_once:
            return [work(worker, shard) for worker, shard in enumerate(self.shards)]
        others = [self._pool.submit(work, worker, shard) for worker, shard in enumerate(self.shards) if worker]
        try:
            return [work(0, self.shards[0]), *(future.result() for future in others)]
        except KeyboardInterrupt:
            for future in others:
                future.exception()
            raise

    def _decide_graph_properties(self) -> Sequence[GraphViolation]:
        from acked.checker.search.graph_properties import decide

        steps = self.ledger.generated_states - self.ledger.level_sizes[0]
        return decide(self.question, self.shards, self.levels, steps, self._kernel, self.bounds.memory)

    # -- traces ---------------------------------------------------------------------------------------------------

    def _source(self, depth: int, target: Words) -> tuple[Words, int]:
        """The least (state of level `depth`, action) that leads to `target`."""
        if not self._has_all_levels and self._stored is not None and self._recorder is not None:
            if self._walker is None:
                plan = self.question.plan
                self._walker = Walker(shape_of(plan), self._kernel, self._recorder.codecs[0])
            edge = self._walker.source_in(self._stored.path / "levels", depth, self._stored.files_of(depth), target)
            if edge is None:
                raise SystemFailure(
                    f"{self._stored.path} has no state of level {depth} that leads to the violation; search again"
                )
            return edge
        ranges = self.levels[depth - 1]

        def find(worker: int, shard: Shard) -> tuple[Words, int] | None:
            if isinstance(shard, CompactShard):
                return shard.find_source(*shard.collect(depth), target)
            return shard.find_source(*ranges[worker], target)

        found = self._each(find)
        return min(edge for edge in found if edge is not None)


def search(
    question: Question,
    bounds: Bounds | None = None,
    policy: StopPolicy = StopPolicy.FIRST_VIOLATION,
    observer: Observer | None = None,
    stored: RunDirectory | None = None,
) -> Result:
    """Answers a question by exhaustive search on this machine, going on from what is stored and adding to it, if asked to."""
    return LocalSearch(question, bounds, policy, observer, stored).run()


class LocalEngine:
    """The engine of `--engine local`: threads of this process."""

    capabilities = LOCAL
    search = staticmethod(search)
