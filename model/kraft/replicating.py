"""Replicating: a leader appends metadata records, the others fetch, and what a majority has fetched is committed.

A request and its answer are one step: one request of a follower is under way at a time, what a leader has appended in its
epoch stays in its log, and an answer in an epoch that is over is dropped, so that an answer that is late could as well have
come at once (`docs/controllers.md`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acked.model.kraft.common import advance, bind, counts, end_of_epoch, forget, last_epoch, leave_office
from acked.model.kraft.settings import changing, lags_on_disk, records, redirects, snapshots
from acked.model.kraft.state import Entry, Offset, Server, State
from acked.model.language.action import action, require
from acked.model.language.quantify import ite, smaller
from acked.model.language.telling import CLIENT, Telling, Tells, asks
from acked.model.language.values import Bool


def _entries_text(t: Telling, entries: Sequence[Any]) -> str:
    """What entries are, in a few letters each: a record, a voter set or a LeaderChange, and its epoch."""

    def kind(entry: Any) -> str:
        if entry.id is None:
            return "LeaderChange"
        return f"r{entry.id}" if entry.id < t.after.next_record else "voters"

    return ", ".join(f"{kind(entry)} of e{entry.epoch}" for entry in entries)


def says_committed(t: Telling) -> str:
    """What the step committed, if anything."""
    end = t.after.committed.end
    return "" if end == t.before.committed.end else f"; what stands below offset {end} is committed"


@action(
    says=lambda t: (
        f"leader {t.leader} appends metadata record r{t.before.next_record} at offset {t.before.log[t.leader].end} in epoch "
        f"{t.before.server[t.leader].epoch}{says_committed(t)}"
    ),
    actor="leader", messages=(Tells(CLIENT, "leader", lambda t: f"r{t.before.next_record}"),),
)
def write(s: State, leader: Server) -> None:
    """A leader appends the metadata of a request that it was sent (`KafkaRaftClient.prepareAppend`, `maybeAppendBatches`)."""
    require("leads", s.server[leader].leads)
    require("a record is left", s.next_record < records)
    require("log has room", ~s.log[leader].is_full)
    s.log[leader].append(Entry(id=s.next_record, epoch=s.server[leader].epoch))
    s.next_record = s.next_record + 1
    advance(s, leader)


# -- fetching ---------------------------------------------------------------------------------------------------------


def is_valid(s: State, leader: Server, follower: Server) -> Bool:
    """The leader's log has the follower's last entry (`RaftLog.validateOffsetAndEpoch`)."""
    mine, theirs = s.log[follower], s.log[leader]
    end = end_of_epoch(s, leader, last_epoch(s, follower))
    same_epoch = (end > 0) & (theirs.at(end - 1).epoch == last_epoch(s, follower))
    return mine.is_empty | (same_epoch & (mine.end <= end))


def wants_snapshot(s: State, follower: Server, leader: Server) -> Bool:
    """The leader's log begins too late for the follower's last entry to be looked up (`validateOffsetAndEpoch`).

    A leader keeps one snapshot, that at the beginning of its log.
    """
    start, end, epoch = s.server[leader].start, s.log[follower].end, last_epoch(s, follower)
    of_snapshot = s.log[leader].at(start - 1).epoch
    return (start > 0) & ((end < start) | ((end == start) & (epoch != of_snapshot)) | (epoch < of_snapshot))


def takes_up(s: State, follower: Server, leader: Server) -> Bool:
    """The follower's log gives way to the leader's snapshot: that is of a newer epoch, or ends later.

    `KafkaRaftLog.truncateToLatestSnapshot`. Else `handleFetchSnapshotResponse` throws an IllegalStateException, which stops
    the follower, and it meets the same again (4.3.1).
    """
    start, mine = s.server[leader].start, s.log[follower]
    epoch, of_snapshot = last_epoch(s, follower), s.log[leader].at(start - 1).epoch
    has_no_entry = mine.end == s.server[follower].start
    return has_no_entry | (of_snapshot > epoch) | ((of_snapshot == epoch) & (start > mine.end))


def hear_of(s: State, server: Server, offset: Offset) -> None:
    """A follower is told a high watermark, which counts as far as it has a log (`updateFollowerHighWatermark`)."""
    mine, reached = s.server[server], smaller(offset, s.log[server].end)
    mine.known = ite(reached > mine.known, reached, mine.known)


def require_follows(s: State, follower: Server, leader: Server) -> None:
    """The follower takes the other for the leader of an epoch that is not over for it (`maybeTransition`)."""
    mine, theirs = s.server[follower], s.server[leader]
    require("another server", follower != leader)
    require("leads", theirs.leads)
    require("knows no newer epoch", mine.epoch <= theirs.epoch)
    stood = (mine.bond == follower) & ~mine.leads
    knows_no_other = mine.bond.is_none | (mine.bond == leader) | stood
    require("knows no other leader of the epoch", (mine.epoch < theirs.epoch) | knows_no_other)


def follow(s: State, follower: Server, leader: Server) -> None:
    """The follower takes up the leader's epoch and is bound to it."""
    mine = s.server[follower]
    leave_office(s, follower)
    mine.epoch = s.server[leader].epoch
    bind(s, follower, leader, is_heard=True)


def report(s: State, follower: Server, leader: Server) -> None:
    """The leader learns how far the follower is, which matters of others than voters too: they may become voters.

    `LeaderState.updateReplicaState`.
    """
    known, end, is_voter = s.fetched[leader][follower], s.log[follower].end, counts(s, leader, follower)
    s.fetched[leader][follower] = ite(is_voter, end, known if redirects.on or not changing.on else end)
    if redirects.on:
        s.watched[leader][follower] = ite(is_voter, s.watched[leader][follower], end)
    advance(s, leader)


