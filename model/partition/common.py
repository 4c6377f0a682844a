"""The vocabulary of `partition`: predicates and updates that several concerns share, named as Kafka names them.

Who leads, who is alive, log ends and epochs of logs, the high watermark and what follows from its advance, changes of the ISR
in the controller, and the renumbering of epochs.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.model.language.action import require
from acked.model.language.context import literal
from acked.model.language.quantify import abbreviate, each, every, for_each, greatest, implies, ite, least, some, truth
from acked.model.language.sets import SetValue
from acked.model.language.state import none_of
from acked.model.language.values import Bool, OptionalValue
from acked.model.partition.rules import facts, settings
from acked.model.partition.rules.controllers import many_controllers
from acked.model.partition.state import ACKED, FAILED, SENT, Epoch, Offset, RecordId, Replica, State, Status
from acked.model.partition.vocabulary.assignment import complete
from acked.model.partition.vocabulary.candidates import (
    known_leader_epochs,
    notices_loss,
    renumber_controller_epochs,
    renumber_known_epochs,
    somebody_in_charge,
)
from acked.model.ranks import ranks

# -- who is who -------------------------------------------------------------------------------------------------------


def presumes_leadership(s: State, r: Replica) -> Bool:
    """r takes itself for the leader, rightly or not."""
    return s.broker[r].leader == r


def is_true_leader(s: State, r: Replica) -> Bool:
    """The controller's leader, which has taken up the controller's leader epoch."""
    return (
        (s.controller.leader == r)
        & presumes_leadership(s, r)
        & (s.broker[r].leader_epoch == s.controller.leader_epoch)
    )


def has_session(s: State, r: Replica) -> Bool:
    """The controller takes r for alive: it is not down, and not fenced or without its session."""
    return ~s.broker[r].down & ~s.controller.gone.contains(r)


def fetches_from(s: State, r: Replica) -> OptionalValue[Replica]:
    """Whose fetcher has the partition: that of whom the broker follows, or of whom it followed before (`answering`)."""
    broker = s.broker[r]
    if not facts.hears_first.on:
        return broker.leader
    return ite(broker.former_leader.is_some, broker.former_leader, broker.leader)


def fetches_in(s: State, r: Replica) -> OptionalValue[Epoch]:
    """The leader epoch that the broker's fetcher names."""
    broker = s.broker[r]
    if not facts.hears_first.on:
        return broker.leader_epoch
    return ite(broker.former_leader.is_some, broker.former_epoch, broker.leader_epoch)


def follows(s: State, leader: Replica, follower: Replica) -> Bool:
    """The follower fetches from `leader`, which presumes leadership, in whatever epochs."""
    return presumes_leadership(s, leader) & (fetches_from(s, follower) == leader)


def share_epoch(s: State, leader: Replica, follower: Replica) -> Bool:
    """The follower fetches in the leader epoch that the leader knows."""
    return s.broker[leader].leader_epoch == fetches_in(s, follower)


# -- logs -------------------------------------------------------------------------------------------------------------


def same_epoch_at(s: State, a: Replica, b: Replica, offset: Offset) -> Bool:
    """Both logs hold a record at the offset, of one leader epoch."""
    here, there = s.log[a], s.log[b]
    return here.has(offset) & there.has(offset) & (here.at(offset).epoch == there.at(offset).epoch)


def epochs_agree_until(s: State, a: Replica, b: Replica) -> Offset:
    """The end of the last offset at which both logs hold a record of one leader epoch; 0 if there is none.

    Asking for the end of the latest epoch, and again for the floor epoch that the answer names, ends here (KIP-279).
    """
    return greatest(Offset, lambda o: (o == 0) | ((o > 0) & same_epoch_at(s, a, b, o - 1)))


def diverges(s: State, leader: Replica, follower: Replica) -> Bool:
    """The follower's last record is not of the epoch that the leader has there, or lies beyond the leader's log."""
    log = s.log[follower]
    return ~log.is_empty & ~same_epoch_at(s, leader, follower, log.end - 1)


def epoch_start(s: State, leader: Replica) -> Offset:
    """Where the leader's own epoch starts in its log: at its first record of that epoch, or at the log end.

    One that takes office again in the same epoch takes its log end for the start (KAFKA-7128).
    """
    if facts.begins_again.on:
        return s.broker[leader].began
    log = s.log[leader]
    own = s.broker[leader].leader_epoch
    return least(Offset, lambda o: (o == log.end) | (log.has(o) & (own == log.at(o).epoch)))


