"""Foreign load (gallery row 96) on Kafka's own `CoordinatorRuntime`, as its releases are, with a loader that the test holds,
and on unmodified brokers, of which nothing is held.

The control of the first is that the second load ends, the one that the coordinator began itself; that of brokers, that
leadership does not go away and come back.

Commits that wait in a broker's queue while its leadership goes and comes back are written by the former coordinator behind
what the next one has acknowledged, for an append asks for no leader epoch. Control: leadership moves when none waits.

KAFKA-10614 (row 91), the coordinator before: one controller takes the partition away from broker 0, whose thread stands
still, in a debugger, before it tells its coordinator. The next controller gives it back, and the coordinator has loaded when
the thread goes on. In 2.8.0 it unloads, and the leader has none. Control: 2.8.1, where that is of an older epoch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import reassign
from acked.cluster.nodes.plan import make_plan
from acked.cluster.observe.zookeeper import zookeeper_state
from acked.cluster.releases.release import Mode
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import wait_for
from acked.cluster.wire.client import Client
from acked.cluster.wire.groups import Membership, commit_offsets
from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.debugger import LISTENS, HeldThread
from tests.found.playing.foreign_load import (
    COMMITTED,
    EARLIER,
    GROUP,
    HAS_IT,
    INPUT,
    LATER,
    LOADS,
    NO_OFFSET,
    NOT_HERE,
    OFFSETS,
    SECONDS,
    begin,
    begin_waiting,
    fetched,
    plan,
    play,
    play_waiting,
)
from tests.found.playing.java import SOURCES, compiled, kafka, mended, mended_home, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

UNLOADS = "kafka.coordinator.group.GroupCoordinator.onResignation"


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "4.2.2", "4.1.2", "4.0.0"])
def test_a_coordinator_becomes_active_with_the_load_of_a_former_one_and_has_no_offsets_and_the_mended_one_loads(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars = kafka(version)
    compiled(jars.class_path, [SOURCES / "ForeignLoad.java"], tmp_path)
    assert answers((tmp_path, jars.class_path)) == {"first": "2 loads; null", "second": "2 loads; offset 42"}
    own_load = (tmp_path, mended("OwnLoad", jars, tmp_path), jars.class_path)
    assert answers(own_load) == {"first": "2 loads; CoordinatorLoadInProgressException", "second": "2 loads; offset 42"}


def answers(class_path: tuple[Path | str, ...]) -> dict[str, str]:
    """What the read is answered, by the load that ends before it."""
    done = {ended: ran(class_path, "ForeignLoad", ended) for ended in ("first", "second")}
    assert {one.returncode for one in done.values()} == {0}, done
    return {ended: one.stdout.strip() for ended, one in done.items()}


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
def test_brokers_say_that_a_group_has_no_offset_and_its_consumer_skips_records_and_without_the_moves_do_not(
    version: str, users_cache: None
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    with Cluster(add_archive(plan(version))) as cluster:
        begin(cluster)
        kept = play(cluster, moves_back_and_forth=False)
        print(version, "without the moves", kept)
        lost = play(cluster, moves_back_and_forth=True)
        print(version, lost)
    assert kept.answers == (NOT_HERE, LOADS, HAS_IT)
    assert kept.read[0] == "r7"
    assert lost.answers == (NOT_HERE, LOADS, NOT_HERE, LOADS, NO_OFFSET, HAS_IT)
    assert len(lost.read) == 1  # The one that was written last: r7 to the one before it are skipped.


def test_brokers_with_the_mended_class_say_that_they_load_until_the_offset_is_there(
    users_cache: None, tmp_path: Path
) -> None:
    version = "4.4.0"
    real_plan(version, {})
    with Cluster(plan(version, mended_home("OwnLoad", version, tmp_path))) as cluster:
        begin(cluster)
        kept = play(cluster, moves_back_and_forth=True)
        print(version, "mended", kept)
    assert kept.answers == (NOT_HERE, LOADS, NOT_HERE, LOADS, HAS_IT)
    assert kept.read[0] == "r7"


# -- commits that wait ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "4.0.0"])
def test_commits_that_wait_while_leadership_goes_and_comes_back_are_written_behind_one_that_was_acknowledged(
    version: str, users_cache: None
) -> None:
    real_plan(version, {})
    settings = {"offsets.topic.num.partitions": "1"}
    last = []
    for waits_for_all in (True, False):
        with Cluster(add_archive(make_plan(version, brokers=(0, 1), settings=settings, has_witness=True))) as cluster:
            begin_waiting(cluster)
            last.append(play_waiting(cluster, waits_for_all))
    assert last == [f"offset {LATER}", f"offset {EARLIER}"]


# -- an unload that comes late ----------------------------------------------------------------------------------------


def said(cluster: Cluster) -> str:
    """What broker 0 answers who asks for the group's offset."""
    with cluster.client(0) as ask:
        return fetched(ask, GROUP)


def await_answer(cluster: Cluster, wanted: str) -> None:
    wait_for(lambda: said(cluster) == wanted, wanted, SECONDS, cluster.check)


def give_back(cluster: Cluster) -> None:
    """While a controller has no answer of broker 0, another one is elected, which makes that broker the leader again."""
    with zookeeper_state(cluster.addresses.zookeeper) as state:
        before = state.controller_epoch()
        state.delete_controller()
        wait_for(lambda: state.controller_epoch() > before, "another controller", SECONDS, cluster.check)

        def asked(ask: Callable[[Client], int]) -> bool:
            controller = state.controller()
            if controller is None:
                return False
            with cluster.client(controller) as client:
                return ask(client) == 0

        for what, ask in (
            ("broker 0 as a replica", lambda client: client.reassign(OFFSETS, [0, 1])),
            ("broker 0 as the leader", lambda client: client.elect_preferred(OFFSETS)),
        ):
            wait_for(lambda ask=ask: asked(ask), what, SECONDS, cluster.check)


@pytest.mark.parametrize(("version", "unloads"), [("2.8.0", True), ("2.8.1", False)])
def test_a_leader_that_is_told_late_of_an_older_epoch_has_no_coordinator_and_has_one_where_epochs_are_compared(
    version: str, unloads: bool, users_cache: None
) -> None:
    real_plan(version, {}, Mode.ZOOKEEPER)  # Skips where there are none, and fetches the jars.
    with Cluster(add_archive(make_plan(version, Mode.ZOOKEEPER, brokers=(0, 1, 2))), options={0: (LISTENS,)}) as cluster:
        Topic(cluster, INPUT).create([1])
        Topic(cluster, OFFSETS).create([0, 1], {"cleanup.policy": "compact"})
        with cluster.client(0) as ask:
            wait_for(lambda: commit_offsets(ask, GROUP, Membership(0), INPUT, {0: COMMITTED}) == 0, "a commit", SECONDS)
        await_answer(cluster, HAS_IT)
        with HeldThread(cluster.nodes[0].folder / "out", UNLOADS) as late:
            reassign(cluster, OFFSETS, [1, 2])
            late.await_it()
            give_back(cluster)
            await_answer(cluster, HAS_IT)
            late.let()
        if unloads:
            await_answer(cluster, NOT_HERE)
        time.sleep(10.0)
        assert Topic(cluster, OFFSETS).leads(0)
        assert said(cluster) == (NOT_HERE if unloads else HAS_IT)
