"""What frames say of replication, in the versions that releases from 0.10 to 4.2 use between brokers."""

from __future__ import annotations

from uuid import UUID

import pytest

from acked.cluster.wire.apis import Api
from acked.cluster.wire.codec import write_request, write_response
from acked.cluster.wire.facts import (
    FetchRequest,
    FetchResponse,
    Heartbeat,
    PartitionState,
    Registration,
    request_facts,
    response_facts,
)
from acked.cluster.wire.records import write_records

TOPIC = UUID(int=0xABC)
NAMED = 12
"""The last version of Fetch that names topics; later ones have their ids."""


@pytest.mark.parametrize("version", [*range(19)])
def test_a_fetch_says_where_its_replica_is(version: int) -> None:
    partition = {
        "partition": 0,
        "current_leader_epoch": 4,
        "fetch_offset": 7,
        "last_fetched_epoch": 3,
        "partition_max_bytes": 9,
    }
    values = {
        "replica_id": 2, "replica_state": {"replica_id": 2}, "max_wait": 1, "min_bytes": 1, "session_id": 5,
        "topics": [{"topic": "t", "topic_id": TOPIC, "partitions": [partition]}],
    }  # fmt: skip
    facts = request_facts(write_request(Api.FETCH, version, 1, values)[4:])
    assert isinstance(facts, FetchRequest)
    [position] = facts.positions
    assert (position.topic, position.offset) == ("t" if version <= NAMED else TOPIC.hex, 7)


@pytest.mark.parametrize("version", [*range(19)])
def test_a_fetch_response_says_what_the_leader_gave(version: int) -> None:
    partition = {
        "partition_index": 0, "error_code": 6, "high_watermark": 3, "records": write_records([b"r0", b"r1"], version >= 4),
        "diverging_epoch": {"epoch": 1, "end_offset": 2},
    }  # fmt: skip
    values = {
        "throttle_time": 0,
        "error_code": 0,
        "responses": [{"topic": "t", "topic_id": TOPIC, "partitions": [partition]}],
    }
    facts = response_facts(Api.FETCH, version, write_response(Api.FETCH, version, 1, values)[4:])
    assert isinstance(facts, FetchResponse)
    [found] = facts.partitions
    assert (found.topic, found.error) == ("t" if version <= NAMED else TOPIC.hex, 6)
    assert found.diverging == ((1, 2) if version >= 12 else None)


@pytest.mark.parametrize("version", range(8))
def test_leader_and_isr_says_who_leads(version: int) -> None:
    state = {
        "topic_name": "t", "partition_index": 0, "controller_epoch": 1, "leader": 2, "leader_epoch": 6, "isr": (1, 2),
        "partition_epoch": 0, "replicas": (2, 1), "is_new": False, "leader_recovery_state": 0,
    }  # fmt: skip
    values = {
        "controller_id": 9, "is_k_raft_controller": False, "controller_epoch": 1, "broker_epoch": 3, "type": 0,
        "ungrouped_partition_states": [state],
        "topic_states": [{"topic_name": "t", "topic_id": TOPIC, "partition_states": [state]}],
        "live_leaders": [{"broker_id": 2, "host_name": "h", "port": 1}],
    }  # fmt: skip
    assert request_facts(write_request(Api.LEADER_AND_ISR, version, 1, values)[4:]) == (PartitionState("t", 0, 2, 6, (1, 2)),)


def test_leader_and_isr_has_the_bytes_of_kafkas_definition() -> None:
    values = {"controller_id": 9, "controller_epoch": 1, "live_leaders": [{"broker_id": 2, "host_name": "h", "port": 1}]}
    expected = "00000009 00000001 00000000 00000001 00000002 0001 68 00000001"
    assert write_request(Api.LEADER_AND_ISR, 0, 1, values)[19:] == bytes.fromhex(expected)


@pytest.mark.parametrize("version", range(4))
def test_a_change_of_the_isr_says_which(version: int) -> None:
    partition = {
        "partition_index": 0, "leader_epoch": 2, "new_isr": (0, 1), "partition_epoch": 5,
        "new_isr_with_epochs": [{"broker_id": 0}, {"broker_id": 1}],
    }  # fmt: skip
    topic = {"topic_name": "t", "topic_id": TOPIC, "partitions": [partition]}
    name = "t" if version < 2 else TOPIC.hex
    asked = write_request(Api.ALTER_PARTITION, version, 1, {"broker_id": 0, "topics": [topic]})
    assert request_facts(asked[4:]) == (PartitionState(name, 0, None, 2, (0, 1)),)


@pytest.mark.parametrize("version", [*range(3)])
def test_a_heartbeat_says_how_far_its_broker_has_applied_the_log_of_metadata(version: int) -> None:
    values = {"broker_id": 1, "broker_epoch": 7, "current_metadata_offset": 41, "want_fence": False, "want_shut_down": False}
    assert request_facts(write_request(Api.BROKER_HEARTBEAT, version, 1, values)[4:]) == Heartbeat(41)


def test_a_registration_says_its_epoch_and_what_is_not_known_says_nothing() -> None:
    values = {"throttle_time": 0, "error_code": 0, "broker_epoch": 44}
    answered = write_response(Api.BROKER_REGISTRATION, 2, 1, values)
    assert response_facts(Api.BROKER_REGISTRATION, 2, answered[4:]) == Registration(0, 44)
    assert request_facts(b"\0\1\0\x63\0\0\0\1whatever") is None
    assert response_facts(Api.FETCH, 99, b"\0\0\0\1") is None
    assert request_facts(write_request(Api.METADATA, 1, 1, {"topics": None})[4:]) is None
