"""kip101: a new follower asks the leader where the follower's last leader epoch ends, and truncates there.

That one rule (KIP-101, Kafka 0.11). The high watermark remains the fallback where the leader cannot answer,
and an epoch that the leader never saw still misleads the follower (KIP-279).
"""

from __future__ import annotations

from acked.model.language.protocol import Protocol
from acked.model.language.quantify import ite, least
from acked.model.replication.common import BEFORE_KIP_320, agreed_end, become_follower, says_become_follower, takes_up
from acked.model.replication.state import BUDGETS, CONSTANTS, Epoch, Offset, Replica, State, initial

kip101 = Protocol(
    "kip101",
    State,
    title="a new follower truncates to where its last leader epoch ends on the leader",
    source="KIP-101, Kafka 0.11; KAFKA-1211",
    constants=CONSTANTS,
    initial=initial,
    symmetric=(Replica,),
    budgets=BUDGETS,
    actions=BEFORE_KIP_320,
)


def end_offset_of_last_epoch(s: State, leader: Replica, replica: Replica) -> Offset:
    """The leader's answer to OffsetsForLeaderEpoch with the replica's last epoch; its high watermark if undefined."""
    log, mine = s.log[leader], s.log[replica]
    hw = s.replica[replica].hw
    last_epoch = mine.last.epoch
    start_of_next_epoch = least(Offset, lambda o: log.has(o) & (log.at(o).epoch > last_epoch), otherwise=hw)
    answer = ite(log.is_empty, hw, ite(log.last.epoch == last_epoch, log.end, start_of_next_epoch))
    return ite(mine.is_empty, mine.end, answer)


@kip101.action(says=says_become_follower, actor="replica", messages=(takes_up("replica"), agreed_end("replica")))
def become_follower_truncate_kip101(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    """A broker becomes a follower and truncates to the end of its last epoch, as the leader knows it."""
    become_follower(s, leader, replica, epoch, truncate_to=end_offset_of_last_epoch(s, leader, replica))
