"""The requests of transactional producers as bytes, and what is made of the answers."""

from __future__ import annotations

import pytest

from acked.cluster.wire import transactional
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import Client, Dialect
from acked.cluster.wire.codec import Values, read_request, request_head, write_response
from acked.cluster.wire.records import LogEntry, read_entries
from acked.cluster.wire.transactional import (
    Asked,
    CoordinatorView,
    Identity,
    add_request,
    describe_id,
    end_request,
    init_request,
    produce_request,
)
from tests.cluster.fakes import fake_broker

ME = Identity(7, 3)


def asked(request: Asked, values: Values) -> tuple[int, object, tuple[int, Identity]]:
    """The version and body that a broker reads, and what the client makes of its answer."""

    def answer(payload: bytes) -> bytes:
        head = request_head(payload)
        return write_response(head.api, head.version, head.correlation, values)

    with fake_broker(answer) as broker, Client(broker.address, Dialect((4, 0))) as ask:
        request.send(ask)
        given = request.receive(ask)
        return request_head(broker.asked[0]).version, read_request(broker.asked[0]), given


@pytest.mark.parametrize(("is_v2", "version"), [(False, 1), (True, 5)])
def test_a_client_of_version_2_is_known_by_its_end_and_is_given_the_next_epoch(is_v2: bool, version: int) -> None:
    values = {"throttle_time": 0, "error_code": 47, **({"producer_id": 7, "producer_epoch": 4} if is_v2 else {})}
    found, body, given = asked(end_request("id", ME, True, is_v2), values)
    assert found == version
    assert (body.producer_id, body.producer_epoch, body.committed) == (7, 3, True)  # type: ignore[attr-defined]
    assert given == (47, Identity(7, 4) if is_v2 else Identity())


def test_other_requests_name_the_identity_and_the_partition() -> None:
    named = {"throttle_time": 0, "error_code": 0, "producer_id": 7, "producer_epoch": 4}
    version, body, given = asked(init_request("id", 9, ME), named)
    assert (version, body.producer_epoch, given) == (4, 3, (0, Identity(7, 4)))  # type: ignore[attr-defined]
    assert asked(init_request("id", 9), named)[0] == 1
    result = {"name": "t", "results_by_partition": [{"partition_index": 0, "partition_error_code": 51}]}
    _, body, given = asked(add_request("id", ME, "t"), {"throttle_time": 0, "results_by_topic_v3_and_below": [result]})
    assert body.v3_and_below_topics[0].partitions == (0,)  # type: ignore[attr-defined]
    assert given[0] == 51
    partition = {"index": 0, "error_code": 48, "base_offset": -1}
    answer = {"responses": [{"name": "t", "partition_responses": [partition]}], "throttle_time": 0}
    version, body, given = asked(produce_request("id", ME, "t", "r0", 2, True), answer)
    assert (version, given[0], body.transactional_id) == (12, 48, "id")  # type: ignore[attr-defined]
    batch = body.topic_data[0].partition_data[0].records  # type: ignore[attr-defined]
    assert read_entries(batch) == (LogEntry(0, 7, "r0", False),)
    assert batch[21:23] == b"\x00\x10", "the batch is marked as one of a transaction"


def test_an_id_that_the_coordinator_does_not_know_is_empty_without_an_epoch() -> None:
    one = {"error_code": 0, "transactional_id": "id", "transaction_state": "Ongoing", "transaction_timeout": 9,
           "transaction_start_time": -1, "producer_id": 7, "producer_epoch": 2,
           "topics": [{"topic": "t", "partitions": (0,)}]}  # fmt: skip
    for error, expected in ((0, (0, CoordinatorView("Ongoing", 2, frozenset({"t"})))),
                            (105, (0, CoordinatorView("Empty", -1, frozenset()))), (15, None)):  # fmt: skip
        values = {"throttle_time": 0, "transaction_states": [{**one, "error_code": error}]}

        def answer(payload: bytes, values: Values = values) -> bytes:
            head = request_head(payload)
            assert head.api == Api.DESCRIBE_TRANSACTIONS
            return write_response(head.api, head.version, head.correlation, values)

        with fake_broker(answer) as broker, Client(broker.address, Dialect((4, 0))) as ask:
            found = describe_id(ask, "id")
            assert found == expected if expected is not None else found[0] == 15


def test_a_consumer_keeps_what_is_not_in_an_aborted_range_of_its_producer() -> None:
    served = (LogEntry(0, 7, "r0", False), LogEntry(1, 8, "x", False), LogEntry(2, 7, "ABORT", True),
              LogEntry(3, 7, "r1", False), LogEntry(4, 7, "COMMIT", True))  # fmt: skip
    assert transactional._without_aborted(served, [(7, 0)]) == (served[1], served[3])
    assert transactional._without_aborted(served, []) == (served[0], served[1], served[3])


def test_a_consumer_leaves_out_an_aborted_record_whose_marker_is_in_the_next_segment() -> None:
    """4.4.0: a fetch ends with its segment."""
    served = (LogEntry(0, 7, "r0", False), LogEntry(1, 7, "ABORT", True), LogEntry(2, 8, "x", False),
              LogEntry(3, 7, "r1", False))  # fmt: skip
    assert transactional._without_aborted(served, [(7, 0), (7, 3)]) == (served[2],)
