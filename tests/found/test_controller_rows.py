"""What the model says of quorums of controllers, on unmodified ones, each with its control."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from signal import SIGSTOP

import pytest

from acked.cluster.nodes.controllers import Controllers
from acked.cluster.waiting import wait_for
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.usefixtures("users_cache")]

NEWEST = pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
QUORUM_IS_CHECKED = 10.0
"""More seconds than those in which a leader resigns from whom no majority has fetched: one and a half fetch timeouts, 3."""
OUT = 20.0
"""Seconds after which a controller that joins by itself would long be a voter again."""
FIRST, SECOND = "86400001", "86400002"
"""Values of a default, which are found in a log as they are."""


def stood(them: Controllers, one: int) -> int:
    """How often a controller stood for election, or asked whether it may."""
    return sum("Completed transition to ProspectiveState" in line for line in them.log(one))


@NEWEST
@pytest.mark.parametrize("how", ["--standalone", "--no-initial-controllers"])
def test_a_new_disk_formatted_with_standalone_makes_a_second_leader_and_without_none(
    version: str, how: str, tmp_path: Path
) -> None:
    """Row and claim `controllers-standalone-again`."""
    real_plan(version, {})
    with Controllers(version, 3, tmp_path) as them:
        leader = them.replicated_leader()
        other = (leader + 1) % 3
        them.kill(other)
        them.lose_disk(other, how)
        them.start(other)
        if how == "--standalone":
            old = {0, 1, 2} - {other}  # Whichever of them leads by now.
            wait_for(
                lambda: them.voters(other) == {other} and any(them.voters(one) == {0, 1, 2} for one in old),
                "that the new disk leads, and another one beside it", 60.0,
            )
        else:
            wait_for(lambda: other in {one.replica_id for one in them.described(leader).observers}, "that it fetches", 60.0)
            assert them.described(other) is None


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "3.6.2"])
def test_two_of_three_formatted_disks_lose_what_was_acknowledged_to_a_static_quorum(version: str, tmp_path: Path) -> None:
    """Table of `docs/controllers.md`, static voters."""
    real_plan(version, {})
    with Controllers(version, 3, tmp_path, is_static=True) as them:
        them.replicated_leader()
        them.write_default(FIRST)
        them.replicated_leader()
        assert all(them.has_written(one, FIRST.encode()) for one in range(3))
        for one in range(3):
            them.kill(one)
        for one in (0, 1):
            them.lose_disk(one)
            them.start(one)
        leader = them.write_default(SECOND)
        assert them.has_written(leader, SECOND.encode())
        assert not them.has_written(leader, FIRST.encode())


@NEWEST
def test_two_of_three_formatted_disks_leave_a_dynamic_quorum_without_leader(version: str, tmp_path: Path) -> None:
    """Claim `controllers-two-formatted-dynamic`; the control of the test above."""
    real_plan(version, {})
    with Controllers(version, 3, tmp_path) as them:
        leader = them.replicated_leader()
        for one in range(3):
            them.kill(one)
        # Not the leader, which would stop at its start: it is told that it leads in an epoch that it does not know of.
        for one in {0, 1, 2} - {leader}:
            them.lose_disk(one, "--no-initial-controllers")
        before = stood(them, leader)
        for one in range(3):
            them.start(one)
        # The one voter that is left stands in vain, again and again.
        wait_for(lambda: stood(them, leader) >= before + 10, "that it stands", 240.0)
        assert them.leader() is None


@pytest.mark.parametrize("version", ["4.4.0", "4.2.2"])
@pytest.mark.parametrize("joins", [True, False])
def test_a_removed_controller_comes_back_by_itself_with_auto_join_and_else_stays_out(
    version: str, joins: bool, tmp_path: Path
) -> None:
    """Row 85, KAFKA-19850."""
    real_plan(version, {})
    settings = {"controller.quorum.auto.join.enable": str(joins).lower()}
    with Controllers(version, 3, tmp_path, settings=settings) as them, ExitStack() as stack:
        leader = them.replicated_leader()
        other = (leader + 1) % 3
        them.remove(other, leader, stack)
        wait_for(lambda: them.voters(leader) == {0, 1, 2} - {other}, "that it is removed", 10.0)
        if joins:
            wait_for(lambda: them.voters(leader) == {0, 1, 2}, "that it is a voter again", 60.0)
        else:
            time.sleep(OUT)
            assert them.voters(leader) == {0, 1, 2} - {other}


@pytest.mark.parametrize(("version", "resigns"), [("3.6.2", False), ("3.7.2", True), ("4.4.0", True)])
def test_a_leader_that_nobody_fetches_from_leads_on_before_3_7_and_resigns_since(
    version: str, resigns: bool, tmp_path: Path
) -> None:
    """Row 86, KAFKA-15489."""
    real_plan(version, {})
    with Controllers(version, 3, tmp_path, is_static=True) as them:
        leader = them.replicated_leader()
        them.signal([one for one in range(3) if one != leader], SIGSTOP)
        time.sleep(QUORUM_IS_CHECKED)
        assert (them.described(leader) is None) == resigns
