"""The lemmas of `partition` where an operator moves it to other brokers: who of those that are named is a replica.

Who was removed goes on as it was until it hears of it, as a deposed leader does, and then deletes its log. The controller may
name it still, as an eligible leader; so who counts is who is named *and* a replica (`is_electable`). Where nobody reassigns
these lemmas say nothing. Each says what it is for, and which action breaks which claim if it is left out (brokers, offsets,
records; min.insync.replicas is one less than brokers).
"""

from __future__ import annotations

from acked.invariants.partition.lemmas.words import lemma, may_yet_join
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import counted_isr, is_true_leader, presumes_leadership
from acked.model.partition.rules.facts import moves_again
from acked.model.partition.rules.settings import eligible_leader_replicas, reassignment
from acked.model.partition.state import Replica, State
from acked.model.partition.vocabulary.assignment import is_moving, is_replica


@lemma("every member of the ISR is a replica", "KIP-455")
def isr_are_replicas(s: State) -> Bool:
    """Every member of the controller's ISR is a replica.

    So that a log is deleted takes nothing from the ISR. Without it DeleteReplica breaks AckedRecordsInIsr, CommittedInIsr,
    HwWithinIsr (2, 1, 1).
    """
    return s.controller.isr.issubset(s.controller.replicas) if reassignment.on else truth(True)


@lemma("a leader counts those that it knows as replicas", "KIP-455")
def counted_are_assigned(s: State) -> Bool:
    """Whomever a leader counts it knows to be a replica.

    So does whom it asks for. Without it CommitAlterPartition breaks IsrAreReplicas (2, 1, 1).
    """
    if not reassignment.on:
        return truth(True)

    def is_known(r: Replica) -> Bool:
        return implies(presumes_leadership(s, r), counted_isr(s, r).issubset(s.broker[r].assigned))

    return every(Replica, is_known)


@lemma("the leader knows the assignment, or it is news", "KIP-455")
def assignment_is_known(s: State) -> Bool:
    """The current leader in the newest epoch knows the assignment, or there is news for it.

    So a request that is not outdated names replicas. Without it CommitAlterPartition breaks IsrAreReplicas (2, 1, 1).
    """
    if not reassignment.on:
        return truth(True)

    def knows(r: Replica) -> Bool:
        is_told = is_true_leader(s, r) & ~s.broker[r].outdated
        return implies(is_told, s.broker[r].assigned == s.controller.replicas)

    return every(Replica, knows)


@lemma("before a move every eligible leader is a replica", "KIP-966")
def named_are_replicas(s: State) -> Bool:
    """Every eligible leader and the last leader is a replica, as long as another reassignment may be asked for.

    And while only one may be asked for, none is under way before. Where there may be several this is so only with
    min.insync.replicas=1: else who was removed may stay an eligible leader, and be a replica again, whatever it lacks.
    Without it Reassign breaks AckedInPlace, CommitQuorum (2, 1, 1).
    """
    if not (reassignment.on and eligible_leader_replicas.on):
        return truth(True)
    last = s.controller.last_leader
    named = s.controller.elr.issubset(s.controller.replicas)
    named &= every(Replica, lambda r: implies(last == r, is_replica(s, r) & s.controller.isr.is_empty))
    return named if moves_again.on else implies(s.moves_left > 0, named & ~is_moving(s))


@lemma("who was removed is in no epoch of a present leader", "KIP-455")
def removed_are_late(s: State) -> Bool:
    """Where brokers may come back, who was removed and may not have heard is in no epoch of a present leader.

    So no leader takes it in before it has heard. Without it AskToExpand breaks ReturnedAreOut (2, 1, 1).
    """
    if not moves_again.on:
        return truth(True)

    def is_late(r: Replica) -> Bool:
        known = s.broker[r].leader_epoch
        was_removed = ~is_replica(s, r) | s.controller.returned.contains(r)
        return implies(was_removed & s.controller.leader.is_some, known.is_none | (known < s.controller.leader_epoch))

    return every(Replica, is_late)


@lemma("who may delete its log though it is back does not count", "KIP-455")
def returned_are_out(s: State) -> Bool:
    """Who is back and may yet hear that it had been removed is not in the ISR, no eligible leader, and will not join.

    So it may delete its log though it is a replica. Without it DeleteReplica breaks AckedInPlace, CommitQuorum (2, 1, 1).
    """
    if not moves_again.on:
        return truth(True)

    def is_out(r: Replica) -> Bool:
        named = s.controller.isr.contains(r)
        if eligible_leader_replicas.on:
            named |= s.controller.elr.contains(r) | (s.controller.last_leader == r)
        return ~named & ~some(Replica, lambda m: may_yet_join(s, m, r))

    return every(s.controller.returned, is_out)
