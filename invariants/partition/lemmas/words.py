"""What the lemmas of `partition` speak of: whose log counts, who may commit, who is about to join the ISR.

Predicates that are said once and used by several lemmas, `every_heeded` above all; docs/partition_proof.md explains them.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.invariants.property import Property, promise
from acked.model.language.context import fact
from acked.model.language.quantify import abbreviate, every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import enough_in_sync, presumes_leadership, share_epoch
from acked.model.partition.rules import settings
from acked.model.partition.rules.controllers import many_controllers
from acked.model.partition.rules.facts import begins_again, dies_uncleanly
from acked.model.partition.state import Offset, Replica, State
from acked.model.partition.vocabulary.assignment import is_replica


def lemma(text: str, origin: str) -> Callable[[Callable[[State], Bool]], Property]:
    """Makes a lemma of a predicate; `origin` is the lemma of KIP-320's proof that it comes from, or what it is about."""
    return promise(text, origin, "the latest release, where no in-sync replica loses its log")


def epochs_run_ahead() -> bool:
    """Whether a leader's epoch may be outdated though nobody else led, and it goes on with what it knew when it hears.

    To 3.5, and with ZooKeeper, the controller takes a new leader epoch when a broker leaves the ISR; with KRaft also when a
    reassignment ends that removes somebody.
    """
    takes_epochs = settings.shrink_bumps_epoch.on or settings.alter_bumps_epoch.on or settings.reassignment.on
    return takes_epochs and not settings.reelection_forgets_ends.on


one_machine_dies = fact(
    lambda has: has[settings.crashes.name] == settings.LOSSY_CRASHES
    and has[settings.lossy_crashes.name] == 1
    and not has[settings.kills.name]
    and dies_uncleanly.make(has)
)
"""Whether one machine may die, an in-sync replica's too, and its broker tells by registering again (KIP-966).

Processes are not killed: a broker that died without its machine would be struck off the eligible leaders as well.
"""


def leads_in_newest_epoch(s: State, r: Replica) -> Bool:
    """r presumes leadership in the newest leader epoch."""
    return presumes_leadership(s, r) & (s.broker[r].leader_epoch == s.controller.leader_epoch)


def is_electable(s: State, r: Replica) -> Bool:
    """A clean election may choose r, once alive: it is in the ISR, or with KIP-966 an eligible leader replica.

    While the ISR is empty the last leader is one of them: it is elected if none is left. An eligible leader whose machine
    died is none of them: it is down, and no eligible leader once it is back.
    """
    chosen = s.controller.isr.contains(r)
    if one_machine_dies.on:
        chosen |= s.controller.elr.contains(r) & ~s.killed.contains(r)
        chosen |= s.controller.isr.is_empty & s.controller.elr.is_empty & (s.controller.last_leader == r)
    elif settings.eligible_leader_replicas.on:
        chosen |= s.controller.elr.contains(r)
        chosen |= s.controller.isr.is_empty & (s.controller.last_leader == r)
    # Whoever is named and was removed is not elected.
    return abbreviate(chosen & is_replica(s, r) if settings.reassignment.on else chosen)


def is_heeded(s: State, r: Replica) -> Bool:
    """r's log counts: r may be elected, or it takes itself for the leader and somebody who may be elected is in its epoch.

    An electable broker that has not heard of the newest epoch still truncates to the leader that it has, so that leader's
    log decides what the electable one keeps.
    """
    is_followed = some(Replica, lambda m: is_electable(s, m) & share_epoch(s, r, m))
    return abbreviate(is_electable(s, r) | (presumes_leadership(s, r) & is_followed))


def every_electable(s: State, body: Callable[[Replica], Bool]) -> Bool:
    """The body holds of everybody whom a clean election may choose."""
    return every(Replica, lambda r: implies(is_electable(s, r), body(r)))


def every_heeded(s: State, body: Callable[[Replica], Bool]) -> Bool:
    """The body holds of everybody whose log counts."""
    return every(Replica, lambda r: implies(is_heeded(s, r), body(r)))


def may_commit(s: State, leader: Replica) -> Bool:
    """The ISR that the leader knows is large enough for its high watermark to move."""
    return enough_in_sync(s.broker[leader].isr, s.broker[leader].assigned) if settings.strict_min_isr.on else truth(True)


def may_yet_join(s: State, leader: Replica, f: Replica) -> Bool:
    """The leader has asked for an ISR with f in it, and the controller may still commit that (AlterPartition only)."""
    broker = s.broker[leader]
    asked = broker.pending.contains(f) & ~broker.outdated
    return asked & leads_in_newest_epoch(s, leader) & (s.controller.leader == leader)


def takes_office_again() -> bool:
    """Whether a broker may lead twice in one leader epoch: it restarts, and the next controller tells it what it led in.

    Its high watermark may be lower then, and the start of its epoch is its log end.
    """
    return many_controllers.on and begins_again.on


def is_behind_leader(s: State, leader: Replica, o: Offset) -> Bool:
    """The offset is below the leader's high watermark, or below where it took office, if it may have done that twice."""
    committed = o < s.broker[leader].hw
    return committed | (o < s.broker[leader].began) if takes_office_again() else committed


def reaches_own_epoch(s: State, leader: Replica, f: Replica) -> Bool:
    """The leader knows that the follower has reached its high watermark and everything below its own epoch.

    That is `has_caught_up` of what the leader knows, said without looking for the place where the epoch starts.
    """
    known, own, log = s.known_end[leader][f], s.broker[leader].leader_epoch, s.log[leader]
    older = every(Offset, lambda o: implies(log.has(o) & ~(own == log.at(o).epoch), known > o))
    reached = (known >= s.broker[leader].hw) & older
    return reached & (known >= s.broker[leader].began) if takes_office_again() else reached


def knows_no_more(s: State, leader: Replica, f: Replica) -> Bool:
    """The leader knows nothing of f; where epochs run ahead f may also be behind in an epoch of the same leader, or in none.

    In these it cannot truncate before it hears of the leader's newest epoch.
    """
    nothing = s.known_end[leader][f].is_none
    if not epochs_run_ahead():
        return nothing
    return nothing | (s.broker[f].leader == leader) | s.broker[f].leader_epoch.is_none
