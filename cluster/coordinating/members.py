"""The members of the group, where a question has them: they come and go, and offsets.retention.minutes pass."""

from __future__ import annotations

import time
from collections.abc import Mapping

from acked.cluster.coordinating.offsets import GROUP, NOBODY
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.playing.driver import Parted
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import error_name
from acked.cluster.wire.client import Client
from acked.cluster.wire.groups import join, leave, send_join
from acked.cluster.wire.transactional import COORDINATOR_AWAY

SETTINGS: Mapping[str, str] = {"offsets.retention.check.interval.ms": "1000"}
_RETENTION_SECONDS, _REBALANCE_SECONDS = 61, 100
SHORT_RETENTION: Mapping[str, str] = {
    "offsets.retention.minutes": "1", "group.initial.rebalance.delay.ms": str(1000 * _REBALANCE_SECONDS),
}  # fmt: skip
"""The shortest time; a rebalance of a group that was empty lasts longer, and in it no topic counts as subscribed."""
_SESSION_MS = 300_000
"""The longest that brokers of all releases allow, so that nobody has to send heartbeats."""
_PROTOCOL_TYPE = "consumer"
"""Of such a group a coordinator takes note of subscribed topics (KAFKA-8730)."""


class Members:
    """One member, and later one that waits for a rebalance to end."""

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
        last = [0]

        def look() -> bool:
            with self._cluster.client(broker, self._seconds) as ask:
                last[:] = [leave(ask, GROUP, self.mine.member)]
            return last[0] not in COORDINATOR_AWAY

        wait_for(look, f"the coordinator on broker {broker}", self._seconds, self._cluster.check)
        if last[0]:
            raise Parted(f"the member cannot leave: {error_name(last[0])}")

    def join(self, broker: int) -> None:
        """A member joins, and waits."""
        self._waiting.append(self._cluster.client(broker, self._seconds))
        send_join(self._waiting[-1], GROUP, "", _PROTOCOL_TYPE, _SESSION_MS)

    def wait(self) -> None:
        """offsets.retention.minutes pass."""
        time.sleep(_RETENTION_SECONDS)

    def close(self) -> None:
        """Nobody waits any more."""
        for client in self._waiting:
            client.close()