def holds(s: State, r: Replica, record: RecordId) -> Bool:
    """The record is in the log, anywhere."""
    return some(Offset, lambda o: s.log[r].has(o) & (s.log[r].at(o).id == record))


# -- the high watermark and what waits for it -------------------------------------------------------------------------


def counted_isr(s: State, leader: Replica) -> SetValue[Replica]:
    """The replicas that the leader's high watermark waits for; with KIP-497 those of a pending change too."""
    broker = s.broker[leader]
    return broker.isr | broker.pending if settings.asynchronous_isr.on and settings.maximal_isr.on else broker.isr


def waited_isr(s: State, leader: Replica) -> SetValue[Replica]:
    """`counted_isr` without those that are replicas no more: with ZooKeeper the ISR may have such members for a time."""
    members = counted_isr(s, leader)
    lingers = settings.reassignment.on and not settings.moves_in_one_record.on
    return members & s.broker[leader].assigned if lingers else members


def has_reached(s: State, leader: Replica, replica: Replica, end: Offset) -> Bool:
    """A replica's log goes at least up to `end`, as the leader knows it; of whom it has not heard it knows nothing."""
    return ite(replica == leader, end <= s.log[leader].end, s.known_end[leader][replica] >= end)


def enough_in_sync(members: SetValue[Replica], assigned: SetValue[Replica]) -> Bool:
    """The ISR has min.insync.replicas members (from 3.7: or all replicas, if there are fewer; `assigned` are those known)."""
    enough = members.reaches(facts.enough_replicas)
    if settings.reassignment.on and settings.strict_min_isr.on:
        enough |= abbreviate(assigned.issubset(members))
    return enough


Advance = Callable[[State, Replica], None]
"""What a leader's high watermark does where a log end or the ISR is news: it rises, or waits for who is outside the ISR."""


def advance_high_watermark(s: State, leader: Replica) -> None:
    """Moves a leader's high watermark to the least log end of the ISR, never back, and answers who waited for that."""
    _raise_high_watermark(s, leader, _reached_by_isr(s, leader))


def _reached_by_isr(s: State, leader: Replica) -> Offset:
    members = waited_isr(s, leader)
    return greatest(Offset, lambda o: every(members, lambda r: has_reached(s, leader, r, o)))


def hold_high_watermark(s: State, leader: Replica) -> None:
    """Moves a leader's high watermark only as far as followers outside the ISR have come that may join (KAFKA-4485).

    Kafka waits for those that had caught up with this leader within `replica.lag.time.max.ms`. When that was is left open:
    any that has fetched in this leadership may be waited for, or not (`advance_high_watermark`). From 3.6 those that may not
    join are not waited for (KAFKA-15021).
    """
    members, reached = counted_isr(s, leader), _reached_by_isr(s, leader)

    def lacks(r: Replica, o: Offset) -> Bool:
        known = s.known_end[leader][r]
        waited_for = ~members.contains(r) & known.is_some & (known < o)
        # Who has restarted has another broker epoch, and may not join (KIP-903); here, until it has heard who leads.
        return waited_for & may_count(s, r) & s.broker[r].leader_epoch.is_some if settings.fenced_stay_out.on else waited_for

    require("the high watermark would rise", reached > s.broker[leader].hw)
    require("a follower outside the ISR lacks what it would rise over", some(Replica, lambda r: lacks(r, reached)))
    held = greatest(Offset, lambda o: (o <= reached) & every(Replica, lambda r: ~lacks(r, o)))
    _raise_high_watermark(s, leader, held)


def _raise_high_watermark(s: State, leader: Replica, reached: Offset) -> None:
    broker = s.broker[leader]
    may = reached > broker.hw
    if settings.strict_min_isr.on:
        may &= enough_in_sync(broker.isr, broker.assigned)
    broker.hw = ite(may, reached, broker.hw)
    answer_waiting(s, leader)


def answer_waiting(s: State, leader: Replica) -> None:
    """Answers producers that wait at the leader for offsets below its high watermark.

    With fewer than min.insync.replicas in the ISR by now the answer is NOT_ENOUGH_REPLICAS_AFTER_APPEND, though the record
    stays.
    """
    if settings.acks.value != settings.ACKS_ALL:
        return
    hw = s.broker[leader].hw
    enough = enough_in_sync(counted_isr(s, leader), s.broker[leader].assigned)

    def answer(record: RecordId) -> None:
        due = (s.producer.waits_at[record] == leader) & all_below(s, leader, record, hw)
        s.producer.status[record] = ite(due, ite(enough, ACKED, without_success()), s.producer.status[record])
        s.producer.waits_at[record] = ite(due, None, s.producer.waits_at[record])

    for_each(RecordId, answer)


