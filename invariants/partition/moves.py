"""What `partition` promises while an operator moves it to other brokers."""

from __future__ import annotations

from collections.abc import Mapping

from acked.invariants.property import Property, promise
from acked.model.language.quantify import every, implies, truth
from acked.model.language.values import Bool
from acked.model.partition.rules.facts import moves_again
from acked.model.partition.rules.settings import eligible_leader_replicas, reassignment
from acked.model.partition.state import Replica, State
from acked.model.partition.vocabulary.assignment import is_moving, is_replica


def _lacks_reassignment(constants: Mapping[str, int]) -> str:
    return "" if constants["reassignment"] else "reassignment; set reassignment = true"


def _lacks_second_move(constants: Mapping[str, int]) -> str:
    lacks = "" if constants["moves"] != 1 else "second move, which could take the place of the first; set moves = 2"
    return _lacks_reassignment(constants) or lacks


def _lacks_eligible(constants: Mapping[str, int]) -> str:
    lacks = "" if constants["eligible_leader_replicas"] else "eligible leader replica; set eligible_leader_replicas = true"
    return lacks or _lacks_reassignment(constants)


# Specs are refused that ask these without what they are about; there each is trivially true.


@promise(
    "every in-sync replica is a replica: a broker that was removed counts for nothing",
    "the definition of the ISR; KAFKA-9672",
    "3.3 with KRaft",
    lacks=_lacks_reassignment,
)
def isr_within_replicas(s: State) -> Bool:
    """Every member of the ISR is a replica."""
    return every(s.controller.isr, lambda r: is_replica(s, r)) if reassignment.on else truth(True)


@promise(
    "the leader is one of the replicas, so a broker that was removed does not lead",
    "KIP-455",
    "3.3 with KRaft",
    lacks=_lacks_reassignment,
)
def leader_is_replica(s: State) -> Bool:
    """The controller's leader, if there is one, is a replica."""
    return every(Replica, lambda r: implies(s.controller.leader == r, is_replica(s, r)))


@promise("an eligible leader is always a replica", "KIP-966", "while the assignment does not change", lacks=_lacks_eligible)
def eligible_are_replicas(s: State) -> Bool:
    """Every eligible leader is a replica, and so is the last known leader."""
    if not (reassignment.on and eligible_leader_replicas.on):
        return truth(True)
    last = every(Replica, lambda r: implies(s.controller.last_leader == r, is_replica(s, r)))
    return every(s.controller.elr, lambda r: is_replica(s, r)) & last


@promise(
    "a reassignment ends when every replica of the new assignment is in sync, so it does not end with fewer copies",
    "KAFKA-15665",
    "with ZooKeeper; with KRaft from 3.8 to 4.2",
    lacks=_lacks_reassignment,
)
def moves_end_in_sync(before: State, after: State) -> Bool:
    """A reassignment that is not cancelled ends when every replica of the new assignment is in sync."""
    if not reassignment.on:
        return truth(True)
    old, new = before.controller, after.controller
    cancelled = is_moving(before) & (new.replicas == (old.replicas - old.adding))
    ends = (is_moving(before) | (old.replicas != new.replicas)) & ~is_moving(after) & ~cancelled
    return implies(ends, new.replicas.issubset(new.isr))


@promise(
    "a reassignment waits for the replicas that it adds and for no others, so it ends once those are in sync",
    "KAFKA-19975",
    "with KRaft to 3.7; from 4.3 where no more are removed than added",
    lacks=_lacks_reassignment,
)
def added_in_sync_ends_move(s: State) -> Bool:
    """While a reassignment that adds replicas is under way, one of those is not in sync."""
    if not reassignment.on:
        return truth(True)
    return implies(~s.controller.adding.is_empty, ~s.controller.adding.issubset(s.controller.isr))


@promise(
    "the reassignment that was asked for last, or the cancellation, is the one that the partition ends with",
    "KIP-455: a reassignment under way may be replaced",
    "with ZooKeeper from 2.4; with KRaft while no move takes the place of another",
    lacks=_lacks_second_move,
)
def last_asked_counts(s: State) -> Bool:
    """While no reassignment is under way the replicas are those that were asked for last."""
    if not moves_again.on:
        return truth(True)
    return implies(~is_moving(s), s.controller.replicas == s.controller.asked)


PROPERTIES: tuple[Property, ...] = (
    isr_within_replicas, leader_is_replica, eligible_are_replicas, moves_end_in_sync, added_in_sync_ends_move,
    last_asked_counts,
)  # fmt: skip
"""Moves: who counts, and when they are over."""
