"""Between what numbers a term evidently lies, in any state that counts."""

from __future__ import annotations

from math import inf
from typing import Any, TypeAlias

from acked.model.firstorder.symbols import Op

Term: TypeAlias = Any
"""Of `terms.py`, which imports this module."""


def least(number: Term) -> float:
    """What a number is known not to be below."""
    ranges = number.logic.ranges
    match number.op:
        case Op.CONST:
            return float(number.value)
        case Op.ADD:
            return sum(map(least, number.args))
        case Op.ITE:
            return min(map(least, number.args[1:]))
        case Op.VARIABLE | Op.APPLY if number.value in ranges:
            return least(ranges[number.value][0])
    return -inf


def is_within(number: Term, greatest: Term) -> bool:
    """Whether a number is one of 0..greatest: what it is below is followed from bound to bound."""
    if least(number) < 0:
        return False
    ranges = number.logic.ranges
    limit, most = offset_of(greatest)
    base, shift = offset_of(number)
    while base is not limit or shift > most:
        if base.is_const:
            return bool(base.value + shift <= least(greatest))
        if base.op not in (Op.VARIABLE, Op.APPLY) or base.value not in ranges or base is limit:
            return False
        base, more = offset_of(ranges[base.value][1])
        shift += more
    return True


def offset_of(number: Term) -> tuple[Term, int]:
    """x and c of x + c."""
    is_sum = number.op is Op.ADD and number.args[1].is_const
    return (number.args[0], number.args[1].value) if is_sum else (number, 0)
