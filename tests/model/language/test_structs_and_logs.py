"""Logs hold what lies below their end, and structs in variables what they were when they were taken.

Records past the end, structs in variables, by the plain evaluator.
"""

# A type checker finds some of these mistakes as well, which is as it should be.
# mypy: ignore-errors

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.action import require
from acked.model.language.quantify import ite
from acked.model.language.state import Array, Between, Log, Optional, Struct, field
from acked.model.language.values import Bool
from tests.model.language.test_misreadings import Node, Number, after, holds, instance_of, room

# -- logs --------------------------------------------------------------------------------------------------------------


class Tag(Struct):
    """A struct in a record."""

    t = field(Optional(Number))


class Entry(Struct):
    """A record."""

    v = field(Number)
    by = field(Node)
    tag = field(Tag)


LOG = {"log": field(Log(Entry, Number, room)), "n": field(Between(Number, -1, 4)), "who": field(Node)}


def entry(v: int, by: int = 0, t: int | None = None) -> dict[str, Any]:
    """A plain record."""
    return {"v": v, "by": by, "tag": {"t": t}}


def log_of(*records: dict[str, Any]) -> dict[str, Any]:
    """A plain log."""
    return {"end": len(records), "records": list(records)}


@pytest.mark.parametrize("offset", range(-1, 5))
@pytest.mark.parametrize("length", [0, 1, 2])
def test_an_assignment_where_there_is_no_record_goes_nowhere(offset: int, length: int) -> None:
    def known(s: Any) -> None:
        s.log.at(offset).v = 3

    def unknown(s: Any) -> None:
        s.log.at(s.n).v = 3

    def nested(s: Any) -> None:
        s.log.at(s.n).tag.t = 3

    def whole(s: Any) -> None:
        s.log.at(s.n).tag = Tag(t=3)

    instance = instance_of(LOG, known, unknown, nested, whole)
    records = [entry(1), entry(2)][:length]
    state = {"log": log_of(*records), "n": offset, "who": 0}
    for action in range(4):
        wanted = [dict(record) for record in records]
        if 0 <= offset < length:
            wanted[offset] |= {"v": 3} if action < 2 else {"tag": {"t": 3}}
        codes = instance.fire(instance.actions[action], instance.schema.encode(state))
        # The codes, and not what is shown of them: nothing may hide in slots without a record.
        assert codes == instance.schema.encode(state | {"log": log_of(*wanted)})


def test_a_record_is_read_alike_at_a_known_and_an_unknown_offset() -> None:
    instance = instance_of(LOG)
    for records in ([], [entry(1, 2)], [entry(1, 2), entry(3, 1)]):
        for offset in range(-1, 5):
            state = {"log": log_of(*records), "n": offset, "who": 0}
            for value in range(4):
                known = holds(instance, lambda s, o=offset, v=value: s.log.at(o).v == v, state)
                assert known == holds(instance, lambda s, v=value: s.log.at(s.n).v == v, state)


def test_where_there_is_no_record_there_is_no_id() -> None:
    def take(s: Any) -> None:
        s.who = s.log.last.by

    def copy(s: Any) -> None:
        s.log.append(s.log.at(s.n))

    instance = instance_of(LOG, take, copy)
    empty, full = ({"log": log_of(*records), "n": 1, "who": 0} for records in ([], [entry(1, 2)]))
    assert not any(holds(instance, lambda s, k=k: s.log.last.by == k, empty) for k in range(3))
    assert after(instance, full)["who"] == 2
    for action in (0, 1):
        with pytest.raises(DomainOverflow):
            after(instance, empty, action)


def test_a_log_without_room_is_empty_and_full() -> None:
    def grow(s: Any) -> None:
        require("room", ~s.log.is_full)
        s.log.append(Entry(v=1, by=s.who, tag=Tag(t=None)))

    def scribble(s: Any) -> None:
        s.log.at(s.n).v = 1
        s.log.truncate(s.n % 3)

    instance = instance_of(LOG, grow, scribble, room=0)
    state = {"log": log_of(), "n": 0, "who": 0}
    assert [step.label for step in instance.actions] == ["Scribble()"]
    assert after(instance, state) == state
    assert holds(instance, lambda s: s.log.is_empty & s.log.is_full & ~s.log.has(s.n) & (s.log.last.v == 0), state)


def test_a_record_that_could_not_be_appended_cannot_be_in_a_log() -> None:
    listed = type("Listed", (Struct,), {"v": field(Array(Node, Number))})
    with pytest.raises(ModelError, match=r"Listed\.v cannot be in a log: a record holds single fields and structs"):
        Log(listed, Number, 2)


