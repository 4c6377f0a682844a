"""Processes that are given tasks, bounded in memory and time, and replaced when they die: z3's, and those of batches.

`ProcessPool` deals tasks to processes of its own and yields their answers; `serve` is the loop in such a process. What a task
means, the engine that a `Service` names decides.

A solver lives in a process and not in a thread because it may use more memory than there is, may not listen to its own
timeout, and may crash: each of these ends one process, and the task in its hands is answered by `Lost`, with the reason.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from acked.base.bounds import default_memory, default_workers
from acked.base.files import PACKAGE
from acked.base.frozen import frozen
from acked.base.optional import optional_packages

MIN_MEMORY = 1 << 30
"""Bytes that a process may use even where less is free now, unless the user says otherwise."""

GRACE = 5.0
"""Seconds that a solver may overrun its own timeout before its process is killed."""

MOST_PREFERRED = 8
"""Of so many tasks that wait a process is given the one that it is best prepared for: what takes long must not come last."""

MAX_FAILED_STARTS = 4
"""After so many processes in a row that ended without an answer, no further one is started."""

_BOOT = """\
import importlib.util as util, json, sys
place, sys.path[:] = json.loads(sys.argv[1])
spec = util.spec_from_file_location("acked", f"{place}/__init__.py", submodule_search_locations=[place])
sys.modules["acked"] = module = util.module_from_spec(spec)  # This one, whatever else is on the path.
spec.loader.exec_module(module)
from acked.base.processes import serve
serve()
"""

_LENGTH = struct.Struct(">Q")


@frozen
class Limits:
    """Processes at a time, seconds for one query to a solver, and bytes of address space for each process."""

    jobs: int
    timeout: float
    memory: int | None = None

    @classmethod
    def sharing(cls, jobs: int | None, timeout: float, memory: int | None = None) -> Limits:
        """With the defaults of this machine: a process a core, which share most of the memory at hand."""
        number = jobs or default_workers()
        return cls(number, timeout, memory or max(default_memory() // number, MIN_MEMORY))


@frozen
class Service:
    """What processes are for.

    `engine` is "module:class": each process calls the class with what was loaded and the seconds for one query, and then its
    method `answer` with every task and with what takes notes. `name` is the word for it in messages; `imports` are modules
    that take long to import, which a process does while its owner is still writing down what it loads.
    """

    engine: str
    name: str
    imports: tuple[str, ...] = ()


@frozen
class Done:
    """A task's answer; `value` is what the engine returned."""

    task: int
    value: Any


@frozen
class Note:
    """Something that an engine reports while a task is under way."""

    task: int
    value: Any


@frozen
class Lost:
    """A task that was not answered: its process was killed, died, ran out of memory or refused; `reason` says which."""

    task: int
    reason: str


Reply = Done | Note | Lost


