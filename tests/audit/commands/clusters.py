"""A running cluster as it describes itself, without anything that tests need: benchmarks read it, too."""

from __future__ import annotations

from acked.audit.clusters.live import LiveBroker, LiveCluster, LivePartition, LiveTopic, LiveValue


def cluster(topics: int) -> LiveCluster:
    """Three brokers of 4.1 with KRaft, and topics in ten groups: by min.insync.replicas, replicas, unclean elections."""
    values = (LiveValue("min.insync.replicas", "1", "static"), LiveValue("process.roles", "broker,controller", "static"))
    brokers = tuple(LiveBroker(number, rack, values, newest_level=27) for number, rack in ((1, "a"), (2, "b"), (3, "a")))
    kinds = [(least, factor, unclean) for factor in (2, 3) for least in range(1, factor + 1) for unclean in (False, True)]
    found = []
    for at in range(topics):
        least, factor, unclean = kinds[at % 10]
        own = [LiveValue("min.insync.replicas", str(least), "dynamic")]
        own += [LiveValue("unclean.leader.election.enable", "true", "dynamic")] if unclean else []
        replicas = (1, 2, 3)[:factor]
        found.append(LiveTopic(f"topic-{at}", (LivePartition(0, replicas, replicas),), tuple(own)))
    features = {"metadata.version": 27, "eligible.leader.replicas.version": 1}
    return LiveCluster("kafka:9092", brokers, tuple(found), features)
