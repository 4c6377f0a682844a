"""Messages as bytes and back, the old ones held against kafka-python, which encodes them independently."""

from __future__ import annotations

import io
from typing import Any

import pytest
from kafka.protocol.old.admin import CreateTopicsRequest, DeleteTopicsRequest
from kafka.protocol.old.fetch import FetchRequest, FetchResponse
from kafka.protocol.old.list_offsets import ListOffsetsRequest
from kafka.protocol.old.metadata import MetadataRequest
from kafka.protocol.old.produce import ProduceRequest, ProduceResponse

from acked.cluster.wire.apis import Api, api_name
from acked.cluster.wire.codec import (
    Unreadable,
    Values,
    frame_length,
    read_request,
    read_response,
    request_head,
    response_correlation,
    write_request,
    write_response,
)

HEAD = 4 + 2 + 2 + 4 + 2 + len("acked")
"""A frame's length, then key, version, correlation id and the client's name."""


def body(api: int, version: int, values: Values) -> bytes:
    return write_request(api, version, 7, values)[HEAD:]


def fetch(version: int) -> tuple[Values, bytes]:
    values = {
        "replica_id": 1, "max_wait": 200, "min_bytes": 1, "max_bytes": 1000,
        "topics": [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 3, "partition_max_bytes": 99}]}],
    }  # fmt: skip
    limits = [1000] if version == 3 else [1000, 0] if version == 4 else []
    return values, FetchRequest[version](1, 200, 1, *limits, [("t", [(0, 3, 99)])]).encode()


def produce(version: int) -> tuple[Values, bytes]:
    values = {"acks": -1, "timeout": 500, "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": b"xyz"}]}]}
    transaction = [None] if version >= 3 else []
    return values, ProduceRequest[version](*transaction, -1, 500, [("t", [(0, b"xyz")])]).encode()


def create(version: int) -> tuple[Values, bytes]:
    topic = {
        "name": "t", "num_partitions": -1, "replication_factor": -1,
        "assignments": [{"partition_index": 0, "broker_ids": (0, 2, 1)}], "configs": [{"name": "a", "value": "b"}],
    }  # fmt: skip
    validate = [False] if version >= 1 else []
    expected = CreateTopicsRequest[version]([("t", -1, -1, [(0, [0, 2, 1])], [("a", "b")])], 9000, *validate)
    return {"topics": [topic], "timeout": 9000}, expected.encode()


CASES = [
    *((Api.FETCH, version, *fetch(version)) for version in range(5)),
    *((Api.PRODUCE, version, *produce(version)) for version in range(4)),
    *((Api.CREATE_TOPICS, version, *create(version)) for version in range(3)),
    (Api.DELETE_TOPICS, 0, {"topic_names": ("t",), "timeout": 5}, DeleteTopicsRequest[0](["t"], 5).encode()),
    (Api.METADATA, 1, {"topics": [{"name": "t"}]}, MetadataRequest[1](["t"]).encode()),
    (Api.METADATA, 1, {"topics": None}, MetadataRequest[1](None).encode()),
    (
        Api.LIST_OFFSETS, 1,
        {"replica_id": -2, "topics": [{"name": "t", "partitions": [{"partition_index": 0, "timestamp": -1}]}]},
        ListOffsetsRequest[1](-2, [("t", [(0, -1)])]).encode(),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("api", "version", "values", "expected"), CASES, ids=lambda value: str(value)[:20])
def test_a_request_has_the_bytes_that_kafka_python_gives_it(api: int, version: int, values: Values, expected: bytes) -> None:
    assert body(api, version, values) == expected


@pytest.mark.parametrize(("api", "version", "values", "expected"), CASES, ids=lambda value: str(value)[:20])
def test_a_request_that_is_read_and_written_again_is_the_same(
    api: int, version: int, values: Values, expected: bytes
) -> None:
    frame = write_request(api, version, 7, values)
    again = read_request(frame[4:])
    assert request_head(frame[4:]).version == version
    assert body(api, version, {name: getattr(again, name) for name in again.__dataclass_fields__}) == expected


def old_response(message: Any) -> bytes:
    return (7).to_bytes(4, "big") + message.encode()


@pytest.mark.parametrize("version", range(4))
def test_a_fetch_response_that_kafka_python_writes_is_read(version: int) -> None:
    throttle = [0] if version >= 1 else []
    found = read_response(Api.FETCH, version, old_response(FetchResponse[version](*throttle, [("t", [(0, 6, 5, b"abc")])])))
    [partition] = found.responses[0].partitions
    assert (partition.error_code, partition.high_watermark, partition.records) == (6, 5, b"abc")


@pytest.mark.parametrize("version", range(3))
def test_a_produce_response_that_kafka_python_writes_is_read(version: int) -> None:
    stamp, throttle = [-1] if version >= 2 else [], [0] if version >= 1 else []
    found = read_response(
        Api.PRODUCE, version, old_response(ProduceResponse[version]([("t", [(0, 7, 4, *stamp)])], *throttle))
    )
    [partition] = found.responses[0].partition_responses
    assert (partition.error_code, partition.base_offset) == (7, 4)


def test_a_field_that_a_version_lacks_is_left_out_and_one_that_it_needs_is_missed() -> None:
    assert body(Api.FETCH, 0, fetch(4)[0]) == fetch(0)[1]
    with pytest.raises(ValueError, match="needs min_bytes"):
        write_request(Api.FETCH, 4, 1, {"max_wait": 1})


def test_a_version_that_nobody_knows_and_bytes_that_are_no_message_are_unreadable() -> None:
    with pytest.raises(Unreadable, match="request 1 version 99 is not known"):
        write_request(Api.FETCH, 99, 1, {})
    with pytest.raises(Unreadable, match="response 1 version 12"):
        read_response(Api.FETCH, 12, b"\0\0\0\1\0\0\0\0\0\0\0")
    with pytest.raises(Unreadable):
        request_head(b"\0")
    with pytest.raises(Unreadable):
        response_correlation(b"")
    with pytest.raises(Unreadable, match="a frame of 1213486160 bytes"):
        frame_length(b"HTTP")


def test_a_response_carries_the_number_of_its_request() -> None:
    frame = write_response(Api.BROKER_HEARTBEAT, 0, 31, {"throttle_time": 0, "error_code": 0, "is_caught_up": True,
                                                         "is_fenced": True, "should_shut_down": False})  # fmt: skip
    assert response_correlation(frame[4:]) == 31
    assert read_response(Api.BROKER_HEARTBEAT, 0, frame[4:]).is_fenced
    assert frame_length(frame[:4]) == len(io.BytesIO(frame[4:]).read())


def test_names_of_requests_are_those_of_kafkas_documentation() -> None:
    assert [api_name(key) for key in (1, 4, 23, 999, None)] == [
        "Fetch", "LeaderAndIsr", "OffsetForLeaderEpoch", "api 999", "unknown",
    ]  # fmt: skip
