"""The local search's side of a run directory: writing levels while it searches, and taking them up again.

`Recorder`, which writes completed levels while the search expands the next, and `load_levels`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, zip_longest
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from acked.base.bounds import give_way
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape
from acked.checker.question.ledger import LevelReport
from acked.checker.shards.shard import Shard, address, begin_level, make_room
from acked.checker.store.level_file import BLOCK_STATES, LevelWriter, StateCodec, exchange_code
from acked.checker.store.run_directory import FORMAT, RunDirectory

Part = tuple[int, int]
"""States that stand in memory: an address and how many. They must not move or change any more."""

WIDE = 1 << 14
"""From so many waiting states on, writing is native work, which gives way to the search. Below it is Python's, which one
thread at a time does: one that gave way would have the search wait, with it, for whatever else the machine does."""
BEHIND = 1 << 18
"""So many states that are expanded may wait to be written; if there are more, the search's workers write them."""


@dataclass
class _Block:
    """States of one part that are written at once."""

    states: int
    count: int
    is_written: bool = False


@dataclass
class _Step:
    """A step to be committed: nobody has begun to write `blocks`; `left` blocks are not written yet."""

    report: LevelReport | None
    level: int
    blocks: deque[_Block]
    left: int
    files: dict[int, LevelWriter] = field(default_factory=dict)


