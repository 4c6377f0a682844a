"""Three losses of transactional producers on unmodified brokers.

KAFKA-20090: another instance starts while a transaction is open under epoch 32766, the last one. To 4.2 the fence takes epoch
32767 and no new producer id, and the ABORT of the first instance, which passes for a retry, is told so. What it writes then
can be neither committed nor aborted nor fenced: each would take epoch -32768. Control: the release that mends it.

An uncommitted decision (gallery row 113): broker 2 does not fetch for a while, and stays in sync. Coordinator 0 writes
PREPARE_COMMIT, which broker 1 has and broker 2 has not; it is not committed, and the client is not answered. Broker 1 becomes
the coordinator: it sends COMMIT for what it finds in its log. Broker 2 becomes the coordinator, and has an open transaction;
another instance starts, so it sends ABORT. Control: the same while broker 2 fetches.

KAFKA-17507 (gallery row 95): the thread that applies a marker to a group's offsets stands still, in a debugger, and in 3.9.0
the producer goes on. Control: 3.9.1, where it has to wait.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.nodes.plan import make_plan
from acked.cluster.proxies.gate import Gate
from acked.cluster.topics.topic import Topic
from acked.cluster.transacting.protocol import SETTINGS
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.transactional import (
    CONCURRENT,
    COORDINATOR_AWAY,
    Asked,
    CoordinatorView,
    Identity,
    add_offsets_request,
    add_request,
    committed_offset,
    describe_id,
    describe_partition,
    end_request,
    init_request,
    offset_request,
    produce_request,
)
from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.debugger import LISTENS, HeldThread

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

SECONDS = 60.0
ID, STATE, LEDGER, TIMEOUT_MS = "mover", "__transaction_state", "ledger", 600_000
OFFSETS, GROUP, APPLIES_MARKERS = (
    "__consumer_offsets", "workers", "kafka.coordinator.group.GroupMetadataManager.handleTxnCompletion"
)  # fmt: skip
LAST = 32766
"""The last producer epoch that a client is given; 32767 is for the coordinator alone."""
HALVES = {"left": 1, "right": 2}
"""Topics of one partition, and who leads them."""
Read = dict[str, list[str]]
"""By topic what consumers in read_committed are served."""


def answered(cluster: Cluster, asked: Asked, broker: int = 0) -> tuple[str, Identity]:
    """What the broker says, once it says more than that it is busy."""
    last: list[tuple[int, Identity]] = []

    def look() -> bool:
        with cluster.client(broker, SECONDS) as client:
            asked.send(client)
            last[:] = [asked.receive(client)]
        return last[0][0] not in COORDINATOR_AWAY | {CONCURRENT}

    wait_for(look, f"an answer to {asked.api.name}", SECONDS, cluster.check)
    return error_name(last[0][0]), last[0][1]


def ask(cluster: Cluster, asked: Asked, broker: int = 0) -> Identity:
    """What a request that is not refused is answered with."""
    error, given = answered(cluster, asked, broker)
    assert error == "NONE"
    return given


def await_state(cluster: Cluster, broker: int, *wanted: str) -> CoordinatorView:
    """Returns how the transaction stands when a broker coordinates it, in one of these states."""
    seen: list[CoordinatorView] = []

    def look() -> bool:
        with cluster.client(broker, SECONDS) as client:
            error, view = describe_id(client, ID)
        seen[:] = [view]
        return error == 0 and view.state in wanted

    wait_for(look, " or ".join(wanted), SECONDS, cluster.check)
    return seen[0]


# -- epochs that end --------------------------------------------------------------------------------------------------


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
        assert await_state(cluster, 0, "CompleteAbort").epoch == (LAST + 1 if hangs else 0)
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


# -- an uncommitted decision ------------------------------------------------------------------------------------------


def begin(cluster: Cluster, is_v2: bool) -> Identity:
    """The instance's identity, once a record of its transaction is in either topic."""
    Topic(cluster, STATE).create([0, 1, 2], {"cleanup.policy": "compact", "min.insync.replicas": "2"})
    for topic, leader in HALVES.items():
        Topic(cluster, topic).create([leader])
    mine = ask(cluster, init_request(ID, TIMEOUT_MS))
    for topic, leader in HALVES.items():
        if not is_v2:
            ask(cluster, add_request(ID, mine, topic))
        ask(cluster, produce_request(ID, mine, topic, "r0", 0, is_v2), leader)
    return mine


def await_same(cluster: Cluster, brokers: Iterable[int], beyond: int = -1) -> int:
    """Returns how many records the coordinator's log has when these brokers have as many, and more than before."""
    ends: set[int] = set()

    def look() -> bool:
        ends.clear()
        ends.update(len(cluster.replica(broker, STATE).log) for broker in brokers)
        return len(ends) == 1 and min(ends) > beyond

    wait_for(look, "the same log", SECONDS, cluster.check)
    return ends.pop()


def read(cluster: Cluster, mine: Identity) -> Read:
    found = {}
    for topic, leader in HALVES.items():
        with cluster.client(leader, SECONDS) as client:
            error, view = describe_partition(client, topic, mine.producer)
        assert error == 0, error_name(error)
        found[topic] = [entry.text for entry in view.readable]
    return found