class ProcessPool:
    """Processes for a `with` block, which ends all of them however it is left.

    They start when the pool is opened, so that they import what they need while the caller is still writing down its problem.
    """

    def __init__(self, limits: Limits, service: Service) -> None:
        self.limits = limits
        self.service = service
        self._setup: bytes = b""
        self._workers: list[_Worker] = []
        self._failed_starts = 0

    def __enter__(self) -> Self:
        with optional_packages():
            if missing := [name for name in self.service.imports if find_spec(name) is None]:
                raise ModuleNotFoundError(name=missing[0])
        self._workers = [_Worker(self.limits, self.service) for _ in range(self.limits.jobs)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.end()
        self._workers = []

    @property
    def pids(self) -> list[int]:
        """The processes that are running now."""
        return [worker.process.pid for worker in self._workers]

    def load(self, problem: object) -> None:
        """Gives every process, also those that replace a dead one, the problem that all tasks are about."""
        self._setup = pickle.dumps(problem, pickle.HIGHEST_PROTOCOL)
        for worker in self._workers:
            worker.post(self._setup)

    def run(
        self,
        tasks: Sequence[object],
        kin: Callable[[Any], object] | None = None,
        twin: Callable[[Any], object] | None = None,
    ) -> Iterator[Reply]:
        """Deals out the tasks in order, the first at once; replies as they come. Every task ends with a `Done` or a `Lost`.

        Where `kin` says which tasks have much in common, a process is rather given one like its last, and else one like
        nobody's. Where `twin` says which have nearly all in common, it is given those first, wherever they are.
        """
        waiting = _Waiting.of(tasks, kin, twin)
        for worker in [worker for worker in self._workers if worker.is_dead]:
            self._replace(worker)
        for worker in self._workers:
            self._deal(worker, waiting)
        return self._replies(waiting)

    def _replies(self, waiting: _Waiting) -> Iterator[Reply]:
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.stdout, selectors.EVENT_READ, worker)
            while any(worker.task is not None for worker in self._workers):
                for key, _ in selector.select(timeout=0.2):
                    yield from self._receive_from(key.data)
                    self._assign_next(key.data, waiting, selector)
                if self._failed_starts >= MAX_FAILED_STARTS:  # The next one would end for the same reason.
                    reason = f"{self._failed_starts} {self.service.name} processes in a row ended without an answer"
                    yield from (Lost(item.number, reason) for item in waiting.tasks)
                    waiting.tasks.clear()
                for worker in list(self._workers):
                    if worker.task is not None and time.monotonic() > worker.deadline:
                        late, worker.task, worker.is_dead = worker.task, None, True
                        seconds = self.limits.timeout + GRACE
                        yield Lost(late, f"the {self.service.name} did not stop within {seconds:g} s and was killed")
                        self._assign_next(worker, waiting, selector)

    def _assign_next(self, worker: _Worker, waiting: _Waiting, selector: selectors.BaseSelector) -> None:
        if worker.is_dead:
            selector.unregister(worker.stdout)
            worker.end()
            self._failed_starts = 0 if worker.has_answered else self._failed_starts + 1
            if not waiting.tasks:
                return
            worker = self._replace(worker)
            selector.register(worker.stdout, selectors.EVENT_READ, worker)
        self._deal(worker, waiting)

    def _deal(self, worker: _Worker, waiting: _Waiting) -> None:
        if worker.task is None and waiting.tasks:
            others = {other.kin for other in self._workers if other is not worker}
            given = waiting.take(worker.kin, others, worker.twin)
            worker.task, worker.kin, worker.twin = given.number, given.kin, given.twin
            worker.extend()
            worker.post(pickle.dumps(given.task, pickle.HIGHEST_PROTOCOL))

    def _receive_from(self, worker: _Worker) -> Iterator[Reply]:
        for kind, value in worker.receive():
            if worker.task is None:
                continue
            worker.extend()
            if kind == "note":
                yield Note(worker.task, value)
                continue
            task, worker.task = worker.task, None
            worker.has_answered = True
            yield Done(task, value) if kind == "done" else Lost(task, str(value))
        if worker.is_dead and worker.task is not None:
            task, worker.task = worker.task, None
            yield Lost(task, worker.exit_reason())

    def _replace(self, worker: _Worker) -> _Worker:
        worker.end()
        fresh = _Worker(self.limits, self.service)
        fresh.post(self._setup)
        self._workers[self._workers.index(worker)] = fresh
        return fresh


class _Task(NamedTuple):
    """A task with its number, what it has in common with many others, and what nearly all of it with some."""

    number: int
    task: object
    kin: object
    twin: object


@dataclass
class _Waiting:
    """Tasks that no process has yet."""

    tasks: deque[_Task]

    @classmethod
    def of(
        cls,
        tasks: Iterable[object],
        kin: Callable[[Any], object] | None = None,
        twin: Callable[[Any], object] | None = None,
    ) -> Self:
        """All tasks, numbered in their order."""
        return cls(deque(_Task(at, task, kin and kin(task), twin and twin(task)) for at, task in enumerate(tasks)))

    def take(self, own: object, others: Collection[object], last: object = None) -> _Task:
        """The next task for a process whose last one was of the kin `own` and a twin of `last`, others being at `others`."""
        at = None
        if last is not None:
            at = next((at for at, item in enumerate(self.tasks) if item.twin == last), None)
        if at is None:
            kins = [item.kin for item in islice(self.tasks, MOST_PREFERRED)]
            at = next((at for at, kin in enumerate(kins) if kin == own), None)
            if at is None:
                at = next((at for at, kin in enumerate(kins) if kin not in others), 0)
        taken = self.tasks[at]
        del self.tasks[at]
        return taken


