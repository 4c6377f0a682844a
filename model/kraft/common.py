"""The vocabulary of `kraft`: voters and majorities, comparing logs, leaving office, and the high watermark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from acked.model.kraft.settings import (
    changes,
    changing,
    epochs_repeat,
    keeps_directories,
    lags_on_disk,
    leader_change_committed,
    leader_may_be_outside,
    records,
    redirects,
    snapshots,
    some_join,
    splits,
    upgrades,
    votes_again,
)
from acked.model.kraft.state import Change, Disk, EntryId, Epoch, Offset, Server, State, VoterSet
from acked.model.language.context import literal
from acked.model.language.quantify import count, each, for_each, greatest, ite, truth
from acked.model.language.sets import SetValue
from acked.model.language.state import all_of, none_of
from acked.model.language.telling import Role
from acked.model.language.values import Bool, Count

OPERATOR = Role("operator")

T = TypeVar("T", SetValue[Server], Disk)

# -- voters -----------------------------------------------------------------------------------------------------------


def knows_change(s: State, r: Server, first: Offset) -> Bool:
    """There is a voter set in the server's log, from an offset on."""
    log, found = s.log[r], truth(False)
    for o in each(Offset)[:-1]:
        entry = log.at(o).id
        found = found | (entry.is_some & (entry.value >= records) & (o >= first))
    return found


def _of_newest(s: State, r: Server, first: T, part: Callable[[VoterSet], T]) -> T:
    """A part of the newest voter set in a server's log, committed or not (`KRaftControlRecordStateMachine.lastVoterSet`)."""
    found, log = first, s.log[r]
    parts = [(EntryId(literal(records.value + k)), part(s.change[Change(literal(k))])) for k in range(changes.value)]
    for o in each(Offset)[:-1] if changing.on else []:
        entry = log.at(o).id
        for change, its_part in parts:
            found = ite(entry == change, its_part, found)
    return found


def voters_of(s: State, r: Server) -> SetValue[Server]:
    """The ids of the voters as a server has them: of its log, or else of its configuration or bootstrap checkpoint."""
    first = s.first if some_join.on else all_of(Server)
    if splits.on:
        first = ite(s.server[r].alone, none_of(Server).add(r), first)
    return _of_newest(s, r, first, lambda newest: newest.members)


def disk_of(s: State, r: Server, voter: Server) -> Disk:
    """The directory id under which a server knows a voter."""
    first = Disk(literal(0))
    if splits.on:
        first = ite(s.server[r].alone, s.server[r].disk, first)
    return _of_newest(s, r, first, lambda newest: newest.disk[voter])


def counts(s: State, r: Server, voter: Server, voters: SetValue[Server] | None = None) -> Bool:
    """The other is a voter as a server has it, with the disk that it has now; by its id alone with kraft.version 0.

    `voters` are those that the server has, if they are at hand: looking for them again is what takes long.
    """
    is_member = (voters_of(s, r) if voters is None else voters).contains(voter)
    if not keeps_directories.on:
        return is_member
    is_meant = disk_of(s, r, voter) == s.server[voter].disk
    return is_member & (is_meant | ~reconfigures(s, r)) if upgrades.on else is_member & is_meant


def reconfigures(s: State, r: Server) -> Bool:
    """The server's log has kraft.version 1, which an upgrade writes along with the first voter set (`lastKraftVersion`)."""
    return knows_change(s, r, Offset(literal(0)))


def is_majority(some: Count, voters: SetValue[Server]) -> Bool:
    """So many of the voters are more than half of them."""
    return 2 * some > voters.size


# -- logs -------------------------------------------------------------------------------------------------------------


def last_epoch(s: State, r: Server) -> Epoch:
    """The epoch of the last entry of a log; 0 if it is empty."""
    log = s.log[r]
    return ite(log.is_empty, 0, log.last.epoch)


