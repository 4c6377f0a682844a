"""Electing: who leads in a new epoch, who stands in vain, and who hears of an epoch.

An election that is won is one step. One that nobody wins takes an epoch, unseats who hears of it, and is a step only with
`stands`: without, a leader that is not unseated yet may as well do nothing (`docs/controllers.md`).
"""

from __future__ import annotations

from acked.model.kraft.common import advance, bind, counts, is_majority, is_no_newer, leave_office, voters_of
from acked.model.kraft.settings import max_epoch, pre_vote, stands, votes_again
from acked.model.kraft.state import Entry, Epoch, Server, State
from acked.model.language.action import action, require
from acked.model.language.quantify import count, every, for_each, ite, some, truth
from acked.model.language.sets import SetValue
from acked.model.language.telling import Fault, Telling, Tells, Those, says_set
from acked.model.language.values import Bool

VOTES = Tells(
    Those(Server, lambda t: [voter for voter in t.voters if voter != t.candidate]),
    "candidate",
    lambda t: f"vote in e{t.epoch}",
)


def _says_elect(t: Telling) -> str:
    votes = "its own vote alone" if len(t.voters) == 1 else f"the votes of {says_set(t.voters)}"
    return (
        f"controller {t.candidate} is elected leader in epoch {t.epoch} with {votes}, and appends a LeaderChange record at "
        f"offset {t.before.log[t.candidate].end}"
    )


@action(says=_says_elect, actor="candidate", messages=(VOTES,))
def elect(s: State, candidate: Server, voters: SetValue[Server], epoch: Epoch) -> None:
    """A voter gets the votes of a majority for an epoch and appends a LeaderChange record (`onBecomeLeader`).

    Who votes need not take itself for a voter: the request names it with its directory id, and that has to be its own
    (`handleVoteRequest`, `isValidVoterKey`; 3.9). It votes once an epoch, and for nobody if it follows somebody in it
    (`UnattachedState.canGrantVote`). A vote beyond the majority only tells the voter of the epoch, and that can wait.
    Whom it has voted for it votes for again, whatever became of that one's log: a vote in quorum-state names no directory
    with kraft.version 0.
    """
    mine, electorate = s.server[candidate], voters_of(s, candidate)
    require("does not lead", ~mine.leads)
    require("epoch is new to it", epoch > mine.epoch)
    require("votes for itself", voters.contains(candidate))
    require("votes of voters", every(voters, lambda v: electorate.contains(v)))
    require("votes of a majority", is_majority(voters.size, electorate) & ~is_majority(voters.size - 1, electorate))
    require("voters have the disks that are meant", every(voters, lambda v: counts(s, candidate, v, electorate)))
    require("voters know no newer epoch", every(voters, lambda v: s.server[v].epoch <= epoch))
    require("voters are free in the epoch", every(voters, lambda v: is_free(s, v, candidate, epoch)))
    require(
        "voters' logs are no newer",
        every(voters, lambda v: is_no_newer(s, v, candidate) | again(s, v, candidate, epoch)),
    )
    # It has: a LeaderChange for each epoch, each record once. A proof for all constants need not count them.
    require("log has room", ~s.log[candidate].is_full)

    def vote(r: Server) -> None:
        gives, one = voters.contains(r), s.server[r]
        one.epoch = ite(gives, epoch, one.epoch)
        one.bond = ite(gives, candidate, one.bond)
        if votes_again.on:
            one.heard = ~gives & one.heard
        leave_office(s, r, gives)

    for_each(Server, vote)
    mine.leads = True
    s.log[candidate].append(Entry(id=None, epoch=epoch))
    advance(s, candidate)


def is_free(s: State, voter: Server, candidate: Server, epoch: Epoch) -> Bool:
    """It has not given away its vote in the epoch, or to the candidate."""
    mine = s.server[voter]
    return (mine.epoch < epoch) | (mine.bond.is_none & ~mine.leads) | again(s, voter, candidate, epoch)


def again(s: State, voter: Server, candidate: Server, epoch: Epoch) -> Bool:
    """It voted for the candidate in this epoch, and has not heard that anybody leads in it."""
    if not votes_again.on:
        return truth(False)
    mine = s.server[voter]
    return (mine.epoch == epoch) & (mine.bond == candidate) & ~mine.leads & ~mine.heard


@action(
    says=lambda t: (
        f"controller {t.voter} hears no leader and stands for election in epoch {t.after.server[t.voter].epoch}, in vain"
    ),
    when=lambda: stands.on, actor="voter", fault=Fault.UNHEARD,
)
def stand(s: State, voter: Server) -> None:
    """A voter whose fetch timeout has passed takes the next epoch and votes for itself (`QuorumState.transitionToCandidate`).

    With pre-vote it asks first: who fetches from a leader says no, and so does who has a newer log (`ProspectiveState`,
    `FollowerState.canGrantVote`; 4.0).
    """
    mine, voters = s.server[voter], voters_of(s, voter)
    require("does not lead", ~mine.leads)
    require("is a voter", counts(s, voter, voter, voters))
    require("an epoch is left", mine.epoch < max_epoch)
    if pre_vote.on:
        require(
            "a majority would vote for it",
            is_majority(
                count(Server, lambda v: counts(s, voter, v, voters) & ((v == voter) | would_vote(s, v, voter))), voters
            ),
        )
    mine.epoch = mine.epoch + 1
    bind(s, voter, voter)
    leave_office(s, voter)


def would_vote(s: State, r: Server, candidate: Server) -> Bool:
    """It neither leads nor fetches from a leader, and the candidate's log is as new as its own."""
    mine = s.server[r]

    def is_heard(leader: Server) -> Bool:
        return (mine.bond == leader) & s.server[leader].leads & (s.server[leader].epoch == mine.epoch)

    return ~some(Server, is_heard) & (mine.epoch <= s.server[candidate].epoch) & is_no_newer(s, r, candidate)


@action(
    says=lambda t: (
        f"controller {t.server} hears from controller {t.other} of epoch {t.after.server[t.server].epoch}"
        + (" and leads no more" if t.before.server[t.server].leads else "")
    ),
    when=lambda: stands.on,
    actor="server", messages=(Tells("other", "server", lambda t: f"e{t.after.server[t.server].epoch}"),),
)
def hear(s: State, server: Server, other: Server) -> None:
    """A request or answer of a newer epoch makes a server take it up, without leader or vote (`maybeTransition`)."""
    mine = s.server[server]
    require("newer epoch", mine.epoch < s.server[other].epoch)
    mine.epoch = s.server[other].epoch
    bind(s, server, None)
    leave_office(s, server)
