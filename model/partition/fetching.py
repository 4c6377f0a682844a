"""Following: a broker learns which leader to follow, truncates what its leader does not have, and fetches.

Becoming a follower, truncation by request (KIP-101, KIP-279), and the fetch. A fetch is one step: the leader learns the
follower's log end, moves its high watermark and takes the follower into the ISR (where that takes no request of its own);
then the answer reaches the follower, or is lost. An answer that is given at once was read before the leader noted the fetch,
so it carries the high watermark from before; one for which the fetch waited at the leader carries the one from after.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.context import literal
from acked.model.language.quantify import ite, least, smaller, some, truth
from acked.model.language.telling import Fault, Telling, says_cut, says_list, says_set
from acked.model.language.values import Bool
from acked.model.partition.common import (
    Advance,
    advance_high_watermark,
    commit_isr,
    diverges,
    epochs_agree_until,
    follows,
    has_caught_up,
    hold_high_watermark,
    is_true_leader,
    may_count,
    renumber_epochs,
    same_epoch_at,
    share_epoch,
)
from acked.model.partition.following import cut, cut_as_told
from acked.model.partition.rules import settings
from acked.model.partition.rules.facts import forgets_fetched_epoch, halts, keeps_empty_epochs, truncates_by_request
from acked.model.partition.state import Epoch, Offset, Replica, State
from acked.model.partition.vocabulary.assignment import require_replica_of
from acked.model.partition.vocabulary.candidates import hear_of_isr
from acked.model.partition.vocabulary.messages import FETCH, FETCH_DIVERGING, FETCH_UNANSWERED, WHERE_MY_EPOCH_ENDS
from acked.model.partition.vocabulary.words import answers_of, says_cut_as_told

# -- truncation by request --------------------------------------------------------------------------------------------


def knows_no_end(s: State, leader: Replica, asked: Epoch) -> Bool:
    """The leader's answer to OffsetsForLeaderEpoch is undefined: it does not know that the epoch is over."""
    if settings.epoch_known_at_election.on:
        return s.broker[leader].leader_epoch < asked
    log = s.log[leader]
    first = Offset(literal(0))
    return log.is_empty | (log.last.epoch < asked) | (log.has(first) & (log.at(first).epoch > asked))


def end_of_latest_epoch(s: State, leader: Replica, follower: Replica) -> Offset:
    """What a follower makes of the answer to OffsetsForLeaderEpoch for the epoch of its last record.

    The leader answers with its log end if that is its latest epoch, else with the start of the next higher epoch that it
    knows (KIP-101), or with the epoch below that it knows, about which the follower then asks again (KIP-279). To an
    undefined answer the follower falls back to its high watermark.
    """
    log, mine = s.log[leader], s.log[follower]
    asked = mine.last.epoch
    if settings.truncation.value == settings.BY_LEADER_EPOCH:
        latest = s.broker[leader].leader_epoch == asked if settings.epoch_known_at_election.on else log.last.epoch == asked
        next_start = least(Offset, lambda o: (o == log.end) | (log.has(o) & (log.at(o).epoch > asked)))
        agreed = smaller(ite(latest, log.end, next_start), mine.end)
    else:
        agreed = epochs_agree_until(s, leader, follower)
        if not settings.epoch_known_at_election.on:
            agreed = ite(agreed == 0, end_without_agreement(s, leader, follower), agreed)
    point = ite(knows_no_end(s, leader, asked), s.broker[follower].hw, agreed)
    return ite(mine.is_empty, 0, point)


def end_without_agreement(s: State, leader: Replica, follower: Replica) -> Offset:
    """Where a follower ends that shares no epoch with its leader, and both know none before their first record (2.0.0).

    If the leader names an epoch below all of the follower's, this one takes the end that came with it, as before KIP-279. If
    the follower gets to an epoch below all of the leader's, the answer is undefined, and it stays where it has got to. From
    2.0.1 on an epoch below all others ends where the first of them begins (KAFKA-7415).
    """
    log, mine = s.log[leader], s.log[follower]
    first = Offset(literal(0))

    def start_above(r: Replica, epoch: Epoch) -> Offset:
        held = s.log[r]
        return least(Offset, lambda o: (o == held.end) | (held.has(o) & (held.at(o).epoch > epoch)))

    next_start = start_above(leader, mine.at(first).epoch)
    taken = ite(next_start < log.end, smaller(next_start, start_above(follower, log.at(next_start).epoch)), mine.end)
    return ite(log.at(first).epoch < mine.at(first).epoch, taken, start_above(follower, log.at(first).epoch))


