"""Failing: leaders restart or resign, machines fail, disks and files are lost."""

from __future__ import annotations

from acked.model.kraft.common import bind, forget, knows_change, last_epoch, leave_office, voters_of
from acked.model.kraft.settings import (
    LEADING,
    UNATTACHED,
    changing,
    check_quorum,
    formats,
    keeps_directories,
    lags_on_disk,
    quorum_state_lost,
    redirects,
    restarted_leader,
    restarts,
    snapshots,
    splits,
    unflushed,
)
from acked.model.kraft.state import Offset, Server, State
from acked.model.language.action import action, require
from acked.model.language.quantify import each
from acked.model.language.telling import Fault, Telling


def come_back(s: State, leader: Server) -> None:
    """What a leader is once it has started again, from its quorum-state file (`QuorumState.initialize`)."""
    mine = s.server[leader]
    leave_office(s, leader)
    forget(s, leader)
    mine.leads = restarted_leader.value == LEADING
    if restarted_leader.value == UNATTACHED:
        bind(s, leader, None)


def _says_office(t: Telling) -> str:
    if t.after.server[t.leader].leads:
        return "and leads on in its epoch"
    return "and leads no more"


@action(
    says=lambda t: f"leader {t.leader} dies and starts again {_says_office(t)}",
    when=lambda: restarts.on, actor="leader", fault=Fault.RESTARTS,
)
def restart(s: State, leader: Server) -> None:
    """A leader dies and comes back with its log, its epoch and its vote. Of the others nothing that lasts would be gone."""
    require("leads", s.server[leader].leads)
    come_back(s, leader)


@action(
    says=lambda t: (
        f"the machine of leader {t.leader} fails before what it has from offset {t.log_end} on is on its disk; it starts "
        f"again {_says_office(t)}"
    ),
    when=lambda: unflushed.on, actor="leader", fault=Fault.STOPS,
)
def lose_unflushed(s: State, leader: Server, log_end: Offset) -> None:
    """A leader's machine fails after followers could fetch its last batches and before these were flushed (`flushLeaderLog`).

    What is below the high watermark was flushed: the fetch that raised it came after.
    """
    mine, log = s.server[leader], s.log[leader]
    require("leads", mine.leads)
    require("something is lost", log_end < log.end)
    require("all of it is its own", log.at(log_end).epoch == mine.epoch)
    require("none of it is committed", log_end >= mine.hw)
    log.truncate(log_end)
    if lags_on_disk.on:
        mine.flushed = log_end
    come_back(s, leader)


@action(
    says=lambda t: (
        f"the machine of controller {t.server} fails before what it has fetched from offset {t.log_end} on is on its disk"
    ),
    when=lambda: lags_on_disk.on, actor="server", fault=Fault.STOPS,
)
def lose_fetched(s: State, server: Server, log_end: Offset) -> None:
    """A machine fails with what its controller fetched as no voter, and did not flush (`appendAsFollower`)."""
    mine, log = s.server[server], s.log[server]
    require("does not lead", ~mine.leads)
    require("something is lost", log_end < log.end)
    require("none of it is on its disk", log_end >= mine.flushed)
    log.truncate(log_end)
    forget(s, server)


@action(
    says=lambda t: f"leader {t.leader} has had no fetch of a majority for too long and resigns",
    when=lambda: check_quorum.on, actor="leader", fault=Fault.UNHEARD,
)
def resign(s: State, leader: Server) -> None:
    """A leader that no majority has fetched from in time resigns (`LeaderState.timeUntilCheckQuorumExpires`; KAFKA-15489)."""
    require("leads", s.server[leader].leads)
    require("is not the only voter", voters_of(s, leader).size > 1)
    leave_office(s, leader)


@action(
    says=lambda t: f"leader {t.leader}, which is no voter any more, resigns as its removal is committed",
    when=lambda: changing.on, actor="leader",
)
def resign_removed(s: State, leader: Server) -> None:
    """A leader whose removal is committed resigns (`RemoveVoterHandler.highWatermarkUpdated`), or leads on.

    It resigns only while the request waits for the commit, or with the next removal. A request waits for two seconds
    (`controller.quorum.request.timeout.ms`, `LeaderState.maybeExpirePendingOperation`); then it leads on without being a
    voter, until it stops.
    """
    require("leads", s.server[leader].leads)
    require("is no voter", ~voters_of(s, leader).contains(leader))
    require("no change is under way", ~knows_change(s, leader, s.server[leader].hw))
    leave_office(s, leader)


@action(
    says=lambda t: (
        f"controller {t.server} loses its quorum-state file, and its vote in epoch {t.before.server[t.server].epoch} with it"
    ),
    when=lambda: quorum_state_lost.on, actor="server", fault=Fault.DISK,
)
def lose_quorum_state(s: State, server: Server) -> None:
    """A server starts without quorum-state, in its last entry's epoch, without leader and vote (`QuorumState.initialize`)."""
    mine = s.server[server]
    require("knows an epoch", mine.epoch > 0)
    leave_office(s, server)
    mine.epoch = last_epoch(s, server)
    bind(s, server, None)
    forget(s, server)


def _says_format(t: Telling) -> str:
    is_alone = hasattr(t.after.server[t.server], "alone")
    how = ", formatted as a quorum of its own with the id of the old cluster" if is_alone else ""
    return f"the disk of controller {t.server} is replaced by an empty one{how}"


@action(says=_says_format, when=lambda: formats.value > 0, actor="server", fault=Fault.DISK)
def format_disk(s: State, server: Server) -> None:
    """A disk with log and quorum-state is lost; an empty one takes its place, with a new directory id (kafka-storage)."""
    mine = s.server[server]
    require("a disk may be lost", s.formats_left > 0)
    s.formats_left = s.formats_left - 1
    leave_office(s, server)
    mine.epoch = 0
    bind(s, server, None)
    s.log[server].truncate(0)
    if snapshots.on:
        mine.start = 0
    if lags_on_disk.on:
        mine.flushed = 0
    forget(s, server)
    if keeps_directories.on:
        mine.disk = mine.disk + 1
    if redirects.on:
        for leader in each(Server):
            s.watched[leader][server] = 0
    if splits.on:
        mine.alone = True
