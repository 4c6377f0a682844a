"""kip279: a new follower truncates to the point up to which its log agrees with the leader's.

That one rule (KIP-279, Kafka 2.0; KAFKA-6361). Asking epoch by epoch finds the last offset at which both
logs hold the same record, which is what the rule states. Nothing fences a leader or follower of an old epoch (KIP-320).
"""

from __future__ import annotations

from acked.model.language.protocol import Protocol
from acked.model.replication.common import (
    BEFORE_KIP_320,
    agreed_end,
    become_follower,
    matching_point,
    says_become_follower,
    takes_up,
)
from acked.model.replication.state import BUDGETS, CONSTANTS, Epoch, Replica, State, initial

kip279 = Protocol(
    "kip279",
    State,
    title="a new follower truncates to where its log and the leader's agree",
    source="KIP-279, Kafka 2.0; KAFKA-6361",
    constants=CONSTANTS,
    initial=initial,
    symmetric=(Replica,),
    budgets=BUDGETS,
    actions=BEFORE_KIP_320,
)


@kip279.action(says=says_become_follower, actor="replica", messages=(takes_up("replica"), agreed_end("replica")))
def become_follower_truncate_kip279(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    """A broker becomes a follower and truncates to the matching point of the two logs."""
    become_follower(s, leader, replica, epoch, truncate_to=matching_point(s, leader, replica))