def asks_in_vain(s: State, leader: Replica, follower: Replica) -> Bool:
    """The follower's epoch cache ends with an epoch without records, and the answer does not help it (KAFKA-10706).

    The leader names the greatest epoch up to that one that it has records of. A follower without that one truncates to its
    own end of the epoch below. If that is its log end nothing is cut, not even the epoch cache, and it asks the same again.
    """
    asked, mine, theirs = s.broker[follower].empty_epoch, s.log[follower], s.log[leader]
    lacks_floor = some(
        Offset,
        lambda o: theirs.has(o) & (theirs.at(o).epoch < asked.value) & (mine.last.epoch < theirs.at(o).epoch),
    )
    return asked.is_some & ~mine.is_empty & lacks_floor


@action(
    says=lambda t: (
        f"broker {t.follower} asks broker {t.leader} where its epoch ends and {says_cut(t, t.follower)}"
    ),
    when=lambda: truncates_by_request.on,
    actor="follower", messages=WHERE_MY_EPOCH_ENDS,
)
def truncate_by_epoch(s: State, follower: Replica, leader: Replica) -> None:
    """A follower asks its leader up to where their logs can agree, and truncates there, before it fetches."""
    require("has yet to truncate", s.broker[follower].truncating)
    require("follows", follows(s, leader, follower))
    if settings.truncation_fencing.on:
        require("same leader epoch", share_epoch(s, leader, follower))
    end = end_of_latest_epoch(s, leader, follower)
    if keeps_empty_epochs.on:
        require("the answer leaves nothing to ask again", ~asks_in_vain(s, leader, follower))
        cut_entry = end < s.log[follower].end
        s.broker[follower].empty_epoch = ite(cut_entry, None, s.broker[follower].empty_epoch)
    cut(s, follower, end)
    s.broker[follower].truncating = False
    renumber_epochs(s)


# -- the fetch --------------------------------------------------------------------------------------------------------


def says_round(t: Telling) -> str:
    """The leader's half of a fetch in words."""
    before, after = t.before, t.after
    text = f"broker {t.follower} fetches from broker {t.leader} at offset {before.log[t.follower].end}"
    learns = []
    if before.controller.isr != after.controller.isr:
        learns.append(f"takes it into the ISR, now {says_set(after.controller.isr)}")
    if after.broker[t.leader].hw != before.broker[t.leader].hw:
        learns.append(f"raises its high watermark to {after.broker[t.leader].hw}")
    learns += answers_of(t, t.leader)
    return f"{text}, whereupon broker {t.leader} {says_list(learns)}" if learns else text


def _says_record(t: Telling) -> str:
    start = t.before.log[t.follower].end
    got = f"record {t.after.log[t.follower].records[start].id}"
    return f"{says_round(t)}; it gets {got} and high watermark {t.after.broker[t.follower].hw}"


def _says_diverging(t: Telling) -> str:
    noted = t.after.known_end[t.leader][t.follower]
    believes_more = noted is not None and noted > t.after.log[t.follower].end
    believed = f"; broker {t.leader} has noted log end {noted} for it" if believes_more else ""
    cuts = says_cut_as_told(t, t.before.broker[t.leader].hw)
    return f"{says_round(t)}; their logs diverge, and broker {t.follower} {cuts}{believed}"


def require_fetch(s: State, follower: Replica, leader: Replica) -> None:
    """A fetch that the leader does not refuse."""
    require("another broker", leader != follower)
    require("follows", follows(s, leader, follower))
    require_replica_of(s, leader, follower)
    if settings.late_answers.on:
        require("awaits no answer of this leader", s.late[follower].leader != leader)
    if truncates_by_request.on:
        require("has truncated", ~s.broker[follower].truncating)
    if settings.fetch_fencing.value == settings.BY_CURRENT_EPOCH:
        require("same leader epoch", share_epoch(s, leader, follower))
    elif settings.fetch_fencing.value == settings.BY_NEW_SESSION:
        goes_on = ~s.broker[follower].reopens
        require("same leader epoch", goes_on | share_epoch(s, leader, follower))
    elif settings.fetch_fencing.value == settings.BY_RECORD_EPOCH:
        log = s.log[follower]
        require("leader knows the last record's epoch", log.is_empty | same_epoch_at(s, leader, follower, log.end - 1))


