"""How what tasks find for each other gets from one to the other: straight, over sockets.

`Transfer`, which a task sends to and receives from level by level.
"""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from acked.base.errors import SystemFailure
from acked.base.sockets import answer, call, hang_up, listen, read_exactly, read_into, receive_calls
from acked.checker.spark.seat import Alone
from acked.checker.store.level_file import cannot_write, write_all

HEADER = struct.Struct("<IQ")
"""Of a frame: the level, and how many bytes follow; LEVEL_ENDS of them say that there are no more of this level."""
LEVEL_ENDS = (1 << 64) - 1
HELD_BYTES = 64 << 20
"""What arrives and has not been asked for is held in memory up to so many bytes, beyond that in a file of this machine: who
sends never waits for who receives, so that no circle of tasks waits for itself."""
SPARE = 4
"""So many pieces of memory are kept for what arrives next, because memory that the system has yet to find costs more than to
read what arrives into it."""
LOST_SECONDS = 15.0
"""How long a connection may be lost before a task gives up; the driver, which sees a task that is gone, ends the attempt
sooner."""
LOOK_SECONDS = 0.05


class Transfer:
    """One task's way to the others, over one connection for each direction. A level's data arrive in the order in which they
    were sent; none is lost or doubled.

    A task listens at the address that Spark knows its executor by. It hears from its `sources`, and from nobody else.
    """

    def __init__(
        self, worker: int, sources: Sequence[int], host: str, port: int, secret: bytes, look_up: Callable[[], None]
    ) -> None:
        self._worker, self._secret, self._look_up = worker, secret, look_up
        self._addresses: Sequence[tuple[str, int]] = ()
        self._inboxes = {source: Inbox() for source in sources}
        self._spare: deque[memoryview] = deque(maxlen=SPARE)
        self._outgoing: dict[int, socket.socket] = {}
        self._incoming: dict[int, socket.socket] = {}
        try:
            self._listener = listen(host, port, len(sources) + 1)
        except OSError as error:
            raise SystemFailure(f"a task cannot listen at {host}: {error.strerror or error}") from None
        self.address: tuple[str, int] = (host, self._listener.getsockname()[1])
        receive_calls(self._listener, self._read)

    def meet(self, addresses: Sequence[tuple[str, int]]) -> None:
        """Says where all tasks listen, in their order."""
        self._addresses = addresses

    # -- sending ----------------------------------------------------------------------------------------------------

    def send(self, level: int, other: int, data: memoryview) -> None:
        """Sends bytes to another task; they may be overwritten afterwards."""
        self._put(other, [HEADER.pack(level, len(data)), data])

    def end(self, level: int, others: Sequence[int]) -> None:
        """Says to other tasks that all of a level has been sent to them."""
        for other in others:
            self._put(other, [HEADER.pack(level, LEVEL_ENDS)])

    def _put(self, other: int, parts: list[bytes | memoryview]) -> None:
        try:
            if other not in self._outgoing:
                self._outgoing[other] = call(self._addresses[other], self._secret, self._worker, other)
            for part in parts:
                self._outgoing[other].sendall(part)
        except OSError as error:
            self._give_up(other, error)

    def _give_up(self, other: int, error: Exception) -> None:
        """Says what went wrong here; else waits for the attempt to be over, which a task that died ends, for so long only."""
        if isinstance(error, SystemFailure):
            raise error
        until = time.monotonic() + LOST_SECONDS
        while time.monotonic() < until:
            self._look_up()
            time.sleep(LOOK_SECONDS)
        host, port = self._addresses[other]
        raise Alone(
            f"the connection from {self.address[0]} to task {other} at {host}:{port} is lost: {error}; check the network "
            "between executors, and open the ports from --conf spark.acked.port=PORT on"
        )

    @property
    def met(self) -> frozenset[int]:
        """The tasks to which or from which there is a connection."""
        return frozenset({*self._outgoing, *self._incoming})

    # -- receiving --------------------------------------------------------------------------------------------------

    def _read(self, connection: socket.socket) -> None:
        source = None
        try:
            source = answer(connection, self._secret, self._worker, self._inboxes)
            self._incoming[source] = connection
            while True:
                level, size = HEADER.unpack(read_exactly(connection, HEADER.size))
                data = None if size == LEVEL_ENDS else self._room_for(size)
                if data is not None:
                    read_into(connection, data)
                self._inboxes[source].put(level, data)
        except (OSError, ValueError, SystemFailure) as error:
            connection.close()
            if source is not None:
                self._inboxes[source].lose(error)

    def _room_for(self, size: int) -> memoryview:
        try:
            spare = self._spare.pop()
        except IndexError:
            spare = memoryview(b"")
        return (spare if len(spare) >= size else memoryview(bytearray(size)))[:size]

    def receive(self, level: int, source: int) -> Iterator[memoryview]:
        """What another task sent on a level, piece by piece, each until the next; waits until it has ended the level."""
        inbox = self._inboxes[source]
        while True:
            if not inbox.wait(LOOK_SECONDS):
                self._look_up()
                if inbox.lost is not None:
                    self._give_up(source, inbox.lost)
                continue
            data = self._take(level, source)
            if data is None:
                return
            yield data
            self._spare.append(memoryview(data.obj))

    def receive_some(self, level: int, source: int) -> Iterator[memoryview]:
        """What of it is here by now, without its end; `receive` has the rest."""
        while self._inboxes[source].has_piece:
            data = self._take(level, source)
            assert data is not None
            yield data
            self._spare.append(memoryview(data.obj))

    def _take(self, level: int, source: int) -> memoryview | None:
        found, data = self._inboxes[source].take()
        if found != level:
            raise SystemFailure(f"task {source} sent something of level {found} on level {level}; please report this")
        return data

    def forget(self) -> None:
        """Says that all tasks have received what was sent so far."""
        for inbox in self._inboxes.values():
            inbox.shrink()

    def close(self) -> None:
        """Gives back what it holds."""
        for connection in (self._listener, *self._outgoing.values(), *self._incoming.values()):
            hang_up(connection)
        for inbox in self._inboxes.values():
            inbox.close()


