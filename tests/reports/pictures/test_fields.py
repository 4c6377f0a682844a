"""The picture of a state of a protocol that names no provider: a card for each id, every field by its name."""

from __future__ import annotations

from typing import Any

import pytest

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
    Question,
    Queue,
    SetOf,
    Struct,
    ask,
    check,
    choose,
    field,
)
from acked.checker.question.result import Counterexample, Run
from acked.model.language.protocol import Instance
from acked.reports.exports.catalogue import FORMATS
from acked.reports.exports.subject import Exported
from acked.reports.pictures.messages import actor_of, lanes_of_protocol
from acked.reports.pictures.picture import Moment, Picture, Tone, differences
from acked.reports.pictures.protocols.delivery import DELIVERY
from acked.reports.pictures.providers import provider_of
from acked.reports.runs.terminal import only_changes, print_trace
from acked.reports.runs.view import steps_of, view_of
from tests.reports.pictures.added import BASE, copied

nodes = Constant("nodes", 1, 3, "nodes")


class Node(Id, size=nodes):
    """Who acts."""


class Value(Id, size=2):
    """What is chosen."""


class Place(Int, lo=1, hi=2):
    """A process that has an order."""


class Number(Int, hi=3):
    """A number."""


class Phase(Enum, names=("working", "done")):
    """How far a node is."""


class Letter(Struct):
    source = field(Node)
    value = field(Optional(Value))
    is_last = field(Bool)


class Entry(Struct):
    number = field(Number)


class State(Struct):
    phase = field(Array(Node, Phase))
    log = field(Array(Node, Log(Entry, Number, 2)))
    sent = field(Array(Node, SetOf(Letter)))
    known = field(Array(Node, Array(Node, Number)))
    heard = field(Array(Node, Array(Node, Bool)))
    is_up = field(Array(Place, Bool))
    limits = field(Array(Number, Number))
    leader = field(Optional(Node))
    chosen = field(SetOf(Value))
    last = field(Letter)
    copies = field(Bag(Letter, 2))
    queue = field(Queue(Value, 2))


made = Protocol("cards", State, title="cards", source="", constants=(nodes,), initial=lambda s: None)


@made.action()
def post(s: State, value: Value) -> None:
    """Whom a value comes to is a choice, and takes the step: a value does not."""
    s.copies.add(Letter(source=choose("to", Node), value=value, is_last=True))


@made.action()
def stop(s: State, place: Place, value: Value) -> None:
    s.is_up[place] = False
    s.chosen = s.chosen.add(value)


@made.action(actor="place")
def go_on(s: State, value: Value, place: Place) -> None:
    s.is_up[place] = True
    s.chosen = s.chosen.add(value)


@pytest.fixture(scope="module")
def instance() -> Instance:
    return made.instantiate({"nodes": 2})


def letter(source: int, value: int | None, is_last: bool) -> dict[str, Any]:
    return {"source": source, "value": value, "is_last": is_last}


def some_state(instance: Instance) -> dict[str, Any]:
    state = instance.schema.decode(instance.schema.unpack(instance.initial[0]))
    state["phase"][1] = "done"
    state["log"][0] = {"end": 1, "records": [{"number": 3}]}
    state["sent"][1] = [letter(0, 1, False), letter(1, None, True)]
    state["known"][0], state["heard"][0] = [0, 2], [False, True]
    state["is_up"] = [True, False]
    state |= {"leader": 1, "chosen": [0, 1], "copies": [letter(0, None, True)] * 2}
    state["queue"] = {"end": 2, "records": [1, 0]}
    instance.schema.encode(state)  # So that it is one.
    return state


def picture_of(instance: Instance, state: dict[str, Any]) -> Picture:
    return provider_of(instance).picture(instance, Moment(0, None, None, state, None))[0]


def test_an_id_with_a_log_is_a_row_and_a_queue_that_is_nobody_s_another(instance: Instance) -> None:
    rows = {row.name: row for row in picture_of(instance, some_state(instance)).rows}
    assert {name: [cell.record for cell in row.cells] for name, row in rows.items()} == {
        "node 0": ["number 3", None],
        "node 1": [None, None],
        "queue": ["value 1", "value 0"],
    }
    assert [badge.text for badge in rows["node 0"].badges] == [
        "phase working", "sent {}", "known node 0: 0, node 1: 2", "heard {node 1}",
    ]  # fmt: skip
    assert [badge.text for badge in rows["node 1"].badges][:3] == [
        "phase done", "sent source node 0, value 1, not is_last", "sent source node 1, is_last",
    ]  # fmt: skip


def test_what_is_nobody_s_is_a_card_by_the_name_of_its_field(instance: Instance) -> None:
    boxes = {box.name: [fact.text for fact in box.facts] for box in picture_of(instance, some_state(instance)).boxes}
    assert boxes == {
        "place 1": ["is_up"],
        "place 2": ["not is_up"],
        "limits": ["number 0 0", "number 1 0", "number 2 0", "number 3 0"],
        "leader": ["node 1"],
        "chosen": ["{value 0, value 1}"],
        "last": ["source node 0", "value none", "not is_last"],
        "copies": ["source node 0, is_last ×2"],
    }


def test_what_is_not_there_is_pale_and_a_message_is_on_its_way(instance: Instance) -> None:
    picture = picture_of(instance, some_state(instance))
    heard = [badge for row in picture.rows for badge in row.badges if badge.kind == "heard"]
    assert [(badge.text, badge.tone) for badge in heard] == [("heard {node 1}", Tone.PLAIN), ("heard {}", Tone.ABSENT)]
    boxes = picture.boxes
    tones = {(box.name, fact.text): fact.tone for box in boxes for fact in box.facts}
    assert tones["place 2", "not is_up"] is tones["last", "value none"] is Tone.ABSENT
    assert tones["copies", "source node 0, is_last ×2"] is Tone.PENDING
    assert tones["limits", "number 0 0"] is Tone.PLAIN