def have_diverged(s: State, leader: Replica, follower: Replica) -> Bool:
    """The leader answers a fetch with a diverging epoch (2.8), or, before, that the offset is beyond its log.

    To a fetch that names no epoch of a last record it can say no more than that (KAFKA-15510).
    """
    beyond = s.log[follower].end > s.log[leader].end
    if settings.truncation.value != settings.BY_DIVERGING_FETCH:
        return beyond
    if forgets_fetched_epoch.on:
        return diverges(s, leader, follower) & (beyond | ~s.broker[follower].names_no_epoch)
    return diverges(s, leader, follower)


def take_answer(s: State, follower: Replica, brings_record: Bool) -> None:
    """An answer without an error: the first one in a leader epoch that brings no record takes the last record's epoch away.

    The follower's fetches name no epoch until a record comes, it truncates, or leadership changes. From 3.5.1 to 3.6.2
    (`AbstractFetcherThread.processFetchRequest`: KAFKA-15080 takes such an answer up to note the lag; KAFKA-15510).
    """
    if not forgets_fetched_epoch.on:
        return
    mine = s.broker[follower]
    mine.names_no_epoch = ~brings_record & (mine.names_no_epoch | (~mine.answered & ~s.log[follower].is_empty))
    mine.answered = True


def replace_empty_epoch(s: State, follower: Replica, brings_record: Bool) -> None:
    """The epoch of a record that an answer brings starts where the empty one did, and takes its place."""
    if keeps_empty_epochs.on:
        empty = s.broker[follower].empty_epoch
        s.broker[follower].empty_epoch = ite(brings_record, None, empty)


def leader_learns(s: State, leader: Replica, follower: Replica, advance: Advance = advance_high_watermark) -> None:
    """The leader's half of a fetch: the follower's log end, the ISR, the high watermark."""
    s.known_end[leader][follower] = s.log[follower].end
    s.broker[follower].reopens = False
    if not settings.asynchronous_isr.on:
        joins = may_join(s, leader, follower)
        known, committed = s.broker[leader].isr, s.controller.isr
        s.broker[leader].isr = ite(joins, known.add(follower), known)
        commit_isr(s, ite(joins, committed.add(follower), committed))
        hear_of_isr(s, joins)
    advance(s, leader)


def may_join(s: State, leader: Replica, follower: Replica) -> Bool:
    """The leader takes a follower that has reached its high watermark into the ISR, in one write to the store (ZooKeeper)."""
    broker = s.broker[leader]
    may = ~broker.isr.contains(follower) & has_caught_up(s, leader, s.log[follower].end) & may_count(s, follower)
    return may & is_true_leader(s, leader) & (broker.isr == s.controller.isr)


def take_high_watermark(s: State, leader: Replica, follower: Replica) -> None:
    """The follower's high watermark is the leader's, as far as its log goes; it may fall."""
    s.broker[follower].hw = smaller(s.broker[leader].hw, s.log[follower].end)


@action(says=_says_record, actor="follower", messages=FETCH)
def fetch_record(s: State, follower: Replica, leader: Replica) -> None:
    """A follower's fetch waits at its leader, which learns how far it has come, until the next record is there for it."""
    require_fetch(s, follower, leader)
    start = s.log[follower].end
    require("logs agree", ~have_diverged(s, leader, follower))
    require("leader holds the next offset", s.log[leader].has(start))
    leader_learns(s, leader, follower)
    take_answer(s, follower, truth(True))
    s.log[follower].append(s.log[leader].at(start))
    take_high_watermark(s, leader, follower)
    if keeps_empty_epochs.on:
        # The record's epoch starts where the empty one did, and takes its place.
        s.broker[follower].empty_epoch = None
        renumber_epochs(s)


@action(
    says=lambda t: f"{says_round(t)}; it gets no record and high watermark {t.after.broker[t.follower].hw}",
    actor="follower", messages=FETCH,
)
def fetch_nothing_new(s: State, follower: Replica, leader: Replica) -> None:
    """A follower at its leader's log end fetches and waits there in vain; the answer brings the high watermark alone."""
    require_fetch(s, follower, leader)
    require("logs agree", ~have_diverged(s, leader, follower))
    require("leader holds nothing more", ~s.log[leader].has(s.log[follower].end))
    leader_learns(s, leader, follower)
    take_answer(s, follower, truth(False))
    take_high_watermark(s, leader, follower)


