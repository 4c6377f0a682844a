"""Becoming a follower: what a broker takes up, what it forgets, and what its fetcher begins with."""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import for_each, ite, smaller, truth
from acked.model.language.state import none_of
from acked.model.language.values import Bool
from acked.model.partition.common import has_session, renumber_epochs, stop_waiting
from acked.model.partition.rules import settings
from acked.model.partition.rules.controllers import ONE, controllers
from acked.model.partition.rules.facts import hears_first, keeps_empty_epochs, takes_hw_first, truncates_by_request
from acked.model.partition.state import Epoch, Offset, Replica, State
from acked.model.partition.vocabulary.assignment import has_heard_of_removal, is_replica
from acked.model.partition.vocabulary.messages import hears_who_leads
from acked.model.partition.vocabulary.words import says_following


def cut(s: State, broker: Replica, to: Offset) -> None:
    """The broker drops every record from an offset on, and lowers its high watermark to it."""
    s.log[broker].truncate(to)
    s.broker[broker].hw = smaller(s.broker[broker].hw, to)


def cut_as_told(s: State, follower: Replica, to: Offset, read: Offset) -> None:
    """An answer that logs diverge makes the follower truncate; `read` is the high watermark that came with it.

    From 2.8.0 to 3.4.0 the follower takes that first, as far as its log goes, whether it rises or falls by it
    (`AbstractFetcherThread.processFetchRequest`; KAFKA-14704, in 3.4.1 and 3.5.0).
    """
    if takes_hw_first.on:
        s.broker[follower].hw = smaller(read, s.log[follower].end)
    cut(s, follower, to)
    s.broker[follower].names_no_epoch = False


# -- becoming a follower ----------------------------------------------------------------------------------------------


@action(
    says=says_following,
    when=lambda: controllers.value == ONE,
    actor="follower", messages=hears_who_leads("follower"),
)
def become_follower(s: State, follower: Replica, leader: Replica) -> None:
    """A broker learns whom to follow, in a newer leader epoch; to 0.10.2 it truncates to its high watermark at once."""
    require_news(s, follower, leader)
    follow(s, follower, leader, s.controller.leader_epoch)
    renumber_epochs(s)


def require_news(s: State, follower: Replica, leader: Replica) -> None:
    """The broker has yet to hear that the controller's leader is another one."""
    require("another broker leads", leader != follower)
    require("the controller's leader", s.controller.leader == leader)
    require("has a session", has_session(s, follower))
    if settings.reassignment.on:
        require("a replica", is_replica(s, follower))
    require("newer leader epoch", s.broker[follower].leader_epoch < s.controller.leader_epoch)


def require_fetcher_removed(s: State, broker: Replica) -> None:
    """A broker takes up one change of leadership after the other, each with all that comes of it."""
    if hears_first.on:
        require("the fetcher of the former leader is removed", s.broker[broker].former_leader.is_none)


def follow(s: State, follower: Replica, leader: Replica, epoch: Epoch) -> None:
    """The broker follows a leader in a leader epoch, and no longer knows what only a leader knows."""
    require_fetcher_removed(s, follower)
    broker = s.broker[follower]
    must_truncate = truth(True) if settings.truncate_under_same_leader.on else broker.leader != leader
    stop_waiting(s, follower)
    if keeps_empty_epochs.on:
        note_empty_epoch(s, follower)
    broker.leader_epoch = epoch
    broker.leader = leader
    resign(s, follower)
    start_fetching(s, follower, must_truncate)
    has_heard_of_removal(s, follower)


def start_fetching(s: State, follower: Replica, must_truncate: Bool) -> None:
    """The partition goes to the fetcher of the leader that the broker follows now."""
    broker = s.broker[follower]
    if settings.answer_names_epoch.on:
        drop_late_answer(s, follower)
    elif truncates_by_request.on and settings.truncating_takes_none.on and settings.late_answers.on:
        # The thread that awaits the answer would ask where to truncate, and does not before it has got it.
        end_wait(s, follower, must_truncate)
    if settings.truncation.value == settings.TO_HW:
        cut(s, follower, ite(must_truncate, broker.hw, s.log[follower].end))
    broker.truncating = broker.truncating | must_truncate
    broker.answered = False
    broker.names_no_epoch = False


def note_empty_epoch(s: State, broker: Replica) -> None:
    """A leader that wrote nothing is about to follow: its epoch cache ends with an epoch that has no records."""
    mine, log = s.broker[broker], s.log[broker]
    wrote = ~log.is_empty & (mine.leader_epoch == log.last.epoch)
    led = (mine.leader == broker) & ~wrote
    mine.empty_epoch = ite(led, mine.leader_epoch, mine.empty_epoch)


def resign(s: State, broker: Replica) -> None:
    """What only a leader knows is forgotten."""
    s.broker[broker].isr = none_of(Replica)
    s.broker[broker].pending = none_of(Replica)
    s.broker[broker].outdated = False
    s.broker[broker].unanswered = False
    s.broker[broker].began = 0
    s.broker[broker].assigned = none_of(Replica)

    def forget(r: Replica) -> None:
        s.known_end[broker][r] = None

    s.broker[broker].reopens = False
    s.broker[broker].answered = False
    s.broker[broker].names_no_epoch = False
    for_each(Replica, forget)


def drop_late_answer(s: State, follower: Replica) -> None:
    """Whatever answer the follower awaits will not count any more."""
    if settings.late_answers.on:
        end_wait(s, follower, truth(True))


def end_wait(s: State, follower: Replica, over: Bool) -> None:
    """Where `over`, no answer to the follower is late any more."""
    late = s.late[follower]
    late.leader = ite(over, None, late.leader)
    late.fetched_at = ite(over, 0, late.fetched_at)
    late.hw = ite(over, 0, late.hw)
    late.truncate_to = ite(over, None, late.truncate_to)
    late.log.truncate(ite(over, 0, late.log.end))