# -- structs in variables ------------------------------------------------------------------------------------------------


class Pair(Struct):
    """A struct of the state."""

    x = field(Number)
    seen = field(Optional(Number))


class Case(Struct):
    """A struct in a struct."""

    inner = field(Pair)
    open = field(Bool)


PAIRS = {
    "a": field(Pair), "b": field(Pair), "case": field(Case), "by": field(Array(Node, Pair)), "who": field(Node),
    "n": field(Number), "log": field(Log(Pair, Number, room)),
}  # fmt: skip
FIRST = {
    "a": {"x": 1, "seen": None}, "b": {"x": 2, "seen": 0}, "case": {"inner": {"x": 3, "seen": 3}, "open": True},
    "by": [{"x": k, "seen": k} for k in range(3)], "who": 1, "n": 0,
    "log": {"end": 2, "records": [{"x": 1, "seen": 1}, {"x": 3, "seen": None}]},
}  # fmt: skip


def rewritten(s: Any) -> None:
    kept = s.log.last
    s.log.truncate(s.log.end - 1)
    s.log.append(kept)


def rewritten_further_down(s: Any) -> None:
    kept = s.log.at(s.n)
    s.log.truncate(0 * s.n)
    s.log.append(kept)
    s.n = kept.x


def exchanged(s: Any) -> None:
    s.a, s.b = s.b, s.a


def exchanged_by_variables(s: Any) -> None:
    one, other = s.a, s.b
    s.a = other
    s.b = one


def replaced(s: Any) -> None:
    old = s.a
    s.a = s.b
    s.n = old.x


def replaced_by_one_made_in_place(s: Any) -> None:
    old = s.by[s.who]
    s.by[s.who] = Pair(x=3, seen=None)
    s.a = old


def replaced_where_another_may_be_meant(s: Any) -> None:
    old = s.by[s.who]
    s.by[0] = s.a
    s.b = old


def replaced_from_above(s: Any) -> None:
    old = s.case.inner
    s.case = Case(inner=s.a, open=False)
    s.b = old


def replaced_and_read_through_what_it_was_in(s: Any) -> None:
    old = s.case
    s.case = Case(inner=s.a, open=False)
    s.b = old.inner
    s.n = old.inner.x


def assigned_through_its_variable(s: Any) -> None:
    mine = s.by[s.who]
    mine.x = 3
    s.n = mine.x
    s.a = mine


def assigned_through_a_part_of_it(s: Any) -> None:
    mine = s.case
    mine.inner.x = 0
    s.b = mine.inner
    mine.inner = s.a
    s.n = mine.inner.x


def assigned_and_then_replaced(s: Any) -> None:
    mine = s.a
    mine.x = 3
    s.a = s.b
    s.n = mine.x


def another_one_assigned(s: Any) -> None:
    mine = s.by[0]
    s.by[1].x = 3
    s.n = mine.x


def pair(x: int, seen: int | None) -> dict[str, Any]:
    """A plain pair."""
    return {"x": x, "seen": seen}


WANTED: dict[Callable[..., None], dict[str, Any]] = {
    rewritten: {},
    rewritten_further_down: {"log": {"end": 1, "records": [pair(1, 1)]}, "n": 1},
    exchanged: {"a": FIRST["b"], "b": FIRST["a"]},
    exchanged_by_variables: {"a": FIRST["b"], "b": FIRST["a"]},
    replaced: {"a": FIRST["b"], "n": 1},
    replaced_by_one_made_in_place: {"by": [pair(0, 0), pair(3, None), pair(2, 2)], "a": pair(1, 1)},
    replaced_where_another_may_be_meant: {"by": [pair(1, None), pair(1, 1), pair(2, 2)], "b": pair(1, 1)},
    replaced_from_above: {"case": {"inner": FIRST["a"], "open": False}, "b": pair(3, 3)},
    replaced_and_read_through_what_it_was_in: {"case": {"inner": FIRST["a"], "open": False}, "b": pair(3, 3), "n": 3},
    assigned_through_its_variable: {"by": [pair(0, 0), pair(3, 1), pair(2, 2)], "n": 3, "a": pair(3, 1)},
    assigned_through_a_part_of_it: {"case": {"inner": FIRST["a"], "open": True}, "b": pair(0, 3), "n": 1},
    assigned_and_then_replaced: {"a": FIRST["b"], "n": 3},
    another_one_assigned: {"by": [pair(0, 0), pair(3, 1), pair(2, 2)], "n": 0},
}


@pytest.mark.parametrize("action", WANTED, ids=lambda function: function.__name__)
def test_a_struct_in_a_variable_is_what_it_was_and_what_was_assigned_through_it(action: Callable[..., None]) -> None:
    assert after(instance_of(PAIRS, action), FIRST) == FIRST | WANTED[action]


