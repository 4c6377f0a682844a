"""Moving leadership without a crash, by the means that the release has, and the start of a reassignment."""

from __future__ import annotations

from collections.abc import Sequence

from acked.base.errors import SystemFailure
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.observe.zookeeper import zookeeper_state
from acked.cluster.releases.release import Mode, Release
from acked.cluster.waiting import wait_for

MOVES_BY_REQUESTS = (2, 4)
"""Since then a controller is asked by requests (KIP-455, KIP-460); before, by paths in ZooKeeper."""
_ELECTION_NOT_NEEDED = 84


def moves_only_in_sync(chosen: Release, mode: Mode) -> bool:
    """Whether leadership is moved by a reassignment in ZooKeeper, which waits until all replicas are in sync."""
    return mode is Mode.ZOOKEEPER and chosen.number < MOVES_BY_REQUESTS


def move_leadership(cluster: Cluster, topic: str, order: Sequence[int], seconds: float, partition: int = 0) -> None:
    """Makes the first of `order`, all replicas of the topic, the leader; returns when the controller has decided so.

    Brokers hear of it after that, when their links let them. The new order raises the leader epoch once by itself.
    """
    if moves_only_in_sync(cluster.plan.release, cluster.plan.mode):
        with zookeeper_state(cluster.addresses.zookeeper) as state:
            state.move_leadership(topic, order, seconds)
        return
    reassign(cluster, topic, order, partition)

    def is_reordered() -> bool:
        with cluster.admin() as ask:
            view = ask.partition(topic, partition)
        return view is not None and view.replicas == tuple(order)

    wait_for(is_reordered, f"the order {list(order)} of {topic}", seconds)
    with cluster.admin() as ask:
        error = ask.elect_preferred(topic, partition)
    if error not in (0, _ELECTION_NOT_NEEDED):
        raise SystemFailure(f"the controller does not elect broker {order[0]} for {topic}: error {error}")


def reassign(cluster: Cluster, topic: str, replicas: Sequence[int], partition: int = 0) -> None:
    """Asks the controller for other replicas, or for another order of them; it may complete that at once, or later."""
    with cluster.admin() as ask:
        error = ask.reassign(topic, replicas, partition)
    if error:
        raise SystemFailure(f"the controller does not take the replicas {list(replicas)} of {topic}: error {error}")
