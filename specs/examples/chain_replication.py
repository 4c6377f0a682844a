"""Chain replication: updates go from the head to the tail, which answers; servers that fail are taken out of the chain.

Van Renesse and Schneider, Chain replication for supporting high throughput and availability (2004). Servers are numbers,
since a chain has an order.
"""

from acked import Array, Bool, Constant, Int, Protocol, Struct, count, every, field, for_each, implies, require, switch

servers = Constant("servers", 2, 5, "servers of the chain")
updates = Constant("updates", 1, 5, "updates that clients send")
tail_answers = switch("tail_answers", "whether the tail acknowledges an update, and not the head", default=True)

class Server(Int, lo=0, hi=servers - 1):
    """A server, by its place in the chain: 0 is the first head."""

class Number(Int, lo=0, hi=updates):
    """How many updates, from the first on."""

class State(Struct):
    is_up = field(Array(Server, Bool), "who is in the chain")
    held = field(Array(Server, Number), "how many updates a server has")
    acked = field(Number, "how many updates clients were told are safe")

def initial(s: State) -> None:
    def put_up(server: Server) -> None:
        s.is_up[server] = True
    for_each(Server, put_up)

chain_replication = Protocol("chain_replication", State, title="chain replication", source="van Renesse and Schneider, 2004",
                             constants=(servers, updates, tail_answers), initial=initial)  # fmt: skip

def nobody_between(s: State, low: Server, high: Server) -> Bool:
    """Whether no server between two places is in the chain."""
    return every(Server, lambda n: implies((low < n) & (n < high), ~s.is_up[n]))

def is_head(s: State, server: Server) -> Bool:
    return s.is_up[server] & every(Server, lambda n: implies(n < server, ~s.is_up[n]))

def is_tail(s: State, server: Server) -> Bool:
    return s.is_up[server] & every(Server, lambda n: implies(n > server, ~s.is_up[n]))

@chain_replication.action(says=lambda t: f"server {t.head} takes update {t.before.held[t.head]} from a client")
def update(s: State, head: Server) -> None:
    require("it is the head", is_head(s, head))
    require("updates are left", s.held[head] < updates.value)
    s.held[head] = s.held[head] + 1

@chain_replication.action(says=lambda t: f"server {t.server} passes update {t.before.held[t.to]} on to server {t.to}")
def pass_on(s: State, server: Server, to: Server) -> None:
    require("they are neighbours", (server < to) & s.is_up[server] & s.is_up[to] & nobody_between(s, server, to))
    require("it lacks an update", s.held[to] < s.held[server])
    s.held[to] = s.held[to] + 1

@chain_replication.action(says=lambda t: f"server {t.server} acknowledges update {t.before.acked}")
def acknowledge(s: State, server: Server) -> None:
    require("it is the one that answers", is_tail(s, server) if tail_answers.on else is_head(s, server))
    require("it has one more", s.acked < s.held[server])
    s.acked = s.acked + 1

@chain_replication.action(says=lambda t: f"server {t.server} fails")
def fail(s: State, server: Server) -> None:
    require("another one is left", s.is_up[server] & (count(Server, lambda n: s.is_up[n]) > 1))
    s.is_up[server] = False
    s.held[server] = 0
