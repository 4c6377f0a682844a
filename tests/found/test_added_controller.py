"""A voter fails for good while a fourth is added that nobody has heard of: no leader, though three of four are there.

The leader that appends the change stops before anybody has it. Another is elected without it, and has a LeaderChange record
that the new controller alone fetches. Then that leader fails for good. Who has the change asks for three votes of four, and
the new controller's log is newer; the last voter asks for two of three, and the other's log is longer; the new controller
does not know that it is a voter.

The controls: nobody was being added; the failed voter comes back with its disk.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from acked.cluster.nodes.controllers import Controllers
from acked.cluster.proxies.frame import Frame
from acked.cluster.proxies.network import Network
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.usefixtures("users_cache")]

NEW = 3
PATIENT = {"controller.quorum.fetch.timeout.ms": "6000"}
"""Thrice Kafka's own: a leader from whom nobody fetches resigns after nine seconds, not three."""
STUCK = 60.0
"""Seconds without a leader that are enough: an election takes up to ten."""


def is_of(one: int, frame: Frame) -> bool:
    """Whether a controller sent the request."""
    return f"raft-client-{one}".encode() in frame.payload


def has_all(them: Controllers, leader: int, one: int) -> bool:
    """Whether the leader knows that a controller has its whole log."""
    found = them.described(leader)
    ends = {} if found is None else {int(r.replica_id): r.log_end_offset for r in (*found.current_voters, *found.observers)}
    return leader in ends and ends.get(one) == ends[leader]


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
@pytest.mark.parametrize("adds", [True, False])
def test_a_voter_that_fails_for_good_while_a_fourth_is_added_leaves_no_leader(
    version: str, adds: bool, tmp_path: Path
) -> None:
    real_plan(version, {})
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        them = stack.enter_context(Controllers(version, 4, tmp_path, joining=1, network=network, settings=PATIENT))
        first = them.replicated_leader()
        apart = network.hold(api=Api.FETCH, predicate=lambda frame: not is_of(NEW, frame))
        unheard = network.hold(api=Api.FETCH, predicate=lambda frame: is_of(NEW, frame))

        def is_held(one: int) -> bool:
            return any(is_of(one, frame) for frame in (*apart.held, *unheard.held))

        # A follower sends its next fetch once it has the answer to the last one.
        wait_for(lambda: all(is_held(one) for one in them.running if one != first), "that no fetch is at the leader", 5.0)
        if adds:
            them.add(NEW, first, stack)
            wait_for(lambda: them.voters(first) == {0, 1, 2, NEW}, "that the change is in the leader's log", 8.0)
        them.kill(first)
        unheard.lift()
        [second] = wait_for(
            lambda: [one for one in them.running if has_all(them, one, NEW)], "that the new one alone has it", 60.0
        )
        them.kill(second)
        apart.lift()
        them.start(first)
        try:
            wait_for(lambda: them.leader() is not None, "a leader", STUCK)
        except NotSeen:
            assert adds
            assert all(jvm.is_running for jvm in them.running.values())
            them.start(second)
            wait_for(lambda: them.leader() is not None, "that its disk brings a leader back", 60.0)
        else:
            assert not adds
