"""The lemmas of `partition` where one machine may die with records that were not flushed (KIP-966).

Whose log counts may then be fewer than whom the controller names. These lemmas say that somebody is left; where no machine of
an in-sync replica dies they say nothing.
"""

from __future__ import annotations

from acked.invariants.partition.lemmas.words import leads_in_newest_epoch, lemma, may_commit, one_machine_dies
from acked.model.language.quantify import every, implies, ite, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import presumes_leadership
from acked.model.partition.rules.settings import alter_bumps_epoch, consumer, leadership_moves, shrink_bumps_epoch, zombies
from acked.model.partition.state import ACKED, RecordId, Replica, State


@lemma("who acts as leader is the controller's", "no zombies, no moves")
def leaders_are_true(s: State) -> Bool:
    """Where no session is lost and leadership never moves, who takes itself for the leader leads in the newest epoch.

    For whoever stops leading has gone down, and forgets. So without a leader nobody counts anybody, the last leader whose
    machine died least of all. Without it Crash breaks KnownEndIsHeld (2, 1, 1).
    """
    ends_silently = zombies.on or leadership_moves.on or shrink_bumps_epoch.on or alter_bumps_epoch.on
    if not one_machine_dies.on or ends_silently:
        return truth(True)

    def is_true(r: Replica) -> Bool:
        return implies(presumes_leadership(s, r), leads_in_newest_epoch(s, r) & (s.controller.leader == r))

    return every(Replica, is_true)


@lemma("whose machine died is down and eligible", "KIP-966")
def killed_are_eligible(s: State) -> Bool:
    """Whose machine died is down and an eligible leader; while none has died there is no such broker.

    So whoever is elected or joins the ISR has its log. Without it ElectLeader breaks AckedInPlace, CommitQuorum (2, 1, 1).
    """
    if not one_machine_dies.on:
        return truth(True)
    killed = s.killed
    kept = every(killed, lambda r: s.broker[r].down & s.controller.elr.contains(r))
    return kept & implies(s.lossy_left > 0, killed.is_empty)


@lemma("two may be elected, or one after a machine died", "KIP-966")
def somebody_is_left(s: State) -> Bool:
    """Once anything may be committed: two brokers may be elected, and one of those after a machine has died.

    Every ISR that is large enough to commit has two members, if min.insync.replicas is at least 2, and who leaves one that
    becomes too small stays eligible. So a log that counts is left, and the last known leader, which may have lost its own, is
    elected only where nothing was ever committed. Without it Crash breaks AckedInPlace, CommitQuorum (2, 1, 1).
    """
    if not one_machine_dies.on:
        return truth(True)

    def is_named(r: Replica) -> Bool:
        return s.controller.isr.contains(r) | s.controller.elr.contains(r)

    two = some(Replica, lambda a: is_named(a) & some(Replica, lambda b: (a != b) & is_named(b)))
    one = some(Replica, lambda r: is_named(r) & ~s.killed.contains(r))
    nothing = every(Replica, lambda r: (s.broker[r].hw == 0) & ~(presumes_leadership(s, r) & may_commit(s, r)))
    nothing &= every(RecordId, lambda i: ~(s.producer.status[i] == ACKED))
    if consumer.value:
        nothing &= s.consumer.offset.is_none
    return nothing | ite(s.lossy_left > 0, two, one)
