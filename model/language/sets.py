"""Symbolic sets of ids, as masks: bit tricks stay inside this module."""

from __future__ import annotations

import sys
from typing import Generic

from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr, Pool
from acked.model.formulas.functions import must_be_used
from acked.model.language.context import literal, resolve
from acked.model.language.values import Bool, Count, I, Id, IntLike, OptionalValue, Value, mismatch


class SetValue(Value, Generic[I]):
    """A set of ids; a parameter that is one is declared with `SetValue[Broker]`.

    The expression is a mask: bit k stands for id k. An optional id may stand for a member: none is in no set. Adding it
    gives a set with a bit beyond all ids, so that assigning that set is caught as leaving the domain.

    >>> @action()
    ... def lose_logs(s: State, unlucky: SetValue[Broker]) -> None:
    ...     for b in each(Broker):
    ...         s.end[b] = ite(unlucky.contains(b), 0, s.end[b])
    >>> lose_logs.parameters()["unlucky"].cardinality({"brokers": 3})
    8
    """

    __slots__ = ("item",)
    instead = "use |, &, -, contains(…), issubset(…), `.size`, == or !="

    def __init__(self, mask: Expr, item: type[I]) -> None:
        if type(mask) is not Expr:
            super().__init__(mask)
        elif not mask.is_const:
            sets_of(mask.pool, item).add(mask.id)
        self.expr, self.item = mask, item

    @property
    def type_name(self) -> str:  # type: ignore[override]
        """How errors name the type."""
        return f"set of {self.item.type_name}s"

    @property
    def is_empty(self) -> Bool:
        """Whether nothing is in the set."""
        return Bool(self.expr.pool.eq(self.expr, literal(0)))

    @property
    def size(self) -> Count:
        """The number of members."""
        pool = self.expr.pool
        total = literal(0)
        for k in range(resolve(self.item.size)):
            total = pool.add(total, pool.ite(self.contains(self.item(literal(k))).expr, literal(1), literal(0)))
        return Count(total)

    def reaches(self, threshold: IntLike) -> Bool:
        """Whether the set has at least so many members.

        Where sizes are unknown, this can be said of the thresholds that a protocol declares, and nothing else of a size.
        """
        return self.size >= threshold

    def as_many_as(self, other: SetValue[I]) -> Bool:
        """Whether the set has at least as many members as the other."""
        return self.size >= other.size

    def contains(self, member: I | OptionalValue[I]) -> Bool:
        """Whether `member` is in the set; false of none."""
        pool = self.expr.pool
        bit = pool.bitand(self.expr, self._bit(member))
        return Bool(pool.not_(pool.eq(bit, literal(0))))

    def add(self, member: I | OptionalValue[I]) -> SetValue[I]:
        """The set with `member`, which becomes a field's by assignment: `s.members = s.members.add(m)`."""
        must_be_used("add", sys._getframe(1))
        return SetValue(self.expr.pool.bitor(self.expr, self._bit(member)), self.item)

    def remove(self, member: I | OptionalValue[I]) -> SetValue[I]:
        """The set without `member`, which becomes a field's by assignment; without none it is the same set."""
        must_be_used("remove", sys._getframe(1))
        return self - SetValue(self._bit(member), self.item)

    def is_only(self, member: I | OptionalValue[I]) -> Bool:
        """Whether `member` is the only one in the set."""
        return Bool(self.expr.pool.eq(self.expr, self._bit(member)))

    def issubset(self, other: SetValue[I]) -> Bool:
        """Whether every member is in `other` too."""
        return (self - other).is_empty

    def __or__(self, other: SetValue[I]) -> SetValue[I]:
        return SetValue(self.expr.pool.bitor(self.expr, self.mask_of(other)), self.item)

    def __and__(self, other: SetValue[I]) -> SetValue[I]:
        return SetValue(self.expr.pool.bitand(self.expr, self.mask_of(other)), self.item)

    def __sub__(self, other: SetValue[I]) -> SetValue[I]:
        pool, without = self.expr.pool, self.mask_of(other)
        ones = (1 << resolve(self.item.size)) - 1
        if max(self.expr.hi, without.hi) > ones:  # none may be among the members
            ones = 2 * ones + 1
        return SetValue(pool.bitand(self.expr, pool.bitxor(without, literal(ones))), self.item)

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        return Bool(self.expr.pool.eq(self.expr, self.mask_of(other)))

    def mask_of(self, other: object) -> Expr:
        """The mask of another set of the same type; `ModelError` for anything else."""
        if isinstance(other, SetValue) and other.item is self.item:
            return other.expr
        if other is self.item:
            raise ModelError(f"expected a {self.type_name}, got the type; all of them are all_of({self.item.__name__})")
        raise mismatch(self.type_name, other)

    def _bit(self, member: I | OptionalValue[I]) -> Expr:
        if isinstance(member, OptionalValue) and member.item is self.item:
            member = member.value
        number = self.item.lift(member)
        if number.is_const and number.value >= 0:
            return literal(1 << number.value)
        pool, one = number.pool, literal(1)
        if number.lo >= 0:
            return pool.shl(one, number)
        # No id has the number −1: what is lower can be shifted by, and back.
        up = literal(-int(number.lo))
        shifted = pool.shr(pool.shl(one, pool.add(number, up)), up)
        return pool.ite(pool.eq(number, literal(-1)), literal(1 << resolve(self.item.size)), shifted)

    __hash__ = Value.__hash__


def sets_of(pool: Pool, item: type[Id]) -> set[int]:
    """The nodes of a pool that were made a set of a sort; of one of constants alone nothing else would say what it is."""
    known = pool.notes.get((SetValue, item))
    if known is None:
        known = pool.notes[SetValue, item] = set()
    return known  # type: ignore[return-value]
