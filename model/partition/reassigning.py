"""Reassignment: an operator moves the partition to other brokers.

Asking for another assignment, at first or in place of a move that is under way; cancelling; the deletion of what a removed
broker has. With KRaft a move that is complete ends within the change that makes it so (`assignment.py`). Sources:
`ReplicationControlManager` (`changePartitionReassignment`, `cancelPartitionReassignment`), `PartitionReassignmentRevert`
and `PartitionChangeBuilder` of 3.3 to 4.4; KIP-455, KAFKA-12803.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import ite, those, truth
from acked.model.language.sets import SetValue
from acked.model.language.state import none_of
from acked.model.language.telling import CONTROLLER, Fault, Telling, says_set
from acked.model.language.values import Bool
from acked.model.partition.common import commit_isr, has_session, note_change, renumber_epochs, stop_waiting, take_epoch
from acked.model.partition.following import drop_late_answer, require_fetcher_removed, resign
from acked.model.partition.rules import settings
from acked.model.partition.rules.facts import counts_moves, moves_again
from acked.model.partition.state import Replica, State
from acked.model.partition.vocabulary.assignment import is_complete, is_moving, is_replica, keeps_something
from acked.model.partition.vocabulary.messages import NOT_A_REPLICA
from acked.model.partition.vocabulary.words import says_no_answers

# -- words ------------------------------------------------------------------------------------------------------------


def says_assignment(t: Telling) -> str:
    """What became of assignment, ISR and leader in the step, as the end of a sentence."""
    before, after = t.before.controller, t.after.controller
    parts = [f"the replicas are {says_set(after.replicas)}"]
    if after.adding:
        parts.append(f"{says_set(after.adding)} being added")
    if after.removing:
        parts.append(f"{says_set(after.removing)} being removed")
    if before.isr != after.isr:
        parts.append(f"the ISR is {says_set(after.isr)}")
    if before.leader_epoch != after.leader_epoch and after.leader is not None:
        parts.append(f"the leader has a new leader epoch, {after.leader_epoch}")
    if before.leader is not None and after.leader is None:
        parts.append("there is no leader")
    return ", ".join(parts)


def _says_asked(t: Telling) -> str:
    before = t.before.controller
    instead = ", in place of the move that is under way" if before.adding or before.removing else ""
    return f"an operator asks for the replicas {says_set(t.target)}{instead}; {says_assignment(t)}"


# -- moves ------------------------------------------------------------------------------------------------------------


def require_another(s: State, target: SetValue[Replica]) -> None:
    """What an operator may ask for: somebody, not what is there, and as many as the question says."""
    require("somebody is to be a replica", ~target.is_empty)
    if settings.moved_to.value:
        require("as many replicas as asked about", target.size == settings.moved_to)
    if settings.moved_in.value:
        require("as many added as asked about", (target - s.controller.replicas).size == settings.moved_in)
    if counts_moves.on:
        require("another move may be asked for", s.moves_left > 0)
        s.moves_left = s.moves_left - 1


@action(
    says=_says_asked, when=lambda: settings.reassignment.on and settings.moves_in_one_record.on,
    actor=CONTROLLER,
)
def reassign(s: State, target: SetValue[Replica]) -> None:
    """An operator asks for another assignment: until the move is complete the old replicas and the new ones are replicas.

    Leader, ISR and leader epoch stay as they are, unless the move is complete at once. One that is asked for in place of
    another starts from all replicas there are. If it adds nobody, those that the former move was adding stay noted as such,
    and so with those it was removing: the controller sets either list only where the new one is not empty.
    """
    c = s.controller
    before = c.replicas
    require_another(s, target)
    c.asked = target
    adding, removing = target - before, before - target
    if not settings.moves_replaceable.on:
        require("no move is under way", ~is_moving(s))
    require("another assignment, or another move", ~(adding | removing).is_empty | is_moving(s))
    if moves_again.on:
        come_back(s, adding)
    c.replicas = before | adding
    c.adding = ite(adding.is_empty, c.adding, adding)
    c.removing = ite(removing.is_empty, c.removing, removing)
    note_change(s, truth(True))
    commit_isr(s, c.isr, known=before)
    renumber_epochs(s)


def come_back(s: State, added: SetValue[Replica]) -> None:
    """Who is added and still has something of the partition may hear later that it had been removed."""
    back = those(Replica, lambda r: added.contains(r) & keeps_something(s, r))
    s.controller.returned = s.controller.returned | back


def _may_cancel() -> bool:
    return settings.reassignment.on and settings.moves_replaceable.on and settings.moves_in_one_record.on


@action(
    says=lambda t: f"the operator cancels the reassignment; {says_assignment(t)}",
    when=_may_cancel,
    actor=CONTROLLER,
)
def cancel_move(s: State) -> None:
    """The replicas are those from before, and who was being added leaves the ISR; refused if nobody would be left in it."""
    require("a move is under way", is_moving(s))
    isr = s.controller.isr - s.controller.adding
    require("an old replica is in the ISR", ~isr.is_empty)
    revert(s, isr)


@action(
    says=lambda t: (
        f"the operator cancels the reassignment; no old replica is in sync, so broker {t.broker} is taken for it; "
        f"{says_assignment(t)}"
    ),
    when=lambda: _may_cancel() and settings.unclean_election.on,
    actor=CONTROLLER, fault=Fault.UNCLEAN,
)
def cancel_move_uncleanly(s: State, broker: Replica) -> None:
    """With unclean.leader.election.enable a move is cancelled even if no old replica is in sync.

    The ISR is then one of them, Kafka says the first of the assignment, which may be any.
    """
    c = s.controller
    require("a move is under way", is_moving(s))
    require("no old replica is in the ISR", (c.isr - c.adding).is_empty)
    require("an old replica", c.replicas.contains(broker) & ~c.adding.contains(broker))
    revert(s, none_of(Replica).add(broker))


def revert(s: State, isr: SetValue[Replica]) -> None:
    """The assignment from before the move, with an ISR of its members; a leader among those dropped is none any more."""
    c = s.controller
    known, dropped = c.replicas, c.adding
    leads_on = c.leader.is_some & isr.contains(c.leader)
    take_epoch(s, leads_on & ~dropped.is_empty)
    c.leader = ite(leads_on, c.leader, None)
    c.replicas = known - dropped
    c.asked = known - dropped
    c.adding = none_of(Replica)
    c.removing = none_of(Replica)
    if moves_again.on:
        c.returned = c.returned - dropped
    note_change(s, leads_on)
    commit_isr(s, isr, truth(False), known)
    renumber_epochs(s)


# -- with ZooKeeper ---------------------------------------------------------------------------------------------------


def _is_in_zookeeper() -> bool:
    return settings.reassignment.on and not settings.moves_in_one_record.on


@action(says=_says_asked, when=_is_in_zookeeper, actor=CONTROLLER)
def reassign_in_zookeeper(s: State, target: SetValue[Replica]) -> None:
    """An operator asks for another assignment; the leader takes office again, in a new leader epoch (A1 in the controller).

    One that is asked for in place of another starts from the replicas before that one (2.4, KIP-455). Who was being added and
    is not any more is stopped at once.
    """
    c = s.controller
    require_another(s, target)
    if not settings.moves_replaceable.on:
        require("no move is under way", ~is_moving(s))
    require("another assignment, or another move", (target != c.replicas) | is_moving(s))
    rewrite(s, target)


@action(
    says=lambda t: f"the operator cancels the reassignment; {says_assignment(t)}",
    when=lambda: _is_in_zookeeper() and settings.moves_replaceable.on,
    actor=CONTROLLER,
)
def cancel_in_zookeeper(s: State) -> None:
    """The move is replaced by one to the replicas that there were; nobody asks whether one of them is in sync."""
    require("a move is under way", is_moving(s))
    rewrite(s, s.controller.replicas - s.controller.adding)


def rewrite(s: State, target: SetValue[Replica]) -> None:
    """The assignment that leads to the target; who is needed for neither it nor the former replicas leaves the ISR."""
    if moves_again.on:
        come_back(s, target - s.controller.replicas)
    c = s.controller
    old = c.replicas - c.adding
    dropped = c.replicas - (old | target)
    if moves_again.on:
        c.asked = target
        c.returned = c.returned - dropped
    c.replicas = old | target
    c.adding = target - old
    c.removing = old - target
    isr = c.isr - dropped
    leads_on = c.leader.is_some & ~dropped.contains(c.leader)
    note_change(s, leads_on)
    take_epoch(s, leads_on)
    c.leader = ite(leads_on, c.leader, None)
    commit_isr(s, ite(isr.is_empty, c.isr, isr))
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"every replica of the target is in sync, and the controller completes the reassignment: {says_assignment(t)}"
    ),
    when=_is_in_zookeeper, actor=CONTROLLER,
)
def complete_in_zookeeper(s: State) -> None:
    """The replicas are those of the target, which all are in sync; who is removed is in the ISR still (B1 to B3).

    A leader that is removed is none any more, another takes office again in a new leader epoch.
    """
    c = s.controller
    require("a move is under way", is_moving(s))
    require("it is complete", is_complete(s, c.isr))
    stays = c.leader.is_some & ~c.removing.contains(c.leader)
    note_change(s, stays)
    take_epoch(s, stays)
    c.leader = ite(stays, c.leader, None)
    c.replicas = c.replicas - c.removing
    c.adding = none_of(Replica)
    c.removing = none_of(Replica)
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"the controller takes broker {t.broker}, which was removed, out of the ISR, now {says_set(t.after.controller.isr)}"
    ),
    when=_is_in_zookeeper, actor=CONTROLLER,
)
def remove_from_isr(s: State, broker: Replica) -> None:
    """Who was removed leaves the ISR, in a leader epoch of its own (B4); the last member stays."""
    c = s.controller
    require("a replica no more", ~is_replica(s, broker))
    require("in the ISR", c.isr.contains(broker))
    require("not the last member", ~c.isr.is_only(broker))
    note_change(s, c.leader.is_some)
    take_epoch(s, c.leader.is_some)
    commit_isr(s, c.isr.remove(broker))
    renumber_epochs(s)


# -- who was removed --------------------------------------------------------------------------------------------------


def _says_deleted(t: Telling) -> str:
    had = t.before.log[t.broker].end
    log = f" and deletes its log, {had} record{'s' if had > 1 else ''}" if had else ""
    return f"broker {t.broker} hears that it is no replica any more{log}{says_no_answers(t, t.broker)}"


@action(says=_says_deleted, when=lambda: settings.reassignment.on, actor="broker", messages=NOT_A_REPLICA)
def delete_replica(s: State, broker: Replica) -> None:
    """A broker that was removed hears of it, at last, and deletes what it has; until then it goes on as it was.

    One that has been added again meanwhile may still hear of its removal first; where it hears of both at once its log stays.
    """
    require("has a session", has_session(s, broker))
    require("has something", keeps_something(s, broker))
    require_fetcher_removed(s, broker)
    removed: Bool = ~is_replica(s, broker)
    require("was removed", removed | s.controller.returned.contains(broker) if moves_again.on else removed)
    if not settings.moves_in_one_record.on:
        require("out of the ISR, of which it was told first", ~s.controller.isr.contains(broker))
    stop_waiting(s, broker)
    drop_late_answer(s, broker)
    resign(s, broker)
    mine = s.broker[broker]
    mine.leader = None
    mine.leader_epoch = None
    mine.truncating = False
    mine.empty_epoch = None
    s.log[broker].truncate(0)
    mine.hw = 0
    if moves_again.on:
        s.controller.returned = s.controller.returned.remove(broker)
    renumber_epochs(s)
