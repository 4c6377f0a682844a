"""Recoverability: the backward search against a plain one on random protocols, and what is said of dead ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.plain import from_plain, to_plain
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, StopReason, Verdict
from acked.checker.question.user_properties import recoverable, recoverable_named
from acked.checker.replay.trace_file import replay, trace_document
from acked.checker.search.local import LocalSearch, search
from acked.checker.spec.spec import load_spec, parse_spec
from acked.checker.store.run_directory import RunDirectory
from acked.cli import main
from acked.invariants.property import Kind, Property
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.values import Bool
from tests.oracle import Space, TooLarge
from tests.places import SPECS
from tests.random_protocols import TRUTHS, Plan, Recipe, Scope, plans, protocol_of, truth

SPECS = SPECS / "recoverable"
MEMORY = 1 << 28
LABEL = "guard 0"
"""Of the guards of random actions, the one that is taken for a bound of the model in some examples."""


def asked(plan: Plan, recipe: Recipe, bounded: bool, without: tuple[str, ...]) -> Question:
    protocol = protocol_of(plan)
    protocol.budgets = frozenset({LABEL} if bounded else ())

    def holds(state: object) -> Bool:
        return Bool(Bool.lift(truth(recipe, Scope(plan, (state,)))))

    item = Property("Again", Kind.RECOVERABLE, holds, "", "", "", None, without)
    return Question(protocol.instantiate({}), (item,))


def plainly(question: Question, space: Space) -> tuple[str, int | None]:
    """The verdict, and the first level that has a dead end, by following steps until nothing changes."""
    instance, item = question.instance, question.properties[0]
    is_good = Evaluator([instance.state_predicate(item.name, item.predicate)])
    good, free = set(), set()
    for state in space.level_of:
        codes = instance.schema.unpack(state)
        if is_good(codes)[0]:
            good.add(state)
        for step in instance.actions:
            values = Evaluator([guard.condition for guard in step.guards])(codes)
            bound = [guard.label in instance.protocol.budgets for guard in step.guards]
            others = all(value for value, is_bound in zip(values, bound, strict=True) if not is_bound)
            if others and not all(values):
                free.add(state)
    steps = [
        (instance.schema.pack(instance.fire(step, codes)), state)
        for state in space.level_of
        for codes in [instance.schema.unpack(state)]
        for step in instance.enabled_actions(codes)
        if step.action.name not in item.without
    ]

    def reaching(targets: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
        reached = set(targets)
        while more := {source for target, source in steps if target in reached and source not in reached}:
            reached |= more
        return reached

    if len(reaching(good)) == len(space.level_of):
        return "holds", None
    dead = set(space.level_of) - reaching(good | free)
    return ("violated", 1 + min(space.level_of[state] for state in dead)) if dead else ("budget", None)


def said(result: Result) -> tuple[str, int | None]:
    if result.stopped is StopReason.BUDGET:
        assert result.verdict is Verdict.INCOMPLETE
        return "budget", None
    return result.verdict.value, result.violated.get("Again")


ENDING = Plan(
    numbers=((0, 3),),
    has_log=False,
    has_array=False,
    initial=(0,),
    actions=((0, (("<", ("field", 0, 0), ("const", 2)),), (("step", 0, 1),)), (1, (), (("join", 0), ("owner", 0)))),
    properties=(),
    deadlock_at=None,
)


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@example(ENDING, ("<", ("field", 0, 0), ("const", 1)), True, 0)
@example(ENDING, ("<", ("field", 0, 0), ("const", 1)), False, 0)
@example(ENDING, ("<", ("const", 1), ("field", 0, 0)), False, 1)
@given(plans(), TRUTHS, st.booleans(), st.integers(0, 3))
def test_random_protocols_are_judged_as_by_a_plain_search(plan: Plan, recipe: Recipe, bounded: bool, fault: int) -> None:
    assert_judged_plainly(plan, recipe, bounded, fault)


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plans(), TRUTHS, st.booleans(), st.integers(0, 3))
def test_many_random_protocols_are_judged_as_by_a_plain_search(
    plan: Plan, recipe: Recipe, bounded: bool, fault: int
) -> None:
    assert_judged_plainly(plan, recipe, bounded, fault)


def assert_judged_plainly(plan: Plan, recipe: Recipe, bounded: bool, fault: int) -> None:
    question = asked(plan, recipe, bounded, ("Act0",) if fault == 1 else ())
    try:
        space = Space(question.without_graph_properties(), 700)
    except TooLarge:
        event("too large")
        return
    expected = plainly(question, space)
    event(expected[0])
    for workers in (1, 2):
        result = search(question, Bounds(workers, MEMORY))
        assert said(result) == expected
        assert result.distinct_states == len(space.level_of)
        if expected[0] != "holds":
            assert result.notes


@pytest.mark.parametrize(
    ("bounded", "below", "verdict"), [(True, 1, "budget"), (False, 1, "violated"), (False, 3, "holds"), (True, 3, "holds")]
)
def test_the_ending_example_is_of_every_kind(bounded: bool, below: int, verdict: str) -> None:
    question = asked(ENDING, ("<", ("field", 0, 0), ("const", below)), bounded, ())
    assert said(search(question, Bounds(1, MEMORY)))[0] == verdict


# -- shipped questions ------------------------------------------------------------------------------------------------


def answer(name: str, workers: int = 1) -> Result:
    return search(load_spec(SPECS / f"{name}.toml").question(), Bounds(workers, MEMORY), StopPolicy.EVERY_PROPERTY)


@pytest.mark.slow
def test_the_three_kinds_of_answers_are_shipped() -> None:
    assert answer("leader-again").verdict is Verdict.HOLDS
    bounded = answer("leader-again-bounded")
    assert (bounded.verdict, bounded.stopped) == (Verdict.INCOMPLETE, StopReason.BUDGET)
    assert "a leader epoch is left" in bounded.notes[0]
    lost = answer("kafka-19522")
    assert (lost.verdict, int(lost.exit_code)) == (Verdict.VIOLATED, 13)


@pytest.mark.slow
def test_it_is_said_which_clause_stands_in_the_way() -> None:
    for workers in (1, 2):
        notes = answer("last-in-sync-replica", workers).notes
        assert "from the trace's last state 2 states are reachable, itself included, and it holds in none" in notes[0]
        assert notes[1:] == ('ElectLeader would bring that about, but "candidate" is false',)


@pytest.mark.slow
def test_the_answer_is_the_same_with_symmetry() -> None:
    plain = load_spec(SPECS / "stale-zk-version.toml").question()
    reduced = replace(plain, is_symmetric=True)
    assert search(reduced, Bounds(1, MEMORY)).violated == search(plain, Bounds(1, MEMORY)).violated


def test_a_predicate_about_one_broker_is_refused_with_symmetry() -> None:
    plain = load_spec(SPECS / "stale-zk-version.toml").question()
    one = replace(plain, properties=(recoverable("broker[0].leader == 0"),), is_symmetric=True)
    with pytest.raises(ConfigurationError, match="changes when ids are renamed"):
        one.refuse_asymmetry()


def test_the_name_of_a_promise_says_all_of_it() -> None:
    for without in ((), ("Crash",), ("Crash", "LoseSession")):
        made = recoverable("controller.isr == {0: 1}", without)
        again = recoverable_named(made.name)
        assert again is not None
        assert (again.text, again.without) == (made.text, made.without)
    assert recoverable_named("WeakIsr") is None


@pytest.mark.slow
def test_an_outcome_survives_its_file() -> None:
    spec = load_spec(SPECS / "kafka-19522.toml")
    outcome = Outcome.of(search(Task.of(spec).question(), Bounds(1, MEMORY)))
    assert from_plain(Outcome, json.loads(json.dumps(to_plain(outcome)))) == outcome
    assert outcome.fingerprint == spec.question().fingerprint


@pytest.mark.slow
def test_a_trace_is_replayed_and_one_that_ends_well_is_refused() -> None:
    result = answer("kafka-19522")
    item = result.violations[0]
    document = json.loads(json.dumps(trace_document(Counterexample.of("x", result.question, item))))
    assert replay(document).run.states == item.run.states
    document["steps"] = document["steps"][:1]
    with pytest.raises(SpecUnreadable, match="which holds in its last state"):
        replay(document)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "said_of_it"),
    [
        ('recoverable = ["controller.leeder is None"]', "leeder"),
        ('recoverable = ["controller.leader is None"]\nwithout = ["Krash"]', "did you mean Crash"),
        ('invariants = ["OneLeader"]\nwithout = ["Crash"]', "recoverable, which is missing"),
        ('recoverable = ["controller.leader is None", "controller.leader is None"]', "asked twice"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(lines: str, said_of_it: str) -> None:
    text = f'title = "x"\nprotocol = "partition"\n[constants]\nreplicas = 2\n[check]\n{lines}\n'
    with pytest.raises(ConfigurationError, match=said_of_it):
        parse_spec(text, Path("x.toml")).question()


def test_a_stored_run_is_refused(tmp_path: Path) -> None:
    question = load_spec(SPECS / "kafka-19522.toml").question()
    with (
        RunDirectory.create(tmp_path / "run", question, 4) as run,
        pytest.raises(ConfigurationError, match="not in a stored run; leave --run-dir"),
    ):
        LocalSearch(question, Bounds(1, MEMORY), stored=run).run()


def test_the_command_refuses_before_anything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["check", str(SPECS / "kafka-19522.toml"), "--run-dir", str(tmp_path / "run")])
    assert code == 151
    assert "leave --run-dir, --resume, --disk and --master out" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
