"""A protocol with every kind of field, parameter and choice, whose module TLC has read."""

from acked import (
    Array,
    Bag,
    Bool,
    Constant,
    Enum,
    Id,
    Int,
    Log,
    Optional,
    Protocol,
    Queue,
    SetOf,
    SetValue,
    Struct,
    choose,
    each,
    every,
    field,
    for_each,
    ite,
    least,
    require,
    some,
    those,
)  # fmt: skip

nodes = Constant("nodes", 1, 3, "nodes")


class Node(Id, size=nodes):
    """A node."""


class Year(Int, lo=1, hi=3):
    """A number that does not begin at 0."""


class Count(Int, lo=0, hi=2):
    """A number that does."""


class Colour(Enum, names=("red", "none", "blue")):
    """A name, one of which is that of the model value."""


class Letter(Struct):
    to = field(Node, "to whom")
    about = field(Optional(Colour), "of what")


class Entry(Struct):
    by = field(Node, "an id in a slot")
    year = field(Year, "a number")


class State(Struct):
    colour = field(Array(Colour, Optional(Colour)), "indexed by names")
    year = field(Year, "a number from 1 on")
    last = field(Optional(Year), "a number or none")
    by_year = field(Array(Year, Bool), "indexed from 1 on")
    leader = field(Optional(Node), "an id or none")
    letters = field(Bag(Letter, 2), "a bag")
    voters = field(Array(Node, SetOf(Node)), "sets")
    queue = field(Queue(Node, 2), "a queue of ids")
    log = field(Array(Node, Log(Entry, Count, 2)), "logs with ids")


def initial(s: State, first: Node) -> None:
    s.leader = first
    s.year = choose("start", Year)
    require("not too late", s.year < 3)
    s.by_year[s.year] = True


kinds = Protocol("kinds", State, title="every kind", source="nothing", constants=(nodes,), initial=initial)


@kinds.action()
def paint(s: State, colour: Colour, other: Colour) -> None:
    require("another one, in the first year", (colour != other) & (s.year == 1))
    require("unpainted", s.colour[colour].is_none & every(Colour, lambda c: s.colour[c] != other))
    s.colour[colour] = other


@kinds.action()
def age(s: State) -> None:
    require("years are left, and nothing is painted", (s.year < 3) & every(Colour, lambda c: s.colour[c] == None))  # noqa: E711
    s.last = s.year
    s.year = s.year + 1
    s.by_year[s.year] = ~s.by_year[s.year]


@kinds.action()
def post(s: State, letter: Letter) -> None:
    require("few are on their way", s.letters.size < 1)
    require("after a year", s.last.is_some)
    s.letters.add(letter)


@kinds.action()
def deliver(s: State, to: Node) -> None:
    about = choose("about", Optional(Colour))
    letter = Letter(to=to, about=about)
    require("it is there, and somebody leads", s.letters.contains(letter) & s.leader.is_some)
    s.letters.remove(letter)
    s.voters[to] = s.voters[to].add(s.leader)
    s.leader = None


@kinds.action()
def elect(s: State, voters: SetValue[Node]) -> None:
    chosen = choose("chosen", voters)
    require("nobody leads", s.leader.is_none)
    require("all want it", every(voters, lambda n: ~s.voters[chosen].contains(n)))
    s.leader = chosen
    s.voters[chosen] = voters - s.voters[chosen]
    require("there is room", ~s.queue.is_full)
    s.queue.send(chosen)


@kinds.action()
def write(s: State, at: Node) -> None:
    require("it is first in the queue", ~s.queue.is_empty & (s.queue.first == at) & ~s.log[at].is_full)
    by = s.queue.receive()
    s.log[at].append(Entry(by=by, year=s.year))
    s.last = ite(s.last.is_none, s.last, least(Year, lambda y: s.by_year[y]))


@kinds.action()
def copy(s: State, source: Node, target: Node) -> None:
    require("it has more", s.log[target].end < s.log[source].end)
    require("it is late", s.year == 3)
    s.log[target].truncate(0)
    s.log[target].copy(s.log[source], s.log[source].end)


@kinds.action()
def forget(s: State) -> None:
    require("somebody is known", some(Node, lambda n: ~s.voters[n].is_empty))
    require("it is late", s.year == 3)
    known = those(Node, lambda n: s.log[n].is_empty)

    def clear(node: Node) -> None:
        s.voters[node] = s.voters[node] & known

    for_each(Node, clear)
    for node in each(Node):
        s.log[node].truncate(1)
