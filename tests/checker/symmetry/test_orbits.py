"""Symmetry reduction: which states stand for others, that nothing is lost by it, and what refuses it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.checker.batch.outcome import Probing, Task
from acked.checker.native.compile import load_kernel
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import Result, Verdict, Violation
from acked.checker.search.local import LocalSearch, search
from acked.checker.shards.shard import address, reserve
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.spec import load_spec, parse_spec
from acked.checker.store.run_directory import RunDirectory
from acked.checker.symmetry.orbits import Orbits, too_many
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.action import require
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import each
from acked.model.language.state import Array, Between, Optional, SetOf, Struct, field
from acked.model.language.values import Id, Int
from tests.oracle import Space, TooLarge
from tests.places import SPECS
from tests.random_protocols import Node, Plan, plans, protocol_of, question_of
from tests.sharing import own_cache

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
MEMORY = 1 << 28


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels of random protocols are worth nothing to later runs."""
    with own_cache(tmp_path_factory):
        yield


def family(name: str, numbers: tuple[int, ...], *properties: Property) -> Question:
    return Question(PROTOCOLS[name].instantiate(dict(zip(NAMES, numbers, strict=True))), properties, is_symmetric=True)


# -- representatives --------------------------------------------------------------------------------------------------


class Left(Id, size=3):
    """One sort."""


class Right(Id, size=2):
    """Another sort."""


class Small(Int, lo=0, hi=4):
    """A number."""


class Pair(Struct):
    """What is kept of one pair of ids."""

    count = field(Between(Small, 0, 4))
    friend = field(Optional(Right))


class TwoSorts(Struct):
    """Fields of two sorts, some numbered by both."""

    by_pair = field(Array(Left, Array(Right, Pair)))
    lefts = field(SetOf(Left))
    chosen = field(Left)
    rights = field(Array(Left, SetOf(Right)))


two_sorts = Protocol(
    "two sorts", TwoSorts, title="two sorts", source="a test", constants=(), initial=lambda s: None, symmetric=(Left, Right)
)


def states_of(question: Question, count: int) -> list[tuple[int, ...]]:
    drawn, schema = random.Random(7), question.instance.schema
    return [schema.pack([drawn.randrange(leaf.cardinality) for leaf in schema.leaves]) for _ in range(count)]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        *(("kip320", (replicas, 2, 2, 2)) for replicas in (1, 2, 3, 4)),
        ("kip320", (5, 3, 2, 1)), ("partition", ()), ("two-sorts", ()),
    ],
)
def test_the_kernel_and_plain_python_choose_the_same_representative(name: str, numbers: tuple[int, ...]) -> None:
    plain = {"two-sorts": two_sorts, **PROTOCOLS}
    question = family(name, numbers) if numbers else Question(plain[name].instantiate({}), (), is_symmetric=True)
    orbits, kernel, words = Orbits(question.instance), load_kernel(question.plan), question.instance.schema.words
    states = states_of(question, 64)
    memory = reserve(len(states) * words)
    for at, word in enumerate(word for state in states for word in state):
        memory[at] = word
    kernel.function("representatives", 2)(address(memory), len(states) // 8)
    found = [tuple(memory[at * words : (at + 1) * words]) for at in range(len(states))]
    assert found == [orbits.representative(state) for state in states]
    assert any(new != old for new, old in zip(found, states, strict=True)) or question.instance.constants.get("replicas") == 1


def test_all_images_of_a_state_have_one_representative() -> None:
    question = Question(two_sorts.instantiate({}), (), is_symmetric=True)
    for state in states_of(question, 20):
        images = set(question.orbits.images(state))
        assert state in images
        assert {question.orbits.representative(image) for image in images} == {min(images)}


# -- searches ---------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("numbers", "states"), [((2, 2, 2, 1), 479), ((2, 2, 2, 2), 2987), ((3, 2, 2, 1), 6713), ((3, 2, 2, 2), 123311)]
)
def test_counts_are_those_of_another_checker_with_symmetry(numbers: tuple[int, ...], states: int, workers: int) -> None:
    strong = properties_of(PROTOCOLS["kip320"])["StrongIsr"]
    result = search(family("kip320", numbers, strong), Bounds(workers, MEMORY))
    assert (result.verdict, result.distinct_states) == (Verdict.HOLDS, states)


def assert_reduced(plain: Question, most: int) -> tuple[Space, list[Result]]:
    """Searches by representatives find one state of every orbit, at the first level that has one, and every violation."""
    question = replace(plain, is_symmetric=True)
    max_depth = None
    try:
        space = Space(plain, most)
    except TooLarge as reached:
        max_depth = reached.depth
        space = Space(plain, max_depth=max_depth)
    levels: dict[tuple[int, ...], int] = {}
    for state, level in space.level_of.items():
        orbit = question.orbits.representative(state)
        levels[orbit] = min(levels.get(orbit, level), level)
    expected = [list(levels.values()).count(level) for level in sorted(set(levels.values()))]
    whole = search(plain, Bounds(1, MEMORY, max_depth), StopPolicy.EVERY_PROPERTY)
    results = [search(question, Bounds(workers, MEMORY, max_depth), StopPolicy.EVERY_PROPERTY) for workers in (1, 2)]
    for result in results:
        assert list(result.level_sizes) == expected
        assert result.violated == whole.violated
        for violation in result.violations:
            assert_real(plain, violation.run.states, [step.label for step in violation.run.actions])
            assert_broken(plain, violation.property, violation.run.states)
            assert_canonical(question, violation)
    assert [item.run for item in results[0].violations] == [item.run for item in results[1].violations]
    assert results[0].actions == results[1].actions
    return space, results


