"""truncate-to-hw: before Kafka 0.11 a new follower truncated its log to its own high watermark.

A follower's high watermark trails its leader's, so the rule can drop records that were
committed, and it keeps records that the leader never had (KIP-101 describes both; KAFKA-1211).
"""

from __future__ import annotations

from acked.model.language.protocol import Protocol
from acked.model.replication.common import BEFORE_KIP_320, become_follower, says_become_follower, takes_up
from acked.model.replication.state import BUDGETS, CONSTANTS, Epoch, Replica, State, initial

truncate_to_hw = Protocol(
    "truncate-to-hw",
    State,
    title="a new follower truncates to its own high watermark",
    source="Kafka 0.8 to 0.10.2; KAFKA-1211; the motivation of KIP-101",
    constants=CONSTANTS,
    initial=initial,
    symmetric=(Replica,),
    budgets=BUDGETS,
    actions=BEFORE_KIP_320,
)


@truncate_to_hw.action(says=says_become_follower, actor="replica", messages=(takes_up("replica"),))
def become_follower_truncate_to_high_watermark(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    """A broker becomes a follower and truncates its log to its own high watermark, without asking the leader."""
    become_follower(s, leader, replica, epoch, truncate_to=s.replica[replica].hw)
