"""Leading: a broker learns that it leads, and changes the in-sync replicas.

Becoming leader, taking a follower out of the ISR, and taking one in where that is a request of its own
(AlterPartition, KIP-497). Before, a follower joins as part of its fetch (`fetching.py`).
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import every, for_each, ite, truth
from acked.model.language.sets import SetValue
from acked.model.language.state import none_of
from acked.model.language.telling import CONTROLLER, Fault, Telling, says_brokers, says_set
from acked.model.language.values import Bool
from acked.model.partition.common import (
    Advance,
    advance_high_watermark,
    commit_isr,
    follows,
    has_caught_up,
    has_session,
    hold_high_watermark,
    is_true_leader,
    may_count,
    presumes_leadership,
    renumber_epochs,
    share_epoch,
    take_epoch,
)
from acked.model.partition.fetching import have_diverged
from acked.model.partition.following import drop_late_answer, require_fetcher_removed
from acked.model.partition.rules import settings
from acked.model.partition.rules.controllers import ONE, asked_in_vain, controllers, many_controllers
from acked.model.partition.rules.facts import answers_get_lost, truncates_by_request, waits_in_vain
from acked.model.partition.state import Epoch, Replica, State
from acked.model.partition.vocabulary.assignment import has_heard_of_removal, require_replica_of, take_up_assignment
from acked.model.partition.vocabulary.candidates import hear_of_isr, somebody_in_charge
from acked.model.partition.vocabulary.messages import (
    ANSWERS,
    ASK_FOR_ISR,
    CHANGED_ISR,
    COMMITTED_ISR,
    HEARS_OF_ISR,
    LOST_ISR_ANSWER,
    REFUSED_ISR,
    hears_who_leads,
)
from acked.model.partition.vocabulary.words import says_answers, says_complete, says_office


@action(
    says=says_office,
    when=lambda: controllers.value == ONE,
    actor="leader", messages=(*hears_who_leads("leader"), ANSWERS),
)
def become_leader(s: State, leader: Replica) -> None:
    """A broker learns that it leads; it keeps its log and its high watermark, and knows nothing of its followers yet.

    Kafka lets a broker that led already, as far as it knows, go on with the log ends it knew of its followers.
    """
    require("the controller's leader", s.controller.leader == leader)
    require("has a session", has_session(s, leader))
    require("newer leader epoch", s.broker[leader].leader_epoch < s.controller.leader_epoch)
    take_office(s, leader, s.controller.leader_epoch, s.controller.isr)


def take_office(s: State, leader: Replica, epoch: Epoch, isr: SetValue[Replica]) -> None:
    """The broker leads in a leader epoch, with the ISR that it was told."""
    require_fetcher_removed(s, leader)
    led = presumes_leadership(s, leader) & ~truth(settings.reelection_forgets_ends.on)
    take_up_assignment(s, leader)
    has_heard_of_removal(s, leader)

    def forget(r: Replica) -> None:
        # A replica that was removed is not known at all any more.
        kept = led & s.broker[leader].assigned.contains(r) if settings.reassignment.on else led
        s.known_end[leader][r] = ite(kept, s.known_end[leader][r], None)

    for_each(Replica, forget)
    if settings.answer_names_epoch.on:
        drop_late_answer(s, leader)
    broker = s.broker[leader]
    broker.leader_epoch = epoch
    broker.leader = leader
    broker.isr = isr
    broker.pending = none_of(Replica)
    broker.outdated = False
    broker.unanswered = False
    broker.truncating = False
    broker.reopens = False
    broker.answered = False
    broker.names_no_epoch = False
    broker.began = s.log[leader].end
    # The epoch of the new office starts at the log end, too, and takes the place of one without records.
    broker.empty_epoch = None
    advance_high_watermark(s, leader)
    renumber_epochs(s)


WAITS = "the high watermark waits for a follower outside the ISR"


def _says_isr(t: Telling) -> str:
    return (
        f"{says_set(t.after.broker[t.leader].isr)}, and its high watermark is {t.after.broker[t.leader].hw}"
        f"{says_answers(t, t.leader)}"
    )


def _hears_of_isr() -> bool:
    """Whether a leader ever reads its ISR again: one that writes it itself keeps what it was sent (`Cached zkVersion`)."""
    return settings.asynchronous_isr.on or controllers.value == ONE


@action(
    says=lambda t: f"leader {t.leader} hears that the ISR is {_says_isr(t)}",
    when=_hears_of_isr,
    actor="leader", messages=HEARS_OF_ISR,
)
def learn_isr(s: State, leader: Replica) -> None:
    """The leader hears of an ISR that the controller has committed; a change that it had in flight is thereby over."""
    take_up_isr(s, leader, advance_high_watermark)


@action(
    says=lambda t: f"leader {t.leader} hears that the ISR is {_says_isr(t)}; {WAITS}",
    when=lambda: settings.hw_waits_for_caught_up.on and _hears_of_isr(),
    actor="leader", messages=HEARS_OF_ISR,
)
def learn_isr_while_hw_waits(s: State, leader: Replica) -> None:
    """The leader hears of an ISR, and its high watermark waits for a follower outside it that may soon join (KAFKA-4485)."""
    take_up_isr(s, leader, hold_high_watermark)


def take_up_isr(s: State, leader: Replica, advance: Advance) -> None:
    """The leader's ISR and assignment are the committed ones, and no change is in flight."""
    require("true leader", is_true_leader(s, leader))
    broker = s.broker[leader]
    if waits_in_vain.on:
        require("the answer is not lost", ~broker.unanswered)
    require("news to the leader", broker.outdated if settings.asynchronous_isr.on else broker.isr != s.controller.isr)
    broker.isr = s.controller.isr
    take_up_assignment(s, leader)
    broker.pending = none_of(Replica)
    broker.outdated = False
    advance(s, leader)


