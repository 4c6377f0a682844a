"""A broker that is none: it answers metadata and produce requests on a port of 127.0.0.1, for tests without Java."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from acked.cluster.wire.codec import frame_length

Answer = Callable[[bytes], bytes | None]
"""From a request's payload to a whole frame, or None for no answer."""


class FakeBroker:
    """Answers every frame on every connection by a function, and keeps what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[bytes] = []
        self.connections: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._server.getsockname()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for one in self.connections:
            one.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while len(head := stream.read(4)) == 4:
                    payload = stream.read(frame_length(head))
                    self.asked.append(payload)
                    reply = self.answer(payload)
                    if reply is not None:
                        connection.sendall(reply)
        except OSError:
            pass


@contextmanager
def fake_broker(answer: Answer) -> Iterator[FakeBroker]:
    broker = FakeBroker(answer)
    try:
        yield broker
    finally:
        broker.close()
