"""Quantifiers over structs: traced once for all values, they say what value by value they say."""

# mypy: ignore-errors

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from acked import (
    Array,
    Bool,
    Constant,
    Enum,
    Id,
    Int,
    ModelError,
    Optional,
    Protocol,
    SetOf,
    Struct,
    ask,
    check,
    choose,
    count,
    every,
    field,
    implies,
    invariant,
    none_of,
    require,
    some,
)
from acked.model.formulas.evaluate import Evaluator
from acked.model.language import finite

nodes = Constant("nodes", 1, 5, "nodes")
many = Constant("many", 1, 9, "values of a number", default=2)


class Node(Id, size=nodes):
    """A node."""


class Number(Int, lo=0, hi=many):
    """A number."""


class Kind(Enum, names=("ask", "tell")):
    """A kind of message."""


class Letter(Struct):
    """A message."""

    kind = field(Kind)
    source = field(Node)
    number = field(Optional(Number))
    is_last = field(Bool)


class State(Struct):
    """Some letters."""

    sent = field(SetOf(Letter))
    seen = field(Array(Node, Number))
    flag = field(Bool)


ALWAYS = invariant("Always", "0 == 0")


def made(function: Any, state: type[Struct] = State) -> Protocol:
    protocol = Protocol("toy", state, title="a toy", source="a test", constants=(nodes, many), initial=lambda s: None)
    protocol.action()(function)
    return protocol


def latest(s: Any, m: Any) -> Any:
    return every(Letter, lambda n: implies(s.sent.contains(n) & (n.source == m.source), n.number <= m.number))


CONDITIONS = {
    "some": lambda s, a, q: some(Letter, lambda m: s.sent.contains(m) & (m.kind == "ask") & q.contains(m.source)),
    "every": lambda s, a, q: every(Letter, lambda m: implies(s.sent.contains(m) & ~m.is_last, m.number.is_some)),
    "nested": lambda s, a, q: some(Letter, lambda m: s.sent.contains(m) & (m.kind == "tell") & latest(s, m)),
    "count": lambda s, a, q: count(Letter, lambda m: s.sent.contains(m) & (m.source == a) & m.is_last) > 1,
    "an array": lambda s, a, q: every(Letter, lambda m: implies(s.sent.contains(m), m.number <= s.seen[m.source])),
    "a set": lambda s, a, q: some(Letter, lambda m: s.sent.contains(m) & none_of(Node).add(a).contains(m.source)),
    "a constant": lambda s, a, q: every(Letter, lambda m: (m.kind == "ask") | (m.kind == "tell")),
    "what is sent": lambda s, a, q: s.sent.contains(Letter(kind="ask", source=a, number=s.seen[a], is_last=s.flag)),
}
MEMBERS = {
    "some": lambda s, a, q: some(s.sent, lambda m: (m.kind == "ask") & q.contains(m.source)),
    "every": lambda s, a, q: every(s.sent, lambda m: implies(~m.is_last, m.number.is_some)),
    "count": lambda s, a, q: count(s.sent, lambda m: (m.source == a) & m.is_last) > 1,
}


def truths(condition: Any, seed: int = 0) -> list[list[int]]:
    """What a condition is, for every binding, in states drawn by lot."""

    def act(s: State, a: Node) -> None:
        s.flag = condition(s, a, none_of(Node).add(a))

    instance = made(act).instantiate({"nodes": 2, "many": 1})
    lot = Random(seed)
    flag = next(at for at, leaf in enumerate(instance.schema.leaves) if leaf.name == "flag")
    after = Evaluator([dict(step.updates).get(flag, instance.fields[flag]) for step in instance.actions])
    drawn = [[lot.randrange(leaf.cardinality) for leaf in instance.schema.leaves] for _ in range(60)]
    return [after(codes) for codes in drawn]


