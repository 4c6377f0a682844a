"""Lowering of expressions to z3: the same nodes as quantifier-free bit-vectors.

`Lowering`, which picks one bit-vector width for a set of expressions, and `Frame`, one copy of the state's variables in which
expressions become z3 terms. Importing this module imports z3, which is slow: only what asks a solver may do so.

Every node knows the interval its value lies in, so the width is chosen such that no node of the given roots can wrap: the
bit-vector term and the mathematical integer agree in every state of the domain. Outside it (a leaf code at or above its
cardinality) terms mean nothing: assert `Frame.domain_terms()` of every frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import z3

from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.evaluate import FUNCTIONS
from acked.model.formulas.expr import Expr, Op
from acked.model.language.protocol import Instance

Term = Any
"""A z3 expression: `z3.BitVecRef` of an Int, `z3.BoolRef` of a Bool (z3 carries no types of its own)."""


class Lowering:
    """One signed bit-vector width, enough for every node of `roots` and every leaf of the instance's state."""

    def __init__(self, instance: Instance, roots: Iterable[Expr]) -> None:
        self.schema = instance.schema
        nodes = [node for node in evaluation_order(roots) if not node.is_bool]
        lo = min((node.lo for node in nodes), default=0)
        hi = max((node.hi for node in nodes), default=0)
        hi = max(hi, *(leaf.cardinality - 1 for leaf in self.schema.leaves))
        self.lo, self.hi = lo, hi
        # A signed width w holds -2**(w-1) .. 2**(w-1)-1.
        self.width = 1 + max(hi.bit_length(), (-lo - 1).bit_length() if lo < 0 else 0)

    def frame(self, suffix: str = "") -> Frame:
        """A copy of the state's variables, each named by its leaf and `suffix` (e.g. "@3" of step 3)."""
        return Frame(self, suffix)


class Frame:
    """The state's variables at one moment, and the terms of expressions there."""

    def __init__(self, lowering: Lowering, suffix: str) -> None:
        self._lowering = lowering
        self._suffix = suffix
        self._terms: dict[int, Term] = {}
        self._variables: dict[int, Term] = {}

    def variable(self, leaf: int) -> Term:
        """The z3 constant behind a leaf, a bit-vector of exactly the leaf's bits; a leaf of one value has none."""
        known = self._variables.get(leaf)
        if known is None:
            item = self._lowering.schema.leaves[leaf]
            known = self._variables[leaf] = z3.BitVec(f"{item.name}{self._suffix}", item.bits)
        return known

    def field(self, leaf: int) -> Term:
        """The code of a leaf at the lowering's width, never negative."""
        item = self._lowering.schema.leaves[leaf]
        width = self._lowering.width
        if item.bits == 0:
            return z3.BitVecVal(0, width)
        return z3.ZeroExt(width - item.bits, self.variable(leaf))

    def domain_terms(self) -> list[Term]:
        """That every leaf's code is below its cardinality; nothing to say where the bits allow no other.

        And of ids in a log, that those below its end are there and no others: the language sees to that.
        """
        leaves = list(enumerate(self._lowering.schema.leaves))
        below = [z3.ULE(self.variable(at), leaf.cardinality - 1) for at, leaf in leaves if leaf.cardinality < 1 << leaf.bits]
        filled = [
            (self.variable(at) == 0) == z3.ULE(self.field(leaf.slot[0]), leaf.slot[1])
            for at, leaf in leaves
            if leaf.slot is not None and leaf.bits
        ]
        return below + filled

    def term(self, root: Expr) -> Term:
        """The z3 term of an expression; it must be part of the roots that the width was chosen for."""
        if root.id not in self._terms:
            for node in evaluation_order([root]):
                if node.id not in self._terms:
                    self._terms[node.id] = self._lower(node)
        return self._terms[root.id]

    def codes(self, model: z3.ModelRef) -> list[int]:
        """The leaf codes of a state that a solver found; a leaf that it left open is 0."""
        return [
            model.eval(self.variable(number), model_completion=True).as_long() if leaf.bits else 0
            for number, leaf in enumerate(self._lowering.schema.leaves)
        ]

    def is_state(self, codes: Sequence[int]) -> list[Term]:
        """That this frame is the state with the given leaf codes."""
        return [
            self.variable(number) == code
            for number, (leaf, code) in enumerate(zip(self._lowering.schema.leaves, codes, strict=True))
            if leaf.bits
        ]

    def _lower(self, node: Expr) -> Term:
        width = self._lowering.width
        if node.op is Op.CONST:
            if node.is_bool:
                return z3.BoolVal(bool(node.value))
            self._must_fit(node)
            return z3.BitVecVal(node.value, width)
        if node.op is Op.FIELD:
            return self.field(node.value)
        if not node.is_bool:
            self._must_fit(node)
        args = [self._terms[arg.id] for arg in node.args]
        if node.op is Op.NOT:
            return z3.Not(args[0])
        if node.op is Op.ITE:
            return z3.If(*args)
        return self._binary(node, *args)

    @staticmethod
    def _binary(node: Expr, a: Term, b: Term) -> Term:
        match node.op:
            case Op.DIV:
                return _floor_div(a, b, node.args[0].lo < 0)
            case Op.MOD:  # bvsmod takes the sign of the divisor, which is positive
                return a % b if node.args[0].lo < 0 else z3.URem(a, b)
            case Op.AND:
                return z3.And(a, b)
            case Op.OR:
                return z3.Or(a, b)
        # `>>` is arithmetic, so it rounds down; a shift beyond the width leaves the sign, as it should.
        return FUNCTIONS[node.op](a, b)

    def _must_fit(self, node: Expr) -> None:
        lowering = self._lowering
        if node.lo < lowering.lo or node.hi > lowering.hi:
            raise ValueError(
                f"an expression in {node.lo}..{node.hi} may not fit {lowering.width} bits; name it among the roots of the "
                "Lowering"
            )


def _floor_div(a: Term, b: Term, may_be_negative: bool) -> Term:
    """a // b of a positive b; bvsdiv rounds towards zero, the language towards minus infinity."""
    if not may_be_negative:
        return z3.UDiv(a, b)
    quotient = a / b
    return z3.If(z3.SRem(a, b) < 0, quotient - 1, quotient)
