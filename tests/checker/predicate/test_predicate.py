"""Predicates mean what the same text means in Python over the decoded state, and say what they cannot mean."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from acked.checker.explore.nearest import nearest
from acked.checker.predicate.parse import PredicateError, parse_predicate
from acked.checker.predicate.text import example_of, slip_in
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.state import Array, Log, Optional, SetOf, Struct, field
from acked.model.language.values import Bool, Id, Int
from tests.checker.toys import counters, traveller

CONSTANTS = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}

MEANING = [
    "quorum.isr == {0, 1}",
    "quorum.isr != {0}",
    "quorum.leader == None",
    "quorum.leader == 1 or replica[0].leader == 0",
    "0 in quorum.isr and not 1 in replica[1].isr",
    "quorum.leader is not None and quorum.leader in quorum.isr",
    "log[0].end + 1 <= next_leader_epoch - 0",
    "any(replica[r].leader == r for r in replicas)",
    "all(log[r].end == 0 for r in replicas if r > 0)",
    "0 < next_leader_epoch <= 2",
    "(log[0].end == 0) == (log[1].end == 0)",
    "replicas == 2 and requests[0].leader == 0",
]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: plain(item) for name, item in value.items()})
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def as_python(text: str, state: dict[str, Any]) -> bool:
    """What Python itself makes of it; sets of ids are lists in a decoded state."""
    decoded = plain(state)
    for holder in (decoded.quorum, *decoded.replica, *decoded.requests):
        holder.isr = set(holder.isr)
    names = {**vars(decoded), "range": range}
    return bool(eval(text.replace("in replicas", "in range(2)").replace("replicas == 2", "True"), names))


@pytest.fixture(scope="module")
def instance() -> Instance:
    return PROTOCOLS["kip320"].instantiate(CONSTANTS)


def test_a_predicate_means_what_python_means(instance: Instance) -> None:
    rng = random.Random(7)
    conditions = [parse_predicate(text, instance) for text in MEANING]
    seen: set[tuple[str, bool]] = set()
    for _ in range(12):
        codes = instance.schema.unpack(instance.initial[0])
        for _ in range(25):
            values = Evaluator(conditions)(codes)
            state = instance.schema.decode(codes)
            for text, value in zip(MEANING, values, strict=True):
                assert bool(value) == as_python(text, state), (text, state)
                seen.add((text, bool(value)))
            enabled = instance.enabled_actions(codes)
            if not enabled:
                break
            codes = instance.fire(rng.choice(enabled), codes)
    assert len({text for text, value in seen if value}) == len(MEANING)


def test_a_record_past_the_end_is_none(instance: Instance) -> None:
    codes = instance.schema.unpack(instance.initial[0])
    texts = ["log[0].records[0].id == None", "log[0].records[0].id == 0", "log[0].records[1].epoch < 9"]
    assert Evaluator([parse_predicate(text, instance) for text in texts])(codes) == [1, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("1 +", "ends at column 3"),
        ("quorm.isr == {0}", "column 1: the state has no 'quorm' (did you mean quorum?)"),
        ("log[5].end == 1", "column 1: log has no 5; it has 0, 1"),
        ("log[0].end == 1 and log[0].ned == 1", "column 21: log[0] has no 'ned' (did you mean end?)"),
        ("log[0]", "log[0] is not a single field"),
        ("log[0].end", "is not a condition"),
        ("quorum.isr < {0}", "sets are compared with == and !="),
        ("quorum.isr == 1", "compare numbers with numbers"),
        ("replica[0].hw == 'a'", "'a' is a name, and this is not a field that holds one of several names"),
        ("__import__('os').system('true')", "the only calls are any"),
        ("(lambda: 1)() == 1", "the only calls are any"),
        ("quorum.__class__ == 1", "has no '__class__'"),
        ("any(1 == 1 for r in brokers)", "there is no constant 'brokers'"),
        ("[x for x in replicas] == 1", "not part of the language"),
        ("log[log[0].end].end == 1", "must be a number"),
        ("quorum.leader == 99999999999999999999", "not a value of a field"),
        ("not " * 3000 + "True", "longer than"),
        ("(" * 900 + "True" + ")" * 900, "cannot be read"),
    ],
)
def test_what_is_no_predicate_is_refused_with_its_place(instance: Instance, text: str, message: str) -> None:
    with pytest.raises(PredicateError) as refused:
        parse_predicate(text, instance)
    assert message in str(refused.value)


def test_the_nearest_state_is_really_nearest(instance: Instance) -> None:
    """Compared with a plain breadth-first walk."""
    text = "replica[1].leader == 0 and log[0].end == 1"
    wanted = parse_predicate(text, instance)
    start = instance.initial[0]
    level, known, depth = [start], {start}, 0
    while not any(Evaluator([wanted])(instance.schema.unpack(state))[0] for state in level):
        reached = []
        for state in level:
            codes = instance.schema.unpack(state)
            for step in instance.enabled_actions(codes):
                words = instance.schema.pack(instance.fire(step, codes))
                if words not in known:
                    known.add(words)
                    reached.append(words)
        level, depth = reached, depth + 1
    found = nearest(instance, start, text)
    assert found.run is not None
    assert len(found.run.actions) == depth == 4
    codes = instance.schema.unpack(start)
    for step in found.run.actions:
        assert step in instance.enabled_actions(codes)
        codes = instance.fire(step, codes)
    assert Evaluator([wanted])(codes) == [1]


def test_a_search_that_gave_up_does_not_say_that_there_is_no_such_state(instance: Instance) -> None:
    found = nearest(instance, instance.initial[0], "next_record_id == 2 and next_leader_epoch == 0", most_states=50)
    assert found.run is None
    assert not found.is_complete


# -- records past a log's end, and texts that say less than they seem to ---------------------------------------------------


class Node(Id, size=3):
    """A sort of ids."""


class Offset(Int, lo=0, hi=2):
    """A unit."""


class Tag(Struct):
    """A struct in a record."""

    known = field(Optional(Offset))


class Record(Struct):
    """A record with a field of every kind."""

    v = field(Offset)
    by = field(Node)
    flag = field(Bool)
    held = field(SetOf(Node))
    tag = field(Tag)


class Parts(Struct):
    """What only looks like a log."""

    end = field(Offset)
    records = field(Array(Node, Offset))


class Logged(Struct):
    """A log, and what only looks like one."""

    log = field(Log(Record, Offset, 2))
    parts = field(Parts)
    flag = field(Bool)
    held = field(SetOf(Node))
    who = field(Node)


@pytest.fixture(scope="module")
def logged() -> Instance:
    made = Protocol("logged", Logged, title="", source="", constants=(), initial=lambda s: None)
    return made.instantiate({})


def record(v: int, by: int, flag: bool, held: list[int], known: int | None) -> dict[str, Any]:
    return {"v": v, "by": by, "flag": flag, "held": held, "tag": {"known": known}}


def state_of(*records: dict[str, Any]) -> dict[str, Any]:
    """A state with these records; what only looks like a log ends before its records do."""
    log = {"end": len(records), "records": list(records)}
    return {"log": log, "parts": {"end": 0, "records": [1, 2, 0]}, "flag": True, "held": [0], "who": 0}


PAST = {
    # What is true of a record that is not there; `not`, != and `not in` among it, as in Python.
    "log.records[1].v is None": True,
    "log.records[1].v == 0": False,
    "log.records[1].v != 0": True,
    "log.records[1].v < 3": False,
    "log.records[1].v + 1 > 0": False,
    "log.records[1].by is None": True,
    "log.records[1].by == 0": False,
    "log.records[1].by == who": False,
    "log.records[1].by in held": False,
    "log.records[1].by not in held": True,
    "log.records[1].flag": False,
    "not log.records[1].flag": True,
    "log.records[1].flag is None": True,
    "log.records[1].flag == None": True,
    "log.records[1].flag is not None": False,
    "log.records[1].flag == True": False,
    "log.records[1].flag == False": False,
    "log.records[1].flag != True": True,
    "log.records[1].flag == flag": False,
    "log.records[1].flag == log.records[0].flag": False,
    "log.records[1].held is None": True,
    "log.records[1].held == {}": False,
    "log.records[1].held != {}": True,
    "log.records[1].held == held": False,
    "0 in log.records[1].held": False,
    "0 not in log.records[1].held": True,
    "len(log.records[1].held) == 0": False,
    "len(log.records[1].held) is None": True,
    "any(n >= 0 for n in log.records[1].held)": False,
    "all(n < 0 for n in log.records[1].held)": True,
    "count(n >= 0 for n in log.records[1].held) == 0": True,
    "log.records[1].tag.known is None": True,
    # A struct with fields of these names is no log.
    "parts.records[0] == 1 and parts.records[2] == 0": True,
}


@pytest.mark.parametrize("text", PAST)
def test_of_a_record_past_the_end_everything_is_none(logged: Instance, text: str) -> None:
    codes = logged.schema.encode(state_of(record(1, 1, True, [0, 2], 1)))
    assert Evaluator([parse_predicate(text, logged)])(codes) == [int(PAST[text])]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("log.records[1].flag == False and not log.records[1].flag and log.records[1].flag is not None", True),
        ("log.records[1].held == {1} and 1 in log.records[1].held and len(log.records[1].held) == 1", True),
        ("log.records[1].held is None or log.records[1].flag is None or log.records[1].by is None", False),
        ("log.records[1].by == 2 and log.records[1].by not in held and log.records[1].v == 0", True),
        ("log.records[1].tag.known is None and log.records[0].tag.known == 1", True),
        ("log.records[0].flag == flag and log.records[0].flag != log.records[1].flag", True),
    ],
)
def test_of_a_record_below_the_end_everything_is_there(logged: Instance, text: str, value: bool) -> None:
    codes = logged.schema.encode(state_of(record(1, 1, True, [0, 2], 1), record(0, 2, False, [1], None)))
    assert Evaluator([parse_predicate(text, logged)])(codes) == [int(value)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who==1) or (who==1", "cannot be read at column 7"),
        ("who == 1) # (", "column 11: a predicate has no comments"),
        ("who == 1 # only\nand flag", "column 10: a predicate has no comments"),
        ("  who == 7", "column 10: who is never 7"),
        ("who is None", "column 8: who is never None, so this is the same in every state"),
        ("log.end is not None", "log.end is never None"),
        ("flag is None", "compare numbers with numbers, sets with sets"),
        ("held is None", "compare numbers with numbers, sets with sets"),
        ("held == None", "compare numbers with numbers, sets with sets"),
        ("log.records[0].flag < True", "conditions are compared with == and !="),
        ("log.records[0].held", "this is not a condition"),
        ("log.records[0].flag == 1", "compare numbers with numbers"),
        ("(who == 1", "cannot be read"),
        ("who == 1;", "cannot be read"),
        ("who == \\\n1", "cannot be read"),
    ],
)
def test_a_text_that_says_less_than_it_seems_to_is_refused(logged: Instance, text: str, message: str) -> None:
    with pytest.raises(PredicateError) as refused:
        parse_predicate(text, logged)
    assert message in str(refused.value)


def test_columns_are_those_of_the_text_as_it_was_typed(logged: Instance) -> None:
    for text, column in (("whom == 1", 1), ("   whom == 1", 4), ("flag and\n  whom == 1", 12), ("flag and (whom == 1)", 11)):
        with pytest.raises(PredicateError, match=f"column {column}: the state has no 'whom'"):
            parse_predicate(text, logged)


def test_a_text_of_several_lines_is_read_as_one(logged: Instance) -> None:
    codes = logged.schema.encode(state_of())
    assert Evaluator([parse_predicate("\n flag\n and\n\n who == 0\n", logged)])(codes) == [1]


# -- texts of another language, and examples of this protocol --------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("quorum.leader = 0", "column 15: == compares"),
        ("  quorum.leader  = 0 and log[0].end == 1", "column 18: == compares"),
        ("log[0].end == 1 && log[1].end == 1", "column 17: write and instead of &&"),
        ("log[0].end == 1 || !replica[0].leader == 0", "column 17: write or instead of ||"),
        ("!(log[0].end == 1)", "column 1: write not instead of !"),
        ("quorum.leader ≠ 0", "column 15: write != instead of ≠"),
        ("log[0].end == 1 AND log[1].end == 1", "column 17: write and instead of AND"),
        ("quorum.leader == None and ", "ends at column 25, where more is to come"),
        ("any(log[0].end == 0", "cannot be read at column 4: '(' was never closed"),
        ("log[0].end log[1].end", "cannot be read at column 12"),
    ],
)
def test_a_sign_of_another_language_is_named_at_its_column(instance: Instance, text: str, sentence: str) -> None:
    with pytest.raises(PredicateError) as refused:
        parse_predicate(text, instance)
    assert sentence in str(refused.value)
    assert str(refused.value).endswith("write e.g. quorum.isr == {0} and log[1].end > 0")


@pytest.mark.parametrize("text", ["log[0].end <= 1 and log[1].end >= 0", "quorum.leader != 0", "quorum.leader == None"])
def test_signs_of_this_language_are_none_of_another(instance: Instance, text: str) -> None:
    parse_predicate(text, instance)
    assert slip_in(text) is None


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [*PROTOCOLS.values(), counters(2, 3), traveller()], ids=lambda item: item.name)
def test_the_example_is_a_predicate_of_the_protocol(protocol: Protocol) -> None:
    small = {item.name: min(max(2, item.lo), item.hi) for item in protocol.constants if item.default is None}
    made = protocol.instantiate(small)
    assert not parse_predicate(example_of(made.schema), made).is_const
