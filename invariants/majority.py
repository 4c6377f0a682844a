"""The promises of `majority`: the same questions as those of `partition`, and what Raft's own argument rests on.

Floor 1.
"""

from __future__ import annotations

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_three, every_two, same_until
from acked.model.language.quantify import count, every, implies, some
from acked.model.language.values import Bool
from acked.model.majority.common import could_win, holds, is_available, is_newest_leader, may_vote
from acked.model.majority.state import Offset, RecordId, Replica, State, failures

_RAFT = "Raft (Ongaro and Ousterhout 2014), §5.4"


def _holds_acked(s: State, r: Replica) -> Bool:
    return every(RecordId, lambda record: implies(s.acked[record], holds(s, r, record)))


@promise(
    "an acknowledged record is in the log of every later leader",
    _RAFT,
    "any number of replicas, crashes that lose nothing; with lossy ones if a replica that lost records votes no more",
)
def acked_records_survive(s: State) -> Bool:
    """The leader of the newest term holds every acknowledged record."""
    return every(Replica, lambda r: implies(is_newest_leader(s, r), _holds_acked(s, r)))


@promise(
    "every replica that a majority could elect next holds every acknowledged record", _RAFT, "as for AckedRecordsSurvive"
)
def acked_records_electable(s: State) -> Bool:
    """Every replica that a majority could elect, up or down, holds every acknowledged record."""

    def electable(r: Replica) -> Bool:
        return may_vote(s, r) & could_win(s, r, lambda v: may_vote(s, v))

    return every(Replica, lambda r: implies(electable(r), _holds_acked(s, r)))


@promise("an acknowledged record is on the disk of some replica", _RAFT, "as long as fewer than a majority lose their logs")
def acked_records_exist(s: State) -> Bool:
    """Every acknowledged record is in some log, of a replica that is up or down."""
    return every(RecordId, lambda record: implies(s.acked[record], some(Replica, lambda r: holds(s, r, record))))


@promise(
    "a leader holds every record that any replica has let consumers read",
    "Raft, Leader Completeness (§5.4.3)",
    "as for AckedRecordsSurvive",
)
def leader_completeness(s: State) -> Bool:
    """The leader of the newest term holds what any replica has below its high watermark."""

    def complete(leader: Replica, r: Replica) -> Bool:
        return every(Offset, lambda o: implies(o < s.replica[r].hw, s.log[leader].same_record_at(s.log[r], o)))

    return every(
        Replica, lambda leader: implies(is_newest_leader(s, leader), every(Replica, lambda r: complete(leader, r)))
    )


@promise(
    "two replicas never hold different records at an offset below both their high watermarks",
    "Raft, State Machine Safety (§5.4.3)",
    "as for AckedRecordsSurvive",
)
def logs_agree_below_hw(s: State) -> Bool:
    """Any two replicas hold the same records below both their high watermarks."""

    def agree(a: Replica, b: Replica) -> Bool:
        return every(
            Offset,
            lambda o: implies((o < s.replica[a].hw) & (o < s.replica[b].hw), s.log[a].same_record_at(s.log[b], o)),
        )

    return every_two(Replica, Replica, agree)


@promise(
    "two records with the same offset and term are the same record, with the same records before them, on all replicas",
    "Raft, Log Matching (§5.3)",
    "always",
)
def log_matching(s: State) -> Bool:
    """Two logs that hold a record of one term at one offset are the same up to there."""

    def same(a: Replica, b: Replica, o: Offset) -> Bool:
        here, there = s.log[a], s.log[b]
        return implies(here.has(o) & there.has(o) & (here.at(o).term == there.at(o).term), same_until(here, there, o))

    return every_three(Replica, Replica, Offset, same)


@promise("two replicas may both act as leader, but never in the same term", "Raft, Election Safety (§5.2)", "always")
def one_leader_per_term(s: State) -> Bool:
    """No two replicas lead in one term."""

    def both(a: Replica, b: Replica) -> Bool:
        return s.replica[a].leads & s.replica[b].leads & (s.replica[a].term == s.replica[b].term)

    return every_two(Replica, Replica, lambda a, b: implies(both(a, b), a == b))


@promise(
    "a leader drops a record of its own log only for a leader of a newer term", "Raft, Leader Append-Only (§5.3)", "always"
)
def leader_append_only(before: State, after: State) -> Bool:
    """A replica that leads drops nothing of its log, unless a leader of a newer term makes it, or it crashes."""

    def is_told(r: Replica) -> Bool:
        return some(Replica, lambda by: before.replica[by].leads & (before.replica[by].term > before.replica[r].term))

    def keeps(r: Replica) -> Bool:
        was, now = before.log[r], after.log[r]
        return every(Offset, lambda o: implies(was.has(o), now.has(o) & (was.at(o).id == now.at(o).id)))

    return every(Replica, lambda r: implies(before.replica[r].leads & ~after.replica[r].down, keeps(r) | is_told(r)))


@promise(
    "a replica does not drop a record that it has let consumers read while it is up",
    "Raft, State Machine Safety (§5.4.3), read at each replica",
    "as for AckedRecordsSurvive",
)
def committed_records_stay(before: State, after: State) -> Bool:
    """While a replica is up it drops nothing of what it has taken for committed."""

    def keeps(r: Replica) -> Bool:
        was, now = before.log[r], after.log[r]
        return every(
            Offset,
            lambda o: implies(
                (o < before.replica[r].hw) & was.has(o), now.has(o) & (was.at(o).id == now.at(o).id)
            ),
        )

    return every(Replica, lambda r: implies(~after.replica[r].down, keeps(r)))


@promise(
    "while at most `failures` replicas are down, or barred from voting, the others can elect a leader and commit what "
    "it appends",
    "Raft (Ongaro and Ousterhout 2014), §2: any majority makes progress",
    "2n+1 replicas for n failures",
)
def writes_with_some_down(s: State) -> Bool:
    """With at most `failures` replicas down or barred from voting, the others can elect a leader and commit."""
    few = count(Replica, lambda r: ~is_available(s, r)) <= failures
    return implies(
        few,
        some(Replica, lambda r: is_available(s, r) & could_win(s, r, lambda v: is_available(s, v))),
    )


PROPERTIES: tuple[Property, ...] = (
    acked_records_survive, acked_records_electable, acked_records_exist, leader_completeness, logs_agree_below_hw,
    log_matching, one_leader_per_term, leader_append_only, committed_records_stay, writes_with_some_down,
)  # fmt: skip
"""Every promise of the protocol, durability first."""
