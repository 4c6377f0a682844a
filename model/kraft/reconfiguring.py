"""Reconfiguring: voters are added, removed and updated, one change at a time (KIP-853), once kraft.version is 1.

A change counts for whoever has it in its log, committed or not; the majority that commits it is one of the new voters.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.model.kraft.common import OPERATOR, advance, counts, disk_of, knows_change, reconfigures, voters_of
from acked.model.kraft.replicating import says_committed
from acked.model.kraft.settings import (
    auto_join,
    by_operator,
    changes,
    changing,
    dismisses,
    keeps_directories,
    least_voters,
    records,
    redirects,
    upgrades,
)
from acked.model.kraft.state import Change, Disk, Entry, EntryId, Server, State
from acked.model.language.action import action, require
from acked.model.language.context import literal
from acked.model.language.quantify import each, every, implies, ite
from acked.model.language.sets import SetValue
from acked.model.language.telling import Telling, Tells
from acked.model.language.values import Bool


def require_change(s: State, leader: Server) -> None:
    """What a leader asks before it changes voters (`AddVoterHandler`, `RemoveVoterHandler`, `UpdateVoterHandler`; 3.9)."""
    require("leads", s.server[leader].leads)
    require("a change is left", s.next_change < changes)
    require("has committed in its epoch", s.server[leader].hw > 0)
    if upgrades.on:
        require("kraft.version is 1", reconfigures(s, leader))
    require("no change is under way", ~knows_change(s, leader, s.server[leader].hw))


def follows(s: State, server: Server, leader: Server) -> Bool:
    """It fetches from the leader: it is bound to it in its epoch."""
    mine = s.server[server]
    return (server != leader) & (mine.bond == leader) & (mine.epoch == s.server[leader].epoch)


def append_voters(
    s: State, leader: Server, members: SetValue[Server], directory: Callable[[Server], Disk] | None = None
) -> None:
    """A leader appends a voter set, each with the directory id by which it knows it, unless another is given."""
    for change in each(Change):
        is_it = s.next_change == change
        slot = s.change[change]
        before = slot.members
        slot.members = ite(is_it, members, before)
        if keeps_directories.on:
            for r in each(Server):
                known = disk_of(s, leader, r) if directory is None else directory(r)
                slot.disk[r] = ite(is_it, ite(members.contains(r), known, 0), slot.disk[r])
    if redirects.on:
        move_offsets(s, leader, members)
    s.log[leader].append(Entry(id=EntryId(s.next_change.expr) + records.value, epoch=s.server[leader].epoch))
    s.next_change = s.next_change + 1
    advance(s, leader)


def move_offsets(s: State, leader: Server, members: SetValue[Server]) -> None:
    """What a leader knows of a disk stays known as that joins or leaves the voters (`updateVoterAndObserverStates`)."""
    voters = voters_of(s, leader)
    for r in each(Server):
        fetched, watched, is_voter = s.fetched[leader][r], s.watched[leader][r], voters.contains(r)
        joins, leaves = members.contains(r) & ~is_voter, ~members.contains(r) & is_voter
        s.fetched[leader][r] = ite(joins, watched, ite(leaves, 0, fetched))
        s.watched[leader][r] = ite(joins, 0, ite(leaves & counts(s, leader, r, voters), fetched, watched))


def add(s: State, leader: Server, server: Server) -> None:
    """A server that is no voter, whatever its directory, and follows the leader becomes one with the disk that it has.

    It has to have been caught up within the last hour (`LeaderState.isReplicaCaughtUp`), which may be long ago: that is left
    out.
    """
    require_change(s, leader)
    voters = voters_of(s, leader)
    require("is not among the voters", ~voters.contains(server))
    require("fetches from the leader", follows(s, server, leader))
    append_voters(s, leader, voters.add(server), lambda r: ite(r == server, s.server[r].disk, disk_of(s, leader, r)))


def remove(s: State, leader: Server, server: Server) -> None:
    """A voter, whatever became of its disk, is one no more; the last one stays (`VoterSet.removeVoter`)."""
    require_change(s, leader)
    voters = voters_of(s, leader)
    require("is among the voters", voters.contains(server))
    require("is not the last voter", voters.size > 1)
    append_voters(s, leader, voters.remove(server))


def _says_voters(t: Telling) -> str:
    members = t.after.change[t.before.next_change].members
    names = ", ".join(map(str, members))
    return f"leader {t.leader} appends the voters {{{names}}} at offset {t.before.log[t.leader].end}"


# -- kraft.version ----------------------------------------------------------------------------------------------------


@action(
    says=lambda t: f"controller {t.server} tells leader {t.leader} its directory id",
    when=lambda: upgrades.on,
    actor="server", messages=(Tells("server", "leader", "update voter"),),
)
def tell_directory(s: State, leader: Server, server: Server) -> None:
    """With kraft.version 0 a voter tells each new leader its directory id, which that keeps in memory (`UpdateVoterHandler`).

    From 4.1 on (`shouldSendUpdateVoteRequest`, `LeaderState.compareAndSetVolatileVoters`).
    """
    require("leads", s.server[leader].leads)
    require("has committed in its epoch", s.server[leader].hw > 0)
    require("kraft.version is 0", ~reconfigures(s, leader) & ~reconfigures(s, server))
    require("is a voter", voters_of(s, leader).contains(server))
    require("fetches from the leader", follows(s, server, leader))
    require("it is new", s.told[leader][server] != own_directory(s, server))
    s.told[leader][server] = own_directory(s, server)


def own_directory(s: State, r: Server) -> Disk:
    """The directory id of the disk that a server has now."""
    return s.server[r].disk if keeps_directories.on else Disk(literal(0))


@action(
    says=lambda t: f"an operator upgrades kraft.version to 1: {_says_voters(t)}{says_committed(t)}",
    when=lambda: upgrades.on,
    actor="leader", messages=(Tells(OPERATOR, "leader", "kraft.version 1"),),
)
def upgrade(s: State, leader: Server) -> None:
    """A leader that was told all voters' directory ids writes these with kraft.version 1 (`maybeAppendUpgradedKRaftVersion`).

    What it was told may be of a disk that is lost meanwhile. Its own it knows (`LeaderState`; 4.1).
    """
    require("leads", s.server[leader].leads)
    require("a change is left", s.next_change < changes)
    require("kraft.version is 0", ~reconfigures(s, leader))
    told = s.told[leader]
    require(
        "knows all directory ids",
        every(Server, lambda r: implies(voters_of(s, leader).contains(r), (r == leader) | told[r].is_some)),
    )
    append_voters(
        s, leader, voters_of(s, leader), lambda r: ite(r == leader, own_directory(s, r), told[r].value)
    )
    for r in each(Server):
        told[r] = None


# -- changes ----------------------------------------------------------------------------------------------------------


@action(
    says=lambda t: f"an operator adds controller {t.server}: {_says_voters(t)}{says_committed(t)}",
    when=lambda: changing.on and by_operator.on,
    actor="leader", messages=(Tells(OPERATOR, "leader", lambda t: f"add voter {t.server}"),),
)
def add_voter(s: State, leader: Server, server: Server) -> None:
    """An operator has a controller made a voter (kafka-metadata-quorum add-controller, `AddVoterHandler`)."""
    add(s, leader, server)
    if dismisses.on:
        s.dismissed = s.dismissed.remove(server)


@action(
    says=lambda t: f"an operator removes controller {t.server}: {_says_voters(t)}{says_committed(t)}",
    when=lambda: changing.on and by_operator.on,
    actor="leader", messages=(Tells(OPERATOR, "leader", lambda t: f"remove voter {t.server}"),),
)
def remove_voter(s: State, leader: Server, server: Server) -> None:
    """An operator has a voter removed, with the directory id that it is known by (`RemoveVoterHandler`)."""
    if least_voters.value > 1:
        require("enough voters are left", voters_of(s, leader).size > least_voters)
    remove(s, leader, server)
    if dismisses.on:
        s.dismissed = s.dismissed.add(server)


@action(
    says=lambda t: f"controller {t.server} tells its endpoints: {_says_voters(t)}{says_committed(t)}",
    when=lambda: changing.on,
    actor="server", messages=(Tells("server", "leader", "update voter"),),
)
def update_voter(s: State, leader: Server, server: Server) -> None:
    """A voter tells its endpoints and versions; the voters are the same afterwards (`UpdateVoterHandler`)."""
    require_change(s, leader)
    voters = voters_of(s, leader)
    require("is a voter", counts(s, leader, server, voters))
    require("fetches from the leader", follows(s, server, leader))
    append_voters(s, leader, voters)


@action(
    says=lambda t: f"controller {t.server} asks to become a voter: {_says_voters(t)}{says_committed(t)}",
    when=lambda: changing.on and auto_join.on,
    actor="server", messages=(Tells("server", "leader", "add me"),),
)
def join(s: State, leader: Server, server: Server) -> None:
    """A controller that is no voter asks by itself to become one (`pollFollowerAsObserver`, 4.2)."""
    add(s, leader, server)


@action(
    says=lambda t: f"controller {t.server} asks to have its old directory removed: {_says_voters(t)}{says_committed(t)}",
    when=lambda: changing.on and auto_join.on and keeps_directories.on,
    actor="server", messages=(Tells("server", "leader", "remove my old directory"),),
)
def give_up_old(s: State, leader: Server, server: Server) -> None:
    """A controller whose id is a voter's with another directory asks to have that removed (`pollFollowerAsObserver`, 4.2)."""
    require("has another disk", ~counts(s, leader, server))
    require("fetches from the leader", follows(s, server, leader))
    remove(s, leader, server)