def play(cluster: Cluster, is_v2: bool, lags: bool) -> tuple[str, str, Read]:
    """How the coordinator moves: what EndTxn is answered, in which state broker 2 has the transaction, and what is read."""
    mine, network = begin(cluster, is_v2), cluster.network
    before = await_same(cluster, (0, 1, 2))
    held: list[Gate] = [network.hold(2, leader, Api.FETCH) for leader in (0, 1)] if lags else []
    if lags:
        held[0].wait(SECONDS)
    markers = network.hold(1, 2, Api.WRITE_TXN_MARKERS)
    with cluster.client(0, SECONDS) as client:
        asked = end_request(ID, mine, True, is_v2)
        if not lags:
            held.append(network.hold(0, 1, Api.WRITE_TXN_MARKERS))
            held.append(network.hold(0, 2, Api.WRITE_TXN_MARKERS))
        asked.send(client)
        await_same(cluster, (0, 1) if lags else (0, 1, 2), beyond=before)
        move_leadership(cluster, STATE, (1, 0, 2), SECONDS)
        told = error_name(asked.receive(client)[0])
    wait_for(lambda: read(cluster, mine)["left"], "COMMIT of the one half", SECONDS, cluster.check)
    markers.wait(SECONDS)
    move_leadership(cluster, STATE, (2, 1, 0), SECONDS)
    state = await_state(cluster, 2, "Ongoing", "PrepareCommit", "CompleteCommit").state
    for gate in held:
        gate.lift()
    markers.close()
    markers.lift()
    with cluster.client(2, SECONDS) as client:
        init_request(ID, TIMEOUT_MS).send(client)
        error, _ = init_request(ID, TIMEOUT_MS).receive(client)
        assert error in (0, CONCURRENT), error_name(error)
    await_state(cluster, 2, "CompleteAbort", "CompleteCommit", "Empty")
    return told, state, read(cluster, mine)


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "3.9.1"])
def test_half_of_a_transaction_is_committed_where_a_replica_in_sync_lacks_the_decision_and_all_of_it_where_none_does(
    version: str, users_cache: None
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    is_v2 = version > "4"
    played = []
    for lags in (False, True):
        with Cluster(add_archive(make_plan(version, brokers=(0, 1, 2), settings=SETTINGS, has_witness=True))) as cluster:
            played.append(play(cluster, is_v2, lags))
            print(version, "lags" if lags else "fetches", played[-1])
    (_, kept_state, kept), (told, state, torn) = played
    assert kept == {"left": ["r0"], "right": ["r0"]}
    assert kept_state != "Ongoing"
    assert (told, state) == ("NOT_COORDINATOR", "Ongoing")
    assert torn == {"left": ["r0"], "right": []}


# -- a marker that is applied late ------------------------------------------------------------------------------------


def commit_in_txn(cluster: Cluster, mine: Identity, offset: int) -> None:
    """The instance sends an offset of its group into its transaction."""
    ask(cluster, add_offsets_request(ID, mine, GROUP))
    ask(cluster, offset_request(ID, mine, GROUP, LEDGER, offset, "", is_v2=False))


@pytest.mark.parametrize(("version", "is_too_early"), [("3.9.0", True), ("3.9.1", False)])
def test_a_marker_that_is_applied_late_commits_an_offset_of_a_transaction_that_is_aborted(
    version: str, is_too_early: bool, users_cache: None
) -> None:
    real_plan(version, {})
    plan = add_archive(make_plan(version, brokers=(0,), settings=SETTINGS))
    with Cluster(plan, options={0: (LISTENS,)}) as cluster:
        for topic in (STATE, OFFSETS, LEDGER):
            Topic(cluster, topic).create([0], {} if topic == LEDGER else {"cleanup.policy": "compact"})
        mine = ask(cluster, init_request(ID, TIMEOUT_MS))
        with HeldThread(cluster.nodes[0].folder / "out", APPLIES_MARKERS) as late:
            commit_in_txn(cluster, mine, 1)
            ask(cluster, end_request(ID, mine, True, is_v2=False))
            late.await_it()
            if is_too_early:
                await_state(cluster, 0, "CompleteCommit")
                commit_in_txn(cluster, mine, 2)
            else:
                await_state(cluster, 0, "PrepareCommit")
            late.let()
        await_offset(cluster, 2 if is_too_early else 1)
        if not is_too_early:
            await_state(cluster, 0, "CompleteCommit")
            commit_in_txn(cluster, mine, 2)
        ask(cluster, end_request(ID, mine, False, is_v2=False))
        await_state(cluster, 0, "CompleteAbort")
        await_offset(cluster, 2 if is_too_early else 1)


def await_offset(cluster: Cluster, wanted: int) -> None:
    """Returns when the broker says that the group has committed this offset."""

    def look() -> bool:
        with cluster.client(0, SECONDS) as client:
            return committed_offset(client, GROUP, LEDGER) == (0, wanted)

    wait_for(look, f"offset {wanted}", SECONDS, cluster.check)
