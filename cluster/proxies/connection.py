"""One proxied connection: two sockets, frames in both directions, each direction in order."""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from collections.abc import Callable
from typing import cast

from acked.cluster.proxies.frame import Frame, Link, LinkKind, Phase
from acked.cluster.proxies.gate import FrameVerdict, Gate
from acked.cluster.wire.codec import Unreadable, add_length, frame_length, request_head, response_correlation


class _Side(asyncio.Protocol):
    """One socket: cuts what it receives into frames."""

    def __init__(self, received: Callable[[bytes], None], lost: Callable[[], None]) -> None:
        self._received, self._lost = received, lost
        self._buffer = bytearray()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            while len(self._buffer) >= 4:
                end = 4 + frame_length(bytes(self._buffer[:4]))
                if len(self._buffer) < end:
                    return
                payload = bytes(self._buffer[4:end])
                del self._buffer[:end]
                self._received(payload)
        except Unreadable:  # Not Kafka's protocol: nothing that follows would be understood.
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        self._lost()

    def write(self, payload: bytes) -> None:
        if self.transport is not None:
            self.transport.write(add_length(payload))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()


class Connection:
    """Lives in the network's loop; nothing here may be called from another thread.

    `arrives` is told of a frame at the head of its direction, and says which gate holds it, `ends` of the connection's end.
    """

    def __init__(
        self, number: int, link: Link, arrives: Callable[[Frame], Gate | None], ends: Callable[[], object]
    ) -> None:
        self.number, self.link, self._arrives, self._ends = number, link, arrives, ends
        self.near = _Side(self._take_request, self._source_lost)
        self.far = _Side(self._take_response, self.close)
        self._asked: dict[int, tuple[int, int]] = {}
        self._greeted = False
        self._is_connected, self._is_closed = False, False
        self._waiting: dict[Phase, deque[Frame]] = {phase: deque() for phase in Phase}
        self._gates: dict[Phase, Gate | None] = dict.fromkeys(Phase)

    async def connect(self) -> None:
        """Opens the way to the target; without one the source is turned away."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self.far, *self.link.forward)
        except OSError:
            self.close()
            return
        self._is_connected = True
        if self._is_closed:
            self.far.close()
        self._advance(Phase.REQUEST)

    def decide(self, frame: Frame, verdict: FrameVerdict, payload: bytes = b"") -> None:
        """What becomes of the frame that waits at the head of its direction; `payload` is what answers a request instead."""
        queue = self._waiting[frame.phase]
        if not queue or queue[0] is not frame:
            return
        queue.popleft()
        self._gates[frame.phase] = None
        if verdict is FrameVerdict.CLOSE:
            self.close()
            return
        if verdict is FrameVerdict.PASS:
            self._forward(frame)
        elif verdict is FrameVerdict.ANSWER:
            self._asked.pop(frame.correlation, None)
            self.near.write(payload)
        self._advance(frame.phase)

    def send_to_target(self, raw: bytes) -> bool:
        """Puts bytes of our own on the way to the target; whether there is one."""
        if self.far.transport is None:
            return False
        self.far.transport.write(raw)
        return True

    def close(self) -> None:
        """Breaks the connection at both ends; what was held on it has gone."""
        if self._is_closed:
            return
        self._is_closed = True
        self.near.close()
        self.far.close()
        for phase in Phase:
            gate, queue = self._gates[phase], self._waiting[phase]
            if gate is not None and queue:
                gate.withdraw(queue[0])
            queue.clear()
        self._ends()

    def _source_lost(self) -> None:
        # The session of a broker that was killed lives on in ZooKeeper until it is ended on this connection, or expires.
        if self.link.kind is LinkKind.KAFKA or not self._is_connected:
            self.close()

    def _take_request(self, payload: bytes) -> None:
        self._waiting[Phase.REQUEST].append(self._request(payload))
        if self._is_connected:
            self._advance(Phase.REQUEST)

    def _take_response(self, payload: bytes) -> None:
        self._waiting[Phase.RESPONSE].append(self._response(payload))
        self._advance(Phase.RESPONSE)

    def _advance(self, phase: Phase) -> None:
        """Forwards frames until one is held."""
        queue = self._waiting[phase]
        while queue and self._gates[phase] is None:
            gate = self._arrives(queue[0])
            if gate is not None:
                self._gates[phase] = gate
                return
            self._forward(queue.popleft())

    def _forward(self, frame: Frame) -> None:
        (self.far if frame.phase is Phase.REQUEST else self.near).write(frame.payload)

    def _request(self, payload: bytes) -> Frame:
        api: int | None = None
        version, correlation = 0, 0
        if self.link.kind is LinkKind.KAFKA:
            head = request_head(payload)
            api, version, correlation = head.api, head.version, head.correlation
            self._asked[correlation] = (api, version)
        elif self._greeted and len(payload) >= 8:
            correlation, api = struct.unpack_from(">ii", payload)
        self._greeted = True
        return Frame(self.link, self.number, Phase.REQUEST, api, version, correlation, payload)

    def _response(self, payload: bytes) -> Frame:
        api: int | None = None
        version, correlation = 0, 0
        if self.link.kind is LinkKind.KAFKA:
            correlation = response_correlation(payload)
            api, version = self._asked.pop(correlation, (None, 0))
        return Frame(self.link, self.number, Phase.RESPONSE, api, version, correlation, payload)
