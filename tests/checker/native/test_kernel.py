"""Compiled code and programs agree with the plain evaluator, expression by expression and lane by lane."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acked.checker.loops import slots
from acked.checker.native.compile import Kernel, ObjectCode, compile_optimized
from acked.checker.native.programs import program_of
from acked.checker.native.shape import shape_of
from acked.checker.question.plan import BATCH, KernelPlan
from acked.checker.shards.shard import address, numbers, scratch
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr, Pool
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.state import Between, Struct, field
from tests.random_expressions import BOOLS, INTS, STATE, STATES, Code, Recipe, build
from tests.sharing import own_cache


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels of random expressions are not left in the user's cache."""
    with own_cache(tmp_path_factory) as place:
        yield place


def plain_instance() -> Instance:
    """The state of random expressions, without actions."""
    protocol = Protocol("x", STATE, title="", source="", constants=(), initial=lambda s: None)
    return protocol.instantiate({})


def evaluate_natively(
    code: ObjectCode, plan: KernelPlan, roots: list[Expr], states: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """By state, the truth values of the roots, as rows of a batch."""
    kernel, schema = Kernel(code), plan.instance.schema
    shard = scratch(shape_of(plan), kernel, len(states))
    words = numbers(word for codes in states for word in schema.pack(codes))
    kernel.function("evaluate", 3)(address(shard.context), address(words), len(states))
    rows, per_row = (ctypes.c_uint64 * (plan.rows * BATCH // 64)).from_address(shard.context[slots.ROWS]), BATCH // 64
    return [[rows[row * per_row + at // 64] >> at % 64 & 1 for row in range(len(roots))] for at in range(len(states))]


def agree(instance: Instance, roots: list[Expr], states: Sequence[tuple[int, ...]]) -> None:
    """Asserts that the kernel, a program and the evaluator say the same."""
    evaluator, plan = Evaluator(roots), KernelPlan(instance, tuple(roots), ())
    expected = [evaluator(state) for state in states]
    compiled = compile_optimized(plan)
    interpreted = replace(compiled, objects=compiled.objects[-1:], program=program_of(plan))
    for code in (compiled, interpreted):
        assert evaluate_natively(code, plan, roots, states) == expected


@pytest.mark.slow
@settings(max_examples=10)
@given(st.lists(BOOLS, max_size=8), st.lists(BOOLS, min_size=1, max_size=4), st.lists(STATES, min_size=1, max_size=70))
def test_a_program_is_right_whatever_was_written_of_its_pool_before(
    before: list[Recipe], recipes: list[Recipe], states: list[tuple[int, ...]]
) -> None:
    instance, alone = plain_instance(), plain_instance()
    program_of(KernelPlan(instance, tuple(build(recipe, instance.pool) for recipe in before), ()))
    agree(instance, roots := [build(recipe, instance.pool) for recipe in recipes], states)
    plan = KernelPlan(alone, tuple(build(recipe, alone.pool) for recipe in recipes), ())
    assert len(program_of(KernelPlan(instance, tuple(roots), ()))) == len(program_of(plan))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(BOOLS, min_size=4, max_size=12), st.lists(STATES, min_size=1, max_size=70))
def test_random_conditions_have_the_evaluators_value(recipes: list[Recipe], states: list[tuple[int, ...]]) -> None:
    instance = plain_instance()
    agree(instance, [build(recipe, instance.pool) for recipe in recipes], states)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(INTS, min_size=4, max_size=12), st.lists(STATES, min_size=1, max_size=70))
def test_random_integers_have_the_evaluators_value(recipes: list[Recipe], states: list[tuple[int, ...]]) -> None:
    instance = plain_instance()
    pool = instance.pool
    terms = [build(recipe, pool) for recipe in recipes]
    # Only conditions come out of the vector code: each integer is compared with its value in the first state.
    first = map(pool.int, Evaluator(terms)(states[0]))
    agree(instance, [pool.eq(term, value) for term, value in zip(terms, first, strict=True)], states)


def small(pool: Pool) -> tuple[Expr, Expr]:
    """A field in 0..15 and one in 0..4."""
    return pool.field(4, 16), pool.field(3, 5)


@pytest.mark.slow
def test_a_shift_beyond_the_lane_gives_the_sign() -> None:
    # In lanes of 8 bits a machine shift by 8 or more is undefined; the language shifts on.
    state = type("Small", (Struct,), {"value": field(Between(Code, 0, 99)), "shift": field(Between(Code, 0, 20))})
    protocol = Protocol("x", state, title="", source="", constants=(), initial=lambda s: None)
    instance = protocol.instantiate({})
    pool = instance.pool
    value, shift = instance.fields
    negative = pool.sub(value, pool.int(100))
    roots = [
        pool.eq(pool.shr(value, shift), pool.int(0)),
        pool.lt(pool.shr(negative, shift), pool.int(-1)),
        pool.eq(pool.shr(negative, shift), pool.int(-1)),
    ]
    agree(instance, roots, [(v, s) for v in (0, 1, 64, 99) for s in range(21)])


@pytest.mark.slow
def test_states_past_the_last_whole_vector_are_evaluated_too() -> None:
    instance = plain_instance()
    pool = instance.pool
    a, b = small(pool)
    states = [(0, at % 2, at % 3, at % 5, at % 16, at % 200, at * 37) for at in range(131)]
    agree(instance, [pool.lt(a, b), pool.eq(pool.mod(a, pool.int(3)), pool.field(2, 3))], states)
