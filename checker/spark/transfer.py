"""How what tasks find for each other gets from one to the other: files of a shared folder, or sockets.

`Transfer`, which a task sends to and receives from level by level, `FileTransfer` and `SocketTransfer`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import socket
import struct
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, BinaryIO

from acked.base.errors import SystemFailure
from acked.base.files import replace_text
from acked.base.sockets import read_exactly
from acked.checker.store.level_file import cannot_write, write_all

Wait = Callable[[Path], None]
"""Waits until a file of the meeting is there, or raises because the search is over."""


class Abandoned(Exception):
    """The driver has stopped this attempt, or is gone."""


def announce(path: Path, body: dict[str, object]) -> None:
    """A small JSON file under its name in one step; an attempt that is over has no place for it."""
    try:
        replace_text(path, json.dumps(body))
    except FileNotFoundError:
        raise Abandoned from None
    except OSError as error:
        raise cannot_write(path, error) from None


# -- files --------------------------------------------------------------------------------------------------------------


class FileTransfer:
    """Through a folder that all tasks see: a file a level and task, and one that says for whom its parts are.

    A task ends a level once, for all others.
    """

    def __init__(self, meeting: Path, worker: int, workers: int, wait_for: Wait) -> None:
        self._meeting, self._worker, self._workers, self._wait_for = meeting, worker, workers, wait_for
        self._file: IO[bytes] | None = None
        self._sent: list[list[list[int]]] = []

    def _path(self, level: int, worker: int) -> Path:
        return self._meeting / f"{level:05}-{worker}.parcels"

    def _open_level(self, level: int) -> IO[bytes]:
        if self._file is None:
            self._file = open(self._path(level, self._worker), "wb", buffering=0)  # noqa: SIM115  (until `end`)
            self._sent = [[] for _ in range(self._workers)]
        return self._file

    def send(self, level: int, other: int, data: memoryview) -> None:
        """Sends bytes to another task; they may be overwritten afterwards."""
        try:
            file = self._open_level(level)
            self._sent[other].append([file.tell(), len(data)])
            while len(data):
                data = data[file.write(data) :]
        except OSError as error:
            raise cannot_write(self._path(level, self._worker), error) from None

    def end(self, level: int, others: Sequence[int]) -> None:
        """Says to other tasks that all of a level has been sent to them."""
        try:
            self._open_level(level).close()
        except OSError as error:
            raise cannot_write(self._path(level, self._worker), error) from None
        self._file = None
        announce(self._meeting / f"sent-{level:05}-{self._worker}", {"segments": self._sent})

    def receive(self, level: int, source: int) -> Iterator[bytes]:
        """What another task sent on a level, piece by piece; waits until it has ended the level."""
        marker = self._meeting / f"sent-{level:05}-{source}"
        self._wait_for(marker)
        segments = json.loads(marker.read_bytes())["segments"][self._worker]
        if not segments:
            return
        with open(self._path(level, source), "rb", buffering=0) as file:
            for offset, size in segments:
                data = os.pread(file.fileno(), size, offset)
                if len(data) != size:
                    raise SystemFailure(f"a file in {self._meeting} is shorter than was sent; check the disk")
                yield data

    def forget(self, level: int) -> None:
        """Says that all tasks have received what was sent on a level."""
        try:
            os.unlink(self._path(level, self._worker))
        except OSError:
            pass  # It was not sent in this attempt.

    def close(self) -> None:
        """Gives back what it holds."""
        if self._file is not None:
            self._file.close()


# -- sockets ------------------------------------------------------------------------------------------------------------

HEADER = struct.Struct("<IQ")
"""Of a frame: the level, and how many bytes follow; LEVEL_ENDS of them say that there are no more of this level."""
LEVEL_ENDS = (1 << 64) - 1
GREETING = struct.Struct("<I16s")
NONCE_BYTES = 16
HANDSHAKE_SECONDS = 20.0
HELD_BYTES = 64 << 20
"""What arrives and has not been asked for is held in memory up to so many bytes, beyond that in a file of this machine: who
sends never waits for who receives, so that no circle of tasks waits for itself."""
LOST_SECONDS = 60.0
"""How long a connection may be lost before a task gives up; an executor that died ends its tasks' attempt sooner."""
LOOK_SECONDS = 0.05


