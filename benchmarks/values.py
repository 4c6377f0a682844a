"""Measures what enumerations and queues cost beside the same protocol written by hand in integers.

Nodes send each other numbers through bounded queues. One protocol has an `Enum` and a `Queue`, the other an integer for each
name, and places and an end for each queue, which it shifts itself. They have the same states and steps; else it ends with 1.
Searched by turns on one thread; the figures are medians of processor time, and of the ratios of the pairs, with their range.

    python benchmarks/values.py [--runs N] [--nodes N] [--places N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from acked import Array, Constant, Enum, Id, Int, Protocol, Queue, Struct, each, field, ite, literal, require
from acked.base.bounds import Bounds
from acked.checker.question.question import Question
from acked.checker.search.local import LocalSearch

nodes = Constant("nodes", 1, 5, "nodes")
places = Constant("places", 1, 5, "places of a queue")
numbers = Constant("numbers", 1, 5, "the last number that is sent")
CONSTANTS = (nodes, places, numbers)


class Node(Id, size=nodes):
    """A node."""


class Number(Int, lo=0, hi=numbers):
    """What is sent."""


class Phase(Enum, names=("idle", "waiting", "done")):
    """What a node does."""


class Named(Struct):
    """With names and queues."""

    phase = field(Array(Node, Phase), "what each node does")
    inbox = field(Array(Node, Queue(Number, places)), "what was sent to it")
    seen = field(Array(Node, Number), "what it took last")


class Code(Int, lo=0, hi=2):
    """0 is idle, 1 waiting, 2 done."""


class Place(Int, lo=0, hi=places - 1):
    """A place of a queue."""


class End(Int, lo=0, hi=places):
    """How many places of a queue are taken."""


class Plain(Struct):
    """The same in integers."""

    phase = field(Array(Node, Code), "what each node does")
    slot = field(Array(Node, Array(Place, Number)), "what was sent to it, from its oldest on")
    end = field(Array(Node, End), "how much that is")
    seen = field(Array(Node, Number), "what it took last")


named = Protocol("named", Named, title="", source="", constants=CONSTANTS, initial=lambda s: None)
plain = Protocol("plain", Plain, title="", source="", constants=CONSTANTS, initial=lambda s: None)


@named.action()
def send(s: Named, by: Node, to: Node, number: Number) -> None:
    """A node that is idle sends a number, and waits."""
    require("idle", s.phase[by] == "idle")
    require("room", ~s.inbox[to].is_full)
    s.inbox[to].send(number)
    s.phase[by] = "waiting"


@named.action()
def take(s: Named, by: Node) -> None:
    """A node that waits takes its oldest number."""
    require("waiting", s.phase[by] == "waiting")
    require("something", ~s.inbox[by].is_empty)
    s.seen[by] = s.inbox[by].receive()
    s.phase[by] = "done"


@named.action()
def rest(s: Named, by: Node) -> None:
    """A node that is done is idle again."""
    require("done", s.phase[by] == "done")
    s.phase[by] = "idle"


def send_plain(s: Plain, by: Node, to: Node, number: Number) -> None:
    require("idle", s.phase[by] == 0)
    require("room", s.end[to] < places)
    for place in each(Place):
        s.slot[to][place] = ite(s.end[to] == End(place.expr), number, s.slot[to][place])
    s.end[to] = s.end[to] + 1
    s.phase[by] = 1


def take_plain(s: Plain, by: Node) -> None:
    require("waiting", s.phase[by] == 1)
    require("something", s.end[by] > 0)
    s.seen[by] = s.slot[by][Place(literal(0))]
    for place in each(Place)[:-1]:
        s.slot[by][place] = s.slot[by][place + 1]
    s.slot[by][Place(literal(places.value - 1))] = 0
    s.end[by] = s.end[by] - 1
    s.phase[by] = 2


def rest_plain(s: Plain, by: Node) -> None:
    require("done", s.phase[by] == 2)
    s.phase[by] = 0


for name, function in (("send", send_plain), ("take", take_plain), ("rest", rest_plain)):
    function.__name__ = name
    plain.action()(function)


def searched(protocol: Protocol, constants: dict[str, int]) -> Callable[[], tuple[float, Any]]:
    """What searches it once more: the processor time of the search alone, and the result."""
    question = Question(protocol.instantiate(constants), ())

    def once() -> tuple[float, Any]:
        search = LocalSearch(question, Bounds(workers=1))
        begin = time.process_time()
        result = search.run()
        return time.process_time() - begin, result

    once()  # The kernel is compiled.
    return once


def main() -> int:
    """Runs by turns and prints medians; 1 if the two count differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--places", type=int, default=4)
    asked = parser.parse_args()
    constants = {"nodes": asked.nodes, "places": asked.places, "numbers": 2}
    first, second = searched(named, constants), searched(plain, constants)
    pairs = []
    for number in range(asked.runs):
        order = (first, second) if number % 2 == 0 else (second, first)
        made = {once: once() for once in order}
        (mine, found), (theirs, other) = made[first], made[second]
        counts = [(item.distinct_states, item.generated_states, item.depth) for item in (found, other)]
        if counts[0] != counts[1]:
            print(f"the two differ: {counts}", file=sys.stderr)
            return 1
        pairs.append((mine, theirs))
    states = counts[0][0]
    bits = [sum(leaf.bits for leaf in item.instantiate(constants).schema.leaves) for item in (named, plain)]
    ratios = sorted(mine / theirs for mine, theirs in pairs)
    print(f"{states:,} states, {counts[0][1]:,} generated; {bits[0]} bits with names and queues, {bits[1]} in integers")
    for title, at in (("names and queues", 0), ("integers", 1)):
        spent = statistics.median(pair[at] for pair in pairs)
        print(f"  {title:18} {spent:6.2f} s, {1e9 * spent / states:5.0f} ns a state")
    print(f"  ratio of the pairs {statistics.median(ratios):6.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), {asked.runs} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
