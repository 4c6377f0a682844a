"""Random protocols: the native search, with one worker and with two, says what the plain oracle says.

The comparison on random protocols and on injected faults, which it must catch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings

from acked.base.bounds import Bounds
from acked.checker.native import compile as native
from acked.checker.native import kernel, programs, slices
from acked.checker.native.bits import YES, Bit, Bits, Number
from acked.checker.native.compile import ObjectCode, compile_kernel, compile_optimized, load_kernel
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.plan import KernelPlan
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import DomainOverflow
from acked.model.formulas.expr import Expr, Op
from acked.model.language.tracings import ActionInstance
from tests.oracle import Answer, Space, TooLarge, assert_same_answer, explore
from tests.random_protocols import Plan, plans, question_of
from tests.sharing import own_cache

MAX_STATES = 2500
"""What the oracle waits for; a larger space is compared up to the depth that it completed."""
MEMORY = 1 << 28

WIDE = Plan(
    numbers=((0, (1 << 45) - 8), (0, (1 << 45) - 8), (-3, (1 << 40)), (0, 3)),
    has_log=True,
    has_array=True,
    initial=(5, 200, -3, 0),
    actions=(
        (
            0,
            (("<", ("field", 0, 0), ("const", 200)),),
            (("number", 0, ("*", ("field", 0, 0), 3)), ("append", ("end", 0), 0)),
        ),
        (1, (("not", ("in", 0, 0)),), (("join", 0), ("leader", 0), ("step", 2, 3))),
        (
            0,
            (("<", ("field", 2, 0), ("const", 5)),),
            (("number", 1, ("+", ("field", 1, 0), ("field", 0, 0))), ("step", 2, 2)),
        ),
    ),
    properties=(("step", ("<=", ("field", 0, 0), ("field", 0, 1))), ("state", ("<", ("field", 2, 0), ("const", 7)))),
    deadlock_at=1,
)
"""Three words and lanes of 64 bits."""


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels of random protocols are worth nothing to later runs: they are not left in the user's cache."""
    with own_cache(tmp_path_factory) as place:
        yield place


def oracle(question: Question) -> tuple[Space, int | None]:
    """The whole space, or as many levels as the oracle can wait for."""
    try:
        return Space(question, MAX_STATES), None
    except TooLarge as reached:
        return Space(question, max_depth=reached.depth), reached.depth


def assert_engines_agree(question: Question) -> tuple[Space, Answer]:
    """The native search of every policy, of one and two workers, by short and by long searches' code, equals the oracle."""
    space, max_depth = oracle(question)
    # A bounded search may look one level ahead to break a tie, which the oracle's bounded space does not hold.
    policies = list(StopPolicy) if max_depth is None else [StopPolicy.EVERY_PROPERTY]
    expected = {policy: explore(space, policy) for policy in policies}
    for code in (compile_kernel, compile_optimized):
        code(question.plan)  # from now on the search finds it in the cache
        for policy in policies:
            for workers in (1, 2):
                result = search(question, Bounds(workers, MEMORY, max_depth), policy)
                assert_same_answer(result, expected[policy])
    assert load_kernel(question.plan).is_optimized
    return space, expected[policies[-1]]


@pytest.mark.slow
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@example(WIDE)
@given(plans())
def test_every_engine_agrees_with_the_oracle_on_random_protocols(plan: Plan) -> None:
    assert_agree_on(plan)


@pytest.mark.long
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plans())
def test_every_engine_agrees_with_the_oracle_on_many_random_protocols(plan: Plan) -> None:
    assert_agree_on(plan)


def assert_agree_on(plan: Plan) -> None:
    question = question_of(plan)
    space, answer = assert_engines_agree(question)
    event(f"words {question.instance.schema.words}")
    event(f"violations {len(answer.violations)}")
    event(f"whole space {space.is_complete}")
    event(f"{len(question.instance.initial)} initial states")
    for has, words in (("has_queue", {"send", "receive"}), ("has_messages", {"post", "drop"}), ("has_phase", {"phase"})):
        event(f"{has} in {len(words & plan.words) if getattr(plan, has) else 0} ways")
    event(f"states 10**{len(str(len(space.level_of))) - 1}")


@pytest.mark.slow
def test_the_wide_example_has_three_words() -> None:
    question = question_of(WIDE)
    assert question.instance.schema.words == 3
    assert len(assert_engines_agree(question)[0].level_of) > 50


