"""Why static voters elect leaders that have all that was committed: what an argument for all constants rests on.

Raft's own argument (Ongaro and Ousterhout 2014, §5.4.3) speaks of who voted when. Here each lemma is about one state, as
lemmas about Paxos are: an entry that a leader appended is safe as long as those that might still fetch it, with those that
did, are more than half. Voters are all servers, and keep what is on their disks.

Floor 2.
"""

from __future__ import annotations

from acked.invariants.kraft import RAFT, log_matching, one_leader_per_epoch, state_machine_safety
from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_three, every_two, same_until
from acked.model.kraft.common import is_majority, is_no_newer, last_epoch
from acked.model.kraft.state import Epoch, Offset, Server, State
from acked.model.language.quantify import count, every, implies
from acked.model.language.state import all_of
from acked.model.language.values import Bool

_SINCE = "2.8, static voters that keep their disks"


def _holds(s: State, r: Server, o: Offset, epoch: Epoch) -> Bool:
    """The server has an entry of the epoch there."""
    return s.log[r].has(o) & (s.log[r].at(o).epoch == epoch)


def _appended(s: State, leader: Server, o: Offset) -> Bool:
    """The leader has appended the entry there in its own epoch."""
    return s.server[leader].leads & _holds(s, leader, o, s.server[leader].epoch)


def _could_commit(s: State, leader: Server, o: Offset) -> Bool:
    """More than half have fetched beyond the offset, or might still."""

    def might(r: Server) -> Bool:
        return (s.fetched[leader][r] > o) | (s.server[r].epoch <= s.server[leader].epoch)

    return is_majority(count(Server, might), all_of(Server))


def _is_over(s: State, epoch: Epoch) -> Bool:
    """More than half of the servers have given their vote in the epoch, or know a newer one."""

    def has_voted(r: Server) -> Bool:
        return (s.server[r].epoch > epoch) | ((s.server[r].epoch == epoch) & s.server[r].bond.is_some)

    return is_majority(count(Server, has_voted), all_of(Server))


def _is_last_committed(s: State, o: Offset) -> Bool:
    return o + 1 == s.committed.end


# -- elections --------------------------------------------------------------------------------------------------------


@promise("static voters that have elected a leader elect no other in its epoch", RAFT, _SINCE)
def leaders_have_a_majority(s: State) -> Bool:
    """Of every leader: more than half of the servers are bound to it, or know a newer epoch."""

    def is_bound(r: Server, leader: Server) -> Bool:
        one, mine = s.server[r], s.server[leader]
        return (one.epoch > mine.epoch) | ((one.epoch == mine.epoch) & (one.bond == leader))

    def has_majority(leader: Server) -> Bool:
        return is_majority(count(Server, lambda r: is_bound(r, leader)), all_of(Server))

    return every(Server, lambda r: implies(s.server[r].leads, has_majority(r)))


@promise("an epoch of which there is an entry elects nobody any more", RAFT, _SINCE)
def entries_were_elected(s: State) -> Bool:
    """Of an epoch with an entry: more than half of the servers have given their vote in it, or know a newer one."""
    return every_three(Server, Offset, Epoch, lambda r, o, e: implies(_holds(s, r, o, e), _is_over(s, e)))


@promise("of the epoch of every server's last entry more than half know", RAFT, _SINCE)
def last_epochs_are_known(s: State) -> Bool:
    """More than half of the servers know the epoch of the last entry in a log, or a newer one."""

    def is_known(r: Server) -> Bool:
        knowing = count(Server, lambda other: s.server[other].epoch >= last_epoch(s, r))
        return implies(~s.log[r].is_empty, is_majority(knowing, all_of(Server)))

    return every(Server, is_known)


# -- logs -------------------------------------------------------------------------------------------------------------


@promise("nobody has an entry of an epoch that it does not know", RAFT, _SINCE)
def entries_are_of_known_epochs(s: State) -> Bool:
    """Every entry is of an epoch from 1 to its server's."""

    def is_known(r: Server, o: Offset) -> Bool:
        epoch = s.log[r].at(o).epoch
        return implies(s.log[r].has(o), (epoch >= 1) & (epoch <= s.server[r].epoch))

    return every_two(Server, Offset, is_known)


@promise("the epochs in a log ascend", RAFT, _SINCE)
def epochs_ascend(s: State) -> Bool:
    """No entry is of a newer epoch than one after it."""

    def ascend(r: Server, o: Offset, later: Offset) -> Bool:
        log = s.log[r]
        return implies((o <= later) & log.has(later), log.at(o).epoch <= log.at(later).epoch)

    return every_three(Server, Offset, Offset, ascend)


