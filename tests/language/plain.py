"""What the language of protocols means, in plain Python: numbers, None, sets, lists and dicts, and nothing of ours.

The helpers that drawn twins are written with, renaming of ids, and how often each trap of the language was met on the way.
Nothing in this file imports a protocol, a type or an engine, and a test sees to that.

A twin's state is a dict of plain values. A log is `{"end": n, "slots": [...]}`, where a slot without a record is None. An id
that is none, such as that of a record past the end of a log, is `NO_ID`; it is in no set and equal to no id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum, unique
from typing import Any

NO_ID = -1

State = dict[str, Any]
Type = tuple[Any, ...]
"""`("number", lo, hi)`, `("bool",)`, `("id", sort, size)`, `("optional", type)`, `("set", sort, size)`,
`("struct", {name: type})`, `("array", sort or None, count, type)` or `("log", size, {name: type})`."""


@unique
class Trap(Enum):
    """What was once misread, or could be."""

    CONSTANT_LIKE_FIELD = "a constant named like a field"
    CONSTANT_LIKE_STRUCT = "a constant named like a struct of the state, both in predicates"
    EMPTY_RANGE = "an empty range quantified over"
    EMPTY_PARAMETER = "a parameter of an empty range"
    EMPTY_FIELD = "a field of an empty range"
    EMPTY_EXTREME = "greatest or least over an empty range"
    EMPTY_SORT = "a set of a sort without ids"
    OPTIONAL_OF_NOTHING = "an optional number of an empty range"
    BELOW_COMPARED = "an optional number compared with one below its least value"
    BELOW_ASSIGNED = "an optional number assigned one below its least value"
    NONE_ORDERED = "none compared by order"
    VALUE_OF_NONE = "the value of none"
    NEGATIVE_INDEX = "an array numbered from below zero"
    WRITTEN_PAST_END = "an assignment past a log's end"
    READ_PAST_END = "a record read past a log's end"
    NO_ROOM = "a log without room"
    CUT_AFTER_READ = "a record taken before its log was truncated, and used after"
    REPLACED_AFTER_READ = "a struct taken before another took its place, and used after"
    SWAPPED = "two structs exchanged"
    OWN_WRITES = "a struct read after it was assigned through its variable"
    CHANGED_ELSEWHERE = "a struct assigned through another variable"
    SORTS_EXCHANGED = "numbers in the place of ids, of the same cardinality"
    BLANK_IDS = "ids in blank slots under symmetry"
    PREDICATE_PAST_END = "a predicate about a number or an id past a log's end"
    FLAG_PAST_END = "a predicate about a truth value past a log's end"
    SET_PAST_END = "a predicate about a set past a log's end"
    UNBALANCED = "a predicate with unbalanced parentheses"
    COMMENT = "a predicate with a comment"
    OPTIONAL_MEMBER = "an optional id as a member, none among them"
    NONE_ADDED = "none added to a set"
    DROPPED_SET = "a set that a method returns and nobody uses"
    NOT_RUN = "a body that never runs"
    RETURNED = "a result that is dropped"
    SWALLOWED = "a refusal that is caught"
    KEPT = "a state kept from another action"
    UNSTEADY = "an action that is not the same each time"
    NESTED_OPTIONAL = "an optional value in a struct in a struct"


HITS: Counter[Trap] = Counter()
"""How often each trap was met; whoever counts clears it first."""


def note(trap: Trap) -> None:
    """Counts one meeting."""
    HITS[trap] += 1


# -- optional values ---------------------------------------------------------------------------------------------------


def below(a: int | None, b: int | None, least: int) -> bool:
    """None comes before every number."""
    for value in (a, b):
        if value is None:
            note(Trap.NONE_ORDERED)
        elif value < least:
            note(Trap.BELOW_COMPARED)
    return b is not None and (a is None or a < b)


def equal(a: int | None, b: int | None, least: int) -> bool:
    """Python's own, counted."""
    if any(value is not None and value < least for value in (a, b)):
        note(Trap.BELOW_COMPARED)
    return a == b


def value_of(a: int | None, least: int) -> int:
    """Of none it is one below the least value, which is no id."""
    if a is None:
        note(Trap.VALUE_OF_NONE)
        return least - 1
    return a


