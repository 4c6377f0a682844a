"""Plans of reassignment: what is read, what is refused, and which moves are alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.audit.clusters.live import LiveBroker, LiveCluster, LivePartition, LiveTopic, live_entries
from acked.audit.decision.gather import recognise
from acked.audit.formats.listings import described_entries
from acked.audit.moves.plan import ReassignmentPlan, read_plan
from acked.audit.moves.shapes import MoveShape, add_assignment, moves_of
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.cluster.vocabulary.note import Assigned

DESCRIBED = """\
Topic: orders	PartitionCount: 2	ReplicationFactor: 3	Configs: min.insync.replicas=2
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1,2,3	Isr: 1,2,3	Adding Replicas: 	Removing Replicas:
	Topic: orders	Partition: 1	Leader: 2	Replicas: 2,3,1	Isr: 2,3,1
Topic: logs	PartitionCount: 1	ReplicationFactor: 2	Configs: min.insync.replicas=1
	Topic: logs	Partition: 0	Leader: 1	Replicas: 1,2	Isr: 1
"""


def plan(*moves: tuple[str, int, list[int]], **more: object) -> str:
    partitions = [{"topic": topic, "partition": at, "replicas": replicas} for topic, at, replicas in moves]
    return json.dumps({"version": 1, "partitions": partitions, **more})


def read(tmp_path: Path, text: str) -> ReassignmentPlan:
    file = tmp_path / "plan.json"
    file.write_text(text)
    return read_plan(file)


def test_partitions_that_are_moved_alike_are_one_group_and_those_that_stay_none(tmp_path: Path) -> None:
    found = recognise(list(described_entries("topics.txt", DESCRIBED)))
    wanted = read(tmp_path, plan(("orders", 0, [4, 1, 2]), ("orders", 1, [3, 1, 2]), ("logs", 0, [1, 2, 3])))
    moves = moves_of(found, wanted)
    assert moves.unchanged == ("orders-1",)
    shapes = {(group.topics.topics, group.shape) for group in moves.groups}
    assert shapes == {(("orders",), MoveShape(3, 3, 1)), (("logs",), MoveShape(2, 3, 1))}
    assert [group.shape.words for group in moves.groups] == ["3 replicas, 1 added and 1 removed", "2 replicas, 1 added"]
    assert [group.settings_with(3).entries["replication.factor"].value for group in moves.groups] == ["3", "3"]


def test_a_plan_with_directories_and_what_generate_prints_are_read(tmp_path: Path) -> None:
    partitions = [{"topic": "t", "partition": 0, "replicas": [2, 3], "log_dirs": ["any", "/data/1"]}]
    assert [one.replicas for one in read(tmp_path, json.dumps({"partitions": partitions})).wanted] == [(2, 3)]
    printed = (
        f"Current partition replica assignment\n{plan(('t', 0, [1, 2]))}\n\n"
        f"Proposed partition reassignment configuration\n{plan(('t', 0, [2, 3]))}\n"
    )
    both = read(tmp_path, printed)
    assert (both.now, both.wanted) == ((Assigned("t", 0, (1, 2)),), (Assigned("t", 0, (2, 3)),))
    (group,) = moves_of(add_assignment(recognise([]), both), both).groups
    assert (group.shape, group.topics.topics) == (MoveShape(2, 2, 1), ("t",))


def test_a_running_cluster_says_where_partitions_are(tmp_path: Path) -> None:
    brokers = tuple(LiveBroker(number, values=()) for number in (1, 2, 3))
    topic = LiveTopic("t", (LivePartition(0, (1, 2), (1, 2)),), ())
    found = recognise(live_entries(LiveCluster("kafka:9092", brokers, (topic,), {})))
    (group,) = moves_of(found, read(tmp_path, plan(("t", 0, [3])))).groups
    assert (group.shape, group.moves[0].note.where) == (MoveShape(2, 1, 1), "kafka:9092, topic t")


WRONG = {
    "no JSON": ("{", "is no valid JSON; a plan looks like"),
    "a list": ("[]", "it has no list of partitions"),
    "version": (plan(("t", 0, [1]), version=2), "its version is 2, and Kafka knows version 1 alone"),
    "empty": (plan(), "its list of partitions is empty"),
    "no object": ('{"partitions": [1]}', "entry 1 of its partitions is no object"),
    "no topic": ('{"partitions": [{"partition": 0, "replicas": [1]}]}', "entry 1 of its partitions names no topic"),
    "no number": ('{"partitions": [{"topic": "t", "replicas": [1]}]}', "of topic t, has no number of a partition"),
    "no replicas": (plan(("t", 0, [])), "t-0 needs a list of replicas"),
    "text": ('{"partitions": [{"topic": "t", "partition": 0, "replicas": ["1"]}]}', "t-0 needs a list of replicas"),
    "twice": (plan(("t", 0, [1, 2, 1])), "t-0 names broker 1 twice"),
    "named twice": (plan(("t", 0, [1]), ("t", 0, [2])), "t-0 is named twice"),
    "directories": (
        '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any"]}]}',
        "t-0 has 2 replicas and 1 log_dirs",
    ),
}


@pytest.mark.parametrize(("text", "why"), WRONG.values(), ids=WRONG)
def test_what_kafka_refuses_is_refused_in_a_sentence_that_names_the_file(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(SpecUnreadable) as error:
        read(tmp_path, text)
    assert str(tmp_path / "plan.json") in str(error.value)
    assert why in str(error.value)


def test_a_partition_that_nobody_describes_or_that_is_moving_is_refused(tmp_path: Path) -> None:
    found = recognise(list(described_entries("topics.txt", DESCRIBED)))
    with pytest.raises(ConfigurationError, match="orders-7 is to be moved, and no file says which replicas it has now"):
        moves_of(found, read(tmp_path, plan(("orders", 7, [1]))))
    moving = DESCRIBED.replace("Adding Replicas: \t", "Adding Replicas: 3\t")
    with pytest.raises(ConfigurationError, match=r"topics.txt:2: orders-0 is being moved already"):
        moves_of(recognise(list(described_entries("topics.txt", moving))), read(tmp_path, plan(("orders", 0, [1]))))
    other = list(described_entries("old.txt", DESCRIBED.replace("Replicas: 1,2,3", "Replicas: 1,2,4")))
    both = recognise([*described_entries("topics.txt", DESCRIBED), *other])
    with pytest.raises(ConfigurationError, match=r"topics.txt:2 and old.txt:2 say different replicas of orders-0"):
        moves_of(both, read(tmp_path, plan(("orders", 0, [1]))))


def test_a_move_of_too_many_brokers_is_not_asked_about(tmp_path: Path) -> None:
    found = recognise(list(described_entries("topics.txt", DESCRIBED)))
    (group,) = moves_of(found, read(tmp_path, plan(("orders", 0, [4, 5, 6])))).groups
    assert group.refusal.startswith("6 brokers have a part in the move, and at most 5 can be asked about")
