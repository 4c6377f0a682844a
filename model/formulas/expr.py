"""Immutable, interned expressions over Bool and bounded Int: the one language every engine reads.

The node type `Expr`, the `Pool` that interns nodes, folds constants and tracks the interval of every integer, and the order
in which nodes are to be evaluated.

Integers are mathematical: every node knows the closed interval its value lies in, so each lowering picks a machine
width in which nothing can wrap. Nodes of one pool are identical exactly if they are the same object, and a node's id is
greater than the ids of its arguments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from itertools import count
from typing import TypeAlias

from acked.model.formulas.connectives import Connective, Connectives, evaluation_order
from acked.model.formulas.errors import ModelError

INT_LIMIT = 2**62
"""Intervals must stay within ±this bound, so that 64-bit signed arithmetic never wraps."""


@unique
class Op(Enum):
    """The closed set of node kinds. Integer division and remainder round towards minus infinity, as in Python."""

    CONST = "const"
    FIELD = "field"
    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "//"
    MOD = "%"
    BITAND = "&"
    BITOR = "|"
    BITXOR = "^"
    SHL = "<<"
    SHR = ">>"
    EQ = "=="
    LT = "<"
    NOT = "not"
    AND = "and"
    OR = "or"
    ITE = "ite"

    # There is one object of each kind; Enum's own hash is that of the name, in Python, and every node made asks for it.
    __hash__ = object.__hash__


COMMUTATIVE = frozenset({Op.ADD, Op.MUL, Op.BITAND, Op.BITOR, Op.BITXOR, Op.EQ, Op.AND, Op.OR})
"""Kinds whose arguments the pool orders as it likes, which is by their ids."""


@dataclass(slots=True, eq=False)
class Expr:
    """One node; compare with `is`. Nobody changes one: only that it is not frozen makes it in a third of the time.

    `value` is the constant of a CONST node and the leaf index of a FIELD node (see `layout.Schema`), else 0.
    `lo`/`hi` bound the value; a Bool lies in 0..1.
    """

    pool: Pool
    id: int
    op: Op
    args: tuple[Expr, ...]
    value: int
    lo: int
    hi: int
    is_bool: bool
    is_const: bool
    """Whether the node is a literal; kept, because whatever folds asks it of every argument."""

    @property
    def truth(self) -> bool:
        """The value of a Bool literal."""
        return bool(self.value)

    @property
    def negated(self) -> Expr | None:
        """What stands below a negation; None of any other node."""
        return self.args[0] if self.op is Op.NOT else None

    def __bool__(self) -> bool:
        raise ModelError("a symbolic expression has no truth value while the protocol is traced")

    def __repr__(self) -> str:
        if self.op is Op.CONST:
            return str(bool(self.value)) if self.is_bool else str(self.value)
        if self.op is Op.FIELD:
            return f"field{self.value}"
        return f"({self.op.value} {' '.join(map(repr, self.args))})"


_CONNECTIVES: dict[Connective, Op] = {"not": Op.NOT, "and": Op.AND, "or": Op.OR}

# `Pool` has methods of these names.
_Int: TypeAlias = int
_Bool: TypeAlias = bool


class Pool(Connectives[Expr]):
    """Interns the nodes of one instance or of several; ids count up in order of construction, so they are reproducible."""

    def __init__(self) -> None:
        self._ids = count()
        self._ints: dict[int, Expr] = {}
        self._digests: dict[int, bytes] = {}
        self.notes: dict[object, object] = {}
        """What others know of these nodes and want to find again, each under keys of their own."""
        super().__init__()

    @property
    def size(self) -> _Int:
        """How many nodes there are."""
        return len(self._nodes)

    # -- leaves -------------------------------------------------------------------------------------------------

    def bool(self, value: bool) -> Expr:
        """The Bool literal."""
        return self._intern(Op.CONST, (), int(value), int(value), int(value), True)

    def int(self, value: int) -> Expr:
        """The Int literal; `ModelError` beyond ±2**62."""
        known = self._ints.get(value)
        if known is None:
            known = self._ints[value] = self._intern(Op.CONST, (), value, value, value, False)
        return known

    def field(self, leaf: _Int, cardinality: _Int) -> Expr:
        """The code of state leaf `leaf`, an Int in 0..cardinality-1."""
        if cardinality == 1:
            return self.int(0)
        return self._intern(Op.FIELD, (), leaf, 0, cardinality - 1, False)

    # -- arithmetic ---------------------------------------------------------------------------------------------

    def add(self, a: Expr, b: Expr) -> Expr:
        """a + b."""
        if a.is_const:
            a, b = b, a
        if b.is_const:
            if b.value == 0 or a.is_const:
                return self.int(a.value + b.value) if a.is_const else a
            # (x + c) + d and (x - c) + d become one addition.
            if a.op is Op.ADD and a.args[1].is_const:
                return self.add(a.args[0], self.int(a.args[1].value + b.value))
        elif a.id > b.id:
            a, b = b, a
        return self._intern(Op.ADD, (a, b), 0, a.lo + b.lo, a.hi + b.hi, False)

    def sub(self, a: Expr, b: Expr) -> Expr:
        """a - b."""
        if a is b:
            return self.int(0)
        if b.is_const:
            return self.add(a, self.int(-b.value))
        return self._intern(Op.SUB, (a, b), 0, a.lo - b.hi, a.hi - b.lo, False)

    def mul(self, a: Expr, b: Expr) -> Expr:
        """a * b."""
        if a.is_const:
            a, b = b, a
        if b.is_const:
            if a.is_const or b.value == 0:
                return self.int(a.value * b.value)
            if b.value == 1:
                return a
        elif a.id > b.id:
            a, b = b, a
        corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return self._intern(Op.MUL, (a, b), 0, min(corners), max(corners), False)

    def div(self, a: Expr, b: Expr) -> Expr:
        """a // b, rounding down; the divisor must be positive in every state."""
        self._positive(b, "//")
        if a.is_const and b.is_const:
            return self.int(a.value // b.value)
        if b.is_const and b.value == 1:
            return a
        corners = [x // y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return self._intern(Op.DIV, (a, b), 0, min(corners), max(corners), False)

    def mod(self, a: Expr, b: Expr) -> Expr:
        """a % b, in 0..b-1; the divisor must be positive in every state."""
        self._positive(b, "%")
        if a.is_const and b.is_const:
            return self.int(a.value % b.value)
        if a.lo >= 0 and a.hi < b.lo:
            return a
        return self._intern(Op.MOD, (a, b), 0, 0, b.hi - 1, False)

    def bitand(self, a: Expr, b: Expr) -> Expr:
        """a & b of non-negative integers."""
        if a.is_const and b.is_const:
            return self.int(a.value & b.value)
        a, b = self._const_last(a, b)
        if a is b or (b.is_const and a.lo >= 0 and b.value == _ones(a.hi)):
            return a
        if b.is_const and b.value == 0:
            return b
        if b.is_const and a.op is Op.BITAND and a.args[1].is_const:
            return self.bitand(a.args[0], self.int(a.args[1].value & b.value))
        self._natural((a, b), "&")
        return self._intern(Op.BITAND, (a, b), 0, 0, min(a.hi, b.hi), False)

    def bitor(self, a: Expr, b: Expr) -> Expr:
        """a | b of non-negative integers."""
        if a.is_const and b.is_const:
            return self.int(a.value | b.value)
        a, b = self._const_last(a, b)
        if a is b or (b.is_const and b.value == 0):
            return a
        self._natural((a, b), "|")
        return self._intern(Op.BITOR, (a, b), 0, max(a.lo, b.lo), _ones(a.hi | b.hi), False)

    def bitxor(self, a: Expr, b: Expr) -> Expr:
        """a ^ b of non-negative integers."""
        if a.is_const and b.is_const:
            return self.int(a.value ^ b.value)
        a, b = self._const_last(a, b)
        if a is b:
            return self.int(0)
        if b.is_const and b.value == 0:
            return a
        self._natural((a, b), "^")
        return self._intern(Op.BITXOR, (a, b), 0, 0, _ones(a.hi | b.hi), False)

    def shl(self, a: Expr, b: Expr) -> Expr:
        """a << b, that is a * 2**b; the shift must be non-negative in every state."""
        self._natural((b,), "<<")
        if b.is_const:
            return self.mul(a, self.int(1 << b.value))
        if b.hi > 62:
            raise ModelError(f"a shift by up to {b.hi} bits leaves 64-bit integers; bound the shift to at most 62")
        corners = [x << y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return self._intern(Op.SHL, (a, b), 0, min(corners), max(corners), False)

    def shr(self, a: Expr, b: Expr) -> Expr:
        """a >> b, rounding down; the shift must be non-negative in every state."""
        self._natural((b,), ">>")
        if b.hi > 62:
            raise ModelError(f"a shift by up to {b.hi} bits leaves 64-bit integers; bound the shift to at most 62")
        if a.is_const and b.is_const:
            return self.int(a.value >> b.value)
        if b.is_const and b.value == 0:
            return a
        corners = [x >> y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return self._intern(Op.SHR, (a, b), 0, min(corners), max(corners), False)

    # -- comparison and logic -----------------------------------------------------------------------------------

    # As in `Connectives`, whose negations are made to be compared: most nodes are connectives, and most were made before.

    def not_(self, a: Expr) -> Expr:
        """not a."""
        if a.is_const:
            return self.false if a.value else self.true
        return a.args[0] if a.op is Op.NOT else self._intern(Op.NOT, (a,), 0, 0, 1, True)

    def and_(self, a: Expr, b: Expr) -> Expr:
        """a and b."""
        if a.is_const:
            return b if a.value else self.false
        if b.is_const:
            return a if b.value else self.false
        if a is b:
            return a
        if (a.op is Op.NOT and a.args[0] is b) or (b.op is Op.NOT and b.args[0] is a):
            return self.false
        return self._intern(Op.AND, (a, b) if a.id < b.id else (b, a), 0, 0, 1, True)

    def or_(self, a: Expr, b: Expr) -> Expr:
        """a or b."""
        if a.is_const:
            return self.true if a.value else b
        if b.is_const:
            return self.true if b.value else a
        if a is b:
            return a
        if (a.op is Op.NOT and a.args[0] is b) or (b.op is Op.NOT and b.args[0] is a):
            return self.true
        return self._intern(Op.OR, (a, b) if a.id < b.id else (b, a), 0, 0, 1, True)

    def eq(self, a: Expr, b: Expr) -> Expr:
        """a == b, of two Bools or two Ints."""
        if a is b:
            return self.true
        if a.hi < b.lo or b.hi < a.lo:
            return self.false
        a, b = self._const_last(a, b)
        if b.is_const:
            if a.is_const:
                return self.bool(a.value == b.value)
            if a.is_bool:
                return a if b.value else self.not_(a)
            if a.op is Op.ADD and a.args[1].is_const:
                return self.eq(a.args[0], self.int(b.value - a.args[1].value))
            if a.op is Op.ITE and (a.args[1].is_const or a.args[2].is_const):
                then, other = self.eq(a.args[1], b), self.eq(a.args[2], b)
                return self.ite(a.args[0], then, other)
        return self._intern(Op.EQ, (a, b), 0, 0, 1, True)

    def lt(self, a: Expr, b: Expr) -> Expr:
        """a < b."""
        if a is b or a.lo >= b.hi:
            return self.false
        if a.hi < b.lo:
            return self.true
        if b.is_const and a.op is Op.ADD and a.args[1].is_const:
            return self.lt(a.args[0], self.int(b.value - a.args[1].value))
        if a.is_const and b.op is Op.ADD and b.args[1].is_const:
            return self.lt(self.int(a.value - b.args[1].value), b.args[0])
        return self._intern(Op.LT, (a, b), 0, 0, 1, True)

    def ite(self, condition: Expr, then: Expr, other: Expr) -> Expr:
        """`then` where the condition holds, else `other`; both Bool or both Int."""
        if condition.is_const:
            return then if condition.value else other
        if then is other:
            return then
        if condition.op is Op.NOT:
            condition, then, other = condition.args[0], other, then
        if then.is_bool and (folded := self.choose(condition, then, other)) is not None:
            return folded
        lo, hi = min(then.lo, other.lo), max(then.hi, other.hi)
        return self._intern(Op.ITE, (condition, then, other), 0, lo, hi, then.is_bool)

    # -- identity -----------------------------------------------------------------------------------------------

    def digests(self, roots: Sequence[Expr]) -> list[bytes]:
        """Hashes of what the roots say: those of equal structure are equal, whatever else was made before, in any pool.

        The order of commutative arguments, which depends on when they were made, does not count. Leaves are told apart by
        their numbers: what they hold is a matter of the layout. Each node is hashed when it is first asked for, and once.
        """
        known = self._digests
        for node in evaluation_order(roots, known=known):
            below = [known[arg.id] for arg in node.args]
            if node.op in COMMUTATIVE:
                below.sort()
            head = f"{node.op.value} {int(node.is_bool)} {node.value} ".encode()
            known[node.id] = hashlib.sha256(b"".join((head, *below))).digest()
        return [known[root.id] for root in roots]

    # -- internals ----------------------------------------------------------------------------------------------

    def _connect(self, connective: Connective, args: tuple[Expr, ...]) -> Expr:
        ordered = args if len(args) == 1 or args[0].id < args[1].id else args[::-1]
        return self._intern(_CONNECTIVES[connective], ordered, 0, 0, 1, True)

    def _const_last(self, a: Expr, b: Expr) -> tuple[Expr, Expr]:
        if b.is_const:
            return a, b
        if a.is_const or a.id > b.id:
            return b, a
        return a, b

    def _natural(self, operands: Sequence[Expr], symbol: str) -> None:
        for operand in operands:
            if operand.lo < 0:
                raise ModelError(f"{symbol} needs integers that are never negative, and one may be {operand.lo}")

    def _positive(self, divisor: Expr, symbol: str) -> None:
        if divisor.lo <= 0:
            raise ModelError(f"the divisor of {symbol} must be at least 1 in every state, and may be {divisor.lo}")

    def _intern(self, op: Op, args: tuple[Expr, ...], value: _Int, lo: _Int, hi: _Int, is_bool: _Bool) -> Expr:
        if lo == hi and not is_bool and op is not Op.CONST:
            return self.int(lo)
        # Arguments are interned already, so they are told apart, and hashed, as objects. Instances that share a pool may have
        # a leaf of the same number with more values.
        key = (op, hi if op is Op.FIELD else is_bool, value, args)
        node = self._nodes.get(key)
        if node is None:
            if lo < -INT_LIMIT or hi > INT_LIMIT:
                raise ModelError(f"an integer in {lo}..{hi} leaves 64-bit range; use smaller constants")
            # Another thread, which compiles, may trace as well: no two nodes have one id, no two of them say the same.
            made = Expr(self, next(self._ids), op, args, value, lo, hi, is_bool, op is Op.CONST)
            node = self._nodes.setdefault(key, made)
        return node


def _ones(value: int) -> int:
    """The least 2**k - 1 that is not below `value`."""
    return (1 << value.bit_length()) - 1


def operands(root: Expr, op: Op) -> list[Expr]:
    """The operands of a connective, however it is nested, in their order; of another expression itself."""
    found: list[Expr] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.op is op:
            stack += reversed(node.args)
        else:
            found.append(node)
    return found


def builders(pool: Pool) -> dict[Op, Callable[..., Expr]]:
    """What makes a node of each kind in a pool, of its arguments."""
    return {
        Op.ADD: pool.add, Op.SUB: pool.sub, Op.MUL: pool.mul, Op.DIV: pool.div, Op.MOD: pool.mod,
        Op.BITAND: pool.bitand, Op.BITOR: pool.bitor, Op.BITXOR: pool.bitxor, Op.SHL: pool.shl, Op.SHR: pool.shr,
        Op.EQ: pool.eq, Op.LT: pool.lt, Op.NOT: pool.not_, Op.AND: pool.and_, Op.OR: pool.or_, Op.ITE: pool.ite,
    }  # fmt: skip


def substitute(pool: Pool, roots: Sequence[Expr], field: Callable[[Expr], Expr]) -> list[Expr]:
    """The roots with every FIELD node replaced by `field(node)`, rebuilt (and folded) in `pool`."""
    build = builders(pool)
    new: dict[int, Expr] = {}
    for node in evaluation_order(roots):
        if node.op is Op.FIELD:
            new[node.id] = field(node)
        elif node.op is Op.CONST:
            new[node.id] = pool.bool(bool(node.value)) if node.is_bool else pool.int(node.value)
        else:
            new[node.id] = build[node.op](*(new[arg.id] for arg in node.args))
    return [new[root.id] for root in roots]
