"""What runs on Spark's executors: one worker's part of a search.

`run`, a barrier task that keeps its part of the visited set in native memory through all levels.

Tasks meet at the driver (`meeting.py`, which has what they say) and send each other what they find. Their level files go
into the run directory where they see that, and else to the driver, which writes them.
"""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, field
from functools import cache
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

from acked.base.bounds import default_memory
from acked.base.errors import AckedError, SystemFailure
from acked.base.frozen import frozen
from acked.checker.loops import exchange
from acked.checker.native.compile import Kernel, ObjectCode, compile_portable
from acked.checker.native.machine import processor
from acked.checker.native.shape import Shape
from acked.checker.question.plan import BATCH
from acked.checker.shards.compact import FORGET_FROM
from acked.checker.shards.shard import address, numbers, reserve
from acked.checker.spark.grid import Place
from acked.checker.spark.part import Part, load_code
from acked.checker.spark.seat import Abandoned, Alone, Enough, RemoteFile, Seat
from acked.checker.spark.transfer import Transfer
from acked.checker.store.level_file import (
    LevelFile,
    StateCodec,
    constants_of,
    exchange_code,
    numbers_like,
)
from acked.checker.store.run_directory import report_to_json
from acked.checker.store.trace_back import Walker

CHUNK = 1 << 16
"""States that are expanded between two looks at whether the search goes on."""
BOX_ROOM = 1 << 20
"""Bytes of a box besides room for one batch's worst case."""
WORTH_SENDING = 1 << 18
"""Bytes in a box that are sent before it is full, so that who gets them inserts them while it expands, not behind that."""
LOOPS = {
    exchange.EVALUATE: "evaluate",
    exchange.NOTE_STATES: "note_states",
    exchange.FIRE_ALL: "fire_all",
    exchange.HASH_ALL: "hash_all",
    exchange.INSERT_OUT: "insert_out",
}
"""The loops that the exchange calls, by the slots in which it finds them."""


@frozen
class TaskPlan:
    """What every worker of a search needs. `levels` are the files of the stored levels, the first one first.

    `memory` is bytes for each worker; None for a fair part of what its machine has.
    """

    run: str
    attempt: str
    shape: Shape
    code: ObjectCode
    exchange: ObjectCode
    buckets: int
    layout: str
    workers: int
    memory: int | None
    levels: tuple[tuple[LevelFile, ...], ...]
    columns: int = 1
    """Of the grid in which the tasks stand; see `grid.py`."""
    stores: bool = True
    """Whether levels are written as soon as they are complete; else from when on the driver says so."""
    forget_from: int = FORGET_FROM
    """From so many states on a task does without those of expanded levels."""
    driver: tuple[str, int] = ("", 0)
    """Where the driver's meeting is: its host, and its port."""
    first_port: int = 0
    """Where task 0 listens, and the next task at the next port; 0 for ports that the system chooses."""
    secret: bytes = field(default=b"", repr=False)
    """What tasks and driver show each other that they know."""


_FIGURES = (
    "loading", "kernel", "routing", "settling", "sending", "waiting", "receiving", "growing", "handing_on", "inserting",
    "storing", "bytes_sent", "bytes_stored", "parcels",
)  # fmt: skip


class Timing:
    """Seconds, bytes and parcels of one worker, by their names.

    `kernel` is guards and successors, `routing` finding their owners and putting others' aside, `settling` deduplicates
    what the worker owns itself, `growing` makes room for it, `handing_on` is for tasks of the same column, and `inserting`
    deduplicates what others have sent.
    """

    def __init__(self) -> None:
        self.figures: dict[str, float] = dict.fromkeys(_FIGURES, 0)
        self.start()

    def start(self) -> None:
        """Begins to measure."""
        self._since = time.perf_counter()

    def add(self, name: str) -> None:
        """Books the time since the last call."""
        now = time.perf_counter()
        self.figures[name] += now - self._since
        self._since = now


def own_code(code: ObjectCode, seat: Seat) -> ObjectCode:
    """The kernel's code; if it is for another processor, the driver is asked for what can be compiled for this one."""
    return code if code.processor == processor() else _compiled(seat.ask("portable"))


@cache
def _compiled(portable: bytes) -> ObjectCode:
    return compile_portable(pickle.loads(portable))


@cache
def _exchange(code: ObjectCode, shape: Shape) -> Kernel:
    return Kernel(code if code.processor == processor() else exchange_code(shape))


