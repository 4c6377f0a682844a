"""Typed values mean what Python's own sets, optionals, lists and numbers mean, in every state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from acked.model.formulas.evaluate import evaluate
from acked.model.language.context import Constant, literal
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every, greatest, implies, ite, least, some
from acked.model.language.state import Array, Between, Log, Optional, SetOf, Struct, all_of, field, none_of
from acked.model.language.values import Bool, Id, Int


class Node(Id, size=3):
    """A sort."""


class Epoch(Int, lo=1, hi=3):
    """A unit that does not begin at 0."""


class Offset(Int, lo=0, hi=2):
    """Positions in the log."""


class Record(Struct):
    """What the log holds."""

    epoch = field(Epoch)
    flag = field(Bool)


class State(Struct):
    """A field of every kind."""

    number = field(Epoch)
    who = field(Node)
    leader = field(Optional(Node))
    epoch = field(Optional(Epoch))
    members = field(SetOf(Node))
    others = field(SetOf(Node))


class Logs(Struct):
    """Two logs and an offset that may lie outside both."""

    mine = field(Log(Record, Offset, 2))
    yours = field(Log(Record, Offset, 2))
    offset = field(Between(Offset, -1, 3))
    taken = field(Array(Node, Epoch))
    spot = field(Node)


def instance_of(state: type[Struct], *functions: Callable[..., None]) -> Any:
    """A protocol over this state."""
    made = Protocol("p", state, title="", source="", constants=(), initial=lambda s: None)
    for function in functions:
        made.action()(function)
    return made.instantiate({})


NUMBERS = range(1, 4)
NODES = range(3)
SETS = [[k for k in NODES if mask >> k & 1] for mask in range(8)]
PLAIN = [
    {"number": n, "who": w, "leader": led, "epoch": e, "members": m, "others": o}
    for n, w, led, e, m, o in product(NUMBERS, NODES, [None, 0, 2], [None, 1, 3], SETS, [[], [0], [1, 2], [0, 1, 2]])
]


CONDITIONS: dict[str, tuple[Callable[[Any], Bool], Callable[[dict[str, Any]], bool]]] = {
    "contains": (lambda s: s.members.contains(s.who), lambda p: p["who"] in p["members"]),
    "add": (lambda s: s.members.add(s.who) == s.others, lambda p: {*p["members"], p["who"]} == set(p["others"])),
    "remove": (lambda s: s.members.remove(s.who) == s.others, lambda p: {*p["members"]} - {p["who"]} == set(p["others"])),
    "is only": (lambda s: s.members.is_only(s.who), lambda p: p["members"] == [p["who"]]),
    "subset": (lambda s: s.members.issubset(s.others), lambda p: {*p["members"]} <= {*p["others"]}),
    "union": (lambda s: (s.members | s.others) == all_of(Node), lambda p: {*p["members"], *p["others"]} == {0, 1, 2}),
    "intersection": (lambda s: (s.members & s.others).is_empty, lambda p: not {*p["members"]} & {*p["others"]}),
    "difference": (lambda s: s.members - s.others == none_of(Node), lambda p: {*p["members"]} <= {*p["others"]}),
    "size": (lambda s: s.members.size >= 2, lambda p: len(p["members"]) >= 2),
    "is none": (lambda s: s.leader.is_none, lambda p: p["leader"] is None),
    "is a node": (lambda s: s.leader == s.who, lambda p: p["leader"] == p["who"]),
    "is no node": (lambda s: s.who != s.leader, lambda p: p["leader"] != p["who"]),
    "none is below": (lambda s: s.epoch < s.number, lambda p: p["epoch"] is None or p["epoch"] < p["number"]),
    "above an optional": (lambda s: s.number > s.epoch, lambda p: p["epoch"] is None or p["epoch"] < p["number"]),
    "at least": (lambda s: s.epoch >= 2, lambda p: p["epoch"] is not None and p["epoch"] >= 2),
    "value": (lambda s: s.epoch.is_some & (s.epoch.value == s.number), lambda p: p["epoch"] == p["number"]),
    "arithmetic": (lambda s: 5 - s.number * 2 == (s.number + 1) % 3, lambda p: 5 - p["number"] * 2 == (p["number"] + 1) % 3),
    "every": (lambda s: every(s.members, lambda m: m == s.leader), lambda p: all(m == p["leader"] for m in p["members"])),
    "some": (lambda s: some(s.members, lambda m: m == s.leader), lambda p: any(m == p["leader"] for m in p["members"])),
    "every of a type": (lambda s: every(Node, s.members.contains), lambda p: p["members"] == [0, 1, 2]),
    "some of a type": (lambda s: some(Epoch, lambda e: e == s.epoch), lambda p: p["epoch"] is not None),
    "implies": (
        lambda s: implies(s.members.is_empty, s.others.is_empty),
        lambda p: bool(p["members"]) or not p["others"],
    ),
    "greatest": (
        lambda s: greatest(Epoch, lambda e: e < s.number, otherwise=s.number) == s.number,
        lambda p: max([e for e in NUMBERS if e < p["number"]], default=p["number"]) == p["number"],
    ),
    "least": (
        lambda s: least(Epoch, lambda e: e > s.number) == 3,
        lambda p: min([e for e in NUMBERS if e > p["number"]], default=3) == 3,
    ),
    "choice with none": (
        lambda s: ite(s.members.is_empty, None, s.leader) == s.who,
        lambda p: (None if not p["members"] else p["leader"]) == p["who"],
    ),
    "choice of a value": (
        lambda s: ite(s.members.is_empty, s.who, s.leader).is_none,
        lambda p: bool(p["members"]) and p["leader"] is None,
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_means_what_python_says_in_every_state(name: str) -> None:
    symbolic, plain = CONDITIONS[name]
    instance = instance_of(State)
    condition = instance.state_predicate(name, symbolic)
    for state in PLAIN:
        assert evaluate(condition, instance.schema.encode(state)) == plain(state), state


# -- logs and arrays -----------------------------------------------------------------------------------------------------

RECORDS = [{"epoch": 1, "flag": False}, {"epoch": 1, "flag": True}, {"epoch": 3, "flag": False}]
LOGS = [{"end": len(records), "records": list(records)} for n in range(3) for records in product(RECORDS, repeat=n)]


def states_with_logs(offsets: range = range(-1, 4)) -> list[dict[str, Any]]:
    """Every pair of logs with every offset."""
    return [
        {"mine": mine, "yours": yours, "offset": offset, "taken": [1, 2, 3], "spot": 1}
        for mine, yours, offset in product(LOGS, LOGS[:5], offsets)
    ]


def holds(log: dict[str, Any], offset: int) -> bool:
    """Whether a plain log has a record there."""
    return 0 <= offset < int(log["end"])


def test_a_log_has_what_lies_below_its_end() -> None:
    instance = instance_of(Logs)
    has = instance.state_predicate("has", lambda s: s.mine.has(s.offset))
    same = instance.state_predicate("same", lambda s: s.mine.same_record_at(s.yours, s.offset))
    last = instance.state_predicate("last", lambda s: ~s.mine.is_empty & (s.mine.last.epoch == 3))
    full = instance.state_predicate("full", lambda s: s.mine.is_full)
    for state in states_with_logs():
        codes, mine, yours, at = instance.schema.encode(state), state["mine"], state["yours"], state["offset"]
        assert evaluate(has, codes) == holds(mine, at)
        both = holds(mine, at) and holds(yours, at)
        assert evaluate(same, codes) == (both and mine["records"][at] == yours["records"][at])
        assert evaluate(last, codes) == (bool(mine["records"]) and mine["records"][-1]["epoch"] == 3)
        assert evaluate(full, codes) == (mine["end"] == 2)


def after(instance: Any, state: dict[str, Any]) -> Any:
    """The plain state after the only action."""
    return instance.schema.decode(instance.fire(instance.actions[0], instance.schema.encode(state)))


def test_append_puts_a_record_at_the_end() -> None:
    def write(s: Logs) -> None:
        s.mine.append(Record(epoch=2, flag=True))

    instance = instance_of(Logs, write)
    for state in states_with_logs(range(1)):
        if state["mine"]["end"] < 2:
            records = [*state["mine"]["records"], {"epoch": 2, "flag": True}]
            assert after(instance, state) == state | {"mine": {"end": len(records), "records": records}}


def test_truncate_drops_records_and_wipes_their_places() -> None:
    def cut(s: Logs) -> None:
        s.mine.truncate(s.offset)

    instance = instance_of(Logs, cut)
    for state in states_with_logs(range(4)):
        records = state["mine"]["records"][: state["offset"]]
        codes = instance.fire(instance.actions[0], instance.schema.encode(state))
        assert codes == instance.schema.encode(state | {"mine": {"end": len(records), "records": records}})


def test_a_record_copied_from_another_log_is_the_same_record() -> None:
    def copy(s: Logs) -> None:
        s.mine.append(s.yours.at(s.offset))

    instance = instance_of(Logs, copy)
    for state in states_with_logs(range(2)):
        if state["mine"]["end"] < 2 and holds(state["yours"], state["offset"]):
            records = [*state["mine"]["records"], state["yours"]["records"][state["offset"]]]
            assert after(instance, state)["mine"]["records"] == records


def test_an_array_is_written_only_where_the_index_points() -> None:
    def take(s: Logs) -> None:
        s.taken[s.spot] = s.taken[Node(literal(0))]

    instance = instance_of(Logs, take)
    state = states_with_logs()[0]
    for at in NODES:
        wanted = [1 if k == at else old for k, old in enumerate([1, 2, 3])]
        assert after(instance, state | {"spot": at})["taken"] == wanted


def test_assignments_take_effect_one_after_the_other() -> None:
    def chain(s: State) -> None:
        s.number = 3
        s.epoch = s.number
        s.number = 1

    instance = instance_of(State, chain)
    result = after(instance, PLAIN[5])
    assert (result["number"], result["epoch"]) == (1, 3)


def test_constants_stand_on_either_side_of_an_operator() -> None:
    limit = Constant("limit", 0, 9, "a number")

    class Amount(Int, lo=0, hi=limit):
        """A unit."""

    state = type("State", (Struct,), {"x": field(Amount)})
    made = Protocol("p", state, title="", source="", constants=(limit,), initial=lambda s: None)
    instance = made.instantiate({"limit": 5})
    cases: tuple[tuple[str, Callable[[Any], Bool], Callable[[int], bool]], ...] = (
        ("sum", lambda s: limit + s.x == 7, lambda x: 5 + x == 7),
        ("difference", lambda s: limit - s.x == 2, lambda x: 5 - x == 2),
        ("product", lambda s: limit * s.x == 10, lambda x: 5 * x == 10),
        ("order", lambda s: limit > s.x, lambda x: x < 5),
        ("sized", lambda s: s.x == limit - 2, lambda x: x == 5 - 2),
        ("equal", lambda s: limit == s.x, lambda x: x == 5),
    )
    for name, symbolic, plain in cases:
        condition = instance.state_predicate(name, symbolic)
        assert [evaluate(condition, [x]) for x in range(6)] == [plain(x) for x in range(6)], name


def test_one_action_instance_is_made_per_binding_that_can_be_enabled() -> None:
    from acked.model.language.action import require

    def pick(s: State, a: Node, b: Node, e: Epoch) -> None:
        require("apart", a != b)
        s.who = a

    instance = instance_of(State, pick)
    assert [step.arguments for step in instance.actions] == [
        {"a": a, "b": b, "e": e} for a, b, e in product(NODES, NODES, NUMBERS) if a != b
    ]
    assert instance.actions[0].label == "Pick(a=0, b=1, e=1)"