def answer_at_once(s: State, follower: Replica, leader: Replica, end: Offset, advance: Advance) -> None:
    """The leader reads the answer to a fetch, the records below `end` and its high watermark, and then notes the fetch."""
    require_fetch(s, follower, leader)
    require("logs agree", ~have_diverged(s, leader, follower))
    require("a batch of what the leader holds", (s.log[follower].end <= end) & (end <= s.log[leader].end))
    read = s.broker[leader].hw
    leader_learns(s, leader, follower, advance)
    take_answer(s, follower, s.log[follower].end < end)
    replace_empty_epoch(s, follower, s.log[follower].end < end)
    s.log[follower].copy(s.log[leader], end)
    s.broker[follower].hw = smaller(read, end)
    if keeps_empty_epochs.on:
        renumber_epochs(s)


def _says_batch(t: Telling) -> str:
    start, end = t.before.log[t.follower].end, t.after.log[t.follower].end
    records = [str(record.id) for record in t.after.log[t.follower].records[start:end]]
    got = f"record{'s' if len(records) > 1 else ''} {' and '.join(records)}" if records else "no record"
    return f"{got} and high watermark {t.after.broker[t.follower].hw}"


@action(
    says=lambda t: f"{says_round(t)}; the answer, read first, brings {_says_batch(t)}",
    actor="follower", messages=FETCH,
)
def fetch_at_once(s: State, follower: Replica, leader: Replica, end: Offset) -> None:
    """A fetch that is answered at once, with the records below `end` and the high watermark from before the fetch.

    That is where there is something for it, or for another partition of the same fetch: then the answer brings none.
    """
    require("brings records, if there are any", (s.log[follower].end < end) | ~s.log[leader].has(s.log[follower].end))
    answer_at_once(s, follower, leader, end, advance_high_watermark)


@action(
    says=lambda t: (
        f"{says_round(t)}; its high watermark waits for a follower outside the ISR, and the answer brings {_says_batch(t)}"
    ),
    when=lambda: settings.hw_waits_for_caught_up.on,
    actor="follower", messages=FETCH,
)
def fetch_while_hw_waits(s: State, follower: Replica, leader: Replica, end: Offset) -> None:
    """A fetch after which the leader's high watermark waits for a follower outside the ISR that may soon join (KAFKA-4485).

    The answer may bring less than the leader holds, or nothing: other partitions have filled it, or it is lost.
    """
    answer_at_once(s, follower, leader, end, hold_high_watermark)


@action(
    says=lambda t: f"{says_round(t)}; the answer to the fetch is lost",
    actor="follower", fault=Fault.LOST, messages=FETCH_UNANSWERED,
)
def fetch_unanswered(s: State, follower: Replica, leader: Replica) -> None:
    """A follower fetches and its leader learns how far it has come, but the answer does not arrive."""
    require_fetch(s, follower, leader)
    if settings.truncation.value != settings.BY_DIVERGING_FETCH or settings.diverging_fetch_ignored.on:
        require("logs agree", ~have_diverged(s, leader, follower))
    leader_learns(s, leader, follower)
    s.broker[follower].reopens = True


@action(says=_says_diverging, when=lambda: not halts.on, actor="follower", messages=FETCH_DIVERGING)
def fetch_diverging(s: State, follower: Replica, leader: Replica) -> None:
    """A follower whose log diverges from its leader's learns of it, and truncates to where they agree."""
    require_fetch(s, follower, leader)
    require("the logs have diverged", have_diverged(s, leader, follower))
    by_epoch = settings.truncation.value == settings.BY_DIVERGING_FETCH
    to = epochs_agree_until(s, leader, follower) if by_epoch else s.log[leader].end
    if forgets_fetched_epoch.on:
        to = ite(s.broker[follower].names_no_epoch, s.log[leader].end, to)
    read = s.broker[leader].hw
    if by_epoch and not settings.diverging_fetch_ignored.on:
        leader_learns(s, leader, follower)
    s.broker[follower].reopens = False
    cut_as_told(s, follower, to, read)
    renumber_epochs(s)
