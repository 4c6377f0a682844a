"""The race for /controller with ZooKeeper, and what controllers write, the one in charge and old ones.

A broker that creates the ephemeral node /controller is the controller, and reads the partition's state and the list of
brokers. If its session ends, or somebody deletes the node, another may create it, while the first goes on as the controller
until it notices. What a controller may write is decided by ZooKeeper. Everything here is there only with `controllers =
"many"`. Sources: `KafkaController`, `PartitionStateMachine`, `KafkaZkClient` of 0.8.2 to 3.3; KAFKA-6082.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import ite, some, those, truth
from acked.model.language.state import none_of
from acked.model.language.telling import CONTROLLER, Course, Ends, Fault, Telling, Tells, Those, says_set
from acked.model.language.values import Bool
from acked.model.partition.common import commit_isr, elect, has_session, note_change, renumber_epochs, take_epoch, take_out
from acked.model.partition.rules import controllers
from acked.model.partition.rules.settings import leadership_moves, unclean_election
from acked.model.partition.state import Candidate, Replica, State
from acked.model.partition.vocabulary.candidates import (
    has_written,
    is_a_controller,
    is_in_charge,
    learn,
    leave,
    send,
    takes_for_dead,
)
from acked.model.partition.vocabulary.messages import LEADERSHIP
from acked.model.partition.vocabulary.words import request_text

# -- words and messages -----------------------------------------------------------------------------------------------


SENT = Tells(
    "controller", Those(Replica, lambda t: t.after.candidate[t.controller].due), request_text, Course.DEPARTS, LEADERSHIP,
    lambda t: (t.after.candidate[t.controller].leader_epoch, t.after.candidate[t.controller].epoch),
)  # fmt: skip
"""A LeaderAndIsr request to every broker that the controller takes for alive and that it tells something new."""


def _node(t: Telling) -> str:
    node = t.after.controller
    return f"leader {node.leader}, leader epoch {node.leader_epoch}, ISR {says_set(node.isr)}"


CREATED = Tells("controller", CONTROLLER, "create /controller")
WRITTEN = (Tells("controller", CONTROLLER, _node), SENT)
"""What a controller writes to ZooKeeper, whose lane is the controller's where there is one, and what it sends then."""


def _says_who(t: Telling) -> str:
    if t.before.zookeeper.controller != t.controller:
        return f"candidate {t.controller}, which is the controller no longer and has not noticed,"
    return f"the controller, candidate {t.controller},"


def _says_loaded(t: Telling) -> str:
    before, after, mine = t.before.controller, t.after.controller, t.after.candidate[t.controller]
    text = f"in controller epoch {mine.epoch}; it reads leader {before.leader} and ISR {says_set(before.isr)}"
    if before.isr != after.isr:
        text += f", writes the ISR {says_set(after.isr)}"
    if before.leader != after.leader:
        text += ", whose leader is gone"
    told = f"tells brokers {says_set(mine.due)}" if mine.due else "tells nobody anything new"
    return f"{text}, and {told}"


def _says_state(t: Telling) -> str:
    node = t.after.controller
    leader = "no leader" if node.leader is None else f"leader {node.leader}"
    return f"ZooKeeper has {leader} in leader epoch {node.leader_epoch} and ISR {says_set(node.isr)}"


# -- the race for /controller -----------------------------------------------------------------------------------------


@action(
    says=lambda t: (
        f"/controller goes, with the session of candidate {t.controller} or deleted by somebody; candidate {t.controller} "
        "does not know"
    ),
    when=lambda: controllers.fails_over.on,
    actor="controller", fault=Fault.SESSION,
)
def expire(s: State, controller: Candidate) -> None:
    """The controller's node goes, and it goes on as it was: its session has ended (a long pause, a cut network), or an
    operator has deleted the node.

    Nothing is written in a session that has ended. To 1.0 a broker goes on with what it had begun in its next session; from
    1.1 on it resigns first (KAFKA-5473), so only one whose node was deleted still writes. 1.0.2 and 2.0.1 were seen to.
    """
    require("holds /controller", s.zookeeper.controller == controller)
    s.zookeeper.controller = None


@action(
    says=lambda t: f"candidate {t.controller} notices that it is the controller no longer, and resigns",
    when=lambda: controllers.fails_over.on,
    actor="controller", messages=(Ends("controller"),),
)
def resign_as_controller(s: State, controller: Candidate) -> None:
    """An old controller hears that its session has ended, or is refused by ZooKeeper; what it had not sent is not sent."""
    require("takes itself for the controller", is_a_controller(s, controller))
    require("does not hold /controller", s.zookeeper.controller != controller)
    leave(s, controller)
    renumber_epochs(s)


