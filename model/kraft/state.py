"""The state of `kraft`: controllers with logs, epochs and votes, what a leader knows, and what was ever committed.

A server that is down is one that takes no part for a while, so there is no such state: what a stop and a start leave is one
step. What was left out, and why that is sound, is in `docs/controllers.md`. A part that a question turns off has no field.
"""

from __future__ import annotations

from acked.model.kraft.settings import (
    changes,
    changing,
    dismisses,
    formats,
    initial_voters,
    keeps_directories,
    lags_on_disk,
    last_change,
    last_entry,
    log_size,
    max_epoch,
    records,
    redirects,
    servers,
    snapshots,
    some_join,
    splits,
    upgrades,
    votes_again,
)
from acked.model.language.context import literal
from acked.model.language.state import Array, Between, Log, Optional, Present, SetOf, Struct, field
from acked.model.language.values import Bool, Id, Int


class Server(Id, size=servers):
    """A controller: a voter, or one that only fetches."""


class Offset(Int, lo=0, hi=log_size):
    """A position in the log, a log end or a high watermark; 0 where a high watermark is not known."""


class Epoch(Int, lo=0, hi=max_epoch):
    """A leader epoch; 0 where none is known."""


class EntryId(Int, lo=0, hi=last_entry, name="entry"):
    """A metadata record, or beyond these a voter set."""


class Change(Int, lo=0, hi=last_change, name="voter set"):
    """A voter set that some leader has written."""


class Disk(Int, lo=0, hi=formats, name="directory"):
    """Which of a server's disks: its directory id, 0 for the first."""


class Formats(Int, lo=0, hi=formats, name="number of formats"):
    """How many disks may still be lost."""


class Entry(Struct):
    """One entry of the log."""

    id = field(Optional(EntryId), "which record or voter set; none of a LeaderChange record")
    epoch = field(Epoch, "the epoch of the leader that appended it")


class VoterSet(Struct):
    """The voters that a VotersRecord names."""

    members = field(Present(SetOf(Server), changing), "their ids")
    disk = field(Array(Server, Present(Disk, redirects)), "the directory id of each member")


class ServerState(Struct):
    """One controller: epoch and bond are on disk (`quorum-state`), as is its log; what it leads with is not."""

    epoch = field(Epoch, "the newest epoch that it knows")
    bond = field(Optional(Server), "whom it voted for or follows in its epoch, so that it votes for nobody else")
    leads = field(Bool, "it is the leader of its epoch, as far as it knows")
    hw = field(Offset, "a leader's high watermark; 0 until it has committed in its epoch")
    disk = field(Present(Disk, keeps_directories), "the directory id of its disk")
    start = field(Present(Offset, snapshots), "where its log begins; its newest snapshot has what was before")
    known = field(Present(Offset, snapshots), "the high watermark that it has heard of since it started, leader or not")
    flushed = field(Present(Offset, lags_on_disk), "up to where its log is surely on its disk")
    heard = field(Present(Bool, votes_again), "it knows the leader of its epoch, and votes for that one no more either")
    alone = field(Present(Bool, splits), "its disk was formatted as a quorum of its own")


class State(Struct):
    """The partition __cluster_metadata, whose replicas elect their leader themselves."""

    log = field(Array(Server, Log(Entry, Offset, log_size)), "each server's log")
    server = field(Array(Server, ServerState), "each server's own view")
    fetched = field(Array(Server, Array(Server, Offset)), "of a leader: the offset of each other server's last fetch")
    watched = field(
        Array(Server, Array(Server, Present(Offset, redirects))),
        "the same of a server with another disk than that under which its id is, or may be, a voter",
    )
    told = field(
        Array(Server, Array(Server, Present(Optional(Disk), upgrades))),
        "of a leader with kraft.version 0: the directory id that each voter has told it",
    )
    first = field(Present(SetOf(Server), some_join), "the voters in the beginning")
    change = field(Array(Change, VoterSet), "the voter sets that were written")
    next_record = field(Between(EntryId, 0, records), "how many metadata records were written so far")
    next_change = field(Present(Between(Change, 0, changes), changing), "how many voter sets were written so far")
    committed = field(Log(Entry, Offset, log_size), "what any leader has committed, as the first that did so had it")
    dismissed = field(Present(SetOf(Server), dismisses), "voters that an operator has removed and not added again")
    formats_left = field(Present(Formats, formats), "disks that may still be lost")


def initial(s: State) -> None:
    """Empty logs, nobody leads; whatever is not said is zero, none or empty."""
    if formats.value:
        s.formats_left = formats
    if some_join.on:
        for k in range(initial_voters.value):
            s.first = s.first.add(Server(literal(k)))
