"""Bound variables: an expression that is made once for all values of what it quantifies over, and its instances.

Where a quantifier goes over many values, tracing an author's function for each of them takes minutes, of nested ones hours.
Traced once with variables in their place it gives one expression, of which most instances fold before they are made: a
conjunct that is false of a variable's value is false whatever the other variables are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import repeat
from math import prod
from operator import or_
from typing import cast

from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr, Op, Pool, builders

Variable = tuple[int, int]
"""The number of a bound variable, and how many values it has, from 0 on."""

_OF_STATE = 1
"""The bit of a node that depends on the state; further bits are those of bound variables."""


def variable(pool: Pool, bound: Variable) -> Expr:
    """The node that stands for a variable: a leaf with a number that no leaf of a state has."""
    number, values = bound
    return pool.field(-1 - number, values)


def is_open(root: Expr) -> bool:
    """Whether an expression depends on a bound variable."""
    return _dependence(root) > _OF_STATE


def closed(root: Expr) -> Expr:
    """The expression; `ModelError` if it has a value that a function kept from a quantifier, where it means nothing."""
    if _dependence in root.pool.notes and is_open(root):
        raise ModelError("a value was kept from the function of a quantifier, and means nothing outside it; use each(…)")
    return root


def all_closed(roots: Sequence[Expr]) -> Sequence[Expr]:
    """The expressions, each as by `closed`; where nothing was ever bound, none is looked at."""
    return [*map(closed, roots)] if roots and _dependence in roots[0].pool.notes else roots


def instances(root: Expr, variables: Sequence[Variable]) -> Iterator[Expr]:
    """The expression for all values of these variables, those of the last one changing first."""
    if not _dependence(root) & sum(_bit(number) for number, _ in variables):
        yield from repeat(root, prod(values for _, values in variables))
        return
    (number, values), *others = variables
    for value in range(values):
        yield from instances(_Binding(root.pool, number, value).of(root), others)


def _bit(number: int) -> int:
    return _OF_STATE << 1 + number


def _dependence(root: Expr) -> int:
    """What an expression depends on, as bits; each node is looked at once."""
    known = cast("dict[int, int]", root.pool.notes.setdefault(_dependence, {}))
    stack = [root]
    while stack:
        node = stack[-1]
        below = [arg for arg in node.args if arg.id not in known]
        stack += below
        if not below:
            stack.pop()
            own = 0 if node.op is not Op.FIELD else _OF_STATE if node.value >= 0 else _bit(-1 - node.value)
            known[node.id] = reduce(or_, (known[arg.id] for arg in node.args), own)
    return known[root.id]


class _Binding:
    """One value in the place of a variable; nothing is made of what a false conjunct or a true disjunct decides."""

    def __init__(self, pool: Pool, number: int, value: int) -> None:
        self._pool, self._number, self._value = pool, number, value
        self._build = builders(pool)
        self._made: dict[int, Expr] = {}

    def of(self, node: Expr) -> Expr:
        """The node with the value."""
        if not _dependence(node) & _bit(self._number):
            return node
        made = self._made.get(node.id)
        if made is None:
            made = self._made[node.id] = self._bound(node)
        return made

    def _bound(self, node: Expr) -> Expr:
        if node.op is Op.FIELD:
            return self._pool.int(self._value)
        if node.op is Op.ITE:
            test = self.of(node.args[0])
            if test.is_const:
                return self.of(node.args[1] if test.value else node.args[2])
        if node.op in (Op.AND, Op.OR):
            return self._connected(node.op, _operands(node))
        if node.op is Op.ADD:
            return self._total(_operands(node))
        return self._build[node.op](*map(self.of, node.args))

    def _connected(self, op: Op, parts: Sequence[Expr]) -> Expr:
        decided = self._pool.bool(op is Op.OR)
        # What depends on variables alone costs least, and decides most often.
        for part in sorted(parts, key=lambda item: _dependence(item) & _OF_STATE):
            if self.of(part) is decided:
                return decided
        bound = map(self.of, parts)
        return self._pool.any(bound) if op is Op.OR else self._pool.all(bound)

    def _total(self, parts: Iterable[Expr]) -> Expr:
        total = self._pool.int(0)
        for part in parts:
            total = self._pool.add(total, self.of(part))
        return total


def _operands(root: Expr) -> list[Expr]:
    """The operands of a connective or a sum in their order, however deep it is nested; equal ones of a connective once."""
    found: list[Expr] = []
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if root.op is not Op.ADD and node.id in seen:
            continue
        seen.add(node.id)
        if node.op is root.op:
            stack += reversed(node.args)
        else:
            found.append(node)
    return found