@action(
    says=lambda t: f"candidate {t.controller} creates /controller and is the controller {_says_loaded(t)}",
    when=lambda: controllers.fails_over.on and not controllers.elected_in_two_steps.on,
    actor="controller", messages=(CREATED, SENT),
)
def become_controller(s: State, controller: Candidate, shrinks: Bool) -> None:
    """The first candidate to create /controller is the controller, in the next controller epoch; the others watch the node.

    From 2.1 both are one write (KAFKA-6082).
    """
    require("there is no /controller", s.zookeeper.controller.is_none)
    require("does not take itself for the controller", ~is_a_controller(s, controller))
    s.zookeeper.controller = controller
    take_charge(s, controller, shrinks)


@action(
    says=lambda t: f"candidate {t.controller} creates /controller, and has no controller epoch yet",
    when=lambda: controllers.fails_over.on and controllers.elected_in_two_steps.on,
    actor="controller", messages=(CREATED,),
)
def create_controller_node(s: State, controller: Candidate) -> None:
    """To 2.0 the controller epoch is a second write, which names the version that was read before."""
    require("there is no /controller", s.zookeeper.controller.is_none)
    require("does not take itself for the controller", ~is_a_controller(s, controller))
    s.zookeeper.controller = controller
    s.candidate[controller].created = True
    s.candidate[controller].epoch = s.zookeeper.epoch


@action(
    says=lambda t: f"candidate {t.controller}, which created /controller, begins {_says_loaded(t)}",
    when=lambda: controllers.fails_over.on and controllers.elected_in_two_steps.on,
    actor="controller", messages=(SENT,),
)
def take_controller_epoch(s: State, controller: Candidate, shrinks: Bool) -> None:
    """The second write succeeds if nobody has taken a controller epoch since; whose /controller is there is not asked."""
    require("has created /controller", s.candidate[controller].created)
    require("nobody has taken a controller epoch since", s.candidate[controller].epoch == s.zookeeper.epoch)
    s.candidate[controller].created = False
    take_charge(s, controller, shrinks)


@action(
    says=lambda t: f"candidate {t.controller} cannot take the next controller epoch, which another has taken, and gives up",
    when=lambda: controllers.fails_over.on and controllers.elected_in_two_steps.on,
    actor="controller",
)
def fail_to_take_epoch(s: State, controller: Candidate) -> None:
    """The second write fails (ControllerMovedException): /controller goes, if it is the candidate's, and all race again."""
    require("has created /controller", s.candidate[controller].created)
    require("another has taken a controller epoch", s.candidate[controller].epoch != s.zookeeper.epoch)
    keeper = s.zookeeper
    keeper.controller = ite(keeper.controller == controller, None, keeper.controller)
    leave(s, controller)
    renumber_epochs(s)


def take_charge(s: State, controller: Candidate, shrinks: Bool) -> None:
    """The next controller epoch is the candidate's; it reads everything, and sends the partition's state to all live brokers.

    A leader that is gone is none any more. Followers that died before are taken out of the ISR or not, which `shrinks` leaves
    open: to 0.10 at least they are not (KAFKA-3143).
    """
    if controllers.max_controller_epoch.value:
        require("a controller epoch is left", s.zookeeper.epoch < controllers.max_controller_epoch)
    s.zookeeper.epoch = s.zookeeper.epoch + 1
    mine = s.candidate[controller]
    mine.epoch = s.zookeeper.epoch
    mine.active = True
    mine.live = those(Replica, lambda r: has_session(s, r))
    leader, isr = s.controller.leader, s.controller.isr
    replace_the_dead(s, shrinks)
    s.zookeeper.written_by = ite(
        (s.controller.leader != leader) | (s.controller.isr != isr), mine.epoch, s.zookeeper.written_by
    )
    learn(s, controller, truth(True))
    send(s, controller, truth(True), lambda r: has_session(s, r))
    renumber_epochs(s)


def replace_the_dead(s: State, shrinks: Bool) -> None:
    """What a new controller makes of a leader, and of members of the ISR, that are gone; the ISR does not become empty."""
    c, isr = s.controller, s.controller.isr

    def is_dead(r: Replica) -> Bool:
        return isr.contains(r) & ~has_session(s, r)

    require("one of two equal cases", ~shrinks | some(Replica, lambda r: is_dead(r) & (c.leader != r)))
    leads_on = some(Replica, lambda r: (c.leader == r) & has_session(s, r))
    rest = isr - those(Replica, lambda r: is_dead(r) & (shrinks | (c.leader == r)))
    rest = ite(rest.is_empty, isr, rest)
    take_epoch(s, leads_on & (rest != isr))
    c.leader = ite(leads_on, c.leader, None)
    note_change(s, rest != isr)
    commit_isr(s, rest)


