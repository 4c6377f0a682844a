"""Where the tasks of an attempt meet: a server of the driver, to which each has one connection.

What a task says (`kind`), and what the driver answers:

    here       its host, and where it listens for other tasks
    ready      it has taken in the stored levels                   begin   all have; where the others listen
    done       it knows its part of the next level                 next    the search goes on behind it
    stored     it has written what it was asked for                enough  it does not; which levels are to be written
    write      a piece of a level file, if it does not see the run directory
    read       which piece of a level file it needs                data    that piece
    portable   its processor is not the driver's                   data    code that it can compile for its own
    edge       the source that its files have (`trace.py`)         look    of which state of which level
    failed     it cannot go on, and the search neither             stop    it is over
    lost       it cannot go on, another attempt may

Messages are JSON, with bytes behind it (`seat.FRAME`). A connection that closes is a task that is lost: the driver knows it
at once, or after `LOST_MILLISECONDS` if the network is cut.
"""

from __future__ import annotations

import json
import pickle
import queue
import secrets
import selectors
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from acked.base.errors import SystemFailure
from acked.base.sockets import answer, hang_up, listen, receive_calls
from acked.checker.native.compile import portable_code
from acked.checker.question.question import Question
from acked.checker.spark.seat import DRIVER, FRAME, READ_BYTES, frame
from acked.checker.spark.session import LOCAL, SparkDriver
from acked.checker.store.level_file import cannot_write, damage_of, write_all

SEND_SECONDS = 10.0
"""How long a task may take to receive what it waits for."""
LOOK_SECONDS = 0.5
"""How often the driver looks, while it waits for tasks, whether Spark still has them."""
ARRIVAL_SECONDS = 0.005
SECRET_BYTES = 32


class TaskLost(Exception):
    """A task is gone, or cannot go on; another attempt may. `task` is one that has said nothing."""

    def __init__(self, text: str, task: str | None = None) -> None:
        super().__init__(text)
        self.task = task


@dataclass
class _Guest:
    """One task at the meeting."""

    connection: socket.socket
    host: str = "an executor"
    received: bytearray = field(default_factory=bytearray)
    files: dict[str, BinaryIO] = field(default_factory=dict)

    def close_files(self) -> None:
        for file in self.files.values():
            file.close()
        self.files.clear()


