"""The controller: sessions, what makes it forget eligible leaders, and elections.

A broker that loses its session while it lives does not notice (zombies). Which of several candidates is elected is left
open, which covers every order of the assignment.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import ite, some, truth
from acked.model.language.state import none_of
from acked.model.language.telling import CONTROLLER, Ends, Fault, Telling, says_set
from acked.model.language.values import Bool
from acked.model.partition.common import elect, has_session, lose_broker, renumber_epochs, set_eligible
from acked.model.partition.rules import settings
from acked.model.partition.rules.controllers import ONE, controllers
from acked.model.partition.state import Replica, State
from acked.model.partition.vocabulary.assignment import complete, is_replica, require_part
from acked.model.partition.vocabulary.candidates import notices_return
from acked.model.partition.vocabulary.messages import ELECTION, LEADERSHIP
from acked.model.partition.vocabulary.words import says_gone

# -- what makes the controller forget eligible leaders ------------------------------------------------------------------


@action(
    says=lambda t: "min.insync.replicas is set anew; the controller forgets the eligible leaders and who led last",
    when=lambda: settings.config_changes.on and settings.eligible_leader_replicas.on,
    actor=CONTROLLER,
)
def change_configuration(s: State) -> None:
    """The topic's min.insync.replicas is set, if only to what it was: ELR and last known leader are cleared (KIP-966)."""
    require("there is something to forget", ~s.controller.elr.is_empty | s.controller.last_leader.is_some)
    set_eligible(s, none_of(Replica))
    s.controller.last_leader = None


@action(
    says=lambda t: "a replica is assigned to another log directory; the controller forgets the eligible leaders",
    when=lambda: (
        settings.directories_move.on and settings.eligible_leader_replicas.on and not settings.assignment_keeps_elr.on
    ),
    actor=CONTROLLER,
)
def move_directory(s: State) -> None:
    """A broker says that a replica is in another directory (JBOD): to 4.2 the change that records it clears the ELR."""
    require("a broker is up to say so", some(Replica, lambda r: has_session(s, r)))
    require("there is something to forget", ~s.controller.elr.is_empty)
    set_eligible(s, none_of(Replica))


# -- sessions ---------------------------------------------------------------------------------------------------------


@action(
    says=lambda t: f"broker {t.broker} loses its session with the controller and does not know{says_gone(t)}",
    when=lambda: settings.zombies.on,
    actor="broker", fault=Fault.SESSION, messages=(Ends("broker", LEADERSHIP),),
)
def lose_session(s: State, broker: Replica) -> None:
    """The controller takes a live broker for dead: a long pause or a cut network; the broker goes on as it was."""
    require("has a session", has_session(s, broker))
    require_part(s, broker)
    s.controller.gone = s.controller.gone.add(broker)
    lose_broker(s, broker)
    renumber_epochs(s)


@action(
    says=lambda t: f"broker {t.broker} has a session with the controller again", when=lambda: settings.zombies.on,
    actor="broker", fault=Fault.SESSION,
)
def regain_session(s: State, broker: Replica) -> None:
    """A broker that was taken for dead registers again."""
    require("up", ~s.broker[broker].down)
    require("without a session", s.controller.gone.contains(broker))
    s.controller.gone = s.controller.gone.remove(broker)
    notices_return(s, broker)


# -- elections --------------------------------------------------------------------------------------------------------


def is_candidate(s: State, broker: Replica) -> Bool:
    """A clean election may choose the broker.

    That is a live member of the ISR; with KIP-966, if the ISR is empty, a live eligible leader, and if there is none either,
    the last known leader.
    """
    eligible = s.controller.isr.contains(broker)
    if settings.eligible_leader_replicas.on:
        empty = s.controller.isr.is_empty
        eligible |= empty & s.controller.elr.contains(broker)
        eligible |= empty & s.controller.elr.is_empty & (s.controller.last_leader == broker)
    eligible &= has_session(s, broker)
    return eligible & is_replica(s, broker) if settings.reassignment.on else eligible


def _says_elected(t: Telling) -> str:
    before, after = t.before.controller, t.after.controller
    who = f"broker {t.broker}"
    if t.broker in getattr(before, "elr", []):
        who += ", an eligible leader replica,"
    elif getattr(before, "last_leader", None) == t.broker and t.broker not in before.isr:
        who += ", the last known leader,"
    return f"{who} as leader in epoch {after.leader_epoch}, ISR {says_set(after.isr)}"


@action(
    says=lambda t: f"the controller elects {_says_elected(t)}",
    when=lambda: controllers.value == ONE,
    actor=CONTROLLER, messages=(ELECTION,),
)
def elect_leader(s: State, broker: Replica) -> None:
    """There is no leader: the controller elects a live in-sync replica, or with KIP-966 an eligible one."""
    require("no leader", s.controller.leader.is_none)
    require("candidate", is_candidate(s, broker))
    isr = s.controller.isr
    elect(s, broker, ite(isr.contains(broker), isr, none_of(Replica).add(broker)))
    renumber_epochs(s)


@action(
    says=lambda t: f"no in-sync replica is alive, and the controller elects another, uncleanly: {_says_elected(t)}",
    when=lambda: settings.unclean_election.on and controllers.value == ONE,
    actor=CONTROLLER, fault=Fault.UNCLEAN, messages=(ELECTION,),
)
def elect_uncleanly(s: State, broker: Replica) -> None:
    """With unclean.leader.election.enable any live replica is elected if no other can be; what it lacks is lost."""
    require("no leader", s.controller.leader.is_none)
    require("has a session", has_session(s, broker))
    if settings.reassignment.on:
        require("a replica", is_replica(s, broker))
    require("no candidate", ~some(Replica, lambda r: is_candidate(s, r)))
    elect(s, broker, none_of(Replica).add(broker))
    if settings.eligible_leader_replicas.on:
        set_eligible(s, none_of(Replica))
    renumber_epochs(s)


@action(
    says=lambda t: f"the controller moves leadership: {_says_elected(t)}",
    when=lambda: settings.leadership_moves.on and controllers.value == ONE,
    actor=CONTROLLER, messages=(ELECTION,),
)
def move_leadership(s: State, broker: Replica) -> None:
    """Preferred election, a reassignment, or a controlled shutdown: another in-sync replica leads while the leader lives."""
    require("there is a leader", s.controller.leader.is_some)
    require("another broker", s.controller.leader != broker)
    isr, known = s.controller.isr, s.controller.replicas
    if settings.reassignment.on:
        isr, _ = complete(s, isr, truth(True))
        require("a replica", is_replica(s, broker))
    require("in the ISR", isr.contains(broker))
    require("has a session", has_session(s, broker))
    elect(s, broker, isr, known)
    renumber_epochs(s)
