"""What runs on Spark's executors: one worker's part of a search, and steps back from a violation.

`run`, a barrier task that keeps its part of the visited set in native memory through all levels, and `find_source`, an
ordinary task.

Tasks meet through files of the run directory's `scratch/ATTEMPT` folder, which appear under their names in one step:

    ready-W            worker W has taken in the stored levels          begin      the driver: all have
    address-W          where worker W listens, or
    L-W.parcels        what worker W found at level L for the others    sent-L-W   where in it whose parcels are
    done-L-W           worker W knows its part of level L + 1           stop       the driver: it is over
    failed-W           worker W cannot go on, and why

That level L is complete they see from its commit, which the driver writes. A worker whose driver has gone ends by itself.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from acked.checker.bounds import default_memory
from acked.checker.errors import AckedError, SystemFailure
from acked.checker.native import exchange
from acked.checker.native.compile import Kernel, ObjectCode, PortableCode, compile_portable, processor
from acked.checker.native.shape import Shape
from acked.checker.native.shard import address, alone, numbers, reserve
from acked.checker.question.ledger import LevelReport
from acked.checker.question.plan import BATCH
from acked.checker.spark.transfer import Abandoned, FileTransfer, SocketTransfer, Transfer, announce
from acked.checker.store.level_file import (
    LevelFile,
    StateCodec,
    bytes_address,
    constants_of,
    exchange_code,
    numbers_like,
)
from acked.checker.store.run_directory import report_to_json
from acked.checker.store.trace_back import Edge, Walker

CHUNK = 1 << 16
"""States that are expanded between two looks at whether the search goes on."""
BOX_ROOM = 1 << 20
"""Bytes of a box besides room for one batch's worst case."""
POLL_SECONDS = 0.0004


class Orphaned(RuntimeError):
    """The process that forked this worker is gone, and nothing would end it.

    The task must fail, not end: a barrier task that ends well leaves the others waiting for what it will never send.
    """


@dataclass(frozen=True)
class TaskPlan:
    """What every worker of a search needs. `levels` are the files of the stored levels, the first one first.

    `memory` is bytes for each worker; None for a fair part of what its machine has.
    """

    run: str
    attempt: str
    shape: Shape
    code: ObjectCode
    exchange: ObjectCode
    portable: PortableCode | None
    buckets: int
    layout: str
    workers: int
    memory: int | None
    levels: tuple[tuple[LevelFile, ...], ...]
    secret: bytes | None = field(default=None, repr=False)
    """What tasks show each other that they know, if they meet through sockets; None if through files."""


@dataclass
class Timing:
    """Seconds and bytes of one worker.

    `kernel` is guards and successors, `routing` finding their owners and putting others' aside, `settling` deduplicates
    what the worker owns itself, `inserting` what others have sent.
    """

    loading: float = 0.0
    kernel: float = 0.0
    routing: float = 0.0
    settling: float = 0.0
    sending: float = 0.0
    waiting: float = 0.0
    receiving: float = 0.0
    inserting: float = 0.0
    storing: float = 0.0
    bytes_sent: int = 0
    bytes_stored: int = 0
    parcels: int = 0
    _since: float = field(default=0.0, repr=False)

    def start(self) -> None:
        """Begins to measure."""
        self._since = time.perf_counter()

    def add(self, name: str) -> None:
        """Books the time since the last call."""
        now = time.perf_counter()
        setattr(self, name, getattr(self, name) + now - self._since)
        self._since = now

    def as_json(self) -> dict[str, float]:
        """The figures by name."""
        return {name: value for name, value in asdict(self).items() if not name.startswith("_")}


@cache
def _kernel(code: ObjectCode, portable: PortableCode | None) -> Kernel:
    """The kernel, loaded once per process, and compiled again if it is for another processor."""
    if code.processor == processor():
        return Kernel(code)
    if portable is None:
        raise SystemFailure(
            f"this executor's processor ({processor()[:60]}…) is not the driver's, and the search was begun for one kind only"
        )
    return Kernel(compile_portable(portable))