def run(payload: bytes, partition: Iterator[int]) -> Iterator[int]:
    """A barrier task: searches until the driver stops it."""
    worker, hosts = this_task()
    plan: TaskPlan = pickle.loads(payload)
    for _ in partition:
        pass
    search(plan, worker, hosts.count(hosts[worker]), hosts[worker])
    yield worker


def this_task() -> tuple[int, list[str]]:
    """The number of the barrier task that runs here, and the hosts of all of them."""
    from pyspark import BarrierTaskContext

    context = BarrierTaskContext.get()
    assert context is not None
    return context.partitionId(), [info.address.rpartition(":")[0].strip("[]") for info in context.getTaskInfos()]


def search(plan: TaskPlan, number: int, neighbours: int, host: str) -> None:
    """One task's part of a search, on a machine that it shares with its neighbours, itself counted; see `attendance`."""
    with attendance(plan, number, host) as seat:
        worker = Worker(plan, number, neighbours, seat)
        with closing(worker.transfer(host)) as transfer:
            worker.search(transfer, host)


@contextmanager
def attendance(plan: TaskPlan, number: int, host: str) -> Iterator[Seat]:
    """A task's seat at the driver's meeting, for a block that ends when the driver stops it.

    If the task cannot go on it tells the driver why, and raises: `RuntimeError`, or `Alone` if another attempt may.
    """
    with closing(Seat(plan.driver, plan.secret, number, host)) as seat:
        try:
            yield seat
        except Abandoned:
            pass
        except Alone as error:
            _tell(seat, "lost", str(error), host)
            raise
        except (AckedError, MemoryError) as error:
            text = str(error) or "a task is out of memory; give it less --memory, or its executor more"
            _tell(seat, "failed", text, host)
            raise RuntimeError(f"{text} (on the executor {host})") from None


def _tell(seat: Seat, kind: str, text: str, host: str) -> None:
    try:
        seat.say(kind, {"error": text, "host": host})
    except (Abandoned, Alone):
        pass  # The driver knows, or is gone.


