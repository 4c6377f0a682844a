"""The state of `partition`: what brokers, controller, producer and consumer know and believe.

There is no more in a state than the configuration needs; a part that it turns off has no field. What was left out on purpose,
and why that is sound, is in `docs/abstractions.md`.
"""

from __future__ import annotations

from acked.model.language.quantify import for_each, ite, one_of, some_of
from acked.model.language.state import Array, Log, Optional, Present, SetOf, Struct, all_of, field
from acked.model.language.values import Bool, Id, Int
from acked.model.partition.rules.controllers import (
    candidate_count,
    elected_in_two_steps,
    highest_controller_epoch,
    many_controllers,
    misses_incarnations,
    queues,
    remembers_writer,
    stops_late,
)
from acked.model.partition.rules.facts import (
    asks_in_epoch,
    begins_again,
    counts_moves,
    dies_uncleanly,
    empties,
    forgets_fetched_epoch,
    hears_first,
    highest_epoch,
    keeps_empty_epochs,
    loses,
    moves_again,
    numbers_anew,
    reports_directory,
    sessions_end,
    truncates_by_request,
    truncates_late,
    waits,
    waits_in_vain,
)
from acked.model.partition.rules.settings import (
    assigned,
    asynchronous_isr,
    consumer,
    crashes,
    eligible_leader_replicas,
    empty_disks,
    late_answers,
    log_size,
    lossy_crashes,
    moves,
    offset_queries,
    producer_restarts,
    reassignment,
    records,
    replicas,
    zombies,
)


class Replica(Id, size=replicas):
    """A broker that holds a copy of the partition."""


class Candidate(Id, size=candidate_count):
    """A broker without a copy of the partition that may be the controller."""


class Offset(Int, lo=0, hi=log_size):
    """A position in the log, a log end or a high watermark."""


class Epoch(Int, lo=0, hi=highest_epoch, name="leader epoch"):
    """A leader epoch, or its rank among those in use."""


class ControllerEpoch(Int, lo=0, hi=highest_controller_epoch, name="controller epoch"):
    """A controller epoch, or its rank among those in use."""


class RecordId(Int, lo=0, hi=records - 1, name="record"):
    """A record as the application knows it; a retry sends the same one again."""


class Session(Int, lo=0, hi=producer_restarts):
    """How often the producer had been restarted: its producer id."""


class Status(Int, lo=0, hi=3):
    """What the producer knows of a record."""


class Lossy(Int, lo=0, hi=lossy_crashes, name="number of lossy crashes"):
    """How many crashes may still lose a suffix."""


class EmptyDisks(Int, lo=0, hi=empty_disks, name="number of empty disks"):
    """How many disks may still be replaced by empty ones."""


class Moves(Int, lo=0, hi=moves, name="number of reassignments"):
    """How many reassignments may still be asked for."""


UNSENT, SENT, ACKED, FAILED = range(4)
"""Values of `Status`: not sent yet; sent, and no answer that counts; acknowledged; given up."""


class Record(Struct):
    """One record of a log."""

    id = field(RecordId, "which record")
    epoch = field(Epoch, "the epoch of the leader that appended it")
    session = field(Present(Session, producer_restarts), "the producer id it was sent under")


class Broker(Struct):
    """What one broker holds in memory about the partition; everything but the high watermark is gone while it is down."""

    down = field(Present(Bool, crashes), "it has crashed and not come back")
    hw = field(Offset, "its high watermark; of a broker that is down, the one in its checkpoint")
    leader_epoch = field(Optional(Epoch), "the newest leader epoch it knows; none since it restarted")
    leader = field(Optional(Replica), "whom it takes for the leader")
    isr = field(SetOf(Replica), "of a leader: the in-sync replicas it knows to be committed")
    pending = field(Present(SetOf(Replica), asynchronous_isr), "of a leader: the ISR it has asked the controller for, if any")
    outdated = field(Present(Bool, asynchronous_isr), "of a leader: the controller has changed the ISR since it last heard")
    began = field(Present(Offset, begins_again), "of a leader: its log end when it took office, the start of its epoch")
    unanswered = field(Present(Bool, waits_in_vain), "of a leader: the answer to its request for another ISR is lost")
    empty_epoch = field(
        Present(Optional(Epoch), keeps_empty_epochs),
        "the last entry of its epoch cache, if it led in that epoch and wrote nothing",
    )
    truncating = field(Present(Bool, truncates_by_request), "of a follower: it has yet to ask its leader where to truncate")
    reopens = field(Present(Bool, sessions_end), "of a follower: its next fetch opens a session, and names its leader epoch")
    answered = field(Present(Bool, forgets_fetched_epoch), "of a follower: an answer has come since it took up its epoch")
    names_no_epoch = field(
        Present(Bool, forgets_fetched_epoch), "of a follower: its fetches do not name the epoch of its last record"
    )
    former_leader = field(
        Present(Optional(Replica), hears_first),
        "of a follower that has heard of the next leader: the former one, if its fetcher still has the partition",
    )
    former_epoch = field(Present(Optional(Epoch), hears_first), "the leader epoch in which that fetcher fetches")
    assigned = field(Present(SetOf(Replica), reassignment), "of a leader: the replicas it knows to be assigned")
    known_controller = field(
        Present(Optional(ControllerEpoch), many_controllers),
        "the newest controller epoch it has been sent; none since it restarted",
    )


