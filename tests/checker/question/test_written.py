"""What people write themselves, invariants and states they look for, is decided like what ships: by every reachable state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.checker.batch.outcome import Probing, Task
from acked.checker.predicate.parse import PredicateError, parse_predicate
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason
from acked.checker.question.user_properties import reach_lengths, sought, written_invariant
from acked.checker.question.vacuity import vacuity_probes, vacuous
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec, parse_spec
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from tests.oracle import Space

CONSTANTS = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
INSTANCE = PROTOCOLS["kip320"].instantiate(CONSTANTS)
SPACE = Space(Question(INSTANCE, ()))
STATES = [[(words, INSTANCE.schema.decode(INSTANCE.schema.unpack(words))) for words in level] for level in SPACE.levels]

State = dict[str, Any]
Written = tuple[str, Callable[[State, int], Any]]
"""A text, and what it means in a decoded state for a value of r, said in plain Python by the test itself."""

NUMBERS: list[Written] = [
    ("log[r].end", lambda s, r: s["log"][r]["end"]),
    ("replica[r].hw", lambda s, r: s["replica"][r]["hw"]),
    ("next_leader_epoch", lambda s, r: s["next_leader_epoch"]),
    ("replica[r].leader_epoch", lambda s, r: s["replica"][r]["leader_epoch"]),
    ("quorum.leader_epoch", lambda s, r: s["quorum"]["leader_epoch"]),
    ("log[r].records[0].epoch", lambda s, r: s["log"][r]["records"][0]["epoch"] if s["log"][r]["end"] else None),
    ("len(quorum.isr)", lambda s, r: len(s["quorum"]["isr"])),
    ("count(log[q].end > 0 for q in quorum.isr)", lambda s, r: sum(s["log"][q]["end"] > 0 for q in s["quorum"]["isr"])),
    ("count(True for q in replicas if q in replica[r].isr)", lambda s, r: len(s["replica"][r]["isr"])),
]
IDS: list[Written] = [
    ("quorum.leader", lambda s, r: s["quorum"]["leader"]),
    ("replica[r].leader", lambda s, r: s["replica"][r]["leader"]),
    ("requests[0].leader", lambda s, r: s["requests"][0]["leader"]),
    ("r", lambda s, r: r),
]
SETS: list[Written] = [
    ("quorum.isr", lambda s, r: s["quorum"]["isr"]),
    ("replica[r].isr", lambda s, r: s["replica"][r]["isr"]),
    ("{0, r}", lambda s, r: sorted({0, r})),
]


def _order(a: Any, b: Any, compare: Callable[[int, int], bool]) -> bool:
    return a is not None and b is not None and compare(a, b)


def _compared(one: Written, operator: str, other: Written) -> Written:
    (a, left), (b, right) = one, other
    made: dict[str, Callable[[Any, Any], bool]] = {
        "==": lambda x, y: x == y,
        "!=": lambda x, y: x != y,
        "<": lambda x, y: _order(x, y, int.__lt__),
        ">=": lambda x, y: _order(x, y, int.__ge__),
        "in": lambda x, y: x in y,
    }
    return f"{a} {operator} {b}", lambda s, r: made[operator](left(s, r), right(s, r))


def _joined(one: Written, word: str, other: Written) -> Written:
    (a, left), (b, right) = one, other
    if word == "and":
        return f"({a}) and ({b})", lambda s, r: left(s, r) and right(s, r)
    if word == "if":
        return f"not ({a}) or ({b})", lambda s, r: not left(s, r) or right(s, r)
    return f"({a}) or ({b})", lambda s, r: left(s, r) or right(s, r)


def _repeated(part: Written, kind: str, over: str) -> Written:
    text, holds = part
    python = {"any": any, "all": all}[kind]

    def values(s: State) -> list[int]:
        return [0, 1] if over == "replicas" else s["quorum"]["isr"]

    return f"{kind}({text} for r in {over})", lambda s, r: python(holds(s, value) for value in values(s))


ATOMS = st.one_of(
    st.builds(_compared, st.sampled_from(NUMBERS), st.sampled_from(["==", "!=", "<", ">="]), st.sampled_from(NUMBERS)),
    st.builds(_compared, st.sampled_from(IDS), st.sampled_from(["==", "!="]), st.sampled_from(IDS)),
    st.builds(_compared, st.sampled_from(IDS), st.just("in"), st.sampled_from(SETS)),
    st.builds(_compared, st.sampled_from(SETS), st.sampled_from(["==", "!="]), st.sampled_from(SETS)),
)
BODIES = st.recursive(
    ATOMS, lambda inner: st.builds(_joined, inner, st.sampled_from(["and", "or", "if"]), inner), max_leaves=4
)
PREDICATES = st.builds(_repeated, BODIES, st.sampled_from(["any", "all"]), st.sampled_from(["replicas", "quorum.isr"]))


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(st.lists(PREDICATES, min_size=12, max_size=12))
def test_what_is_found_is_what_looking_at_every_state_finds(written: list[Written]) -> None:
    """Twelve random predicates a search, each against a plain walk over all levels; with one worker and with two."""
    wanted = tuple(sought(f"P{at}", text) for at, (text, _) in enumerate(written))
    instance = PROTOCOLS["kip320"].instantiate(CONSTANTS)
    first: dict[str, int] = {}
    for at, (_, holds) in enumerate(written):
        depths = (depth for depth, level in enumerate(STATES, 1) if any(holds(state, 0) for _, state in level))
        if (depth := next(depths, None)) is not None:
            first[f"P{at}"] = depth
    answers = [
        search(Question(instance, wanted), Bounds(workers=workers), StopPolicy.EVERY_PROPERTY) for workers in (1, 2)
    ]
    for result in answers:
        assert {item.property.name: item.trace_length for item in result.violations} == first
        assert result.stopped is StopReason.COMPLETE
        for item in result.violations:
            _, holds = written[int(item.property.name[1:])]
            last = instance.schema.decode(instance.schema.unpack(item.run.states[-1]))
            assert holds(last, 0)
    assert [item.run.states for item in answers[0].violations] == [item.run.states for item in answers[1].violations]


SPEC = """\
title = "What I promise"
protocol = "kip320"
[constants]
replicas = 2
log_size = 2
max_records = 2
max_leader_epoch = 1
[invariants.LeaderIsIn]
holds = "all(r in quorum.isr for r in replicas if quorum.leader == r)"
doc = "whoever leads is in sync"
[reach]
Alone = "quorum.isr == {0} and log[1].end == 1"
Nobody = "quorum.leader == 1 and quorum.isr == {}"
[check]
invariants = ["LeaderIsIn", "WeakIsr"]
[expect]
verdict = "holds"
unreachable = "Nobody"
"""


def spec_of(text: str) -> Spec:
    return parse_spec(text, Path("mine.toml"))


def test_a_spec_is_answered_with_what_it_writes_itself() -> None:
    spec = spec_of(SPEC)
    for question in (spec.question(), Task.of(spec, Probing.VACUITY).question()):
        result = search(question, policy=StopPolicy.EVERY_PROPERTY)
        assert result.stopped is StopReason.COMPLETE
        assert not result.violations
        assert reach_lengths(result.probes.items()) == {"Alone": 5, "Nobody": None}
        assert vacuous(result.probes) == []
        assert spec.expect is not None
        assert spec.expect.differences(result) == []


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ('unreachable = "Nobody"\n', "", "Nobody is unreachable; list it in unreachable if that is meant"),
        ('unreachable = "Nobody"', 'unreachable = ["Nobody", "Alone"]', "Alone is reached in 4 steps; expected to be"),
        ("r in quorum.isr for r in replicas if quorum.leader == r", "log[r].end < 2 for r in replicas", "verdict is"),
    ],
)
def test_another_answer_than_expected_is_a_difference(old: str, new: str, difference: str) -> None:
    assert old in SPEC
    spec = spec_of(SPEC.replace(old, new))
    result = search(spec.question(), policy=StopPolicy.EVERY_PROPERTY)
    assert spec.expect is not None
    assert [item for item in spec.expect.differences(result) if item.startswith(difference)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"quorum.isr == {0} and log', '"quorm.isr == {0} and log', "mine.toml:12: Alone: column 1: the state has no"),
        ("if quorum.leader == r", "if quorum.leader == 5", "mine.toml:9: LeaderIsIn: column 59: quorum.leader is never 5"),
        ("quorum.leader == r)", "quorum.leader == log[r].end)", "a Replica is compared with a number that counts"),
        ("quorum.leader == r)", "quorum.leader < r)", "ids have no order"),
        ("for r in replicas if", "for replicas in replicas if", "'replicas' is a name of the protocol"),
        ('["LeaderIsIn", "WeakIsr"]', '["WeakIsr"]', "mine.toml:8: LeaderIsIn is written but not asked"),
        ("LeaderIsIn", "WeakIsr", "there is a property WeakIsr already"),
        ("[invariants.LeaderIsIn]", "[invariants.Deadlock]", "'Deadlock' cannot be the name of something of your own"),
        ("doc = ", "dok = ", "unknown key 'dok' in [invariants.LeaderIsIn] (did you mean doc?)"),
        ('unreachable = "Nobody"', 'unreachable = "Nobdy"', "'Nobdy' is expected to be unreachable but not looked for (d"),
        ("Alone = ", "LeaderIsIn = ", "there is a property LeaderIsIn already"),
        ('Alone = "quorum', 'Alone = 3 #', "reach.Alone is 3 and must be text in quotes"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert old in SPEC
    with pytest.raises(ConfigurationError) as refused:
        spec_of(SPEC.replace(old, new))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "is_vacuous"),
    [
        ("all(log[r].end > 5 for r in replicas if quorum.leader == r and quorum.isr == {})", True),
        ("not (quorum.isr == {} and quorum.leader is not None) or next_leader_epoch == 0", True),
        ("all(log[r].end < 1 for r in quorum.isr)", False),
        ("log[0].end <= 2 and (not quorum.isr == {} or quorum.leader is None)", False),
        ("all(all(log[r].end < 1 for q in replicas if q in quorum.isr) for r in replicas)", False),
        ("not all(log[r].end > 2 for r in quorum.isr)", False),
    ],
)
def test_a_promise_whose_condition_never_comes_true_says_nothing(text: str, is_vacuous: bool) -> None:
    promise = (written_invariant("Mine", text),)
    result = search(Question(PROTOCOLS["kip320"].instantiate(CONSTANTS), promise, vacuity_probes(promise)))
    assert result.stopped is StopReason.COMPLETE or result.violations
    assert (vacuous(result.probes) == ["Mine"]) == is_vacuous


def test_what_a_spec_writes_is_part_of_what_its_answer_is_kept_under() -> None:
    """Another predicate, or another state that is looked for, is another question."""
    tasks = [Task.of(spec_of(SPEC.replace(*change))) for change in (("", ""), ("in sync", "in"), ("{0} and", "{1} and"))]
    tasks.append(Task.of(spec_of(SPEC.replace("r in quorum.isr for", "not r in quorum.isr for"))))
    assert len({str(task.document()) for task in tasks}) == 4
    prints = [task.question().fingerprint for task in tasks]
    assert prints[0] == prints[1] == prints[2] != prints[3]


def test_a_predicate_means_the_same_natively_as_plainly() -> None:
    """On `partition`, whose fields come and go with the settings."""
    constants = {"replicas": 2, "records": 1, "log_size": 1, "crashes": "none"}
    instance = PROTOCOLS["partition"].instantiate(constants)
    text = "any(broker[r].leader == r and broker[r].hw == log[r].end and log[r].end > 0 for r in controller.isr)"
    wanted = sought("P", text)
    result = search(Question(instance, (wanted,)))
    assert len(result.violations) == 1
    holds = Evaluator([instance.state_predicate("P", wanted.predicate)])
    values = [holds(instance.schema.unpack(words)) for words in result.violations[0].run.states]
    assert values == [[0]] * (len(values) - 1) + [[1]]


HOSTILE = [
    *("a" * 3000, "\x00", "((((", "r" + "[0]" * 400, "1 if 2 else 3 == 4", "{**1}", "f'{1}' == 1", "lambda: 0", "(yield)"),
    *("await x", "x := 1", "any(True for r in range(10**9))", "any(True for r in range(999999))", "len(3) == 3"),
    "any(any(any(any(True for a in range(99)) for b in range(99)) for c in range(99)) for d in range(99))",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(PredicateError) as refused:
        parse_predicate(text, INSTANCE)
    assert "\n" not in str(refused.value)
