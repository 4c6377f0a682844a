"""A protocol read as first-order logic: any number of ids, unknown constants, states as functions.

`Reading`, which runs a protocol's own actions and a property's own predicate over functions instead of leaves; what stands
behind structs then (`FunctionStore`), and how sets, optional ids and quantifiers are read.

An `Id` type becomes an uninterpreted sort, whose size nothing says; an `Int` is a mathematical integer, whose range is
a clause to be proved like any other (`Reading.domains`). A constant is an unknown integer not below its least value. An
array is a function of its index, a log an end and functions from offset to the fields of a record, a set of ids a relation,
an optional id a truth value and an id. An optional number stays one number, 0 for none. A step is a substitution: what a
field holds afterwards is a term over what fields held before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from acked.model.firstorder.terms import BOOL, INT, Choice, Logic, Relation, Sort, Symbol, Term
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Context, active, resolve
from acked.model.language.domain import (
    ArrayDomain,
    BoolDomain,
    Domain,
    IdDomain,
    LeafDomain,
    LogDomain,
    OptionalDomain,
    Range,
    SetDomain,
    StructDomain,
    as_leaf,
)
from acked.model.language.protocol import Action, Guard, Protocol
from acked.model.language.values import Bool, Id, OptionalValue, SetValue, Value

Key = tuple[Any, ...]
"""A path whose indices are None."""
Content = Callable[[tuple[Term, ...]], Any]
"""What a family holds, by index: a term, a `Choice` or a `Relation`."""


@dataclass(frozen=True)
class Index:
    """What a family is indexed by: ids of a sort, or the integers within bounds."""

    sort: Sort
    item: type[Any]
    bounds: tuple[Term, Term] | None

    @property
    def hint(self) -> str:
        """The name of the type, which variables and marks carry."""
        return _hint(self.item)


@dataclass(frozen=True)
class Family:
    """All leaves of a state that differ only in indices, such as the high watermark of every replica."""

    key: Key
    domain: LeafDomain
    indices: tuple[Index, ...]

    @property
    def name(self) -> str:
        """`replica[].hw`."""
        return "".join("[]" if part is None else f".{part}" for part in self.key).lstrip(".")


class SymbolicOptional(OptionalValue[Any]):
    """An optional id, of which it is not said that it is a number."""

    __slots__ = ()

    @property
    def _choice(self) -> Choice:
        return cast(Choice, self.expr)

    @property
    def is_none(self) -> Bool:
        """Whether there is no value."""
        return ~self.is_some

    @property
    def is_some(self) -> Bool:
        """Whether there is a value."""
        return Bool(cast(Any, self._choice.is_some))

    @property
    def value(self) -> Any:
        """The value; of none any id."""
        if self._choice.value is None:
            raise ModelError(f"a {self.item.type_name} that is certainly none has no value")
        return self.item(cast(Any, self._choice.value))

    def code_of(self, other: object) -> Any:
        """The choice behind a value, None or another optional."""
        logic = self._choice.pool
        if other is None:
            return Choice(logic, logic.false, None)
        if isinstance(other, OptionalValue):
            return super().code_of(other)
        return Choice(logic, logic.true, cast(Any, self.item).lift(other))


class SymbolicSet(SetValue[Any]):
    """A set of ids, by what is in it."""

    __slots__ = ()

    @property
    def _relation(self) -> Relation:
        return cast(Relation, self.expr)

    def _make(self, member: Callable[[Term], Term]) -> SymbolicSet:
        return SymbolicSet(cast(Any, Relation(self._relation.pool, self._relation.sort, member)), self.item)

    def _every(self, body: Callable[[Term], Term]) -> Bool:
        return Bool(cast(Any, self._relation.pool.every(self._relation.sort, _hint(self.item), body)))

    @property
    def is_empty(self) -> Bool:
        """Whether nothing is in the set."""
        logic, member = self._relation.pool, self._relation.member
        return self._every(lambda x: logic.not_(member(x)))

    @property
    def size(self) -> Any:
        """No number: how many ids there are is unknown."""
        raise ModelError(f"how many {self.item.type_name}s a set has is no first-order notion; compare sets instead")

    def contains(self, member: Any) -> Bool:
        """Whether `member` is in the set."""
        return Bool(cast(Any, self._relation.member(self.item.lift(member))))

    def add(self, member: Any) -> SymbolicSet:
        """The set with `member`."""
        logic, relation, new = self._relation.pool, self._relation, self.item.lift(member)
        return self._make(lambda x: logic.or_(relation.member(x), logic.eq(x, new)))

    def remove(self, member: Any) -> SymbolicSet:
        """The set without `member`."""
        logic, relation, old = self._relation.pool, self._relation, self.item.lift(member)
        return self._make(lambda x: logic.and_(relation.member(x), logic.not_(logic.eq(x, old))))

    def is_only(self, member: Any) -> Bool:
        """Whether `member` is the only one in the set."""
        logic, relation, only = self._relation.pool, self._relation, self.item.lift(member)
        return self._every(lambda x: logic.eq(relation.member(x), logic.eq(x, only)))

    def issubset(self, other: Any) -> Bool:
        """Whether every member is in `other` too."""
        logic, mine, theirs = self._relation.pool, self._relation, cast(Any, self.mask_of(other))
        return self._every(lambda x: logic.or_(logic.not_(mine.member(x)), theirs.member(x)))

    def __or__(self, other: Any) -> SymbolicSet:
        logic, mine, theirs = self._relation.pool, self._relation, cast(Any, self.mask_of(other))
        return self._make(lambda x: logic.or_(mine.member(x), theirs.member(x)))

    def __and__(self, other: Any) -> SymbolicSet:
        logic, mine, theirs = self._relation.pool, self._relation, cast(Any, self.mask_of(other))
        return self._make(lambda x: logic.and_(mine.member(x), theirs.member(x)))

    def __sub__(self, other: Any) -> SymbolicSet:
        logic, mine, theirs = self._relation.pool, self._relation, cast(Any, self.mask_of(other))
        return self._make(lambda x: logic.and_(mine.member(x), logic.not_(theirs.member(x))))

    __hash__ = Value.__hash__


class FunctionStore:
    """What every family holds while one action is traced; assignments take effect at once, as substitutions.

    It keeps no history: what a finite instance of a protocol refuses (`model/language/state.py`) is not asked here again.
    """

    changes = ()

    def __init__(self, logic: Logic, contents: Mapping[Key, Content]) -> None:
        self.logic = logic
        self.contents = dict(contents)

    def read(self, path: Key) -> Any:
        """What stands at a path."""
        key, at = self._split(path)
        return self.contents[key](at)

    def begin(self, writer: Any, replaces: bool, place: Key | None = None) -> None:
        """Nothing to note."""

    def write(self, path: Key, content: Any, when: Term | None = None) -> None:
        """Replaces what stands at a path, where a condition holds."""
        key, at = self._split(path)
        where = self.logic.true if when is None else when
        self._replace(key, lambda index: self.logic.and_(self._is_at(index, at), where), content)

    def blank_from(self, slots: Key, fields: Iterable[tuple[Key, LeafDomain]], _: Any, cut: Term) -> None:
        """Blanks the fields of every slot of a log from `cut` on."""
        log, at = self._split(slots)
        for path, domain in fields:
            self._replace(
                (*log, None, *path),
                lambda index: self.logic.and_(self._is_at(index[:-1], at), self.logic.le(cut, index[-1])),
                zero(self.logic, domain),
            )

    def _replace(self, key: Key, where: Callable[[tuple[Term, ...]], Term], content: Any) -> None:
        before = self.contents[key]
        self.contents[key] = lambda index: self.logic.ite(where(index), content, before(index))

    def _is_at(self, index: tuple[Term, ...], at: tuple[Term, ...]) -> Term:
        return self.logic.all(self.logic.eq(a, b) for a, b in zip(index, at, strict=True))

    def _split(self, path: Key) -> tuple[Key, tuple[Term, ...]]:
        key = tuple(part if isinstance(part, str) else None for part in path)
        return key, tuple(self.logic.int(part) for part in path if not isinstance(part, str))


def zero(logic: Logic, domain: LeafDomain) -> Any:
    """What a field of this domain holds before anything is assigned: code 0."""
    if isinstance(domain, SetDomain):
        return Relation(logic, sort_of(domain.item), lambda _: logic.false)
    if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
        return Choice(logic, logic.false, None)
    if isinstance(domain, IdDomain):
        raise ModelError(f"no {domain.item.type_name} is the first one in the first-order reading; make the field Optional")
    return logic.int(0)


@dataclass(frozen=True)
class Parameter:
    """An action's parameter: any id, or any integer within bounds."""

    name: str
    term: Term
    range: Term


