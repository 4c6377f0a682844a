"""The local search's side of a run directory: writing levels while it searches, and taking them up again.

`Recorder`, a thread that writes completed levels while the search expands the next, and `load_levels`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from acked.checker.bounds import give_way
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape
from acked.checker.native.shard import Shard, address, begin_level, make_room
from acked.checker.question.ledger import LevelReport
from acked.checker.store.level_file import LevelFile, StateCodec, exchange_code
from acked.checker.store.run_directory import RunDirectory

Part = tuple[int, int]
"""States that stand in memory: an address and how many. They must not move or change any more."""

_Job = tuple[LevelReport | None, Sequence[Part]]


class Recorder:
    """Writes levels in the order in which they are given; use it in a `with` block, which waits for the last one.

    A search that a signal or an error ends also waits, so that what was completed is kept.
    """

    def __init__(self, run: RunDirectory, shape: Shape, workers: int) -> None:
        self.run = run
        native = Kernel(exchange_code(shape))
        self.codecs = [StateCodec(shape, run.buckets, native) for _ in range(workers)]
        run.agree_on_layout(self.codecs[0])
        self._attempt = run.new_attempt()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._given = self._written = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._jobs.put(None)
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

    def record(self, report: LevelReport | None, parts: Sequence[Part]) -> None:
        """Has a step committed: what expanding a level found, and where the states of the next one are."""
        self.check()
        self._given += 1
        self._jobs.put((report, parts))

    @property
    def is_done(self) -> bool:
        """Whether everything given is written, so that no states need to stay where they are."""
        return self._given == self._written

    def wait(self) -> None:
        """Waits until everything given is written, or writing has failed."""
        while not self.is_done and self._error is None:
            time.sleep(0.01)

    def check(self) -> None:
        """Raises what went wrong in the thread."""
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            self._write_all()
        finally:
            self._ended.set()

    def _write_all(self) -> None:
        with ThreadPoolExecutor(len(self.codecs), initializer=give_way) as pool:
            while (job := self._jobs.get()) is not None:
                if self._error is None:
                    try:
                        self._write(pool, *job)
                        self._written += 1
                    except BaseException as error:  # raised again by `check`, in the thread of the search
                        self._error = error

    def _write(self, pool: ThreadPoolExecutor, report: LevelReport | None, parts: Sequence[Part]) -> None:
        level = self.run.known_levels + 1
        folder = self.run.path / "levels"
        written = [
            pool.submit(codec.write, folder / f"{level:05}-{self._attempt}-{worker}.states", level, states, count)
            for worker, (codec, (states, count)) in enumerate(zip(self.codecs, parts, strict=True))
            if count
        ]
        files: list[LevelFile] = [future.result() for future in written]
        self.run.commit(report, tuple(files))


def load_levels(
    run: RunDirectory, codecs: Sequence[StateCodec], shards: Sequence[Shard], pool: ThreadPoolExecutor
) -> list[list[tuple[int, int]]] | None:
    """Puts every stored level into the shards; by level and shard where its states stand. None if memory is too small."""
    ranges = []
    for level in range(1, run.known_levels + 1):
        if level > 1:
            begin_level(shards)
        begins = [shard.count for shard in shards]
        for shard, begin in zip(shards, begins, strict=True):
            shard.release(begin)  # Only of the last level the states themselves are needed.
        if not make_room(shards, sum(file.states for file in run.files_of(level))):
            return None
        work = [pool.submit(_load, run, codec, shard, level, len(shards), at)
                for at, (codec, shard) in enumerate(zip(codecs, shards, strict=True))]  # fmt: skip
        done = [future.result() for future in work]
        if not all(done):
            return None
        ranges.append([(begin, shard.count) for begin, shard in zip(begins, shards, strict=True)])
    return ranges


def _load(run: RunDirectory, codec: StateCodec, shard: Shard, level: int, workers: int, worker: int) -> bool:
    buckets = run.buckets
    # Buckets and workers are ranges of the same hash: bucket b is [b, b + 1) / buckets of it.
    wanted = [b * workers < (worker + 1) * buckets and (b + 1) * workers > worker * buckets for b in range(buckets)]
    for file in run.files_of(level):
        for records in codec.read(run.level_path(file), level, file, wanted):
            states = codec.unpack(records)
            kept = codec.keep_owned(states, records.count, workers, worker)
            if not shard.take(address(states), kept):
                return False
    return True