class Controller(Struct):
    """What the controller has committed about the partition."""

    leader = field(Optional(Replica), "the current leader")
    leader_epoch = field(Epoch, "the current leader epoch")
    isr = field(SetOf(Replica), "the in-sync replicas")
    elr = field(Present(SetOf(Replica), eligible_leader_replicas), "the eligible leader replicas")
    last_leader = field(Present(Optional(Replica), eligible_leader_replicas), "who led last, while the ISR is empty")
    gone = field(Present(SetOf(Replica), zombies), "brokers without a session")
    replicas = field(Present(SetOf(Replica), reassignment), "the assignment; of one under way, the old replicas and the new")
    adding = field(Present(SetOf(Replica), reassignment), "replicas that the reassignment under way adds")
    removing = field(Present(SetOf(Replica), reassignment), "replicas that the reassignment under way removes")
    asked = field(Present(SetOf(Replica), moves_again), "the assignment that the operator asked for last")
    returned = field(
        Present(SetOf(Replica), moves_again), "replicas that were added again and have not heard that they had been removed"
    )


class Request(Struct):
    """A LeaderAndIsr request on its way to a broker, with a newer one behind it; blank if none is."""

    leader = field(Present(Optional(Replica), queues), "who leads, by this request; none if there is no such request")
    leader_epoch = field(Present(Epoch, queues), "in which leader epoch")
    isr = field(Present(SetOf(Replica), queues), "with which in-sync replicas")


class CandidateState(Struct):
    """What a candidate knows of the partition and has to send; nothing unless it takes itself for the controller."""

    created = field(Present(Bool, elected_in_two_steps), "it has created /controller, and has no controller epoch yet")
    active = field(Present(Bool, many_controllers), "it takes itself for the controller, rightly or not")
    epoch = field(
        Present(ControllerEpoch, many_controllers), "its controller epoch; before it has one, the last one that it read"
    )
    live = field(Present(SetOf(Replica), many_controllers), "the brokers that it takes for alive")
    former = field(
        Present(SetOf(Replica), misses_incarnations), "of those, the ones that it knows in a former incarnation alone"
    )
    due = field(Present(SetOf(Replica), many_controllers), "brokers to which its newest LeaderAndIsr request is on its way")
    earlier = field(Array(Replica, Request), "the oldest request on its way to each broker, if it is not the newest")
    stops = field(Present(SetOf(Replica), stops_late), "brokers that were shut down, to which a StopReplica is on its way")
    leader = field(Present(Optional(Replica), many_controllers), "the partition's leader, as it knows it")
    leader_epoch = field(Present(Epoch, many_controllers), "the partition's leader epoch, as it knows it")
    isr = field(Present(SetOf(Replica), many_controllers), "the in-sync replicas, as it knows them")


class Zookeeper(Struct):
    """What ZooKeeper holds beside the state of the partition itself."""

    controller = field(Present(Optional(Candidate), many_controllers), "who holds /controller")
    epoch = field(Present(ControllerEpoch, many_controllers), "the newest controller epoch")
    written_by = field(Present(ControllerEpoch, remembers_writer), "the controller epoch of the partition's last write")


class Producer(Struct):
    """One producer; its records are numbered in the order in which the application gave them to it."""

    status = field(Array(RecordId, Status), "what it knows of each record")
    waits_at = field(Array(RecordId, Present(Optional(Replica), waits)), "the broker whose answer it waits for")
    session = field(Present(Session, producer_restarts), "its producer id")
    first = field(Present(RecordId, numbers_anew), "the record that has sequence number 0 of its producer id")