@dataclass(frozen=True)
class Step:
    """An action, its parameters unknown: where every guard holds, `after` says what every family holds next."""

    action: Action
    parameters: tuple[Parameter, ...]
    guards: tuple[Guard, ...]
    guard: Term
    after: FunctionStore

    @property
    def name(self) -> str:
        """The action's name."""
        return self.action.name


class Reading:
    """A protocol for all constants at once; `drop` names (action, label) guard clauses to leave out."""

    def __init__(self, protocol: Protocol, drop: Iterable[tuple[str, str]] = ()) -> None:
        self.protocol = protocol
        self.logic = Logic()
        self.constants: dict[str, Term] = {
            item.name: self.logic.apply(Symbol(item.name, (), INT)) for item in protocol.constants
        }
        self.families: dict[Key, Family] = {
            family.key: family for family in self._families(StructDomain(protocol.state), (), ())
        }
        self.before = FunctionStore(self.logic, {key: self._unknown(family) for key, family in self.families.items()})
        self.initial = self._trace_initial()
        dropped = frozenset(drop)
        self.steps: tuple[Step, ...] = tuple(self._trace(item, dropped) for item in protocol.actions)

    @cached_property
    def sorts(self) -> dict[Sort, type[Id]]:
        """The id type behind every uninterpreted sort."""
        items = [family.domain.item for family in self.families.values() if hasattr(family.domain, "item")]
        items += [index.item for family in self.families.values() for index in family.indices]
        return {sort_of(item): item for item in items if issubclass(item, Id)}

    def constants_in_range(self) -> Term:
        """That no constant is below its least value; there is no greatest."""
        logic = self.logic
        return logic.all(logic.le(logic.int(item.lo), self.constants[item.name]) for item in self.protocol.constants)

    def state_term(self, predicate: Callable[[Any], Bool], store: FunctionStore | None = None) -> Term:
        """A predicate over one state: the one before a step if not said otherwise."""
        with active(self._context()):
            return cast(Term, Bool.lift(predicate(self._root(store or self.before))))

    def domains(self) -> dict[str, Callable[[FunctionStore], Term]]:
        """That every integer field is within its range, by the name of the field."""
        return {
            f"Domain({family.name})": self._in_domain(family)
            for family in self.families.values()
            if sort_of_leaf(family.domain) is INT
        }

    # -- what the language asks for (see `Context.reading`) -------------------------------------------------------

    def optional_value(self, content: Any, item: type[Any]) -> OptionalValue[Any]:
        """An optional value of what a family holds."""
        return SymbolicOptional(content, item) if issubclass(item, Id) else OptionalValue(content, item)

    def no_value(self, item: type[Any]) -> OptionalValue[Any]:
        """An optional value that is none."""
        none = Choice(self.logic, self.logic.false, None) if issubclass(item, Id) else self.logic.int(0)
        return self.optional_value(none, item)

    def set_value(self, content: Any, item: type[Any]) -> SymbolicSet:
        """A set of what a family holds."""
        return SymbolicSet(content, item)

    def uniform_set(self, item: type[Any], everything: bool) -> SymbolicSet:
        """The set of all ids, or the empty one."""
        relation = Relation(self.logic, sort_of(item), lambda _: self.logic.bool(everything))
        return SymbolicSet(cast(Any, relation), item)

    def every(self, over: Any, body: Callable[[Any], Bool]) -> Bool:
        """Whether the body holds for every value of a type, or for every member of a set."""
        logic = self.logic
        if isinstance(over, SymbolicSet):
            inside = over.contains
            return self.every(over.item, lambda x: ~inside(x) | body(x))
        wrap, sort, bounds = self._range(over)
        hint = _hint(over)
        return Bool(cast(Any, logic.every(sort, hint, lambda x: cast(Term, Bool.lift(body(wrap(x)))), bounds)))

    def some(self, over: Any, body: Callable[[Any], Bool]) -> Bool:
        """Whether the body holds for some value of a type, or for some member of a set."""
        logic = self.logic
        if isinstance(over, SymbolicSet):
            inside = over.contains
            return self.some(over.item, lambda x: inside(x) & body(x))
        wrap, sort, bounds = self._range(over)
        hint = _hint(over)
        return Bool(cast(Any, logic.some(sort, hint, lambda x: cast(Term, Bool.lift(body(wrap(x)))), bounds)))

    def extreme(self, over: Any, body: Callable[[Any], Bool], otherwise: Any, is_greatest: bool) -> Any:
        """The greatest or least value for which the body holds, by its defining properties."""
        wrap, sort, bounds = self._range(over)
        if sort is not INT or bounds is None:
            raise ModelError("greatest(…) and least(…) need an Int type")
        logic = self.logic
        lo, hi = bounds
        end = lo if is_greatest else hi
        fallback = end if otherwise is None else cast(Any, over).lift(otherwise)

        def holds(x: Term) -> Term:
            return cast(Term, Bool.lift(body(wrap(x))))

        term = logic.extreme(_hint(over), holds, fallback, lo, hi, is_greatest)
        return wrap(term)

    # -- internals ----------------------------------------------------------------------------------------------

    def _context(self, guards: list[Guard] | None = None) -> Context:
        return Context(cast(Any, self.logic), cast(Any, self.constants), guards, self)

    def _root(self, store: FunctionStore) -> Any:
        return self.protocol.state.at(store, ())

    def _range(self, over: Any) -> tuple[Callable[[Term], Any], Sort, tuple[Term, Term] | None]:
        domain = as_leaf(over)
        if isinstance(domain, IdDomain):
            return domain.item, sort_of(domain.item), None
        if isinstance(domain, Range):
            return cast(Any, domain.item), INT, self._bounds(domain)
        raise ModelError("only Int and Id types can be quantified over in the first-order reading")

    def _bounds(self, domain: Range) -> tuple[Term, Term]:
        return self.logic.int(resolve(domain.lo, cast(Any, self.constants))), self.logic.int(
            resolve(domain.hi, cast(Any, self.constants))
        )

    def _index(self, domain: LeafDomain) -> Index:
        if isinstance(domain, IdDomain):
            return Index(sort_of(domain.item), domain.item, None)
        if isinstance(domain, Range):
            lo, hi = self._bounds(domain)
            return Index(INT, domain.item, (self.logic.int(0), self.logic.sub(hi, lo)))
        raise ModelError("an array is indexed by an Int or an Id type")

    def _families(self, domain: Domain, key: Key, indices: tuple[Index, ...]) -> Iterator[Family]:
        if isinstance(domain, LeafDomain):
            yield Family(key, domain, indices)
        elif isinstance(domain, StructDomain):
            for name, inner in domain.struct.domains().items():
                yield from self._families(inner, (*key, name), indices)
        elif isinstance(domain, ArrayDomain):
            yield from self._families(domain.element, (*key, None), (*indices, self._index(domain.index)))
        elif isinstance(domain, LogDomain):
            yield Family((*key, LogDomain.END), domain.end, indices)
            last = self.logic.int(resolve(domain.size, cast(Any, self.constants))) - 1
            slot = Index(INT, domain.offset, (self.logic.int(0), last))
            record = StructDomain(domain.record)
            yield from self._families(record, (*key, LogDomain.RECORDS, None), (*indices, slot))
        else:
            raise ModelError(f"{type(domain).__name__} has no first-order reading")

    def _unknown(self, family: Family) -> Content:
        logic, domain = self.logic, family.domain
        sorts = tuple(index.sort for index in family.indices)
        if isinstance(domain, SetDomain):
            sort = sort_of(domain.item)
            member = Symbol(family.name, (*sorts, sort), BOOL)
            return lambda at: Relation(logic, sort, lambda x: logic.apply(member, (*at, x)))
        if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
            is_some = Symbol(f"{family.name}.is_some", sorts, BOOL)
            value = Symbol(family.name, sorts, sort_of(domain.item))
            return lambda at: Choice(logic, logic.apply(is_some, at), logic.apply(value, at))
        symbol = Symbol(family.name, sorts, sort_of_leaf(domain) or INT)
        return lambda at: logic.apply(symbol, at)

    def _in_domain(self, family: Family) -> Callable[[FunctionStore], Term]:
        logic, domain = self.logic, family.domain
        greatest = self._greatest_code(domain)

        def quantify(store: FunctionStore, indices: Sequence[Index], at: tuple[Term, ...]) -> Term:
            if not indices:
                code = store.contents[family.key](at)
                return logic.and_(logic.le(logic.int(0), code), logic.le(code, greatest))
            index, *rest = indices
            return logic.every(index.sort, index.hint, lambda x: quantify(store, rest, (*at, x)), index.bounds)

        return lambda store: quantify(store, family.indices, ())

    def _greatest_code(self, domain: LeafDomain) -> Term:
        if isinstance(domain, BoolDomain):
            return self.logic.int(1)
        if isinstance(domain, OptionalDomain):
            return self._greatest_code(as_leaf(domain.item)) + 1
        lo, hi = self._bounds(cast(Range, domain))
        return self.logic.sub(hi, lo)

    def _trace_initial(self) -> FunctionStore:
        def blank(family: Family) -> Content:
            return lambda _: zero(self.logic, family.domain)

        store = FunctionStore(self.logic, {key: blank(family) for key, family in self.families.items()})
        with active(self._context()):
            self.protocol.run_initial(self._root(store))
        return store

    def _trace(self, item: Action, dropped: frozenset[tuple[str, str]]) -> Step:
        guards: list[Guard] = []
        store = FunctionStore(self.logic, self.before.contents)
        parameters: list[Parameter] = []
        with active(self._context(guards)):
            values: dict[str, Any] = {}
            for name, domain in item.parameters().items():
                index = self._index(domain)
                symbol = Symbol(f"{item.name}.{name}", (), index.sort)
                self.logic.units[symbol] = index.hint
                term = self.logic.apply(symbol)
                inside = self.logic.true
                if index.bounds is not None:
                    inside = self.logic.and_(self.logic.le(index.bounds[0], term), self.logic.le(term, index.bounds[1]))
                parameters.append(Parameter(name, term, inside))
                values[name] = domain.wrap(cast(Any, term))
            item.function(self._root(store), **values)
        kept = tuple(guard for guard in guards if (item.name, guard.label) not in dropped)
        guard = self.logic.all(cast(Any, guard.condition) for guard in kept)
        return Step(item, tuple(parameters), kept, guard, store)


def sort_of(item: type[Id]) -> Sort:
    """The uninterpreted sort of an id type."""
    return Sort(item.__name__)


def sort_of_leaf(domain: LeafDomain) -> Sort | None:
    """The sort of the one term behind a leaf; None where there are several."""
    if isinstance(domain, IdDomain):
        return sort_of(domain.item)
    if isinstance(domain, SetDomain) or (isinstance(domain, OptionalDomain) and issubclass(domain.item, Id)):
        return None
    return INT


def _hint(item: Any) -> str:
    return str(item.__name__)
