"""Choices inside actions, several initial states, parameters that are structs, and values with names."""

from __future__ import annotations

import pytest

from acked import (
    Array,
    Bool,
    Bounds,
    Constant,
    Enum,
    Id,
    Int,
    ModelError,
    Optional,
    Protocol,
    Struct,
    Trace,
    Verdict,
    ask,
    check,
    choose,
    count,
    every,
    field,
    invariant,
    ite,
    require,
    some,
)
from tests.oracle import plain_states

nodes = Constant("nodes", 1, 5, "nodes")


class Node(Id, size=nodes):
    """A node."""


class Number(Int, lo=0, hi=3):
    """A small number."""


class Phase(Enum, names=("working", "prepared", "committed")):
    """How far a participant is."""


class Letter(Struct):
    """A message."""

    source = field(Node)
    kind = field(Phase)


class State(Struct):
    """What the protocols here work on."""

    number = field(Array(Node, Number))
    phase = field(Array(Node, Phase))
    last = field(Optional(Phase))
    letter = field(Letter)


@invariant
def nothing(s: State) -> Bool:
    """It never becomes three."""
    return every(Node, lambda n: s.number[n] < 3)


def protocol(*actions: object, initial: object = lambda s: None) -> Protocol:
    made = Protocol("toy", State, title="a toy", source="a test", constants=(nodes,), initial=initial)  # type: ignore[arg-type]
    for function in actions:
        made.action()(function)  # type: ignore[arg-type]
    return made


def labels(made: Protocol, size: int = 2) -> list[str]:
    return [step.label for step in made.instantiate({"nodes": size}).actions]


# -- choices ---------------------------------------------------------------------------------------------------------------


def add(s: State, node: Node) -> None:
    by = choose("by", Number)
    require("something", by > 0)
    require("room", s.number[node] + by <= 3)
    s.number[node] = s.number[node] + by


def add_as_parameter(s: State, node: Node, by: Number) -> None:
    require("something", by > 0)
    require("room", s.number[node] + by <= 3)
    s.number[node] = s.number[node] + by


def test_a_choice_is_a_parameter_that_is_declared_where_it_is_used() -> None:
    chosen, declared = (protocol(function).instantiate({"nodes": 2}) for function in (add, add_as_parameter))
    assert [step.label for step in chosen.actions] == [
        step.label.replace("AddAsParameter", "Add") for step in declared.actions
    ]
    assert [(step.arguments, len(step.guards)) for step in chosen.actions] == [
        (step.arguments, len(step.guards)) for step in declared.actions
    ]
    answers = [check(ask(protocol(function), nothing, nodes=2)) for function in (add, add_as_parameter)]
    assert answers[0].distinct_states == answers[1].distinct_states > 5
    assert answers[0].verdict is answers[1].verdict is Verdict.VIOLATED


def test_a_step_with_choices_is_found_by_its_name_and_arguments() -> None:
    made = protocol(add).instantiate({"nodes": 2})
    known = made.actions[0]
    assert made.action_instance(known.action.name, known.arguments).label == known.label
    with pytest.raises(ModelError, match="toy has no action Add with"):
        made.action_instance("Add", {"node": 0})


def both(s: State) -> None:
    first = choose("it", Number)
    s.number[choose("it", Node)] = first


def nameless(s: State) -> None:
    s.number[choose(Node, "it")] = 1  # type: ignore[call-overload]


