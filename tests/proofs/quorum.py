"""`partition`'s controller on top of `kraft`: who decides appends to the metadata log, and brokers read what is committed.

Its state is one of `kraft`, one of `partition` that stands for it, what each metadata record says, and how far each broker
has read. A record says which broker leads from which leader epoch on, as the leader that appends it makes it of its own log.
Where `kraft` commits one, the oracle of `partition` moves leadership (`MoveLeadership`); where a broker reads, it hears of
that (`BecomeLeader`, `BecomeFollower`). Where one of these cannot be done, or makes something else than the record says, the
two are marked `parted`: that they never are is a forward simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acked.invariants.property import Kind, Property
from acked.model.kraft import state as raft
from acked.model.kraft.protocol import kraft
from acked.model.kraft.replicating import write
from acked.model.kraft.settings import records
from acked.model.language.action import Action, action, require
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import each, ite, truth
from acked.model.language.state import Array, Optional, SetOf, Struct, field
from acked.model.language.values import Bool
from acked.model.partition import state as oracle
from acked.model.partition.common import has_session
from acked.model.partition.controlling import move_leadership
from acked.model.partition.following import become_follower, follow
from acked.model.partition.leading import become_leader, take_office
from acked.model.partition.protocol import partition
from tests.proofs.refinement import BARE, on, taken

NEWEST = "reads all that is decided"
"""The oracle's brokers hear of the newest decision and of none before it: one that reads an older one, once a newer has been
decided, has no counterpart. The clause leaves it out, and `HEARING_LATE` has it."""


class Decision(Struct):
    """What a metadata record says: a PartitionChangeRecord with a new leader."""

    leader = field(oracle.Replica, "who leads")
    epoch = field(oracle.Epoch, "from which leader epoch on")


class Joined(Struct):
    """Controllers that replicate decisions, beside the oracle that has made them."""

    quorum = field(raft.State, "the state of kraft")
    partition = field(oracle.State, "the state of partition")
    decision = field(Array(raft.EntryId, Decision), "what each metadata record says")
    read = field(Array(oracle.Replica, raft.Offset), "up to where each broker has read the metadata log")
    parted = field(Bool, "the oracle could not do what was decided, or a broker heard something else")


def _part(s: Joined, when: Bool, can: Bool) -> None:
    s.parted = s.parted | (when & ~can)


def _is_decision(entry: raft.Entry) -> Bool:
    return entry.id.is_some & (entry.id.value < records)


def _decide(s: Joined, start: raft.Offset) -> None:
    """What the quorum has committed from an offset on the oracle decides, one after the other."""
    for o in each(raft.Offset)[:-1]:
        entry = s.quorum.committed.at(o)
        is_new = (o >= start) & s.quorum.committed.has(o) & _is_decision(entry)
        said = s.decision[entry.id.value]
        _part(s, is_new, taken(s, move_leadership, s.partition, is_new, broker=said.leader))
        _part(s, is_new, s.partition.controller.leader_epoch == said.epoch)


def _above(item: Action) -> Action:
    """A step of the quorum, with what it decides."""

    def step(s: Joined, **arguments: Any) -> None:
        start = s.quorum.committed.end
        item.function(s.quorum, **arguments)
        _decide(s, start)

    return on(Joined, item, step, lambda t: item.name)


@action(says=lambda t: f"leader {t.leader} decides that broker {t.broker} is to lead")
def decide(s: Joined, leader: raft.Server, broker: oracle.Replica) -> None:
    """A leader of the quorum decides by its own log, committed or not, as the active controller does by its own memory."""
    log, newest, epoch = s.quorum.log[leader], oracle.Replica(each(oracle.Replica)[0].expr), each(oracle.Epoch)[0]
    for o in each(raft.Offset)[:-1]:
        said, counts = s.decision[log.at(o).id.value], log.has(o) & _is_decision(log.at(o))
        newest, epoch = ite(counts, said.leader, newest), ite(counts, said.epoch, epoch)
    require("another broker", broker != newest)
    record, start = s.quorum.next_record, s.quorum.committed.end
    write.function(s.quorum, leader)
    s.decision[record].leader = broker
    s.decision[record].epoch = epoch + 1
    _decide(s, start)


@action(says=lambda t: f"broker {t.broker} reads up to offset {t.until} from controller {t.server}")
def read(s: Joined, broker: oracle.Replica, server: raft.Server, until: raft.Offset) -> None:
    """A broker reads what a leader of the quorum says is committed, and takes up the newest of it (`MetadataLoader`)."""
    mine, log = s.quorum.server[server], s.quorum.log[server]
    require("leads", mine.leads)
    require("has not read it", s.read[broker] < until)
    require("is committed, as far as that one knows", until <= mine.hw)
    hears, leader, epoch = truth(False), each(oracle.Replica)[0], each(oracle.Epoch)[0]
    for o in each(raft.Offset)[:-1]:
        counts = (o >= s.read[broker]) & (o < until) & _is_decision(log.at(o))
        said = s.decision[log.at(o).id.value]
        hears, leader, epoch = hears | counts, ite(counts, said.leader, leader), ite(counts, said.epoch, epoch)
    require(NEWEST, ~hears | (epoch >= s.partition.controller.leader_epoch))
    s.read[broker] = until
    leads, follows = hears & (leader == broker), hears & (leader != broker)
    _part(s, leads, taken(s, become_leader, s.partition, leads, leader=broker))
    _part(s, follows, taken(s, become_follower, s.partition, follows, follower=broker, leader=leader))
    heard = s.partition.broker[broker]
    _part(s, hears, (heard.leader == leader) & (heard.leader_epoch == epoch))


def _initial(s: Joined) -> None:
    raft.initial(s.quorum)
    oracle.initial(s.partition)


_OURS = {constant.name for constant in kraft.constants}

JOINED = Protocol(
    "kraft and partition",
    Joined,
    title="partition, whose controller is a quorum",
    source=f"{kraft.source}; {partition.source}",
    constants=(*kraft.constants, *(item for item in partition.constants if item.name not in _OURS)),
    initial=_initial,
    actions=[*(_above(item) for item in kraft.actions if item is not write), decide, read],
)


def constants_of(**asked: Any) -> Mapping[str, Any]:
    """The constants of both; by default three brokers, three controllers and two decisions in two epochs."""
    size = {"replicas": 3, "log_size": 1, "max_leader_epoch": 2, "servers": 3, "records": 2, "max_epoch": 2}
    return {**BARE, "zombies": False, **size, "check_quorum": False, **asked}


ONE_CONTROLLER = Property(
    "OneController",
    Kind.STATE,
    lambda s: ~s.parted,
    "whatever a quorum of controllers decides, and brokers read of it, the one controller of partition could have decided",
    "a forward simulation; docs/controllers.md",
    "kraft, with brokers that read all that is decided",
)


# -- brokers that hear late ---------------------------------------------------------------------------------------------


class Said(Struct):
    """What the oracle decided in a leader epoch, as it first was."""

    leader = field(Optional(oracle.Replica), "who leads")
    isr = field(SetOf(oracle.Replica), "with which in-sync replicas")


class Late(Struct):
    """`partition`, and what its controller has said."""

    partition = field(oracle.State, "the state of partition")
    said = field(Array(oracle.Epoch, Said), "by leader epoch")


def _note(s: Late, when: Bool) -> None:
    controller = s.partition.controller
    noted = s.said[controller.leader_epoch]
    noted.leader = ite(when, controller.leader, noted.leader)
    noted.isr = ite(when, controller.isr, noted.isr)


def _noted(item: Action) -> Action:
    def step(s: Late, **arguments: Any) -> None:
        known = s.partition.controller.leader_epoch
        item.function(s.partition, **arguments)
        _note(s, s.partition.controller.leader_epoch != known)

    return on(Late, item, step, lambda t: item.name)


def _require_late(s: Late, broker: oracle.Replica, leader: oracle.Replica, epoch: oracle.Epoch) -> None:
    """The broker may take up a leader epoch that is over for the controller; one that has restarted catches up first."""
    known = s.partition.broker[broker].leader_epoch
    require("has a session", has_session(s.partition, broker))
    require("newer leader epoch", known.is_some & (known.value < epoch))
    require("is over", epoch < s.partition.controller.leader_epoch)
    require("led in it", s.said[epoch].leader == leader)


@action(says=lambda t: f"broker {t.leader} hears late that it leads in epoch {t.epoch}")
def lead_late(s: Late, leader: oracle.Replica, epoch: oracle.Epoch) -> None:
    """A broker takes office in a leader epoch that is over."""
    _require_late(s, leader, leader, epoch)
    take_office(s.partition, leader, epoch, s.said[epoch].isr)


@action(says=lambda t: f"broker {t.follower} hears late that broker {t.leader} leads in epoch {t.epoch}")
def follow_late(s: Late, follower: oracle.Replica, leader: oracle.Replica, epoch: oracle.Epoch) -> None:
    """A broker follows a leader in a leader epoch that is over."""
    require("another broker leads", leader != follower)
    _require_late(s, follower, leader, epoch)
    follow(s.partition, follower, leader, epoch)


def _begin_late(s: Late) -> None:
    oracle.initial(s.partition)
    _note(s, truth(True))


HEARING_LATE = Protocol(
    "partition, late",
    Late,
    title="partition, whose brokers may hear of a leader epoch that is over",
    source=partition.source,
    constants=partition.constants,
    initial=_begin_late,
    actions=[*(_noted(item) for item in partition.actions), lead_late, follow_late],
)


def of_late(promise: Property) -> Property:
    """A promise about states of `partition`, of those that hear late."""
    return replace(promise, predicate=lambda s: promise.predicate(s.partition))
