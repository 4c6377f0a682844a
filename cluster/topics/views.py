"""All that is seen of a topic at one moment, to be compared with a state of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from acked.cluster.nodes.cluster import Cluster
from acked.cluster.observe.disk import Replica
from acked.cluster.observe.zookeeper import ZooKeeperState, zookeeper_state
from acked.cluster.releases.release import Mode
from acked.cluster.wire.client import PartitionView


@dataclass(frozen=True)
class Difference:
    """Something that the model and real brokers do not agree about, with what each has."""

    what: str
    model: str
    real: str

    def __str__(self) -> str:
        return f"{self.what} is {self.real}, and in the model {self.model}"


def differing(pairs: Iterable[tuple[str, object, object]]) -> tuple[Difference, ...]:
    """Of what is compared, each with what the model has and what brokers have, that in which they differ."""
    return tuple(Difference(what, str(model), str(real)) for what, model, real in pairs if model != real)


@dataclass(frozen=True)
class TopicView:
    """The controller's truth of a partition, every replica on disk, and which brokers run. `partition` None: not created."""

    partition: PartitionView | None
    replicas: tuple[Replica, ...]
    running: tuple[int, ...]


def look_at(cluster: Cluster, topic: str) -> TopicView:
    """What is seen now. Replicas that still change, because a link lets something through, are seen as they are."""
    brokers = cluster.plan.brokers
    running = tuple(broker for broker in brokers if cluster.nodes[broker].is_running)
    return TopicView(truth(cluster, topic), tuple(cluster.replica(broker, topic) for broker in brokers), running)


def truth(cluster: Cluster, topic: str) -> PartitionView | None:
    """Leader, epoch and ISR as the controller has them; None for a topic that is not there."""
    with truths(cluster, topic) as read:
        return read()


@contextmanager
def truths(cluster: Cluster, topic: str) -> Iterator[Callable[[], PartitionView | None]]:
    """What reads the truth of a partition again and again, over one connection.

    It is in ZooKeeper, or with KRaft in the metadata that all brokers follow, from the first broker that runs.
    """
    if cluster.plan.mode is Mode.KRAFT:
        yield lambda: _metadata_view(cluster, topic)
        return
    with zookeeper_state(cluster.addresses.zookeeper) as state:
        yield lambda: _zookeeper_view(state, topic)


def _metadata_view(cluster: Cluster, topic: str) -> PartitionView | None:
    with cluster.admin() as ask:
        found = ask.metadata([topic]).topics.get(topic, {}).get(0)
        return ask.describe(topic) if found is not None and cluster.dialect.has_eligible_leaders else found


def _zookeeper_view(state: ZooKeeperState, topic: str) -> PartitionView | None:
    written = state.partition(topic)
    if written is None:
        return None
    return PartitionView(0, written.leader, state.assignment(topic), written.isr, written.leader_epoch)
