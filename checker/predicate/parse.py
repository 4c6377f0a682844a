"""Predicates that people type: a small safe subset of Python over a protocol's fields, as an expression.

Parsing with `ast` and lowering; nothing is ever evaluated as Python. Fields are written as in traces: `quorum.isr == {0} and
log[1].end > 0`, `any(replica[r].leader == r for r in replicas)`, `count(log[r].end > 0 for r in quorum.isr) >= 2`. Of a
record past a log's end everything is None, as is an optional field without a value; and None means what it means in Python:
it is equal to nothing else, no condition, and nothing is in it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.checker.predicate.syntax import generator_of, is_literal, is_negation, names_of, parts_of, range_ends, target_of
from acked.checker.predicate.text import example_of, flattened, parse, such_a_set, unreadable
from acked.checker.predicate.values import Bound, Fields, Flag, IdSet, Member, Names, Number, Value, equal
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr, Pool
from acked.model.language.domain import Path, path_name
from acked.model.language.protocol import Instance
from acked.model.language.storage.composites import LogDomain
from acked.model.language.storage.layout import Schema
from acked.model.language.values import Enum

MAX_LENGTH = 2000
MAX_CASES = 50_000
"""How often bodies of any, all and count are repeated in one predicate, nested ones multiplied."""
MAX_PARTS = 1_000_000
"""How many terms and conditions one predicate may have in all these repetitions: some seconds of work."""


class PredicateError(ConfigurationError):
    """A predicate that cannot be understood; the message points at the column."""


@frozen
class Meaning:
    """What a predicate means in a state: whether it is true, and whether it says nothing there.

    It says nothing where all its conditions are false: the A of every `not A or B`, membership and the filter of every
    `all(B for r in … if A)`. `silent` is None for a predicate without conditions, which always says something.
    """

    true: Expr
    silent: Expr | None


_COMPARED = "compare numbers with numbers, sets with sets such as {0, 1}, and None with either field or None"
_EQUALITIES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


def parse_predicate(text: str, instance: Instance, max_parts: int = MAX_PARTS) -> Expr:
    """The Bool expression that a text means in an instance; `PredicateError` says what is wrong and where."""
    return meaning(text, instance.schema, instance.fields, max_parts).true


def meaning(text: str, schema: Schema, codes: Sequence[Expr], max_parts: int = MAX_PARTS) -> Meaning:
    """What a text means where the leaves of a schema have these codes; `PredicateError` says what is wrong and where."""
    if len(text) > MAX_LENGTH:
        raise PredicateError(f"the predicate is longer than {MAX_LENGTH:,} characters")
    if not text.strip():
        raise PredicateError(f"the predicate is empty; write e.g. {example_of(schema)}")
    flat = flattened(text)
    if "#" in flat:
        # It would hide what comes after it, further lines included.
        raise PredicateError(f"column {flat.index('#') + 1}: a predicate has no comments")
    try:
        tree = parse(flat)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise PredicateError(unreadable(flat, error, schema)) from None
    lowering = Lowering(flat, schema, codes, max_parts)
    try:
        return Meaning(lowering.bool(tree.body, {}), lowering.silent(tree.body, {}))
    except RecursionError:
        raise PredicateError("the predicate is nested too deeply") from None


class Lowering:
    """The expressions that the parts of one text mean where everything is finite."""

    def __init__(self, text: str, schema: Schema, codes: Sequence[Expr], max_parts: int) -> None:
        self._text = text
        self._schema = schema
        self._pool: Pool = codes[0].pool
        self._fields = Fields(schema, codes)
        self._cases = 0
        self._max_parts = max_parts
        self._parts = 0

    def _count(self, node: ast.AST) -> None:
        self._parts += 1
        if self._parts > self._max_parts:
            raise self.refuse(node, f"this has more than {self._max_parts:,} parts; quantify over less")

    def refuse(self, node: ast.AST, message: str) -> PredicateError:
        # `ast` counts bytes, from the first that is not a space.
        indent = len(self._text) - len(self._text.lstrip())
        before = self._text.lstrip().encode()[: getattr(node, "col_offset", 0)]
        return PredicateError(f"column {indent + len(before.decode(errors='ignore')) + 1}: {message}")

    # -- Bools ----------------------------------------------------------------------------------------------------

    def bool(self, node: ast.expr, names: Mapping[str, Bound]) -> Expr:
        """A Bool."""
        self._count(node)
        pool = self._pool
        if isinstance(node, ast.BoolOp):
            parts = [self.bool(part, names) for part in node.values]
            return pool.all(parts) if isinstance(node.op, ast.And) else pool.any(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return pool.not_(self.bool(node.operand, names))
        if isinstance(node, ast.Compare):
            return self._comparison(node, names)
        if isinstance(node, ast.IfExp):
            return pool.ite(*(self.bool(part, names) for part in (node.test, node.body, node.orelse)))
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return pool.bool(node.value)
        value = self._value(node, names)
        if isinstance(value, Flag):
            return pool.and_(pool.not_(value.none), value.true)
        raise self.refuse(node, "this is not a condition; compare it with something")

    def silent(self, node: ast.expr, names: Mapping[str, Bound]) -> Expr | None:
        """Where a Bool says nothing; see `Meaning`."""
        pool = self._pool
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            parts = [(self.silent(part, names), part) for part in node.values]
            if all(silent is None for silent, _ in parts):
                return None
            return pool.all(self.bool(part, names) if silent is None else silent for silent, part in parts)
        if isinstance(node, ast.BoolOp):
            conditions = [part for part in node.values[:-1] if is_negation(part)]
            rest = [part for part in node.values if part not in conditions]
            if not conditions:
                return None
            inner = self.silent(rest[0], names) if len(rest) == 1 else None
            unmet = pool.any(self.bool(part, names) for part in conditions)
            return unmet if inner is None else pool.or_(unmet, inner)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "all":
            return None
        body, cases = self._unroll(node, names)
        inner_parts = [(meant, self.silent(body, bound)) for meant, bound in cases]
        if all(inner is None and meant is pool.true for meant, inner in inner_parts):
            return None
        return pool.all(
            pool.not_(meant) if inner is None else pool.or_(pool.not_(meant), inner) for meant, inner in inner_parts
        )

    def _comparison(self, node: ast.Compare, names: Mapping[str, Bound]) -> Expr:
        terms = [node.left, *node.comparators]
        values = [names_of(term) or self._value(term, names) for term in terms]
        parts = []
        for at, operator in enumerate(node.ops):
            a, b = self._resolved(terms[at], values[at], values[at + 1])
            made = self._compare(operator, a, b, terms[at + 1])
            if made.is_const and isinstance(operator, _EQUALITIES):
                self._refuse_impossible(terms[at : at + 2], (a, b))
            parts.append(made)
        return self._pool.all(parts)

    def _resolved(self, node: ast.expr, a: Value | Names, b: Value | Names) -> tuple[Value, Value]:
        """Two values to be compared, with names as values of the type of what they are compared with."""
        if not isinstance(a, Names):
            return (a, self._resolved_name(node, b, a)) if isinstance(b, Names) else (a, b)
        if isinstance(b, Names):
            raise self.refuse(node, "two names that are written out are compared; one of them is to be a field")
        return self._resolved_name(node, a, b), b

    def _resolved_name(self, node: ast.expr, named: Names, other: Value) -> Value:
        sort = None if isinstance(other, Flag) else other.sort
        if sort is None or not issubclass(sort, Enum):
            raise self.refuse(node, f"{named.texts[0]!r} is a name, and this is not a field that holds one of several names")
        try:
            return named.of(sort, self._pool)
        except ModelError as error:
            raise self.refuse(node, str(error)) from None

    def _refuse_impossible(self, terms: Sequence[ast.expr], values: Sequence[Value]) -> None:
        """A value that a field never has is a mistake, and would make a vacuous property."""
        for term, value, other, field in zip(terms, values, terms[::-1], values[::-1], strict=True):
            if isinstance(field, IdSet):
                is_field, most = not field.mask.is_const, field.mask.hi.bit_length() - 1
                held = f"{ast.unparse(other)} holds ids from 0 to {most}"
            elif isinstance(field, Number):
                is_field, held = not field.code.is_const, f"{ast.unparse(other)} is never {ast.unparse(term)}"
            else:
                continue
            if is_literal(term) and is_field and not isinstance(value, Flag):
                raise self.refuse(term, f"{held}, so this is the same in every state")

    def _compare(self, operator: ast.cmpop, a: Value, b: Value, node: ast.expr) -> Expr:
        pool = self._pool
        self._refuse_mixed(a, b, node)
        if isinstance(operator, (ast.In, ast.NotIn)):
            if not isinstance(a, Number) or not isinstance(b, IdSet):
                raise self.refuse(node, f"`in` asks whether a number is in a set{such_a_set(self._schema, '0 in {}')}")
            found = pool.any(
                pool.and_(pool.eq(a.code, pool.int(at)), b.has(at)) for at in range(b.size)
            )
            found = pool.and_(pool.not_(a.none), found)
            return found if isinstance(operator, ast.In) else pool.not_(found)
        a, b = self._or_none(a, b), self._or_none(b, a)
        if type(a) is not type(b):
            raise self.refuse(node, _COMPARED)
        if isinstance(operator, (ast.Eq, ast.Is)):
            return equal(a, b)
        if isinstance(operator, (ast.NotEq, ast.IsNot)):
            return pool.not_(equal(a, b))
        if not isinstance(a, Number) or not isinstance(b, Number):
            what = "sets" if isinstance(a, IdSet) else "conditions"
            raise self.refuse(node, f"{what} are compared with == and !=")
        if sort := a.sort or b.sort:
            kind = "names" if issubclass(sort, Enum) else "ids"
            raise self.refuse(node, f"{kind} have no order; compare them with ==, != and in")
        small, large = (a.code, b.code) if isinstance(operator, (ast.Lt, ast.GtE)) else (b.code, a.code)
        order = pool.lt(small, large)
        if isinstance(operator, (ast.LtE, ast.GtE)):
            order = pool.not_(order)
        # None is neither below nor above anything.
        return pool.all([pool.not_(a.none), pool.not_(b.none), order])

    def _or_none(self, value: Value, other: Value) -> Value:
        """None as the kind of what it is compared with, if that may be None."""
        is_none = isinstance(value, Number) and value.none is self._pool.true
        if not is_none or isinstance(other, Number) or other.none is self._pool.false:
            return value
        return replace(other, none=self._pool.true)

    def _refuse_mixed(self, a: Value, b: Value, node: ast.expr) -> None:
        """An id beside a number that counts something, or beside an id of something else."""
        pool = self._pool
        sorts = [value.sort for value in (a, b) if not isinstance(value, Flag) and value.sort is not None]
        if len(set(sorts)) > 1:
            raise self.refuse(node, f"a {sorts[0].__name__} is compared with a {sorts[1].__name__}")
        named = next((sort for sort in sorts if issubclass(sort, Enum)), None)
        if named and any(isinstance(value, Number) and value.sort is None and value.none is pool.false for value in (a, b)):
            raise self.refuse(node, f"a {named.type_name} holds names and no numbers; write \"{named.names[0]}\"")
        if sorts and any(isinstance(value, Number) and value.sort is None and not value.code.is_const for value in (a, b)):
            raise self.refuse(node, f"a {sorts[0].__name__} is compared with a number that counts something else")

    # -- any, all, count ------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, names: Mapping[str, Bound]) -> Value:
        pool = self._pool
        kind = node.func.id if isinstance(node.func, ast.Name) else ""
        if kind == "len" and len(node.args) == 1 and not node.keywords:
            if (messages := self._messages(node.args[0], names)) is not None:
                return self._sum([is_there for _, is_there in messages])
            if (place := self._several(node.args[0], names)) in self._schema.logs:
                return self._field(node, (*place, LogDomain.END))
            held = self._value(node.args[0], names)
            if not isinstance(held, IdSet):
                raise self.refuse(node.args[0], f"len(…) counts the members of a set{such_a_set(self._schema, 'len({})')}")
            return replace(self._sum([held.has(at) for at in range(held.size)]), none=held.none)
        body, cases = self._unroll(node, names)
        holds = [(meant, self.bool(body, bound)) for meant, bound in cases]
        if kind == "any":
            return self._flag(pool.any(pool.and_(meant, true) for meant, true in holds))
        if kind == "all":
            return self._flag(pool.all(pool.or_(pool.not_(meant), true) for meant, true in holds))
        return self._sum([pool.and_(meant, true) for meant, true in holds])

    def _sum(self, parts: Sequence[Expr]) -> Number:
        pool = self._pool
        total = pool.int(0)
        for part in parts:
            total = pool.add(total, pool.ite(part, pool.int(1), pool.int(0)))
        return Number(total, pool.false)

    def _unroll(self, node: ast.Call, names: Mapping[str, Bound]) -> tuple[ast.expr, list[tuple[Expr, dict[str, Bound]]]]:
        """The body of any, all or count, and for every value of its name: whether that one is meant, and all names."""
        made = generator_of(node, self.refuse)
        cases: list[tuple[Expr, dict[str, Bound]]] = [(self._pool.true, dict(names))]
        for loop in made.generators:
            target = target_of(loop, self.refuse)
            if target in self._schema.constants or (target,) in self._fields.paths:
                raise self.refuse(loop.target, f"{target!r} is a name of the protocol; use another, such as r")
            cases = [
                (self._pool.all([meant, member, *(self.bool(test, inner) for test in loop.ifs)]), inner)
                for meant, bound in cases
                for value, member in self._values(loop.iter, bound)
                for inner in ({**bound, target: value},)
            ]
            self._cases += len(cases)
            if self._cases > MAX_CASES:
                raise self.refuse(node, f"this has more than {MAX_CASES:,} cases; quantify over less")
        return made.elt, cases

    def _messages(self, node: ast.expr, names: Mapping[str, Bound]) -> list[tuple[Member, Expr]] | None:
        """The structs of a set or a bag that a term names, each with the condition under which it is there."""
        return self._fields.members(self._several(node, names))

    def _several(self, node: ast.expr, names: Mapping[str, Bound]) -> Path:
        """Where a term says that it is what holds several values; nowhere for another term."""
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) or not (self._schema.messages or self._schema.logs):
            return ()
        name, _ = parts_of(node) or ("", ())
        if name in names or (isinstance(node, ast.Name) and (name,) not in self._fields.paths):
            return ()
        path = self._path(node, names)
        return () if isinstance(path, int) else path

    def _values(self, node: ast.expr, names: Mapping[str, Bound]) -> Sequence[tuple[Bound, Expr]]:
        """What a name stands for in turn, each with the condition under which it is meant."""
        pool, constants = self._pool, self._schema.constants
        if isinstance(node, ast.Name) and node.id in constants:
            return [(value, pool.true) for value in range(constants[node.id])]
        if (ends := range_ends(node, self.refuse)) is not None:
            bounds = [self._number(part, names) for part in ends]
            if max(map(abs, bounds)) > MAX_CASES:
                raise self.refuse(node, f"this has more than {MAX_CASES:,} cases; quantify over less")
            return [(value, pool.true) for value in range(*bounds)]
        if isinstance(node, ast.Name) and (node.id,) not in self._fields.paths and node.id not in names:
            known = [*constants, *sorted({str(path[0]) for path in self._fields.paths if path})]
            hint = f"{near(node.id, known)}; it has {choices(constants)}"
            raise self.refuse(node, f"there is no constant {node.id!r}{hint}")
        if (messages := self._messages(node, names)) is not None:
            return messages
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Set)):
            over = self._value(node, names)
            if isinstance(over, IdSet):
                return [(at, over.has(at)) for at in range(over.size)]
        raise self.refuse(node, f"write any(… for r in …) over one of the constants, or over a set{such_a_set(self._schema)}")

    def _flag(self, true: Expr) -> Flag:
        return Flag(true, self._pool.false)

    # -- other values ---------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, names: Mapping[str, Bound]) -> Value:
        self._count(node)
        pool = self._pool
        if isinstance(node, ast.Constant):
            if node.value is None:
                return Number(pool.int(0), pool.true)
            if isinstance(node.value, bool):
                return self._flag(pool.bool(node.value))
            if isinstance(node.value, int) and abs(node.value) < 2**31:
                return self._constant(node.value)
            what = f"{node.value!r} is not a value of a field"
            if isinstance(node.value, str):
                what = f"{node.value!r} is a name, which is compared with a field"
            raise self.refuse(node, f"{what}; fields hold numbers, names, sets, True, False and None")
        if isinstance(node, ast.Set):
            members = [self._number(item, names) for item in node.elts]
            if not all(0 <= member < 60 for member in members):
                raise self.refuse(node, "a set holds ids from 0")
            return IdSet(pool.int(sum(1 << member for member in dict.fromkeys(members))), pool.false)
        if isinstance(node, ast.Dict) and not node.keys:
            return IdSet(pool.int(0), pool.false)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._constant(-self._number(node.operand, names))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return self._arithmetic(node, self._value(node.left, names), self._value(node.right, names))
        if (held := self._of_member(node, names)) is not None:
            return held
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self._field(node, self._path(node, names))
        if isinstance(node, ast.Call):
            return self._call(node, names)
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.IfExp)) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ):
            return self._flag(self.bool(node, names))
        raise self.refuse(node, "this is not part of the language of predicates")

    def _arithmetic(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        if not isinstance(left, Number) or not isinstance(right, Number) or left.sort or right.sort:
            raise self.refuse(node, "only numbers are added, subtracted and multiplied")
        pool = self._pool
        make = {ast.Add: pool.add, ast.Sub: pool.sub, ast.Mult: pool.mul}[type(node.op)]
        return Number(make(left.code, right.code), pool.or_(left.none, right.none))

    def _of_member(self, node: ast.expr, names: Mapping[str, Bound]) -> Value | None:
        """A field of a struct that a name stands for; None if a term is none."""
        name, inside = parts_of(node) or ("", ())
        member = names.get(name)
        if not isinstance(member, Member):
            return None
        if inside not in member.fields:
            known = [path_name(path) for path in member.fields]
            raise self.refuse(node, f"{ast.unparse(node)} is no field; a {member.type_name} has {choices(known)}")
        return member.fields[inside]

    def _constant(self, number: int) -> Number:
        return Number(self._pool.int(number), self._pool.false)

    def _number(self, node: ast.expr, names: Mapping[str, Bound]) -> int:
        value: object
        if isinstance(node, ast.Attribute):
            held = self._of_member(node, names)
            is_one = isinstance(held, Number) and held.none is self._pool.false
            value = held.code.value if isinstance(held, Number) and is_one else None
        elif isinstance(node, ast.Name):
            value = names.get(node.id, self._schema.constants.get(node.id))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            left, right = self._number(node.left, names), self._number(node.right, names)
            value = left + right if isinstance(node.op, ast.Add) else left - right
        else:
            value = getattr(node, "value", None)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(
                node,
                "this must be a number such as 0, a constant, or a name bound by any(…), all(…) or count(…); to choose by "
                "the value of a field, write any(that field == r and … for r in …)",
            )
        return value

    def _path(self, node: ast.expr, names: Mapping[str, Bound]) -> Path | int:
        if isinstance(node, ast.Name):
            if isinstance(bound := names.get(node.id), int):
                return bound
            if node.id in self._schema.constants:
                return self._schema.constants[node.id]
            return self._part(node, (), node.id)
        if isinstance(node, ast.Attribute):
            return self._part(node, self._inner(node.value, names), node.attr)
        assert isinstance(node, ast.Subscript)
        return self._part(node, self._inner(node.value, names), self._number(node.slice, names))

    def _inner(self, node: ast.expr, names: Mapping[str, Bound]) -> Path:
        if isinstance(node, ast.Name) and node.id not in names and (node.id,) in self._fields.paths:
            return (node.id,)  # A constant of the same name has no parts.
        path = self._path(node, names) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) else 0
        if isinstance(path, int):
            raise self.refuse(node, f"this has no parts; fields are written as in traces: {self._schema.leaves[0].name}")
        return path

    def _part(self, node: ast.expr, path: Path, part: str | int) -> Path:
        longer = self._fields.below(path, part)
        if longer is None:
            raise self.refuse(node, self._fields.lacks(path, part))
        return longer

    def _field(self, node: ast.expr, path: Path | int) -> Value:
        if isinstance(path, int):
            return self._constant(path)
        value = self._fields.value(path)
        if value is None:
            parts = self._fields.parts(path)
            raise self.refuse(node, f"{path_name(path)} is not a single field; name one of its parts: {parts}")
        return value
