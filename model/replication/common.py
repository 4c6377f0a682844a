"""What the variants of the replication family share: its vocabulary and the actions that none of them changes.

Predicates and updates named as Kafka names them, the controller's two actions, becoming leader, writing, and the rules that
the three variants before KIP-320 have in common.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import every, greatest, ite, smaller
from acked.model.language.sets import SetValue
from acked.model.language.telling import (
    CONTROLLER,
    PRODUCER,
    Course,
    Fault,
    PlainStruct,
    Telling,
    Tells,
    Those,
    says_cut,
    says_set,
)
from acked.model.language.values import Bool, OptionalValue
from acked.model.replication.state import Epoch, Offset, Record, Replica, State, log_size, max_leader_epoch, max_records

# -- vocabulary ----------------------------------------------------------------------------------------------------


def presumes_leadership(s: State, r: Replica) -> Bool:
    """r takes itself for the leader, rightly or not."""
    return s.replica[r].leader == r


def follows(s: State, leader: Replica, follower: Replica) -> Bool:
    """The follower takes `leader` for its leader, in whatever epoch."""
    return s.replica[follower].leader == leader


def follows_in_epoch(s: State, leader: Replica, follower: Replica) -> Bool:
    """The follower follows a replica that presumes leadership, and both are in one epoch (KIP-320's fencing)."""
    same_epoch = s.replica[follower].leader_epoch == s.replica[leader].leader_epoch
    return presumes_leadership(s, leader) & follows(s, leader, follower) & same_epoch


def is_true_leader(s: State, leader: Replica) -> Bool:
    """The controller's leader, which knows so, in the controller's epoch."""
    same_epoch = s.replica[leader].leader_epoch == s.quorum.leader_epoch
    return (s.quorum.leader == leader) & presumes_leadership(s, leader) & same_epoch


def is_sent(s: State, epoch: Epoch) -> Bool:
    """A LeaderAndIsr request of this epoch exists."""
    return epoch < s.next_leader_epoch


def is_newer(s: State, replica: Replica, epoch: Epoch) -> Bool:
    """The epoch exceeds what the replica knows; a replica without an epoch knows none."""
    return s.replica[replica].leader_epoch < epoch


def has_reached(s: State, replica: Replica, offset: Offset) -> Bool:
    """The replica holds every offset below `offset`."""
    return (offset == 0) | s.log[replica].has(offset - 1)


def hw_in_leader_epoch(s: State, leader: Replica) -> Bool:
    """The leader's high watermark is at its log end or at a record of its own epoch (KIP-320, KAFKA-7128)."""
    hw = s.replica[leader].hw
    own = s.log[leader].has(hw) & (s.replica[leader].leader_epoch == s.log[leader].at(hw).epoch)
    return (hw == s.log[leader].end) | own


def matching_point(s: State, a: Replica, b: Replica) -> Offset:
    """The end of the last offset at which both logs hold the same record; 0 if there is none."""
    return greatest(Offset, lambda o: (o == 0) | s.log[a].same_record_at(s.log[b], o - 1))


# -- updates -------------------------------------------------------------------------------------------------------


def controller_update(s: State, leader: OptionalValue[Replica] | Replica | None, isr: SetValue[Replica]) -> None:
    """The controller takes the next leader epoch, changes leader and ISR in it and sends LeaderAndIsr requests."""
    epoch = s.next_leader_epoch
    require("a leader epoch is left", epoch <= max_leader_epoch)
    s.quorum.leader_epoch = epoch
    s.quorum.leader = leader
    s.quorum.isr = isr
    s.requests[epoch].leader = leader
    s.requests[epoch].isr = isr
    s.next_leader_epoch = epoch + 1


def leader_update(s: State, leader: Replica, isr: SetValue[Replica]) -> None:
    """The leader changes the ISR in the controller's store and in its own view, in the same leader epoch."""
    require("true leader", is_true_leader(s, leader))
    s.quorum.isr = s.replica[leader].isr = isr


def take_up_request(s: State, replica: Replica, epoch: Epoch) -> None:
    """The replica adopts the request's epoch, leader and ISR."""
    s.replica[replica].leader_epoch = epoch
    s.replica[replica].leader = s.requests[epoch].leader
    s.replica[replica].isr = s.requests[epoch].isr


def require_newer_request(s: State, leader: Replica, replica: Replica, epoch: Epoch) -> None:
    """A request of that epoch exists, names that leader, and is news to the replica."""
    require("another replica leads", leader != replica)
    require("request was sent", is_sent(s, epoch))
    require("request names this leader", s.requests[epoch].leader == leader)
    require("newer leader epoch", is_newer(s, replica, epoch))


def become_follower(s: State, leader: Replica, replica: Replica, epoch: Epoch, truncate_to: Offset) -> None:
    """The replica takes up a newer request and cuts its log at `truncate_to`, and its high watermark with it."""
    require_newer_request(s, leader, replica, epoch)
    require("truncation point within the log", truncate_to <= s.log[replica].end)
    s.log[replica].truncate(truncate_to)
    take_up_request(s, replica, epoch)
    s.replica[replica].hw = smaller(truncate_to, s.replica[replica].hw)


def replicate(s: State, follower: Replica, leader: Replica) -> None:
    """The follower copies the next record, and the leader's high watermark up to its own new end."""
    offset = s.log[follower].end
    require("room in the follower's log", offset < log_size)
    require("leader holds the next offset", s.log[leader].has(offset))
    s.log[follower].append(s.log[leader].at(offset))
    s.replica[follower].hw = smaller(s.replica[leader].hw, s.log[follower].end)


# -- words ---------------------------------------------------------------------------------------------------------


def says_become_follower(t: Telling) -> str:
    """The words of every way to become a follower."""
    return (
        f"broker {t.replica} becomes follower of broker {t.leader} in leader epoch {t.epoch} "
        f"and {says_cut(t, t.replica)}"
    )


def says_fetch(t: Telling) -> str:
    """The words of every way to fetch."""
    offset = t.before.log[t.follower].end
    record = t.after.log[t.follower].records[offset]
    if offset >= t.before.log[t.leader].end:
        return f"broker {t.follower} takes a record at offset {offset} from broker {t.leader}, which holds none there"
    return (
        f"broker {t.follower} fetches record {record.id} of epoch {record.epoch} at offset {offset} from broker "
        f"{t.leader} and takes high watermark {t.after.replica[t.follower].hw}"
    )


def says_hw(t: Telling) -> str:
    """The words of every high-watermark advance."""
    replica = t.after.replica[t.leader]
    how = "leading with" if replica.leader == t.leader else "which does not lead, counting on"
    return f"broker {t.leader}, {how} ISR {says_set(replica.isr)}, raises its high watermark to {replica.hw}"


def says_shrink(t: Telling) -> str:
    """The words of a leader's ISR shrink."""
    return f"leader {t.leader} removes broker {t.follower} from the ISR, which is now {says_set(t.after.quorum.isr)}"


def says_expand(t: Telling) -> str:
    """The words of an ISR expansion."""
    return f"leader {t.leader} admits broker {t.follower} to the ISR, which is now {says_set(t.after.quorum.isr)}"


# -- who tells whom ------------------------------------------------------------------------------------------------

_LEADER_AND_ISR = "LeaderAndIsr"


def _says_request(epoch: int, t: Telling) -> str:
    request = t.after.requests[epoch]
    leader = "no leader" if request.leader is None else f"leader {request.leader}"
    return f"LeaderAndIsr e{epoch}: {leader}, ISR {says_set(request.isr)}"


def _newest(t: Telling) -> int:
    newest: int = t.after.next_leader_epoch - 1
    return newest


REQUESTS = Tells(
    CONTROLLER,
    Those(Replica, lambda t: range(len(t.after.log))),
    lambda t: _says_request(_newest(t), t),
    Course.DEPARTS,
    _LEADER_AND_ISR,
    _newest,
)
"""Every broker is sent the request of a new leader epoch, and takes it up late or never."""


def takes_up(broker: str) -> Tells:
    """The broker takes up the request that the step names."""
    return Tells(
        CONTROLLER, broker, lambda t: _says_request(t.epoch, t), Course.ARRIVES, _LEADER_AND_ISR, lambda t: t.epoch
    )


def _label(log: PlainStruct, offset: int) -> str:
    record = log.records[offset] if offset < log.end else None
    return "nothing" if record is None else f"r{record.id}·e{record.epoch}"


def _says_fetched(t: Telling) -> str:
    label = _label(t.after.log[t.follower], t.before.log[t.follower].end)
    return f"{label}, HW {t.after.replica[t.follower].hw}"


def _says_changed(t: Telling) -> str | None:
    before, after = t.before.quorum.isr, t.after.quorum.isr
    return None if before == after else f"ISR {says_set(after)}"


WRITE = Tells(PRODUCER, "leader", lambda t: _label(t.after.log[t.leader], t.before.log[t.leader].end))
FETCH = Tells("leader", "follower", _says_fetched)
CHANGED_ISR = Tells("leader", CONTROLLER, _says_changed)


def agreed_end(follower: str) -> Tells:
    """A follower learns from its leader where to cut its log."""
    return Tells(
        "leader", follower, lambda t: f"the logs agree up to offset {t.after.log[t.arguments[follower]].end}"
    )


# -- actions of every variant -----------------------------------------------------------------------------------------


def _says_controller_shrink(t: Telling) -> str:
    before, after = t.before.quorum, t.after.quorum
    what = f"the controller finds broker {t.replica} gone"
    if before.leader == t.replica and before.isr == after.isr:
        return f"{what}, the last in-sync replica: no leader in epoch {after.leader_epoch}, ISR {says_set(after.isr)}"
    lead = "no leader" if after.leader is None else f"leader {after.leader}"
    return f"{what} and removes it from the ISR: {lead} in epoch {after.leader_epoch}, ISR {says_set(after.isr)}"


@action(
    says=lambda t: (
        f"the controller elects broker {t.replica} as leader in epoch {t.after.quorum.leader_epoch}, "
        f"ISR {says_set(t.after.quorum.isr)}"
    ),
    actor=CONTROLLER, messages=(REQUESTS,),
)
def controller_elect_leader(s: State, replica: Replica) -> None:
    """The controller makes another member of the ISR the leader."""
    require("in the ISR", s.quorum.isr.contains(replica))
    require("not the leader already", s.quorum.leader != replica)
    controller_update(s, replica, s.quorum.isr)


@action(says=_says_controller_shrink, actor=CONTROLLER, fault=Fault.STOPS, messages=(REQUESTS,))
def controller_shrink_isr(s: State, replica: Replica) -> None:
    """The controller takes a failed broker out of the ISR; a leader that is the last member loses only the leadership.

    A last member that does not lead is removed, and leaves the ISR empty: no one can be elected then.
    """
    isr = s.quorum.isr
    leads, is_last = s.quorum.leader == replica, isr.is_only(replica)
    require("leads or is in the ISR", leads | isr.contains(replica))
    controller_update(s, ite(leads, None, s.quorum.leader), ite(leads & is_last, isr, isr.remove(replica)))


@action(
    says=lambda t: (
        f"broker {t.leader} becomes leader in epoch {t.epoch} with ISR {says_set(t.after.replica[t.leader].isr)}"
    ),
    actor="leader", messages=(takes_up("leader"),),
)
def become_leader(s: State, leader: Replica, epoch: Epoch) -> None:
    """A broker learns that it leads; its log and its high watermark stay as they are."""
    require("request was sent", is_sent(s, epoch))
    require("request names this leader", s.requests[epoch].leader == leader)
    require("newer leader epoch", is_newer(s, leader, epoch))
    take_up_request(s, leader, epoch)


@action(
    says=lambda t: (
        f"broker {t.leader} appends record {t.before.next_record_id} at offset {t.before.log[t.leader].end} "
        f"in leader epoch {t.before.replica[t.leader].leader_epoch}"
    ),
    actor="leader", messages=(WRITE,),
)
def leader_write(s: State, leader: Replica) -> None:
    """A producer's next record reaches a broker that presumes leadership."""
    require("presumes leadership", presumes_leadership(s, leader))
    require("a record is left", s.next_record_id < max_records)
    require("room in the log", s.log[leader].end < log_size)
    s.log[leader].append(Record(id=s.next_record_id, epoch=s.replica[leader].leader_epoch.value))
    s.next_record_id = s.next_record_id + 1


CONTROL_AND_WRITE = (controller_elect_leader, controller_shrink_isr, become_leader, leader_write)

# -- actions of the variants before KIP-320: no fetch, shrink or expand looks at an epoch --------------------------------


def is_caught_up(s: State, leader: Replica, follower: Replica, offset: Offset) -> Bool:
    """The follower follows, and both logs hold every offset below `offset`, whatever the records."""
    return follows(s, leader, follower) & (
        (offset == 0) | (has_reached(s, leader, offset) & has_reached(s, follower, offset))
    )


@action(says=says_shrink, actor="leader", messages=(CHANGED_ISR,))
def leader_shrink_isr(s: State, leader: Replica, follower: Replica) -> None:
    """The leader drops a follower that has not reached its log end."""
    require("in the ISR", s.replica[leader].isr.contains(follower))
    require("not the leader itself", follower != leader)
    require("not caught up", ~is_caught_up(s, leader, follower, s.log[leader].end))
    leader_update(s, leader, s.replica[leader].isr.remove(follower))


@action(says=says_expand, actor="leader", messages=(CHANGED_ISR,))
def leader_expand_isr(s: State, leader: Replica, follower: Replica) -> None:
    """The leader admits a follower that has reached its high watermark."""
    require("outside the ISR", ~s.replica[leader].isr.contains(follower))
    require("caught up to HW", is_caught_up(s, leader, follower, s.replica[leader].hw))
    leader_update(s, leader, s.replica[leader].isr.add(follower))


@action(says=says_hw, actor="leader")
def leader_inc_high_watermark(s: State, leader: Replica) -> None:
    """A broker that presumes leadership commits the next offset once every ISR member follows it and holds it."""
    hw = s.replica[leader].hw
    require("presumes leadership", presumes_leadership(s, leader))
    require("HW below the log size", hw < log_size)
    require(
        "every ISR member follows and holds the offset",
        every(s.replica[leader].isr, lambda f: follows(s, leader, f) & s.log[f].has(hw)),
    )
    s.replica[leader].hw = hw + 1


@action(says=says_fetch, actor="follower", messages=(FETCH,))
def follower_replicate(s: State, follower: Replica, leader: Replica) -> None:
    """A follower copies the next record of whom it takes for the leader, if that broker presumes leadership."""
    require("presumes leadership", presumes_leadership(s, leader))
    require("follows", follows(s, leader, follower))
    replicate(s, follower, leader)


BEFORE_KIP_320 = (*CONTROL_AND_WRITE, leader_shrink_isr, leader_expand_isr, leader_inc_high_watermark, follower_replicate)