def _says_offset(t: Telling) -> str:
    return f"fetch {t.before.log[t.follower].end}"


def _says_news(t: Telling) -> str:
    before, after = t.before.server[t.follower], t.after.server[t.follower]
    return f" in epoch {after.epoch}" + (" and leads no more" if before.leads else "")


def _says_answer(t: Telling) -> str:
    taken = t.after.log[t.follower].records[t.before.log[t.follower].end :]
    if taken:
        return _entries_text(t, taken)
    return "nothing new" if t.log_end == t.before.log[t.leader].end else "lost"


def _says_fetch(t: Telling) -> str:
    offset, answer = t.before.log[t.follower].end, _says_answer(t)
    outcomes = {"nothing new": "which has nothing more", "lost": "and its answer is lost"}
    outcome = outcomes.get(answer, f"which gives it {answer}") + says_committed(t)
    return f"controller {t.follower} fetches from leader {t.leader} at offset {offset}{_says_news(t)}, {outcome}"


@action(says=_says_fetch, actor="follower", messages=asks("follower", "leader", _says_offset, _says_answer))
def fetch(s: State, follower: Server, leader: Server, log_end: Offset) -> None:
    """A follower tells the leader its log end and takes what comes next up to `log_end` (`tryCompleteFetchRequest`).

    It writes that to its disk before it fetches again (`appendAsFollower`). An answer that is lost is one without entries.
    """
    require_follows(s, follower, leader)
    if snapshots.on:
        require("leader's log begins early enough", ~wants_snapshot(s, follower, leader))
    require("leader has its last entry", is_valid(s, leader, follower))
    require("leader has what it takes", (s.log[follower].end <= log_end) & (log_end <= s.log[leader].end))
    follow(s, follower, leader)
    report(s, follower, leader)
    if lags_on_disk.on:
        flushes = counts(s, follower, follower) & (s.log[follower].end < log_end)
        s.server[follower].flushed = ite(flushes, log_end, s.server[follower].flushed)
    s.log[follower].copy(s.log[leader], log_end)
    if snapshots.on:
        hear_of(s, follower, s.server[leader].hw)


@action(
    says=lambda t: (
        f"controller {t.follower} fetches from leader {t.leader} at {t.before.log[t.follower].end}{_says_news(t)}, which "
        f"does not have its last entry, and truncates its log to offset {t.after.log[t.follower].end}"
    ),
    actor="follower",
    messages=asks("follower", "leader", _says_offset, lambda t: f"diverging, {t.after.log[t.follower].end}"),
)
def fetch_diverging(s: State, follower: Server, leader: Server) -> None:
    """A follower whose last entry the leader lacks is told where that epoch ends, and truncates (`truncateToEndOffset`).

    If it has no entry of the epoch that it is told, it cuts where its own older ones end, wherever the leader's do.
    """
    require_follows(s, follower, leader)
    if snapshots.on:
        require("leader's log begins early enough", ~wants_snapshot(s, follower, leader))
    require("leader lacks its last entry", ~is_valid(s, leader, follower))
    end = end_of_epoch(s, leader, last_epoch(s, follower))
    epoch = ite(end == 0, 0, s.log[leader].at(end - 1).epoch)
    own = end_of_epoch(s, follower, epoch)
    has_epoch = (own > 0) & (s.log[follower].at(own - 1).epoch == epoch)
    follow(s, follower, leader)
    cut = ite(has_epoch, smaller(own, end), own)
    if snapshots.on:
        mine = s.server[follower]
        cut = ite(cut < mine.start, mine.start, cut)
        mine.known = ite(cut < mine.known, mine.start, mine.known)
    if lags_on_disk.on:
        s.server[follower].flushed = smaller(cut, s.server[follower].flushed)
    s.log[follower].truncate(cut)


# -- snapshots --------------------------------------------------------------------------------------------------------


@action(
    says=lambda t: (
        f"controller {t.server} puts what stands below offset {t.end} into a snapshot and deletes its log up to there"
    ),
    when=lambda: snapshots.on, actor="server",
)
def take_snapshot(s: State, server: Server, end: Offset) -> None:
    """A controller writes a snapshot of what it knows to be committed, and its log begins there (`createNewSnapshot`)."""
    mine = s.server[server]
    require("ends later than its last one", end > mine.start)
    require("is in its log", end <= s.log[server].end)
    require("is committed", end <= mine.known)
    mine.start = end


@action(
    says=lambda t: (
        f"controller {t.follower} fetches from leader {t.leader} at offset {t.before.log[t.follower].end}{_says_news(t)}, "
        f"whose log begins at offset {t.before.server[t.leader].start}, and takes its snapshot in place of its own log"
    ),
    when=lambda: snapshots.on,
    actor="follower", messages=asks("follower", "leader", _says_offset, "snapshot"),
)
def fetch_snapshot(s: State, follower: Server, leader: Server) -> None:
    """A follower whose log the leader's begins too late for fetches its snapshot (`handleFetchSnapshotResponse`)."""
    require_follows(s, follower, leader)
    require("leader's log begins too late", wants_snapshot(s, follower, leader))
    require("snapshot is newer than its log", takes_up(s, follower, leader))
    follow(s, follower, leader)
    log, mine, start = s.log[follower], s.server[follower], s.server[leader].start
    log.truncate(0)
    log.copy(s.log[leader], start)
    mine.start = start
    if lags_on_disk.on:
        mine.flushed = start
    forget(s, follower)
