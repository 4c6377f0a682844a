"""The assignment of the partition while an operator moves it, and what of that every rule needs to know.

Who is a replica, as the controller and as a leader know it, and the completion of a move within another change of the
partition (KRaft). Without `reassignment` every broker is a replica, and nothing here adds a clause. The moves themselves are
actions (`reassigning.py`). Sources: `PartitionReassignmentReplicas` and `PartitionChangeBuilder` of 3.3 to 4.4; KAFKA-15665,
KAFKA-19975.
"""

from __future__ import annotations

from acked.model.language.action import require
from acked.model.language.quantify import abbreviate, ite, truth
from acked.model.language.sets import SetValue
from acked.model.language.state import none_of
from acked.model.language.values import Bool
from acked.model.partition.rules import settings
from acked.model.partition.rules.facts import moves_again
from acked.model.partition.state import Replica, State

# -- who is a replica -------------------------------------------------------------------------------------------------


def is_replica(s: State, r: Replica) -> Bool:
    """The controller's assignment names the broker, as one of the old replicas or of the new."""
    return s.controller.replicas.contains(r) if settings.reassignment.on else truth(True)


def require_replica_of(s: State, leader: Replica, follower: Replica) -> None:
    """The leader answers fetches of those alone that it knows to be replicas."""
    if settings.reassignment.on:
        require("a replica, as the leader knows", s.broker[leader].assigned.contains(follower))


def keeps_something(s: State, r: Replica) -> Bool:
    """The broker has a log of the partition, or has heard of its leader."""
    return ~s.log[r].is_empty | s.broker[r].leader_epoch.is_some


def require_part(s: State, r: Replica) -> None:
    """What befalls a broker is told only where it concerns the partition: it is a replica, or still has what it was sent."""
    if settings.reassignment.on:
        named = s.controller.elr.contains(r)
        require("has a part in the partition", is_replica(s, r) | keeps_something(s, r) | named)


def take_up_assignment(s: State, leader: Replica) -> None:
    """A leader hears which replicas there are."""
    s.broker[leader].assigned = s.controller.replicas


def has_heard_of_removal(s: State, broker: Replica) -> None:
    """Of a removal that was taken back the broker will hear nothing any more: it has newer metadata."""
    if moves_again.on:
        s.controller.returned = s.controller.returned.remove(broker)


# -- completion -------------------------------------------------------------------------------------------------------


def is_moving(s: State) -> Bool:
    """A reassignment is under way."""
    return ~(s.controller.adding | s.controller.removing).is_empty


def is_complete(s: State, isr: SetValue[Replica]) -> Bool:
    """A reassignment is under way, and with this ISR it is over."""
    c = s.controller
    target, in_sync = c.replicas - c.removing, isr - c.removing
    over = is_moving(s) & ~target.is_empty & ~in_sync.is_empty
    if settings.move_completion.value == settings.ADDED_IN_SYNC:
        over &= c.adding.issubset(in_sync)
    elif settings.move_completion.value == settings.ALL_IN_SYNC:
        over &= target.issubset(in_sync)
    else:
        over &= c.adding.issubset(in_sync) & (c.adding.as_many_as(c.removing) | target.issubset(in_sync))
    return abbreviate(over)


def complete(s: State, isr: SetValue[Replica], may: Bool) -> tuple[SetValue[Replica], Bool]:
    """Completes a reassignment in the record of another change, where there `may` be one.

    The result is the ISR, and whether that takes a new leader epoch. With KRaft this is part of every change of the
    partition. The removed leave the ISR; a leader among them is none any more, and one that stays takes office again in a new
    leader epoch, if anybody was removed.
    """
    if not (settings.reassignment.on and settings.moves_in_one_record.on):
        return isr, truth(False)
    c = s.controller
    over = may & is_complete(s, isr)
    removed = c.removing
    stays = over & ~removed.is_empty & c.leader.is_some & ~removed.contains(c.leader)
    c.leader = ite(over & removed.contains(c.leader), None, c.leader)
    c.replicas = ite(over, c.replicas - removed, c.replicas)
    c.adding = ite(over, none_of(Replica), c.adding)
    c.removing = ite(over, none_of(Replica), c.removing)
    return ite(over, isr - removed, isr), stays