def assigned_elsewhere(s: Any) -> None:
    old = s.a
    s.a.x = 3
    s.n = old.x


def assigned_by_a_helper(s: Any) -> None:
    old = s.by[s.who]
    assign(s, s.who)
    s.n = ite(s.n == 0, old.x, 0)


def assign(s: Any, who: Node) -> None:
    s.by[who].x = 3


def perhaps_assigned_elsewhere(s: Any) -> None:
    old = s.by[s.who]
    s.by[1].x = 3
    s.a = old


def copied_after_an_assignment(s: Any) -> None:
    old = s.case.inner
    s.case.inner.seen = None
    s.b = old


def compared_after_an_assignment(s: Any) -> None:
    old = s.a
    s.a.seen = 1
    require("the same", old == s.a)


def assigned_through_what_was_replaced(s: Any) -> None:
    old = s.a
    s.a = s.b
    old.x = 3


def assigned_through_a_record_that_was_cut(s: Any) -> None:
    old = s.log.last
    s.log.truncate(s.log.end - 1)
    old.x = 3


UNCLEAR = {
    assigned_elsewhere: "a.x was assigned through another variable after this Pair was taken",
    assigned_by_a_helper: "by[…].x was assigned through another variable after this Pair was taken",
    perhaps_assigned_elsewhere: "by[…].x was assigned through another variable after this Pair was taken",
    copied_after_an_assignment: "case.inner.seen was assigned through another variable after this Pair was taken",
    compared_after_an_assignment: "a.seen was assigned through another variable after this Pair was taken",
    assigned_through_what_was_replaced: "a was replaced, or its log changed, after this Pair was taken",
    assigned_through_a_record_that_was_cut: "log.records[…] was replaced, or its log changed, after this Pair was taken",
}


@pytest.mark.parametrize("mistake", UNCLEAR, ids=lambda function: function.__name__)
def test_a_struct_of_which_it_is_not_clear_what_is_meant_is_refused(mistake: Callable[..., None]) -> None:
    with pytest.raises(ModelError, match=re.escape(UNCLEAR[mistake])):
        instance_of(PAIRS, mistake)


def test_what_a_ruled_out_binding_would_do_is_no_mistake() -> None:
    def pass_on(s: Any, giver: Node, taker: Node) -> None:
        require("apart", giver != taker)
        mine = s.by[giver]
        s.by[taker].x = 0
        s.n = mine.x

    assert len(instance_of(PAIRS, pass_on).actions) == 6
    with pytest.raises(ModelError, match="through another variable"):
        instance_of(PAIRS, pass_on, drop=[("PassOn", "apart")])


def test_arrays_and_logs_in_variables_are_what_they_are_now() -> None:
    def move(s: Any) -> None:
        log, pairs = s.log, s.by
        s.log.truncate(0 * s.n)
        s.by[1].x = 3
        s.n = log.end
        s.a = pairs[1]

    assert after(instance_of(PAIRS, move), FIRST)["n"] == 0
    assert after(instance_of(PAIRS, move), FIRST)["a"] == pair(3, 1)


def test_a_struct_with_a_struct_in_it_is_made_in_place() -> None:
    def make(s: Any) -> None:
        s.case = Case(inner=Pair(x=0, seen=None), open=s.n == 0)

    def choose(s: Any) -> None:
        s.case = ite(s.n == 0, Case(inner=s.a, open=False), s.case)

    instance = instance_of(PAIRS, make, choose)
    assert after(instance, FIRST)["case"] == {"inner": pair(0, None), "open": True}
    assert after(instance, FIRST, 1)["case"] == {"inner": FIRST["a"], "open": False}
    with pytest.raises(ModelError, match="expected a Pair, got a Tag"):
        instance_of(PAIRS, lambda s: setattr(s, "case", Case(inner=Tag(t=None), open=True)))


# -- comparisons that Python would decide alone ---------------------------------------------------------------------------


def logs_compared(s: Any) -> None:
    require("same", s.log == s.other)


def arrays_compared(s: Any) -> None:
    require("other", s.by != s.by)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [(logs_compared, "logs have no ==; compare their ends"), (arrays_compared, "arrays have no ==; compare their elements")],
)
def test_what_python_would_compare_by_identity_is_refused(mistake: Callable[..., None], message: str) -> None:
    fields = {"log": field(Log(Pair, Number, 2)), "other": field(Log(Pair, Number, 2)), "by": field(Array(Node, Number))}
    with pytest.raises(ModelError, match=message):
        instance_of(fields, mistake)
