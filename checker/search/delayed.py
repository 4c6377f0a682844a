"""A search beyond memory: visited states are on disk, and duplicates are decided a level at a time.

`DelayedSearch`, which expands the last level of a run directory and writes the next, in memory for a part of one level.
Stern and Dill: Using magnetic disk instead of main memory in the Murφ verifier, CAV 1998.

Candidates for the next level are gathered in a table. When the level is expanded, or memory is full, it is *settled*: all
level files are read once, from the first to the last, and every state that passes is looked for among the candidates. Those
that nobody found are new; they are written as a file of the next level, and the table is empty again. So a level takes at
least one reading of all that was visited, and exactly one where its candidates have room.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from acked.base.errors import SystemFailure
from acked.checker.loops import delayed
from acked.checker.loops.delayed import EARLIER, THIS_LEVEL
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions
from acked.checker.native.machine import processor
from acked.checker.native.shape import Shape
from acked.checker.question.ledger import LevelReport
from acked.checker.question.plan import BATCH
from acked.checker.shards.candidates import SIEVE_BITS, candidate_team, marks_for, sieve_for
from acked.checker.shards.shard import address, begin_level, numbers, reserve
from acked.checker.store.level_file import BLOCK_STATES, LevelFile, Records, StateCodec, bytes_address, constants_of
from acked.checker.store.run_directory import RunDirectory

CALLS = 2048
"""A worker expands so many states at once that their candidates take about this part of memory, in bytes a state."""
LEAST_CALL = 1 << 10
LEAST_CANDIDATES = 256
"""With memory for fewer, all that was visited would be read for each."""

T = TypeVar("T")
Blocks = Iterator[tuple[Records, int]]
"""Records of level files, with the mark for candidates that are among them."""


class DelayedSearch:
    """Expands level after level of a run directory.

    `first_level` is the first one so expanded, `most_bytes` the most that candidates and what is known of them took. Beside
    it every worker has some megabytes for the blocks of files that it reads and writes.

    `tell` is called several times a second with the number of states on disk, and of those of the level that are still to be
    expanded.
    """

    def __init__(
        self,
        shape: Shape,
        kernel: Kernel,
        run: RunDirectory,
        codecs: Sequence[StateCodec],
        pool: ThreadPoolExecutor,
        memory: int,
        tell: Callable[[int, int], None],
    ) -> None:
        self._run, self._codecs, self._pool, self._tell = run, codecs, pool, tell
        self._memory = memory
        workers = len(codecs)
        self._call = min(max(memory // CALLS // workers, LEAST_CALL), BLOCK_STATES)
        code = compile_functions(delayed.FUNCTIONS, constants_of(shape))
        loops = Kernel(ObjectCode(processor(), (code,)))
        self.shards = candidate_team(shape, kernel, loops, workers, memory, self._call)
        if self.shards[0].most_candidates < LEAST_CANDIDATES:
            raise SystemFailure(f"{memory:,} bytes are too few to go on with the states on disk; use more --memory")
        self._marks, self._sieve = marks_for(self.shards), sieve_for(self.shards)
        # Whole batches of states are unpacked, even beyond the last state.
        self._blocks = [reserve((BLOCK_STATES + BATCH) * shape.words) for _ in range(workers)]
        for shard, block in zip(self.shards, self._blocks, strict=True):
            shard.read_from(address(block))
        self._actions = shape.actions
        self._attempt = run.new_attempt()
        self._ends = threading.Event()
        self.first_level = run.known_levels
        self.most_bytes = 0
        self._settled = 0

    @property
    def note(self) -> str:
        """What to note about it, for people."""
        megabytes = f"{self._run.stored_bytes / 1e6:,.0f} MB"
        return f"from level {self.first_level} on the visited states were on disk, {megabytes} in all"

    @property
    def _bytes(self) -> int:
        """Bytes of candidates and of what is known of them."""
        return sum(shard.memory_bytes for shard in self.shards)

    def expand(self) -> tuple[LevelReport, tuple[LevelFile, ...]]:
        """Expands the last level that is stored; what it found, and the files of the next one."""
        level = self._run.known_levels
        states = left = sum(file.states for file in self._run.files_of(level))
        begin_level(self.shards)
        self._new = numbers([0] * self._actions)
        self._files: list[LevelFile] = []
        try:
            blocks = self._read_level(level)
            while left:
                left -= self._expand_blocks(level, blocks)
                self._tell(sum(file.states for commit in self._run.commits for file in commit.files), left)
            self._settle(level)
        except BaseException:
            self._ends.set()  # Workers have their own loops over what is read, and the pool waits for them.
            raise
        found = LevelReport.of([shard.report(0, 0) for shard in self.shards])
        next_states = sum(file.states for file in self._files)
        report = replace(found, states=states, next_states=next_states, new=tuple(self._new[: self._actions]))
        return report, tuple(self._files)

    @property
    def _candidates(self) -> int:
        return sum(shard.count for shard in self.shards)

    # -- expansion --------------------------------------------------------------------------------------------------

    def _read_level(self, level: int) -> Iterator[Records]:
        for file in self._run.files_of(level):
            yield from self._codecs[0].read(self._run.level_path(file), level, file)

    def _expand_blocks(self, level: int, blocks: Iterator[Records]) -> int:
        """Expands the next block of every worker; how many states these are."""
        sizes = []
        for codec, block in zip(self._codecs, self._blocks, strict=True):
            records = next(blocks, None)
            if records is not None:
                codec.unpack_to(records, address(block))
            sizes.append(0 if records is None else records.count)
        done = [0] * len(sizes)
        is_deferred = False
        while is_deferred or any(at < end for at, end in zip(done, sizes, strict=True)):

            def expand(worker: int) -> int:
                return self.shards[worker].expand(done[worker], min(done[worker] + self._call, sizes[worker]))  # noqa: B023

            done = self._each(expand)
            is_deferred = self.shards[0].needs_growth
            if (is_deferred and not self._has_grown()) or self._bytes > self._memory:
                self._settle(level)
        return sum(sizes)

    def _has_grown(self) -> bool:
        """Makes the table larger; False if the budget is reached, or a worker's array is full.

        All parts grow or none does: a part that stayed behind would be looked into where nothing of it stands.
        """
        if self.shards[0].at_memory_limit or any(shard.has_no_room for shard in self.shards):
            return False
        self._each(lambda worker: self.shards[worker].grow())
        if any(shard.is_broken for shard in self.shards):
            raise SystemFailure("the table of candidates could not be rearranged; please report this with the spec")
        return not any(shard.is_full for shard in self.shards)

    # -- duplicates -------------------------------------------------------------------------------------------------

    def _settle(self, level: int) -> None:
        """Decides which candidates are new, writes them, and forgets all."""
        if self._candidates == 0:
            return
        marks = address(self._marks)
        self.most_bytes = max(self.most_bytes, self._bytes)
        self._pass_by(self._read_visited(level))
        for shard in self.shards:
            shard.count_steps(marks, address(self._new))
        files = self._each(lambda worker: self._write_new(worker, level + 1))
        self._files += [file for file in files if file is not None]
        self._settled += 1
        for shard in self.shards:
            shard.clear(marks)

    def _read_visited(self, level: int) -> Blocks:
        """What is on disk: the levels up to this one, and what of the next has been written."""
        for number in range(1, level + 1):
            for records in self._read_level(number):
                yield records, EARLIER
        for file in self._files:
            for records in self._codecs[0].read(self._run.level_path(file), level + 1, file):
                yield records, THIS_LEVEL

    def _pass_by(self, blocks: Blocks) -> None:
        """Marks the candidates that are among the states of these blocks."""
        lock = threading.Lock()
        marks, sieve = address(self._marks), address(self._sieve)
        bits = max(self._candidates * SIEVE_BITS // 64, 1) * 64
        for shard in self.shards:
            shard.note_candidates(sieve, bits)

        def mark(worker: int) -> None:
            while not self._ends.is_set():
                with lock:
                    block = next(blocks, None)
                if block is None:
                    return
                records, value = block
                self.shards[worker].mark(bytes_address(records.data), records.count, marks, sieve, bits, value)

        self._each(mark)
        ctypes.memset(sieve, 0, bits // 8)

    def _write_new(self, worker: int, level: int) -> LevelFile | None:
        shard = self.shards[worker]
        count = shard.keep_unmarked(address(self._marks))
        if count == 0:
            return None
        number = self._settled * len(self.shards) + worker
        path = self._run.path / "levels" / f"{level:05}-{self._attempt}-{number}.states"
        return self._codecs[worker].write(path, level, [(address(shard.states), count)])

    def _each(self, work: Callable[[int], T]) -> list[T]:
        """The work done by every worker at once."""
        if len(self.shards) == 1:
            return [work(0)]
        return list(self._pool.map(work, range(len(self.shards))))
