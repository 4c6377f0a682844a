"""What quantifiers are in the concrete reading: over offsets a search at break points, over everything else unrolled."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, cast

from acked.model.concrete.inputs import Inputs, Wanted
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import current, resolve
from acked.model.language.finite import Finite
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool, Int, N, V


class AtBreaks(Finite):
    """Like the finite meaning, but that numbers of the units `searched` are not enumerated.

    Whether there is one, and which is the least or the greatest, is asked of those alone around which the body's truth can
    change (`inputs.breaks_of`). That is exact: between two such points the body has one value.
    """

    def __init__(self, searched: Collection[type[Int]]) -> None:
        self._searched = frozenset(searched)
        self._depth = 0

    def every(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """That there is none for which the body does not hold."""
        if not self._is_searched(over):
            return super().every(over, body)
        return ~self.some(over, lambda value: ~Bool(Bool.lift(body(value))))

    def some(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """Whether there is one for which the body holds."""
        if not self._is_searched(over):
            return super().some(over, body)
        unit = cast(type[Int], over)
        return Bool(self._search(unit, cast(Callable[[Int], Bool], body), Wanted.SOME, _pool().false))

    def extreme(self, over: type[N], body: Callable[[N], Bool], otherwise: N | None, is_greatest: bool) -> N:
        """The number at the end of a piece in which the body holds."""
        if not self._is_searched(over):
            return super().extreme(over, body, otherwise, is_greatest)
        lo, hi = _bounds(over)
        default = _pool().int(lo if is_greatest else hi) if otherwise is None else over.lift(otherwise)
        return over(self._search(over, body, Wanted.GREATEST if is_greatest else Wanted.LEAST, default))

    def each(self, over: type[V]) -> list[V]:
        """All values; not of a unit of which there are too many."""
        if self._is_searched(over):
            raise ModelError(f"each(…) of a {over.type_name} has no concrete reading; use every(…), some(…) or for_each(…)")
        return super().each(over)

    def _is_searched(self, over: object) -> bool:
        return isinstance(over, type) and over in self._searched

    def _search(self, unit: type[N], body: Callable[[N], Bool], wanted: Wanted, otherwise: Expr) -> Expr:
        pool, bounds = _pool(), _bounds(unit)
        variable = pool.variable(self._depth, *bounds)
        self._depth += 1
        try:
            truth = Bool.lift(body(unit(variable)))
        finally:
            self._depth -= 1
        if wanted is Wanted.SOME and truth.is_const:
            return truth if bounds[0] <= bounds[1] else pool.false
        return pool.search(wanted, variable, truth, bounds, otherwise)


def _pool() -> Inputs:
    pool = current().pool
    assert isinstance(pool, Inputs)
    return pool


def _bounds(unit: type[Int]) -> tuple[int, int]:
    return resolve(unit.lo), resolve(unit.hi)
