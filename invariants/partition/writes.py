"""What `partition` promises to producers while one broker is down.

Availability as an invariant: the states in which everybody has heard of the crash and nothing but the broker's return can
help.
"""

from __future__ import annotations

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import enough_in_sync, has_session, is_true_leader
from acked.model.partition.controlling import is_candidate
from acked.model.partition.rules.settings import ACKS_ALL, acks, asynchronous_isr, unclean_election
from acked.model.partition.state import Replica, State

# Antecedents are written without `implies`: asked when a promise says anything, an implication stands for its own antecedent.


def _at_most_one_is_down(s: State) -> Bool:
    return every_two(Replica, Replica, lambda a, b: has_session(s, a) | has_session(s, b) | (a == b))


def _has_heard(s: State, leader: Replica) -> Bool:
    """The current leader knows the committed ISR and has asked for no other."""
    broker = s.broker[leader]
    known = is_true_leader(s, leader) & (broker.isr == s.controller.isr)
    return known & broker.pending.is_empty if asynchronous_isr.on else known


@promise(
    "while one broker is down and the others keep up, there is a leader or one can be elected, and it accepts writes",
    "min.insync.replicas in the broker configuration; NOT_ENOUGH_REPLICAS",
    "with more replicas than min.insync.replicas, or another acks than all and two replicas",
)
def writes_with_one_down(s: State) -> Bool:
    """With at most one broker down and the others in sync, a leader is there or can be elected, and takes writes."""
    others_keep_up = every(Replica, lambda r: ~has_session(s, r) | s.controller.isr.contains(r))
    can_be_led = s.controller.leader.is_some | some(Replica, lambda r: is_candidate(s, r))
    if unclean_election.on:
        can_be_led |= some(Replica, lambda r: has_session(s, r))
    takes_writes = truth(True)
    if acks.value == ACKS_ALL:
        takes_writes = every(
            Replica, lambda r: implies(_has_heard(s, r), enough_in_sync(s.broker[r].isr, s.broker[r].assigned))
        )
    return implies(_at_most_one_is_down(s) & others_keep_up, can_be_led & takes_writes)


@promise(
    "while one broker is down there is a leader or one can be elected, however far behind the others were before",
    "unclean.leader.election.enable in the broker configuration; KIP-966",
    "with unclean elections and two replicas; the last in-sync replica may be the one that is down",
)
def leader_with_one_down(s: State) -> Bool:
    """With at most one broker down, in sync or not, a leader is there or can be elected."""
    can_be_led = s.controller.leader.is_some | some(Replica, lambda r: is_candidate(s, r))
    if unclean_election.on:
        can_be_led |= some(Replica, lambda r: has_session(s, r))
    return implies(_at_most_one_is_down(s), can_be_led)


PROPERTIES: tuple[Property, ...] = (writes_with_one_down, leader_with_one_down)
"""Availability, that of writes first."""
