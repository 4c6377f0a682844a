"""What one given broker is asked, and what is made of its answers."""

from __future__ import annotations

import pytest

from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import (
    Acknowledgement,
    BrokerGone,
    Client,
    ClusterView,
    Dialect,
    NoProducerId,
    PartitionView,
    Read,
)
from acked.cluster.wire.codec import Values, read_request, request_head, write_response
from acked.cluster.wire.records import Record, write_records
from tests.cluster.fakes import Answer, fake_broker

OLD, NEW = Dialect((0, 10, 2, 2)), Dialect((4, 1, 0))


def answering(values: Values) -> Answer:
    def answer(payload: bytes) -> bytes:
        head = request_head(payload)
        return write_response(head.api, head.version, head.correlation, values)

    return answer


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_a_record_is_sent_now_and_its_answer_read_later(dialect: Dialect) -> None:
    partition = {"index": 0, "error_code": 19, "base_offset": 4}
    values = {"responses": [{"name": "t", "partition_responses": [partition]}], "throttle_time": 0}
    with fake_broker(answering(values)) as broker, Client(broker.address, dialect) as ask:
        ask.send_record("t", b"r0", acks=1, timeout_ms=9)
        assert ask.acknowledgement() == Acknowledgement(19, 4)
        sent = read_request(broker.asked[0])
        assert (sent.acks, sent.topic_data[0].name) == (1, "t")
        assert request_head(broker.asked[0]).version == (3 if dialect is NEW else 2)


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_a_consumer_reads_records_and_the_high_watermark(dialect: Dialect) -> None:
    partition = {"partition_index": 0, "error_code": 0, "high_watermark": 1,
                 "records": write_records([b"r0"], dialect is NEW)}  # fmt: skip
    values = {"throttle_time": 0, "responses": [{"topic": "t", "partitions": [partition]}]}
    with fake_broker(answering(values)) as broker, Client(broker.address, dialect) as ask:
        assert ask.fetch("t") == Read(0, 1, (Record(0, -1 if dialect is NEW else None, b"r0"),))


def test_a_consumer_that_reads_from_any_replica_asks_in_the_version_that_names_a_rack() -> None:
    partition = {"partition_index": 0, "error_code": 0, "high_watermark": 1, "records": write_records([b"r0"], True)}
    values = {"throttle_time": 0, "error_code": 0, "responses": [{"topic": "t", "partitions": [partition]}]}
    with fake_broker(answering(values)) as broker, Client(broker.address, NEW) as ask:
        assert ask.fetch("t", from_any=True).records == (Record(0, -1, b"r0"),)
        assert (request_head(broker.asked[0]).version, read_request(broker.asked[0]).session_epoch) == (11, -1)


def test_metadata_is_a_view_of_the_cluster_without_topics_in_error() -> None:
    part = {"error_code": 5, "partition_index": 0, "leader_id": -1, "replica_nodes": (0, 1), "isr_nodes": (1,)}
    values = {
        "throttle_time": 0, "brokers": [{"node_id": 1, "host": "h", "port": 1, "rack": None}], "controller_id": 9,
        "topics": [
            {"error_code": 0, "name": "t", "is_internal": False, "partitions": [part]},
            {"error_code": 3, "name": "u", "is_internal": False, "partitions": []},
        ],
    }  # fmt: skip
    with fake_broker(answering(values)) as broker, Client(broker.address, NEW) as ask:
        assert ask.metadata(["t", "u"]) == ClusterView((1,), 9, {"t": {0: PartitionView(5, -1, (0, 1), (1,), -1)}})


def test_a_broker_that_is_gone_is_one_sentence() -> None:
    with fake_broker(lambda payload: None) as broker:
        ask = Client(broker.address, NEW, timeout=0.2)
        with pytest.raises(BrokerGone, match="does not answer"):
            ask.metadata()
        broker.connections[0].close()
        address = broker.address
    with pytest.raises(BrokerGone, match="nobody answers at"):
        Client(address, NEW)