def assert_real(question: Question, states: tuple[tuple[int, ...], ...], labels: list[str]) -> None:
    """Every state follows from the one before by the step of that label, by the plain evaluator."""
    instance = question.instance
    assert states[0] in instance.initial
    for before, after, label in zip(states[:-1], states[1:], labels, strict=True):
        codes = instance.schema.unpack(before)
        step = next(item for item in instance.enabled_actions(codes) if item.label == label)
        assert instance.schema.pack(instance.fire(step, codes)) == after


def assert_canonical(question: Question, violation: Violation) -> None:
    """Each step is the first into its orbit, and the last the first that breaks a property of steps, by the evaluator."""
    instance, orbits, run = question.instance, question.orbits, violation.run
    for at, taken in enumerate(run.actions):
        codes = instance.schema.unpack(run.states[at])
        steps = instance.enabled_actions(codes)
        if violation.property.kind is Kind.STEP and at + 1 == len(run.actions):
            position = question.properties.index(violation.property)
            fits = [step for step in steps if Evaluator([question.holds_in_step(position, step)])(codes) == [0]]
        else:
            orbit = orbits.representative(run.states[at + 1])
            targets = [instance.schema.pack(instance.fire(step, codes)) for step in steps]
            fits = [step for step, to in zip(steps, targets, strict=True) if orbits.representative(to) == orbit]
        assert fits[0] is taken


def assert_broken(question: Question, item: Property, states: tuple[tuple[int, ...], ...]) -> None:
    if item.kind is not Kind.STEP:
        holds = question.holds_in_state(question.properties.index(item))
        assert Evaluator([holds])(question.instance.schema.unpack(states[-1])) == [0]


SHIFTING = Plan(
    numbers=((0, 3),),
    has_log=True,
    has_array=True,
    initial=(0,),
    actions=(
        (1, (("not", ("in", 0, 0)),), (("join", 0), ("leader", 0))),
        (2, (("in", 0, 0), ("not", ("is", 0, 1))), (("owner", 1), ("element", 0, ("const", 1)), ("append", ("const", 1), 0))),
    ),
    properties=(("state", ("not", ("size", 0, 3))), ("step", ("not", ("leads", 0, 1)))),
    deadlock_at=None,
)


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@example(SHIFTING)
@given(plans())
def test_nothing_is_lost_by_symmetry_on_random_protocols(plan: Plan) -> None:
    assert_nothing_is_lost(plan)


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plans())
def test_nothing_is_lost_by_symmetry_on_many_random_protocols(plan: Plan) -> None:
    assert_nothing_is_lost(plan)


def assert_nothing_is_lost(plan: Plan) -> None:
    plain = symmetric(question_of(plan), plan)
    try:
        replace(plain, is_symmetric=True).refuse_asymmetry()
    except ConfigurationError:
        event("refused")
        return
    space, results = assert_reduced(plain, 1500)
    event(f"reduced {len(space.level_of) > results[0].distinct_states}")
    event(f"violations {len(results[0].violations)}")


def symmetric(question: Question, plan: Plan) -> Question:
    protocol = protocol_of(plan)
    protocol.symmetric = (Node,)
    return Question(protocol.instantiate({}), question.properties)


@pytest.mark.slow
def test_the_shifting_example_is_reduced_and_breaks_both_its_properties() -> None:
    space, results = assert_reduced(symmetric(question_of(SHIFTING), SHIFTING), 20_000)
    assert results[0].distinct_states * 2 < len(space.level_of)
    assert set(results[0].violated) == {"P0", "P1"}


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["truncate-to-hw", "kip101", "kip279", "kip320-first-try"])
def test_the_shortest_violation_is_as_long_as_without_symmetry(name: str) -> None:
    spec = load_spec(SPECS / f"{name}.toml")
    plain = spec.question()
    found, reduced = (search(item, Bounds(1, MEMORY)) for item in (plain, replace(plain, is_symmetric=True)))
    assert reduced.violated == found.violated
    run = reduced.violations[0].run
    assert_real(plain, run.states, [step.label for step in run.actions])
    assert reduced.distinct_states < found.distinct_states


