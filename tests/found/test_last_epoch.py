"""KAFKA-20090 on unmodified brokers: a producer is fenced at its last epoch, goes on under 32767, and its transaction hangs.

Another instance starts while a transaction is open under epoch 32766, and stops. To 4.2 the fence takes epoch 32767 and no
new producer id, and the ABORT of the first instance, which passes for a retry, is told so. What it writes then can be neither
committed nor aborted nor fenced: each would take epoch -32768. Control: the release that mends it.
"""

from __future__ import annotations

import pytest

from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import make_plan
from acked.cluster.topics.topic import Topic
from acked.cluster.transacting.protocol import SETTINGS
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import error_name
from acked.cluster.wire.transactional import (
    CONCURRENT,
    COORDINATOR_AWAY,
    Asked,
    Identity,
    describe_id,
    describe_partition,
    end_request,
    init_request,
    produce_request,
)
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

SECONDS = 60.0
ID, STATE, LEDGER, TIMEOUT_MS = "mover", "__transaction_state", "ledger", 600_000
LAST = 32766
"""The last producer epoch that a client is given; 32767 is for the coordinator alone."""


def answered(cluster: Cluster, asked: Asked) -> tuple[str, Identity]:
    """What the broker says, once it says more than that it is busy."""
    last: list[tuple[int, Identity]] = []

    def look() -> bool:
        with cluster.client(0, SECONDS) as client:
            asked.send(client)
            last[:] = [asked.receive(client)]
        return last[0][0] not in COORDINATOR_AWAY | {CONCURRENT}

    wait_for(look, f"an answer to {asked.api.name}", SECONDS, cluster.check)
    return error_name(last[0][0]), last[0][1]


def ask(cluster: Cluster, asked: Asked) -> Identity:
    """What a request that is not refused is answered with."""
    error, given = answered(cluster, asked)
    assert error == "NONE"
    return given


def exhaust(cluster: Cluster) -> Identity:
    """The identity of an instance whose epoch is the last one."""
    mine = ask(cluster, init_request(ID, TIMEOUT_MS))
    with cluster.client(0, SECONDS) as client:
        while mine.epoch < LAST:
            init_request(ID, TIMEOUT_MS).send(client)
            error, given = init_request(ID, TIMEOUT_MS).receive(client)
            assert error in (0, CONCURRENT), error_name(error)
            mine = mine if error else given
    return mine


def await_state(cluster: Cluster, wanted: str) -> int:
    """Returns the coordinator's producer epoch in this state of the transaction."""
    with cluster.client(0, SECONDS) as client:
        wait_for(lambda: describe_id(client, ID)[1].state == wanted, wanted, SECONDS, cluster.check)
        return describe_id(client, ID)[1].epoch


@pytest.mark.parametrize(("version", "hangs"), [("4.2.1", True), ("4.3.1", False)])
def test_a_transaction_under_the_epoch_after_the_last_hangs_and_not_where_a_fence_takes_a_new_producer_id(
    version: str, hangs: bool, users_cache: None
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    with Cluster(add_archive(make_plan(version, brokers=(0,), settings=SETTINGS))) as cluster:
        for topic, settings in ((STATE, {"cleanup.policy": "compact"}), (LEDGER, {})):
            Topic(cluster, topic).create([0], settings)
        mine = exhaust(cluster)
        ask(cluster, produce_request(ID, mine, LEDGER, "r0", 0, is_v2=True))
        with cluster.client(0, SECONDS) as other:
            init_request(ID, TIMEOUT_MS).send(other)
            assert init_request(ID, TIMEOUT_MS).receive(other)[0] == CONCURRENT
        assert await_state(cluster, "CompleteAbort") == (LAST + 1 if hangs else 0)
        told = ask(cluster, end_request(ID, mine, False, is_v2=True))
        assert (told.epoch, told.producer == mine.producer) == ((LAST + 1, True) if hangs else (0, False))
        ask(cluster, produce_request(ID, told, LEDGER, "r1", 0, is_v2=True))
        ends = [answered(cluster, end_request(ID, told, commits, is_v2=True))[0] for commits in (True, False)]
        fenced, _ = answered(cluster, init_request(ID, TIMEOUT_MS))
        with cluster.client(0, SECONDS) as client:
            error, ledger = describe_partition(client, LEDGER, told.producer)
            state = describe_id(client, ID)[1].state
        assert error == 0
        assert (ledger.stable < ledger.high_watermark) is hangs
        assert (state == "Ongoing") is hangs
        assert [entry.text for entry in ledger.readable] == ([] if hangs else ["r1"])
        assert ({*ends, fenced} == {"UNKNOWN_SERVER_ERROR"}) is hangs
