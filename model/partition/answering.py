"""Answers to fetches that are late: what a leader has read arrives when leadership may have changed.

A follower has one fetcher thread for each leader, and one request of it in flight. When leadership changes the partition is
taken from the thread and, where the same broker leads (again), given back to it; the thread meanwhile awaits the answer to a
fetch of the former leader epoch. It compares the answer with what it knows of the partition when it arrives
(`AbstractFetcherThread.processFetchRequest`): by the fetch offset alone (0.8.0), by that it has truncated too (1.1,
KAFKA-5163), by the leader epoch of the fetch too (3.9.1, 4.0.1 and 4.1, KAFKA-18991). An answer that finds its follower in
the epoch of the fetch is no other than one that came at once (`docs/abstractions.md`). An error brings nothing that counts:
at an offset that is out of range the follower asks the leader anew, and after any other it waits and fetches again.

From 0.8.1 on a broker that is to follow another leader, or the same one in the next epoch, first takes up the epoch
(`Partition.makeFollower`) and then takes the partition from its thread (`removeFetcherForPartitions`; `makeFollowers` of
`ReplicaManager`, with KRaft `applyLocalFollowersDelta`). Between the two the thread knows nothing of it: it takes an answer
of the former leader, and fetches from that one again, in the former epoch. Who is to lead has the fetcher removed first.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import ite, least, smaller, some, truth
from acked.model.language.telling import Fault, Telling, says_cut
from acked.model.partition.common import (
    Advance,
    advance_high_watermark,
    epochs_agree_until,
    fetches_from,
    fetches_in,
    follows,
    hold_high_watermark,
    renumber_epochs,
    share_epoch,
)
from acked.model.partition.controllers.hearing import arrives, epoch_of_request
from acked.model.partition.fetching import (
    have_diverged,
    leader_learns,
    replace_empty_epoch,
    require_fetch,
    says_round,
    take_answer,
)
from acked.model.partition.following import (
    cut_as_told,
    drop_late_answer,
    require_fetcher_removed,
    require_news,
    start_fetching,
)
from acked.model.partition.rules import facts, settings
from acked.model.partition.rules.controllers import ONE, controllers, many_controllers
from acked.model.partition.state import Candidate, Epoch, Offset, Replica, State
from acked.model.partition.vocabulary.assignment import has_heard_of_removal
from acked.model.partition.vocabulary.messages import (
    FETCH_DIVERGING_LATE,
    FETCH_LATE,
    LATE_ANSWER_ARRIVES,
    LATE_ANSWER_ENDS,
    LATE_RECORDS_ARRIVE,
    hears_who_leads,
    no_late_answer,
)
from acked.model.partition.vocabulary.words import says_by, says_cut_as_told, says_following, says_late

# -- the answer departs -----------------------------------------------------------------------------------------------


def require_no_other(s: State, follower: Replica) -> None:
    """One answer to a follower may be late: what else it fetches, of another leader, is answered at once."""
    require("no other answer is late", s.late[follower].leader.is_none)


def answer_late(s: State, follower: Replica, leader: Replica, end: Offset, advance: Advance) -> None:
    """The leader reads the answer to a fetch, the records below `end` and its high watermark, and then notes the fetch."""
    require_no_other(s, follower)
    require_fetch(s, follower, leader)
    require("logs agree", ~have_diverged(s, leader, follower))
    start = s.log[follower].end
    require("a batch of what the leader holds", (start <= end) & (end <= s.log[leader].end))
    late = s.late[follower]
    late.leader = leader
    late.fetched_at = start
    late.hw = s.broker[leader].hw
    late.log.copy(s.log[leader], ite(start < end, end, 0))
    leader_learns(s, leader, follower, advance)


@action(
    says=lambda t: f"{says_round(t)}; the answer, {says_late(t.after.late[t.follower])}, is late",
    when=lambda: settings.late_answers.on,
    actor="follower", fault=Fault.LATE, messages=FETCH_LATE,
)
def fetch_late(s: State, follower: Replica, leader: Replica, end: Offset) -> None:
    """The answer to a fetch, with the records below `end` or none, is on its way while leadership may change.

    It was read before the leader noted the fetch. Where the fetch waited at the leader, that has noted it in an earlier step,
    as of a fetch whose answer is lost.
    """
    answer_late(s, follower, leader, end, advance_high_watermark)


@action(
    says=lambda t: (
        f"{says_round(t)}; its high watermark waits for a follower outside the ISR, and the answer, "
        f"{says_late(t.after.late[t.follower])}, is late"
    ),
    when=lambda: settings.late_answers.on and settings.hw_waits_for_caught_up.on,
    actor="follower", fault=Fault.LATE, messages=FETCH_LATE,
)
def fetch_late_while_hw_waits(s: State, follower: Replica, leader: Replica, end: Offset) -> None:
    """As `fetch_late`, where the leader's high watermark waits for one outside the ISR that may soon join (KAFKA-4485)."""
    answer_late(s, follower, leader, end, hold_high_watermark)


