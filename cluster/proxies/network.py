"""All proxies of a cluster, in a thread of their own, and the gates on them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from acked.base.errors import SystemFailure
from acked.cluster.proxies.connection import Connection
from acked.cluster.proxies.frame import Frame, Link, LinkKind, Phase, close_session
from acked.cluster.proxies.gate import FrameVerdict, Gate, Match, Predicate
from acked.cluster.waiting import wait_for

T = TypeVar("T")
_ANSWER_SECONDS = 10.0


class Network:
    """Listens on links, forwards frames, and lets gates hold them. A context manager; nothing listens after it."""

    def __init__(self) -> None:
        self.observers: list[Callable[[Frame], None]] = []
        """Called with every frame, in the network's thread."""
        self._gates: list[Gate] = []
        self._gates_lock = threading.Lock()
        self._connections: dict[int, Connection] = {}
        self._servers: list[asyncio.Server] = []
        self._numbers = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def listen(self, link: Link) -> None:
        """Opens a link; an OSError if its address is taken or is not one of this machine."""

        async def serve() -> None:
            loop = asyncio.get_running_loop()
            self._servers.append(await loop.create_server(partial(self._accept, link), *link.listen))

        self._run(serve())

    def hold(self, source: int | None = None, target: int | None = None, api: int | Collection[int] | None = None,
             phase: Phase = Phase.REQUEST, predicate: Predicate | None = None) -> Gate:  # fmt: skip
        """A gate that from now on holds what matches. What is on its way already is not held."""
        keys = frozenset({api}) if isinstance(api, int) else None if api is None else frozenset(api)
        gate = Gate(Match(source, target, keys, phase, predicate), self._decide, self._forget)
        with self._gates_lock:
            self._gates.append(gate)
        return gate

    def lift(self) -> None:
        """Everything that waits goes on, and nothing waits any more."""
        for gate in self.gates:
            gate.lift()

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates that were made and not lifted, the oldest first, which is asked first."""
        with self._gates_lock:
            return tuple(self._gates)

    def reset(self, source: int | None = None, target: int | None = None, but: LinkKind | None = None) -> None:
        """Breaks the connections from a node, or to one; those of a kind are left alone."""

        async def go() -> None:
            for connection in list(self._connections.values()):
                link = connection.link
                if source in (None, link.source) and target in (None, link.target) and link.kind is not but:
                    connection.close()

        self._run(go())

    def end_sessions(self, source: int) -> None:
        """Ends a node's ZooKeeper sessions at once, as their expiry would; returns when ZooKeeper has done it."""
        ended: list[Connection] = []

        async def go() -> None:
            for connection in list(self._connections.values()):
                if connection.link.source == source and connection.link.kind is LinkKind.ZOOKEEPER:
                    if connection.send_to_target(close_session()):
                        ended.append(connection)
                    else:
                        connection.close()

        async def gone() -> bool:
            return not any(connection.number in self._connections for connection in ended)

        self._run(go())
        wait_for(lambda: self._run(gone()), f"the end of node {source}'s ZooKeeper session", _ANSWER_SECONDS)

    def close(self) -> None:
        """Stops listening and breaks everything."""
        if not self._thread.is_alive():
            return

        async def stop() -> None:
            for server in self._servers:
                server.close()
            for connection in list(self._connections.values()):
                connection.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.sleep(0)

        self._run(stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # -- in the network's thread ------------------------------------------------------------------------------------------

    def _note_arrival(self, frame: Frame) -> Gate | None:
        """Notes a frame at the head of its direction; the gate that holds it, if one does."""
        for observer in self.observers:
            observer(frame)
        return next((gate for gate in self.gates if gate.offer(frame)), None)

    def _accept(self, link: Link) -> asyncio.Protocol:
        self._numbers += 1
        forget = partial(self._connections.pop, self._numbers, None)
        connection = Connection(self._numbers, link, self._note_arrival, forget)
        self._connections[connection.number] = connection
        task = self._loop.create_task(connection.connect())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return connection.near

    # -- in the driver's --------------------------------------------------------------------------------------------------

    def _decide(self, frame: Frame, verdict: FrameVerdict, payload: bytes) -> None:
        def go() -> None:
            connection = self._connections.get(frame.connection)
            if connection is not None:
                connection.decide(frame, verdict, payload)

        self._loop.call_soon_threadsafe(go)

    def _forget(self, gate: Gate) -> None:
        with self._gates_lock:
            if gate in self._gates:
                self._gates.remove(gate)

    def _run(self, work: Coroutine[object, object, T]) -> T:
        if not self._thread.is_alive():
            work.close()
            raise SystemFailure("the proxies have stopped")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_ANSWER_SECONDS)