class SocketTransfer:
    """Straight from task to task, over one connection for each direction, on which both have shown that they know the secret.

    What is sent is not encrypted. A task listens at the address that Spark knows its executor by, at a port that the system
    chooses; where others find it stands in the meeting. It hears from its `sources`, and from nobody else.
    """

    def __init__(
        self,
        meeting: Path,
        worker: int,
        sources: Sequence[int],
        host: str,
        secret: bytes,
        wait_for: Wait,
        look_up: Callable[[], None],
    ) -> None:
        self._meeting, self._worker, self._secret = meeting, worker, secret
        self._wait_for, self._look_up = wait_for, look_up
        self._inboxes = {source: Inbox() for source in sources}
        self._outgoing: dict[int, socket.socket] = {}
        self._incoming: dict[int, socket.socket] = {}
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._listener = socket.create_server((host, 0), family=family, backlog=len(sources) + 1)
        except OSError as error:
            raise SystemFailure(f"a task cannot listen at {host}: {error.strerror or error}") from None
        threading.Thread(target=self._accept, daemon=True).start()
        announce(meeting / f"address-{worker}", {"host": host, "port": self._listener.getsockname()[1]})

    # -- sending ----------------------------------------------------------------------------------------------------

    def send(self, level: int, other: int, data: memoryview) -> None:
        """See `FileTransfer`."""
        self._put(other, [HEADER.pack(level, len(data)), data])

    def end(self, level: int, others: Sequence[int]) -> None:
        """See `FileTransfer`."""
        for other in others:
            self._put(other, [HEADER.pack(level, LEVEL_ENDS)])

    def _put(self, other: int, parts: list[bytes | memoryview]) -> None:
        try:
            if other not in self._outgoing:
                self._outgoing[other] = self._connect(other)
            for part in parts:
                self._outgoing[other].sendall(part)
        except OSError as error:
            self._give_up(other, error)

    def _connect(self, other: int) -> socket.socket:
        path = self._meeting / f"address-{other}"
        self._wait_for(path)
        where = json.loads(path.read_bytes())
        connection = socket.create_connection((where["host"], where["port"]), HANDSHAKE_SECONDS)
        try:
            theirs, mine = read_exactly(connection, NONCE_BYTES), secrets.token_bytes(NONCE_BYTES)
            nonces = theirs + mine
            proof = self._proof(b"connects", self._worker, other, nonces)
            connection.sendall(GREETING.pack(self._worker, mine) + proof)
            answer = read_exactly(connection, len(proof))
            if not hmac.compare_digest(answer, self._proof(b"accepts", self._worker, other, nonces)):
                raise ConnectionError("another program answers there")
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            connection.close()
            raise
        return connection

    def _proof(self, role: bytes, origin: int, target: int, nonces: bytes) -> bytes:
        """What only a task of this attempt can say in this conversation."""
        return hmac.digest(self._secret, b"acked %b %d %d " % (role, origin, target) + nonces, hashlib.sha256)

    def _give_up(self, other: int, error: Exception) -> None:
        """Says what went wrong here; else waits for the attempt to be over, which a task that died ends, for so long only."""
        if isinstance(error, SystemFailure):
            raise error
        until = time.monotonic() + LOST_SECONDS
        while time.monotonic() < until:
            self._look_up()
            time.sleep(LOOK_SECONDS)
        raise SystemFailure(f"the connection to task {other} is lost: {error}; check the network between executors")

    @property
    def met(self) -> frozenset[int]:
        """The tasks to which or from which there is a connection."""
        return frozenset({*self._outgoing, *self._incoming})

    # -- receiving --------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # It is closed: the task is over.
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        source = None
        try:
            source = self._greet(connection)
            self._incoming[source] = connection
            while True:
                level, size = HEADER.unpack(read_exactly(connection, HEADER.size))
                self._inboxes[source].put(level, None if size == LEVEL_ENDS else read_exactly(connection, size))
        except (OSError, ValueError, SystemFailure) as error:
            connection.close()
            if source is not None:
                self._inboxes[source].lose(error)

    def _greet(self, connection: socket.socket) -> int:
        """Which task it is; ValueError if it does not know the secret."""
        connection.settimeout(HANDSHAKE_SECONDS)
        mine = secrets.token_bytes(NONCE_BYTES)
        connection.sendall(mine)
        source, theirs = GREETING.unpack(read_exactly(connection, GREETING.size))
        expected = self._proof(b"connects", source, self._worker, mine + theirs)
        if not hmac.compare_digest(read_exactly(connection, len(expected)), expected) or source not in self._inboxes:
            raise ValueError("a stranger")
        connection.sendall(self._proof(b"accepts", source, self._worker, mine + theirs))
        connection.settimeout(None)
        return int(source)

    def receive(self, level: int, source: int) -> Iterator[bytes]:
        """See `FileTransfer`."""
        inbox = self._inboxes[source]
        while True:
            if not inbox.wait(LOOK_SECONDS):
                self._look_up()
                if inbox.lost is not None:
                    self._give_up(source, inbox.lost)
                continue
            found, data = inbox.take()
            if found != level:
                raise SystemFailure(f"task {source} sent something of level {found} on level {level}; please report this")
            if data is None:
                return
            yield data

    def forget(self, level: int) -> None:
        """See `FileTransfer`."""
        for inbox in self._inboxes.values():
            inbox.shrink()

    def close(self) -> None:
        """See `FileTransfer`."""
        for connection in (self._listener, *self._outgoing.values(), *self._incoming.values()):
            try:
                # Or a thread that waits in it goes on to wait, in whatever has its number next.
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # The other end was faster.
            connection.close()
        for inbox in self._inboxes.values():
            inbox.close()


Transfer = FileTransfer | SocketTransfer
"""One task's way to others. A level's data arrive in the order in which they were sent; none is lost or doubled."""


class Inbox:
    """What one task has sent and this one has not asked for yet; beyond HELD_BYTES in a file without a name."""

    def __init__(self) -> None:
        self._items: deque[tuple[int, bytes | int | None]] = deque()
        self._news = threading.Condition()
        self._held = 0
        self._file: BinaryIO | None = None
        self._end = 0
        self._sizes: deque[int] = deque()
        self.lost: Exception | None = None

    def put(self, level: int, data: bytes | None) -> None:
        """Adds a piece of a level, or its end."""
        with self._news:
            if data is None or self._held + len(data) <= HELD_BYTES:
                self._items.append((level, data))
                self._held += 0 if data is None else len(data)
            else:
                self._items.append((level, self._spill(data)))
            self._news.notify()

    def _spill(self, data: bytes) -> int:
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

    def take(self) -> tuple[int, bytes | None]:
        """The next piece and its level; None is the level's end."""
        with self._news:
            level, item = self._items.popleft()
            if isinstance(item, int):
                assert self._file is not None
                data = os.pread(self._file.fileno(), size := self._sizes.popleft(), item)
                if len(data) != size:
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
