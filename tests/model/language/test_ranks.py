"""Ranks: a renumbering that keeps every comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import evaluate
from acked.model.formulas.expr import Pool
from acked.model.language.context import Context, active, literal
from acked.model.language.quantify import truth
from acked.model.language.values import Int
from acked.model.ranks import MAX_RANKS, ranks


class Wide(Int, hi=15):
    """Numbers of the larger range."""


class Narrow(Int, hi=7):
    """Numbers of the smaller range."""


class Odd(Int, hi=9):
    """A range that is no power of two."""


def ranked(unit: type[Int], numbers: list[int], in_use: list[bool]) -> list[int]:
    with active(Context(Pool(), {})):
        symbolic = [unit(literal(number)) for number in numbers]
        rank = ranks(unit, [(truth(used), number) for used, number in zip(in_use, symbolic, strict=True)])
        return [evaluate(rank(number).expr, ()) for number in symbolic]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, MAX_RANKS), st.booleans()), max_size=16))
def test_a_rank_is_the_number_of_smaller_ones_in_use(pairs: list[tuple[int, bool]]) -> None:
    numbers, in_use = [number for number, _ in pairs], [used for _, used in pairs]
    known = {number for number, used in pairs if used}
    assert ranked(Wide, numbers, in_use) == [sum(other < number for other in known) for number in numbers]


@given(st.lists(st.integers(0, 7), max_size=12))
def test_ranks_of_a_narrow_range_are_dense_and_keep_the_order(numbers: list[int]) -> None:
    result = ranked(Narrow, numbers, [True] * len(numbers))
    assert set(result) == set(range(len(set(numbers))))
    assert sorted(zip(numbers, result, strict=True)) == sorted(zip(sorted(numbers), sorted(result), strict=True))


def test_a_range_that_the_table_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelError, match=r"need the range 0\.\.7 or 0\.\.15"):
        ranked(Odd, [1], [True])
