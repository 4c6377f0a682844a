"""Primary and backup with a lease: the one whose lease is over writes late, unless the storage counts leases.

The story is Kleppmann's, How to do distributed locking (2016): a lease is looked at, the process stands still, and what it
then writes is old. The number of the lease that goes with every write is a fencing token.
"""

from acked import Array, Bool, Constant, Id, Int, Optional, Protocol, Struct, field, require, switch

nodes = Constant("nodes", 1, 4, "nodes that may be primary")
leases = Constant("leases", 1, 6, "leases that are given")
fencing = switch("fencing", "whether the storage refuses what was written under an older lease", default=True)

class Node(Id, size=nodes):
    """A node."""

class Number(Int, lo=0, hi=leases):
    """The number of a lease; 0 is none."""

class State(Struct):
    holder = field(Optional(Node), "who has the lease")
    given = field(Number, "how many leases were given")
    mine = field(Array(Node, Number), "the last lease that a node had")
    is_writing = field(Array(Node, Bool), "whether a node has looked at its lease and is about to write")
    written = field(Number, "the lease under which was written last")
    is_overwritten = field(Bool, "whether an older lease's write has replaced a newer one's")

lease = Protocol("lease", State, title="primary and backup with a lease", source="Kleppmann, How to do distributed locking",
                 constants=(nodes, leases, fencing), initial=lambda s: None, symmetric=(Node,))  # fmt: skip

@lease.action(says=lambda t: f"node {t.node} gets lease {t.after.given}")
def grant(s: State, node: Node) -> None:
    require("nobody has it", s.holder.is_none)
    require("leases are left", s.given < leases.value)
    s.given = s.given + 1
    s.holder, s.mine[node] = node, s.given

@lease.action(says=lambda t: f"the lease of node {t.before.holder} is over")
def expire(s: State) -> None:
    require("somebody has it", s.holder.is_some)
    s.holder = None

@lease.action(says=lambda t: f"node {t.node} looks at its lease, and has it")
def look(s: State, node: Node) -> None:
    require("it has the lease", s.holder == node)
    s.is_writing[node] = True

@lease.action(says=lambda t: f"node {t.node} writes under lease {t.before.mine[t.node]}")
def write(s: State, node: Node) -> None:
    require("it is about to", s.is_writing[node])
    s.is_writing[node] = False
    is_older = s.mine[node] < s.written
    require("the storage takes it", ~is_older if fencing.on else True)
    s.is_overwritten = s.is_overwritten | is_older
    s.written = s.mine[node]