def stored(a: int | None, least: int) -> int | None:
    """What is assigned to an optional field, counted."""
    if a is not None and a < least:
        note(Trap.BELOW_ASSIGNED)
    return a


def over(values: Sequence[Any]) -> Sequence[Any]:
    """The values of a type, counted if there are none."""
    if not values:
        note(Trap.EMPTY_RANGE)
    return values


# -- sets --------------------------------------------------------------------------------------------------------------


def _member(who: int | None) -> int:
    if who is None:
        note(Trap.OPTIONAL_MEMBER)
        return NO_ID
    return who


def is_member(who: int | None, members: frozenset[int]) -> bool:
    """Whether an id, which may be none, is in a set."""
    return _member(who) in members


def with_member(members: frozenset[int], who: int | None) -> frozenset[int]:
    """The set with an id; with none it is no set of ids any more."""
    if who in (None, NO_ID):
        note(Trap.NONE_ADDED)
    return members | {_member(who)}


def without_member(members: frozenset[int], who: int | None) -> frozenset[int]:
    """The set without an id."""
    return members - {_member(who)}


def is_only(members: frozenset[int], who: int | None) -> bool:
    """Whether the set is just this id."""
    return members == {_member(who)}


def ids(members: frozenset[int]) -> list[int]:
    """The ids in a set."""
    return sorted(members - {NO_ID})


# -- structs, arrays and logs --------------------------------------------------------------------------------------------


def copied(value: Any) -> Any:
    """A value of its own; what is immutable needs no copy."""
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    if isinstance(value, list):
        return [copied(part) for part in value]
    return value


def element(array: list[Any], index: int) -> Any:
    """An element; beyond the array the last one."""
    return array[index] if 0 <= index < len(array) else array[-1]


def place(array: list[Any], index: int) -> Any:
    """The struct that an assignment goes to; beyond the array there is none."""
    return array[index] if 0 <= index < len(array) else None


def put(array: list[Any], index: int, value: Any) -> None:
    """Replaces an element; beyond the array nothing."""
    if 0 <= index < len(array):
        array[index] = value


def put_field(target: State | None, path: Sequence[str], value: Any) -> None:
    """Assigns a field of a struct, if there is one."""
    if target is None:
        return
    *outer, last = path
    for name in outer:
        target = target[name]
    target[last] = value


def has(log: State, offset: int) -> bool:
    """Whether a log holds a record at an offset."""
    return bool(0 <= offset < log["end"])


def record(log: State, offset: int, blank: State) -> State:
    """The record at an offset; past the end a blank one or that of the last slot, whatever is there."""
    slots = log["slots"]
    if not has(log, offset):
        note(Trap.READ_PAST_END)
    if not slots:
        note(Trap.NO_ROOM)
        return blank
    found = slots[offset] if 0 <= offset < len(slots) else slots[-1]
    return blank if found is None else found  # type: ignore[no-any-return]


def slot(log: State, offset: int) -> State | None:
    """The record that an assignment goes to; None where there is no record."""
    if not has(log, offset) or offset >= len(log["slots"]):
        note(Trap.WRITTEN_PAST_END)
        return None
    return log["slots"][offset]  # type: ignore[no-any-return]


def append(log: State, new: State) -> None:
    """Puts a record at the end; in a full log the end leaves its range."""
    if 0 <= log["end"] < len(log["slots"]):
        log["slots"][log["end"]] = copied(new)
    log["end"] += 1


def truncate(log: State, cut: int) -> None:
    """Drops every record from an offset on."""
    for offset in range(len(log["slots"])):
        if offset >= cut:
            log["slots"][offset] = None
    log["end"] = min(cut, log["end"])


# -- types -------------------------------------------------------------------------------------------------------------


def blank(kind: Type) -> Any:
    """What a field holds before anything is assigned."""
    match kind:
        case ("number", lo, _):
            return lo
        case ("bool",):
            return False
        case ("id", _, _):
            return 0
        case ("optional", _):
            return None
        case ("set", _, _):
            return frozenset()
        case ("struct", fields):
            return {name: blank(part) for name, part in fields.items()}
        case ("array", _, count, inner):
            return [blank(inner) for _ in range(count)]
        case ("log", size, _):
            return {"end": 0, "slots": [None] * size}
    raise AssertionError(kind)


