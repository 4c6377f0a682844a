"""Expressions: folding, interning and intervals never change a value, whoever computes it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator, evaluate
from acked.model.formulas.expr import INT_LIMIT, Expr, Op, Pool, substitute
from tests.random_expressions import BOOLS, CARDINALITIES, INTS, STATES, Recipe, build, mean

# -- laws ----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=125)
@given(st.one_of(INTS, BOOLS), STATES)
def test_a_folded_expression_means_what_python_says(recipe: Recipe, state: tuple[int, ...]) -> None:
    assert evaluate(build(recipe, Pool()), state) == mean(recipe, state)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.one_of(INTS, BOOLS), STATES)
def test_every_node_lies_in_its_interval(recipe: Recipe, state: tuple[int, ...]) -> None:
    nodes = evaluation_order([build(recipe, Pool())])
    for node, value in zip(nodes, Evaluator(nodes)(state), strict=True):
        assert node.lo <= value <= node.hi


@pytest.mark.slow
@settings(max_examples=50)
@given(st.one_of(INTS, BOOLS), st.lists(st.one_of(INTS, BOOLS), max_size=3))
def test_a_digest_does_not_depend_on_what_else_was_made_before(recipe: Recipe, others: list[Recipe]) -> None:
    plain, crowded = Pool(), Pool()
    for leaf in reversed(range(len(CARDINALITIES))):
        crowded.field(leaf, CARDINALITIES[leaf])
    for other in others:
        build(other, crowded)
    assert plain.digests([build(recipe, plain)]) == crowded.digests([build(recipe, crowded)])


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.one_of(INTS, BOOLS), min_size=1, max_size=3))
def test_digests_tell_all_expressions_of_a_pool_apart(recipes: list[Recipe]) -> None:
    pool = Pool()
    nodes = evaluation_order([build(recipe, pool) for recipe in recipes])
    assert len(set(pool.digests(nodes))) == len(nodes)


def test_a_digest_knows_the_order_of_arguments_where_it_matters() -> None:
    pool = Pool()
    a, b, test = pool.field(0, 5), pool.field(1, 5), pool.eq(pool.field(2, 2), pool.int(1))
    pairs = [
        (pool.sub(a, b), pool.sub(b, a)),
        (pool.lt(a, b), pool.lt(b, a)),
        (pool.shr(a, b), pool.shr(b, a)),
        (pool.ite(test, a, b), pool.ite(test, b, a)),
    ]
    for one, other in pairs:
        assert pool.digests([one]) != pool.digests([other])
    assert pool.digests([pool.true]) != pool.digests([pool.int(1)])


@pytest.mark.slow
@settings(max_examples=50)
@given(st.one_of(INTS, BOOLS))
def test_a_recipe_built_twice_in_one_pool_is_one_node(recipe: Recipe) -> None:
    pool = Pool()
    assert build(recipe, pool) is build(recipe, pool)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.one_of(INTS, BOOLS))
def test_arguments_have_smaller_ids_and_bools_stay_apart_from_ints(recipe: Recipe) -> None:
    for node in evaluation_order([build(recipe, Pool())]):
        assert all(arg.id < node.id for arg in node.args)
        assert node.is_bool == (node.op in (Op.EQ, Op.LT, Op.NOT, Op.AND, Op.OR)) or node.op in (Op.CONST, Op.ITE)


def test_threads_that_make_nodes_at_once_share_them_and_no_ids() -> None:
    pool = Pool()
    field = pool.field(0, 1000)

    def make(_: int) -> list[Expr]:
        return [pool.eq(field, pool.int(k)) for k in range(500)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            made = list(threads.map(make, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert all(nodes == made[0] for nodes in made)
    assert len({node.id for node in made[0]}) == 500



@pytest.mark.slow
@settings(max_examples=50)
@given(st.one_of(INTS, BOOLS))
def test_a_node_without_choice_is_a_literal(recipe: Recipe) -> None:
    for node in evaluation_order([build(recipe, Pool())]):
        assert node.is_const == (node.lo == node.hi)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.one_of(INTS, BOOLS), STATES)
def test_substituting_every_field_by_its_code_leaves_a_literal(recipe: Recipe, state: tuple[int, ...]) -> None:
    pool, root = Pool(), build(recipe, Pool())
    (folded,) = substitute(pool, [root], lambda node: pool.int(state[node.value]))
    assert folded.is_const
    assert folded.value == evaluate(root, state)


# -- single facts --------------------------------------------------------------------------------------------------------


def test_addition_and_conjunction_do_not_care_about_order() -> None:
    pool = Pool()
    a, b = pool.field(0, 5), pool.field(1, 7)
    assert pool.add(a, b) is pool.add(b, a)
    assert pool.mul(a, b) is pool.mul(b, a)
    assert pool.eq(a, b) is pool.eq(b, a)
    p, q = pool.lt(a, b), pool.eq(a, b)
    assert pool.and_(p, q) is pool.and_(q, p)
    assert pool.or_(p, q) is pool.or_(q, p)


def test_what_intervals_decide_is_no_node() -> None:
    pool = Pool()
    x = pool.field(0, 4)
    assert pool.lt(x, pool.int(4)) is pool.true
    assert pool.lt(x, pool.int(0)) is pool.false
    assert pool.eq(x, pool.int(9)) is pool.false
    assert pool.mod(x, pool.int(4)) is x
    assert pool.field(3, 1) is pool.int(0)
    assert pool.and_(pool.lt(x, pool.int(2)), pool.not_(pool.lt(x, pool.int(2)))) is pool.false


def test_division_rounds_down_as_in_python() -> None:
    pool = Pool()
    x = pool.sub(pool.field(0, 9), pool.int(4))
    for code in range(9):
        assert evaluate(pool.div(x, pool.int(3)), [code]) == (code - 4) // 3
        assert evaluate(pool.mod(x, pool.int(3)), [code]) == (code - 4) % 3
        assert evaluate(pool.shr(x, pool.int(1)), [code]) == (code - 4) >> 1


def test_an_integer_beyond_64_bits_is_refused() -> None:
    pool = Pool()
    with pytest.raises(ModelError, match="64-bit range"):
        pool.int(INT_LIMIT + 1)
    with pytest.raises(ModelError, match="64-bit range"):
        pool.mul(pool.field(0, 1 << 40), pool.field(1, 1 << 40))


@pytest.mark.parametrize(
    ("build_it", "message"),
    [
        (lambda pool, x: pool.div(x, x), "divisor"),
        (lambda pool, x: pool.mod(x, pool.int(0)), "divisor"),
        (lambda pool, x: pool.bitand(pool.sub(x, pool.int(1)), pool.int(2)), "never negative"),
        (lambda pool, x: pool.shl(x, pool.int(-1)), "never negative"),
        (lambda pool, x: pool.shr(x, pool.mul(x, pool.int(40))), "at most 62"),
    ],
)
def test_an_operation_without_a_meaning_everywhere_is_refused(build_it: Callable[[Pool, Expr], Expr], message: str) -> None:
    pool = Pool()
    with pytest.raises(ModelError, match=message):
        build_it(pool, pool.field(0, 5))


def test_an_expression_is_no_python_truth_value() -> None:
    with pytest.raises(ModelError, match="truth value"):
        bool(Pool().field(0, 2))
