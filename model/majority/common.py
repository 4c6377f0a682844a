"""The vocabulary of `majority`: predicates and updates that voting, replicating and failing share.

Who is up and may vote, majorities, comparing logs, taking up a newer term, and the renumbering of terms.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.model.language.action import require
from acked.model.language.quantify import count, each, greatest, ite, some
from acked.model.language.state import none_of
from acked.model.language.telling import Telling
from acked.model.language.values import Bool
from acked.model.majority.state import Offset, RecordId, Replica, State, Term, max_term, replicas
from acked.model.ranks import ranks

# -- who counts -------------------------------------------------------------------------------------------------------


def majority() -> int:
    """How many replicas more than half of them are at least."""
    return replicas.value // 2 + 1


def may_vote(s: State, r: Replica) -> Bool:
    """Its log is what it was when it acknowledged records and cast votes: it has lost nothing, or nobody asks."""
    return ~s.replica[r].lost


def is_available(s: State, r: Replica) -> Bool:
    """It is up and may vote."""
    return ~s.replica[r].down & may_vote(s, r)


def is_newest_leader(s: State, r: Replica) -> Bool:
    """It leads, and nobody knows of a newer term."""
    newer = some(Replica, lambda other: s.replica[other].term > s.replica[r].term)
    return s.replica[r].leads & ~newer


# -- logs -------------------------------------------------------------------------------------------------------------


def is_no_newer(s: State, voter: Replica, candidate: Replica) -> Bool:
    """The voter's log is no more up to date than the candidate's: by the last record's term, then by length (Raft §5.4.1)."""
    mine, other = s.log[voter], s.log[candidate]
    same_term = mine.last.term == other.last.term
    return mine.is_empty | (
        ~other.is_empty & ((mine.last.term < other.last.term) | (same_term & (mine.end <= other.end)))
    )


def agree_until(s: State, leader: Replica, follower: Replica) -> Offset:
    """The end of the last offset at which both logs hold a record of one term; 0 if there is none.

    A leader that tries one offset less after every refusal ends here (Raft §5.3).
    """
    ours, theirs = s.log[leader], s.log[follower]
    return greatest(
        Offset,
        lambda o: (o == 0)
        | ((o > 0) & ours.has(o - 1) & theirs.has(o - 1) & (ours.at(o - 1).term == theirs.at(o - 1).term)),
    )


def holds(s: State, r: Replica, record: RecordId) -> Bool:
    """The record is in the log, anywhere."""
    return some(Offset, lambda o: s.log[r].has(o) & (s.log[r].at(o).id == record))


def could_win(s: State, candidate: Replica, voters: Callable[[Replica], Bool]) -> Bool:
    """Of the given voters a majority of all replicas has logs that are no newer than the candidate's."""
    return count(Replica, lambda v: voters(v) & is_no_newer(s, v, candidate)) >= majority()


# -- terms ------------------------------------------------------------------------------------------------------------


def newest_term(s: State) -> Term:
    """The newest term that any replica knows."""
    return greatest(Term, lambda t: some(Replica, lambda r: s.replica[r].term == t))


def forget_matches(s: State, r: Replica) -> None:
    """What only a leader knows is forgotten."""
    for other in each(Replica):
        s.match[r][other] = 0


def take_up(s: State, r: Replica, term: Term) -> None:
    """A replica hears of a term at least as new as its own, from its leader or a candidate: it neither leads nor stands."""
    mine = s.replica[r]
    mine.voted_for = ite(mine.term < term, None, mine.voted_for)
    mine.term = term
    mine.leads = False
    mine.granted = none_of(Replica)
    forget_matches(s, r)


def require_term_left(s: State, term: Term) -> None:
    """Where the number of terms is bounded: there is one after this."""
    if max_term.value:
        require("a term is left", term < max_term)


def renumber_terms(s: State) -> None:
    """Terms become ranks among those in use, unless the question bounds them.

    Terms are only ever compared, so a state and its renumbering have the same future (`docs/abstractions.md`).
    """
    if max_term.value:
        return
    slots = each(Offset)[:-1]
    in_use: list[tuple[Bool, Term]] = []
    for r in each(Replica):
        mine = s.replica[r]
        in_use.append((mine.term == mine.term, mine.term))
        in_use += [(s.log[r].has(o), s.log[r].at(o).term) for o in slots]
    rank = ranks(Term, in_use)
    for r in each(Replica):
        s.replica[r].term = rank(s.replica[r].term)
        for o in slots:
            record = s.log[r].at(o)
            record.term = rank(record.term)


# -- words ------------------------------------------------------------------------------------------------------------


def says_heard(t: Telling) -> str:
    """What a follower learns of terms from a leader."""
    before, after = t.before.replica[t.follower], t.after.replica[t.follower]
    if before.leads:
        return f"replica {t.follower} hears of term {after.term} and leads no more; "
    return ""


