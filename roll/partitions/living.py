"""What a running cluster says of its partitions and controllers."""

from __future__ import annotations

from acked.audit.clusters.live import NOT_RUNNING, LiveCluster, LivePartition, LiveTopic
from acked.roll.partitions.now import ClusterNow, PartitionNow


def cluster_now(cluster: LiveCluster) -> ClusterNow:
    """The partitions as they are, of brokers that were asked with reassignments."""
    return ClusterNow(
        tuple(_partition(cluster, topic, partition) for topic in cluster.topics for partition in topic.partitions),
        frozenset(broker.number for broker in cluster.brokers if broker.failure != NOT_RUNNING),
        cluster.quorum,
        _unread(cluster),
    )


def _unread(cluster: LiveCluster) -> str:
    if not cluster.are_moves_known:
        return "which partitions are being moved was not read"
    hidden = next((topic for topic in cluster.topics if not topic.partitions), None)
    return "" if hidden is None else f"the partitions of topic {hidden.name} were not read ({hidden.failure})"


def _partition(cluster: LiveCluster, topic: LiveTopic, partition: LivePartition) -> PartitionNow:
    return PartitionNow(
        topic.name, partition.number, partition.replicas, partition.leader, partition.isr,
        partition.eligible, partition.led_last, partition.adding, partition.removing,
        f"{cluster.address}, topic {topic.name}",
    )  # fmt: skip
