"""What a protocol's author could have misread, or the language: each gives the right answer now, or is refused."""

# A type checker finds some of these mistakes as well, which is as it should be.
# mypy: ignore-errors

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import pytest

import acked
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.formulas.evaluate import evaluate
from acked.model.language.action import require
from acked.model.language.context import Constant, Switch
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.quantify import each, every, greatest, implies, ite, least, some
from acked.model.language.sets import SetValue
from acked.model.language.state import Array, Between, Log, Optional, Present, SetOf, Struct, all_of, field
from acked.model.language.values import Bool, Id, Int

last = Constant("last", 0, 5, "the last later number", default=0)
room = Constant("room", 0, 3, "records that a log has room for", default=2)
nodes = Constant("nodes", 0, 3, "nodes", default=3)
lossy = Switch("lossy", 0, 1, "a rule", default=0)


class Node(Id, size=nodes):
    """A sort of ids."""


class Later(Int, lo=1, hi=last):
    """1..last, which may be nothing."""


class Number(Int, lo=0, hi=3):
    """A unit."""


class Below(Int, lo=-2, hi=1):
    """A unit that begins below zero."""


def instance_of(fields: dict[str, Any], *functions: Callable[..., None], drop: Any = (), **constants: int) -> Instance:
    """A protocol over a state with these fields, all else at zero."""
    state, declared = type("State", (Struct,), fields), (last, room, nodes, lossy)
    made = Protocol("p", state, title="", source="", constants=declared, initial=lambda s: None)
    for function in functions:
        made.action()(function)
    return made.instantiate(constants, drop)


def after(instance: Instance, state: Any, action: int = 0) -> Any:
    """The plain state after an action."""
    return instance.schema.decode(instance.fire(instance.actions[action], instance.schema.encode(state)))


def holds(instance: Instance, condition: Callable[[Any], Any], state: Any) -> bool:
    """A condition in a plain state."""
    return bool(evaluate(instance.state_predicate("asked", condition), instance.schema.encode(state)))


# -- constants ---------------------------------------------------------------------------------------------------------


def test_a_constant_that_would_hide_a_field_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match="'last' is a constant and a field of the state, and a predicate could mean either"):
        instance_of({"last": field(Number)})


def test_a_constant_may_be_called_like_a_struct_because_a_struct_is_no_value() -> None:
    pair = type("Pair", (Struct,), {"x": field(Number)})
    assert instance_of({"last": field(pair)}, last=2).constants["last"] == 2


def compared_with_a_number(s: Any) -> None:
    require("three", nodes == 3)


def asked_for_its_truth(s: Any) -> None:
    if lossy:
        s.n = 1


