"""kip320: every exchange between leader and follower is fenced by the leader epoch both are in.

The rules that KIP-320 (Kafka 2.1; of fetches in effect from 2.5, KAFKA-9338) made: a leader counts, admits
and feeds only followers of its own leader epoch, a broker becomes a follower only of a leader that has taken up the
announced epoch, and truncates to the point where the logs agree. Elections, becoming leader and writing are as before
(`common.py`).
"""

from __future__ import annotations

from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every
from acked.model.replication.common import (
    CHANGED_ISR,
    CONTROL_AND_WRITE,
    FETCH,
    agreed_end,
    become_follower,
    follows_in_epoch,
    has_reached,
    hw_in_leader_epoch,
    leader_update,
    matching_point,
    presumes_leadership,
    replicate,
    says_become_follower,
    says_expand,
    says_fetch,
    says_hw,
    says_shrink,
    takes_up,
)
from acked.model.replication.state import BUDGETS, CONSTANTS, Epoch, Replica, State, initial

kip320 = Protocol(
    "kip320",
    State,
    title="leaders and followers are fenced by leader epoch",
    source="KIP-320, Kafka 2.1, of fetches in effect from 2.5; KAFKA-6880, KAFKA-7128, KAFKA-9338",
    constants=CONSTANTS,
    initial=initial,
    symmetric=(Replica,),
    budgets=BUDGETS,
    actions=CONTROL_AND_WRITE,
)


@kip320.action(says=says_hw, actor="leader")
def fenced_leader_inc_high_watermark(s: State, leader: Replica) -> None:
    """A leader commits the next offset once every ISR member follows it in its leader epoch and holds that offset.

    That the broker presumes leadership is not asked: it follows as soon as one ISR member follows it in its epoch.
    """
    hw = s.replica[leader].hw
    require("leader holds the offset", s.log[leader].has(hw))
    require(
        "every ISR member follows in this epoch and holds the offset",
        every(s.replica[leader].isr, lambda f: follows_in_epoch(s, leader, f) & s.log[f].has(hw)),
    )
    s.replica[leader].hw = hw + 1


@kip320.action(says=says_shrink, actor="leader", messages=(CHANGED_ISR,))
def fenced_leader_shrink_isr(s: State, leader: Replica, follower: Replica) -> None:
    """The leader drops a follower that is not in its epoch or lags behind its log end."""
    require("in the ISR", s.replica[leader].isr.contains(follower))
    require("not the leader itself", follower != leader)
    lags = s.log[follower].end < s.log[leader].end
    require("in another epoch or lagging", ~follows_in_epoch(s, leader, follower) | lags)
    leader_update(s, leader, s.replica[leader].isr.remove(follower))


@kip320.action(says=says_expand, actor="leader", messages=(CHANGED_ISR,))
def fenced_leader_expand_isr(s: State, leader: Replica, follower: Replica) -> None:
    """The leader admits a follower of its epoch that has reached its high watermark (KAFKA-7128).

    Its high watermark must have reached its own epoch first: before that it may trail what earlier leaders committed.
    """
    require("outside the ISR", ~s.replica[leader].isr.contains(follower))
    require("follows in this epoch", follows_in_epoch(s, leader, follower))
    require("caught up to HW", has_reached(s, follower, s.replica[leader].hw))
    require("HW in this epoch", hw_in_leader_epoch(s, leader))
    leader_update(s, leader, s.replica[leader].isr.add(follower))


@kip320.action(says=says_become_follower, actor="replica", messages=(takes_up("replica"), agreed_end("replica")))
def fenced_become_follower_and_truncate(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    """A broker becomes follower of a leader that has taken up that epoch, and truncates to the matching point."""
    require("leader presumes leadership", presumes_leadership(s, leader))
    require("leader is in the request's epoch", s.replica[leader].leader_epoch == epoch)
    become_follower(s, leader, replica, epoch, truncate_to=matching_point(s, leader, replica))


@kip320.action(says=says_fetch, actor="follower", messages=(FETCH,))
def fenced_follower_fetch(s: State, follower: Replica, leader: Replica) -> None:
    """A follower copies the next record from a leader of the same leader epoch."""
    require("follows in this epoch", follows_in_epoch(s, leader, follower))
    replicate(s, follower, leader)