@pytest.mark.slow
@pytest.mark.parametrize("name", CONDITIONS)
def test_a_struct_quantified_over_at_once_says_what_it_says_value_by_value(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = truths(CONDITIONS[name])

    def refuse(*_: object) -> None:
        raise ModelError("value by value")

    monkeypatch.setattr(finite, "_at_once", refuse)
    assert truths(CONDITIONS[name]) == at_once


@pytest.mark.parametrize("name", MEMBERS)
def test_members_of_a_set_of_structs_are_those_that_it_contains(name: str) -> None:
    assert truths(MEMBERS[name]) == truths(CONDITIONS[name])


@pytest.mark.slow
def test_a_function_is_asked_once_for_a_struct_of_thousands_of_values() -> None:
    asked: list[None] = []

    def latest_of(s: Any, m: Any) -> Any:
        asked.append(None)
        return some(Letter, lambda n: (n.kind == "ask") & (n.number >= m.number) & s.flag)

    def act(s: State) -> None:
        require("all", every(Letter, lambda m: implies(m.kind == "tell", latest_of(s, m))))

    class Small(Struct):
        """Without the set."""

        flag = field(Bool)

    assert len(made(act, Small).instantiate({"nodes": 5, "many": 9}).actions) == 1
    assert len(asked) == 2  # An author's own action is traced twice.


def test_what_a_clause_rules_out_is_not_looked_at_once_another_binding_is_known() -> None:
    asked: list[None] = []

    def act(s: State, a: Node, b: Node) -> None:
        require("two", a != b)
        asked.append(None)
        s.seen[a] = 1

    assert len(made(act).instantiate({"nodes": 3}).actions) == 6
    assert len(asked) == 2 * (6 + 1)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda s, kept: kept.append(some(Letter, lambda m: kept.append(m) or s.flag)), "kept from the function of a"),
        (lambda s, kept: every(Letter, lambda m: require("x", m.is_last) or s.flag), "two clauses are labelled 'x'"),
        (lambda s, kept: every(Letter, lambda m: choose("x", Bool)), "two choices or parameters are named 'x'"),
        (lambda s, kept: every(Letter, lambda m: s.seen[m.source.expr.value] == m.number.value + 5 * many.value), ""),
        (lambda s, kept: some(Letter, lambda m: m.number), "expected a Bool, got an optional number"),
    ],
)
def test_what_no_quantifier_may_do_is_refused_as_value_by_value(act: Any, said: str) -> None:
    def go(s: State) -> None:
        kept: list[Any] = []
        act(s, kept)
        if len(kept) > 1:
            s.flag = kept[0].is_last

    if not said:
        assert len(made(go).instantiate({"nodes": 1}).actions) == 1
        return
    with pytest.raises(ModelError, match=re.escape(said)):
        made(go).instantiate({"nodes": 1})


def test_an_assignment_in_a_quantifier_is_one_for_each_value() -> None:
    def go(s: State) -> None:
        def assign(m: Any) -> Any:
            s.seen[m.source] = 1
            return s.flag

        every(Letter, assign)

    (step,) = made(go).instantiate({"nodes": 2}).actions
    assert [code.value for _, code in step.updates] == [1, 1]


def test_an_index_beyond_an_array_is_refused_whatever_it_is_quantified_over() -> None:
    class Wide(Struct):
        """An array by a number."""

        known = field(Array(Number, Bool))

    class Pair(Struct):
        """Two numbers."""

        x = field(Number)

    def go(s: Wide) -> None:
        require("next", every(Pair, lambda m: s.known[m.x + 1]))

    with pytest.raises(ModelError, match="number 2 does not exist: there are 2, from 0"):
        made(go, Wide).instantiate({"nodes": 1, "many": 1})


def test_a_member_of_a_set_of_structs_is_chosen() -> None:
    def give(s: State) -> None:
        s.sent.add(Letter(kind="tell", source=0, number=None, is_last=False))

    def take(s: State) -> None:
        m = choose("m", s.sent)
        s.flag = m.kind == "tell"

    protocol = made(give)
    protocol.action()(take)
    assert check(ask(protocol, ALWAYS, nodes=1, many=1)).distinct_states == 3


def test_a_set_of_more_structs_than_a_state_has_bits_is_refused_at_once_with_what_to_write() -> None:
    class Huge(Struct):
        """Nine numbers."""

        a, b, c, d, e, f, g, h, i = (field(Number) for _ in range(9))

    class Full(Struct):
        """A set of them."""

        sent = field(SetOf(Huge))

    with pytest.raises(ModelError, match=r"sent may have 1,000,000,000 different members.* give every kind of message"):
        made(lambda s: None, Full).instantiate({"nodes": 1, "many": 9})