class Recorder:
    """Writes levels in the order in which they are given; use it in a `with` block, which waits for the last one.

    A search that a signal or an error ends also waits, so that what was completed is kept.

    A thread of its own writes, which gives way to the search once levels are wide; what is left in the end, another writes,
    which does not. Where there is no processor for the first, it would fall behind, and what is not written stays in memory:
    then the search's workers write what is behind (`catch_up`). The thread that an interrupt may hit takes no lock here.

    With `packs`, states are written packed, which is for a search that will not read them; else grouped by bucket.
    """

    def __init__(self, run: RunDirectory, shape: Shape, workers: int, packs: bool) -> None:
        self.run = run
        self._packs = packs and run.format == FORMAT
        native = Kernel(exchange_code(shape))
        self._own = workers  # the number of the thread's own codec
        self._codecs = [StateCodec(shape, run.buckets, native) for _ in range(workers + 1)]
        self.codecs = self._codecs[:workers]
        for codec in self._codecs:
            run.agree_on_layout(codec)
        self._attempt = run.new_attempt()
        self._level = run.known_levels
        self._steps: deque[_Step] = deque()  # to be committed
        self._open: deque[_Step] = deque()  # those of them that may have blocks that nobody has begun
        self._given = self._begun = 0  # states: the thread that searches counts the first, who holds the lock the second
        self._parts: list[deque[_Block]] = [deque() for _ in range(workers)]
        self._lock = threading.Lock()
        self._calls: SimpleQueue[bool] = SimpleQueue()
        self._error: BaseException | None = None
        self._is_over = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        # Begun now, because a thread has the priority of the one that begins it, and what gives way cannot take that back.
        threading.Thread(target=self._write_rest, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over = True
        self._calls.put(True)
        # Until the last level is written, its states must stay where they are; an interrupted `join` does not show when.
        interrupt: KeyboardInterrupt | None = None
        while not self._ended.is_set():
            try:
                self._ended.wait()
            except KeyboardInterrupt as pressed:
                interrupt = pressed
        if interrupt is not None:
            raise interrupt
        if error is None:
            self.check()

    def record(self, report: LevelReport | None, parts: Sequence[Part], bytes_per_state: int) -> None:
        """Has a step committed: what expanding a level found, and where the states of the next one are."""
        self.check()
        blocks = [
            [_Block(states + bytes_per_state * at, min(BLOCK_STATES, count - at)) for at in range(0, count, BLOCK_STATES)]
            for states, count in parts
        ]
        for part, new in zip(self._parts, blocks, strict=True):
            part.extend(new)
        # All workers expand at once, so what they expand first is written first.
        order = deque(block for together in zip_longest(*blocks) for block in together if block is not None)
        self._level += 1
        step = _Step(report, self._level, order, len(order))
        self._given += sum(count for _, count in parts)
        self._steps.append(step)
        self._open.append(step)
        self._calls.put(False)

    @property
    def is_done(self) -> bool:
        """Whether everything given is written, so that no states need to stay where they are."""
        return not self._steps

    def first_unwritten(self, worker: int) -> int | None:
        """From which address on a worker's states must stay where they are; None if all are written."""
        part = self._parts[worker]
        while part and part[0].is_written:
            part.popleft()
        return part[0].states if part else None

    def wait(self) -> None:
        """Waits until everything given is written, or, where writing has failed, until nobody reads the states any more."""
        while not self.is_done and not self._ended.is_set():
            time.sleep(0.001)

    def check(self) -> None:
        """Raises what went wrong while something was written."""
        if self._error is not None:
            raise self._error

    def catch_up(self, left: int, pool: ThreadPoolExecutor) -> None:
        """Has workers write what is too far behind a search that has yet to expand so many states of its level."""
        if self._is_behind(left):
            list(pool.map(lambda worker: self._help(worker, left), range(len(self.codecs))))

    def _is_behind(self, left: int) -> bool:
        return self._waiting > left + BEHIND

    @property
    def _waiting(self) -> int:
        return self._given - self._begun

    def _help(self, worker: int, left: int) -> None:
        while self._is_behind(left) and self._write_block(worker):
            pass

    # -- the thread -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        gives_way = False
        while not self._calls.get():
            if not gives_way and self._waiting > WIDE:
                give_way()
                gives_way = True
            while not self._is_over and (self._write_block(self._own) or self._commit()):
                pass

    def _write_rest(self) -> None:
        self._thread.join()
        try:
            while self._write_block(self._own) or self._commit():
                pass
        finally:
            self._ended.set()

    def _write_block(self, number: int) -> bool:
        """Writes the next block that nobody has begun, with the codec of this number; False if there is none."""
        with self._lock:
            while self._open and not self._open[0].blocks:
                self._open.popleft()
            if not self._open:
                return False
            step = self._open[0]
            block = step.blocks.pop() if number == self._own else step.blocks.popleft()
            self._begun += block.count
        try:
            if self._error is None:
                codec = self._codecs[number]
                if number not in step.files:
                    name = f"{step.level:05}-{self._attempt}-{number}.states"
                    step.files[number] = LevelWriter(self.run.path / "levels" / name, step.level, self._packs)
                step.files[number].add(codec, block.states, block.count)
        except BaseException as error:  # raised again by `check`, in the thread of the search
            self._error = error
        block.is_written = True
        with self._lock:
            step.left -= 1
        self._calls.put(False)
        return True

    def _commit(self) -> bool:
        """Commits the first step if all of it is written; False if it is not."""
        if not self._steps or self._steps[0].left:
            return False
        step = self._steps[0]
        try:
            if self._error is None:
                self.run.commit(step.report, tuple(file.close() for _, file in sorted(step.files.items())))
        except BaseException as error:  # as above
            self._error = error
        self._steps.popleft()
        return True


def load_levels(
    run: RunDirectory, codecs: Sequence[StateCodec], shards: Sequence[Shard], pool: ThreadPoolExecutor
) -> list[list[tuple[int, int]]] | None:
    """Puts every stored level into the shards; by level and shard where its states stand. None if memory is too small."""
    ranges = []
    # Workers share the table, so any of them can have any state: they take blocks of files in turn.
    turns = [cycle([other == worker for other in range(len(shards))]) for worker in range(len(shards))]
    for level in range(1, run.known_levels + 1):
        if level > 1:
            begin_level(shards)
        begins = [shard.count for shard in shards]
        for shard, begin in zip(shards, begins, strict=True):
            shard.release(begin)  # Only of the last level the states themselves are needed.
        if not make_room(shards, sum(file.states for file in run.files_of(level))):
            return None
        work = [pool.submit(_load, run, codec, shard, level, mine)
                for codec, shard, mine in zip(codecs, shards, turns, strict=True)]  # fmt: skip
        done = [future.result() for future in work]
        if not all(done):
            return None
        ranges.append([(begin, shard.count) for begin, shard in zip(begins, shards, strict=True)])
    return ranges


def _load(run: RunDirectory, codec: StateCodec, shard: Shard, level: int, turns: Iterator[bool]) -> bool:
    for file in run.files_of(level):
        for records in codec.read(run.level_path(file), level, file, turns=turns):
            states = codec.unpack(records)  # kept in a variable: an address does not keep its array alive
            if not shard.take(address(states), records.count):
                return False
    return True