def all_below(s: State, broker: Replica, record: RecordId, hw: Offset) -> Bool:
    """The log holds the record, and every copy of it below the high watermark."""
    log = s.log[broker]
    return holds(s, broker, record) & every(Offset, lambda o: implies(log.has(o) & (log.at(o).id == record), o < hw))


def stop_waiting(s: State, broker: Replica) -> None:
    """Whoever waits at the broker gets no answer: it crashed or no longer leads."""
    if settings.acks.value != settings.ACKS_ALL:
        return

    def disappoint(record: RecordId) -> None:
        disappointed = s.producer.waits_at[record] == broker
        s.producer.status[record] = ite(disappointed, without_success(), s.producer.status[record])
        s.producer.waits_at[record] = ite(disappointed, None, s.producer.waits_at[record])

    for_each(RecordId, disappoint)


def without_success() -> Status:
    """What becomes of a record after an error, or no answer in time: it is sent again, or without retries it has failed."""
    return Status(literal(SENT if settings.retries.on else FAILED))


# -- joining the ISR --------------------------------------------------------------------------------------------------


def has_caught_up(s: State, leader: Replica, end: Offset) -> Bool:
    """A follower's log end is enough for the ISR: it has reached the high watermark, and the epoch's start (KAFKA-7128)."""
    reached = end >= s.broker[leader].hw
    return reached & (end >= epoch_start(s, leader)) if settings.expand_in_own_epoch.on else reached


def may_count(s: State, follower: Replica) -> Bool:
    """The controller lets the follower into the ISR: it is not fenced (KIP-841)."""
    return has_session(s, follower) if settings.fenced_stay_out.on else truth(True)


# -- what the controller commits --------------------------------------------------------------------------------------


def commit_isr(
    s: State, isr: SetValue[Replica], completes: Bool | None = None, known: SetValue[Replica] | None = None
) -> None:
    """The controller's ISR becomes `isr`; with KIP-966, who leaves an ISR that is too small stays eligible as a leader.

    With KRaft a reassignment that is complete with this ISR ends in the same record, always unless said when it `completes`.
    How small is too small depends on the assignment before, which is `known` if the caller has changed it.
    """
    known = s.controller.replicas if known is None else known
    isr, stays = complete(s, isr, truth(True) if completes is None else completes)
    if settings.reassignment.on and settings.moves_in_one_record.on:
        take_epoch(s, stays, "a leader epoch is left for the end of the reassignment")
    if settings.eligible_leader_replicas.on:
        enough = enough_in_sync(isr, known)
        eligible = (s.controller.elr | s.controller.isr) - isr
        set_eligible(s, ite(enough, none_of(Replica), eligible))
    s.controller.isr = isr


def set_eligible(s: State, elr: SetValue[Replica]) -> None:
    """The controller's eligible leaders; how the others went down does not matter any more."""
    s.controller.elr = elr
    if facts.dies_uncleanly.on:
        s.killed = s.killed & elr


def lose_broker(s: State, replica: Replica) -> None:
    """A broker is gone, and the controller notices at once; of several the one that is in charge, if there is one."""
    if not many_controllers.on:
        take_out(s, replica)
        return
    leader, isr = s.controller.leader, s.controller.isr
    take_out(s, replica, somebody_in_charge(s))
    notices_loss(s, replica, (s.controller.leader != leader) | (s.controller.isr != isr))