@pytest.mark.slow
@pytest.mark.parametrize("span", [4, 130, 300, 70_000, 1 << 33])
def test_numbers_have_as_many_bits_as_they_need(span: int) -> None:
    plan = Plan(
        numbers=((0, span - 1),),
        has_log=False,
        has_array=False,
        initial=(span - 3,),
        actions=((0, (("<", ("field", 0, 0), ("const", span - 1)),), (("step", 0, 1),)), (1, (), (("owner", 0),))),
        properties=(("state", ("<", ("field", 0, 0), ("const", span - 1))),),
        deadlock_at=None,
    )
    space, answer = assert_engines_agree(question_of(plan))
    assert len(space.level_of) == 9
    assert [len(violation.states) for violation in answer.violations] == [3]


# -- faults on purpose -------------------------------------------------------------------------------------------------


def family() -> Question:
    """A question whose answer every fault below changes."""
    protocol = PROTOCOLS["kip320"]
    instance = protocol.instantiate({"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1})
    return Question(instance, (*properties_of(protocol).values(), DEADLOCK))


def negated_guard(emit: Callable[..., object]) -> Callable[..., object]:
    """One guard of one action instance is emitted the wrong way round."""

    def faulty(plan: KernelPlan, *lanes: int) -> object:
        step = next(item for item in plan.instance.actions if item.action.name == "BecomeLeader")
        flipped = plan.instance.pool.not_(step.guard)
        object.__setattr__(step, "guard", flipped)
        try:
            return emit(plan, *lanes)
        finally:
            object.__setattr__(step, "guard", plan.instance.pool.not_(flipped))

    return faulty


def at_most_for_below(_: object) -> Callable[..., Bit]:
    """Every `<` compares as `<=`."""

    def faulty(self: Bits, a: Number, b: Number) -> Bit:
        less = YES
        for x, y in zip(a, b, strict=True):
            less = self.or_(self.and_(x ^ 1, y), self.and_(less, self.or_(x ^ 1, y)))
        return less

    return faulty


def disjunction_for_conjunction(value: Callable[..., Number]) -> Callable[..., Number]:
    """Every `and` is an `or`."""

    def faulty(self: Bits, node: Expr, args: list[Number]) -> Number:
        if node.op is Op.AND:
            return (self.or_(args[0][0], args[1][0]),)
        return value(self, node, args)

    return faulty


def lost_update(fire: Callable[..., object]) -> Callable[..., object]:
    """The last update of every action is forgotten."""

    def faulty(plan: KernelPlan, index: int, step: ActionInstance, group: int) -> object:
        return fire(plan, index, replace(step, updates=step.updates[:-1]), group)

    return faulty


def lost_change(action: Callable[..., object]) -> Callable[..., object]:
    """The last bit that every action changes is forgotten."""
    return lambda self, changes, checks: action(self, changes[:-1], checks)


SHARED = [(Bits, "is_less", at_most_for_below), (Bits, "_value", disjunction_for_conjunction)]
FAULTS = [
    *((code, *fault) for code in (compile_kernel, compile_optimized) for fault in SHARED),
    (compile_kernel, native, "program_of", negated_guard),
    (compile_kernel, programs._Writer, "action", lost_change),
    (compile_optimized, slices, "_guards", negated_guard),
    (compile_optimized, kernel, "_fire", lost_update),
]


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "owner", "name", "fault"), FAULTS, ids=[f"{code.__name__}-{fault.__name__}" for code, *_, fault in FAULTS]
)
def test_a_fault_in_the_kernel_is_caught_by_the_comparison(
    code: Callable[[KernelPlan], ObjectCode],
    owner: object,
    name: str,
    fault: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))  # a sound kernel in the cache would hide the fault
    monkeypatch.setattr(owner, name, fault(getattr(owner, name)))
    question = family()
    code(question.plan)
    expected = explore(Space(question), StopPolicy.EVERY_PROPERTY)
    with pytest.raises((AssertionError, DomainOverflow)):  # faulty guards may let an update leave its domain first
        assert_same_answer(search(question, Bounds(1, MEMORY, max_states=20_000), StopPolicy.EVERY_PROPERTY), expected)


@pytest.mark.slow
def test_the_same_comparison_passes_without_a_fault() -> None:
    assert_engines_agree(family())
