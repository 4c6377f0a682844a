"""Runs that are played one after the other, as those who measure many of them do: on one cluster as long as it does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from acked.base.errors import SystemFailure
from acked.cluster.coordinating.protocol import COORDINATORS
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.jvm import Exited
from acked.cluster.playing.play import PlayedRun, play
from acked.cluster.playing.protocol import TOPIC, PreparedRun
from acked.cluster.playing.reproduce import Reproduction, cluster_plan
from acked.cluster.topics.topic import Topic


def reproduce_each(wanted: Iterable[PreparedRun]) -> Iterator[Reproduction[Any, Any]]:
    """Plays runs one after the other, each on a topic of its own; the cluster is the same as long as it does for the next.

    What brokers log is not validated then: a topic's begin and end are within that of others.

    It does if the next needs the same nodes and settings, and if everything of this one could be cleared away. A broker may
    still end after that, of what it found when it was let go on, as old ones do: then the next has a cluster of its own.
    """
    left = deque(wanted)
    number = 0
    while left:
        plan = cluster_plan(left[0])
        with Cluster(plan) as cluster:
            is_new = True
            while left and cluster_plan(left[0]) == plan:
                prepared, number = left[0], number + 1
                try:
                    played: PlayedRun[Any, Any] = play(prepared, cluster, f"{TOPIC}{number}")
                except Exited as error:
                    if is_new or error.is_of_machine:
                        raise
                    break
                left.popleft()
                yield Reproduction(prepared, played, cluster.seconds, None)
                is_new = False
                # Neither can be cleared away.
                stays = prepared.setting.other_candidates or prepared.setting.transaction_version
                stays = stays or prepared.protocol is COORDINATORS
                if not left or stays or not clear_away(cluster, f"{TOPIC}{number}"):
                    break


def clear_away(cluster: Cluster, topic: str) -> bool:
    """Whether all brokers are back and the topic is gone."""
    try:
        for broker in cluster.plan.brokers:
            if not cluster.nodes[broker].is_running:
                cluster.restart(broker)
        cluster.await_known()
        Topic(cluster, topic).delete()
    except SystemFailure:
        return False
    return True