class Consumer(Struct):
    """One consumer, remembered by one thing that it read: any, so that what holds of it holds of all."""

    offset = field(Present(Optional(Offset), consumer), "where it read")
    record = field(Present(RecordId, consumer), "what it read there")
    latest = field(Present(Offset, offset_queries), "the latest offset that it was answered last")
    epoch = field(Present(Epoch, asks_in_epoch), "the leader epoch of that answer, the newest it has seen")


class Late(Struct):
    """An answer to a follower's fetch that has not arrived yet; blank if none is on its way."""

    leader = field(Present(Optional(Replica), late_answers), "whose answer it is; none if none is late")
    fetched_at = field(Present(Offset, late_answers), "the offset that was asked for")
    hw = field(Present(Offset, late_answers), "the leader's high watermark when it read the answer")
    truncate_to = field(Present(Optional(Offset), truncates_late), "where the follower is to truncate, if it is")
    log = field(
        Log(Record, Offset, log_size, when=late_answers),
        "the leader's log up to the end of what the answer brings; empty if it brings no record",
    )


class State(Struct):
    """One partition with its brokers, its controller and its clients."""

    log = field(Array(Replica, Log(Record, Offset, log_size)), "each broker's log")
    broker = field(Array(Replica, Broker), "each broker's memory")
    known_end = field(
        Array(Replica, Array(Replica, Optional(Offset))),
        "of a leader: each follower's log end as of its last fetch; none before the first in its leadership",
    )
    controller = field(Controller, "the controller")
    producer = field(Producer, "the producer")
    consumer = field(Consumer, "the consumer")
    late = field(Array(Replica, Late), "of a follower: the answer to its fetch that is late")
    lossy_left = field(Present(Lossy, loses), "crashes that may still lose a suffix")
    disks_left = field(Present(EmptyDisks, empties), "brokers that may still come back with an empty disk")
    unreported = field(
        Present(SetOf(Replica), reports_directory), "brokers with a new disk of whose directory the controller has not heard"
    )
    moves_left = field(Present(Moves, counts_moves), "reassignments that may still be asked for")
    killed = field(
        Present(SetOf(Replica), dies_uncleanly),
        "eligible leaders that are down because their machines died, or whose disks were replaced",
    )
    zookeeper = field(Zookeeper, "what ZooKeeper holds beside the partition's state, which is in `controller`")
    candidate = field(Array(Candidate, CandidateState), "what each broker that may be the controller knows")


def initial(s: State) -> None:
    """Broker 0 leads in epoch 0, every replica follows it, is in sync and holds nothing."""
    first = one_of(Replica)
    if reassignment.on:
        _assign_first(s, first)
        return

    def follow(broker: Replica) -> None:
        s.broker[broker].leader_epoch = s.controller.leader_epoch
        s.broker[broker].leader = first

    for_each(Replica, follow)
    s.broker[first].isr = all_of(Replica)
    s.controller.leader = first
    s.controller.isr = all_of(Replica)
    _set_budgets(s)


def _set_budgets(s: State) -> None:
    if loses.on:
        s.lossy_left = lossy_crashes
    if empties.on:
        s.disks_left = empty_disks
    if many_controllers.on:
        _start_controller(s)


def _start_controller(s: State) -> None:
    """Some candidate is the controller, in controller epoch 0, and every broker has heard of it."""
    chosen = one_of(Candidate)
    s.zookeeper.controller = chosen
    mine = s.candidate[chosen]
    mine.active = True
    mine.live = all_of(Replica)
    mine.leader = s.controller.leader
    mine.isr = s.controller.isr

    def heard(broker: Replica) -> None:
        s.broker[broker].known_controller = s.zookeeper.epoch

    for_each(Replica, heard)


def _assign_first(s: State, first: Replica) -> None:
    """The beginning where only some brokers hold a copy; the others know nothing of the partition."""
    members = some_of(Replica, assigned)

    def follow(broker: Replica) -> None:
        is_told = members.contains(broker)
        s.broker[broker].leader_epoch = ite(is_told, s.controller.leader_epoch, s.broker[broker].leader_epoch)
        s.broker[broker].leader = ite(is_told, first, s.broker[broker].leader)

    for_each(Replica, follow)
    s.broker[first].isr = members
    s.broker[first].assigned = members
    s.controller.leader = first
    s.controller.isr = members
    s.controller.replicas = members
    s.controller.asked = members
    if counts_moves.on:
        s.moves_left = moves
    _set_budgets(s)
