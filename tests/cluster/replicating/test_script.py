"""Scripts: the orders of replicas by which elections come, what real brokers do at once, and how crashes are played."""

from __future__ import annotations

import pytest

from acked.base.errors import ConfigurationError
from acked.cluster.playing.script import NotPlayable, Script
from acked.cluster.playing.setting import Brokers
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.replicating.script import script_of
from tests.cluster.playing.runs import ON_KRAFT, ON_ZOOKEEPER, question, run

SENT = "Produce(leader=0, record=0, answered=True)"
CRASH = "Crash(broker={}, log_end=0, checkpoint=0)"


def test_the_order_of_replicas_leads_to_every_election() -> None:
    asked = question("2.1")
    steps = [CRASH.format(0), "ElectLeader(broker=2)", CRASH.format(2), "ElectLeader(broker=1)"]
    assert script_of(asked, run(asked, steps), ON_ZOOKEEPER).order == (0, 2, 1)
    steps = [CRASH.format(0), "ElectLeader(broker=1)"]
    assert script_of(asked, run(asked, steps), ON_ZOOKEEPER).order == (0, 1, 2)


@pytest.mark.slow
def test_a_move_of_leadership_gives_the_replicas_another_order() -> None:
    asked = question("2.1", leadership_moves=True)
    steps = ["MoveLeadership(broker=1)", CRASH.format(1), "ElectLeader(broker=2)"]
    script = script_of(asked, run(asked, steps), ON_ZOOKEEPER)
    assert (script.order, script.steps[0].order) == ((0, 1, 2), (1, 2, 0))


def test_an_election_to_which_no_order_leads_is_refused() -> None:
    asked = question("2.1")
    steps = [CRASH.format(0), "ElectLeader(broker=1)", "BecomeLeader(leader=1)", "Restart(broker=0, is_clean=True)",
             "BecomeFollower(follower=0, leader=1)", "TruncateByEpoch(follower=0, leader=1)",
             "FetchNothingNew(follower=0, leader=1)", CRASH.format(1), "ElectLeader(broker=2)"]  # fmt: skip
    with pytest.raises(NotPlayable, match=r"step 9 of 9, ElectLeader\(broker=2\): a controller elects the first candidate"):
        script_of(asked, run(asked, steps), ON_ZOOKEEPER)


def test_what_brokers_do_at_once_is_compared_after_it() -> None:
    asked = question("3.9", "kraft")
    steps = [CRASH.format(1), "LearnIsr(leader=0)", "Restart(broker=1, is_clean=True)",
             "BecomeFollower(follower=1, leader=0)", "FetchNothingNew(follower=1, leader=0)",
             "AskToExpand(leader=0, follower=1)", "CommitAlterPartition(leader=0)"]  # fmt: skip
    script = script_of(asked, run(asked, steps), ON_KRAFT)
    assert [step.is_settled for step in script.steps] == [True, True, False, True, False, True, True]


@pytest.mark.slow
def test_a_broker_that_comes_back_as_eligible_leader_was_shut_down_in_order() -> None:
    asked = question("4.1", min_insync_replicas=2)
    down = [CRASH.format(1), CRASH.format(2), CRASH.format(0)]
    shut_down = script_of(asked, run(asked, [*down, "Restart(broker=2, is_clean=True)"]), ON_KRAFT).shut_down
    killed = script_of(asked, run(asked, [*down, "Restart(broker=2, is_clean=False)"]), ON_KRAFT).shut_down
    assert (shut_down, killed) == ({2}, frozenset())


def test_a_broker_that_was_shut_down_in_order_left_no_earlier_high_watermark() -> None:
    asked = question("4.1", min_insync_replicas=2)
    steps = [SENT, *(f"FetchAtOnce(follower={one}, leader=0, end=1)" for one in (1, 2)),
             *(f"FetchNothingNew(follower={one}, leader=0)" for one in (1, 2, 1, 2)),
             "Crash(broker=1, log_end=1, checkpoint=0)"]  # fmt: skip

    def script(checkpoint: int, is_clean: bool) -> Script:
        ends = [f"Crash(broker=2, log_end=1, checkpoint={checkpoint})", f"Restart(broker=2, is_clean={is_clean})"]
        return script_of(asked, run(asked, [*steps, *ends]), ON_KRAFT)

    assert script(1, True).shut_down == {9}
    assert script(0, False).shut_down == frozenset(), "a broker that was killed may have written it long ago"
    with pytest.raises(NotPlayable, match=r"step 9 of 10, Crash\(broker=2, log_end=1, checkpoint=0\): its broker comes back"):
        script(0, True)


@pytest.mark.slow
def test_leadership_moves_without_all_replicas_in_sync_only_since_2_4() -> None:
    asked = question("2.1", leadership_moves=True)
    found = run(asked, [CRASH.format(2), "BecomeLeader(leader=0)", "MoveLeadership(broker=1)"])
    with pytest.raises(NotPlayable, match=r"step 3 of 3, MoveLeadership\(broker=1\): to 2\.3 leadership is moved"):
        REPLICATION.prepare(asked, found, Brokers("2.1.1"))
    assert REPLICATION.prepare(asked, found, Brokers("2.4.1")).script.steps[2].order == (1, 0, 2)


def test_sessions_expire_with_kraft_alone() -> None:
    asked = question("2.1")
    with pytest.raises(ConfigurationError, match="outlast every run"):
        REPLICATION.prepare(asked, run(asked, [CRASH.format(2)]), Brokers("2.1.1", sessions_expire=True))
