"""What ZooKeeper knows of a partition, by a client that only remembers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError

from acked.cluster.observe.zookeeper import PartitionInZooKeeper, ZooKeeperState
from acked.cluster.waiting import NotSeen

STATE, TOPIC = "/brokers/topics/t/partitions/0/state", "/brokers/topics/t"


class Memory:
    """Nodes by path, with a controller that does what /admin asks for as soon as somebody looks, unless it is gone."""

    def __init__(self, has_controller: bool = True) -> None:
        self.nodes: dict[str, Any] = {
            TOPIC: {"partitions": {"0": [0, 1]}},
            STATE: {"leader": 0, "leader_epoch": 3, "isr": [0, 1], "controller_epoch": 2},
        }
        self.has_controller = has_controller
        self.created: list[str] = []

    def get(self, path: str) -> tuple[bytes, None]:
        if path not in self.nodes:
            raise NoNodeError
        return json.dumps(self.nodes[path]).encode(), None

    def get_children(self, path: str) -> list[str]:
        return {"/brokers/ids": ["9", "0"]}[path]

    def exists(self, path: str) -> bool:
        return path in self.nodes

    def create(self, path: str, content: bytes) -> None:
        self.created.append(path)
        self.nodes[path] = json.loads(content)
        if self.has_controller:
            [asked] = self.nodes.pop(path)["partitions"]
            if "replicas" in asked:
                self.nodes[TOPIC]["partitions"]["0"] = asked["replicas"]
            else:
                self.nodes[STATE] |= {"leader": self.nodes[TOPIC]["partitions"]["0"][0], "leader_epoch": 4}


def test_a_partition_is_read_and_one_that_is_not_there_is_none() -> None:
    state = ZooKeeperState(Memory())
    assert state.partition("t") == PartitionInZooKeeper(0, 3, (0, 1), 2)
    assert (state.partition("u"), state.assignment("u")) == (None, ())
    assert (state.assignment("t"), state.brokers()) == ((0, 1), (0, 9))


def test_leadership_moves_by_a_new_order_and_an_election() -> None:
    memory = Memory()
    state = ZooKeeperState(memory)
    state.move_leadership("t", [1, 0], 1)
    assert (state.assignment("t"), state.partition("t")) == ((1, 0), PartitionInZooKeeper(1, 4, (0, 1), 2))
    assert memory.created == ["/admin/reassign_partitions", "/admin/preferred_replica_election"]
    state.move_leadership("t", [1, 0], 1)
    assert len(memory.created) == 2, "nothing is asked for twice"


def test_a_controller_that_does_nothing_is_named() -> None:
    with pytest.raises(NotSeen, match=r"the reassignment of t to \[1, 0\] was not seen within 0\.1 seconds"):
        ZooKeeperState(Memory(has_controller=False)).move_leadership("t", [1, 0], 0.1)
