"""The promises of `kraft`: what Raft's own argument rests on, and what an operator of controllers asks.

Floor 1.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_three, every_two, same_until
from acked.model.kraft.common import counts, disk_of, is_majority, is_no_newer, reconfigures, voters_of
from acked.model.kraft.replicating import takes_up, wants_snapshot
from acked.model.kraft.settings import dismisses, records, redirects, snapshots, upgrades
from acked.model.kraft.state import Entry, EntryId, Offset, Server, State
from acked.model.language.quantify import count, every, implies, some, those, truth
from acked.model.language.storage.views import LogView
from acked.model.language.values import Bool

RAFT = "KIP-595; Raft (Ongaro and Ousterhout 2014)"
_SINCE = "2.8, as long as no voter loses its disk; with dynamic voters, fewer than a majority of them"


def _holds_committed(s: State, r: Server) -> Bool:
    return every(Offset, lambda o: implies(o < s.committed.end, s.committed.same_record_at(s.log[r], o)))


def _has(log: LogView[Entry, Offset], record: EntryId) -> Bool:
    return some(Offset, lambda o: log.has(o) & (log.at(o).id == record))


def _is_newest_leader(s: State, r: Server) -> Bool:
    return s.server[r].leads & ~some(Server, lambda other: s.server[other].epoch > s.server[r].epoch)


@promise("two controllers may both act as leader, but never in the same epoch", f"{RAFT}, Election Safety (§5.2)", _SINCE)
def one_leader_per_epoch(s: State) -> Bool:
    """No two servers lead in one epoch."""

    def both(a: Server, b: Server) -> Bool:
        return s.server[a].leads & s.server[b].leads & (s.server[a].epoch == s.server[b].epoch)

    return every_two(Server, Server, lambda a, b: implies(both(a, b), a == b))


@promise(
    "metadata that was acknowledged, a topic that was created or a leader that was chosen, is known to every later leader",
    f"{RAFT}, Leader Completeness (§5.4.3)",
    _SINCE,
)
def metadata_survives(s: State) -> Bool:
    """The leader of the newest epoch holds every metadata record that was committed."""

    def keeps(r: Server) -> Bool:
        return every(EntryId, lambda e: implies((e < records) & _has(s.committed, e), _has(s.log[r], e)))

    return every(Server, lambda r: implies(_is_newest_leader(s, r), keeps(r)))


@promise(
    "the leader of the newest epoch holds everything that was ever committed, where it was",
    f"{RAFT}, Leader Completeness (§5.4.3)",
    _SINCE,
)
def leader_completeness(s: State) -> Bool:
    """The leader of the newest epoch holds what was committed, at the same offsets."""
    return every(Server, lambda r: implies(_is_newest_leader(s, r), _holds_committed(s, r)))


@promise(
    "brokers and controllers never apply different metadata at one offset", f"{RAFT}, State Machine Safety (§5.4.3)", _SINCE
)
def state_machine_safety(s: State) -> Bool:
    """What a controller has below its high watermark is what was committed there first: a leader, or with snapshots any."""

    def is_applied(r: Server, o: Offset) -> Bool:
        mine = s.server[r]
        return (o < mine.known) | (o < mine.start) if snapshots.on else mine.leads & (o < mine.hw)

    def agrees(r: Server) -> Bool:
        return every(Offset, lambda o: implies(is_applied(r, o), s.committed.same_record_at(s.log[r], o)))

    return every(Server, agrees)


@promise(
    "the active controllers, one after the other, act as one that never fails: who decides knows all that was decided before",
    "what `partition` takes for granted of its controller; KIP-500, KIP-631",
    _SINCE,
)
def controllers_act_as_one(before: State, after: State) -> Bool:
    """Where more is committed by a step, a leader has committed all of it that holds what was committed before, as it was."""

    def decides(r: Server) -> Bool:
        return after.server[r].leads & (after.server[r].hw == after.committed.end) & _holds_committed(after, r)

    return implies(after.committed.end > before.committed.end, lambda: some(Server, decides))


@promise(
    "an epoch and an offset name one record: two logs that have it in common have everything before it in common",
    f"{RAFT}, Log Matching (§5.3); KAFKA-10527",
    _SINCE,
)
def log_matching(s: State) -> Bool:
    """If two logs have an entry of one epoch at one offset, they are the same up to there."""

    def same(a: Server, b: Server, o: Offset) -> Bool:
        here, there = s.log[a], s.log[b]
        return implies(here.has(o) & there.has(o) & (here.at(o).epoch == there.at(o).epoch), same_until(here, there, o))

    return every_three(Server, Server, Offset, same)


@promise(
    "while a majority of the voters is there with its disks, there is a leader, or one of them can be elected",
    "KIP-595, KIP-853: a majority of the voters makes progress",
    "as long as a majority of the voters keep their disks",
)
def quorum_can_elect(s: State) -> Bool:
    """A leader leads, or some voter, as its own log has the voters, would get the votes of a majority if all were up."""

    def could_win(r: Server) -> Bool:
        voters = voters_of(s, r)
        votes = count(Server, lambda v: counts(s, r, v, voters) & is_no_newer(s, v, r))
        return counts(s, r, r, voters) & is_majority(votes, voters)

    return some(Server, lambda r: s.server[r].leads | could_win(r))


@promise(
    "a voter that cannot hear the leader does not end the epoch of a leader that a majority follows",
    "KIP-996, pre-vote",
    "4.0, with static voters",
    lacks=lambda has: "" if has["stands"] else "voter that stands in vain; set stands = true",
)
def followed_leaders_stay(before: State, after: State) -> Bool:
    """While a majority follows the newest leader, there is no newer epoch unless somebody is elected in it."""

    def is_followed(leader: Server) -> Bool:
        mine = before.server[leader]

        def follows(r: Server) -> Bool:
            return (after.server[r].bond == leader) & (after.server[r].epoch == mine.epoch)

        voters = voters_of(before, leader)
        followers = count(Server, lambda r: counts(before, leader, r, voters) & follows(r))
        return _is_newest_leader(before, leader) & is_majority(followers, voters)

    def is_replaced(leader: Server) -> Bool:
        is_newest = every(Server, lambda r: after.server[r].epoch <= before.server[leader].epoch)
        return is_newest | some(Server, lambda r: _is_newest_leader(after, r))

    return every(Server, lambda r: implies(is_followed(r), is_replaced(r)))


@promise(
    "a controller that an operator has removed is no voter until an operator adds it again",
    "KIP-853, RemoveVoter",
    "without controller.quorum.auto.join.enable (KAFKA-19850)",
    lacks=lambda has: "" if dismisses.make(has) else "controller that joins by itself; set auto_join and changes",
)
def removed_voters_stay_out(s: State) -> Bool:
    """No leader of the newest epoch has a voter that an operator removed last."""
    return every(Server, lambda r: implies(_is_newest_leader(s, r), (voters_of(s, r) & s.dismissed).is_empty))


@promise(
    "a controller that was removed decides nothing: who is elected, and what is committed, has a majority without it",
    "KIP-853; Raft (Ongaro 2014, §4.2.2); KAFKA-16530",
    "3.8, as long as no voter loses its disk",
    lacks=lambda has: "" if has["changes"] else "change of voters; set dynamic voters and changes",
)
def removed_voters_decide_nothing(before: State, after: State) -> Bool:
    """Who is elected, or commits, has all committed voter sets, and more than half of its newest one behind it.

    That is by their votes, and by their logs.
    """

    def has_majority(r: Server, is_behind: Callable[[Server], Bool]) -> Bool:
        voters = voters_of(after, r)
        return is_majority(count(Server, lambda v: counts(after, r, v, voters) & is_behind(v)), voters)

    def knows_voters(r: Server) -> Bool:
        def knows(change: EntryId) -> Bool:
            return implies(_has(before.committed, change), _has(after.log[r], change))

        return every(EntryId, lambda e: implies(e >= records, lambda: knows(e)))

    def voted(v: Server, leader: Server) -> Bool:
        return (after.server[v].epoch == after.server[leader].epoch) & (after.server[v].bond == leader)

    def may_lead(r: Server) -> Bool:
        is_elected = after.server[r].leads & ~before.server[r].leads
        return implies(is_elected, lambda: knows_voters(r) & has_majority(r, lambda v: voted(v, r)))

    def decided_well() -> Bool:
        holders = those(Server, lambda v: _holds_committed(after, v))

        def may_commit(r: Server) -> Bool:
            commits = after.server[r].leads & (after.server[r].hw == after.committed.end)
            return commits & knows_voters(r) & has_majority(r, holders.contains)

        return some(Server, may_commit)

    return every(Server, may_lead) & implies(after.committed.end > before.committed.end, decided_well)


@promise(
    "a controller is a voter under one directory id: with another disk it joins once the old voter has been removed",
    "KIP-853, DUPLICATE_VOTER (AddVoterHandler, 3.9); with auto-join, KAFKA-19078",
    "3.9",
    lacks=lambda has: "" if redirects.make(has) else "new disk of a voter; set dynamic voters, changes and formats",
)
def nobody_joins_twice(before: State, after: State) -> Bool:
    """No leader that appends voters changes the directory id of one that was among them and stays."""

    def is_written(r: Server) -> Bool:
        leads = before.server[r].leads & after.server[r].leads
        has_directories = reconfigures(before, r) if upgrades.on else truth(True)
        return (after.next_change > before.next_change) & leads & has_directories

    def stays(r: Server, v: Server) -> Bool:
        is_kept = voters_of(before, r).contains(v) & voters_of(after, r).contains(v)
        return implies(is_kept, disk_of(before, r, v) == disk_of(after, r, v))

    return every(Server, lambda r: implies(is_written(r), lambda: every(Server, lambda v: stays(r, v))))


@promise(
    "a controller that was away takes up the leader's snapshot and goes on",
    "KIP-630",
    "as long as its last entry is of no newer epoch than the snapshot",
    lacks=lambda has: "" if has["snapshots"] else "snapshot; set snapshots = true",
)
def snapshots_are_taken_up(s: State) -> Bool:
    """Whoever the leader of the newest epoch answers with its snapshot has a log that gives way to it."""

    def can(follower: Server, leader: Server) -> Bool:
        is_asked = _is_newest_leader(s, leader) & (follower != leader) & wants_snapshot(s, follower, leader)
        return implies(is_asked, takes_up(s, follower, leader))

    return every_two(Server, Server, can)


PROPERTIES: tuple[Property, ...] = (
    one_leader_per_epoch, metadata_survives, leader_completeness, state_machine_safety, log_matching, quorum_can_elect,
    controllers_act_as_one, followed_leaders_stay, removed_voters_stay_out, removed_voters_decide_nothing,
    nobody_joins_twice, snapshots_are_taken_up,
)  # fmt: skip
"""Every promise of the protocol."""
