"""Raft's election and log: terms, votes, one leader a term, and when an entry may be called committed.

Ongaro and Ousterhout, In search of an understandable consensus algorithm (2014). A request and its answer are one step; a
request that is lost is a step that does not happen.
"""

from acked import Array, Bool, Constant, Enum, Id, Int, Log, Optional, Protocol, SetOf, Struct
from acked import count, every, field, greatest, implies, ite, none_of, require, some, switch

servers = Constant("servers", 1, 5, "servers")
terms = Constant("terms", 1, 9, "the last term")
entries = Constant("entries", 1, 4, "entries that a log has room for")
own_term = switch("own_term", "whether a leader counts copies only of entries of its own term (figure 8)", default=True)

class Server(Id, size=servers):
    """A server."""

class Term(Int, lo=0, hi=terms):
    """A period with at most one leader."""

class Offset(Int, lo=0, hi=entries):
    """A place in a log."""

class Role(Enum, names=("follower", "candidate", "leader")):
    """What a server takes itself for."""

class Entry(Struct):
    term = field(Term, "of the leader that wrote it")

class State(Struct):
    term = field(Array(Server, Term), "the newest term that it knows")
    role = field(Array(Server, Role), "what it takes itself for in that term")
    voted = field(Array(Server, Optional(Server)), "whom it gave its vote in that term")
    votes = field(Array(Server, SetOf(Server)), "who voted for it in that term")
    log = field(Array(Server, Log(Entry, Offset, entries)), "its entries")
    committed = field(Log(Entry, Offset, entries), "the entries that a leader called committed")
    broken = field(Bool, "whether another leader called other entries committed")

raft = Protocol("raft", State, title="Raft's election and log", source="Ongaro and Ousterhout, 2014",
                constants=(servers, terms, entries, own_term), initial=lambda s: None, symmetric=(Server,))  # fmt: skip

def hear(s: State, server: Server, term: Term) -> None:
    """A server hears of a term: a newer one ends what it was in its own."""
    is_newer = s.term[server] < term
    s.role[server] = ite(is_newer, "follower", s.role[server])
    s.voted[server] = ite(is_newer, None, s.voted[server])
    s.term[server] = ite(is_newer, term, s.term[server])

@raft.action(says=lambda t: f"server {t.server} stands for election in term {t.after.term[t.server]}")
def stand(s: State, server: Server) -> None:
    require("terms are left", s.term[server] < terms.value)
    s.term[server] = s.term[server] + 1
    s.role[server], s.voted[server] = "candidate", server
    s.votes[server] = none_of(Server).add(server)

@raft.action(says=lambda t: f"server {t.voter} votes for server {t.candidate}")
def vote(s: State, voter: Server, candidate: Server) -> None:
    mine, its = s.log[voter], s.log[candidate]
    last, its_last = ite(mine.is_empty, 0, mine.last.term), ite(its.is_empty, 0, its.last.term)
    require("it stands in no older term", (s.role[candidate] == "candidate") & (s.term[candidate] >= s.term[voter]))
    hear(s, voter, s.term[candidate])
    require("it has not voted for another", s.voted[voter].is_none)
    require("its log is at least as new", (its_last > last) | (its_last == last) & (its.end >= mine.end))
    s.voted[voter] = candidate
    s.votes[candidate] = s.votes[candidate].add(voter)

@raft.action(says=lambda t: f"server {t.server} has a majority and leads in term {t.before.term[t.server]}")
def win(s: State, server: Server) -> None:
    require("a majority has voted for it", (s.role[server] == "candidate") & (2 * s.votes[server].size > servers.value))
    s.role[server] = "leader"

@raft.action(says=lambda t: f"leader {t.leader} writes an entry in term {t.before.term[t.leader]}")
def write(s: State, leader: Server) -> None:
    require("it leads, and has room", (s.role[leader] == "leader") & ~s.log[leader].is_full)
    s.log[leader].append(Entry(term=s.term[leader]))

@raft.action(says=lambda t: f"server {t.follower} takes an entry of leader {t.leader}")
def replicate(s: State, leader: Server, follower: Server) -> None:
    mine, its = s.log[follower], s.log[leader]
    same = greatest(Offset, lambda n: every(Offset, lambda k: implies(k < n, its.same_record_at(mine, k))))
    require("it leads in no older term", (s.role[leader] == "leader") & (s.term[leader] >= s.term[follower]))
    require("another one lacks an entry", (leader != follower) & (same < its.end))
    hear(s, follower, s.term[leader])
    s.role[follower] = "follower"
    mine.truncate(same)
    mine.copy(its, same + 1)

@raft.action(says=lambda t: f"leader {t.leader} calls its entries below {t.until} committed")
def commit(s: State, leader: Server, until: Offset) -> None:
    its = s.log[leader]
    holds = lambda r: every(Offset, lambda k: implies(k < until, its.same_record_at(s.log[r], k)))  # noqa: E731
    require("it leads, and has them", (s.role[leader] == "leader") & (until > s.committed.end) & (until <= its.end))
    require("a majority has them", 2 * count(Server, lambda r: (s.term[r] == s.term[leader]) & holds(r)) > servers.value)
    require("the last is of its term", (its.at(until - 1).term == s.term[leader]) | (not own_term.on))
    is_other = some(Offset, lambda k: s.committed.has(k) & ~s.committed.same_record_at(its, k))
    s.broken = s.broken | is_other
    s.committed.copy(its, until)