@promise("a leader's last entry is its own", RAFT, _SINCE)
def leaders_end_with_their_epoch(s: State) -> Bool:
    """A leader has begun its epoch with a LeaderChange record, and has appended all that came after."""
    return every(Server, lambda r: implies(s.server[r].leads, ~s.log[r].is_empty & (last_epoch(s, r) == s.server[r].epoch)))


@promise("a leader has every entry of its epoch", f"{RAFT}, Leader Append-Only (§5.3)", _SINCE)
def leaders_have_their_epoch(s: State) -> Bool:
    """Whoever has an entry of a leader's epoch has it, and what is before it, from that leader."""

    def has(leader: Server, r: Server, o: Offset) -> Bool:
        is_its = s.server[leader].leads & _holds(s, r, o, s.server[leader].epoch)
        return implies(is_its, same_until(s.log[leader], s.log[r], o))

    return every_three(Server, Server, Offset, has)


@promise("a log whose last entry another has is the beginning of that one's", f"{RAFT}, Log Matching (§5.3)", _SINCE)
def last_entries_match(s: State) -> Bool:
    """Where another log has one's last entry, the two are the same up to there."""

    def match(r: Server, other: Server) -> Bool:
        mine, others, last = s.log[r], s.log[other], s.log[r].end - 1
        has_last = ~mine.is_empty & others.has(last) & (others.at(last).epoch == last_epoch(s, r))
        return implies(has_last, same_until(mine, others, last))

    return every_two(Server, Server, match)


@promise("an epoch begins at one offset, whoever has it", f"{RAFT}; KAFKA-10527", _SINCE)
def epochs_begin_alike(s: State) -> Bool:
    """Where a log has an epoch, another one that has it there or later has it there too."""

    def alike(a: Server, b: Server, o: Offset) -> Bool:
        here, there = s.log[a], s.log[b]

        def from_here(later: Offset) -> Bool:
            has_later = (o <= later) & there.has(later) & (there.at(later).epoch == here.at(o).epoch)
            return implies(here.has(o) & has_later, there.at(o).epoch == here.at(o).epoch)

        return every(Offset, from_here)

    return every_three(Server, Server, Offset, alike)


# -- what is committed ------------------------------------------------------------------------------------------------


@promise("nobody has fetched beyond a leader's log", RAFT, _SINCE)
def fetched_is_within_log(s: State) -> Bool:
    """What a leader knows to be fetched is in its log."""

    def is_within(leader: Server, r: Server) -> Bool:
        return implies(s.server[leader].leads, s.fetched[leader][r] <= s.log[leader].end)

    return every_two(Server, Server, is_within)


@promise("who has fetched a leader's entry has it, as long as that can be committed", RAFT, _SINCE)
def fetched_entries_are_held(s: State) -> Bool:
    """Of what a leader appended, and a server has fetched: that one has it, or too few are left to commit it."""

    def is_held(leader: Server, r: Server, o: Offset) -> Bool:
        epoch = s.server[leader].epoch
        keeps = (s.server[r].epoch >= epoch) & (_holds(s, r, o, epoch) | ~_could_commit(s, leader, o))
        return implies(_appended(s, leader, o) & (s.fetched[leader][r] > o), keeps)

    return every_three(Server, Server, Offset, is_held)


@promise("what an older leader may yet commit is in the log of whoever has newer entries", RAFT, _SINCE)
def later_logs_have_it(s: State) -> Bool:
    """Who has an entry of a newer epoch than a leader's has what that one appended, or too few are left to commit it."""

    def has_it(leader: Server, r: Server, o: Offset) -> Bool:
        epoch = s.server[leader].epoch
        is_asked = _appended(s, leader, o) & (last_epoch(s, r) > epoch) & _could_commit(s, leader, o)
        return implies(is_asked, _holds(s, r, o, epoch))

    return every_three(Server, Server, Offset, has_it)


@promise("what an older leader may yet commit is in every log that is as new as one that has it", RAFT, _SINCE)
def longer_logs_have_it(s: State) -> Bool:
    """Whoever has a log that is as new as one with a leader's entry has that, or too few are left to commit it."""

    def has_it(leader: Server, r: Server, o: Offset) -> Bool:
        epoch = s.server[leader].epoch
        is_asked = _appended(s, leader, o) & _could_commit(s, leader, o) & _holds(s, r, o, epoch)

        # Its end has a name, so that a solver looks at what stands there.
        def other_has(other: Server, end: Offset) -> Bool:
            is_as_new = (s.log[other].end == end) & is_no_newer(s, r, other)
            return implies(is_asked & is_as_new, _holds(s, other, o, epoch))

        return every_two(Server, Offset, other_has)

    return every_three(Server, Server, Offset, has_it)


@promise("what was committed is on the disks of a majority", RAFT, _SINCE)
def committed_is_held(s: State) -> Bool:
    """More than half of the servers hold the last entry that was committed."""

    def is_held(o: Offset) -> Bool:
        holders = count(Server, lambda r: _holds(s, r, o, s.committed.at(o).epoch))
        return implies(_is_last_committed(s, o), is_majority(holders, all_of(Server)))

    return every(Offset, is_held)