def lags(s: State, leader: Replica, follower: Replica) -> Bool:
    """As far as the leader knows, the follower has not reached the leader's log end, be that 0."""
    return s.known_end[leader][follower] < s.log[leader].end


def require_too_slow(s: State, leader: Replica, followers: SetValue[Replica]) -> None:
    """The leader may take the followers out of the ISR, all in one change.

    How slow is too slow is left open: `replica.lag.time.max.ms`, and to 0.8 also `replica.lag.max.messages`.
    """
    require("at least one follower", ~followers.is_empty)
    require("in the ISR", followers.issubset(s.broker[leader].isr))
    require("not the leader itself", ~followers.contains(leader))
    if settings.reassignment.on and not settings.larger_isr_shrinks.on:
        require("the ISR has replicas only", s.broker[leader].isr.issubset(s.broker[leader].assigned))
    if settings.caught_up_stay.on:
        require("lags", every(followers, lambda r: lags(s, leader, r)))


@action(
    says=lambda t: f"leader {t.leader} removes {says_brokers(t.followers)} from the ISR, which is now {_says_isr(t)}",
    when=lambda: not settings.asynchronous_isr.on,
    actor="leader", messages=CHANGED_ISR,
)
def shrink_isr(s: State, leader: Replica, followers: SetValue[Replica]) -> None:
    """The leader finds followers too slow and takes them out of the ISR, in one write to ZooKeeper."""
    write_smaller_isr(s, leader, followers, advance_high_watermark)


@action(
    says=lambda t: (
        f"leader {t.leader} removes {says_brokers(t.followers)} from the ISR, which is now {_says_isr(t)}; {WAITS}"
    ),
    when=lambda: not settings.asynchronous_isr.on and settings.hw_waits_for_caught_up.on,
    actor="leader", messages=CHANGED_ISR,
)
def shrink_isr_while_hw_waits(s: State, leader: Replica, followers: SetValue[Replica]) -> None:
    """The leader takes slow followers out, and its high watermark waits for another that may soon join (KAFKA-4485)."""
    write_smaller_isr(s, leader, followers, hold_high_watermark)


def write_smaller_isr(s: State, leader: Replica, followers: SetValue[Replica], advance: Advance) -> None:
    """The ISR without some followers, in the store and in the leader's memory."""
    require("true leader", is_true_leader(s, leader))
    require("knows the committed ISR", s.broker[leader].isr == s.controller.isr)
    require_too_slow(s, leader, followers)
    commit_isr(s, s.broker[leader].isr - followers)
    s.broker[leader].isr = s.controller.isr
    hear_of_isr(s, truth(True))
    advance(s, leader)


# -- AlterPartition: the change is a request, and the leader counts it as made and as not made until it hears ---------


@action(
    says=lambda t: f"leader {t.leader} asks the controller to take {says_brokers(t.followers)} out of the ISR",
    when=lambda: settings.asynchronous_isr.on,
    actor="leader", messages=ASK_FOR_ISR,
)
def ask_to_shrink(s: State, leader: Replica, followers: SetValue[Replica]) -> None:
    """The leader finds followers too slow and asks the controller for an ISR without them, in one request."""
    broker = s.broker[leader]
    require("presumes leadership", presumes_leadership(s, leader))
    require("no change is in flight", broker.pending.is_empty)
    require_too_slow(s, leader, followers)
    broker.pending = broker.isr - followers


