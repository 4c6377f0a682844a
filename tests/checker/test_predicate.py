"""Predicates mean what the same text means in Python over the decoded state, and say what they cannot mean."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from checker.nearest import nearest
from checker.predicate import PredicateError, parse_predicate
from model.catalogue import PROTOCOLS
from model.evaluate import Evaluator
from model.protocol import Instance

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
            enabled = instance.enabled(codes)
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
        ("1 +", "cannot be read"),
        ("quorm.isr == {0}", "column 1: the state has no 'quorm' (did you mean quorum?)"),
        ("log[5].end == 1", "column 1: log has no 5; it has 0, 1"),
        ("log[0].end == 1 and log[0].ned == 1", "column 21: log[0] has no 'ned' (did you mean end?)"),
        ("log[0]", "log[0] is no single field"),
        ("log[0].end", "is no condition"),
        ("quorum.isr < {0}", "sets are compared with == and !="),
        ("quorum.isr == 1", "compare numbers with numbers"),
        ("replica[0].hw == 'a'", "'a' is no value of a field"),
        ("__import__('os').system('true')", "the only calls are any"),
        ("(lambda: 1)() == 1", "the only calls are any"),
        ("quorum.__class__ == 1", "has no '__class__'"),
        ("any(1 == 1 for r in brokers)", "there is no constant 'brokers'"),
        ("[x for x in replicas] == 1", "not part of the language"),
        ("log[log[0].end].end == 1", "must be a number"),
        ("quorum.leader == 99999999999999999999", "no value of a field"),
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
            for step in instance.enabled(codes):
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
        assert step in instance.enabled(codes)
        codes = instance.fire(step, codes)
    assert Evaluator([wanted])(codes) == [1]


def test_a_search_that_gave_up_does_not_say_that_there_is_no_such_state(instance: Instance) -> None:
    found = nearest(instance, instance.initial[0], "next_record_id == 2 and next_leader_epoch == 0", most_states=50)
    assert found.run is None
    assert not found.is_complete