@pytest.mark.slow
def test_partition_which_begins_with_broker_0_as_leader_loses_nothing() -> None:
    """Its initial state is not symmetric, and need not be."""
    constants = {"replicas": 2, "log_size": 1, "records": 1, "crashes": "lossy", "acks": "1"}
    item = properties_of(PROTOCOLS["partition"])["AckedRecordsSurvive"]
    plain = Question(PROTOCOLS["partition"].instantiate(constants), (item, DEADLOCK))
    space, results = assert_reduced(plain, 60_000)
    assert results[0].distinct_states < len(space.level_of)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, protocol in PROTOCOLS.items() if protocol.symmetric])
def test_every_shipped_property_and_its_probe_is_symmetric(name: str) -> None:
    protocol = PROTOCOLS[name]
    small = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
    bound = protocol.bind({item.name: small[item.name] for item in protocol.constants if item.name in small})
    names = tuple(properties_of(protocol))
    task = Task(QuestionText(name, tuple(bound.items()), names, symmetry=True), probing=Probing.VACUITY)
    assert len(task.question().properties) == len(names)


# -- what is refused --------------------------------------------------------------------------------------------------

nodes = Constant("nodes", 1, 12, "nodes")


class Member(Id, size=nodes):
    """An id."""


class Room(Struct):
    """Who is in."""

    inside = field(SetOf(Member))


def _nobody(s: Room) -> None:
    pass


def room(symmetric: bool = True) -> Protocol:
    sorts = (Member,) if symmetric else ()
    return Protocol(
        "room", Room, title="a room", source="a test", constants=(nodes,), initial=_nobody, symmetric=sorts
    )


def test_an_action_that_prefers_an_id_is_refused_with_the_reason() -> None:
    protocol = room()

    @protocol.action()
    def enter(s: Room, who: Member) -> None:
        require("in order", ~s.inside.contains(each(Member)[0]))
        s.inside = s.inside.add(who)

    with pytest.raises(ConfigurationError, match=r"not interchangeable here: no action is what Enter.* leave symmetry out"):
        search(Question(protocol.instantiate({"nodes": 3}), (), is_symmetric=True), Bounds(1, MEMORY))


def test_a_property_about_one_id_is_refused_by_name() -> None:
    protocol = room()

    @protocol.action()
    def enter(s: Room, who: Member) -> None:
        s.inside = s.inside.add(who)

    for kind in (Kind.STATE, Kind.STEP):
        item = Property("FirstStaysOut", kind, lambda *s: ~s[-1].inside.contains(each(Member)[0]), "", "", "")
        with pytest.raises(ConfigurationError, match="FirstStaysOut changes when ids are renamed, as what names one"):
            Question(protocol.instantiate({"nodes": 3}), (item,), is_symmetric=True).refuse_asymmetry()


def test_a_protocol_that_declares_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no interchangeable ids, which Protocol\(…, symmetric=\(Member,\)\) does"):
        Question(room(symmetric=False).instantiate({"nodes": 2}), (), is_symmetric=True).refuse_asymmetry()


def test_more_renamings_than_are_worth_trying_are_refused() -> None:
    assert too_many(room().instantiate({"nodes": 5})) == ""
    assert "7 members can be renamed in 5,040 ways" in too_many(room().instantiate({"nodes": 7}))


# -- specs, tasks and run directories -----------------------------------------------------------------------------------


def test_a_spec_asks_for_symmetry_and_its_task_and_fingerprint_know() -> None:
    text = (SPECS / "counts" / "kip320-2221.toml").read_text()
    plain = parse_spec(text, Path("a.toml"))
    reduced = parse_spec(text.replace("[check]", "[check]\nsymmetry = true"), Path("a.toml"))
    assert reduced.question().fingerprint != plain.question().fingerprint
    assert Task.of(reduced) != Task.of(plain)
    assert not Task.of(reduced, Probing.COVERAGE).asked.symmetry


@pytest.mark.slow
def test_a_run_goes_on_only_with_the_symmetry_it_was_begun_with(tmp_path: Path) -> None:
    plain = replace(family("kip320", (2, 2, 2, 1)), is_symmetric=False)
    with RunDirectory.create(tmp_path / "run", plain, 4) as run:
        LocalSearch(plain, Bounds(1, MEMORY, 2), stored=run).run()
    with pytest.raises(ConfigurationError, match="started without symmetry"):
        RunDirectory.open(tmp_path / "run", replace(plain, is_symmetric=True))


@pytest.mark.slow
def test_a_run_directory_that_was_cut_is_resumed_to_the_same_answer(tmp_path: Path) -> None:
    item = properties_of(PROTOCOLS["truncate-to-hw"])["StrongIsr"]
    question = family("truncate-to-hw", (3, 2, 2, 1), item)
    whole = search(question, Bounds(1, MEMORY))
    with RunDirectory.create(tmp_path / "run", question, 4) as run:
        LocalSearch(question, Bounds(1, MEMORY, 4), stored=run).run()
    with RunDirectory.open(tmp_path / "run", question) as run:
        resumed = LocalSearch(question, Bounds(2, MEMORY), stored=run).run()
    assert resumed.violated == whole.violated
    assert resumed.violations[0].run == whole.violations[0].run
    assert resumed.level_sizes == whole.level_sizes