class Meeting:
    """The meeting of so many tasks; use it in one thread, and `close` it. `levels` is the folder of level files.

    `question` is what they search for. `place` is the host and port to which tasks come, `secret` what they know then.
    `SystemFailure` where nobody can listen.
    """

    def __init__(self, driver: SparkDriver, tasks: int, levels: Path, question: Question) -> None:
        self._tasks, self._levels, self._question = tasks, levels, question
        self.secret = secrets.token_bytes(SECRET_BYTES)
        self._guests: dict[int, _Guest] = {}
        self._said: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._arrivals: queue.SimpleQueue[tuple[int, socket.socket]] = queue.SimpleQueue()
        self._selector = selectors.DefaultSelector()
        (host, bind), port = driver.addresses, driver.settings.port
        try:
            self._listener = listen(bind, port, tasks)
        except OSError as error:
            raise SystemFailure(
                f"the driver cannot listen at {bind}:{port} ({error.strerror or error}); give "
                "--conf spark.driver.bindAddress=… an address of this machine, and --conf spark.acked.port=… a free port"
            ) from None
        self.place: tuple[str, int] = (host, self._listener.getsockname()[1])
        receive_calls(self._listener, self._greet)

    # -- who comes --------------------------------------------------------------------------------------------------

    def _greet(self, connection: socket.socket) -> None:
        try:
            worker = answer(connection, self.secret, DRIVER, range(self._tasks), says_little=True)
        except (OSError, ValueError):
            connection.close()
        else:
            self._arrivals.put((worker, connection))

    def _seat(self) -> None:
        while not self._arrivals.empty():
            worker, connection = self._arrivals.get()
            if worker in self._guests:  # Spark begins a failed stage again, but this attempt has its tasks.
                connection.close()
                continue
            connection.settimeout(SEND_SECONDS)
            self._guests[worker] = _Guest(connection)
            self._selector.register(connection, selectors.EVENT_READ, worker)

    # -- what is said -----------------------------------------------------------------------------------------------

    def gather(self, kind: str, look: Callable[[], None]) -> list[dict[str, Any]]:
        """What every task says of a kind, in the tasks' order; `look` is called now and then, and may raise."""
        looked, said = time.monotonic(), self._said[kind]
        while len(said) < self._tasks:
            is_complete = len(self._guests) == self._tasks
            for key, _ in self._selector.select(LOOK_SECONDS if is_complete else ARRIVAL_SECONDS):
                self._hear(key.data)
            if not is_complete:
                self._seat()
            if time.monotonic() - looked > LOOK_SECONDS:
                look()
                looked = time.monotonic()
        del self._said[kind]
        return [said[worker] for worker in range(self._tasks)]

    def _hear(self, worker: int) -> None:
        guest = self._guests[worker]
        try:
            data = guest.connection.recv(READ_BYTES)
            if not data:
                raise ConnectionError("it closed the connection")
        except OSError as error:
            self._selector.unregister(guest.connection)
            raise self._lost(worker, error) from None
        buffer = guest.received
        buffer += data
        at = 0
        with memoryview(buffer) as view:
            while len(view) - at >= FRAME.size:
                length, size = FRAME.unpack_from(view, at)
                begin = at + FRAME.size + length
                if len(view) < begin + size:
                    break
                body = json.loads(bytes(view[at + FRAME.size : begin]))
                with view[begin : begin + size] as part:
                    self._take(worker, guest, body, part)
                at = begin + size
        del buffer[:at]

    def _take(self, worker: int, guest: _Guest, body: dict[str, Any], data: memoryview) -> None:
        kind = body.pop("kind")
        if kind == "write":
            self._write(guest, body["name"], data)
        elif kind == "read":
            self._tell(worker, "data", {}, self._read(body["name"], body["offset"], body["size"]))
        elif kind == "portable":
            self._tell(worker, "data", {}, self._portable_code)
        elif kind == "failed":
            where = "" if body["host"] in LOCAL else f" (on the executor {body['host']})"
            raise SystemFailure(body["error"] + where)
        elif kind == "lost":
            raise TaskLost(body["error"])
        else:
            guest.host = body.get("host", guest.host)
            guest.close_files()
            self._said[kind][worker] = body

    @cached_property
    def _portable_code(self) -> bytes:
        return pickle.dumps(portable_code(self._question.plan))

    # -- level files ------------------------------------------------------------------------------------------------

    def _path(self, name: str) -> Path:
        if Path(name).name != name:
            raise SystemFailure(f"a task asks for the level file {name!r}, which is none; please report this")
        return self._levels / name

    def _write(self, guest: _Guest, name: str, data: memoryview) -> None:
        path = self._path(name)
        try:
            if name not in guest.files:
                guest.close_files()  # of another level, which is complete
                guest.files[name] = open(path, "wb", buffering=0)  # noqa: SIM115  (until the task is done with the level)
            write_all(guest.files[name], [data])
        except OSError as error:
            raise cannot_write(path, error) from None

    def _read(self, name: str, offset: int, size: int) -> bytes:
        path = self._path(name)
        try:
            with open(path, "rb", buffering=0) as file:
                file.seek(offset)
                return file.read(size)
        except FileNotFoundError:
            raise damage_of(path, "is missing") from None
        except OSError as error:
            raise SystemFailure(f"cannot read {path}: {error.strerror}; check the disk, or start a new search") from None

    # -- what the driver says ---------------------------------------------------------------------------------------

    def tell(self, kind: str, body: Mapping[str, object] | None = None) -> None:
        """Says something to all tasks."""
        for worker in self._guests:
            self._tell(worker, kind, body or {})

    def _tell(self, worker: int, kind: str, body: Mapping[str, object], data: bytes = b"") -> None:
        guest = self._guests[worker]
        try:
            guest.connection.sendall(frame({"kind": kind, **body}, data) + data)
        except OSError as error:
            raise self._lost(worker, error) from None

    def _lost(self, worker: int, error: OSError) -> TaskLost:
        task = f"task {worker} on {self._guests[worker].host}"
        return TaskLost(f"{task} is gone: {error.strerror or error}", task)

    def close(self) -> None:
        """Says to all tasks that can hear it that it is over, and gives all connections back."""
        hang_up(self._listener)
        self._seat()
        for worker, guest in self._guests.items():
            try:
                self._tell(worker, "stop", {})
            except TaskLost:
                pass  # It has no need to hear it.
            guest.connection.close()
            guest.close_files()
        self._selector.close()
