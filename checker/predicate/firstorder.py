"""Predicates that people type, read for all constants at once: as first-order terms over functions instead of leaves.

`first_order_meaning` reads the same text as `parse.meaning`, for any sizes: a name that `any`, `all` or `count` binds over a
constant is an id of a sort of that size, or a number below it, whichever its uses allow. What such a reading cannot say, such
as "broker 0", is refused with its column.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, cast

from acked.base.frozen import frozen
from acked.checker.predicate.parse import MAX_PARTS, Lowering, PredicateError
from acked.checker.predicate.syntax import generator_of, range_ends, target_of
from acked.checker.predicate.text import flattened, parse
from acked.checker.predicate.values import Flag, IdSet, Number, number_of
from acked.model.firstorder.definitions import cardinality
from acked.model.firstorder.ranges import is_within, offset_of
from acked.model.firstorder.records import Choice, Relation
from acked.model.firstorder.store import Code, Family, FunctionStore, Key, empty, flat
from acked.model.firstorder.symbols import BOOL, INT, Op, Sort, one_of
from acked.model.firstorder.values import derive, sort_of
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, resolve
from acked.model.language.domain import BoolDomain, LeafDomain, OptionalDomain, SetDomain
from acked.model.language.storage.composites import LogDomain
from acked.model.language.values import Enum, Id, Int

_NO_NUMBERS = "ids have no numbers where there may be any number of them"


@frozen
class TermSet:
    """A set of ids of one sort."""

    members: Relation
    none: Code
    sort: type[Id]


@frozen
class Over:
    """What a name may range over: ids of a sort, or the numbers within bounds."""

    item: type[Id] | None
    bounds: tuple[Code, Code] | None

    @property
    def sort(self) -> Sort:
        """The sort of its values."""
        return INT if self.item is None else sort_of(self.item)


Place = tuple[Any, ...]
"""The way to a field: names, and for every index what stands there, a `Number`."""


def first_order_meaning(text: str, store: FunctionStore, constants: Mapping[str, Any]) -> Code:
    """What a predicate says of the state in a store; `PredicateError` says what has no meaning for all constants."""
    one_line = flattened(text)
    return _FirstOrder(one_line, store, constants).bool(parse(one_line).body, {})


class _FirstOrder(Lowering):
    """Lowers a text to a term of the store's logic; names stand for `Number`s, whose codes are terms."""

    def __init__(self, text: str, store: FunctionStore, constants: Mapping[str, Any]) -> None:
        # Nothing is asked here of a layout, which is all that is not shared with the finite reading.
        self._text, self._pool = text, cast(Any, store.logic)
        self._cases, self._parts, self._max_parts = 0, 0, MAX_PARTS
        self._logic: Any = store.logic
        self._store, self._constants = store, constants
        self._families = store.families
        self._prefixes = {key[:length] for key in self._families for length in range(len(key) + 1)}
        indexed = (index.item for family in self._families.values() for index in family.indices)
        held = (getattr(family.domain, "item", None) for family in self._families.values())
        kinds = dict.fromkeys(item for item in (*indexed, *held) if isinstance(item, type))
        self._ids = [item for item in kinds if issubclass(item, Id) and isinstance(item.size, Constant)]
        self._numbers = [item for item in kinds if issubclass(item, Int) and not issubclass(item, Enum)]

    # -- comparisons ----------------------------------------------------------------------------------------------

    def _compare(self, operator: ast.cmpop, a: Any, b: Any, node: ast.expr) -> Code:
        try:
            return self._compared(operator, a, b, node)
        except PredicateError:
            raise
        except ModelError as error:
            raise self.refuse(node, f"{error}; {_NO_NUMBERS}") from None

    def _compared(self, operator: ast.cmpop, a: Any, b: Any, node: ast.expr) -> Code:
        logic = self._logic
        is_denied = isinstance(operator, (ast.NotIn, ast.NotEq, ast.IsNot))
        found: Code | None = None
        is_order = isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        if not is_order and not isinstance(operator, (ast.In, ast.NotIn)) and logic.true in (a.none, b.none):
            found = logic.and_(a.none, b.none)
        elif isinstance(operator, (ast.In, ast.NotIn)):
            found = self._is_in(a, b, node)
        elif isinstance(a, TermSet) and isinstance(b, TermSet) and not is_order:
            self._refuse_mixed(a, b, node)
            none = logic.and_(a.none, b.none)
            both = logic.all((logic.not_(a.none), logic.not_(b.none), logic.eq(a.members, b.members)))
            found = logic.or_(none, both)
        elif isinstance(a, TermSet) != isinstance(b, TermSet) and not is_order:
            held, other = (a, b) if isinstance(a, TermSet) else (b, a)
            if not isinstance(other, IdSet) or other.mask.value:
                raise self.refuse(node, f"{_NO_NUMBERS}; compare with {{}} or a field")
            found = logic.and_(logic.not_(held.none), logic.eq(held.members, empty(logic, held.members.sort)))
        if found is None:
            return super()._compare(operator, a, b, node)
        return logic.not_(found) if is_denied else found

    def _is_in(self, a: Any, b: Any, node: ast.expr) -> Code:
        logic = self._logic
        if not isinstance(a, Number) or not isinstance(b, (IdSet, TermSet)):
            raise self.refuse(node, "`in` asks whether a number is in a set")
        self._refuse_mixed(a, b, node)
        if isinstance(b, TermSet):
            code: Any = a.code
            if code.sort != b.members.sort:
                raise self.refuse(node, _NO_NUMBERS)
            inside = b.members.member(code)
        else:
            mask = int(b.mask.value)
            inside = logic.any(logic.eq(a.code, logic.int(k)) for k in range(mask.bit_length()) if mask >> k & 1)
        return logic.all((logic.not_(a.none), logic.not_(b.none), inside))

    def _refuse_mixed(self, a: Any, b: Any, node: ast.expr) -> None:
        super()._refuse_mixed(a, b, node)

    def _refuse_impossible(self, terms: Any, values: Any) -> None:
        """Whether a value is possible depends on sizes."""

    # -- any, all, count ------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        logic = self._logic
        kind = getattr(node.func, "id", "")
        if kind == "len" and len(node.args) == 1 and not node.keywords:
            held = self._value(node.args[0], names)
            if not isinstance(held, TermSet):
                raise self.refuse(node.args[0], "len(…) counts the members of a set")
            size: Any = cardinality(logic, held.members, logic.int(resolve(held.sort.size, self._constants)))
            return Number(size, held.none)
        made = generator_of(node, self.refuse)
        if kind == "count":
            return self._counted(node, made, names)
        return Flag(self._quantified(made, 0, names, kind == "all"), logic.false)

    def _quantified(self, made: ast.GeneratorExp, number: int, names: Mapping[str, Any], is_all: bool) -> Code:
        """The quantifiers of a generator from one of its loops on."""
        logic = self._logic
        if number == len(made.generators):
            return self.bool(made.elt, names)
        loop = made.generators[number]
        target = target_of(loop, self.refuse)

        def body(bound: Mapping[str, Any], meant: Code) -> Code:
            given = logic.all((meant, *(self.bool(test, bound) for test in loop.ifs)))
            inner = self._quantified(made, number + 1, bound, is_all)
            return logic.or_(logic.not_(given), inner) if is_all else logic.and_(given, inner)

        def over(choice: Over, member: Callable[[Code], Code]) -> Code:
            bind = logic.every if is_all else logic.some
            def of(x: Code) -> Code:
                return body({**names, target: Number(x, logic.false, choice.item)}, member(x))

            return bind(choice.sort, self._unit(choice), of, choice.bounds)

        return self._first_possible(loop.iter, names, over)

    def _counted(self, node: ast.Call, made: ast.GeneratorExp, names: Mapping[str, Any]) -> Number:
        """The size of the set of those of which the body is true."""
        logic = self._logic
        if len(made.generators) > 1:
            raise self.refuse(node, "count(…) over two names has no meaning for all constants; count over one of them")
        (loop,) = made.generators
        target = target_of(loop, self.refuse)

        def over(choice: Over, member: Callable[[Code], Code]) -> Code:
            def holds(x: Code) -> Code:
                bound = {**names, target: Number(x, logic.false, choice.item)}
                return logic.all((member(x), *(self.bool(test, bound) for test in loop.ifs), self.bool(made.elt, bound)))

            if choice.bounds is not None:
                return cardinality(logic, Relation(logic, INT, holds, lambda _: logic.false), None, choice.bounds)
            assert choice.item is not None
            whole = logic.int(resolve(choice.item.size, self._constants))
            return cardinality(logic, derive(logic, choice.sort, holds, lambda *_: ()), whole)

        return Number(self._first_possible(loop.iter, names, over), logic.false)

    def _unit(self, choice: Over) -> str:
        """The type that the values are of, by which a solver tries those that it knows: of numbers the one of their bound."""
        if choice.item is not None:
            return choice.item.__name__
        assert choice.bounds is not None
        base, _ = offset_of(choice.bounds[1])
        if base.op is Op.VARIABLE:
            return str(base.value.hint)
        tops = ((item.__name__, self._logic.int(resolve(item.hi, self._constants))) for item in self._numbers)
        return next((name for name, top in tops if offset_of(top)[0] is base), "Int")

    def _first_possible(
        self, node: ast.expr, names: Mapping[str, Any], make: Callable[[Over, Callable[[Code], Code]], Code]
    ) -> Code:
        """What is made with the first of the ranges of a name that its uses allow."""
        failed: PredicateError | None = None
        for choice, member in self._ranges(node, names):
            try:
                return make(choice, member)
            except PredicateError as error:
                failed = failed or error
        assert failed is not None
        raise failed

    def _ranges(self, node: ast.expr, names: Mapping[str, Any]) -> list[tuple[Over, Callable[[Code], Code]]]:
        logic = self._logic

        def everything(_: Code) -> Code:
            return logic.true

        if isinstance(node, ast.Name) and node.id in self._constants and node.id not in names:
            same = [item for item in self._ids if isinstance(item.size, Constant) and item.size.name == node.id]
            bounds = (logic.int(0), logic.sub(logic.int(self._constants[node.id]), logic.int(1)))
            return [*((Over(item, None), everything) for item in same), (Over(None, bounds), everything)]
        if (arguments := range_ends(node, self.refuse)) is not None:
            ends = [self._plain_number(part, names) for part in arguments]
            first, stop = (logic.int(0), *ends) if len(ends) == 1 else ends
            return [(Over(None, (first, logic.sub(stop, logic.int(1)))), everything)]
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            held = self._value(node, names)
            if isinstance(held, TermSet):
                inside = held

                def member(x: Code) -> Code:
                    return logic.and_(logic.not_(inside.none), inside.members.member(x))

                return [(Over(held.sort, None), member)]
        raise self.refuse(node, "write any(… for r in …) over one of the constants, or over a set")

    def _plain_number(self, node: ast.expr, names: Mapping[str, Any]) -> Code:
        value = self._value(node, names)
        if not isinstance(value, Number) or value.sort is not None or value.none is not self._logic.false:
            raise self.refuse(node, "this must be a number")
        code: Any = value.code
        return code

    # -- fields ---------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            self._count(node)
            if isinstance(node, ast.Name) and node.id in names:
                return names[node.id]
            if isinstance(node, ast.Name) and node.id in self._constants:
                return self._constant(self._constants[node.id])
            return self._field_at(node, self._place(node, names))
        if isinstance(node, ast.Set) and not any(isinstance(item, ast.Constant) for item in node.elts):
            raise self.refuse(node, _NO_NUMBERS)
        return super()._value(node, names)

    def _place(self, node: ast.expr, names: Mapping[str, Any]) -> Place:
        if isinstance(node, ast.Name):
            made: Place = (node.id,)
        elif isinstance(node, ast.Attribute):
            made = (*self._place(node.value, names), node.attr)
        elif isinstance(node, ast.Subscript):
            made = (*self._place(node.value, names), self._value(node.slice, names))
        else:
            raise self.refuse(node, "this has no parts; fields are written as in traces")
        if _key(made) not in self._prefixes:
            part = repr(node.attr) if isinstance(node, ast.Attribute) else "such part"
            raise self.refuse(node, f"{self._text_of(made[:-1])} has no {part}")
        return made

    def _text_of(self, place: Place) -> str:
        return "".join(f".{part}" if isinstance(part, str) else "[…]" for part in place).lstrip(".") or "the state"

    def _field_at(self, node: ast.expr, place: Place) -> Any:
        family = self._families.get(_key(place))
        if family is None:
            raise self.refuse(node, f"{self._text_of(place)} is not a single field; name one of its parts")
        logic, at = self._logic, self._indices(node, family, place)
        content = self._store.contents[family.key](at)
        past = self._past_the_end(family, at)
        domain = family.domain.bare
        if isinstance(domain, SetDomain):
            return TermSet(content, past, domain.item)
        if isinstance(domain, BoolDomain):
            return Flag(content, past)
        number = self._number_of(domain, content)
        return Number(number.code, logic.or_(number.none, past), number.sort)

    def _indices(self, node: ast.expr, family: Family, place: Place) -> tuple[Code, ...]:
        """The terms of a field's indices; an index that is not evidently within its array has no meaning in a predicate."""
        logic, found = self._logic, list[Code]()
        for part in place:
            if isinstance(part, str):
                continue
            index = family.indices[len(found)]
            if index.is_flag:
                which = family.indices[len(found) + 1]
                found += flat(logic, self._choice(node, part, which.item), which.sort)
                continue
            if not isinstance(part, Number) or part.none is not logic.false:
                raise self.refuse(node, "an index is a number, or a name bound by any(…), all(…) or count(…)")
            code: Any = part.code
            if index.sort is BOOL:
                if not code.is_const:
                    raise self.refuse(node, "a truth value as an index is 0 or 1")
                found.append(logic.bool(bool(code.value)))
            elif code.sort != index.sort:
                raise self.refuse(node, f"{self._text_of(place)} is indexed by {index.hint}, and this is none; {_NO_NUMBERS}")
            elif index.bounds is not None and not is_within(code, index.bounds[1]):
                raise self.refuse(node, f"{self._text_of(place)} may have no such element where sizes are open")
            else:
                found.append(code)
        return tuple(found)

    def _choice(self, node: ast.expr, part: Any, item: Any) -> Choice:
        """An optional id as an index: 0 for none, and of an id one more."""
        logic = self._logic
        if isinstance(part, _Successor) and part.item is item:
            return Choice(logic, logic.true, part.of)
        if isinstance(part, Number) and part.code.is_const and part.code.value == 0 and part.sort is None:
            return Choice(logic, logic.false, None)
        raise self.refuse(node, f"an optional {item.__name__} as an index is 0 for none, or x + 1 for a {item.__name__} x")

    def _past_the_end(self, family: Family, at: tuple[Code, ...]) -> Code:
        """Of a field of a log's record: that the log is too short to have that record."""
        logic = self._logic
        for place, part in enumerate(family.key):
            if part == LogDomain.RECORDS and (home := (*family.key[:place], LogDomain.END)) in self._families:
                before = len(self._families[home].indices)
                return logic.not_(logic.lt(at[before], self._store.contents[home](at[:before])))
        return logic.false

    def _number_of(self, domain: LeafDomain, content: Any) -> Number:
        """What stands in a field that holds a number, a name or an id."""
        logic = self._logic
        if isinstance(content, Choice):
            assert isinstance(domain, OptionalDomain)
            nobody = logic.apply(one_of(sort_of(domain.item)))
            which: Any = nobody if content.value is None else content.value
            return Number(which, logic.not_(content.is_some), domain.item)
        return number_of(logic, self._constants, domain, content)

    def _arithmetic(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        """Also `x + 1` of an id, which as an index means that there is one, namely x."""
        is_one = isinstance(right, Number) and right.code.is_const and right.code.value == 1 and isinstance(node.op, ast.Add)
        if is_one and isinstance(left, Number) and left.sort is not None and issubclass(left.sort, Id):
            return _Successor(left.code, left.sort)
        try:
            return super()._arithmetic(node, left, right)
        except PredicateError:
            raise
        except ModelError as error:
            raise self.refuse(node, str(error)) from None


@frozen
class _Successor:
    """One more than an id, as only an index may be."""

    of: Any
    item: type[Id] | type[Enum]


def _key(place: Place) -> Key:
    return tuple(part if isinstance(part, str) else None for part in place)
