"""The finite expansion of first-order terms: the same text over a known number of ids and known constants.

`Expansion`, which turns terms of a `Reading` into expressions over the leaves of an `Instance` of the same protocol:
quantifiers become conjunctions and disjunctions, functions become the leaves that they stand for. So what the prover reads
can be compared with the protocol itself, state by state.

A defined term is expanded by its definition: the value of which its axioms hold. `unique` says that there is exactly one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, cast

from acked.model.firstorder.reading import Reading
from acked.model.firstorder.records import Cardinality, Choice, Definition, Measure, Relation
from acked.model.firstorder.store import Family, FunctionStore
from acked.model.firstorder.symbols import BOOL, INT, Op, Symbol, one_of
from acked.model.firstorder.terms import Term
from acked.model.firstorder.values import sort_of
from acked.model.formulas.expr import Expr
from acked.model.language.context import Context, active, resolve
from acked.model.language.domain import OptionalDomain, Plain, SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.storage.store import Store
from acked.model.language.values import Id, IntLike

Environment = Mapping[int, Expr]
"""The value of every bound variable in scope, by its number."""


class Expansion:
    """Terms of a reading as expressions of an instance of the same protocol; `parameters` are an action's arguments.

    A measure is expanded by what it measures: the size of the set, compared with the threshold.
    """

    def __init__(self, reading: Reading, instance: Instance, parameters: Mapping[Symbol, Plain]) -> None:
        self._reading = reading
        self._instance = instance
        self._pool = instance.pool
        self._store = Store(instance.schema, list(instance.fields))
        self._known: dict[Symbol, Expr] = {}
        self._chosen: dict[Symbol, int] = {}
        for symbol, value in parameters.items():
            if isinstance(value, list):
                self._chosen[symbol] = sum(1 << member for member in value)
            else:
                self._known[Symbol(f"{symbol.name}.is_some", (), BOOL)] = self._pool.bool(value is not None)
                value = value or 0
                assert isinstance(value, int)
                self._known[symbol] = self._pool.bool(value) if isinstance(value, bool) else self._pool.int(value)
        for name, value in instance.constants.items():
            self._known |= {Symbol(text, (), INT): self._pool.int(value) for text in (name, f"~{name}")}
        self._families: dict[str, Family] = {family.name: family for family in reading.families.values()}
        families = reading.families.values()
        items = [family.domain.item for family in families if hasattr(family.domain, "item")]
        items += [index.item for family in families for index in family.indices]
        self._sizes = {sort_of(item): resolve(item.size, instance.constants) for item in items if issubclass(item, Id)}
        self._known.update({one_of(sort): self._pool.int(0) for sort in self._sizes})
        for symbol, count in reading.logic.chosen.items():
            everybody = self._sizes[symbol.arguments[0]]
            meant = min(resolve(cast(IntLike, count), instance.constants) or everybody, everybody)
            self._chosen[symbol] = (1 << meant) - 1
        self._made: dict[tuple[int, ...], Expr] = {}
        self._free: dict[int, list[int]] = {}
        pool = self._pool
        self._build: dict[Op, Any] = {
            Op.ADD: pool.add, Op.SUB: pool.sub, Op.MUL: pool.mul, Op.EQ: pool.eq, Op.LT: pool.lt, Op.NOT: pool.not_,
            Op.AND: pool.and_, Op.OR: pool.or_, Op.ITE: pool.ite,
        }  # fmt: skip
        self.unique: list[Expr] = []
        """For every defined term so far: that exactly one value satisfies its definition."""
        self.facts: list[Expr] = []
        """For every measure so far: that what is said of it is true."""
        self._told: set[Symbol] = set()

    def expr(self, term: Term) -> Expr:
        """The expansion of a closed term."""
        with active(Context(self._pool, self._instance.constants)):
            return self._expand(term, {})

    def codes(self, store: FunctionStore) -> list[Expr]:
        """What every leaf of the instance holds in a store of the reading."""
        logic, made = self._reading.logic, []
        with active(Context(self._pool, self._instance.constants)):
            for leaf in self._instance.schema.leaves:
                family = self._reading.families[tuple(part if isinstance(part, str) else None for part in leaf.path)]
                indices = [part for part in leaf.path if not isinstance(part, str)]
                env: dict[int, Expr] = {}
                at: list[Term] = []
                numbers = iter(indices)
                for index in family.indices:
                    if index.sort is BOOL:
                        flag = next(numbers)
                        at.append(logic.bool(flag > 0))
                        numbers = itertools.chain([max(flag - 1, 0)], numbers) if index.is_flag else numbers
                        continue
                    number = next(numbers)
                    at.append(logic.variable(index.sort, index.hint) if index.bounds is None else logic.int(number))
                    if index.bounds is None:
                        env[at[-1].value.number] = self._pool.int(number)
                made.append(self._code(store.contents[family.key](tuple(at)), env))
        return made

    def _code(self, content: Any, env: Environment) -> Expr:
        pool = self._pool
        if isinstance(content, Choice):
            if content.value is None:
                return pool.int(0)
            value = pool.add(self._expand(content.value, env), pool.int(1))
            return pool.ite(self._expand(content.is_some, env), value, pool.int(0))
        if isinstance(content, Relation):
            return self._sum(content, env, lambda k: 1 << k)
        value = self._expand(content, env)
        return pool.ite(value, pool.int(1), pool.int(0)) if value.is_bool else value

    def _sum(self, relation: Relation, env: Environment, weight: Callable[[int], int]) -> Expr:
        """The sum of the weights of a set's members."""
        pool = self._pool
        member = self._reading.logic.variable(relation.sort, relation.sort.name)
        inside = relation.member(member)
        total = pool.int(0)
        for k in range(self._sizes[relation.sort]):
            holds = self._expand(inside, {**env, member.value.number: pool.int(k)})
            total = pool.add(total, pool.ite(holds, pool.int(weight(k)), pool.int(0)))
        return total

    def _expand(self, term: Term, env: Environment) -> Expr:
        free = self._free.get(term.id)
        if free is None:
            free = self._free[term.id] = sorted(term.free)
        key = (term.id, *[env[number].id for number in free])
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = self._make(term, env)
        return known

    def _make(self, term: Term, env: Environment) -> Expr:
        pool = self._pool
        match term.op:
            case Op.CONST:
                return pool.bool(term.value) if term.is_bool else pool.int(term.value)
            case Op.VARIABLE:
                return env[term.value.number]
            case Op.EVERY | Op.SOME:
                return self._quantifier(term, env)
            case Op.APPLY:
                return self._apply(term.value, [self._expand(arg, env) for arg in term.args])
        made: Expr = self._build[term.op](*[self._expand(arg, env) for arg in term.args])
        return made

    def _quantifier(self, term: Term, env: Environment) -> Expr:
        pool = self._pool
        *bounds, body = term.args
        if bounds:
            lo, hi = (self._expand(item, env) for item in bounds)
            values: Sequence[int] = range(lo.lo, hi.hi + 1)
        else:
            values = range(self._sizes[term.value.sort])
        cases = []
        for number in values:
            value = pool.int(number)
            inside = pool.and_(pool.le(lo, value), pool.le(value, hi)) if bounds else pool.true
            holds = self._expand(body, {**env, term.value.number: value})
            cases.append(pool.and_(inside, holds) if term.op is Op.SOME else pool.or_(pool.not_(inside), holds))
        return pool.any(cases) if term.op is Op.SOME else pool.all(cases)

    def _apply(self, symbol: Symbol, args: list[Expr]) -> Expr:
        pool = self._pool
        if symbol in self._known:
            return self._known[symbol]
        if symbol in self._chosen:
            return self._is_member(pool.int(self._chosen[symbol]), args[0])
        measure = self._reading.logic.measures.get(symbol)
        if measure is not None:
            return self._measure(measure, args)
        definition = self._reading.logic.definitions.get(symbol)
        if definition is not None:
            return self._define(definition, args)
        size = self._reading.logic.cardinalities.get(symbol)
        if size is not None:
            return self._size(size, args)
        name = symbol.name.removesuffix(".is_some").removeprefix("~")
        family = self._families[name]
        if isinstance(family.domain, SetDomain):
            *args, member = args
            mask = self._store.read(self._path(family, args))
            return self._is_member(mask, member)
        code = self._store.read(self._path(family, args))
        if isinstance(family.domain, OptionalDomain) and issubclass(family.domain.item, Id):
            return pool.not_(pool.eq(code, pool.int(0))) if symbol.name.endswith(".is_some") else pool.sub(code, pool.int(1))
        return pool.eq(code, pool.int(1)) if family.is_truth else code

    def _is_member(self, mask: Expr, member: Expr) -> Expr:
        pool = self._pool
        if member.lo < 0:  # The value behind an optional id that may be none, which no set has.
            mask, member = pool.shl(mask, pool.int(1)), pool.add(member, pool.int(1))
        return pool.not_(pool.eq(pool.bitand(mask, pool.shl(pool.int(1), member)), pool.int(0)))

    def _size(self, size: Cardinality, args: list[Expr]) -> Expr:
        """How many members there are."""
        pool, logic = self._pool, self._reading.logic
        member = logic.variable(size.sort, size.sort.name)
        variables = tuple(logic.variable(item.sort, item.hint) for item in size.variables)
        env = {item.value.number: value for item, value in zip(variables, args, strict=True)}
        inside = size.member(member, variables)
        if size.bounds is None:
            values = range(self._sizes[size.sort])
        else:
            lo, hi = (self._expand(end, {}).value for end in size.bounds)
            values = range(lo, hi + 1)
        total = pool.int(0)
        for number in values:
            holds = self._expand(inside, {**env, member.value.number: pool.int(number)})
            total = pool.add(total, pool.ite(holds, pool.int(1), pool.int(0)))
        return total

    def _measure(self, measure: Measure, args: list[Expr]) -> Expr:
        """Whether the set has as many members as the threshold says, or as another set."""
        if measure.symbol not in self._told:
            self._told.add(measure.symbol)
            self.facts += [self._expand(axiom, {}) for axiom in measure.axioms]
        env = {item.number: value for item, value in zip(measure.variables, args, strict=True)}
        if isinstance(measure.threshold, Relation):
            least = self._sum(measure.threshold, env, lambda _: 1)
        else:
            least = self._pool.int(resolve(cast(IntLike, measure.threshold), self._instance.constants))
        return self._pool.le(least, self._sum(measure.relation, env, lambda _: 1))

    def _define(self, definition: Definition, args: list[Expr]) -> Expr:
        """The value of which the meaning holds: a truth value, or a number that the constants bound."""
        pool = self._pool
        env = {item.number: value for item, value in zip(definition.variables, args, strict=True)}
        is_truth = definition.symbol.result is not INT
        top = max(self._instance.constants.values(), default=0) + 2
        candidates = [pool.false, pool.true] if is_truth else [pool.int(k) for k in range(-1, top)]
        holds = []
        for candidate in candidates:
            inner = _With(self, definition.symbol, candidate)
            holds.append(pool.all(inner._expand(part, env) for part in definition.meaning))
        pairs = [pool.and_(a, b) for (i, a), (j, b) in product(enumerate(holds), repeat=2) if i < j]
        self.unique.append(pool.and_(pool.any(holds), pool.not_(pool.any(pairs))))
        value = candidates[0]
        for candidate, meant in zip(candidates[1:], holds[1:], strict=True):
            value = pool.ite(meant, candidate, value)
        return value

    def _path(self, family: Family, args: Sequence[Expr]) -> tuple[Any, ...]:
        """Beyond an array stands what its last element holds: a protocol must not depend on what is read there."""
        rest = iter(zip(args, family.indices, strict=True))
        path: list[Any] = []
        pool = self._pool
        for part in family.key:
            if part is None:
                code, index = next(rest)
                if index.is_flag:
                    which, _ = next(rest)
                    path.append(pool.ite(code, pool.add(which, pool.int(1)), pool.int(0)))
                    continue
                if index.sort is BOOL:
                    code = pool.ite(code, pool.int(1), pool.int(0))
                    path.append(code.value if code.is_const else code)
                    continue
                if code.is_const:
                    count = self._sizes[index.sort] if index.bounds is None else self._count(index.bounds[1])
                    path.append(code.value if 0 <= code.value < count else count - 1)
                else:
                    path.append(code)
            else:
                path.append(part)
        return tuple(path)

    def _count(self, greatest: Term) -> int:
        return self._expand(greatest, {}).value + 1


class _With(Expansion):
    """An expansion in which one more symbol has a value."""

    def __init__(self, outer: Expansion, symbol: Symbol, value: Expr) -> None:
        self.__dict__.update(outer.__dict__)
        self._known = {**outer._known, symbol: value}
        self._made = {}