def in_a_property(s: State) -> Bool:
    return s.number[choose("it", Node)] < 3


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (both, r"toy: action Both \(test_choices.py:\d+\): two choices or parameters are named 'it'"),
        (nameless, r"toy: action Nameless \(test_choices.py:\d+\): a choice has a name before its type"),
    ],
)
def test_a_choice_that_cannot_be_named_is_refused(function: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        labels(protocol(function))


def test_a_property_chooses_nothing() -> None:
    with pytest.raises(ModelError, match=r"choose\(…\) belongs in an action, or in the initial state"):
        protocol(add).instantiate({"nodes": 1}).state_predicate("P", in_a_property)


# -- structs as parameters ---------------------------------------------------------------------------------------------


def send(s: State, letter: Letter) -> None:
    copy = choose("copy", Letter)
    require("its own", letter.source == copy.source)
    s.letter = letter
    s.phase[copy.source] = copy.kind


def test_a_struct_is_given_as_its_fields() -> None:
    steps = protocol(send).instantiate({"nodes": 2}).actions
    assert len(steps) == 2 * 3 * 3
    assert steps[1].label == "Send(letter.source=0, letter.kind=working, copy.source=0, copy.kind=prepared)"


# -- initial states ------------------------------------------------------------------------------------------------------


def some_begin(s: State, first: Node) -> None:
    at = choose("at", Number)
    require("below three", at < 3)
    s.number[first] = at


def test_an_initial_state_with_parameters_choices_and_clauses_is_several() -> None:
    made = protocol(add, initial=some_begin)
    instance = made.instantiate({"nodes": 2})
    numbers = [instance.schema.decode(instance.schema.unpack(words))["number"] for words in instance.initial]
    assert numbers == [[0, 0], [1, 0], [2, 0], [0, 1], [0, 2]]
    found = check(ask(made, nothing, nodes=2))
    run = Trace.of(found)
    assert (found.verdict, len(run.steps)) == (Verdict.VIOLATED, 2)
    assert all(step.state["number"] in numbers for step in run.steps[:1])


@pytest.mark.parametrize("workers", [1, 2])
def test_states_from_several_initial_ones_are_counted_once(workers: int) -> None:
    made = ask(protocol(add, initial=some_begin), invariant("Never", "len({0}) == 1 or number[0] >= 0"), nodes=3)
    assert check(made, bounds=Bounds(workers=workers)).distinct_states == len(plain_states(made.instance)) == 64


# -- names -----------------------------------------------------------------------------------------------------------------


def prepare(s: State, node: Node) -> None:
    require("working", s.phase[node] == "working")
    s.phase[node] = "prepared"
    s.last = "prepared"


def commit(s: State, node: Node) -> None:
    require("a majority", 2 * count(Node, lambda n: s.phase[n] == "prepared") > nodes.value)
    require("was", some(Node, lambda n: (n == node) & (s.phase[n] != "committed")))
    s.phase[node] = ite(s.phase[node] == "prepared", s.phase[node], s.phase[node])
    s.phase[node] = "committed"


def test_values_with_names_are_told_by_their_names() -> None:
    found = check(ask(protocol(prepare, commit), invariant("I", 'not phase[0] == "committed"'), nodes=2))
    assert [step.state["phase"] for step in Trace.of(found)] == [
        ["working", "working"],
        ["prepared", "working"],
        ["prepared", "prepared"],
        ["committed", "prepared"],
    ]
    assert Trace.of(found).steps[-1].state["last"] == "prepared"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('all(phase[n] in {"working", "prepared", "committed"} for n in nodes)', True),
        ('implies(any(phase[n] == "committed" for n in nodes), last == "prepared")', True),
        ('2 * count(phase[n] != "working" for n in nodes) <= nodes', False),
        ('last is None or last in {"prepared"}', True),
        ('"working" == phase[0]', False),
    ],
)
def test_predicates_compare_fields_with_names(text: str, holds: bool) -> None:
    found = check(ask(protocol(prepare, commit), invariant("I", text), nodes=2))
    assert found.verdict is (Verdict.HOLDS if holds else Verdict.VIOLATED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('phase[0] == "comitted"', r"is never 'comitted' \(did you mean committed\?\); it is working, prepared, committed"),
        ("phase[0] == 2", 'a phase holds names and no numbers; write "working"'),
        ('phase[0] < "working"', "names have no order"),
        ('"working" == "working"', "two names that are written out"),
        ('number[0] == "a"', "'a' is a name, and this is not a field that holds one of several names"),
        ("phase[0] == letter.source", "a Phase is compared with a Node"),
        ('phase[0] + 1 == "a"', "only numbers are added"),
    ],
)
def test_names_are_compared_with_fields_that_hold_them_and_nothing_else(text: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        check(ask(protocol(prepare), invariant("I", text), nodes=2))


def misspelt(s: State, node: Node) -> None:
    s.phase[node] = "preparing"


def in_order(s: State, node: Node) -> None:
    require("later", s.phase[node] > "working")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (misspelt, r"phase is never 'preparing' \(did you mean prepared\?\); it is working or prepared or committed"),
        (in_order, "a phase has no `>`; compare it with == or !=, with one of its names"),
    ],
)
def test_a_wrong_name_and_an_order_of_names_are_refused(function: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        labels(protocol(function))


def test_a_type_of_names_needs_no_name_of_its_own() -> None:
    class Doors(Struct):
        """What a door can be."""

        front = field(Enum("open", "shut"))
        back = field(Enum("open", "shut"))

    assert Doors.domains()["front"] == Doors.domains()["back"]
    with pytest.raises(ModelError, match="an Enum has at least one, each a text of its own"):
        Enum("open", "open")