class Inbox:
    """What one task has sent and this one has not asked for yet; beyond HELD_BYTES in a file without a name."""

    def __init__(self) -> None:
        self._items: deque[tuple[int, memoryview | int | None]] = deque()
        self._news = threading.Condition()
        self._held = 0
        self._file: BinaryIO | None = None
        self._end = 0
        self._sizes: deque[int] = deque()
        self.lost: Exception | None = None

    def put(self, level: int, data: memoryview | None) -> None:
        """Adds a piece of a level, or its end."""
        with self._news:
            if data is None or self._held + len(data) <= HELD_BYTES:
                self._items.append((level, data))
                self._held += 0 if data is None else len(data)
            else:
                self._items.append((level, self._spill(data)))
            self._news.notify()

    def _spill(self, data: memoryview) -> int:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="acked-", buffering=0)  # noqa: SIM115  (until `close`)
            offset = self._file.seek(self._end)
            write_all(self._file, [data])
        except OSError as error:
            raise cannot_write(Path(tempfile.gettempdir()), error) from None
        self._end += len(data)
        self._sizes.append(len(data))
        return offset

    def lose(self, error: Exception) -> None:
        """Says that nothing more will come, and why."""
        with self._news:
            self.lost = error
            self._news.notify()

    def wait(self, seconds: float) -> bool:
        """Whether there is something, after so many seconds at most."""
        with self._news:
            return bool(self._items) or (self._news.wait(seconds) and bool(self._items))

    @property
    def has_piece(self) -> bool:
        """Whether there is something that is not a level's end."""
        with self._news:
            return bool(self._items) and self._items[0][1] is not None

    def take(self) -> tuple[int, memoryview | None]:
        """The next piece and its level; None is the level's end."""
        with self._news:
            level, item = self._items.popleft()
            if isinstance(item, int):
                assert self._file is not None
                data = memoryview(bytearray(self._sizes.popleft()))
                if os.preadv(self._file.fileno(), [data], item) != len(data):
                    raise SystemFailure(f"a file in {tempfile.gettempdir()} is shorter than was written; check the disk")
                return level, data
            self._held -= 0 if item is None else len(item)
            return level, item

    def shrink(self) -> None:
        """Gives the file's room back, if nothing is in it."""
        with self._news:
            if self._file is not None and not self._sizes:
                self._file.truncate(0)
                self._end = 0

    def close(self) -> None:
        """Gives the file back."""
        if self._file is not None:
            self._file.close()
