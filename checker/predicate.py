"""Predicates that people type: a small safe subset of Python over a protocol's fields, as an expression.

What lives here: parsing with `ast` and lowering; nothing is ever evaluated as Python. What does not: properties that
protocols ship (`invariants/`). Fields are written as in traces: `quorum.isr == {0} and log[1].end > 0`,
`any(replica[r].leader == r for r in replicas)`. A record past a log's end is None, as is an optional field without a value.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from checker.errors import ConfigurationError
from checker.spec import choices, near
from model.domain import (
    BoolDomain,
    IdDomain,
    LogDomain,
    OptionalDomain,
    Path,
    PresentDomain,
    Range,
    SetDomain,
    as_leaf,
    path_name,
)
from model.expr import Expr, Pool
from model.protocol import Instance

MOST_LETTERS = 2000
NONE = -(2**32)
"""Stands for None among the integers; no field's value comes near it."""


class PredicateError(ConfigurationError):
    """A predicate that cannot be understood; the message points at the column."""


@dataclass(frozen=True)
class _Set:
    """A set of ids as a mask."""

    mask: Expr


@dataclass(frozen=True)
class _Part:
    """A part of the state that is no value yet: `replica`, `log[0].records`."""

    path: Path


_Value = Expr | _Set | _Part
_COMPARED = "compare numbers with numbers, sets with sets such as {0, 1}, and None with either field or None"