def is_no_newer(s: State, voter: Server, candidate: Server) -> Bool:
    """The voter's log is no more up to date than the candidate's: by its last epoch, then by length (`OffsetAndEpoch`)."""
    mine, others = last_epoch(s, voter), last_epoch(s, candidate)
    return (mine < others) | ((mine == others) & (s.log[voter].end <= s.log[candidate].end))


def end_of_epoch(s: State, r: Server, epoch: Epoch) -> Offset:
    """Where a log's entries of epochs up to this one end (`RaftLog.endOffsetForEpoch`)."""
    log = s.log[r]
    return greatest(Offset, lambda o: (o == 0) | ((o <= log.end) & (log.at(o - 1).epoch <= epoch)))


def forget(s: State, r: Server) -> None:
    """A process that starts knows no more to be committed than its snapshot has (`KafkaRaftLog`)."""
    if snapshots.on:
        s.server[r].known = s.server[r].start


def bind(s: State, r: Server, whom: Server | None, *, is_heard: bool = False) -> None:
    """Whom a server has voted for, or has heard to lead, in its epoch."""
    mine = s.server[r]
    mine.bond = whom
    if votes_again.on:
        mine.heard = is_heard


# -- leaders ----------------------------------------------------------------------------------------------------------


def leave_office(s: State, r: Server, leaves: Bool | None = None) -> None:
    """What a leader keeps in memory is gone, if it leaves; without a condition it does."""
    leaves = truth(True) if leaves is None else leaves
    mine = s.server[r]
    mine.leads = ~leaves & mine.leads
    mine.hw = ite(leaves, 0, mine.hw)

    def forget_fetches(other: Server) -> None:
        s.fetched[r][other] = ite(leaves, 0, s.fetched[r][other])
        if redirects.on:
            s.watched[r][other] = ite(leaves, 0, s.watched[r][other])
        if upgrades.on:
            s.told[r][other] = ite(leaves, None, s.told[r][other])

    for_each(Server, forget_fetches)


def advance(s: State, leader: Server) -> None:
    """A leader's high watermark moves to what a majority of its newest voters holds (`LeaderState.maybeUpdateHighWatermark`).

    Entries of earlier epochs are committed only along with one of the leader's own, from the LeaderChange record on with
    which it began (`epochStartOffset`). What is of its epoch is from there on, unless another led in that epoch, too.
    """
    mine, log, voters = s.server[leader], s.log[leader], voters_of(s, leader)
    began = greatest(Offset, lambda o: (o == 0) | (log.has(o) & log.at(o).id.is_none)) if epochs_repeat.on else None

    seen: dict[int, tuple[Bool, Bool, Offset]] = {}  # of each server what does not depend on the offset

    def holds(r: Server, until: Offset) -> Bool:
        if r.expr.id not in seen:
            seen[r.expr.id] = (r == leader, voters.contains(r), s.fetched[leader][r])
        is_itself, is_voter, fetched = seen[r.expr.id]
        if leader_may_be_outside.on:
            return is_voter & (is_itself | (until <= fetched))
        return is_itself | (is_voter & (until <= fetched))

    def is_of_own_epoch(until: Offset) -> Bool:
        is_own = log.at(until - 1).epoch == mine.epoch
        if leader_change_committed.on:
            return is_own if began is None else is_own & (until > began)
        # Of `until` = end there is no next entry; the one before is the leader's own then.
        is_own = is_own | (log.has(until) & (log.at(until).epoch == mine.epoch))
        return is_own if began is None else is_own & (until >= began)

    def may_commit(until: Offset) -> Bool:
        held = is_majority(count(Server, lambda r: holds(r, until)), voters)
        return (until > 0) & (until <= log.end) & is_of_own_epoch(until) & held

    reached = greatest(Offset, lambda o: (o == mine.hw) | ((o > mine.hw) & may_commit(o)))
    mine.hw = reached
    if lags_on_disk.on:
        mine.flushed = log.end
    if snapshots.on:
        mine.known = ite(reached > mine.known, reached, mine.known)
    s.committed.copy(log, reached)