@action(
    says=lambda t: f"leader {t.leader} asks the controller to take broker {t.follower} into the ISR",
    when=lambda: settings.asynchronous_isr.on,
    actor="leader", messages=ASK_FOR_ISR,
)
def ask_to_expand(s: State, leader: Replica, follower: Replica) -> None:
    """The leader has seen a follower reach its high watermark and asks the controller for an ISR with it."""
    broker = s.broker[leader]
    require("presumes leadership", presumes_leadership(s, leader))
    require("no change is in flight", broker.pending.is_empty)
    require("outside the ISR", ~broker.isr.contains(follower))
    require("not the leader itself", follower != leader)
    # Only a fetch that the leader takes note of makes it think of the follower, whose broker was up then.
    require("fetches from this leader", follows(s, leader, follower))
    require_replica_of(s, leader, follower)
    if settings.fetch_fencing.value == settings.BY_CURRENT_EPOCH:
        require("same leader epoch", share_epoch(s, leader, follower))
    if truncates_by_request.on:
        require("has truncated", ~s.broker[follower].truncating)
    require("logs agree", ~have_diverged(s, leader, follower))
    known = s.known_end[leader][follower]
    require("has fetched", known.is_some)
    require("known of this incarnation", known <= s.log[follower].end)
    require("caught up to HW and epoch", has_caught_up(s, leader, known.value))
    require("not fenced", may_count(s, follower))
    broker.pending = broker.isr.add(follower)
    advance_high_watermark(s, leader)


def _says_new_epoch(t: Telling) -> str:
    before, after = t.before.controller.leader_epoch, t.after.controller.leader_epoch
    return f", in a new leader epoch, {after}" if before != after else ""


@action(
    says=lambda t: (
        f"the controller commits the ISR {says_set(t.before.broker[t.leader].pending)} that leader {t.leader} asked for"
        + says_complete(t)
        + _says_new_epoch(t)
        + f"; broker {t.leader} has not heard yet"
    ),
    when=lambda: settings.asynchronous_isr.on,
    actor=CONTROLLER, messages=COMMITTED_ISR,
)
def commit_alter_partition(s: State, leader: Replica) -> None:
    """The controller commits the ISR that the leader asked for, if the partition has not changed since (KIP-497).

    From 3.3 to 3.5 with KRaft a smaller ISR takes a new leader epoch, in which the leader has to take office again.
    """
    broker = s.broker[leader]
    require("a change is in flight", ~broker.pending.is_empty)
    require("true leader", is_true_leader(s, leader))
    require("partition epoch is current", ~broker.outdated)
    require_controller(s, leader)
    if settings.fenced_stay_out.on:
        require("no fenced member", every_has_session(s, leader))
    shrinks, epoch = ~(s.controller.isr - broker.pending).is_empty, s.controller.leader_epoch
    commit_isr(s, broker.pending)
    broker.outdated = True
    hear_of_isr(s, truth(True))
    if settings.alter_bumps_epoch.on:
        # A reassignment that ends in the same record has taken the epoch already.
        take_epoch(s, shrinks & (s.controller.leader_epoch == epoch) if settings.reassignment.on else shrinks)
    if settings.alter_bumps_epoch.on or (settings.reassignment.on and settings.moves_in_one_record.on):
        renumber_epochs(s)


@action(
    says=lambda t: f"the controller refuses the ISR that leader {t.leader} asked for, because it has a fenced member",
    when=lambda: (
        settings.asynchronous_isr.on
        and settings.fenced_stay_out.on
        and (settings.zombies.on or not settings.isr_checks_broker_epoch.on)
    ),
    actor=CONTROLLER, messages=REFUSED_ISR,
)
def refuse_alter_partition(s: State, leader: Replica) -> None:
    """INELIGIBLE_REPLICA: a broker that would join is fenced; the leader goes back to the committed ISR (3.3, KIP-841)."""
    broker = s.broker[leader]
    require("a change is in flight", ~broker.pending.is_empty)
    require("true leader", is_true_leader(s, leader))
    require("partition epoch is current", ~broker.outdated)
    require("a fenced member", ~every_has_session(s, leader))
    require_controller(s, leader)
    broker.pending = none_of(Replica)


@action(
    says=lambda t: f"the controller's answer to leader {t.leader} is lost, and the leader goes on waiting for it",
    when=lambda: answers_get_lost.on,
    actor=CONTROLLER, fault=Fault.LOST, messages=(LOST_ISR_ANSWER,),
)
def lose_answer(s: State, leader: Replica) -> None:
    """The controller has committed or refused an ISR, and its leader never hears; until it does it asks for no other."""
    broker = s.broker[leader]
    require("a change is in flight", ~broker.pending.is_empty)
    require("true leader", is_true_leader(s, leader))
    require("the controller has decided", broker.outdated)
    broker.unanswered = True


def require_controller(s: State, leader: Replica) -> None:
    """Somebody decides about the leader's request: of several controllers the one in charge, unless another has answered."""
    if many_controllers.on:
        require("a controller is in charge", somebody_in_charge(s))
    if asked_in_vain.on:
        require("not answered already", ~s.broker[leader].unanswered)


def every_has_session(s: State, leader: Replica) -> Bool:
    """Every member of the ISR that the leader asks for is alive, as the controller sees it."""
    return every(s.broker[leader].pending, lambda r: has_session(s, r))