@promise("an epoch of which something was committed elects nobody any more", RAFT, _SINCE)
def committed_were_elected(s: State) -> Bool:
    """Of the epoch of the last entry that was committed: more than half have given their vote in it, or know a newer one."""
    return every(Offset, lambda o: implies(_is_last_committed(s, o), _is_over(s, s.committed.at(o).epoch)))


@promise("what was committed is in the log of whoever has newer entries", RAFT, _SINCE)
def later_logs_have_committed(s: State) -> Bool:
    """Who has an entry of a newer epoch than the last one that was committed has that one."""

    def has_it(r: Server, o: Offset) -> Bool:
        epoch = s.committed.at(o).epoch
        return implies(_is_last_committed(s, o) & (last_epoch(s, r) > epoch), _holds(s, r, o, epoch))

    return every_two(Server, Offset, has_it)


@promise("what was committed is in every log that is as new as one that has it", RAFT, _SINCE)
def longer_logs_have_committed(s: State) -> Bool:
    """Whoever has a log that is as new as one with the last entry that was committed has that one."""

    def has_it(r: Server, o: Offset) -> Bool:
        epoch = s.committed.at(o).epoch

        def other_has(other: Server, end: Offset) -> Bool:
            is_as_new = (s.log[other].end == end) & is_no_newer(s, r, other)
            return implies(_is_last_committed(s, o) & _holds(s, r, o, epoch) & is_as_new, _holds(s, other, o, epoch))

        return every_two(Server, Offset, other_has)

    return every_two(Server, Offset, has_it)


@promise("who has the last entry that was committed has all that was", RAFT, _SINCE)
def committed_is_a_prefix(s: State) -> Bool:
    """A log that has the last committed entry has what was committed before it, as it was."""

    def is_prefix(r: Server, o: Offset) -> Bool:
        has_last = _is_last_committed(s, o) & _holds(s, r, o, s.committed.at(o).epoch)
        return implies(has_last, same_until(s.committed, s.log[r], o))

    return every_two(Server, Offset, is_prefix)


@promise("what a leader takes for committed was committed", RAFT, _SINCE)
def high_watermarks_are_committed(s: State) -> Bool:
    """No leader's high watermark is beyond what was committed."""
    return every(Server, lambda r: implies(s.server[r].leads, s.server[r].hw <= s.committed.end))


@promise("a leader of the epoch of what was committed last, or of a newer one, has that", RAFT, _SINCE)
def leaders_have_committed(s: State) -> Bool:
    """A leader whose epoch is no older than that of the last entry that was committed has that entry."""

    def has_it(leader: Server, o: Offset) -> Bool:
        epoch = s.committed.at(o).epoch
        is_asked = s.server[leader].leads & _is_last_committed(s, o) & (epoch <= s.server[leader].epoch)
        return implies(is_asked, _holds(s, leader, o, epoch))

    return every_two(Server, Offset, has_it)


ELECTION_LEMMAS: tuple[Property, ...] = (leaders_have_a_majority, one_leader_per_epoch)
"""What makes two leaders in one epoch impossible."""

COMPLETENESS_LEMMAS: tuple[Property, ...] = (
    *ELECTION_LEMMAS, entries_are_of_known_epochs, epochs_ascend, entries_were_elected, leaders_end_with_their_epoch,
    leaders_have_their_epoch, epochs_begin_alike, log_matching, last_entries_match, fetched_is_within_log,
    fetched_entries_are_held, last_epochs_are_known, later_logs_have_it, longer_logs_have_it, committed_is_held,
    committed_were_elected, later_logs_have_committed, longer_logs_have_committed, leaders_have_committed,
    committed_is_a_prefix, state_machine_safety, high_watermarks_are_committed,
)  # fmt: skip
"""What makes leaders have all that was committed, those at the bottom first."""

AFTERWARDS: tuple[str, ...] = (
    "EntriesAreOfKnownEpochs", "EpochsAscend", "LeadersEndWithTheirEpoch", "LeadersHaveTheirEpoch", "LogMatching",
    "LastEntriesMatch", "FetchedEntriesAreHeld", "LaterLogsHaveIt", "CommittedIsHeld", "LaterLogsHaveCommitted",
    "CommittedIsAPrefix",
)  # fmt: skip
"""Which of them may be taken as they are after a step where what comes later is proved."""

DERIVED: tuple[str, ...] = ("LastEpochsAreKnown", "LongerLogsHaveIt", "CommittedWereElected", "LongerLogsHaveCommitted",
    "LeadersHaveCommitted", "HighWatermarksAreCommitted")
"""Which of them follow from the others, in one and the same state."""