class _Worker:
    """One process as its owner sees it."""

    def __init__(self, limits: Limits, service: Service) -> None:
        self._timeout = limits.timeout
        self._memory = limits.memory
        self._what = service.name
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOT, json.dumps([str(PACKAGE), sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        self.task: int | None = None
        self.kin: object = None
        self.twin: object = None
        self.deadline = 0.0
        self.is_dead = False
        self.has_answered = False
        self._buffer = b""
        self.post(pickle.dumps((limits.memory, limits.timeout, service)))

    def extend(self) -> None:
        """The task was given, or has shown life: it has its whole time again."""
        self.deadline = time.monotonic() + self._timeout + GRACE

    def post(self, message: bytes) -> None:
        try:
            self.stdin.write(_LENGTH.pack(len(message)) + message)
            self.stdin.flush()
        except OSError:
            pass  # It has ended; reading from it will show that.

    def receive(self) -> Iterator[tuple[str, object]]:
        """The messages that have arrived; call it when there is something to read."""
        chunk = os.read(self.stdout.fileno(), 1 << 20)
        if not chunk:
            self.is_dead = True
            return
        self._buffer += chunk
        while len(self._buffer) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._buffer)[0]
            if len(self._buffer) < end:
                return
            message, self._buffer = self._buffer[_LENGTH.size : end], self._buffer[end:]
            kind, value = pickle.loads(message)
            yield kind, value

    def exit_reason(self) -> str:
        """Why the process ended."""
        code = self.process.wait()
        limit = f" (its memory is bounded to {self._memory >> 20} MiB)" if self._memory else ""
        if code < 0:
            return f"the {self._what} process was killed by {signal.Signals(-code).name}{limit}"
        return f"the {self._what} process ended with code {code}{limit}"

    def end(self) -> None:
        self.process.kill()
        for stream in (self.stdin, self.stdout):
            try:
                stream.close()
            except OSError:
                pass  # What could not be written is not needed any more.
        self.process.wait()


# -- inside a process --------------------------------------------------------------------------------------------------


def serve() -> None:
    """The life of such a process: limits, the problem, then one task after another until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # A Ctrl-C is handled by the owner, which then ends this process.
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a solver prints must not get among the answers.
    memory, timeout, service = pickle.loads(_read(incoming) or b"")
    what = service.name
    if memory is not None:
        _bound(memory)
    try:
        for module in service.imports:
            import_module(module)
        problem = _read(incoming)
        if problem is None:
            return
        module, _, name = service.engine.partition(":")
        engine = getattr(import_module(module), name)(pickle.loads(problem), timeout)
    except MemoryError:
        os._exit(1)
    # What was imported stays, and so do most of the expressions that a question is made of.
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)
    box: deque[bytes] = deque()
    arrived = threading.Semaphore(0)
    threading.Thread(target=_listen, args=(incoming, box, arrived), daemon=True).start()
    while True:
        arrived.acquire()
        task = pickle.loads(box.popleft())
        try:
            _write(outgoing, ("done", engine.answer(task, lambda note: _write(outgoing, ("note", note)))))
        except MemoryError:
            _write(outgoing, ("lost", f"the {what} ran out of the memory that it was given"))
        except Exception as error:
            text = str(error).strip("b'")
            is_memory = "out of memory" in text
            reason = f"the {what} ran out of the memory that it was given" if is_memory else f"{type(error).__name__}: {text}"
            _write(outgoing, ("lost", reason))


def _listen(incoming: IO[bytes], box: deque[bytes], arrived: threading.Semaphore) -> None:
    while (message := _read(incoming)) is not None:
        box.append(message)
        arrived.release()
    os._exit(0)  # The owner is gone; a query may take hours yet.


def _bound(memory: int) -> None:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _read(stream: IO[bytes]) -> bytes | None:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    body = stream.read(_LENGTH.unpack(head)[0])
    return body if len(body) == _LENGTH.unpack(head)[0] else None


def _write(stream: IO[bytes], value: tuple[str, object]) -> None:
    message = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()