def test_a_change_of_any_field_is_marked_where_it_is(instance: Instance) -> None:
    before = instance.schema.decode(instance.schema.unpack(instance.initial[0]))
    found = differences(picture_of(instance, before), picture_of(instance, some_state(instance)))
    assert {name for name, change in found.boxes.items() if change.facts} == {"place 1", "leader", "chosen", "copies"}
    assert {name for name, change in found.rows.items() if change.edits} == {"node 0", "queue"}
    assert {badge.kind for badge in found.rows["node 0"].badges} == {"heard", "known"}


def test_numbers_that_arrays_are_indexed_by_act_and_values_beside_them_do_not(instance: Instance) -> None:
    provider = provider_of(instance)
    acting = {step.action.name: {actor_of(other, provider) for other in instance.actions if other.action is step.action}
              for step in instance.actions}  # fmt: skip
    assert acting == {"Post": {"node 0", "node 1"}, "Stop": {"place 1", "place 2"}, "GoOn": {"place 1", "place 2"}}
    assert lanes_of_protocol(instance, provider) == ("place 1", "place 2", "node 0", "node 1")


def test_a_struct_in_a_set_is_named_by_its_fields(instance: Instance) -> None:
    names = [leaf.name for leaf in instance.schema.leaves]
    assert "sent[0][source=1, value=none, is_last=true]" in names
    assert "copies[source=0, value=1, is_last=false]" in names


@pytest.fixture(scope="module")
def found(instance: Instance) -> Counterexample:
    """A step of place 1, from the initial state."""
    start = instance.initial[0]
    step = next(step for step in instance.actions if step.action.name == "GoOn")
    after = instance.schema.pack(instance.fire(step, instance.schema.unpack(start)))
    return Counterexample("cards", Question(instance, ()), Run((start, after), (step,)))


@pytest.mark.parametrize("form", list(FORMATS))
def test_every_export_tells_who_took_the_step(form: str, found: Counterexample) -> None:
    text = FORMATS[form](Exported(view_of(found), found, 1))
    assert ("place 1" if form in ("svg", "mermaid") else "place-1" if form == "shiviz" else "GoOn") in text or form == "itf"
    if form in ("itf", "tlc", "svg", "markdown", "csv"):
        assert "is_up" in text


def test_the_terminal_draws_the_state_of_every_step(drawn: Any, found: Counterexample) -> None:
    lines = [" ".join(line.split()) for line in drawn(print_trace, view_of(found), width=100).lines]
    assert "place 1 *is_up" in lines
    assert "chosen *{value 0}" in lines


def test_a_copy_with_a_field_more_has_the_original_s_picture_and_the_field() -> None:
    question = copied()
    instance = question.instance
    step = next(step for step in instance.actions if step.action.name == "TryAgain")
    after = instance.schema.pack(instance.fire(step, instance.schema.unpack(instance.initial[0])))
    first, last = steps_of(question, Run((instance.initial[0], after), (step,)))
    assert first.sentence == DELIVERY.beginning
    assert last.picture is not None
    assert [box.name for box in last.picture.boxes] == ["member 0", "member 1", "group coordinator", "tries"]
    assert last.picture.boxes[-1].facts[0].text == "1"
    assert last.differs is not None
    assert {name for name, change in last.differs.boxes.items() if change.facts} == {"tries"}
    original = ask(BASE, "NoInputTwice", **instance.constants)
    assert check(question).violated == check(original).violated


class Val(Id, size=2):
    """A value that servers agree on."""


class Vote(Struct):
    """A message without a sender in some of its kinds."""

    val = field(Optional(Val))
    about = field(Optional(Place))


class Server(Struct):
    """A server."""

    term = field(Number)
    match = field(Array(Node, Number))
    votes = field(SetOf(Vote))


class Cluster(Struct):
    """Servers alone."""

    server = field(Array(Node, Server))
    decided = field(Optional(Val))


def test_fields_of_servers_go_by_their_own_names_absent_ones_are_left_out_and_values_take_no_steps() -> None:
    protocol = Protocol("servers", Cluster, title="", source="", constants=(nodes,), initial=lambda s: None)

    @protocol.action()
    def decide(s: Cluster, v: Val, q: SetOf(Node), n: Node) -> None:  # type: ignore[valid-type]
        s.decided = v
        s.server[n].votes.add(Vote(val=v, about=None))

    instance = protocol.instantiate({"nodes": 2})
    state = instance.schema.decode(instance.schema.unpack(instance.initial[0]))
    state["server"][0]["votes"] = [{"val": 1, "about": None}]
    boxes = picture_of(instance, state).boxes
    assert [fact.text for fact in boxes[0].facts] == ["term 0", "match node 0: 0, node 1: 0", "votes val 1"]
    assert actor_of(instance.actions[0], provider_of(instance)) == "node 0"
    assert lanes_of_protocol(instance, provider_of(instance)) == ("node 0", "node 1")


def test_only_what_changed_is_shown_where_that_is_asked_for(drawn: Any, found: Counterexample) -> None:
    lines = [" ".join(line.split()) for line in drawn(print_trace, only_changes(view_of(found)), width=100).lines]
    steps = lines[lines.index("1 GoOn(value=0, place=1)") :]
    assert steps == ["1 GoOn(value=0, place=1)", "*is_up[0] false -> true", "*chosen {} -> {0}"]
