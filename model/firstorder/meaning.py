"""What the language's free functions mean in the first-order reading: `FirstOrder`, a `Semantics` of terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from acked.model.firstorder.definitions import abbreviate, cardinality, extreme
from acked.model.firstorder.normal import substitute
from acked.model.firstorder.ranges import least
from acked.model.firstorder.records import Choice, Relation
from acked.model.firstorder.store import Code, FunctionStore, empty
from acked.model.firstorder.symbols import BOOL, INT, Sort, Symbol, one_of
from acked.model.firstorder.terms import Logic, Term
from acked.model.firstorder.values import SymbolicOptional, SymbolicSet, code, derive, formula, sort_of, term_of
from acked.model.formulas.errors import ModelError
from acked.model.language.choices import given, leaves
from acked.model.language.context import resolve
from acked.model.language.domain import BoolDomain, IdDomain, LeafDomain, OptionalDomain, Range
from acked.model.language.sets import SetValue
from acked.model.language.storage.composites import as_domain, as_leaf
from acked.model.language.values import Bool, Count, I, Id, Int, IntLike, N, OptionalValue, V, Value


class FirstOrder:
    """Terms over some constants, known or not; `store` is what is written to, while something may be."""

    def __init__(self, logic: Logic, constants: Mapping[str, Code], store: FunctionStore | None = None) -> None:
        self.logic = logic
        self.constants = constants
        self._store = store

    def optional_value(self, code: Code, item: type[V]) -> OptionalValue[V]:
        """An optional value of what a family holds."""
        return SymbolicOptional(code, item) if issubclass(item, Id) else OptionalValue(code, item)

    def no_value(self, item: type[V]) -> OptionalValue[V]:
        """An optional value that is none."""
        none = Choice(self.logic, self.logic.false, None) if issubclass(item, Id) else self.logic.int(0)
        return self.optional_value(none, item)

    def set_value(self, code: Code, item: type[I]) -> SymbolicSet[I]:
        """A set of what a family holds."""
        return SymbolicSet(code, item)

    def uniform_set(self, item: type[I], everything: bool) -> SymbolicSet[I]:
        """The set of all ids, or the empty one."""
        logic, sort = self.logic, self.sort(item)
        if not everything:
            return SymbolicSet(code(empty(logic, sort)), item)
        if sort not in logic.everything:
            logic.everything[sort] = derive(logic, sort, lambda _: logic.true, lambda *_: ())
        return SymbolicSet(code(logic.everything[sort]), item)

    def every(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """A universal quantifier."""
        if isinstance(over, SetValue):
            inside, item = over.contains, over.item
            return self.every(item, lambda x: ~inside(x) | body(x))
        return self._quantify(over, body, self.logic.every, self.logic.and_)

    def some(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """An existential quantifier."""
        if isinstance(over, SetValue):
            inside, item = over.contains, over.item
            return self.some(item, lambda x: inside(x) & body(x))
        return self._quantify(over, body, self.logic.some, self.logic.or_)

    def count(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Count:
        """The size of the set of those ids."""
        item = over.item if isinstance(over, SetValue) else over
        if issubclass(item, Int) and not isinstance(over, SetValue):
            wrap, _, bounds = self.range_of(over)
            held = Relation(self.logic, INT, lambda x: term_of(body(wrap(x))), lambda _: self.logic.false)
            return Count(code(cardinality(self.logic, held, None, bounds)))
        if not issubclass(item, Id):
            raise ModelError("count(…) counts ids and numbers in a proof for all constants; write every(…) or some(…)")
        asked = cast(Callable[[Id], Bool], body)
        if isinstance(over, SetValue):
            return self.those(item, lambda x: over.contains(x) & asked(x)).size
        return self.those(item, asked).size

    def _quantify(
        self,
        over: type[V],
        body: Callable[[V], Bool],
        bind: Callable[[Sort, str, Callable[[Term], Term], tuple[Term, Term] | None], Term],
        join: Callable[[Term, Term], Term],
    ) -> Bool:
        """A quantifier over a type: of a struct one for each field, of an optional id one more case."""
        domain = as_domain(over)
        parts = list(leaves("", domain))

        def meaning(values: Mapping[str, Value]) -> Term:
            if len(values) == len(parts):
                return term_of(body(given("", domain, lambda name, _: values[name])))
            name, leaf = parts[len(values)]
            return within(name, leaf, values)

        def within(name: str, leaf: LeafDomain, values: Mapping[str, Value]) -> Term:
            def ask(value: Value) -> Term:
                return meaning({**values, name: value})

            if isinstance(leaf, BoolDomain):
                return join(*(ask(formula(self.logic.bool(value))) for value in (False, True)))
            if isinstance(leaf, OptionalDomain) and issubclass(leaf.item, Id):
                none = self.no_value(leaf.item)
                some = lambda x: ask(self.optional_value(none.code_of(leaf.item(code(x))), leaf.item))  # noqa: E731
                return join(ask(none), bind(self.sort(leaf.item), leaf.item.__name__, some, None))
            if isinstance(leaf, OptionalDomain):
                greatest = self.greatest_code(leaf)
                return bind(INT, leaf.item.__name__, lambda x: ask(leaf.wrap(code(x))), (self.logic.int(0), greatest))
            wrap: Callable[[Term], Value]
            wrap, sort, bounds = self.range_of(leaf)
            return bind(sort, cast(IdDomain | Range, leaf).item.__name__, lambda x: ask(wrap(x)), bounds)

        return formula(meaning({}))

    def greatest_code(self, domain: LeafDomain) -> Term:
        """The greatest code of a number, or of an optional one."""
        if isinstance(domain, OptionalDomain):
            return self.greatest_code(as_leaf(domain.item)) + 1
        assert isinstance(domain, Range)
        lo, hi = self.bounds(domain)
        return self.logic.sub(hi, lo)

    def extreme(self, over: type[N], body: Callable[[N], Bool], otherwise: N | None, is_greatest: bool) -> N:
        """The greatest or least value for which the body holds, by its defining properties."""
        wrap, sort, bounds = self.range_of(over)
        if sort is not INT or bounds is None:
            raise ModelError("greatest(…) and least(…) need an Int type")
        lo, hi = bounds
        end = lo if is_greatest else hi
        fallback: Code = end if otherwise is None else over.lift(otherwise)
        return wrap(
            extreme(self.logic, over.__name__, lambda x: term_of(body(wrap(x))), fallback, lo, hi, is_greatest)
        )

    def each(self, over: type[V]) -> list[V]:
        """Refused: there may be any number."""
        raise ModelError("each(…) needs finitely many values; quantify with every(…) or some(…)")

    def for_each(self, over: type[V], assign: Callable[[V], None]) -> None:
        """One assignment to whole families: its element stands for every value at once."""
        if self._store is None:
            raise ModelError("for_each(…) assigns to a state and belongs in an action or an initial state")
        wrap, sort, bounds = self.range_of(over)
        element = self.logic.variable(sort, over.__name__)
        if bounds is not None:
            self.logic.ranges[element.value] = bounds
        with self._store.for_each(element):
            assign(wrap(element))

    def those(self, over: type[I], condition: Callable[[I], Bool]) -> SymbolicSet[I]:
        """A relation, said once of a variable: what is assigned later does not change it."""
        logic, sort = self.logic, self.sort(over)
        probe = logic.variable(sort, over.__name__)
        holds = term_of(condition(over(code(probe))))
        member = derive(logic, sort, lambda x: substitute(logic, holds, {probe.value: x}), lambda *_: ())
        return SymbolicSet(code(member), over)

    def one_of(self, over: type[I]) -> I:
        """An id of which nothing is said."""
        return over(code(self.logic.apply(one_of(self.sort(over)))))

    def some_of(self, over: type[I], count: IntLike) -> SymbolicSet[I]:
        """Ids of which nothing is said, but that `one_of` is one of them: how many they are is a size like any other."""
        logic, sort = self.logic, self.sort(over)
        symbol = Symbol(f"some.{sort.name}", (sort,), BOOL)
        logic.chosen[symbol] = count
        first = logic.apply(one_of(sort))
        found = derive(logic, sort, lambda x: logic.or_(logic.eq(x, first), logic.apply(symbol, (x,))), lambda *_: ())
        return SymbolicSet(code(found), over)

    def implies(self, antecedent: Bool, consequent: Bool) -> Bool:
        """A disjunction."""
        return ~antecedent | consequent

    def abbreviate(self, formula_: Bool) -> Bool:
        """A predicate that is defined as the formula."""
        return formula(abbreviate(self.logic, term_of(formula_)))

    def vacuously(self, holds: Bool, where: Bool) -> Bool:
        """The formula itself."""
        return holds

    def sort(self, item: type[Id]) -> Sort:
        """The sort of a type of ids; where the reading is exact, refused if there may be none or the name stands for two."""
        if self.logic.is_exact:
            if self.logic.kinds.setdefault(item.__name__, item) is not item:
                raise ModelError(f"two types of ids are named {item.__name__}, which would be taken for one; rename one")
            if least(self.logic.int(resolve(item.size, self.constants))) < 1:
                raise ModelError(f"there may be no {item.type_name} at all; let the constant that is its size begin at 1")
        return sort_of(item)

    def range_of(self, over: type[V] | LeafDomain) -> tuple[Callable[[Term], V], Sort, tuple[Term, Term] | None]:
        """How a value of a type is made of a term, the sort of that, and its bounds if it is a number."""
        domain = as_leaf(over)
        if isinstance(domain, IdDomain):
            return lambda x: cast(V, domain.item(code(x))), self.sort(domain.item), None
        if isinstance(domain, Range):
            return lambda x: cast(V, domain.item(code(x))), INT, self.bounds(domain)
        raise ModelError("only Int and Id types can be quantified over in the first-order reading")

    def bounds(self, domain: Range) -> tuple[Term, Term]:
        """The least and the greatest number of a domain."""
        return self.logic.int(resolve(domain.lo, self.constants)), self.logic.int(resolve(domain.hi, self.constants))
