"""A removed replica stays an eligible leader (`specs/recoverable/eligible-leader-removed.toml`), on Kafka's own class and
on brokers.

The mended class is made from the release's own: `maybePopulateTargetElr` keeps target replicas only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import reassign
from acked.cluster.nodes.plan import make_plan
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import wait_for
from acked.cluster.wire.client import PartitionView
from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.java import SOURCES, compiled, kafka, mended, mended_home, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

RED = """\
moved: replicas [0], ISR [0], ELR [1], last known leader [], leader 0
killed: replicas [0], ISR [], ELR [1], last known leader [0], leader -1
back: replicas [0], ISR [], ELR [1], last known leader [0], leader -1
"""
GREEN = """\
moved: replicas [0], ISR [0], ELR [], last known leader [], leader 0
killed: replicas [0], ISR [], ELR [], last known leader [0], leader -1
back: replicas [0], ISR [0], ELR [], last known leader [], leader 0
"""


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
def test_a_removed_replica_keeps_the_last_known_leader_from_being_elected_and_with_the_mended_class_does_not(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars, classes = kafka(version), tmp_path / "classes"
    classes.mkdir()
    compiled(jars.class_path, [SOURCES / "RemovedStaysEligible.java"], classes)
    red = ran((classes, jars.class_path), "RemovedStaysEligible")
    assert red.stdout == RED
    assert "AssertionError: the ELR has a broker that is no replica" in red.stderr
    green = ran((classes, mended("PartitionChangeBuilder", jars, tmp_path), jars.class_path), "RemovedStaysEligible")
    assert green.stdout == GREEN
    assert green.returncode == 0, green.stderr


TOPIC, SECONDS = "reduced", 120.0


def described(cluster: Cluster) -> PartitionView:
    with cluster.admin() as ask:
        return ask.describe(TOPIC)


def reduced_killed_and_back(version: str, home: Path | None) -> tuple[PartitionView, PartitionView]:
    """The partition as the controller has it, reduced to broker 0, and when that was killed and leads another one again."""
    with Cluster(make_plan(version, brokers=(0, 1), home=home, has_witness=True)) as cluster:
        Topic(cluster, TOPIC).create([0, 1], {"min.insync.replicas": "2"})
        other = Topic(cluster, "other")
        other.create([0])
        reassign(cluster, TOPIC, [0])
        wait_for(lambda: described(cluster).replicas == (0,), "the end of the move", SECONDS)
        reduced = described(cluster)
        cluster.kill(0)
        cluster.notice(0)
        wait_for(lambda: described(cluster).leader == -1, "a partition without a leader", SECONDS)
        cluster.restart(0)
        other.await_leader(0)  # Its last known leader, too; the controller elects at once wherever it would.
        return reduced, described(cluster)


def test_brokers_leave_a_reduced_partition_without_a_leader_and_with_the_mended_class_elect_the_last_known_one(
    users_cache: None, tmp_path: Path
) -> None:
    version = "4.4.0"
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    reduced, back = reduced_killed_and_back(version, None)
    print(reduced, back)
    assert (reduced.leader, reduced.isr, reduced.eligible) == (0, (0,), (1,))
    assert (back.leader, back.isr, back.eligible, back.last_known) == (-1, (), (1,), (0,))
    home = mended_home("PartitionChangeBuilder", version, tmp_path)
    reduced, back = reduced_killed_and_back(version, home)
    print(reduced, back)
    assert (reduced.leader, reduced.isr, reduced.eligible) == (0, (0,), ())
    assert (back.leader, back.isr) == (0, (0,))


def added_again_while_down(version: str, home: Path | None) -> tuple[PartitionView, PartitionView, tuple[str, ...]]:
    """The partition when broker 1 may lead and when all are up again, and what the brokers' logs have then.

    The partition is reduced to broker 0, which acknowledges r0; 1 and 0 are shut down in order, 1 is added again and starts
    first, 0 follows when 1 leads another partition again.
    """
    with Cluster(make_plan(version, brokers=(0, 1), home=home, has_witness=True)) as cluster:
        topic, other = Topic(cluster, TOPIC), Topic(cluster, "other")
        topic.create([0, 1], {"min.insync.replicas": "2"})
        other.create([1])
        reassign(cluster, TOPIC, [0])
        wait_for(lambda: described(cluster).replicas == (0,), "the end of the move", SECONDS)
        with cluster.client(0) as ask:
            assert ask.produce(TOPIC, b"r0").error == 0
        cluster.shut_down(1)
        cluster.shut_down(0)
        wait_for(lambda: described(cluster).leader == -1, "a partition without a leader", SECONDS)
        print("both down:", described(cluster))
        reassign(cluster, TOPIC, [0, 1])
        print("added again:", described(cluster))
        cluster.restart(1)
        other.await_leader(1)
        alone = described(cluster)
        print("broker 1 is up:", alone)
        cluster.restart(0)
        topic.await_leader()
        topic.await_isr([0, 1])
        return alone, described(cluster), tuple(value for broker in (0, 1) for value in topic.replica(broker).values)


def test_a_removed_replica_that_is_added_again_while_down_is_elected_without_the_record_and_with_the_mended_class_is_not(
    users_cache: None, tmp_path: Path
) -> None:
    version = "4.4.0"
    real_plan(version, {})
    alone, together, values = added_again_while_down(version, None)
    print(alone, together, values)
    assert (alone.leader, alone.isr) == (1, (1,))
    assert values == ()  # r0 was acknowledged, every broker was shut down in order, and it is on no disk.
    home = mended_home("PartitionChangeBuilder", version, tmp_path)
    alone, together, values = added_again_while_down(version, home)
    print(alone, together, values)
    assert (alone.leader, alone.isr) == (-1, ())
    assert values == ("r0", "r0")
