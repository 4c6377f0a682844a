"""Where nobody vouches for a protocol, its reading for all constants says exactly what each of its instances says."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings

from acked import (
    Array,
    Bool,
    Constant,
    Enum,
    Id,
    Int,
    Log,
    Optional,
    Protocol,
    SetOf,
    Struct,
    all_of,
    choose,
    count,
    every,
    field,
    implies,
    load_spec,
    require,
    some,
)
from acked.checker.question.user_properties import written_invariant
from acked.model.firstorder.definitions import compare_cardinalities
from acked.model.firstorder.reading import Reading
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.kraft.protocol import kraft
from acked.model.language.protocol import Instance
from tests.model.firstorder.comparing import Comparison
from tests.model.firstorder.expansion import Expansion
from tests.random_protocols import Plan, plans, protocol_of

EXAMPLES = Path(__file__).resolve().parents[3] / "specs" / "examples"

nodes = Constant("nodes", 1, 5, "nodes")
places = Constant("places", 1, 5, "places of an array and of a log")


class Node(Id, size=nodes):
    """A node."""


class Place(Int, lo=0, hi=places - 1):
    """A place."""


class Shifted(Int, lo=2, hi=places + 1):
    """A number that does not begin at 0."""


class Offset(Int, lo=0, hi=places):
    """A place in a log."""


class Colour(Enum, names=("red", "green", "blue")):
    """A name."""


class Entry(Struct):
    number = field(Place, "what is written")


class Letter(Struct):
    by = field(Node, "who")
    of = field(Optional(Node), "of whom")
    since = field(Optional(Shifted), "since when")
    is_last = field(Bool, "whether it is the last")
    colour = field(Colour, "a name")


class State(Struct):
    flags = field(Array(Place, Bool), "by place")
    here = field(Place, "a place")
    number = field(Shifted, "a number")
    last = field(Optional(Shifted), "a number or none")
    previous = field(Optional(Shifted), "a number or none")
    leader = field(Optional(Node), "a node or none")
    members = field(SetOf(Node), "nodes")
    colour = field(Array(Node, Colour), "names")
    log = field(Array(Node, Log(Entry, Offset, places)), "logs")
    sent = field(SetOf(Letter), "letters")
    is_met = field(Bool, "what a trap leaves behind")


def read_beyond(s: State) -> None:
    """Where the array ends, its last element is read."""
    s.is_met = s.flags[s.here + 1]


def read_before(s: State) -> None:
    s.is_met = s.flags[s.here - 1]


def write_beyond(s: State) -> None:
    """What is written beyond an array is nowhere."""
    s.flags[s.here + 1] = True
    s.is_met = s.flags[s.here + 1]


def below_the_least(s: State) -> None:
    """A number that no field can hold is not none."""
    s.is_met = (s.last == s.number - 1) | (s.previous < s.number - 2)


def value_of_none(s: State) -> None:
    s.is_met = (s.last.value == s.previous.value) | (s.last.value < s.number) | (s.previous == s.last.value)


def record_beyond(s: State, node: Node) -> None:
    s.is_met = (s.log[node].at(s.log[node].end).number == s.here) | (s.log[node].last.number == s.here)


def keep_one(s: State, node: Node, until: Offset) -> None:
    require("there is room", ~s.log[node].is_full)
    s.log[node].append(Entry(number=s.here))
    s.log[node].truncate(until)


def copy_log(s: State, node: Node, other: Node) -> None:
    require("it is ahead", s.log[other].end > s.log[node].end)
    s.log[node].copy(s.log[other], s.log[other].end)


def majority(s: State, node: Node) -> None:
    require("a majority is green", 2 * count(Node, lambda n: s.colour[n] == "green") > nodes.value)
    s.is_met = (s.members.size >= 2) | (count(s.members, lambda n: s.colour[n] != "red") == 1)
    s.members = s.members.add(node)


def places_marked(s: State) -> None:
    s.is_met = (2 * count(Place, lambda p: s.flags[p]) > places.value) | (count(Place, lambda p: s.flags[p]) == 0)


def send(s: State, by: Node, colour: Colour) -> None:
    s.sent.add(Letter(by=by, of=s.leader, since=s.last, is_last=s.is_met, colour=colour))


def receive(s: State, by: Node) -> None:
    of, at = choose("of", Optional(Node)), choose("at", Optional(Shifted))
    letter = Letter(by=by, of=of, since=at, is_last=True, colour=s.colour[by])
    require("it is sent", s.sent.contains(letter))
    s.sent.remove(letter)
    s.leader, s.last = of, at


def ask_all(s: State, node: Node) -> None:
    s.is_met = every(Letter, lambda m: implies(s.sent.contains(m), (m.by == node) | m.of.is_none)) & some(
        Letter, lambda m: s.sent.contains(m) & (m.since == s.last) & m.is_last
    )


def lead(s: State) -> None:
    group = choose("group", SetOf(Node))
    node = choose("node", group)
    require("nobody leads", s.leader.is_none | (s.leader == node))
    s.leader, s.members = node, all_of(Node) - group


TRAPS: tuple[Callable[..., None], ...] = (
    read_beyond, read_before, write_beyond, below_the_least, value_of_none, record_beyond, keep_one, copy_log, majority,
    places_marked, send, receive, ask_all, lead,
)  # fmt: skip


def initial(s: State, first: Node) -> None:
    s.leader = first


def protocol(*actions: Callable[..., None]) -> Protocol:
    made = Protocol("traps", State, title="", source="", constants=(nodes, places), initial=initial)
    for function in actions:
        made.action()(function)
    return made


def compare(read: Reading, instance: Instance, states: int, predicates: Mapping[str, str] = {}) -> None:
    """In states of the domain, reachable or not: guards, successors and predicates have one value in both readings."""
    source, schema = random.Random(40), instance.schema
    compared = Comparison(read, instance)
    written = [written_invariant(name, text) for name, text in predicates.items()]
    expansion = Expansion(read, instance, {})
    direct = [instance.state_predicate(item.name, item.predicate) for item in written]
    expanded = [expansion.expr(read.state_term(item.predicate)) for item in written]
    values = Evaluator([*direct, *expanded]) if written else None
    for _ in range(states):
        codes = [source.randrange(leaf.cardinality) for leaf in schema.leaves]
        codes = schema.encode(schema.decode(codes))
        for _ in compared.steps(codes):
            pass
        if values is not None:
            found = values(codes)
            assert found[: len(written)] == found[len(written) :], (predicates, codes)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1, 2), (2, 2), pytest.param((3, 2), marks=pytest.mark.long)])
def test_what_is_beyond_an_array_or_of_nothing_is_read_as_an_instance_reads_it(sizes: tuple[int, int]) -> None:
    """Such a read used to be open, so that a proof could miss what happens there."""
    made = protocol(*TRAPS)
    compare(Reading(made, is_exact=True), made.instantiate({"nodes": sizes[0], "places": sizes[1]}), 25)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plans())
def test_a_random_protocol_is_read_as_it_is_or_refused(plan: Plan) -> None:
    assert_read_or_refused(plan)


@pytest.mark.long
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plans())
def test_many_random_protocols_are_read_as_they_are_or_refused(plan: Plan) -> None:
    assert_read_or_refused(plan)


def assert_read_or_refused(plan: Plan) -> None:
    made = protocol_of(plan)
    try:
        read, refusal = Reading(made, is_exact=True), ""
    except ModelError as error:
        read, refusal = None, str(error)
    event("refused" if read is None else "read")
    if read is None:
        assert any(word in refusal for word in ("queue", "has no first-order reading")), refusal
    else:
        compare(read, made.instantiate({}), 10)


PREDICATES = {
    "indices": "any(flags[p] and p == here for p in places) or not flags[0]",
    "none": "implies(last is None, leader is not None) and not last == previous",
    "order": "all(last > number or previous <= number for a in nodes)",
    "sets": "all(a in members and colour[a] in {'red', 'blue'} for a in nodes if leader == a) or len(members) == 0",
    "sizes": "2 * count(colour[a] == 'green' for a in nodes) > nodes or count(a in members for a in nodes) <= 1",
    "filters": "count(colour[a] != 'red' for a in members if leader != a) < 2 and count(flags[p] for p in places) == 1",
    "logs": "all(k < log[a].end and log[a].records[k].number < here for a in nodes for k in range(places) if k < here)",
    "past": "any(log[a].records[k].number is None and log[a].records[k].number != here for a in nodes for k in places)",
    "ranges": "all(flags[p] or flags[q] for p in places for q in range(p) if p != here)",
    "letters": "all(sent[a][b + 1][m][1][2] or sent[a][0][0][0][0] for a in nodes for b in nodes for m in range(places + 1))",
    "equal": "all((a in members) == (leader == a) for a in nodes) or {} == members or members == members",
}


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", PREDICATES)
def test_a_predicate_means_for_all_constants_what_it_means_under_each(name: str) -> None:
    made = protocol(lead)
    read = Reading(made, is_exact=True)
    for sizes in ((1, 1), (2, 2), (3, 2)):
        instance = made.instantiate({"nodes": sizes[0], "places": sizes[1]})
        compare(read, instance, 40, {name: PREDICATES[name]})


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["two_phase_commit", "paxos", "lease", "raft"])
def test_an_example_is_read_for_all_constants_as_its_instances_say(name: str) -> None:
    spec = load_spec(str(EXAMPLES / f"{name}.toml#holds"))
    read = Reading(spec.protocol, constants=spec.switches, is_exact=True)
    small = {**spec.constants, **dict.fromkeys(spec.protocol.sizes, 2)}
    texts = {item.name: item.text or "" for item in (*spec.properties, *spec.lemmas)}
    compare(read, spec.protocol.instantiate(small), 40, texts)


@pytest.mark.slow
def test_controllers_are_read_for_all_constants_where_an_assignment_to_all_is_within_another() -> None:
    small = {"servers": 2, "records": 1, "max_epoch": 2}
    compare(Reading(kraft, is_exact=True), kraft.instantiate(small), 40, {})


def test_what_is_said_of_sizes_is_true_of_all_sets() -> None:
    made = protocol(majority)
    read = Reading(made, is_exact=True)
    sizes = list(read.logic.cardinalities.values())
    facts = [axiom for size in sizes for axiom in size.axioms]
    facts += [fact for one in sizes for other in sizes for fact in compare_cardinalities(read.logic, one, other)]
    for number in (1, 2, 3):
        instance = made.instantiate({"nodes": number, "places": 1})
        expansion = Expansion(read, instance, {})
        holds = Evaluator([expansion.expr(fact) for fact in facts])
        source = random.Random(40)
        for _ in range(60):
            assert all(holds([source.randrange(leaf.cardinality) for leaf in instance.schema.leaves]))


def refused(action: Callable[..., None]) -> str:
    with pytest.raises(ModelError) as told:
        Reading(protocol(action), is_exact=True)
    return str(told.value)


def test_what_cannot_be_read_exactly_is_refused_with_its_line() -> None:
    def name_one(s: State) -> None:
        s.leader = 0  # type: ignore[assignment]

    def count_up(s: State, node: Node) -> None:
        require("it leads", s.leader.value == node)

    def halve(s: State) -> None:
        s.here = s.here // 2

    def ask_python(s: State) -> None:
        s.is_met = nodes.value == 3 or s.is_met

    cases: list[tuple[Any, str]] = [
        (name_one, "a constant is not known"), (count_up, ".value of an optional node may be"), (halve, "div has no"),
        (ask_python, "a constant is not known"),
    ]  # fmt: skip
    for action, sentence in cases:
        told = refused(action)
        assert "test_exact_reading.py:" in told
        assert sentence in told, told


def test_names_that_would_be_taken_for_others_and_sorts_without_ids_are_refused() -> None:
    """Two types of one name would be one sort, and a field called as a symbol of the reading that symbol."""
    few = Constant("few", 0, 3, "nodes, or none")

    def other() -> type[Id]:
        class Node(Id, size=places):
            """Another one."""

        return Node

    another = other()

    class Nobody(Id, size=few):
        """Perhaps nobody."""

    class Twice(Struct):
        one = field(SetOf(Node), "nodes")
        two = field(SetOf(another), "other nodes")

    class Few(Struct):
        some = field(SetOf(Nobody), "perhaps nobody")

    class Names(Struct):
        size1 = field(Place, "no size of a set")
        group = field(SetOf(Node), "nodes")

    def tried(state: type[Struct]) -> Reading:
        made = Protocol("names", state, title="", source="", constants=(nodes, places, few), initial=lambda s: None)

        def fill(s: Any) -> None:
            require("two", s.group.size >= 3)

        if state is Names:
            made.action()(fill)
        return Reading(made, is_exact=True)

    for state, sentence in ((Twice, "two types of ids are named Node"), (Few, "there may be no nobody at all")):
        with pytest.raises(ModelError, match=sentence):
            tried(state)
    read = tried(Names)
    assert not {symbol.name for symbol in read.logic.cardinalities} & {"size1", "~size1"}