# -- what a controller writes -----------------------------------------------------------------------------------------


def may_write(s: State, c: Candidate) -> Bool:
    """ZooKeeper takes what the candidate writes about the partition.

    From 2.1 a write names the version of /controller_epoch, which no newer controller may have changed (KAFKA-6082). Before,
    it names the version of the partition's own node, which the controller has read; it refrains if a newer one wrote that.
    """
    if controllers.old_controllers_refused.on:
        return s.zookeeper.epoch == s.candidate[c].epoch
    return s.zookeeper.written_by <= s.candidate[c].epoch


def require_may_write(s: State, controller: Candidate) -> None:
    """A controller, old or new, whose write ZooKeeper takes."""
    require("takes itself for the controller", s.candidate[controller].active)
    require("ZooKeeper takes what it writes", may_write(s, controller))


@action(
    says=lambda t: (
        f"{_says_who(t)} finds broker {t.broker} gone; {_says_state(t)}, which it tells "
        f"{says_set(t.after.candidate[t.controller].due)}"
    ),
    when=lambda: controllers.fails_over.on,
    actor="controller", messages=WRITTEN,
)
def take_out_as_controller(s: State, controller: Candidate, broker: Replica) -> None:
    """An old controller handles an event from before it lost its session: a broker is gone.

    It leaves the ISR, and the leadership if it had it. Who is in charge has noticed at once.
    """
    require_may_write(s, controller)
    mine = s.candidate[controller]
    require("is not in charge", ~is_in_charge(s, controller))
    require("it takes the broker for alive", mine.live.contains(broker))
    require("the broker has no session", ~has_session(s, broker))
    leader, isr = s.controller.leader, s.controller.isr
    require("there is something to write", (leader == broker) | (isr.contains(broker) & ~isr.is_only(broker)))
    take_out(s, broker, truth(True))
    takes_for_dead(s, controller, broker, truth(True))
    has_written(s, controller, truth(True))
    renumber_epochs(s)


@action(
    says=lambda t: f"{_says_who(t)} elects broker {t.broker}; {_says_state(t)}",
    when=lambda: controllers.many_controllers.on,
    actor="controller", messages=WRITTEN,
)
def elect_as_controller(s: State, controller: Candidate, broker: Replica) -> None:
    """There is no leader: a controller elects an in-sync replica that it takes for alive."""
    require_may_write(s, controller)
    mine, isr = s.candidate[controller], s.controller.isr
    require("no leader", s.controller.leader.is_none & mine.leader.is_none)
    require("in the ISR", isr.contains(broker))
    require("alive, as far as it knows", mine.live.contains(broker))
    elect(s, broker, isr & mine.live)
    has_written(s, controller, truth(True))
    renumber_epochs(s)


@action(
    says=lambda t: f"{_says_who(t)} elects broker {t.broker}, which is not in sync, uncleanly; {_says_state(t)}",
    when=lambda: controllers.many_controllers.on and unclean_election.on,
    actor="controller", fault=Fault.UNCLEAN, messages=WRITTEN,
)
def elect_uncleanly_as_controller(s: State, controller: Candidate, broker: Replica) -> None:
    """With unclean.leader.election.enable any broker that the controller takes for alive is elected if no other can be."""
    require_may_write(s, controller)
    mine = s.candidate[controller]
    require("no leader", s.controller.leader.is_none & mine.leader.is_none)
    require("alive, as far as it knows", mine.live.contains(broker))
    require("no candidate", (s.controller.isr & mine.live).is_empty)
    elect(s, broker, none_of(Replica).add(broker))
    has_written(s, controller, truth(True))
    renumber_epochs(s)


@action(
    says=lambda t: f"{_says_who(t)} moves leadership to broker {t.broker}; {_says_state(t)}",
    when=lambda: controllers.many_controllers.on and leadership_moves.on,
    actor="controller", messages=WRITTEN,
)
def move_leadership_as_controller(s: State, controller: Candidate, broker: Replica) -> None:
    """Preferred election: another in-sync replica leads while the leader lives."""
    require_may_write(s, controller)
    mine = s.candidate[controller]
    require("there is a leader", s.controller.leader.is_some & mine.leader.is_some)
    require("another broker", s.controller.leader != broker)
    require("in the ISR", s.controller.isr.contains(broker))
    require("alive, as far as it knows", mine.live.contains(broker))
    elect(s, broker, s.controller.isr)
    has_written(s, controller, truth(True))
    renumber_epochs(s)
