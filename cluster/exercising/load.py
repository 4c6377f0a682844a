"""What writes while brokers are disturbed: one producer that goes on after every error, and what it was acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from acked.base.errors import SystemFailure
from acked.cluster.wire.client import ALL_REPLICAS, BrokerGone, Client

_ANSWER_SECONDS = 5.0
"""After so long the producer takes a request for lost and asks who leads."""


class Load:
    """A thread that sends records one a request, with acks=all; a context manager."""

    def __init__(
        self, topic: str, rate: float, connect: Callable[[int, float], Client], leader: Callable[[], int | None]
    ) -> None:
        """`rate` in requests a second; `connect` opens a connection to a broker with a timeout, `leader` looks who leads."""
        self.topic, self._pause = topic, 1.0 / rate
        self._connect, self._leader = connect, leader
        self.sent = 0
        """Requests that were sent."""
        self.acknowledged: dict[int, bytes] = {}
        """What was acknowledged, by its offset."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Returns when nothing more is sent."""
        self._over.set()
        self._thread.join(3 * _ANSWER_SECONDS)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                leader = self._leader()
                if leader is not None:
                    with self._connect(leader, _ANSWER_SECONDS) as client:
                        self._send_to(client)
            except SystemFailure:
                pass  # The broker has gone; another one leads soon.
            self._over.wait(0.1)

    def _send_to(self, client: Client) -> None:
        """Sends until the broker refuses, which it does when it does not lead any more."""
        while not self._over.wait(self._pause):
            value = b"record %d" % self.sent
            self.sent += 1
            answer = client.produce(self.topic, value, ALL_REPLICAS, int(1000 * _ANSWER_SECONDS))
            if answer.error:
                return
            self.acknowledged[answer.offset] = value


def first_leader(clients: Callable[[int, float], Client], brokers: tuple[int, ...], topic: str) -> int | None:
    """Who leads the topic's partition, as the first broker says that answers; None if nobody does."""
    for broker in brokers:
        try:
            with clients(broker, 2.0) as client:
                view = client.metadata([topic]).topics.get(topic, {}).get(0)
        except BrokerGone:
            continue
        if view is not None and view.leader in brokers:
            return view.leader
    return None
