"""What instances share comes out as if each had been traced by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest

from acked.checker.batch.outcome import Probing, Task
from acked.checker.native.programs import program_of
from acked.checker.question.question import Question
from acked.checker.question.vacuity import vacuity_probes
from acked.checker.spec.spec import load_spec
from acked.checker.spec.variants import specs_in
from acked.checker.symmetry.check import check_symmetry
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.action import require
from acked.model.language.context import Constant, fact, switch
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import implies, ite, one_of
from acked.model.language.state import Array, Present, Struct, field, remembered
from acked.model.language.storage.noted import Ground
from acked.model.language.tracings import Common, Effect, Tracings
from acked.model.language.values import Bool, Id, Int
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import KRAFT
from acked.model.transactions import common
from tests.places import CHECKOUT

SIZES = {"replicas": 2, "log_size": 1, "records": 1, "in_flight": 1}
CHANGES: tuple[dict[str, int], ...] = (
    {}, {"crashes": 3, "lossy_crashes": 1}, {"empty_disks": 1}, {"zombies": 1}, {"idempotence": 1, "min_insync_replicas": 2},
)  # fmt: skip


@pytest.mark.slow
def test_every_instance_is_as_if_it_were_alone() -> None:
    tracings = Tracings()
    rules = {name: setting.value for name, setting in partition.profile("4.1", KRAFT).items()}
    for change in CHANGES:
        constants = rules | SIZES | change
        alone, shared = partition.instantiate(constants), partition.instantiate(constants, (), tracings)
        assert shared.fingerprint() == alone.fingerprint(), change
        assert [(step.label, step.guards[0].label) for step in shared.actions] == [
            (step.label, step.guards[0].label) for step in alone.actions
        ]
        sort = partition.symmetric[0]
        assert check_symmetry(shared, [], sort) == check_symmetry(alone, [], sort), change


@pytest.mark.sampled(3, "landing")
@pytest.mark.slow
@pytest.mark.parametrize(("folder", "every"), [("gallery", 24), ("controls", 12), ("claims", 80)])
@pytest.mark.parametrize("half", [1, 0])
def test_every_spec_has_the_fingerprint_that_it_has_alone(folder: str, every: int, half: int) -> None:
    tracings, compared = Tracings(), 0
    for file in sorted((CHECKOUT / "specs" / folder).glob("*.toml"))[half * every // 2 :: every]:
        for path in specs_in(file):
            task = Task.of(load_spec(path), Probing.VACUITY)
            shared, alone = task.question(tracings), task.question(Tracings())
            assert shared.fingerprint == alone.fingerprint, path
            assert len(program_of(shared.plan)) == len(program_of(alone.plan)), path
            compared += 1
    assert compared > 2


# -- a protocol for each thing that a trace may depend on ---------------------------------------------------------------


boxes = Constant("boxes", 1, 3, "boxes")
most = Constant("most", 1, 3, "the most that a box holds")
doubled = switch("doubled", "whether steps are doubled")
marked = switch("marked", "whether boxes have marks")


class Box(Id, size=boxes):
    """A box."""


class Number(Int, lo=0, hi=most):
    """A number."""


class State(Struct):
    held = field(Array(Box, Number), "what every box holds")
    mark = field(Present(Number, marked), "a mark")


toy = Protocol("toy", State, title="boxes", source="acked", constants=(boxes, most, doubled, marked), initial=lambda s: None)


@toy.action()
def fill(s: State, box: Box) -> None:
    require("there is room", s.held[box] < (2 if doubled.on else 1))
    s.held[box] = s.held[box] + 1


@toy.action()
def put(s: State, box: Box) -> None:
    require("it is empty", s.held[box] == 0)
    s.mark = s.held[box] + 1


BASE = {"boxes": 2, "most": 2, "doubled": 0, "marked": 0}


@pytest.mark.parametrize("change", [{"doubled": 1}, {"most": 3}, {"marked": 1}, {"boxes": 3}, {}])
def test_what_a_trace_looked_at_decides_whether_it_is_taken(change: dict[str, int]) -> None:
    tracings = Tracings()
    first = toy.instantiate(BASE, (), tracings)
    alone, shared = toy.instantiate(BASE | change), toy.instantiate(BASE | change, (), tracings)
    assert shared.fingerprint() == alone.fingerprint()
    assert (shared.fingerprint() == first.fingerprint()) is (not change)


def test_only_what_is_different_is_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str] = []
    tracings = Tracings()

    class Noting(Common):
        def effect(self, function, codes, ground, kinds, trace):  # type: ignore[no-untyped-def]
            def noted(on: Ground) -> Effect | None:
                traced.append(function.__name__)
                made: Effect | None = trace(on)
                return made

            return super().effect(function, codes, ground, kinds, noted)

    monkeypatch.setattr("acked.model.language.tracings.Common", Noting)
    for change, wanted in (({}, {"fill", "put"}), ({}, set()), ({"doubled": 1}, {"fill"}), ({"marked": 1}, {"put"})):
        toy.instantiate(BASE | change, (), tracings)
        assert set(traced) == wanted, change
        traced.clear()


def test_what_is_computed_of_constants_is_looked_at_and_not_the_constants() -> None:
    class Light(Struct):
        is_on = field(Bool, "whether it is on")

    def refused(has: Mapping[str, int]) -> bool:
        if has["boxes"] == 3:
            raise ModelError("three boxes are too many")
        return has["most"] > 1

    several = fact(refused)
    light = Protocol("light", Light, title="n", source="acked", constants=toy.constants, initial=lambda s: None)
    asked = []

    @light.action()
    def turn(s: Light) -> None:
        asked.append(several.on)
        s.is_on = several.on

    def traced(tracings: Tracings, change: dict[str, int]) -> list[bool]:
        asked.clear()
        light.instantiate(BASE | change, (), tracings)
        # An author's own action is traced once more, to see that it says the same.
        return asked[1:]

    tracings = Tracings()
    assert [traced(tracings, change) for change in ({}, {"most": 3}, {"most": 1}, {"most": 2, "boxes": 1})] == [
        [True], [], [False], [],
    ]  # fmt: skip
    with pytest.raises(ModelError, match=r"light: action Turn .*three boxes are too many"):
        light.instantiate(BASE | {"boxes": 3}, (), tracings)


def test_what_cannot_be_computed_of_constants_is_told_where_it_is_asked_for() -> None:
    class Light(Struct):
        is_on = field(Bool, "whether it is on")

    share = fact(lambda has: 6 // (has["most"] - 2) > 1)
    light = Protocol("light", Light, title="n", source="acked", constants=toy.constants, initial=lambda s: None)

    @light.action()
    def turn(s: Light) -> None:
        s.is_on = share.on

    tracings = Tracings()
    light.instantiate(BASE | {"most": 3}, (), tracings)
    with pytest.raises(ModelError, match=r"light: action Turn .*ZeroDivisionError"):
        light.instantiate(BASE, (), tracings)


def test_what_is_left_out_of_one_is_not_left_out_of_others() -> None:
    tracings = Tracings()
    alone = toy.instantiate(BASE, [("Fill", "there is room")])
    for _ in range(2):  # Before there is a whole one, and after.
        dropped = toy.instantiate(BASE, [("Fill", "there is room")], tracings)
        whole = toy.instantiate(BASE, (), tracings)
        assert dropped.fingerprint() == alone.fingerprint()
        assert whole.fingerprint() == toy.instantiate(BASE).fingerprint() != dropped.fingerprint()


def test_a_clause_that_is_left_out_rules_out_no_binding() -> None:
    numbers = Protocol("numbers", State, title="n", source="acked", constants=toy.constants, initial=lambda s: None)

    @numbers.action()
    def take(s: State, number: Number) -> None:
        require("it is nothing", number == 0)
        s.held[one_of(Box)] = number

    def labels(drop: Sequence[tuple[str, str]]) -> list[str]:
        return [step.label for step in numbers.instantiate(BASE, drop).actions]

    assert labels([]) == ["Take(number=0)"]
    assert labels([("Take", "it is nothing")]) == ["Take(number=0)", "Take(number=1)", "Take(number=2)"]


def test_a_consequent_that_is_a_function_is_asked_for_where_the_antecedent_may_hold() -> None:
    asked: list[int] = []

    def holds(s: State, least: int) -> Bool:
        def consequent() -> Bool:
            asked.append(least)
            return s.held[one_of(Box)] < 2

        return implies(s.held[one_of(Box)] >= least, consequent)

    instance = toy.instantiate(BASE)
    first, second = (instance.state_predicate(str(n), partial(holds, least=n)) for n in (1, 3))
    assert asked == [1]
    assert first is not second is instance.pool.true


def test_a_pool_does_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acked.model.language.tracings.MAX_NODES", 10)
    tracings = Tracings()
    first, second = toy.instantiate(BASE, (), tracings), toy.instantiate(BASE, (), tracings)
    assert first.pool is not second.pool
    assert first.fingerprint() == second.fingerprint()


def test_a_mistake_is_told_again() -> None:
    tracings = Tracings()
    wrong = Protocol("wrong", State, title="wrong", source="acked", constants=toy.constants, initial=lambda s: None)

    @wrong.action()
    def overfill(s: State, box: Box) -> None:
        s.held[box] = s.held[box] + 9

    for _ in range(2):
        with pytest.raises(ModelError, match="outside the domain"):
            wrong.instantiate(BASE, (), tracings)


# -- predicates over steps ------------------------------------------------------------------------------------------------


def test_a_predicate_is_traced_once_for_all_steps_that_are_alike_where_it_looks() -> None:
    looked: list[str] = []

    def marks_stay(before: State, after: State) -> Bool:
        looked.append("")
        return before.mark == after.mark

    instance = toy.instantiate(BASE | {"marked": 1, "boxes": 3})
    holds = [instance.step_predicate("MarksStay", marks_stay, step) for step in instance.actions]
    assert [item is instance.pool.true for item in holds] == [True] * 3 + [False] * 3
    assert len({item.id for item in holds}) == 4
    assert len(looked) == 4


@pytest.mark.parametrize(
    ("change", "is_known"), [({}, True), ({"doubled": 1}, True), ({"marked": 1}, False), ({"most": 3}, False)]
)
def test_a_predicate_over_steps_is_known_to_whoever_has_what_it_looks_at(change: dict[str, int], is_known: bool) -> None:
    looked: list[str] = []

    def none_is_full(before: State, after: State) -> Bool:
        looked.append("")
        return (before.mark == 0) | (after.held[one_of(Box)] < most.value)

    tracings = Tracings()
    for constants in (BASE, BASE | change):
        looked.clear()
        shared = toy.instantiate(constants, (), tracings)
        holds = [shared.step_predicate("NoneIsFull", none_is_full, step) for step in shared.actions]
        assert len(holds) > 0
    assert (not looked) is is_known
    alone = toy.instantiate(constants)
    again = [alone.step_predicate("NoneIsFull", none_is_full, step) for step in alone.actions]
    assert shared.fingerprint(holds) == alone.fingerprint(again)


@pytest.mark.parametrize(
    "name", ["kip320", "majority", *(pytest.param(name, marks=pytest.mark.slow) for name in ("partition", "transactions"))]
)
def test_every_shipped_predicate_over_steps_says_what_it_says_when_each_step_is_traced(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = load_spec(CHECKOUT / "specs" / f"{name}.toml")
    instance = spec.protocol.instantiate(spec.constants | ({"partitions": 1} if name == "transactions" else {}))
    properties = [item for item in properties_of(spec.protocol).values() if item.kind is Kind.STEP]
    question = Question(instance, tuple(properties), vacuity_probes(properties))
    known = [(check.action, check.bit, check.violated) for check in question.plan.step_checks]

    def trace_always(
        _: Common, __: object, after: Sequence[Expr], ground: Ground, ___: object, trace: Callable[[Ground, list[Expr]], Expr]
    ) -> Expr:
        return trace(ground, [*after])

    monkeypatch.setattr(Common, "reading", trace_always)
    again = Question(instance, tuple(properties), vacuity_probes(properties))
    # Expressions of one pool, which compare as objects.
    assert [(check.action, check.bit, check.violated) for check in again.plan.step_checks] == known
    assert len(properties) > 0


# -- facts of a state -----------------------------------------------------------------------------------------------------


def test_a_fact_is_traced_once_until_something_changes() -> None:
    traced: list[str] = []

    @remembered
    def is_full(s: State, box: Box) -> Bool:
        traced.append("")
        return s.held[box] == most.value

    twice = Protocol("twice", State, title="twice", source="acked", constants=toy.constants, initial=lambda s: None)

    @twice.action()
    def fill_up(s: State, box: Box) -> None:
        require("there is room", ~is_full(s, box) & ~is_full(s, box))
        s.held[box] = s.held[box] + 1
        s.mark = ite(is_full(s, box), s.held[box], 0)

    steps = twice.instantiate(BASE | {"marked": 1}).actions
    assert len(traced) == 2 * 2 * len(steps), "before and after the assignment; an author's own action is traced twice"
    for step in steps:
        room, (_, mark) = step.guard, step.updates[-1]
        assert mark.args[0] is not room.args[0]


@pytest.mark.slow
def test_what_is_remembered_of_transactions_is_what_is_traced_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    question = load_spec(CHECKOUT / "specs" / "claims" / "txn-restarts-4-3.toml").question
    known = question().fingerprint
    for name in ("has", "is_marker", "ends_at", "is_decided"):
        monkeypatch.setattr(common, name, getattr(common, name).__wrapped__)
    assert question().fingerprint == known
