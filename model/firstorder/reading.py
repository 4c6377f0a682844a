"""A protocol read as first-order logic: any number of ids, unknown constants, states as functions.

`Reading`, the `Semantics` in which a protocol's own actions and a property's own predicate run over functions instead of
leaves; and what stands behind structs then (`FunctionStore`).

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
from typing import Any, NoReturn, TypeVar

from acked.model.firstorder.terms import BOOL, INT, Choice, Logic, Relation, Sort, Symbol, Term
from acked.model.firstorder.values import SymbolicOptional, SymbolicSet, code, formula, sort_of, term_of
from acked.model.formulas.errors import ModelError
from acked.model.language.context import active, resolve
from acked.model.language.domain import (
    ArrayDomain,
    BoolDomain,
    Domain,
    IdDomain,
    LeafDomain,
    LogDomain,
    OptionalDomain,
    Path,
    Range,
    SetDomain,
    StructDomain,
    as_leaf,
)
from acked.model.language.protocol import Action, Protocol
from acked.model.language.semantics import Guard, Trace
from acked.model.language.state import Struct
from acked.model.language.store import SymbolicPath
from acked.model.language.values import Bool, Id, Int, IntLike, OptionalValue, SetValue, Value

V = TypeVar("V", bound=Value)
N = TypeVar("N", bound=Int)
I = TypeVar("I", bound=Id)  # noqa: E741

Key = tuple[str | None, ...]
"""A path whose indices are None."""
Code = Any
"""A term, a `Choice` or a `Relation`, where the language's types say `Expr` (see `values.py`)."""
Content = Callable[[tuple[Term, ...]], Code]
"""What a family holds, by index."""


@dataclass(frozen=True)
class Index:
    """What a family is indexed by: ids of a sort, or the integers within bounds."""

    sort: Sort
    item: type[Value]
    bounds: tuple[Term, Term] | None

    @property
    def hint(self) -> str:
        """The name of the type, which variables and marks carry."""
        return self.item.__name__


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


class FunctionStore:
    """What every family holds while one action is traced; assignments take effect at once, as substitutions.

    It keeps no history: what a finite instance of a protocol refuses (`model/language/state.py`) is not asked here again.
    """

    changes = ()

    def __init__(self, logic: Logic, contents: Mapping[Key, Content]) -> None:
        self.logic = logic
        self.contents = dict(contents)

    def read(self, path: SymbolicPath, moment: int | None = None) -> Code:
        """What stands at a path."""
        key, at = self._split(path)
        return self.contents[key](at)

    def begin(self, writer: object, replaces: bool, place: SymbolicPath | None = None) -> None:
        """Nothing to note."""

    def write(self, path: SymbolicPath, code: Code, when: Code = None) -> None:
        """Replaces what stands at a path, where a condition holds."""
        key, at = self._split(path)
        where = self.logic.true if when is None else when
        self._replace(key, lambda index: self.logic.and_(self._is_at(index, at), where), code)

    def blank_from(self, slots: SymbolicPath, fields: Sequence[tuple[Path, LeafDomain]], count: int, cut: Code) -> None:
        """Blanks the fields of every slot of a log from `cut` on."""
        log, at = self._split(slots)
        for path, domain in fields:
            self._replace(
                (*log, None, *_key(path)),
                lambda index: self.logic.and_(self._is_at(index[:-1], at), self.logic.le(cut, index[-1])),
                zero(self.logic, domain),
            )

    def slot(self, offset: Code, size: IntLike) -> Code:
        """The offset itself: a log is a function of offsets, whatever its size."""
        return offset

    def leaves(self) -> NoReturn:
        """There are none: a field is a function."""
        raise ModelError("a predicate written in a spec is about given constants and has no meaning for all of them")

    def _replace(self, key: Key, where: Callable[[tuple[Term, ...]], Term], content: Code) -> None:
        before = self.contents[key]
        self.contents[key] = lambda index: self.logic.ite(where(index), content, before(index))

    def _is_at(self, index: tuple[Term, ...], at: tuple[Term, ...]) -> Term:
        return self.logic.all(self.logic.eq(a, b) for a, b in zip(index, at, strict=True))

    def _split(self, path: SymbolicPath) -> tuple[Key, tuple[Term, ...]]:
        return _key(path), tuple(self.logic.int(part) for part in path if not isinstance(part, str))


def _key(path: SymbolicPath) -> Key:
    return tuple(part if isinstance(part, str) else None for part in path)


