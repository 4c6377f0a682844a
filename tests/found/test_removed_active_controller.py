"""The active one of two controllers is removed and stops before the other has the change: no leader ever again.

The controls: the other has fetched the change; nobody stops; of three controllers, the two that are left have a majority of
the voters that they know.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest

from acked.cluster.nodes.controllers import Controllers
from acked.cluster.waiting import NotSeen, wait_for
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

VERSIONS = pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
FETCH_IS_OVER = 1.0
"""Seconds after which a follower's last fetch is answered, without records: it waits for half a second at the leader."""
QUORUM_IS_CHECKED = 8.0
"""More seconds than those in which a leader resigns from whom no majority has fetched: one and a half fetch timeouts, 3."""
STUCK = 40.0
"""Seconds without a leader that are enough: an election takes one to five."""


def remove_active(them: Controllers, stack: ExitStack, in_ignorance: bool) -> int:
    """Removes the controller that leads; it has the change in its log, and the others do not have it if `in_ignorance`."""
    leader = them.replicated_leader()
    others = [one for one in them.running if one != leader]
    if in_ignorance:
        them.signal(others, SIGSTOP)
        time.sleep(FETCH_IS_OVER)
    them.remove(leader, leader, stack)
    if in_ignorance:
        wait_for(lambda: them.voters(leader) == set(others), "that the change is in the log", 5.0)
    return leader


def crash_and_return(them: Controllers, leader: int) -> None:
    """It crashes, the others go on, and it starts again with what is on its disk."""
    them.kill(leader)
    them.signal(them.running, SIGCONT)
    them.start(leader)


def is_without_leader(them: Controllers) -> bool:
    """Whether nobody leads for as long as an election would take many times; both answer meanwhile."""
    try:
        wait_for(lambda: them.leader() is not None, "a leader", STUCK)
    except NotSeen:
        return all(jvm.is_running for jvm in them.running.values())
    return False


def said(them: Controllers, one: int, *words: str) -> bool:
    """Whether the newest tenth of a controller's log has a line with all these words."""
    lines = them.log(one)
    return any(all(word in line for word in words) for line in lines[-len(lines) // 10 :])


@VERSIONS
def test_the_active_one_of_two_controllers_crashes_after_its_removal_and_nobody_leads_any_more(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    with Controllers(version, 2, tmp_path) as them, ExitStack() as stack:
        removed = remove_active(them, stack, in_ignorance=True)
        crash_and_return(them, removed)
        assert is_without_leader(them)
        assert said(them, removed, "Vote request", f"replicaId={1 - removed},", "preVote=true", "is rejected")
        assert said(them, 1 - removed, "Completed transition to ProspectiveState", f"{removed}=VoterState")
        assert not any("Completed transition to ProspectiveState" in line for line in them.log(removed)[-200:])


@VERSIONS
def test_an_interruption_alone_does_no_harm_and_the_removed_controller_leads_on(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    real_plan(version, {})
    with Controllers(version, 2, tmp_path) as them, ExitStack() as stack:
        removed = remove_active(them, stack, in_ignorance=True)
        time.sleep(QUORUM_IS_CHECKED)
        assert them.leader() == removed  # Of one voter it asks for no fetches, and be that another (KAFKA-16144).
        them.signal([1 - removed], SIGCONT)
        assert them.replicated_leader() == removed  # It does not resign: its request was over before the commit.
        crash_and_return(them, removed)
        wait_for(lambda: them.leader() == 1 - removed, "that the other leads", 60.0)


@VERSIONS
@pytest.mark.parametrize(("count", "in_ignorance"), [(2, False), (3, True)])
def test_another_leads_if_it_has_the_change_or_two_others_are_left(
    version: str, count: int, in_ignorance: bool, users_cache: None, tmp_path: Path
) -> None:
    real_plan(version, {})
    with Controllers(version, count, tmp_path) as them, ExitStack() as stack:
        removed = remove_active(them, stack, in_ignorance)
        if not in_ignorance:
            wait_for(lambda: them.leader() not in (None, removed), "that the other leads", 60.0)
        crash_and_return(them, removed)
        others = set(range(count)) - {removed}
        wait_for(lambda: them.leader() in others, "that another leads", 60.0)
        leader = them.replicated_leader()  # What it wrote as leader is committed.
        assert leader in others
        # Of three controllers the removed one alone had the change, and another leader has it not.
        assert them.voters(leader) == ({removed, *others} if in_ignorance else others)