def test_the_answer_to_another_request_is_not_taken() -> None:
    def other(payload: bytes) -> bytes:
        return write_response(Api.METADATA, 1, 99, {"brokers": [], "controller_id": 1, "topics": []})

    with fake_broker(other) as broker, Client(broker.address, NEW) as ask, pytest.raises(BrokerGone, match="another request"):
        ask.metadata()


def test_newer_metadata_have_the_leaders_epoch() -> None:
    part = {
        "error_code": 0,
        "partition_index": 0,
        "leader_id": 1,
        "leader_epoch": 6,
        "replica_nodes": (1,),
        "isr_nodes": (1,),
    }
    values = {
        "throttle_time": 0, "brokers": [], "controller_id": 1,
        "topics": [{"error_code": 0, "name": "t", "is_internal": False, "partitions": [part]}],
    }  # fmt: skip
    with fake_broker(answering(values)) as broker, Client(broker.address, NEW) as ask:
        assert ask.metadata(["t"]).topics["t"][0] == PartitionView(0, 1, (1,), (1,), 6)
        assert not read_request(broker.asked[0]).allow_auto_topic_creation


def test_eligible_leaders_are_part_of_a_description() -> None:
    part = {
        "error_code": 0, "partition_index": 0, "leader_id": -1, "leader_epoch": 6, "replica_nodes": (0, 1), "isr_nodes": (),
        "eligible_leader_replicas": (1,),
    }  # fmt: skip
    values = {"throttle_time": 0, "topics": [{"error_code": 0, "name": "t", "topic_id": None, "partitions": [part]}]}
    with fake_broker(answering(values)) as broker, Client(broker.address, NEW) as ask:
        assert ask.describe("t") == PartitionView(0, -1, (0, 1), (), 6, (1,))


def test_topics_are_created_reordered_and_deleted_by_request() -> None:
    def answer(payload: bytes) -> bytes:
        head = request_head(payload)
        values: Values = {
            Api.CREATE_TOPICS: {"throttle_time": 0, "topics": [{"name": "t", "error_code": 36, "error_message": None}]},
            Api.DELETE_TOPICS: {"throttle_time": 0, "responses": [{"name": "t", "error_code": 3}]},
            Api.ALTER_PARTITION_REASSIGNMENTS: {
                "throttle_time": 0, "error_code": 0, "error_message": None,
                "responses": [{"name": "t", "partitions": [{"partition_index": 0, "error_code": 39, "error_message": None}]}],
            },
            Api.ELECT_LEADERS: {
                "throttle_time": 0, "error_code": 0,
                "replica_election_results": [
                    {"topic": "t", "partition_result": [{"partition_id": 0, "error_code": 84, "error_message": None}]}
                ],
            },
        }[Api(head.api)]  # fmt: skip
        return write_response(head.api, head.version, head.correlation, values)

    with fake_broker(answer) as broker, Client(broker.address, NEW) as ask:
        assert ask.create_topic("t", [0, 2, 1], {"min.insync.replicas": "2"}) == 36
        assert (ask.delete_topic("t"), ask.reassign("t", [1, 0]), ask.elect_preferred("t")) == (3, 39, 84)
        created = read_request(broker.asked[0]).topics[0]
        assert created.assignments[0].broker_ids == (0, 2, 1)
        assert [(one.name, one.value) for one in created.configs] == [("min.insync.replicas", "2")]
        assert read_request(broker.asked[2]).topics[0].partitions[0].replicas == (1, 0)


def test_a_producer_id_is_given_or_refused() -> None:
    given = {"throttle_time": 0, "error_code": 0, "producer_id": 1000, "producer_epoch": 2}
    with fake_broker(answering(given)) as broker, Client(broker.address, NEW) as ask:
        assert ask.new_producer() == (1000, 2)
    refusal = pytest.raises(NoProducerId, match="gives no producer id: error 14")
    with fake_broker(answering(given | {"error_code": 14})) as broker, Client(broker.address, NEW) as ask, refusal:
        ask.new_producer()
