"""Ranks: numbers that are only ever compared, renumbered densely, so that any number of them fits a small range.

`ranks`, the quotient by order isomorphism for one set of numbers in use, and how large a range that takes.

Floor 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import Constant, literal, resolve
from acked.model.language.values import Bool, N

RANK_BITS = 4
"""Bits of one rank in the table of all ranks, which has to fit one machine word."""

MAX_RANKS = 14
"""Numbers that can be told apart, one step's new one included."""


def highest_rank(most: int, numbers: str, bound: str) -> int:
    """The greatest rank that a field needs if so many of what is called `numbers` may be in use at once.

    `ModelError` if they are too many; `bound` is the constant that bounds elections and so makes do without ranks.
    """
    if most > MAX_RANKS:
        raise ModelError(
            f"{most} {numbers} may be in use at once and {MAX_RANKS} can be told apart by rank; choose fewer replicas or a "
            f"smaller log_size, or bound the elections with {bound}"
        )
    return 7 if most <= 7 else 15


def told_without_ranks(bound: Constant) -> Callable[[Mapping[str, int]], dict[str, int]]:
    """The constants with which a run is shown: ranks change their meaning from step to step, numbers up to a bound do not."""
    return lambda constants: {**constants, bound.name: constants[bound.name] or bound.hi}


def ranks(unit: type[N], in_use: Sequence[tuple[Bool, N]]) -> Callable[[N], N]:
    """A function from a number to how many smaller ones are in use.

    `in_use` lists (is it in use?, number), at most `MAX_RANKS` different ones, each at most `MAX_RANKS`; the unit ranges
    over 0..7 or 0..15. Of a number in use the result is its rank; 0 stays 0.
    """
    highest = resolve(unit.hi)
    if resolve(unit.lo) != 0 or highest not in (7, 15):
        raise ModelError(f"ranks of a {unit.type_name} need the range 0..7 or 0..15")
    zero, one, column, mask = literal(0), literal(1), literal(RANK_BITS), literal(highest)
    pool = zero.pool

    def low(number: Expr) -> Expr:
        # No value of an optional number is one below the least; where it is not in use any place in the table will do.
        natural = number if number.lo >= 0 else pool.add(number, literal(highest + 1))
        return natural if number.lo >= 0 and number.hi <= highest else pool.bitand(natural, mask)

    used: Expr = zero
    for condition, number in in_use:
        bit = pool.shl(one, low(number.expr))
        used = pool.bitor(used, pool.ite(condition.expr, bit, zero))
    last = min(highest, MAX_RANKS)
    table = zero
    for below in range(last):
        above = sum(1 << RANK_BITS * k for k in range(below + 1, last + 1))
        table = pool.add(table, pool.mul(pool.bitand(pool.shr(used, literal(below)), one), literal(above)))

    def rank(number: N) -> N:
        place = pool.mul(low(number.expr), column)
        return unit(pool.bitand(pool.shr(table, place), mask))

    return rank
