"""Voting: who leads in a new term.

An election that is won, as one step; and the same vote by vote. Elections that nobody wins change nothing
that lasts, and are steps only where votes are given one by one (`docs/abstractions.md`).
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import each, every, ite
from acked.model.language.sets import SetValue
from acked.model.language.state import none_of
from acked.model.language.telling import Fault, Telling, Tells, Those, says_set
from acked.model.majority.common import (
    is_no_newer,
    majority,
    may_vote,
    newest_term,
    renumber_terms,
    require_term_left,
    take_up,
)
from acked.model.majority.state import ONE_BY_ONE, Replica, State, votes


def _says_vote(t: Telling) -> str:
    return f"vote in t{t.after.replica[t.candidate].term}"


VOTES = Tells(Those(Replica, lambda t: [voter for voter in t.voters if voter != t.candidate]), "candidate", _says_vote)


@action(
    says=lambda t: (
        f"replica {t.candidate} is elected leader in term {t.after.replica[t.candidate].term} with the votes of "
        f"{says_set(t.voters)}"
    ),
    when=lambda: votes.value != ONE_BY_ONE,
    actor="candidate", messages=(VOTES,),
)
def elect(s: State, candidate: Replica, voters: SetValue[Replica]) -> None:
    """A candidate takes a new term, and a majority whose logs are no newer than its own votes for it."""
    require("votes for itself", voters.contains(candidate))
    # A vote beyond the majority only tells the voter of the new term, and that can wait.
    require("votes of a majority", voters.size == majority())
    require("voters are up", every(voters, lambda v: ~s.replica[v].down))
    require("voters have lost nothing", every(voters, lambda v: may_vote(s, v)))
    require("voters' logs are no newer", every(voters, lambda v: is_no_newer(s, v, candidate)))
    newest = newest_term(s)
    require_term_left(s, newest)
    for r in each(Replica):
        votes_for = voters.contains(r)
        mine = s.replica[r]
        mine.term = ite(votes_for, newest + 1, mine.term)
        mine.leads = ~votes_for & mine.leads
        for other in each(Replica):
            s.match[r][other] = ite(votes_for, 0, s.match[r][other])
    s.replica[candidate].leads = True
    renumber_terms(s)


# -- vote by vote -----------------------------------------------------------------------------------------------------


@action(
    says=lambda t: f"replica {t.candidate} stands for leader in term {t.after.replica[t.candidate].term}",
    when=lambda: votes.value == ONE_BY_ONE,
    actor="candidate", fault=Fault.UNHEARD,
)
def stand(s: State, candidate: Replica) -> None:
    """A replica that has heard of no leader for too long takes the next term and votes for itself."""
    mine = s.replica[candidate]
    require("up", ~mine.down)
    require("does not lead", ~mine.leads)
    require("has lost nothing", may_vote(s, candidate))
    require_term_left(s, mine.term)
    take_up(s, candidate, mine.term + 1)
    s.replica[candidate].voted_for = candidate
    s.replica[candidate].granted = s.replica[candidate].granted.add(candidate)


@action(
    says=lambda t: (
        f"replica {t.voter} votes for replica {t.candidate} in term {t.after.replica[t.candidate].term}"
        + (" and leads no more" if t.before.replica[t.voter].leads else "")
    ),
    when=lambda: votes.value == ONE_BY_ONE,
    actor="voter", messages=(Tells("voter", "candidate", _says_vote),),
)
def vote(s: State, candidate: Replica, voter: Replica) -> None:
    """A replica gives its one vote of a term to a candidate whose log is at least as up to date (Raft §5.4.1)."""
    mine, stands = s.replica[voter], s.replica[candidate]
    require("another replica", voter != candidate)
    require("candidate stands", ~stands.granted.is_empty)
    require("voter is up", ~mine.down)
    require("voter has lost nothing", may_vote(s, voter))
    require("not in a newer term", mine.term <= stands.term)
    require("has not voted in this term", (mine.term < stands.term) | mine.voted_for.is_none)
    require("voter's log is no newer", is_no_newer(s, voter, candidate))
    take_up(s, voter, stands.term)
    mine.voted_for = candidate
    stands.granted = stands.granted.add(voter)


@action(
    says=lambda t: (
        f"replica {t.candidate} has the votes of {says_set(t.before.replica[t.candidate].granted)} and leads in term "
        f"{t.after.replica[t.candidate].term}"
    ),
    when=lambda: votes.value == ONE_BY_ONE,
    actor="candidate",
)
def take_office(s: State, candidate: Replica) -> None:
    """A candidate with the votes of a majority leads."""
    mine = s.replica[candidate]
    require("stands", ~mine.granted.is_empty)
    require("votes of a majority", mine.granted.size >= majority())
    mine.leads = True
    mine.granted = none_of(Replica)


@action(
    says=lambda t: (
        f"replica {t.replica} hears from replica {t.other} of term {t.after.replica[t.replica].term}"
        + (" and leads no more" if t.before.replica[t.replica].leads else "")
    ),
    when=lambda: votes.value == ONE_BY_ONE,
    actor="replica", messages=(Tells("other", "replica", lambda t: f"t{t.after.replica[t.replica].term}"),),
)
def hear_of_term(s: State, replica: Replica, other: Replica) -> None:
    """Whatever a replica is asked or told in a newer term, it takes up the term and neither leads nor stands any more."""
    require("up", ~s.replica[replica].down)
    require("newer term", s.replica[replica].term < s.replica[other].term)
    take_up(s, replica, s.replica[other].term)
