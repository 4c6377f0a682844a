"""kip320-first-try: fencing by the epoch of the last record alone. Never shipped; kept as a negative control.

The first idea behind KIP-320. Leader and follower compare the epochs of records rather than the leader
epochs that they are in, and a follower truncates when it finds that the logs differ. A follower of an old epoch can still be
counted, and so a record that a majority of no current epoch holds is committed.
"""

from __future__ import annotations

from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every, smaller
from acked.model.language.telling import says_cut
from acked.model.language.values import Bool
from acked.model.replication.common import (
    CHANGED_ISR,
    CONTROL_AND_WRITE,
    FETCH,
    agreed_end,
    follows,
    hw_in_leader_epoch,
    leader_update,
    matching_point,
    presumes_leadership,
    replicate,
    require_newer_request,
    says_expand,
    says_fetch,
    says_hw,
    says_shrink,
    take_up_request,
    takes_up,
)
from acked.model.replication.state import BUDGETS, CONSTANTS, Epoch, Offset, Replica, State, initial

kip320_first_try = Protocol(
    "kip320-first-try",
    State,
    title="leaders and followers compare the epochs of records, not their own",
    source="an early draft of KIP-320, never shipped; negative control",
    constants=CONSTANTS,
    initial=initial,
    symmetric=(Replica,),
    budgets=BUDGETS,
    actions=CONTROL_AND_WRITE,
)


def is_caught_up_to_epoch(s: State, leader: Replica, follower: Replica, offset: Offset) -> Bool:
    """The follower follows a replica that presumes leadership, and both hold a record of one epoch below `offset`."""
    both = s.log[leader].has(offset - 1) & s.log[follower].has(offset - 1)
    same_epoch = s.log[leader].at(offset - 1).epoch == s.log[follower].at(offset - 1).epoch
    return presumes_leadership(s, leader) & follows(s, leader, follower) & ((offset == 0) | (both & same_epoch))


@kip320_first_try.action(says=says_hw, actor="leader")
def leader_inc_high_watermark(s: State, leader: Replica) -> None:
    """A leader commits the next offset once every ISR member holds a record of the same epoch there."""
    hw = s.replica[leader].hw
    require("presumes leadership", presumes_leadership(s, leader))
    require("leader holds the offset", s.log[leader].has(hw))
    require(
        "every ISR member is caught up to the epoch",
        every(s.replica[leader].isr, lambda f: is_caught_up_to_epoch(s, leader, f, hw + 1)),
    )
    s.replica[leader].hw = hw + 1


@kip320_first_try.action(says=says_shrink, actor="leader", messages=(CHANGED_ISR,))
def leader_shrink_isr(s: State, leader: Replica, follower: Replica) -> None:
    """The leader drops a follower that is not caught up to the epoch at its log end."""
    require("in the ISR", s.replica[leader].isr.contains(follower))
    require("not the leader itself", follower != leader)
    require("not caught up", ~is_caught_up_to_epoch(s, leader, follower, s.log[leader].end))
    leader_update(s, leader, s.replica[leader].isr.remove(follower))


@kip320_first_try.action(says=says_expand, actor="leader", messages=(CHANGED_ISR,))
def leader_expand_isr(s: State, leader: Replica, follower: Replica) -> None:
    """The leader admits a follower caught up to the epoch at its high watermark, once that has reached its epoch."""
    require("outside the ISR", ~s.replica[leader].isr.contains(follower))
    require("caught up to HW", is_caught_up_to_epoch(s, leader, follower, s.replica[leader].hw))
    require("HW in this epoch", hw_in_leader_epoch(s, leader))
    leader_update(s, leader, s.replica[leader].isr.add(follower))


@kip320_first_try.action(
    says=lambda t: (
        f"broker {t.replica} becomes follower of broker {t.leader} in leader epoch {t.epoch} and keeps its log as it is"
    ),
    actor="replica", messages=(takes_up("replica"),),
)
def become_follower(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    """A broker becomes a follower; it truncates later, when fetching shows that the logs differ."""
    require_newer_request(s, leader, replica, epoch)
    take_up_request(s, replica, epoch)


@kip320_first_try.action(says=says_fetch, actor="follower", messages=(FETCH,))
def follower_fetch(s: State, follower: Replica, leader: Replica) -> None:
    """A follower copies the next record if its last record is of the epoch that the leader has there."""
    require("same epoch at the log end", is_caught_up_to_epoch(s, leader, follower, s.log[follower].end))
    replicate(s, follower, leader)


@kip320_first_try.action(
    says=lambda t: f"broker {t.follower} finds that its log differs from broker {t.leader}'s and {says_cut(t, t.follower)}",
    actor="follower", messages=(agreed_end("follower"),),
)
def follower_truncate(s: State, follower: Replica, leader: Replica) -> None:
    """A follower whose log is longer than the leader's, or differs at its end, truncates to the matching point."""
    mine, log = s.log[follower], s.log[leader]
    require("presumes leadership", presumes_leadership(s, leader))
    require("follows", follows(s, leader, follower))
    differs = ~mine.is_empty & log.has(mine.end - 1) & (log.at(mine.end - 1).epoch != mine.last.epoch)
    require("longer or different at its end", (mine.end > log.end) | differs)
    point = matching_point(s, leader, follower)
    s.log[follower].truncate(point)
    s.replica[follower].hw = smaller(point, s.replica[follower].hw)
