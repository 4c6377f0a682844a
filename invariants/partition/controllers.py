"""What is said of controllers where several brokers race for the office, and what holds of it."""

from __future__ import annotations

from collections.abc import Mapping

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import has_session, is_true_leader, presumes_leadership
from acked.model.partition.rules.controllers import are_many, many_controllers
from acked.model.partition.state import Candidate, Replica, State
from acked.model.partition.vocabulary.candidates import is_in_charge, nothing_on_its_way, somebody_in_charge


def _lacks_controllers(constants: Mapping[str, int]) -> str:
    return "" if are_many(constants) else 'second controller; set controllers = "many"'


# Specs are refused that ask these without what they are about; there each is trivially true.


@promise(
    "only one broker takes itself for the controller: often said, and not so",
    "articles about the controller; KAFKA-6082",
    "never: one that has lost its session goes on until it notices",
    lacks=_lacks_controllers,
)
def one_controller(s: State) -> Bool:
    """Only one broker takes itself for the controller."""
    return every_two(Candidate, Candidate, lambda a, b: implies(s.candidate[a].active & s.candidate[b].active, a == b))


@promise(
    "two brokers may both act as controller, but never in the same controller epoch",
    "the conditional write of /controller_epoch",
    "0.8 with ZooKeeper",
    lacks=_lacks_controllers,
)
def one_controller_per_epoch(s: State) -> Bool:
    """No two brokers take themselves for the controller in one controller epoch."""

    def same_office(a: Candidate, b: Candidate) -> Bool:
        here, there = s.candidate[a], s.candidate[b]
        return here.active & there.active & (here.epoch == there.epoch)

    return every_two(Candidate, Candidate, lambda a, b: implies(same_office(a, b), a == b))


@promise(
    "a controller that holds /controller has a newer controller epoch than every other broker that acts as controller",
    "KAFKA-6082",
    "0.8 with ZooKeeper",
    lacks=_lacks_controllers,
)
def node_holder_is_newest(s: State) -> Bool:
    """Who holds /controller and takes itself for the controller has the newest controller epoch of all that do."""

    def newer(a: Candidate, b: Candidate) -> Bool:
        return is_in_charge(s, a) & s.candidate[b].active & (a != b)

    return every_two(Candidate, Candidate, lambda a, b: implies(newer(a, b), s.candidate[b].epoch < s.candidate[a].epoch))


@promise(
    "once the controller's requests have arrived, every live broker knows ZooKeeper's leader and its leader epoch",
    "KAFKA-6082, KAFKA-1120, KIP-380",
    "2.2 with ZooKeeper",
    lacks=_lacks_controllers,
)
def brokers_follow_zookeeper(s: State) -> Bool:
    """A broker to which nothing is on its way is in the leader epoch that ZooKeeper has, with the leader that it has."""

    def is_settled(r: Replica) -> Bool:
        return has_session(s, r) & nothing_on_its_way(s, r)

    def agrees(r: Replica) -> Bool:
        return (s.broker[r].leader == s.controller.leader) & (s.broker[r].leader_epoch == s.controller.leader_epoch)

    if not many_controllers.on:
        return truth(True)
    office = somebody_in_charge(s) & s.controller.leader.is_some
    return every(Replica, lambda r: implies(office & is_settled(r), agrees(r)))


@promise(
    "once the controller's requests have arrived, a broker that leads on does so in ZooKeeper's leader epoch, so that it "
    "can change the ISR",
    "KAFKA-2729, KAFKA-3042: \"Cached zkVersion not equal to that in zookeeper\"",
    "2.2 with ZooKeeper",
    lacks=_lacks_controllers,
)
def leader_knows_office(s: State) -> Bool:
    """A broker that leads and is ZooKeeper's leader, if nothing is on its way to it, leads in ZooKeeper's leader epoch."""

    def is_settled(r: Replica) -> Bool:
        leads = presumes_leadership(s, r) & (s.controller.leader == r)
        return leads & has_session(s, r) & nothing_on_its_way(s, r)

    if not many_controllers.on:
        return truth(True)
    office = somebody_in_charge(s)
    return every(Replica, lambda r: implies(office & is_settled(r), is_true_leader(s, r)))


@promise(
    "a leader does not wait for an answer to AlterPartition that nobody will give",
    "KAFKA-14154",
    "2.7 with ZooKeeper",
    lacks=_lacks_controllers,
)
def leader_is_answered(s: State) -> Bool:
    """A leader in office that has asked for another ISR does not wait for an answer that nobody will give."""

    def asks(r: Replica) -> Bool:
        return is_true_leader(s, r) & ~s.broker[r].pending.is_empty

    return every(Replica, lambda r: implies(asks(r), ~s.broker[r].unanswered))


@promise(
    "only a controller changes the ISR, so it stays as it is while there is none",
    "articles about the controller; KIP-497",
    "2.7 with ZooKeeper",
    lacks=_lacks_controllers,
)
def isr_changes_by_controller(before: State, after: State) -> Bool:
    """The ISR does not change while no broker takes itself for the controller."""
    if not many_controllers.on:
        return truth(True)
    has_one = some(Candidate, lambda c: before.candidate[c].active | after.candidate[c].active)
    return implies(before.controller.isr != after.controller.isr, has_one)


@promise(
    "when a leader is elected every live broker knows it: often said, and not so",
    "articles about metadata",
    "never: brokers hear of it one by one",
    lacks=_lacks_controllers,
)
def elections_are_known(s: State) -> Bool:
    """While there is a leader every broker with a session knows its leader epoch."""
    return implies(
        s.controller.leader.is_some,
        every(Replica, lambda r: implies(has_session(s, r), s.broker[r].leader_epoch == s.controller.leader_epoch)),
    )


@promise(
    "a new leader is one of the in-sync replicas",
    "the Kafka documentation, design: replication",
    "0.8, clean elections",
    lacks=_lacks_controllers,
)
def new_leader_from_isr(before: State, after: State) -> Bool:
    """A broker that ZooKeeper's leader becomes was in the ISR."""

    def becomes_leader(r: Replica) -> Bool:
        return (after.controller.leader == r) & (before.controller.leader != r)

    return every(Replica, lambda r: implies(becomes_leader(r), before.controller.isr.contains(r)))


PROPERTIES: tuple[Property, ...] = (
    one_controller, one_controller_per_epoch, node_holder_is_newest, brokers_follow_zookeeper, leader_knows_office,
    leader_is_answered, isr_changes_by_controller, elections_are_known, new_leader_from_isr,
)  # fmt: skip
"""Controllers: who is one, what brokers hear of them, and what they may write."""
