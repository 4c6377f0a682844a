"""The plain-Python evaluator: slow, obvious, and the oracle of every other engine.

Traces, "why is this action not enabled?" and the cross-checks of native code and solvers use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op

_BINARY: dict[Op, Callable[[int, int], int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a // b,
    Op.MOD: lambda a, b: a % b,
    Op.BITAND: lambda a, b: a & b,
    Op.BITOR: lambda a, b: a | b,
    Op.BITXOR: lambda a, b: a ^ b,
    Op.SHL: lambda a, b: a << b,
    Op.SHR: lambda a, b: a >> b,
    Op.EQ: lambda a, b: int(a == b),
    Op.LT: lambda a, b: int(a < b),
    Op.AND: lambda a, b: a & b,
    Op.OR: lambda a, b: a | b,
}


class Evaluator:
    """Evaluates a fixed list of expressions, sorted once, in any number of states."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        self._roots = [root.id for root in roots]
        self._order = evaluation_order(roots)

    def __call__(self, codes: Sequence[int]) -> list[int]:
        """The roots' values (Bools as 0 or 1) in the state whose leaf i has code `codes[i]`."""
        value: dict[int, int] = {}
        for node in self._order:
            op = node.op
            if op is Op.CONST:
                value[node.id] = node.value
            elif op is Op.FIELD:
                value[node.id] = codes[node.value]
            elif op is Op.NOT:
                value[node.id] = 1 - value[node.args[0].id]
            elif op is Op.ITE:
                chosen = node.args[1] if value[node.args[0].id] else node.args[2]
                value[node.id] = value[chosen.id]
            else:
                value[node.id] = _BINARY[op](value[node.args[0].id], value[node.args[1].id])
        return [value[root] for root in self._roots]


def evaluate(root: Expr, codes: Sequence[int]) -> int:
    """One expression in one state; see `Evaluator`."""
    return Evaluator([root])(codes)[0]
