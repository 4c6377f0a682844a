"""A task's seat at the meeting of its attempt: its connection to the driver, by which it hears when to begin and to stop.

`Seat`, and `RemoteFile`, a file of the driver's run directory where the task does not see that. The other end is `Meeting`.
"""

from __future__ import annotations

import io
import json
import os
import select
import struct
from collections import deque
from collections.abc import Mapping
from typing import Any

from acked.base.sockets import call, read_exactly

FRAME = struct.Struct("<II")
"""Of a message: the bytes of its JSON, and the bytes of data that follow that."""
DRIVER = (1 << 32) - 1
"""The driver's number, where tasks have theirs."""
READ_BYTES = 1 << 20
"""As much of a file is asked for at once."""
LOOK_SECONDS = 0.5


class Abandoned(Exception):
    """The driver has stopped this attempt."""


class Enough(Exception):
    """The driver goes no further, and wants the levels up to `last` in files that were not written yet."""

    def __init__(self, last: int) -> None:
        super().__init__(last)
        self.last = last


class Alone(RuntimeError):
    """The task cannot go on, but another attempt may: it must fail, not end.

    A barrier task that ends well leaves the others waiting for what it will never send.
    """


class Orphaned(Alone):
    """The process that forked this worker is gone, and nothing would end it."""


def frame(body: Mapping[str, object], data: bytes | memoryview = b"") -> bytes:
    """A message's bytes before its data."""
    text = json.dumps(body).encode()
    return FRAME.pack(len(text), len(data)) + text


class Seat:
    """One task's connection to the driver; `Alone` if there is none, or if it is lost.

    `place` is the driver's host and port, `host` the executor's name in sentences.
    """

    def __init__(self, place: tuple[str, int], secret: bytes, worker: int, host: str) -> None:
        self._parent = os.getppid()
        self._host = host
        self._heard: deque[dict[str, Any]] = deque()
        try:
            self._connection = call(place, secret, worker, DRIVER)
        except OSError as error:
            raise Alone(
                f"the executor on {host} cannot reach the driver at {place[0]}:{place[1]} ({error.strerror or error}); open "
                "this port, fixed with --conf spark.acked.port=PORT, or give --conf spark.driver.host=HOST an address that "
                "executors reach"
            ) from None

    def say(self, kind: str, body: Mapping[str, object] | None = None, data: bytes | memoryview = b"") -> None:
        """Sends a message."""
        try:
            self._connection.sendall(frame({"kind": kind, **(body or {})}, data))
            if len(data):
                self._connection.sendall(data)
        except OSError as error:
            self.look_up()  # The driver may have said that it is over.
            raise self._lost(error) from None

    def look_up(self) -> None:
        """`Abandoned` or `Enough` if the driver has ended the search; what else it says is heard when it is waited for."""
        if select.select([self._connection], [], [], 0)[0]:
            self._heard.append(self._receive()[0])
        if os.getppid() != self._parent:
            raise Orphaned(f"the Python daemon of the executor on {self._host} died")

    def wait_for(self, kind: str) -> dict[str, Any]:
        """The driver's next message, which is of this kind."""
        while not self._heard:
            select.select([self._connection], [], [], LOOK_SECONDS)
            self.look_up()
        body = self._heard.popleft()
        assert body["kind"] == kind, f"the driver says {body['kind']} to who waits for {kind}"
        return body

    def ask(self, kind: str, body: Mapping[str, object] | None = None) -> bytes:
        """The data with which the driver answers, while it says nothing else."""
        self.say(kind, body)
        return self._receive()[1]

    def _receive(self) -> tuple[dict[str, Any], bytes]:
        try:
            length, size = FRAME.unpack(read_exactly(self._connection, FRAME.size))
            body: dict[str, Any] = json.loads(read_exactly(self._connection, length))
            data = read_exactly(self._connection, size)
        except OSError as error:
            raise self._lost(error) from None
        if body["kind"] == "stop":
            raise Abandoned
        if body["kind"] == "enough":
            raise Enough(body["last"])
        return body, data

    def _lost(self, error: OSError) -> Alone:
        return Alone(f"the executor on {self._host} has lost its connection to the driver: {error.strerror or error}")

    def close(self) -> None:
        """Leaves the meeting."""
        self._connection.close()


class RemoteFile(io.RawIOBase):
    """A level file that the driver has: to be read from any place, or to be written from its beginning on."""

    def __init__(self, seat: Seat, name: str, size: int = 0) -> None:
        self._seat, self._name, self._size, self._at = seat, name, size, 0

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def seekable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """See `io.RawIOBase`."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """See `io.RawIOBase`."""
        view = memoryview(buffer).cast("B")
        piece = {"name": self._name, "offset": self._at, "size": min(len(view), READ_BYTES)}
        data = self._seat.ask("read", piece)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def write(self, data: Any) -> int:
        """See `io.RawIOBase`."""
        self._seat.say("write", {"name": self._name}, data)
        return len(data)