def parse_predicate(text: str, instance: Instance) -> Expr:
    """The Bool expression that a text means in an instance; `PredicateError` says what is wrong and where."""
    if len(text) > MOST_LETTERS:
        raise PredicateError(f"the predicate is longer than {MOST_LETTERS} letters")
    if not text.strip():
        raise PredicateError("the predicate is empty; write, say, quorum.isr == {0}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = f" at column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        hint = "write, say, quorum.isr == {0} and log[1].end > 0"
        raise PredicateError(f"the predicate cannot be read{at}; {hint}") from None
    try:
        return _Lowering(instance).bool(tree.body, {})
    except RecursionError:
        raise PredicateError("the predicate is nested too deeply") from None


class _Lowering:
    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._pool: Pool = instance.pool
        self._leaves = {leaf.path: at for at, leaf in enumerate(instance.schema.leaves)}
        self._prefixes = {path[:length] for path in self._leaves for length in range(len(path) + 1)}

    def refuse(self, node: ast.AST, message: str) -> PredicateError:
        return PredicateError(f"column {getattr(node, 'col_offset', 0) + 1}: {message}")

    # -- Bools ----------------------------------------------------------------------------------------------------

    def bool(self, node: ast.expr, names: Mapping[str, int]) -> Expr:
        """A Bool."""
        pool = self._pool
        if isinstance(node, ast.BoolOp):
            parts = [self.bool(part, names) for part in node.values]
            return pool.all(parts) if isinstance(node.op, ast.And) else pool.any(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return pool.not_(self.bool(node.operand, names))
        if isinstance(node, ast.Compare):
            return self._comparison(node, names)
        if isinstance(node, ast.Call):
            return self._quantified(node, names)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return pool.bool(node.value)
        value = self._value(node, names)
        if isinstance(value, Expr) and value.is_bool:
            return value
        raise self.refuse(node, "this is no condition; compare it with something")

    def _comparison(self, node: ast.Compare, names: Mapping[str, int]) -> Expr:
        terms = [node.left, *node.comparators]
        values = [self._value(term, names) for term in terms]
        parts = [
            self._compared(operator, values[at], values[at + 1], terms[at + 1]) for at, operator in enumerate(node.ops)
        ]
        return self._pool.all(parts)

    def _compared(self, operator: ast.cmpop, a: _Value, b: _Value, node: ast.expr) -> Expr:
        pool = self._pool
        if isinstance(operator, (ast.In, ast.NotIn)):
            if not isinstance(a, Expr) or a.is_bool or not isinstance(b, _Set):
                raise self.refuse(node, "`in` asks whether a number is in a set, such as 0 in quorum.isr")
            bits = [pool.bitand(b.mask, pool.int(1 << at)) for at in range(b.mask.hi.bit_length())]
            has = [pool.not_(pool.eq(bit, pool.int(0))) for bit in bits]
            found = pool.any(pool.and_(pool.eq(a, pool.int(at)), there) for at, there in enumerate(has))
            return found if isinstance(operator, ast.In) else pool.not_(found)
        if isinstance(a, _Set) and isinstance(b, _Set):
            a, b = a.mask, b.mask
            if not isinstance(operator, (ast.Eq, ast.NotEq)):
                raise self.refuse(node, "sets are compared with == and !=")
        if not isinstance(a, Expr) or not isinstance(b, Expr) or a.is_bool != b.is_bool:
            raise self.refuse(node, _COMPARED)
        if isinstance(operator, (ast.Eq, ast.Is)):
            return self._same(a, b)
        if isinstance(operator, (ast.NotEq, ast.IsNot)):
            return pool.not_(self._same(a, b))
        if a.is_bool:
            raise self.refuse(node, "conditions are compared with == and !=")
        less = {ast.Lt: (a, b, False), ast.Gt: (b, a, False), ast.LtE: (b, a, True), ast.GtE: (a, b, True)}
        first, second, negated = less[type(operator)]
        # None is neither below nor above anything.
        known = [pool.not_(pool.eq(side, pool.int(NONE))) for side in (a, b)]
        order = pool.not_(pool.lt(first, second)) if negated else pool.lt(first, second)
        return pool.all([*known, order])

    def _same(self, a: Expr, b: Expr) -> Expr:
        pool = self._pool
        if not a.is_bool:
            return pool.eq(a, b)
        return pool.or_(pool.and_(a, b), pool.and_(pool.not_(a), pool.not_(b)))

    def _quantified(self, node: ast.Call, names: Mapping[str, int]) -> Expr:
        is_known = isinstance(node.func, ast.Name) and node.func.id in ("any", "all") and len(node.args) == 1
        body = node.args[0] if is_known and not node.keywords else None
        if not isinstance(body, ast.GeneratorExp) or len(body.generators) != 1:
            raise self.refuse(node, "the only calls are any(… for r in replicas) and all(… for r in replicas)")
        loop = body.generators[0]
        if not isinstance(loop.target, ast.Name) or not isinstance(loop.iter, ast.Name):
            raise self.refuse(node, "write any(… for r in replicas), with one of the constants")
        constants = self._instance.constants
        if loop.iter.id not in constants:
            hint = f"{near(loop.iter.id, constants)}; it has {choices(constants)}"
            raise self.refuse(loop.iter, f"there is no constant {loop.iter.id!r}{hint}")
        values = range(constants[loop.iter.id])
        is_any = isinstance(node.func, ast.Name) and node.func.id == "any"
        parts = []
        for value in values:
            bound = {**names, loop.target.id: value}
            meant = self._pool.all(self.bool(test, bound) for test in loop.ifs)
            holds = self.bool(body.elt, bound)
            parts.append(self._pool.and_(meant, holds) if is_any else self._pool.or_(self._pool.not_(meant), holds))
        return self._pool.any(parts) if is_any else self._pool.all(parts)

    # -- other values ---------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, names: Mapping[str, int]) -> _Value:
        pool = self._pool
        if isinstance(node, ast.Constant):
            if node.value is None:
                return pool.int(NONE)
            if isinstance(node.value, bool):
                return pool.bool(node.value)
            if isinstance(node.value, int) and abs(node.value) < 2**31:
                return pool.int(node.value)
            raise self.refuse(node, f"{node.value!r} is no value of a field; fields hold numbers, sets, True, False and None")
        if isinstance(node, ast.Set):
            members = [self._number(item, names) for item in node.elts]
            if not all(0 <= member < 60 for member in members):
                raise self.refuse(node, "a set holds ids from 0")
            return _Set(pool.int(sum(1 << member for member in dict.fromkeys(members))))
        if isinstance(node, ast.Dict) and not node.keys:
            return _Set(pool.int(0))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return pool.int(-self._number(node.operand, names))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = (self._value(side, names) for side in (node.left, node.right))
            if not isinstance(left, Expr) or not isinstance(right, Expr) or left.is_bool or right.is_bool:
                raise self.refuse(node, "only numbers are added and subtracted")
            return pool.add(left, right) if isinstance(node.op, ast.Add) else pool.sub(left, right)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self._read(node, self._path(node, names))
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.Call)):
            return self.bool(node, names)
        raise self.refuse(node, "this is not part of the language of predicates")

    def _number(self, node: ast.expr, names: Mapping[str, int]) -> int:
        value = names.get(node.id) if isinstance(node, ast.Name) else getattr(node, "value", None)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(node, "this must be a number such as 0, or a name bound by any(…) or all(…)")
        return value

    def _path(self, node: ast.expr, names: Mapping[str, int]) -> Path | int:
        if isinstance(node, ast.Name):
            if node.id in names:
                return names[node.id]
            if node.id in self._instance.constants:
                return self._instance.constants[node.id]
            return self._step(node, (), node.id)
        if isinstance(node, ast.Attribute):
            return self._step(node, self._inner(node.value, names), node.attr)
        assert isinstance(node, ast.Subscript)
        return self._step(node, self._inner(node.value, names), self._number(node.slice, names))

    def _inner(self, node: ast.expr, names: Mapping[str, int]) -> Path:
        path = self._path(node, names) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else 0
        if isinstance(path, int):
            raise self.refuse(node, "this has no parts; fields are written as in traces, such as log[0].end")
        return path

    def _step(self, node: ast.expr, path: Path, part: str | int) -> Path:
        longer = (*path, part)
        if longer in self._prefixes:
            return longer
        known = sorted({str(other[-1]) for other in self._prefixes if other and other[:-1] == path})
        whole = path_name(path) or "the state"
        if not known:
            raise self.refuse(node, f"{whole} has no parts")
        raise self.refuse(node, f"{whole} has no {part!r}{near(str(part), known)}; it has {choices(known)}")

    def _read(self, node: ast.expr, path: Path | int) -> _Value:
        pool = self._pool
        if isinstance(path, int):
            return pool.int(path)
        if path not in self._leaves:
            raise self.refuse(node, f"{path_name(path)} is no single field; name one of its parts")
        at = self._leaves[path]
        leaf, code = self._instance.schema.leaves[at], self._instance.fields[at]
        domain = leaf.domain.inner if isinstance(leaf.domain, PresentDomain) else leaf.domain
        if isinstance(domain, SetDomain):
            return _Set(code)
        if isinstance(domain, BoolDomain):
            return pool.eq(code, pool.int(1))
        value = self._plain(domain, code)
        if LogDomain.RECORDS in path:
            where = path.index(LogDomain.RECORDS)
            end, offset = self._instance.fields[self._leaves[(*path[:where], LogDomain.END)]], path[where + 1]
            assert isinstance(offset, int)
            value = pool.ite(pool.lt(pool.int(offset), end), value, pool.int(NONE))
        return value

    def _plain(self, domain: object, code: Expr) -> Expr:
        """The value of a code as a number, None as `NONE`."""
        pool, constants = self._pool, self._instance.constants
        if isinstance(domain, Range):
            return pool.add(code, pool.int(domain.bounds(constants)[0]))
        if isinstance(domain, OptionalDomain):
            inner = self._plain(as_leaf(domain.item), pool.sub(code, pool.int(1)))
            return pool.ite(pool.eq(code, pool.int(0)), pool.int(NONE), inner)
        assert isinstance(domain, IdDomain)
        return code
