"""What ZooKeeper knows of a partition, and the paths by which a controller is asked for another leader (to Kafka 2.x)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.cluster.waiting import wait_for

_REASSIGN, _ELECT = "/admin/reassign_partitions", "/admin/preferred_replica_election"
CONTROLLER_NODE, CONTROLLER_EPOCH = "/controller", "/controller_epoch"
"""Who is the controller, and the newest controller epoch."""


def state_node(topic: str) -> str:
    """Where a partition's leader and ISR are."""
    return f"/brokers/topics/{topic}/partitions/0/state"


@frozen
class PartitionInZooKeeper:
    """The truth about a partition. Leader -1: none."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int


class ZooKeeperState:
    """A connection of the driver's own to ZooKeeper."""

    def __init__(self, client: KazooClient) -> None:
        self._client = client

    def partition(self, topic: str) -> PartitionInZooKeeper | None:
        """Leader, epoch and ISR; None if the controller has not written them yet."""
        found = self._read(state_node(topic))
        if found is None:
            return None
        return PartitionInZooKeeper(found["leader"], found["leader_epoch"], tuple(found["isr"]), found["controller_epoch"])

    def assignment(self, topic: str) -> tuple[int, ...]:
        """The replicas in order of preference; empty for a topic that is not there."""
        found = self._read(f"/brokers/topics/{topic}")
        return () if found is None else tuple(found["partitions"]["0"])

    def brokers(self) -> tuple[int, ...]:
        """The brokers that are registered."""
        return tuple(sorted(int(name) for name in self._client.get_children("/brokers/ids")))

    def controller(self) -> int | None:
        """The broker that is the controller; None while nobody is."""
        found = self._read(CONTROLLER_NODE)
        return None if found is None else int(found["brokerid"])

    def controller_epoch(self) -> int:
        """The newest controller epoch."""
        text, _ = self._client.get(CONTROLLER_EPOCH)
        return int(text)

    def delete_controller(self) -> None:
        """Nobody is the controller any more: how operators make another broker the controller."""
        self._client.delete(CONTROLLER_NODE)

    def reorder(self, topic: str, order: Sequence[int], seconds: float) -> None:
        """Gives a topic's replicas another order, by a reassignment, which raises the leader epoch once."""
        wanted = list(order)
        if list(self.assignment(topic)) != wanted:
            part = {"topic": topic, "partition": 0, "replicas": wanted}
            self._client.create(_REASSIGN, json.dumps({"version": 1, "partitions": [part]}).encode())
            wait_for(
                lambda: not self._client.exists(_REASSIGN) and list(self.assignment(topic)) == wanted,
                f"the reassignment of {topic} to {wanted}", seconds,
            )  # fmt: skip

    def move_leadership(self, topic: str, order: Sequence[int], seconds: float) -> None:
        """Makes the first of `order` the leader: a reassignment to this order, then the election of the preferred replica.

        Both are written as the tools of Kafka 2 do; the reassignment raises the leader epoch once by itself.
        """
        self.reorder(topic, order, seconds)
        state, wanted = self.partition(topic), list(order)
        if state is None or state.leader != wanted[0]:
            part = {"topic": topic, "partition": 0}
            self._client.create(_ELECT, json.dumps({"version": 1, "partitions": [part]}).encode())
        wait_for(
            lambda: not self._client.exists(_ELECT) and (self.partition(topic) or _NOBODY).leader == wanted[0],
            f"the election of broker {wanted[0]} for {topic}", seconds,
        )  # fmt: skip

    def _read(self, path: str) -> Any:
        try:
            text, _ = self._client.get(path)
        except NoNodeError:
            return None
        return json.loads(text)


_NOBODY = PartitionInZooKeeper(-1, -1, (), -1)


@contextmanager
def zookeeper_state(port: int) -> Iterator[ZooKeeperState]:
    """A connection to the ZooKeeper server on a port of 127.0.0.1."""
    client = KazooClient(f"127.0.0.1:{port}", timeout=30)
    try:
        client.start(15)
        yield ZooKeeperState(client)
    except (KazooException, KazooTimeoutError) as error:
        raise SystemFailure(f"ZooKeeper does not answer: {error!r}") from None
    finally:
        client.stop()
        client.close()
