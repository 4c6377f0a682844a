"""The plain-Python evaluator: slow, obvious, and the oracle of every other engine.

Traces, "why is this action not enabled?" and the cross-checks of native code and solvers use it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op

FUNCTIONS: dict[Op, Callable[[Any, Any], Any]] = {
    Op.ADD: operator.add,
    Op.SUB: operator.sub,
    Op.MUL: operator.mul,
    Op.DIV: operator.floordiv,
    Op.MOD: operator.mod,
    Op.BITAND: operator.and_,
    Op.BITOR: operator.or_,
    Op.BITXOR: operator.xor,
    Op.SHL: operator.lshift,
    Op.SHR: operator.rshift,
    Op.EQ: operator.eq,
    Op.LT: operator.lt,
    Op.AND: operator.and_,
    Op.OR: operator.or_,
    Op.NOT: lambda a, _: 1 - a,
}
"""Of every kind that is not a leaf or a choice; by operators of Python, which the terms of solvers have too."""


class Evaluator:
    """Evaluates a fixed list of expressions, sorted once, in any number of states."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        order = evaluation_order(roots)
        at = {node.id: place for place, node in enumerate(order)}
        self._roots = [at[root.id] for root in roots]
        self._start = [node.value if node.op is Op.CONST else 0 for node in order]
        self._fields = [(place, node.value) for place, node in enumerate(order) if node.op is Op.FIELD]
        self._steps: list[tuple[int, Callable[[int, int], int] | None, int, int, int]] = []
        """Place of the result, its function and the places of its arguments; None is a choice, of a truth value and two."""
        for place, node in enumerate(order):
            if node.args:
                first, second, third, *_ = (*(at[arg.id] for arg in node.args), 0, 0)
                self._steps.append((place, FUNCTIONS.get(node.op), first, second, third))

    def __call__(self, codes: Sequence[int]) -> list[int]:
        """The roots' values (Bools as 0 or 1) in the state whose leaf i has code `codes[i]`."""
        value = self._start.copy()
        for place, leaf in self._fields:
            value[place] = codes[leaf]
        for place, function, first, second, third in self._steps:
            if function is not None:
                value[place] = function(value[first], value[second])
            else:
                value[place] = value[second] if value[first] else value[third]
        # Comparisons in Python are truth values, and `+` makes numbers of them.
        return [+value[root] for root in self._roots]


def evaluate(root: Expr, codes: Sequence[int]) -> int:
    """One expression in one state; see `Evaluator`."""
    return Evaluator([root])(codes)[0]


def leaves_of(root: Expr) -> set[int]:
    """The numbers of the leaves that an expression reads."""
    return {node.value for node in evaluation_order([root]) if node.op is Op.FIELD}
