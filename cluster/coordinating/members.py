"""The members of the group, where a question has them: they come and go, and offsets.retention.minutes pass."""

from __future__ import annotations

import time
from collections.abc import Mapping

from acked.cluster.coordinating.offsets import GROUP, NOBODY
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.playing.driver import Parted
from acked.cluster.wire.apis import error_name
from acked.cluster.wire.client import Client
from acked.cluster.wire.groups import join, leave, send_join

_REBALANCE_SECONDS = 10
SETTINGS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": str(1000 * _REBALANCE_SECONDS),
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "1000",
}
"""A rebalance of a group that was empty lasts so long since its last new member; offsets are kept for the shortest time."""
RETENTION_SECONDS = 61
_SESSION_MS = 300_000
"""The longest that brokers of all releases allow, so that nobody has to send heartbeats."""
_PROTOCOL_TYPE = "consumer"
"""Of such a group a coordinator takes note of subscribed topics (KAFKA-8730)."""


class Members:
    """One member, and later others that wait for a rebalance to end."""

    def __init__(self, cluster: Cluster, seconds: float) -> None:
        self._cluster, self._seconds = cluster, seconds
        self._waiting: list[Client] = []
        self.mine = NOBODY

    def begin(self, broker: int) -> None:
        """The first member joins, and has its assignment."""
        with self._cluster.client(broker, self._seconds + _REBALANCE_SECONDS) as ask:
            self.mine = join(ask, GROUP, "", 1, _PROTOCOL_TYPE, _SESSION_MS)
        if self.mine.error:
            raise Parted(f"nobody can join the group at broker {broker}: {error_name(self.mine.error)}")

    def leave(self, broker: int) -> None:
        """The last member leaves."""
        with self._cluster.client(broker, self._seconds) as ask:
            error = leave(ask, GROUP, self.mine.member)
        if error:
            raise Parted(f"the member cannot leave: {error_name(error)}")

    def join(self, broker: int) -> None:
        """One more member joins, and waits."""
        self._waiting.append(self._cluster.client(broker, self._seconds))
        send_join(self._waiting[-1], GROUP, "", _PROTOCOL_TYPE, _SESSION_MS)

    def wait(self, broker: int, is_rebalancing: bool) -> None:
        """offsets.retention.minutes pass; a rebalance goes on as long as members join."""
        ends = time.monotonic() + RETENTION_SECONDS
        while time.monotonic() < ends:
            if is_rebalancing:
                self.join(broker)
            time.sleep(_REBALANCE_SECONDS / 2)

    def close(self) -> None:
        """Nobody waits any more."""
        for client in self._waiting:
            client.close()