def take_out(s: State, replica: Replica, where: Bool | None = None) -> None:
    """The controller has lost a broker: it leaves the ISR, and the leadership if it had it; only `where` it is so, if said.

    The last member of the ISR stays in it without KIP-966; with it the ISR may become empty, because the member is then an
    eligible leader. Who led last is remembered; that is the last member, which Kafka elects in the step that leaves it alone.
    """
    before = s.controller.isr
    after = before.remove(replica)
    if not settings.eligible_leader_replicas.on:
        after = ite(before.is_only(replica), before, after)
    leads = s.controller.leader == replica
    if where is not None:
        after, leads = ite(where, after, before), leads & where

    def was_member() -> Bool:
        return before.contains(replica) if where is None else before.contains(replica) & where

    if settings.eligible_leader_replicas.on:
        s.controller.last_leader = ite(before.is_only(replica), replica, s.controller.last_leader)
    epoch = s.controller.leader_epoch
    if settings.shrink_bumps_epoch.on and not settings.reassignment.on:
        take_epoch(s, was_member() & s.controller.leader.is_some & ~leads)
    if settings.asynchronous_isr.on:
        note_change(s, was_member())
    if not settings.reassignment.on:
        commit_isr(s, after)
        s.controller.leader = ite(leads, None, s.controller.leader)
        return
    s.controller.leader = ite(leads, None, s.controller.leader)
    commit_isr(s, after, was_member())
    if settings.shrink_bumps_epoch.on:
        # A reassignment that ends in the same record has taken the epoch already.
        take_epoch(s, was_member() & s.controller.leader.is_some & (s.controller.leader_epoch == epoch))


def note_change(s: State, changed: Bool) -> None:
    """The controller's partition state moved on: the change of the ISR that its leader may have asked for will be refused."""

    def note(r: Replica) -> None:
        s.broker[r].outdated = s.broker[r].outdated | (changed & is_true_leader(s, r))

    for_each(Replica, note)


EPOCH_LEFT = "a leader epoch is left"


def elect(s: State, leader: Replica, isr: SetValue[Replica], known: SetValue[Replica] | None = None) -> None:
    """The controller makes a broker the leader in the next leader epoch."""
    take_epoch(s, truth(True))
    s.controller.leader = leader
    # What the election makes of the ISR is decided after a look at the reassignment, which may end with the next change.
    commit_isr(s, isr, truth(False), known)
    if settings.eligible_leader_replicas.on:
        s.controller.last_leader = None


def take_epoch(s: State, where: Bool, label: str = EPOCH_LEFT) -> None:
    """Where a condition holds the next leader epoch begins; where the number of elections is bounded, one must be left."""
    if settings.max_leader_epoch.value:
        require(label, ~where | (s.controller.leader_epoch < settings.max_leader_epoch))
    s.controller.leader_epoch = ite(where, s.controller.leader_epoch + 1, s.controller.leader_epoch)


# -- leader epochs ----------------------------------------------------------------------------------------------------


def renumber_epochs(s: State) -> None:
    """Leader epochs become ranks among those in use, unless the question bounds them.

    Kafka only ever compares leader epochs, so a state and its renumbering have the same future (`docs/abstractions.md`). The
    same goes for controller epochs.
    """
    if many_controllers.on:
        renumber_controller_epochs(s)
    if settings.max_leader_epoch.value:
        return
    in_use = [(truth(True), s.controller.leader_epoch)]
    for r in each(Replica):
        known = s.broker[r].leader_epoch
        in_use.append((known.is_some, known.value))
        if facts.hears_first.on:
            former = s.broker[r].former_epoch
            in_use.append((former.is_some, former.value))
        if facts.keeps_empty_epochs.on:
            empty = s.broker[r].empty_epoch
            in_use.append((empty.is_some, empty.value))
        in_use += [(s.log[r].has(o), s.log[r].at(o).epoch) for o in each(Offset)[:-1]]
        if settings.late_answers.on:
            brought = s.late[r].log
            in_use += [(brought.has(o), brought.at(o).epoch) for o in each(Offset)[:-1]]
    if facts.asks_in_epoch.on:
        in_use.append((truth(True), s.consumer.epoch))
    if many_controllers.on:
        in_use += known_leader_epochs(s)
    rank = ranks(Epoch, in_use)
    if many_controllers.on:
        renumber_known_epochs(s, rank)
    if facts.asks_in_epoch.on:
        s.consumer.epoch = rank(s.consumer.epoch)
    s.controller.leader_epoch = rank(s.controller.leader_epoch)
    for r in each(Replica):
        known = s.broker[r].leader_epoch
        s.broker[r].leader_epoch = ite(known.is_some, rank(known.value), known)
        if facts.hears_first.on:
            former = s.broker[r].former_epoch
            s.broker[r].former_epoch = ite(former.is_some, rank(former.value), former)
        if facts.keeps_empty_epochs.on:
            empty = s.broker[r].empty_epoch
            s.broker[r].empty_epoch = ite(empty.is_some, rank(empty.value), empty)
        for log in (s.log[r], s.late[r].log) if settings.late_answers.on else (s.log[r],):
            for o in each(Offset)[:-1]:
                record = log.at(o)
                record.epoch = rank(record.epoch)
