"""What differs between a state of the model and what is seen of brokers."""

from __future__ import annotations

from dataclasses import replace

from acked.cluster.observe.disk import Replica
from acked.cluster.playing.script import State
from acked.cluster.replicating.compare import differences
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record
from tests.cluster.playing.runs import question, run


def state(*labels: str) -> State:
    asked = question("3.9", "kraft", replicas=2)
    schema = asked.instance.schema
    return schema.decode(schema.unpack(run(asked, labels).states[-1]))


SENT = "Produce(leader=0, record=0, answered=True)"
ELECTED = ("Crash(broker=0, log_end=1, checkpoint=0)", "ElectLeader(broker=1)")


def seen(epoch: int = 0, record_epoch: int | None = 0) -> TopicView:
    first = Replica(0, (Record(0, record_epoch, b"r0"),), None, 0)
    return TopicView(PartitionView(0, 0, (0, 1), (0, 1), epoch), (first, Replica(1, (), None, 0)), (0, 1))


def said(state: State, found: TopicView) -> list[str]:
    return [one.what for one in differences(state, found)]


def test_nothing_differs_where_brokers_have_what_the_model_says() -> None:
    assert said(state(SENT), seen()) == []


def test_logs_high_watermarks_leader_isr_and_processes_are_compared() -> None:
    found = seen()
    assert found.partition is not None
    other = replace(found.partition, leader=1, isr=(1,))
    second = Replica(1, (Record(0, 0, b"r0"),), None, 1)
    changed = TopicView(other, (found.replicas[0], second), (0,))
    assert said(state(SENT), changed) == ["the leader", "the ISR", "broker 1's log", "broker 1's high watermark", "broker 1"]
    assert "nobody" in str(differences(state(SENT), replace(found, partition=replace(other, leader=-1)))[0])


def test_the_set_of_eligible_leaders_is_compared_but_for_controls() -> None:
    asked = question("4.1", "kraft", replicas=2, min_insync_replicas=2)
    schema = asked.instance.schema
    after = schema.decode(schema.unpack(run(asked, ["Crash(broker=1, log_end=0, checkpoint=0)"]).states[-1]))
    replicas = (Replica(0, (), None, 0), Replica(1, (), None, 0))
    found = TopicView(PartitionView(0, 0, (0, 1), (0,), 0, eligible=()), replicas, (0,))
    assert said(after, found) == ["the set of eligible leaders"]
    assert differences(after, found, with_eligible=False) == ()


def test_leader_epochs_are_compared_by_rank() -> None:
    after = state(SENT, *ELECTED)
    down = PartitionView(0, 1, (0, 1), (1,), 5)
    found = TopicView(down, seen(record_epoch=2).replicas, (1,))
    assert said(after, found) == []
    assert said(after, replace(found, partition=replace(down, epoch=2))) == ["the rank of the leader epoch"]


def test_without_epochs_in_records_none_are_compared() -> None:
    down = PartitionView(0, 1, (0, 1), (1,), 1)
    assert said(state(SENT, *ELECTED), TopicView(down, seen(record_epoch=None).replicas, (1,))) == []


def test_a_partition_that_is_not_there_differs() -> None:
    replicas = (Replica(0, (), None, None), Replica(1, (), None, None))
    assert said(state(), TopicView(None, replicas, (0, 1))) == ["the partition"]