def zero(logic: Logic, domain: LeafDomain) -> Code:
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
            return term_of(predicate(self._root(store or self.before)))

    def domains(self) -> dict[str, Callable[[FunctionStore], Term]]:
        """That every integer field is within its range, by the name of the field."""
        return {
            f"Domain({family.name})": self._in_domain(family)
            for family in self.families.values()
            if sort_of_leaf(family.domain) is INT
        }

    # -- what the language asks for: `Semantics` ------------------------------------------------------------------

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
        relation = Relation(self.logic, sort_of(item), lambda _: self.logic.bool(everything))
        return SymbolicSet(code(relation), item)

    def every(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """A universal quantifier."""
        if isinstance(over, SetValue):
            inside, item = over.contains, over.item
            return self.every(item, lambda x: ~inside(x) | body(x))
        wrap, sort, bounds = self._range(over)
        return formula(self.logic.every(sort, over.__name__, lambda x: term_of(body(wrap(x))), bounds))

    def some(self, over: type[V] | SetValue[Any], body: Callable[[V], Bool]) -> Bool:
        """An existential quantifier."""
        if isinstance(over, SetValue):
            inside, item = over.contains, over.item
            return self.some(item, lambda x: inside(x) & body(x))
        wrap, sort, bounds = self._range(over)
        return formula(self.logic.some(sort, over.__name__, lambda x: term_of(body(wrap(x))), bounds))

    def extreme(self, over: type[N], body: Callable[[N], Bool], otherwise: N | None, is_greatest: bool) -> N:
        """The greatest or least value for which the body holds, by its defining properties."""
        wrap, sort, bounds = self._range(over)
        if sort is not INT or bounds is None:
            raise ModelError("greatest(…) and least(…) need an Int type")
        lo, hi = bounds
        end = lo if is_greatest else hi
        fallback: Code = end if otherwise is None else over.lift(otherwise)
        return wrap(
            self.logic.extreme(over.__name__, lambda x: term_of(body(wrap(x))), fallback, lo, hi, is_greatest)
        )

    def each(self, over: type[V]) -> list[V]:
        """Refused: there may be any number."""
        raise ModelError("each(…) needs finitely many values; quantify with every(…) or some(…)")

    def implies(self, antecedent: Bool, consequent: Bool) -> Bool:
        """A disjunction."""
        return ~antecedent | consequent

    def vacuously(self, holds: Bool, where: Bool) -> Bool:
        """The formula itself."""
        return holds

    # -- internals ----------------------------------------------------------------------------------------------

    def _context(self, guards: list[Guard] | None = None) -> Trace:
        pool: Code = self.logic
        return Trace(pool, self._constants, self, guards)

    def _root(self, store: FunctionStore) -> Struct:
        return self.protocol.state.at(store, ())

    def _range(self, over: type[V]) -> tuple[Callable[[Term], V], Sort, tuple[Term, Term] | None]:
        domain = as_leaf(over)
        if isinstance(domain, IdDomain):
            return lambda x: over(code(x)), sort_of(domain.item), None
        if isinstance(domain, Range):
            return lambda x: over(code(x)), INT, self._bounds(domain)
        raise ModelError("only Int and Id types can be quantified over in the first-order reading")

    @property
    def _constants(self) -> Mapping[str, Code]:
        """The unknown constants where the language takes numbers; it adds to them and compares nothing."""
        return self.constants

    def _bounds(self, domain: Range) -> tuple[Term, Term]:
        return self.logic.int(resolve(domain.lo, self._constants)), self.logic.int(resolve(domain.hi, self._constants))

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
            last = self.logic.int(resolve(domain.size, self._constants)) - 1
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
        assert isinstance(domain, Range)
        lo, hi = self._bounds(domain)
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
            values: dict[str, Value] = {}
            for name, domain in item.parameters().items():
                index = self._index(domain)
                symbol = Symbol(f"{item.name}.{name}", (), index.sort)
                self.logic.units[symbol] = index.hint
                term = self.logic.apply(symbol)
                inside = self.logic.true
                if index.bounds is not None:
                    inside = self.logic.and_(self.logic.le(index.bounds[0], term), self.logic.le(term, index.bounds[1]))
                parameters.append(Parameter(name, term, inside))
                values[name] = domain.wrap(code(term))
            item.function(self._root(store), **values)
        kept = tuple(guard for guard in guards if (item.name, guard.label) not in dropped)
        guard = self.logic.all(term_of(Bool(guard.condition)) for guard in kept)
        return Step(item, tuple(parameters), kept, guard, store)


def sort_of_leaf(domain: LeafDomain) -> Sort | None:
    """The sort of the one term behind a leaf; None where there are several."""
    if isinstance(domain, IdDomain):
        return sort_of(domain.item)
    if isinstance(domain, SetDomain) or (isinstance(domain, OptionalDomain) and issubclass(domain.item, Id)):
        return None
    return INT
