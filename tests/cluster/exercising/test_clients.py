"""What producers keep and send again, and what a group of consumers should have read: without brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acked.cluster.exercising.consuming import Consumed
from acked.cluster.exercising.producing import Brokers, Idempotent, Plain, Producer, Transactional, Written
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import Client, Dialect
from acked.cluster.wire.codec import read_request, request_head, write_response
from acked.cluster.wire.groups import Coordinates, Membership, beat, commit_offsets, find_coordinator, join
from tests.cluster.fakes import FakeBroker, fake_broker

KRAFT = Dialect((4, 1, 0))
OK = {"throttle_time": 0, "error_code": 0}


class OneBroker:
    """A broker that leads, coordinates, and answers Produce requests with what is left of some errors, None for no answer."""

    def __init__(self, *errors: int | None) -> None:
        self.errors, self.offset = list(errors), 0
        self.stops: Callable[[], object] = lambda: None
        self.ended: list[bool] = []

    def __call__(self, payload: bytes) -> bytes | None:
        head = request_head(payload)
        values: dict[str, Any] | None = {
            Api.METADATA: self._metadata, Api.PRODUCE: self._produce, Api.INIT_PRODUCER_ID: self._identity,
            Api.FIND_COORDINATOR: self._coordinator, Api.ADD_PARTITIONS_TO_TXN: self._added, Api.END_TXN: self._ended,
        }[Api(head.api)](payload)  # fmt: skip
        return None if values is None else write_response(head.api, head.version, head.correlation, values)

    def _metadata(self, payload: bytes) -> dict[str, Any]:
        one = {"error_code": 0, "partition_index": 0, "leader_id": 0, "leader_epoch": 0, "replica_nodes": (0,),
               "isr_nodes": (0,), "offline_replicas": ()}  # fmt: skip
        return {"throttle_time": 0, "brokers": [], "cluster_id": None, "controller_id": 0,
                "topics": [{"error_code": 0, "name": "t", "is_internal": False, "partitions": [one]}]}  # fmt: skip

    def _produce(self, payload: bytes) -> dict[str, Any] | None:
        if len(self.errors) == 1:
            self.stops()
        error = self.errors.pop(0) if self.errors else 6
        if error is None:
            return None
        base = -1 if error else self.offset
        self.offset += not error
        partition = {"index": 0, "error_code": error, "base_offset": base}
        return {"throttle_time": 0, "responses": [{"name": "t", "partition_responses": [partition]}]}

    def _identity(self, payload: bytes) -> dict[str, Any]:
        return {**OK, "producer_id": 7, "producer_epoch": 0}

    def _coordinator(self, payload: bytes) -> dict[str, Any]:
        return {**OK, "error_message": None, "node_id": 0, "host": "h", "port": 1}

    def _added(self, payload: bytes) -> dict[str, Any]:
        result = {"name": "t", "results_by_partition": [{"partition_index": 0, "partition_error_code": 0}]}
        return {"throttle_time": 0, "results_by_topic_v3_and_below": [result]}

    def _ended(self, payload: bytes) -> dict[str, Any]:
        self.ended.append(read_request(payload).committed)
        return OK


def written_by(kind: type[Producer], broker: OneBroker) -> tuple[Producer, FakeBroker]:
    """A producer that has run until the broker had no answer left."""
    with fake_broker(broker) as fake:
        producer = kind("t", 1, 1000.0, Brokers(lambda _, timeout: Client(fake.address, KRAFT, 0.2), (0,)))
        broker.stops = producer._over.set
        producer._run()
    return producer, fake


def sequences(fake: FakeBroker) -> list[bytes]:
    """The records of the Produce requests, as they were sent."""
    requests = [read_request(payload) for payload in fake.asked if request_head(payload).api == Api.PRODUCE]
    return [one.topic_data[0].partition_data[0].records for one in requests]


def test_a_producer_without_idempotence_sends_nothing_again() -> None:
    producer, fake = written_by(Plain, OneBroker(0, None, 0))
    assert sorted(producer.written.acknowledged) == [(0, 0), (0, 1)]
    assert producer.written.sent == len(set(sequences(fake))) == 3


@pytest.mark.parametrize("first", [None, 6, 19])
def test_an_idempotent_producer_sends_the_same_batch_again_until_it_is_acknowledged(first: int | None) -> None:
    producer, fake = written_by(Idempotent, OneBroker(first, 0, 0))
    sent = sequences(fake)
    assert sent[0] == sent[1] != sent[2]
    assert [value[:12] for _, value in sorted(producer.written.acknowledged.items())] == [b"Idempotent 0", b"Idempotent 1"]


def test_a_duplicate_counts_as_acknowledged_and_has_no_offset() -> None:
    producer, _ = written_by(Idempotent, OneBroker(46, 0))
    assert list(producer.written.acknowledged) == [(0, 0)]
    assert producer.written.sent == 2


def test_a_transactional_producer_knows_which_of_its_records_are_committed() -> None:
    broker = OneBroker(*[0] * 12)
    producer, _ = written_by(Transactional, broker)
    assert broker.ended[:4] == [True, True, True, False]
    fates = producer.written.fates
    # Transactions of 2, 3, 4 and 1 records.
    assert [fates[0, offset] for offset in range(10)] == [True] * 9 + [False]


def test_the_fate_of_a_transaction_whose_record_is_refused_is_that_it_is_aborted() -> None:
    broker = OneBroker(0, 48)
    producer, _ = written_by(Transactional, broker)
    assert producer.written.fates == {(0, 0): False}
    assert broker.ended == []


WRITTEN = Written(4, {(0, 0): b"a", (0, 2): b"b", (0, 3): b"c", (0, 5): b"d"}, {(0, 2): False, (0, 3): None})


@pytest.mark.parametrize(
    ("read", "skipped", "wrong"),
    [
        ({0: b"a", 5: b"d"}, [], ""),
        ({0: b"a", 3: b"c", 5: b"d"}, [], ""),
        ({5: b"d"}, [(0, 0, 4)], ""),
        ({5: b"d"}, [], "the record at offset 0 of partition 0 was passed over"),
        ({0: b"a", 2: b"b", 5: b"d"}, [], "the record at offset 2 of partition 0 is of an aborted transaction"),
        ({0: b"x", 5: b"d"}, [], "another record was read at offset 0 of partition 0 than was acknowledged"),
    ],
)
def test_a_group_reads_what_is_committed_and_nothing_of_an_aborted_transaction(
    read: dict[int, bytes], skipped: list[tuple[int, int, int]], wrong: str
) -> None:
    consumed = Consumed({(0, offset): value for offset, value in read.items()}, {0: 6}, skipped)
    assert consumed.wrong(WRITTEN) == ((wrong,) if wrong else ())


def test_what_a_group_has_not_come_to_is_not_passed_over() -> None:
    assert Consumed({(0, 0): b"a"}, {0: 1}).wrong(WRITTEN) == ()


def answering(*answers: dict[str, Any]) -> Callable[[bytes], bytes]:
    left = list(answers)

    def answer(payload: bytes) -> bytes:
        head = request_head(payload)
        return write_response(head.api, head.version, head.correlation, left.pop(0))

    return answer


def test_the_leader_of_a_group_shares_out_the_partitions() -> None:
    members = [{"member_id": name, "metadata": b""} for name in ("m2", "m1")]
    joined = {**OK, "generation_id": 3, "protocol_name": "acked", "leader": "m1", "member_id": "m1", "members": members}
    with fake_broker(answering(joined, {**OK, "assignment": b"[0, 2]"})) as broker, Client(broker.address, KRAFT) as ask:
        assert join(ask, "g", "", 3) == Membership(0, "m1", 3, (0, 2))
        shared = read_request(broker.asked[1]).assignments
    assert [(one.member_id, one.assignment) for one in shared] == [("m1", b"[0, 2]"), ("m2", b"[1]")]


def test_a_member_that_is_not_let_in_says_why() -> None:
    refused = {**OK, "error_code": 25, "generation_id": -1, "protocol_name": "", "leader": "", "member_id": "m",
               "members": []}  # fmt: skip
    with fake_broker(answering(refused)) as broker, Client(broker.address, KRAFT) as ask:
        assert join(ask, "g", "m", 1) == Membership(25, "m")


def test_a_member_beats_commits_and_finds_its_coordinator() -> None:
    partition = {"partition_index": 0, "error_code": 22}
    committed = {"throttle_time": 0, "topics": [{"name": "t", "partitions": [partition]}]}
    found = {**OK, "error_message": None, "node_id": 2, "host": "h", "port": 1}
    with fake_broker(answering({**OK, "error_code": 27}, committed, found)) as broker, Client(broker.address, KRAFT) as ask:
        assert beat(ask, "g", Membership(0, "m", 3)) == 27
        assert commit_offsets(ask, "g", Membership(0, "m", 3), "t", {0: 9}) == 22
        assert find_coordinator(ask, "id", Coordinates.TRANSACTION) == (0, 2)
        sent = read_request(broker.asked[1])
        assert (sent.generation_id_or_member_epoch, sent.topics[0].partitions[0].committed_offset) == (3, 9)
        assert read_request(broker.asked[2]).key_type == 1