@action(
    says=lambda t: (
        f"{says_round(t)}; their logs diverge, and the answer, to truncate to {t.after.late[t.follower].truncate_to}, is late"
    ),
    when=lambda: facts.truncates_late.on,
    actor="follower", fault=Fault.LATE, messages=FETCH_DIVERGING_LATE,
)
def fetch_diverging_late(s: State, follower: Replica, leader: Replica) -> None:
    """The answer that makes a follower truncate is on its way while leadership may change."""
    require_no_other(s, follower)
    require_fetch(s, follower, leader)
    require("the logs have diverged", have_diverged(s, leader, follower))
    if facts.forgets_fetched_epoch.on:
        require("the fetch names the last record's epoch", ~s.broker[follower].names_no_epoch)
    late = s.late[follower]
    if facts.takes_hw_first.on:
        late.hw = s.broker[leader].hw
    if not settings.diverging_fetch_ignored.on:
        leader_learns(s, leader, follower)
    late.leader = leader
    late.fetched_at = s.log[follower].end
    late.truncate_to = epochs_agree_until(s, leader, follower)


# -- the answer arrives -----------------------------------------------------------------------------------------------


def require_match(s: State, follower: Replica) -> None:
    """The thread takes the answer: it has the partition, and would fetch at the offset that the answer is for."""
    late = s.late[follower]
    require("awaits an answer", late.leader.is_some)
    require("follows that leader", fetches_from(s, follower) == late.leader)
    require("at the same offset", s.log[follower].end == late.fetched_at)


def _says_taken(t: Telling) -> str:
    records = t.after.log[t.follower].records[t.before.log[t.follower].end :]
    got = f"record{'s' if len(records) > 1 else ''} {' and '.join(str(record.id) for record in records)}"
    brings = f"{got if records else 'no record'} and high watermark {t.after.broker[t.follower].hw}"
    return f"the late answer of broker {t.before.late[t.follower].leader} arrives, and broker {t.follower} gets {brings}"


@action(
    says=_says_taken,
    when=lambda: settings.late_answers.on,
    actor="follower", messages=(LATE_RECORDS_ARRIVE,),
)
def late_records_count(s: State, follower: Replica) -> None:
    """The answer arrives while its follower follows that leader, again or still, and is at the offset that it asked for.

    What it brings is appended whatever epoch it is of, and the high watermark taken, even where it falls.
    """
    late = s.late[follower]
    require_match(s, follower)
    if facts.truncates_late.on:
        require("brings records", late.truncate_to.is_none)
    replace_empty_epoch(s, follower, late.fetched_at < late.log.end)
    take_answer(s, follower, late.fetched_at < late.log.end)
    s.log[follower].copy(late.log, late.log.end)
    s.broker[follower].hw = smaller(late.hw, s.log[follower].end)
    drop_late_answer(s, follower)
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"{_says_taken(t)}; what it brings from offset {t.start} on was read from the leader's log as it was sent"
    ),
    when=lambda: facts.reads_late.on,
    actor="follower", messages=(LATE_RECORDS_ARRIVE,),
)
def late_records_are_mixed(s: State, follower: Replica, leader: Replica, start: Offset) -> None:
    """The answer's bytes from an offset on are sent after its leader has truncated its log and written it anew (KAFKA-18723).

    An answer is a piece of the log's file, which the network thread reads as it sends it, while the thread that follows
    another leader truncates and appends. Bytes that begin in a record are found out by a checksum; here a record is whole.
    """
    late, log = s.late[follower], s.log[leader]
    require_match(s, follower)
    require("whose answer it is", late.leader == leader)
    require("brings records", late.fetched_at < late.log.end)
    require("a part of the answer", (late.fetched_at <= start) & (start < late.log.end))
    require("the leader's log is as long again", late.log.end <= log.end)
    until = late.log.end
    if settings.appends_up_to_epoch.on:
        mine = fetches_in(s, follower)
        until = least(Offset, lambda o: (o == late.log.end) | ((start <= o) & log.has(o) & (mine < log.at(o).epoch)))
    take_answer(s, follower, truth(True))
    s.log[follower].copy(late.log, smaller(start, until))
    s.log[follower].copy(log, until)
    s.broker[follower].hw = smaller(late.hw, s.log[follower].end)
    drop_late_answer(s, follower)
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"the late answer of broker {t.before.late[t.follower].leader} arrives, and broker {t.follower} "
        f"{says_cut_as_told(t, t.before.late[t.follower].hw)}"
    ),
    when=lambda: facts.truncates_late.on,
    actor="follower", messages=(LATE_ANSWER_ARRIVES,),
)
def late_answer_counts(s: State, follower: Replica) -> None:
    """The answer to truncate arrives while its follower follows that leader, again or still, and is where it was."""
    late = s.late[follower]
    require_match(s, follower)
    require("tells to truncate", late.truncate_to.is_some)
    cut_as_told(s, follower, late.truncate_to.value, late.hw)
    drop_late_answer(s, follower)
    renumber_epochs(s)


