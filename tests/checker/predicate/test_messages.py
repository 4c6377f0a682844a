"""Predicates over sets and bags of structs: a name stands for each of them that is there."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from acked import Array, Bag, Bool, Enum, Id, Int, Optional, Protocol, SetOf, Struct, field
from acked.checker.predicate.parse import PredicateError, parse_predicate
from acked.model.formulas.evaluate import evaluate
from acked.model.language.protocol import Instance


class Node(Id, size=2):
    """Who sends."""


class Number(Int, lo=1, hi=2):
    """A number that does not begin at 0."""


class Kind(Enum, names=("ask", "tell")):
    """What kind of message."""


class Inner(Struct):
    number = field(Number)


class Note(Struct):
    inner = field(Inner)
    is_last = field(Bool)


class Letter(Struct):
    source = field(Node)
    kind = field(Kind)
    latest = field(Optional(Number))
    readers = field(SetOf(Node))


class State(Struct):
    sent = field(Array(Node, SetOf(Letter)))
    copies = field(Bag(Note, 2))
    leader = field(Node)


@pytest.fixture(scope="module")
def instance() -> Instance:
    return Protocol("letters", State, title="", source="", constants=(), initial=lambda s: None).instantiate({})


def letters() -> list[dict[str, Any]]:
    fields = product((0, 1), ("ask", "tell"), (None, 1, 2), ([], [0], [1], [0, 1]))
    return [dict(zip(("source", "kind", "latest", "readers"), values, strict=True)) for values in fields]


def judged(instance: Instance, text: str, states: list[tuple[list[dict[str, Any]], tuple[int, ...]]]) -> list[bool]:
    """Whether a predicate holds where these letters are sent, and notes with these numbers, the last ones of them marked."""
    root, found = parse_predicate(text, instance), []
    for sent, copies in states:
        notes = [{"inner": {"number": number}, "is_last": number == 2} for number in copies]
        found.append(bool(evaluate(root, instance.schema.encode({"sent": [sent, []], "copies": notes, "leader": 1}))))
    return found


def holds(instance: Instance, text: str, sent: list[dict[str, Any]], copies: tuple[int, ...] = ()) -> bool:
    return judged(instance, text, [(sent, copies)])[0]


ABOUT_ONE = {
    "m.source == 1": lambda m: m["source"] == 1,
    "m.source == leader": lambda m: m["source"] == 1,
    'm.kind == "tell"': lambda m: m["kind"] == "tell",
    "m.latest is None": lambda m: m["latest"] is None,
    "m.latest > 1": lambda m: m["latest"] == 2,
    "not m.latest == 1 and 0 in m.readers": lambda m: m["latest"] != 1 and 0 in m["readers"],
    "len(m.readers) == 2": lambda m: len(m["readers"]) == 2,
    "any(r == m.source for r in m.readers)": lambda m: m["source"] in m["readers"],
    "len(sent[m.source]) == 1": lambda m: m["source"] == 0,
}


@pytest.mark.parametrize("text", ABOUT_ONE)
def test_a_field_of_a_message_is_what_the_message_has(instance: Instance, text: str) -> None:
    said = judged(instance, f"any({text} for m in sent[0])", [([letter], ()) for letter in letters()])
    assert said == [ABOUT_ONE[text](letter) for letter in letters()]
    assert len(set(said)) == 2


def test_all_any_and_count_are_of_the_messages_that_are_there(instance: Instance) -> None:
    first, second = letters()[0], letters()[-1]
    assert holds(instance, "all(m.source == 1 for m in sent[0])", [])
    assert not holds(instance, "any(m.source == 0 for m in sent[0])", [])
    assert holds(instance, "count(m.source == 0 for m in sent[0]) == 1 and len(sent[0]) == 2", [first, second])
    assert not holds(instance, "all(m.source == n.source for m in sent[0] for n in sent[0])", [first, second])
    assert holds(instance, 'all(m.source == 1 for m in sent[0] if m.kind == "tell")', [first, second])


def test_a_message_of_a_bag_is_there_as_often_as_it_is(instance: Instance) -> None:
    numbers = [(), (1,), (1, 1), (1, 1, 2)]
    states: list[tuple[list[dict[str, Any]], tuple[int, ...]]] = [([], copies) for copies in numbers]
    assert judged(instance, "len(copies) == 2", states) == [False, False, True, False]
    assert judged(instance, "count(m.inner.number + 1 == 2 for m in copies) == 2", states) == [False, False, True, True]
    assert judged(instance, "any(m.is_last for m in copies)", states) == [False, False, False, True]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("any(m.sorce == 0 for m in sent[0])", "column 5: m.sorce is no field; a Letter has source, kind, latest, readers"),
        ("any(m == 0 for m in sent[0])", "m is no field; a Letter has"),
        ("any(m.inner == 0 for m in copies)", "m.inner is no field; a Note has inner.number, is_last"),
        ("any(m.source == 0 for m in sent)", "column 28: sent is not a single field; name one of its parts"),
        ("any(m.kind == 1 for m in sent[0])", "a kind holds names and no numbers"),
        ("any(sent[m.latest] for m in sent[0])", "this must be a number such as 0"),
    ],
)
def test_what_messages_do_not_have_is_told_with_its_column(instance: Instance, text: str, sentence: str) -> None:
    with pytest.raises(PredicateError) as refused:
        parse_predicate(text, instance)
    assert sentence in str(refused.value)
