"""Single-decree Paxos: acceptors, ballots, and messages that stay once they are sent.

Lamport, Paxos made simple (2001); the rules are those of Paxos.tla in tlaplus/Examples.
"""

from acked import Array, Bool, Constant, Id, Int, Optional, Protocol, SetOf, Struct, choose, every, field, require, some, switch

acceptors = Constant("acceptors", 1, 5, "acceptors")
ballots = Constant("ballots", 1, 4, "ballots that are tried")
values = Constant("values", 1, 3, "values that are proposed")
keeps_value = switch("keeps_value", "whether a proposal has the value of the highest ballot that it heard of", default=True)

class Acceptor(Id, size=acceptors):
    """Who accepts."""

class Ballot(Int, lo=0, hi=ballots - 1):
    """An attempt to choose."""

class Value(Id, size=values):
    """What may be chosen."""

class Promise(Struct):
    by = field(Acceptor, "1b: who will accept nothing below")
    ballot = field(Ballot, "this ballot")
    accepted = field(Optional(Ballot), "and where it accepted last")
    value = field(Optional(Value), "which value")

class Proposal(Struct):
    ballot = field(Ballot, "2a: the ballot in which is proposed")
    value = field(Value, "this value")

class State(Struct):
    promised = field(Array(Acceptor, Optional(Ballot)), "the highest ballot that it heard of")
    accepted = field(Array(Acceptor, Optional(Ballot)), "the highest ballot in which it accepted")
    value = field(Array(Acceptor, Optional(Value)), "what it accepted there")
    asked = field(Array(Ballot, Bool), "1a: ballots that have begun")
    promises = field(SetOf(Promise), "all that were ever sent")
    proposals = field(SetOf(Proposal), "all that were ever sent")
    votes = field(Array(Acceptor, SetOf(Proposal)), "2b: what each acceptor ever accepted")

constants = (acceptors, ballots, values, keeps_value)
paxos = Protocol("paxos", State, title="single-decree Paxos", source="Lamport, Paxos made simple", constants=constants,
                 initial=lambda s: None, symmetric=(Acceptor,))  # fmt: skip

@paxos.action(says=lambda t: f"ballot {t.ballot} begins")
def ask(s: State, ballot: Ballot) -> None:
    s.asked[ballot] = True

@paxos.action(says=lambda t: f"acceptor {t.by} promises to accept nothing below ballot {t.ballot}")
def promise(s: State, by: Acceptor, ballot: Ballot) -> None:
    require("the ballot has begun", s.asked[ballot])
    require("it is the highest", s.promised[by] < ballot)
    s.promised[by] = ballot
    s.promises.add(Promise(by=by, ballot=ballot, accepted=s.accepted[by], value=s.value[by]))

@paxos.action(says=lambda t: f"value {t.value} is proposed in ballot {t.ballot}")
def propose(s: State, ballot: Ballot, value: Value) -> None:
    said = lambda by, b, v: s.promises.contains(Promise(by=by, ballot=ballot, accepted=b, value=v))  # noqa: E731
    said_in = lambda by, b: some(Value, lambda v: said(by, b, v))  # noqa: E731
    quorum = choose("quorum", SetOf(Acceptor))
    require("it is a majority", 2 * quorum.size > acceptors.value)
    require("nothing is proposed yet", ~some(Value, lambda v: s.proposals.contains(Proposal(ballot=ballot, value=v))))
    require("all of it have promised", every(quorum, lambda a: said(a, None, None) | some(Ballot, lambda b: said_in(a, b))))
    if keeps_value.on:
        is_later = lambda b: some(quorum, lambda a: some(Ballot, lambda c: (c > b) & said_in(a, c)))  # noqa: E731
        is_last = some(Ballot, lambda b: some(quorum, lambda a: said(a, b, value)) & ~is_later(b))
        require("it is free, or has what was accepted last", is_last | every(quorum, lambda a: said(a, None, None)))
    s.proposals.add(Proposal(ballot=ballot, value=value))

@paxos.action(says=lambda t: f"acceptor {t.by} accepts value {t.value} in ballot {t.ballot}")
def accept(s: State, by: Acceptor, ballot: Ballot, value: Value) -> None:
    require("it is proposed", s.proposals.contains(Proposal(ballot=ballot, value=value)))
    require("nothing higher is promised", s.promised[by] <= ballot)
    s.promised[by], s.accepted[by], s.value[by] = ballot, ballot, value
    s.votes[by].add(Proposal(ballot=ballot, value=value))