def blank_record(fields: dict[str, Type]) -> State:
    """What is read where a log holds no record: its ids are none."""
    made = {}
    for name, kind in fields.items():
        made[name] = NO_ID if kind[0] == "id" else blank_record(kind[1]) if kind[0] == "struct" else blank(kind)
    return made


def outside(value: Any, kind: Type, name: str = "") -> Iterator[str]:
    """The fields whose values are none of their types, named as in traces."""
    match kind:
        case ("number", lo, hi):
            is_inside = lo <= value <= hi
        case ("bool",):
            is_inside = isinstance(value, bool)
        case ("id", _, size):
            is_inside = 0 <= value < size
        case ("optional", inner):
            is_inside = value is None or not list(outside(value, inner))
        case ("set", _, size):
            is_inside = value <= frozenset(range(size))
        case ("struct", fields):
            for part, inner in fields.items():
                yield from outside(value[part], inner, f"{name}.{part}".lstrip("."))
            return
        case ("array", _, _, inner):
            for number, item in enumerate(value):
                yield from outside(item, inner, f"{name}[{number}]")
            return
        case ("log", size, fields):
            for number, item in enumerate(value["slots"]):
                if item is not None:
                    yield from outside(item, ("struct", fields), f"{name}.records[{number}]")
            is_inside, name = 0 <= value["end"] <= size, f"{name}.end"
        case _:
            raise AssertionError(kind)
    if not is_inside:
        yield name


def decoded(value: Any, kind: Type) -> Any:
    """A value as traces show it."""
    match kind:
        case ("set", _, _):
            return sorted(value)
        case ("struct", fields):
            return {name: decoded(value[name], part) for name, part in fields.items()}
        case ("array", _, _, inner):
            return [decoded(item, inner) for item in value]
        case ("log", _, fields):
            end = value["end"]
            return {"end": end, "records": [decoded(item, ("struct", fields)) for item in value["slots"][:end]]}
    return value


def renamed(value: Any, kind: Type, to: Sequence[int], sort: str) -> Any:
    """A decoded value with id k of a sort called `to[k]`."""
    match kind:
        case ("id", of, _) if of == sort:
            return to[value]
        case ("optional", inner):
            return None if value is None else renamed(value, inner, to, sort)
        case ("set", of, _) if of == sort:
            return sorted(to[k] for k in value)
        case ("struct", fields):
            return {name: renamed(value[name], part, to, sort) for name, part in fields.items()}
        case ("array", of, _, inner):
            items = [renamed(item, inner, to, sort) for item in value]
            return [items[to.index(k)] for k in range(len(items))] if of == sort else items
        case ("log", _, fields):
            records = [renamed(item, ("struct", fields), to, sort) for item in value["records"]]
            return {"end": value["end"], "records": records}
    return value


# -- predicates over decoded states --------------------------------------------------------------------------------------


def part(log: State, offset: int, path: Sequence[str], trap: Trap) -> Any:
    """A field of a log's record; None where there is no record."""
    if offset >= log["end"]:
        note(trap)
        return None
    found = log["records"][offset]
    for name in path:
        found = found[name]
    return found


def plus(a: int | None, b: int | None) -> int | None:
    """A sum; of None it is None."""
    return None if a is None or b is None else a + b


def minus(a: int | None, b: int | None) -> int | None:
    """A difference; of None it is None."""
    return None if a is None or b is None else a - b


def less(a: int | None, b: int | None) -> bool:
    """None is neither below nor above anything."""
    return a is not None and b is not None and a < b


def at_most(a: int | None, b: int | None) -> bool:
    """Whether one is at most the other."""
    return a is not None and b is not None and a <= b


def inside(a: int | None, members: list[int] | None) -> bool:
    """Nothing is in None, and None is in nothing."""
    return a is not None and members is not None and a in members


def size(members: list[int] | None) -> int | None:
    """How many are in a set."""
    return None if members is None else len(members)


def each(members: list[int] | None) -> list[int]:
    """Those in a set, of which None has none."""
    return members or []
