"""What brokers make of the requests of several controllers: they obey the newest that they know of, and refuse an old one.

What a broker takes from a controller is decided by the controller epoch that the broker knows. Everything here is there only
with `controllers = "many"`. Sources: `ReplicaManager` of 0.8.2 to 3.3; KIP-380, KAFKA-1120, KAFKA-14154.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.telling import Course, Ends, Fault, Tells, asks, says_set
from acked.model.partition.common import presumes_leadership, renumber_epochs
from acked.model.partition.following import drop_late_answer, follow, require_fetcher_removed, resign
from acked.model.partition.leading import take_office
from acked.model.partition.rules import controllers
from acked.model.partition.state import Candidate, Epoch, Replica, State
from acked.model.partition.vocabulary.candidates import has_arrived, is_on_its_way, next_request
from acked.model.partition.vocabulary.messages import ALTER_PARTITION, ANSWERS, LEADERSHIP, no_late_answer
from acked.model.partition.vocabulary.words import request_text, says_by, says_following, says_office


def arrives(broker: str) -> Tells:
    """The newest request of the controller to the broker arrives."""
    return Tells("controller", broker, request_text, Course.ARRIVES, LEADERSHIP)


def require_request(s: State, controller: Candidate, broker: Replica) -> None:
    """A request of somebody who takes itself for the controller is on its way to a broker that is up."""
    require("takes itself for the controller", s.candidate[controller].active)
    require("a request is on its way", is_on_its_way(s, controller, broker))
    require("up", ~s.broker[broker].down)


def take_request(s: State, controller: Candidate, broker: Replica) -> None:
    """The broker takes the request: it comes from as new a controller as the broker knows, which it remembers."""
    mine = s.candidate[controller]
    require("from as new a controller as it knows", s.broker[broker].known_controller <= mine.epoch)
    s.broker[broker].known_controller = mine.epoch
    has_arrived(s, controller, broker)


@action(
    says=lambda t: says_by(t) + says_office(t), when=lambda: controllers.many_controllers.on,
    actor="leader", messages=(arrives("leader"), Ends("leader", ALTER_PARTITION), no_late_answer("leader"), ANSWERS),
)
def become_leader_as_told(s: State, controller: Candidate, leader: Replica) -> None:
    """A broker is told that it leads, in a newer leader epoch than it knows."""
    require_request(s, controller, leader)
    named, epoch, isr = next_request(s, controller, leader)
    require("is to lead", named == leader)
    require("newer leader epoch", s.broker[leader].leader_epoch < epoch)
    take_request(s, controller, leader)
    take_office(s, leader, epoch, isr)


@action(
    says=lambda t: says_by(t) + says_following(t), when=lambda: controllers.many_controllers.on,
    actor="follower", messages=(arrives("follower"), Ends("follower", ALTER_PARTITION), no_late_answer("follower")),
)
def become_follower_as_told(s: State, controller: Candidate, follower: Replica, leader: Replica) -> None:
    """A broker is told whom to follow, in a newer leader epoch than it knows."""
    follow(s, follower, leader, epoch_of_request(s, controller, follower, leader))
    renumber_epochs(s)


def epoch_of_request(s: State, controller: Candidate, follower: Replica, leader: Replica) -> Epoch:
    """The broker takes a request to follow that leader; the leader epoch in it, which is newer than it knows."""
    require("another broker leads", leader != follower)
    require_request(s, controller, follower)
    named, epoch, _ = next_request(s, controller, follower)
    require("is to follow that leader", named == leader)
    require("newer leader epoch", s.broker[follower].leader_epoch < epoch)
    take_request(s, controller, follower)
    return epoch


@action(
    says=lambda t: (
        f"broker {t.broker} hears from candidate {t.controller}, in controller epoch "
        f"{t.after.candidate[t.controller].epoch}, of no newer leader epoch"
    ),
    when=lambda: controllers.many_controllers.on,
    actor="broker", messages=(arrives("broker"),),
)
def hear_of_controller(s: State, controller: Candidate, broker: Replica) -> None:
    """A request with a leader epoch that the broker knows changes nothing but the newest controller that it knows."""
    require_request(s, controller, broker)
    _, epoch, _ = next_request(s, controller, broker)
    require("no newer leader epoch", s.broker[broker].leader_epoch >= epoch)
    take_request(s, controller, broker)
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"broker {t.broker} knows controller epoch {t.before.broker[t.broker].known_controller} and refuses the request of "
        f"the old controller, candidate {t.controller}, in controller epoch {t.before.candidate[t.controller].epoch}"
    ),
    when=lambda: controllers.fails_over.on,
    actor="broker", messages=(arrives("broker"), Tells("broker", "controller", "STALE_CONTROLLER_EPOCH")),
)
def refuse_old_controller(s: State, controller: Candidate, broker: Replica) -> None:
    """STALE_CONTROLLER_EPOCH: the broker has heard from a newer controller."""
    require_request(s, controller, broker)
    mine = s.candidate[controller]
    require("from an older controller than it knows", s.broker[broker].known_controller > mine.epoch)
    has_arrived(s, controller, broker)


@action(
    says=lambda t: (
        f"a StopReplica request of candidate {t.controller}, meant for the broker that was shut down, reaches broker "
        f"{t.broker} when it is back; it follows nobody any more, and keeps its leader epoch"
    ),
    when=lambda: controllers.stops_late.on,
    actor="broker", fault=Fault.LATE, messages=(Tells("controller", "broker", "StopReplica"),),
)
def stop_replica_late(s: State, controller: Candidate, broker: Replica) -> None:
    """A StopReplica request to a broker's former incarnation stops the fetcher of the new one (KIP-380)."""
    mine = s.candidate[controller]
    require("takes itself for the controller", mine.active)
    require("a request is on its way", mine.stops.contains(broker))
    require("up", ~s.broker[broker].down)
    require("follows somebody", s.broker[broker].leader.is_some & ~presumes_leadership(s, broker))
    require_fetcher_removed(s, broker)
    require("from as new a controller as it knows", s.broker[broker].known_controller <= mine.epoch)
    mine.stops = mine.stops.remove(broker)
    s.broker[broker].known_controller = mine.epoch
    drop_late_answer(s, broker)
    resign(s, broker)
    s.broker[broker].leader = None
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"the request of leader {t.leader} comes to candidate {t.controller}, which is behind and answers "
        f"FENCED_LEADER_EPOCH; broker {t.leader} takes itself for deposed and asks no more"
    ),
    when=lambda: (
        controllers.asked_in_vain.on and controllers.fails_over.on and not controllers.behind_controller_resent.on
    ),
    actor="controller",
    messages=(
        *asks("leader", "controller", lambda t: f"AlterPartition: ISR {says_set(t.before.broker[t.leader].pending)}",
              "FENCED_LEADER_EPOCH"),
        Ends("leader", ALTER_PARTITION),
    ),
)  # fmt: skip
def answer_from_behind(s: State, controller: Candidate, leader: Replica) -> None:
    """A controller that knows an older leader epoch than the leader says that the leader is fenced (KAFKA-14154).

    No release does: 2.7.0 to 3.2.3 take a newer epoch than their own to ZooKeeper, whose refusal they answer with
    NOT_CONTROLLER; the check that did it (pull request 12032) and its mend (12506) were both new in 3.3.0.
    """
    broker, mine = s.broker[leader], s.candidate[controller]
    require("takes itself for the controller", mine.active)
    require("presumes leadership", presumes_leadership(s, leader))
    require("a change is in flight", ~broker.pending.is_empty)
    require("not answered already", ~broker.unanswered)
    require("knows an older leader epoch", broker.leader_epoch > mine.leader_epoch)
    broker.unanswered = True