def a_size_compared(s: Any) -> None:
    require("three", nodes + 1 != 3)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (compared_with_a_number, "constant nodes is compared with 3 before it has a value; write .value == 3"),
        (asked_for_its_truth, "constant lossy is always true to Python, whatever its value; write .value, or .on of"),
        (a_size_compared, "constant nodes is compared with 3 before it has a value"),
    ],
)
def test_a_constant_is_not_taken_for_a_plain_number(mistake: Callable[..., None], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        instance_of({"n": field(Number)}, mistake)


def test_constants_are_told_apart_as_before() -> None:
    assert nodes == Constant("nodes", 0, 3, "nodes", default=3)
    assert nodes != room
    assert len({nodes, Constant("nodes", 0, 3, "nodes", default=3), room}) == 2
    assert nodes + 1 == nodes + 1


# -- empty ranges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("highest", [0, 1, 2])
def test_quantifiers_over_a_range_mean_what_python_says_of_a_range(highest: int) -> None:
    instance, values = instance_of({"n": field(Number)}, last=highest), range(1, highest + 1)
    for n in range(4):
        state = {"n": n}
        assert holds(instance, lambda s: some(Later, lambda e: s.n >= 0), state) == bool(values)
        assert holds(instance, lambda s: every(Later, lambda e: s.n < 0), state) == (not values)
        assert holds(instance, lambda s: greatest(Later, lambda e: s.n >= 0, otherwise=9) == 9, state) == (not values)


def test_an_action_with_a_parameter_of_an_empty_range_never_happens() -> None:
    def grow(s: Any, e: Later) -> None:
        s.n = 1

    assert [len(instance_of({"n": field(Number)}, grow, last=highest).actions) for highest in (0, 1, 2)] == [0, 1, 2]


def test_each_of_an_empty_range_is_nothing() -> None:
    def loop(s: Any) -> None:
        for _ in each(Later):
            s.n = 1

    assert instance_of({"n": field(Number)}, loop).actions[0].updates == ()


@pytest.mark.parametrize("which", [greatest, least])
def test_the_greatest_of_no_numbers_is_refused_unless_it_is_said_what_that_is(which: Any) -> None:
    with pytest.raises(ModelError, match="of a type that has no values; pass otherwise"):
        instance_of({"n": field(Number)}, lambda s: require("x", which(Later, lambda e: e > 0) > 0))


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (Later, "field n has no possible value: there is no number from 1 to 0; raise the upper bound"),
        (Between(Number, 3, 0), "field n has no possible value: there is no number from 3 to 0"),
        (Array(Number, Between(Number, 2, 1)), r"field n\[0\] has no possible value"),
        (Present(Later, 1), "field n has no possible value"),
        (Node, "field n has no possible value: there are 0 Nodes"),
    ],
)
def test_a_field_that_can_hold_nothing_is_refused_by_name(domain: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        instance_of({"n": field(domain), "other": field(Number)}, nodes=0)


def test_what_is_made_of_nothing_but_has_a_value_is_kept() -> None:
    """No value is optional, no id a set, and a field that is left out holds nothing."""

    def pick(s: Any, n: Node) -> None:
        s.members = s.members.add(n)

    fields = {
        "later": field(Optional(Later)), "who": field(Optional(Node)), "members": field(SetOf(Node)),
        "by": field(Array(Node, Number)), "out": field(Present(Later, last)),
    }  # fmt: skip
    instance = instance_of(fields, pick, nodes=0)
    state = {"later": None, "who": None, "members": [], "by": []}
    assert instance.schema.decode(instance.schema.unpack(instance.initial[0])) == state
    assert instance.actions == ()
    assert holds(instance, lambda s: (s.members == all_of(Node)) & s.members.is_empty & (s.members.size == 0), state)
    assert holds(instance, lambda s: ~s.members.contains(s.who) & (s.by[s.who.value] == 0), state)


def test_ids_cannot_be_fewer_than_none() -> None:
    few = type("Few", (Id,), {}, size=nodes - 2)
    with pytest.raises(ModelError, match="Few has the size -2; an Id type has at least 0 ids"):
        instance_of({"who": field(few)}, nodes=0)


# -- optional numbers --------------------------------------------------------------------------------------------------

ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def in_python(order: str, a: int | None, b: int | None) -> bool:
    """None is equal to none alone, and in order below everything."""
    if order in ("==", "!="):
        return bool(ORDERS[order](a, b))
    lowest = -100
    return bool(ORDERS[order](lowest if a is None else a, lowest if b is None else b))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("unit", [Number, Below])
def test_an_optional_number_is_compared_as_python_would(unit: Any, order: str) -> None:
    lo, hi = unit.lo, unit.hi
    instance = instance_of({"a": field(Optional(unit)), "b": field(Optional(unit)), "n": field(Between(unit, lo, hi))})
    compare = ORDERS[order]
    for a in [None, *range(lo, hi + 1)]:
        for n in range(lo, hi + 1):
            state = {"a": a, "b": None, "n": n}
            for by in (-2, -1, 0, 1):
                assert holds(instance, lambda s, by=by: compare(s.a, s.n + by), state) == in_python(order, a, n + by)
                assert holds(instance, lambda s, k=n + by: compare(s.a, k), state) == in_python(order, a, n + by)
        for b in [None, *range(lo, hi + 1)]:
            state = {"a": a, "b": b, "n": lo}
            assert holds(instance, lambda s: compare(s.a, s.b), state) == in_python(order, a, b)
            # The value of none is one below the least, and nothing that an optional field could be.
            value = lo - 1 if b is None else b
            assert holds(instance, lambda s: compare(s.a, s.b.value), state) == in_python(order, a, value)
            mixed = holds(instance, lambda s: compare(s.a, ite(s.n == lo, s.b.value - 1, s.b)), state)
            assert mixed == in_python(order, a, value - 1)


def test_a_number_below_the_least_is_not_stored_as_none() -> None:
    def commit(s: Any) -> None:
        s.hw = s.end - 1

    instance = instance_of({"end": field(Number), "hw": field(Optional(Number))}, commit)
    with pytest.raises(DomainOverflow, match=r"Commit\(\) assigns hw a value outside its domain"):
        after(instance, {"end": 0, "hw": None})
    assert after(instance, {"end": 3, "hw": None})["hw"] == 2


def test_a_number_that_is_always_below_the_least_is_refused_with_its_value() -> None:
    def commit(s: Any) -> None:
        s.hw = -2

    with pytest.raises(ModelError, match=r"hw holds 0\.\.3, and this is -2$"):
        instance_of({"hw": field(Optional(Number))}, commit)


def test_the_value_of_none_is_caught_where_it_is_stored() -> None:
    def copy(s: Any) -> None:
        s.b = s.a.value

    instance = instance_of({"a": field(Optional(Below)), "b": field(Optional(Below))}, copy)
    assert after(instance, {"a": -2, "b": None})["b"] == -2
    with pytest.raises(DomainOverflow):
        after(instance, {"a": None, "b": 1})


# -- optional ids and sets ---------------------------------------------------------------------------------------------

MEMBERS = {"who": field(Optional(Node)), "n": field(Node), "members": field(SetOf(Node)), "others": field(SetOf(Node))}


def test_an_optional_id_may_be_asked_for_in_a_set() -> None:
    instance = instance_of(MEMBERS)
    for who in (None, 0, 1, 2):
        for members in ([], [0], [1, 2], [0, 1, 2]):
            state = {"who": who, "n": 1, "members": members, "others": [0]}
            assert holds(instance, lambda s: s.members.contains(s.who), state) == (who in members)
            assert holds(instance, lambda s: s.members.is_only(s.who), state) == (members == [who])
            assert holds(instance, lambda s: s.members.contains(s.who.value), state) == (who in members)
            either = 1 if who is None else who
            guarded = holds(instance, lambda s: s.members.contains(ite(~s.who.is_none, s.who.value, s.n)), state)
            assert guarded == (either in members)
            without = sorted({*members} - {who})
            assert holds(instance, lambda s, w=without: s.members.remove(s.who).size == len(w), state)
            # A set that none was added to is no subset of anything, and differs from what it was.
            assert holds(instance, lambda s: s.members.add(s.who).issubset(all_of(Node)), state) == (who is not None)
            assert holds(instance, lambda s: s.members.add(s.who) == s.members, state) == (who in members)
            both = holds(instance, lambda s: (s.members.add(s.who) - s.others).is_empty, state)
            assert both == (not {*members, "none" if who is None else who} - {0})


def test_none_that_joins_a_set_is_caught_where_the_set_is_stored() -> None:
    def join(s: Any) -> None:
        s.members = s.members.add(s.who) - s.others

    instance = instance_of(MEMBERS, join)
    state = {"who": 2, "n": 0, "members": [0, 1], "others": [0]}
    assert after(instance, state)["members"] == [1, 2]
    with pytest.raises(DomainOverflow, match=r"Join\(\) assigns members a value outside its domain"):
        after(instance, state | {"who": None})


def discarded(s: Any, n: Node) -> None:
    s.members.add(n)


def discarded_in_a_loop(s: Any) -> None:
    for n in each(Node):
        s.members.remove(n)


@pytest.mark.parametrize(("mistake", "method"), [(discarded, "add"), (discarded_in_a_loop, "remove")])
def test_a_set_that_is_not_assigned_is_refused(mistake: Callable[..., None], method: str) -> None:
    message = rf"{method}\(…\) returns a new set and does not change this one; assign it, e.g. s.isr = s.isr.{method}\(r\)"
    with pytest.raises(ModelError, match=message):
        instance_of(MEMBERS, mistake)


def test_a_set_that_is_used_in_any_way_is_not_refused() -> None:
    def use(s: Any, n: Node) -> None:
        kept = s.members.add(n)
        require("smaller", every(Node, lambda m: s.members.remove(m).issubset(kept)))
        s.members, s.others = s.members.remove(n), (lambda: s.others.add(n))()

    assert len(instance_of(MEMBERS, use).actions) == 3


# -- types that do not fit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Between(Node, 0, 1), "numbers lo..hi are of a subclass of Int, not Node"),
        (lambda: Optional(Bool), "an optional value is of a subclass of Int or Id, not Bool"),
        (lambda: Optional(Struct), "an optional value is of a subclass of Int or Id, not Struct"),
        (lambda: Optional(Int), "an optional value is of a subclass of Int or Id, not Int"),
        (lambda: SetOf(Number), "the members of a set are ids or structs, not Number"),
        (lambda: Log(Struct, Node, 2), "the offsets of a log are of a subclass of Int, not Node"),
    ],
)
def test_a_domain_of_something_that_it_cannot_be_made_of_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        make()


def test_a_parameter_may_be_a_set_of_a_sort_without_ids() -> None:
    def vote(s: Any, voters: SetValue[Node]) -> None:
        require("none", implies(s.n == 0, voters.is_empty))

    assert [step.label for step in instance_of({"n": field(Number)}, vote, nodes=0).actions] == ["Vote(voters=[])"]


def test_the_set_that_is_named_for_a_parameter_of_another_type_is_a_public_name() -> None:
    def vote(s: Any, voters: list[Node]) -> None: ...

    with pytest.raises(ModelError) as caught:
        instance_of({"n": field(Number)}, vote, nodes=1)
    named = re.search(r"a set of ids: (\w+)\(Broker\)$", str(caught.value))
    assert named is not None
    assert getattr(acked, named[1]) is SetOf