@action(
    says=lambda t: f"the late answer of broker {t.before.late[t.follower].leader} comes to nothing",
    when=lambda: settings.late_answers.on,
    actor="follower", fault=Fault.LOST, messages=(LATE_ANSWER_ENDS,),
)
def late_answer_is_dropped(s: State, follower: Replica) -> None:
    """The answer is lost, or arrives where nobody asks for it any more."""
    require("awaits an answer", s.late[follower].leader.is_some)
    drop_late_answer(s, follower)
    renumber_epochs(s)


# -- the fetcher of a former leader -----------------------------------------------------------------------------------


def hear_first(s: State, follower: Replica, leader: Replica, epoch: Epoch) -> None:
    """The broker takes up the next leader epoch, and its fetcher goes on with the former leader until it is removed."""
    require_fetcher_removed(s, follower)
    broker = s.broker[follower]
    former = broker.leader
    require("follows another broker", former.is_some & (former != follower))
    if not settings.truncate_under_same_leader.on:
        require("its fetcher is to be removed", former != leader)
    if controllers.value == ONE and settings.fetch_fencing.value == settings.BY_CURRENT_EPOCH:
        # Else nothing can come of it: a leader that does not lead in that epoch now will not hear of it any more.
        serves = some(Replica, lambda r: follows(s, r, follower) & share_epoch(s, r, follower))
        require("its fetcher can bring something", serves | (s.late[follower].leader == former))
    broker.former_leader = former
    broker.former_epoch = broker.leader_epoch
    broker.leader_epoch = epoch
    broker.leader = leader
    has_heard_of_removal(s, follower)


def _says_hears_first(t: Telling) -> str:
    former = t.after.broker[t.follower].former_leader
    return f"{says_following(t)}, but its fetcher goes on with broker {former} until it is removed"


@action(
    says=_says_hears_first,
    when=lambda: facts.hears_first.on and controllers.value == ONE,
    actor="follower", messages=hears_who_leads("follower"),
)
def become_follower_before_removal(s: State, follower: Replica, leader: Replica) -> None:
    """A broker learns whom to follow; the fetcher of the former leader still has the partition."""
    require_news(s, follower, leader)
    hear_first(s, follower, leader, s.controller.leader_epoch)
    renumber_epochs(s)


@action(
    says=lambda t: says_by(t) + _says_hears_first(t),
    when=lambda: facts.hears_first.on and many_controllers.on,
    actor="follower", messages=(arrives("follower"),),
)
def become_follower_as_told_before_removal(s: State, controller: Candidate, follower: Replica, leader: Replica) -> None:
    """A follower hears first of the next leader, where one of several controllers tells it."""
    hear_first(s, follower, leader, epoch_of_request(s, controller, follower, leader))
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"broker {t.follower} takes the partition from its fetcher of broker {t.before.broker[t.follower].former_leader}"
        + (f" and {says_cut(t, t.follower)}" if t.before.log[t.follower].end != t.after.log[t.follower].end else "")
    ),
    when=lambda: facts.hears_first.on,
    actor="follower", messages=(no_late_answer("follower"),),
)
def remove_former_fetcher(s: State, follower: Replica) -> None:
    """The partition is taken from the fetcher of the former leader, and goes to that of the present one."""
    broker = s.broker[follower]
    former = broker.former_leader
    require("the fetcher of the former leader has the partition", former.is_some)
    must_truncate = truth(True) if settings.truncate_under_same_leader.on else former != broker.leader
    broker.former_leader = None
    broker.former_epoch = None
    broker.reopens = False
    start_fetching(s, follower, must_truncate)
    renumber_epochs(s)