class Worker:
    """One task's part of the search: the buckets that it owns."""

    def __init__(self, plan: TaskPlan, worker: int, neighbours: int, seat: Seat) -> None:
        self.plan, self.worker, self.seat = plan, worker, seat
        self.levels = Path(plan.run) / "levels"
        is_shared = (Path(plan.run) / "scratch" / plan.attempt).exists()
        self._sees_levels = is_shared and os.access(self.levels, os.W_OK)
        self.timing = Timing()
        shape = plan.shape
        code = own_code(plan.code, seat)
        self.native = _exchange(plan.exchange, shape)
        self.codec = StateCodec(shape, plan.buckets, self.native)
        self.codec.adopt(plan.layout)
        if self.codec.fingerprint != plan.layout:
            raise SystemFailure("this executor runs another version of acked than the driver; install the same on both")
        memory = plan.memory if plan.memory is not None else default_memory() // neighbours
        owners = [bucket * plan.workers // plan.buckets for bucket in range(plan.buckets)]
        known = sum(file.states for files in plan.levels for file in files) * owners.count(worker) // plan.buckets
        try:
            self.part = Part(shape, code, memory, known, plan.forget_from)
        except (OSError, ValueError, OverflowError) as error:
            raise SystemFailure(f"an executor cannot reserve {memory} bytes of states ({error}); use less --memory") from None
        self.place = Place(worker, plan.workers, plan.columns)
        self._set_up_exchange(shape, owners)

    def _set_up_exchange(self, shape: Shape, owners: Sequence[int]) -> None:
        constants = constants_of(shape)
        self.parcel = constants["RECORD"] + constants["ACTION_BYTES"]
        worst = BATCH * max(shape.actions, 1)
        self._box_bytes = -(-(worst * self.parcel + BOX_ROOM) // 64) * 64
        self._wanted = [owner == self.worker for owner in owners]
        # Whose box is which; the first is its own, and stays empty.
        self._boxes_of = (self.worker, *self.place.helpers, *self.place.mates)
        numbered = {task: box for box, task in enumerate(self._boxes_of)}
        boxes = len(self._boxes_of)
        self._next = numbers(pack_numbers([numbered[self.place.next_to(owner)] for owner in owners]))
        self._boxes = reserve(self._box_bytes * boxes // 8)
        self._filled = numbers([0] * boxes)
        self._chosen = reserve(boxes * worst + boxes)
        self._moment = numbers([0, 0])
        slots = {
            exchange.BUCKETS: self.plan.buckets,
            exchange.STEADY: address(self.codec.steady),
            exchange.NEXT: address(self._next),
            exchange.BOX_COUNT: boxes,
            exchange.BOXES: address(self._boxes),
            exchange.FILLED: address(self._filled),
            exchange.BOX_BYTES: self._box_bytes,
            exchange.CHOSEN: address(self._chosen),
            exchange.WORST: worst,
            exchange.CLOCK: ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0,
            exchange.MONOTONIC: time.CLOCK_MONOTONIC,
            exchange.MOMENT: address(self._moment),
        }
        self._slots = numbers(slots.get(slot, 0) for slot in range(exchange.EXCHANGE_SLOTS))
        self._loops: Kernel | None = None
        self._memory = memory_of(self._boxes)
        self._expand_apart = self.native.function("expand_apart", 4)
        self._read_parcels = self.native.function("read_parcels", 4)
        self._hand_on = self.native.function("hand_on", 5)
        most = self._box_bytes // self.parcel + 1
        self._arrived = numbers_like(most * shape.words)
        self._acts = numbers_like(most // 4 + 1)

    def _use_loops(self) -> None:
        """Has the exchange work on the part's table as it is now."""
        loops = self.part.shard.loops
        if loops is not self._loops:
            self._loops = loops
            self._slots[exchange.SHARD] = address(self.part.shard.context)
            for slot, name in LOOPS.items():
                self._slots[slot] = loops.address(name)

    def transfer(self, host: str) -> Transfer:
        """Its way to the other tasks."""
        port = self.plan.first_port and self.plan.first_port + self.worker
        sources = (*self.place.helped, *self.place.mates)
        return Transfer(self.worker, sources, host, port, self.plan.secret, self.seat.look_up)

    # -- the search -------------------------------------------------------------------------------------------------

    def search(self, transfer: Transfer, host: str) -> None:
        """Takes in the stored levels and goes on level by level, until the driver stops it."""
        self._transfer, self._stores, self._stored = transfer, self.plan.stores, len(self.plan.levels)
        self.seat.say("here", {"host": host, "address": transfer.address, "sees_levels": self._sees_levels})
        is_loaded = self._load()
        first = level = len(self.plan.levels)
        self.timing.add("loading")
        self.seat.say("ready", {"is_full": not is_loaded})
        transfer.meet([(host, port) for host, port in self.seat.wait_for("begin")["addresses"]])
        self.timing.start()
        self.part.begin_loaded()
        try:
            while True:
                self._expand(level)
                self._take_in(level)
                if level > first:
                    # What the driver thinks of the level before it has said meanwhile; what is expanded in vain is not told.
                    self._stores = self.seat.wait_for("next")["stores"]
                    self.timing.add("waiting")
                self._finish(level)
                if self.part.is_full:
                    self.seat.wait_for("next")  # which is never said of a level that is not complete
                self.part.begin_level()
                level += 1
        except Enough as enough:
            files = self._write(self.part.copies(enough.last)) if self._stored < enough.last else []
            self.seat.say("stored", {"files": files, "stored": enough.last})
            self.seat.wait_for("stop")

    def _load(self) -> bool:
        """Puts what is stored of its part in; False if memory is full."""
        for level, files in enumerate(self.plan.levels, start=1):
            self.part.load_level()
            for file in files:
                stored = None if self._sees_levels else io.BufferedReader(RemoteFile(self.seat, file.name, file.size))
                for records in self.codec.read(self.levels / file.name, level, file, self._wanted, file=stored):
                    states = self.codec.unpack(records)
                    if not self.part.take(address(states), records.count):
                        return False
                self.seat.look_up()
        return True

    def _expand(self, level: int) -> None:
        """Expands the level's own states, unless memory is full, and sends what others own."""
        part = self.part
        while part.done < part.end and not part.is_full:
            self._use_loops()
            stop = min(part.done + CHUNK, part.end)
            at = self._expand_apart(address(self._slots), address(part.shard.states), part.done, stop)
            self.timing.start()  # The native code books its own time.
            part.advance(at)
            if part.shard.needs_growth:
                part.make_room()
                self.timing.add("growing")
            # Before `stop` a box might not hold another batch's worst case; only the native code decides that.
            self._flush(level, WORTH_SENDING if at == stop else 0)
            for source in self.place.mates:
                self._accept(self._transfer.receive_some(level, source))
            self.seat.look_up()
        if part.is_full:
            part.shard.inspect(part.done, part.end)
        self._flush(level)
        self._transfer.end(level, self.place.helpers or self.place.mates)
        self.timing.add("sending")

    def _flush(self, level: int, least: int = 0) -> None:
        """Sends what is in boxes that have so many bytes at least."""
        for box, size in enumerate(list(self._filled)):
            if size and size >= least:
                begin = box * self._box_bytes
                self._transfer.send(level, self._boxes_of[box], self._memory[begin : begin + size])
                self.timing.figures["bytes_sent"] += size
                self._filled[box] = 0
        self.timing.add("sending")

    def _take_in(self, level: int) -> None:
        """Hands on what others have sent for the tasks of this column, and inserts its own, unless memory is full."""
        for source in self.place.helped:
            for data in self._transfer.receive(level, source):
                if max(self._filled) + len(data) > self._box_bytes:
                    self._flush(level)
                self.timing.add("receiving")
                count = len(data) // self.parcel
                own = self._hand_on(
                    address(self._slots), address_of(data), count, address(self._arrived), address(self._acts)
                )
                self.timing.add("handing_on")
                self._insert(own)
        if self.place.helpers:
            self._flush(level)
            self._transfer.end(level, self.place.mates)
            self.timing.add("sending")
        for source in self.place.mates:
            if self.part.is_full:
                return
            self._accept(self._transfer.receive(level, source))

    def _accept(self, pieces: Iterator[memoryview]) -> None:
        """Inserts parcels of its own."""
        for data in pieces:
            self.timing.add("receiving")
            count = len(data) // self.parcel
            self._read_parcels(address_of(data), count, address(self._arrived), address(self._acts))
            self._insert(count)

    def _insert(self, count: int) -> None:
        """Inserts what has arrived."""
        if not self.part.is_full:
            self.part.insert(address(self._arrived), address(self._acts), count)
        self.timing.figures["parcels"] += count
        self.timing.add("inserting")

    def _finish(self, level: int) -> None:
        """Writes this worker's part of the next level and reports what this one held."""
        part = self.part
        shard, begin, end = part.shard, part.begin, part.end
        report = shard.report(end - begin, shard.count - end, not part.is_full)
        files = []
        if self._stores and not part.is_full:
            before = part.copies(level) if self._stored < level else ()
            states = address(shard.states) + 8 * self.plan.shape.words * end
            files = self._write(chain(before, [(level + 1, states, shard.count - end)] if shard.count > end else []))
            self._stored = level + 1
        self.timing.add("storing")
        part.measure()
        native = {"kernel": exchange.IN_KERNEL, "routing": exchange.IN_ROUTING, "settling": exchange.IN_TABLE}
        self.timing.figures.update({name: self._slots[slot] / 1e9 for name, slot in native.items()})
        body = {"report": report_to_json(report), "memory": part.most_bytes, "timing": self.timing.figures}
        self.seat.say("done", {**body, "files": files, "stored": self._stored})
        self._transfer.forget()

    def _write(self, states: Iterable[tuple[int, int, int]]) -> list[tuple[int, list[object]]]:
        """Writes states, level by level, from addresses on, so many; the files, by levels."""
        files = []
        for level, pieces in groupby((item for item in states if item[0] > self._stored), itemgetter(0)):
            path = self.levels / f"{level:05}-{self.plan.attempt}-{self.worker}.states"
            remote = None if self._sees_levels else RemoteFile(self.seat, path.name)
            # Grouped: the tasks that go on from it read their own buckets only.
            stored = self.codec.write(path, level, ((at, count) for _, at, count in pieces), remote)
            self.timing.figures["bytes_stored"] += stored.size
            files.append((level, list(asdict(stored).values())))
        return files


def walker(plan: TaskPlan, code: ObjectCode) -> Walker:
    """What looks for sources in level files here, with code for this processor; see `trace.py`."""
    codec = StateCodec(plan.shape, plan.buckets, _exchange(plan.exchange, plan.shape))
    return Walker(plan.shape, load_code(code), codec)


def pack_numbers(values: Sequence[int]) -> list[int]:
    """16-bit numbers as 64-bit ones, four in each."""
    padded = [*values, *[0] * (-len(values) % 4)]
    return [sum(padded[at + k] << 16 * k for k in range(4)) for at in range(0, len(padded), 4)]


def address_of(memory: memoryview) -> int:
    """Where memory begins that may be written, for as long as it is there."""
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def memory_of(array: ctypes.Array[ctypes.c_uint64]) -> memoryview:
    """The bytes of an array."""
    return memoryview((ctypes.c_char * ctypes.sizeof(array)).from_buffer(array)).cast("B")
