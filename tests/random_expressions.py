"""Hypothesis strategies for expressions, and what they mean by Python's own operators.

Recipes (nested tuples that Hypothesis draws and prints well), `build`, which makes a folded expression of one, and `mean`,
which computes its value without the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from acked.model.formulas.expr import Expr, Pool
from acked.model.language.state import Between, Struct, field
from acked.model.language.values import Int

CARDINALITIES = (1, 2, 3, 5, 16, 200, 70_000)
"""Of the leaves that random expressions read; the first has one value only."""

Recipe = tuple[Any, ...]

# -- random expressions, and what they mean in Python -------------------------------------------------------------------

_ARITHMETIC: dict[str, tuple[Callable[[Pool, Expr, Expr], Expr], Callable[[int, int], int]]] = {
    "+": (Pool.add, lambda a, b: a + b),
    "-": (Pool.sub, lambda a, b: a - b),
    "*": (Pool.mul, lambda a, b: a * b),
    "//": (Pool.div, lambda a, b: a // b),
    "%": (Pool.mod, lambda a, b: a % b),
    "&": (Pool.bitand, lambda a, b: a & b),
    "|": (Pool.bitor, lambda a, b: a | b),
    "^": (Pool.bitxor, lambda a, b: a ^ b),
    "<<": (Pool.shl, lambda a, b: a << b),
    ">>": (Pool.shr, lambda a, b: a >> b),
}
_COMPARISONS: dict[str, tuple[Callable[[Pool, Expr, Expr], Expr], Callable[[int, int], bool]]] = {
    "==": (Pool.eq, lambda a, b: a == b),
    "<": (Pool.lt, lambda a, b: a < b),
    "<=": (Pool.le, lambda a, b: a <= b),
}
_LOGIC: dict[str, tuple[Callable[[Pool, Expr, Expr], Expr], Callable[[int, int], bool]]] = {
    "and": (Pool.and_, lambda a, b: bool(a and b)),
    "or": (Pool.or_, lambda a, b: bool(a or b)),
    "iff": (Pool.eq, lambda a, b: a == b),
}

_ints = st.one_of(
    st.tuples(st.just("int"), st.integers(-9, 300)),
    st.tuples(st.just("field"), st.integers(0, len(CARDINALITIES) - 1)),
)
_bools = st.tuples(st.just("bool"), st.booleans())


def _inner_ints(inner: st.SearchStrategy[Recipe], tests: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
    return st.one_of(
        st.tuples(st.sampled_from(sorted(_ARITHMETIC)), inner, inner),
        st.tuples(st.just("ite"), tests, inner, inner),
    )


_SHALLOW = st.recursive(_ints, lambda inner: _inner_ints(inner, _bools), max_leaves=4)
BOOLS: st.SearchStrategy[Recipe] = st.recursive(
    st.one_of(_bools, st.tuples(st.sampled_from(sorted(_COMPARISONS)), _SHALLOW, _SHALLOW)),
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(sorted(_LOGIC)), inner, inner),
        st.tuples(st.just("ite"), inner, inner, inner),
    ),
    max_leaves=5,
)
INTS: st.SearchStrategy[Recipe] = st.recursive(_ints, lambda inner: _inner_ints(inner, BOOLS), max_leaves=6)
STATES = st.tuples(*(st.integers(0, cardinality - 1) for cardinality in CARDINALITIES))


def build(recipe: Recipe, pool: Pool) -> Expr:
    """The recipe as an expression; operands that an operation refuses are mended so that it accepts them."""
    kind, *rest = recipe
    if kind == "int":
        return pool.int(rest[0])
    if kind == "bool":
        return pool.bool(rest[0])
    if kind == "field":
        return pool.field(rest[0], CARDINALITIES[rest[0]])
    args = [build(item, pool) for item in rest]
    if kind == "not":
        return pool.not_(args[0])
    if kind == "ite":
        return pool.ite(*args)
    if kind in _ARITHMETIC:
        args = [mended_operand(kind, at, arg, pool) for at, arg in enumerate(args)]
        return _ARITHMETIC[kind][0](pool, *args)
    return (_COMPARISONS | _LOGIC)[kind][0](pool, *args)


def mended_operand(kind: str, at: int, arg: Expr, pool: Pool) -> Expr:
    """Keeps intervals small and, where an operation needs it, positive or non-negative."""
    arg = pool.mod(arg, pool.int(1 << 20)) if arg.hi - arg.lo > 1 << 20 else arg
    if kind in "&|^" and arg.lo < 0:
        return pool.mod(arg, pool.int(1 << 10))
    if at == 1 and kind in ("<<", ">>"):
        return pool.mod(arg, pool.int(12))
    if at == 1 and kind in ("//", "%"):
        return pool.add(pool.mod(arg, pool.int(9)), pool.int(1))
    return arg


def mean(recipe: Recipe, state: tuple[int, ...]) -> int:
    """What the recipe means, by Python's own operators."""
    return int(_mean(recipe, state, Pool())[0])


def _mean(recipe: Recipe, state: tuple[int, ...], pool: Pool) -> tuple[int, Expr]:
    # The expression comes along only because operands are mended by their intervals.
    kind, *rest = recipe
    expr = build(recipe, pool)
    if kind in ("int", "bool"):
        return int(rest[0]), expr
    if kind == "field":
        return state[rest[0]], expr
    values = [_mean(item, state, pool) for item in rest]
    if kind == "not":
        return int(not values[0][0]), expr
    if kind == "ite":
        return (values[1] if values[0][0] else values[2])[0], expr
    if kind in _ARITHMETIC:
        operands = []
        for at, (value, arg) in enumerate(values):
            if arg.hi - arg.lo > 1 << 20:
                value, arg = value % (1 << 20), pool.mod(arg, pool.int(1 << 20))
            if kind in "&|^" and arg.lo < 0:
                value %= 1 << 10
            elif at == 1 and kind in ("<<", ">>"):
                value %= 12
            elif at == 1 and kind in ("//", "%"):
                value = value % 9 + 1
            operands.append(value)
        return _ARITHMETIC[kind][1](*operands), expr
    return int((_COMPARISONS | _LOGIC)[kind][1](values[0][0], values[1][0])), expr


class Code(Int, lo=0, hi=0):
    """The unit of the fields that random expressions read."""


STATE: type[Struct] = type("State", (Struct,), {f"f{i}": field(Between(Code, 0, n - 1)) for i, n in enumerate(CARDINALITIES)})
"""A state whose leaf i is field i of a random expression."""