@cache
def _exchange(code: ObjectCode, shape: Shape) -> Kernel:
    return Kernel(code if code.processor == processor() else exchange_code(shape))


def run(payload: bytes, partition: Iterator[int]) -> Iterator[int]:
    """A barrier task: searches until the driver stops it."""
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    assert context is not None
    hosts = [info.address.rpartition(":")[0].strip("[]") for info in context.getTaskInfos()]
    worker = context.partitionId()
    plan: TaskPlan = pickle.loads(payload)
    for _ in partition:
        pass
    neighbours = hosts.count(hosts[worker])
    try:
        search(plan, worker, neighbours, hosts[worker])
    except Abandoned:
        pass
    except (AckedError, MemoryError) as error:
        text = str(error) or "out of memory"
        announce(Path(plan.run) / "scratch" / plan.attempt / f"failed-{worker}", {"error": text})
    yield worker


def search(plan: TaskPlan, number: int, neighbours: int, host: str) -> None:
    """One task's part of a search, on a machine that it shares with its neighbours, itself counted."""
    worker = Worker(plan, number, neighbours)
    with closing(worker.transfer(host)) as transfer:
        worker.search(transfer)


class Worker:
    """One task's part of the search: the buckets that it owns."""

    def __init__(self, plan: TaskPlan, worker: int, neighbours: int) -> None:
        self.plan, self.worker = plan, worker
        self.home = Path(plan.run)
        self.meeting = self.home / "scratch" / plan.attempt
        self.timing = Timing()
        self.timing.start()
        shape = plan.shape
        kernel = _kernel(plan.code, plan.portable)
        self.native = _exchange(plan.exchange, shape)
        self.codec = StateCodec(shape, plan.buckets, self.native)
        if self.codec.fingerprint != plan.layout:
            raise SystemFailure("this executor runs another version of acked than the driver; install the same on both")
        memory = plan.memory if plan.memory is not None else default_memory() // neighbours
        try:
            self.shard = alone(shape, kernel, memory)
        except (OSError, ValueError, OverflowError) as error:
            raise SystemFailure(f"an executor cannot reserve {memory} bytes of states ({error}); use less --memory") from None
        self._set_up_exchange(shape, kernel)
        self._parent = os.getppid()

    def _set_up_exchange(self, shape: Shape, kernel: Kernel) -> None:
        workers = self.plan.workers
        constants = constants_of(shape)
        self.parcel = constants["RECORD"] + constants["ACTION_BYTES"]
        worst = BATCH * max(shape.actions, 1)
        box = -(-(worst * self.parcel + BOX_ROOM) // 64) * 64
        self.owners = [bucket * workers // self.plan.buckets for bucket in range(self.plan.buckets)]
        self._owners = numbers(packed(self.owners))
        self._boxes = reserve(box * workers // 8)
        self._filled = numbers([0] * workers)
        self._chosen = reserve(workers * worst + workers)
        self._moment = numbers([0, 0])
        slots = {
            exchange.SHARD: address(self.shard.context),
            exchange.BUCKETS: self.plan.buckets,
            exchange.OWNERS: address(self._owners),
            exchange.WORKER: self.worker,
            exchange.WORKERS: workers,
            exchange.BOXES: address(self._boxes),
            exchange.FILLED: address(self._filled),
            exchange.BOX_BYTES: box,
            exchange.CHOSEN: address(self._chosen),
            exchange.WORST: worst,
            exchange.EVALUATE: kernel.address("evaluate"),
            exchange.NOTE_STATES: kernel.address("note_states"),
            exchange.FIRE_ALL: kernel.address("fire_all"),
            exchange.HASH_ALL: kernel.address("hash_all"),
            exchange.INSERT: kernel.address("insert"),
            exchange.CLOCK: ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0,
            exchange.MONOTONIC: time.CLOCK_MONOTONIC,
            exchange.MOMENT: address(self._moment),
        }
        self._slots = numbers(slots.get(slot, 0) for slot in range(exchange.EXCHANGE_SLOTS))
        self._box_bytes = box
        self._memory = memory_of(self._boxes)
        self._expand_apart = self.native.function("expand_apart", 4)
        self._read_parcels = self.native.function("read_parcels", 4)
        most = box // self.parcel + 1
        self._arrived = numbers_like(most * shape.words)
        self._acts = numbers_like(most // 4 + 1)
        self._receive = kernel.function("receive", 4)

    def transfer(self, host: str) -> Transfer:
        """Its way to the other tasks."""
        workers, secret = self.plan.workers, self.plan.secret
        if secret is None:
            return FileTransfer(self.meeting, self.worker, workers, self._wait_for)
        return SocketTransfer(self.meeting, self.worker, workers, host, secret, self._wait_for, self._look_up)

    # -- the search -------------------------------------------------------------------------------------------------

    def search(self, transfer: Transfer) -> None:
        """Takes in the stored levels and goes on level by level."""
        self._transfer = transfer
        begin = self._load()
        level = len(self.plan.levels)
        self.timing.add("loading")
        announce(self.meeting / f"ready-{self.worker}", {"is_full": self.shard.is_full})
        self._wait_for(self.meeting / "begin")
        self.timing.start()
        while True:
            end = self.shard.count
            self.shard.begin_level()
            is_expanded = self._expand(level, begin, end) and self._take_in(level)
            self._finish(level, begin, end, is_expanded)
            self._wait_for(self.home / "commits" / f"{level:05}.json")
            if (self.meeting / "stop").exists():
                return
            begin, level = end, level + 1

    def _load(self) -> int:
        wanted = [owner == self.worker for owner in self.owners]
        begin = 0
        for level, files in enumerate(self.plan.levels, start=1):
            begin = self.shard.count
            for file in files:
                for records in self.codec.read(self.home / "levels" / file.name, level, file, wanted):
                    states = self.codec.unpack(records)
                    if not self.shard.take(address(states), records.count):
                        return begin
                self._look_up()
        return begin

    def _expand(self, level: int, begin: int, end: int) -> bool:
        """Expands the level's own states and sends what others own; False if memory is full."""
        is_expanded = True
        at = begin
        while at < end:
            stop = min(at + CHUNK, end)
            at = self._expand_apart(address(self._slots), address(self.shard.states), at, stop)
            self.timing.start()  # The native code books its own time.
            if self.shard.is_full:
                self.shard.inspect(at, end)
                is_expanded = False
                break
            if at < stop:  # A box might not hold another batch's worst case; only the native code decides that.
                self._flush(level)
            self._look_up()
        self._flush(level)
        self._transfer.end(level)
        self.timing.add("sending")
        self._refuse_broken()
        return is_expanded

    def _flush(self, level: int) -> None:
        for other, size in enumerate(list(self._filled)):
            if size:
                begin = other * self._box_bytes
                self._transfer.send(level, other, self._memory[begin : begin + size])
                self.timing.bytes_sent += size
                self._filled[other] = 0
        self.timing.add("sending")

    def _take_in(self, level: int) -> bool:
        """Inserts what the others have sent, nearest neighbour first; False if memory is full."""
        workers = self.plan.workers
        for step in range(1, workers):
            for data in self._transfer.received(level, (self.worker + step) % workers):
                if not self._insert(data):
                    return False
        return True

    def _insert(self, data: bytes) -> bool:
        self.timing.add("receiving")
        count = len(data) // self.parcel
        self._read_parcels(bytes_address(data), count, address(self._arrived), address(self._acts))
        done = self._receive(address(self.shard.context), address(self._arrived), address(self._acts), count)
        self._refuse_broken()
        self.timing.parcels += count
        self.timing.add("inserting")
        return done == count

    def _finish(self, level: int, begin: int, end: int, is_expanded: bool) -> None:
        """Writes this worker's part of the next level and reports what this one held."""
        shard = self.shard
        report = LevelReport(
            states=end - begin,
            next_states=shard.count - end,
            enabled=tuple(shard.enabled[: self.plan.shape.actions]),
            new=tuple(shard.new[: self.plan.shape.actions]),
            bad_states=shard.violating_states(),
            bad_steps=shard.violating_steps(),
            is_expanded=is_expanded,
        )
        stored = None
        if is_expanded and shard.count > end:
            path = self.home / "levels" / f"{level + 1:05}-{self.plan.attempt}-{self.worker}.states"
            first = address(shard.states) + 8 * self.plan.shape.words * end
            stored = self.codec.write(path, level + 1, first, shard.count - end)
            self.timing.bytes_stored += stored.size
        self.timing.add("storing")
        self.timing.kernel, self.timing.routing, self.timing.settling = (
            self._slots[slot] / 1e9 for slot in (exchange.IN_KERNEL, exchange.IN_ROUTING, exchange.IN_TABLE)
        )
        announce(
            self.meeting / f"done-{level:05}-{self.worker}",
            {
                "report": report_to_json(report),
                "file": None if stored is None else list(asdict(stored).values()),
                "memory": shard.memory_bytes,
                "timing": self.timing.as_json(),
            },
        )
        self._transfer.forget(level - 1)  # It has been read by all.

    # -- waiting ----------------------------------------------------------------------------------------------------

    def _wait_for(self, path: Path) -> None:
        begun, pause, name = time.monotonic(), POLL_SECONDS, str(path)
        while not os.path.exists(name):
            self._look_up()
            time.sleep(pause)
            if time.monotonic() - begun > 2:
                pause = 0.005
        self.timing.add("waiting")

    def _look_up(self) -> None:
        """Whether the search still goes on."""
        if os.path.exists(self.meeting / "stop") or not os.path.exists(self.meeting):
            raise Abandoned
        if os.getppid() != self._parent:
            raise Orphaned("the Python daemon of an executor died")

    def _refuse_broken(self) -> None:
        if self.shard.is_broken:
            raise SystemFailure("the table of visited states could not be rearranged; please report this with the spec")


def find_source(
    payload: bytes, partition: Iterator[tuple[int, tuple[LevelFile, ...], tuple[int, ...]]]
) -> Iterator[tuple[str, Edge | str | None]]:
    """For every (level, files, target): `("found", (state, action))`, `("nothing", None)` or `("error", text)`."""
    plan: TaskPlan = pickle.loads(payload)
    for level, files, target in partition:
        try:
            edge = _walker(plan.shape, plan.code, plan.portable, plan.exchange, plan.buckets).source_in(
                Path(plan.run) / "levels", level, files, target
            )
            yield ("nothing", None) if edge is None else ("found", edge)
        except AckedError as error:
            yield "error", str(error)


@cache
def _walker(
    shape: Shape, code: ObjectCode, portable: PortableCode | None, moves: ObjectCode, buckets: int
) -> Walker:
    return Walker(shape, _kernel(code, portable), StateCodec(shape, buckets, _exchange(moves, shape)))


def packed(values: Sequence[int]) -> list[int]:
    """16-bit numbers as 64-bit ones, four in each."""
    padded = [*values, *[0] * (-len(values) % 4)]
    return [sum(padded[at + k] << 16 * k for k in range(4)) for at in range(0, len(padded), 4)]


def memory_of(array: ctypes.Array[ctypes.c_uint64]) -> memoryview:
    """The bytes of an array."""
    return memoryview((ctypes.c_char * ctypes.sizeof(array)).from_buffer(array)).cast("B")
