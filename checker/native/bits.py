"""Expressions as operations on single bits, so that a machine word decides one bit of as many states as it has bits.

`Bits` makes of every expression the bits of its value, each a formula of the bits of leaves: and, or, and-not, exclusive or,
every formula once. Numbers are two's complement of as many bits as their interval needs; most of a protocol's have one to
three. (Biham: A fast new DES implementation in software, FSE 1997, has the way of computing.)
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple, cast

from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op, Pool

Bit = int
"""A formula, times two; the odd number behind it is its negation."""
NO, YES = 0, 1
Number = tuple[Bit, ...]
"""The bits of a value, the lowest first."""


class Formula(NamedTuple):
    """`kind` of two earlier formulas, neither negated (`andn`: the first and not the second); a bit of the state if `leaf`,
    which is the `first`-th leaf's `second`-th."""

    kind: str
    first: int
    second: int


class Bits:
    """Formulas over the bits of a state, in an order in which each is made of earlier ones.

    `work` is for what is counted of the nodes that they are made of, by their ids.
    """

    @classmethod
    def of(cls, pool: Pool, leaf_bits: tuple[int, ...]) -> Bits:
        """Those of a pool, which questions share whose leaves have the same bits: most of their formulas are the same."""
        return cast(Bits, pool.notes.setdefault((cls, leaf_bits), cls(leaf_bits)))

    def __init__(self, leaf_bits: Sequence[int]) -> None:
        self.work: dict[int, int] = {}
        self._leaf_bits = leaf_bits
        self.formulas: list[Formula] = [Formula("no", 0, 0)]
        self._known: dict[Formula, Bit] = {}
        self._numbers: dict[int, Number] = {}

    # -- formulas -------------------------------------------------------------------------------------------------

    def leaf(self, leaf: int) -> Number:
        """The code of a leaf."""
        return tuple(self._formula("leaf", leaf, bit) for bit in range(self._leaf_bits[leaf]))

    def and_(self, a: Bit, b: Bit) -> Bit:
        """Both."""
        if a > b:
            a, b = b, a
        if a == NO or a ^ b == 1:
            return NO
        if a in (YES, b):
            return b
        if a & b & 1:
            return self._formula("or", a >> 1, b >> 1) ^ 1
        if a & 1:
            return self._formula("andn", b >> 1, a >> 1)
        return self._formula("andn" if b & 1 else "and", a >> 1, b >> 1)

    def or_(self, a: Bit, b: Bit) -> Bit:
        """Either."""
        return self.and_(a ^ 1, b ^ 1) ^ 1

    def xor(self, a: Bit, b: Bit) -> Bit:
        """One of the two."""
        negated = (a ^ b) & 1
        a, b = sorted((a & ~1, b & ~1))
        if a == b:
            return negated
        return b ^ negated if a == NO else self._formula("xor", a >> 1, b >> 1) ^ negated

    def choose(self, condition: Bit, then: Bit, other: Bit) -> Bit:
        """`then` where the condition holds, else `other`."""
        if then ^ other == 1:
            return self.xor(condition, other)
        if then == other:
            return then
        return self.or_(self.and_(condition, then), self.and_(condition ^ 1, other))

    def _formula(self, kind: str, first: int, second: int) -> Bit:
        formula = Formula(kind, first, second)
        known = self._known.get(formula)
        if known is None:
            known = self._known[formula] = 2 * len(self.formulas)
            self.formulas.append(formula)
        return known

    # -- numbers --------------------------------------------------------------------------------------------------

    def add(self, a: Number, b: Number, carry: Bit = NO) -> Number:
        """The sum of two numbers of one width, without what it carries beyond."""
        result = []
        for x, y in zip(a, b, strict=True):
            differ = self.xor(x, y)
            result.append(self.xor(differ, carry))
            carry = self.or_(self.and_(x, y), self.and_(differ, carry))
        return tuple(result)

    def subtract(self, a: Number, b: Number) -> Number:
        """The difference of two numbers of one width."""
        return self.add(a, tuple(bit ^ 1 for bit in b), YES)

    def is_less(self, a: Number, b: Number) -> Bit:
        """Whether one natural number is less than another of its width."""
        less = NO
        for x, y in zip(a, b, strict=True):
            less = self.or_(self.and_(x ^ 1, y), self.and_(less, self.or_(x ^ 1, y)))
        return less

    def is_equal(self, a: Number, b: Number) -> Bit:
        """Whether two numbers of one width are the same."""
        differ = NO
        for x, y in zip(a, b, strict=True):
            differ = self.or_(differ, self.xor(x, y))
        return differ ^ 1

    def multiply(self, a: Number, b: Number) -> Number:
        """The product of two numbers of one width, without what goes beyond it."""
        width = len(a)
        result: Number = (NO,) * width
        for at, bit in enumerate(b):
            if bit != NO:
                result = self.add(result, (NO,) * at + tuple(self.and_(bit, x) for x in a[: width - at]))
        return result

    def divide(self, a: Number, b: Number) -> tuple[Number, Number]:
        """Quotient and remainder of natural numbers, the remainder one bit wider than `b`."""
        wide = (*b, NO)
        rest: Number = (NO,) * len(wide)
        quotient = []
        for bit in reversed(a):
            rest = (bit, *rest[:-1])
            fits = self.is_less(rest, wide) ^ 1
            rest = self._either(fits, self.subtract(rest, wide), rest)
            quotient.append(fits)
        return tuple(reversed(quotient)), rest

    def _either(self, condition: Bit, then: Number, other: Number) -> Number:
        return tuple(self.choose(condition, x, y) for x, y in zip(then, other, strict=True))

    # -- expressions ----------------------------------------------------------------------------------------------

    def numbers(self, roots: Sequence[Expr]) -> list[Number]:
        """The value of every root; of a condition one bit. Of an earlier call's nodes it is known."""
        found = self._numbers
        for node in evaluation_order(roots, known=found):
            if node.op is Op.FIELD:
                found[node.id] = resized(self.leaf(node.value), False, width_of(node))
            elif node.op is Op.CONST:
                found[node.id] = tuple(node.value >> at & 1 for at in range(width_of(node)))
            else:
                found[node.id] = self._value(node, [found[arg.id] for arg in node.args])
        return [found[root.id] for root in roots]

    def needed(self, roots: Iterable[Bit], known: Container[int]) -> list[int]:
        """The formulas that the roots are made of and that are not known, each after those that it is made of."""
        found: dict[int, None] = {}
        stack = [root >> 1 for root in roots]
        while stack:
            number = stack.pop()
            if number < 0:  # What it is made of is there.
                found[~number] = None
            elif number and number not in known and number not in found:
                kind, first, second = self.formulas[number]
                stack.append(~number)
                if kind != "leaf":
                    stack += (second, first)
        return list(found)

    def _value(self, node: Expr, args: list[Number]) -> Number:
        op, width = node.op, width_of(node)
        if op is Op.NOT:
            return (args[0][0] ^ 1,)
        if op is Op.AND:
            return (self.and_(args[0][0], args[1][0]),)
        if op is Op.OR:
            return (self.or_(args[0][0], args[1][0]),)
        if op in (Op.EQ, Op.LT):
            return (self._compared(node, args),)
        if op in (Op.DIV, Op.MOD):
            return self._divided(node, args)
        if op in (Op.SHL, Op.SHR):
            return self._shifted(node, args)
        wide = [resized(number, arg.lo < 0, width) for number, arg in zip(args, node.args, strict=True)]
        if op is Op.ITE:
            return self._either(args[0][0], wide[1], wide[2])
        if op is Op.MUL and node.args[1].is_const and node.args[1].value < 0:
            positive = tuple(-node.args[1].value >> at & 1 for at in range(width))
            return self.subtract((NO,) * width, self.multiply(wide[0], positive))
        if op in (Op.ADD, Op.SUB, Op.MUL):
            return {Op.ADD: self.add, Op.SUB: self.subtract, Op.MUL: self.multiply}[op](*wide)
        bitwise = {Op.BITAND: self.and_, Op.BITOR: self.or_, Op.BITXOR: self.xor}[op]
        return tuple(bitwise(x, y) for x, y in zip(*wide, strict=True))

    def _compared(self, node: Expr, args: list[Number]) -> Bit:
        is_signed = any(arg.lo < 0 for arg in node.args)
        width = max(width_of(arg) + (is_signed and arg.lo >= 0) for arg in node.args)
        a, b = (resized(number, arg.lo < 0, width) for number, arg in zip(args, node.args, strict=True))
        if node.op is Op.EQ:
            return self.is_equal(a, b)
        if is_signed:  # Of two's complements the one with the upper bit is less.
            a, b = (*a[:-1], b[-1]), (*b[:-1], a[-1])
        return self.is_less(a, b)

    def _shifted(self, node: Expr, args: list[Number]) -> Number:
        value, (number, by) = node.args[0], args
        is_left, width = node.op is Op.SHL, width_of(node)
        number = resized(number, value.lo < 0, width) if is_left else number
        fill = number[-1] if value.lo < 0 else NO
        for at, bit in enumerate(by):
            most = min(1 << at, len(number))
            moved = (NO,) * most + number[: len(number) - most] if is_left else number[most:] + (fill,) * most
            number = self._either(bit, moved, number)
        return resized(number, value.lo < 0, width)

    def _divided(self, node: Expr, args: list[Number]) -> Number:
        """Rounding down: of a negative number, what lies below is that of the number of opposite bits, with opposite bits."""
        value, divisor = node.args
        a, width = args[0], width_of(node)
        if divisor.is_const and divisor.value.bit_count() == 1:
            at = divisor.value.bit_length() - 1
            if node.op is Op.MOD:
                return resized(a, value.lo < 0, at)
            return resized(a[at:] or a[-1:], value.lo < 0, width)
        sign = a[-1] if value.lo < 0 else NO
        quotient, rest = self.divide(tuple(self.xor(bit, sign) for bit in a), args[1])
        if node.op is Op.DIV:
            return resized(tuple(self.xor(bit, sign) for bit in quotient), value.lo < 0, width)
        wide = (*args[1], NO)
        opposite = self.add(self.subtract(wide, rest), (YES,) * len(wide))
        return resized(self._either(sign, opposite, rest), False, width)


def width_of(node: Expr) -> int:
    """How many bits its value takes: of one that may be negative, with the sign."""
    if node.lo >= 0:
        return max(node.hi.bit_length(), 1)
    return max(node.hi, -node.lo - 1).bit_length() + 1


def resized(number: Number, is_signed: bool, width: int) -> Number:
    """As many of the bits, and above them the sign."""
    fill = number[-1] if is_signed else NO
    return number[:width] + (fill,) * (width - len(number))
