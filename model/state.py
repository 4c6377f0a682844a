"""Symbolic access to a state: structs, arrays and logs, read and written in ordinary Python.

What lives here: `Struct` and `field` (how a protocol declares its state), the views of arrays and logs, and the store
behind them. What does not: layout (`domain.py`) and the meaning of actions (`protocol.py`).

Everything a protocol does to its state goes through `Store.read` and `Store.write` on paths whose indices may be
symbolic; another reading of the same source (over unbounded sorts, say) only needs another store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar, cast, overload

from model.context import current, literal, resolve
from model.domain import (
    ArrayDomain,
    Composite,
    Domain,
    Leaf,
    LeafDomain,
    LogDomain,
    OptionalDomain,
    Path,
    PresentDomain,
    Range,
    Schema,
    SetDomain,
    StructDomain,
    as_domain,
    as_leaf,
)
from model.errors import ModelError
from model.expr import Expr
from model.values import Bool, Id, Int, IntLike, OptionalValue, SetValue, Value, type_name_of

T = TypeVar("T")
W = TypeVar("W")
V = TypeVar("V", bound=Value)
N = TypeVar("N", bound=Int)
I = TypeVar("I", bound=Id)  # noqa: E741
S = TypeVar("S", bound="Struct")
K = TypeVar("K", bound=Value)

SymbolicPath = tuple[Any, ...]
"""A path whose indices are plain numbers or expressions."""


class Store:
    """The current expression of every leaf while one action is traced; assignments take effect at once."""

    def __init__(self, schema: Schema, codes: list[Expr]) -> None:
        self.schema = schema
        self.codes = codes

    def read(self, path: SymbolicPath) -> Expr:
        """The code at a path."""
        at, index = _first_symbolic(path)
        if index is None:
            return self.codes[self.schema.by_path[path]]
        # The last element stands for every index beyond the array: reads are total, guards say where they matter.
        choices = [(*path[:at], k, *path[at + 1 :]) for k in range(self._count(path[:at]))]
        value = self.read(choices[-1])
        pool = value.pool
        for k in reversed(range(len(choices) - 1)):
            value = pool.ite(pool.eq(index, literal(k)), self.read(choices[k]), value)
        return value

    def write(self, path: SymbolicPath, code: Expr) -> None:
        """Replaces the code at a path; an index beyond the array writes nowhere."""
        at, index = _first_symbolic(path)
        if index is None:
            leaf = self.schema.by_path[path]
            target = self.schema.leaves[leaf]
            if isinstance(target.domain, PresentDomain) and target.domain.is_absent(self.schema.constants):
                return
            if code.hi < 0 or code.lo >= target.cardinality:
                raise ModelError(f"assignment outside the domain: {self._outside(target, code)}")
            self.codes[leaf] = code
            return
        for k in range(self._count(path[:at])):
            element = (*path[:at], k, *path[at + 1 :])
            pool = code.pool
            self.write(element, pool.ite(pool.eq(index, literal(k)), code, self.read(element)))

    def blank_from(self, slots: SymbolicPath, fields: Sequence[tuple[Path, LeafDomain]], count: int, cut: Expr) -> None:
        """Blanks the fields of every slot of a log, of which there are `count`, from `cut` on."""
        pool = cut.pool
        for k in range(count):
            for field_path, _ in fields:
                path = (*slots, k, *field_path)
                kept = pool.lt(literal(k), cut)
                self.write(path, pool.ite(kept, self.read(path), literal(0)))

    def _outside(self, target: Leaf, code: Expr) -> str:
        domain = target.domain
        least = 0
        if isinstance(domain, Range):
            least = domain.bounds(self.schema.constants)[0]
        elif isinstance(domain, OptionalDomain):
            least = int(domain.to_plain(1, self.schema.constants)) - 1
        values = [f"{least + at}" for at in (code.lo, code.hi)]
        held = f"{least + isinstance(domain, OptionalDomain)}..{least + target.cardinality - 1}"
        return f"{target.name} holds {held}, and this is {'..'.join(dict.fromkeys(values))}"

    def _count(self, prefix: Path) -> int:
        depth = len(prefix)
        return 1 + max(
            part
            for leaf in self.schema.leaves
            if leaf.path[:depth] == prefix and isinstance(part := leaf.path[depth], int)
        )


class LiteralStore:
    """The fields of a struct made in place, such as `Record(id=…, epoch=…)`."""

    def __init__(self, codes: dict[SymbolicPath, Expr]) -> None:
        self.codes = codes

    def read(self, path: SymbolicPath) -> Expr:
        """The code at a path."""
        return self.codes[path]

    def write(self, path: SymbolicPath, code: Expr) -> None:
        """Fields of a struct made in place are set once, when it is made."""
        raise ModelError("a struct made in place cannot be changed; make a new one")


def _first_symbolic(path: SymbolicPath) -> tuple[int, Expr | None]:
    for at, part in enumerate(path):
        if isinstance(part, Expr):
            return at, part
    return -1, None


def _index(expr: Expr, count: int, what: str) -> int:
    if not 0 <= expr.value < count:
        raise ModelError(f"{what} {expr.value} does not exist: there are {count}, from 0")
    return expr.value


def _view(domain: Domain, store: Any, path: SymbolicPath) -> Any:
    if isinstance(domain, LeafDomain):
        return domain.wrap(store.read(path))
    return cast(Composite, domain).view(store, path)


def _assign(domain: Domain, store: Any, path: SymbolicPath, value: Any) -> None:
    if isinstance(domain, LeafDomain):
        store.write(path, domain.code_of(value))
    elif isinstance(domain, StructDomain):
        if not isinstance(value, domain.struct):
            raise ModelError(f"expected a {domain.struct.type_name}, got {type_name_of(value)}")
        for name in domain.struct.domains():
            setattr(domain.struct.at(store, path), name, getattr(value, name))
    else:
        raise ModelError("arrays and logs are changed by element, append or truncate, not assigned whole")


class Field(Generic[T, W]):
    """One named field of a struct; see `field`."""

    def __init__(self, domain: Any, doc: str) -> None:
        self._spec = domain
        self.doc = doc
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def domain(self) -> Domain:
        """The field's domain."""
        return as_domain(self._spec)

    @overload
    def __get__(self, obj: None, owner: type) -> Self: ...
    @overload
    def __get__(self, obj: Struct, owner: type) -> T: ...
    def __get__(self, obj: Struct | None, owner: type) -> Any:
        if obj is None:
            return self
        return _view(self.domain, obj._store, (*obj._path, self.name))

    def __set__(self, obj: Struct, value: W) -> None:
        _assign(self.domain, obj._store, (*obj._path, self.name), value)


class Struct:
    """Named fields. As a class it declares a domain; its instances give symbolic access to one such struct.

    `Record(id=i, epoch=e)` makes one in place; every field must be given.
    """

    _store: Any
    _path: SymbolicPath
    type_name: ClassVar[str] = "struct"

    def __init_subclass__(cls) -> None:
        for name, value in vars(cls).items():
            if isinstance(value, Field) and (hasattr(Struct, name) or name.startswith("_")):
                raise ModelError(f"{cls.__name__} cannot have a field named {name!r}, which every struct needs; rename it")
        cls.type_name = cls.__name__

    def __init__(self, **values: Any) -> None:
        domains = self.domains()
        if set(values) != set(domains):
            raise ModelError(f"{self.type_name} needs exactly the fields {', '.join(domains)}")
        codes = {(name,): as_leaf(domain).code_of(values[name]) for name, domain in domains.items()}
        self._bind(LiteralStore(codes), ())

    @classmethod
    def at(cls, store: Any, path: SymbolicPath) -> Self:
        """Access to the struct at `path` of a store."""
        view = cls.__new__(cls)
        view._bind(store, path)
        return view

    @classmethod
    @cache
    def fields(cls) -> dict[str, Field[Any, Any]]:
        """The declared fields, base classes first."""
        return {
            name: value
            for base in reversed(cls.__mro__)
            for name, value in vars(base).items()
            if isinstance(value, Field)
        }

    @classmethod
    @cache
    def domains(cls) -> dict[str, Domain]:
        """The domain of every field."""
        return {name: item.domain for name, item in cls.fields().items()}

    def _bind(self, store: Any, path: SymbolicPath) -> None:
        object.__setattr__(self, "_store", store)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        raise self._unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.fields():
            raise self._unknown(name)
        object.__setattr__(self, name, value)

    def _unknown(self, name: str) -> ModelError | AttributeError:
        if name.startswith("__"):
            return AttributeError(name)
        return ModelError(f"{self.type_name} has no field {name!r}; its fields are {', '.join(self.fields())}")

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        if not isinstance(other, type(self)):
            raise ModelError(f"expected a {self.type_name}, got {type_name_of(other)}")
        pool = current().pool
        same = (
            pool.eq(self._store.read((*self._path, *path)), other._store.read((*other._path, *path)))
            for path, _ in StructDomain(type(self)).leaves((), current().constants)
        )
        return Bool(pool.all(same))

    def __ne__(self, other: object) -> Bool:  # type: ignore[override]
        return ~(self == other)

    def __bool__(self) -> NoReturn:
        raise ModelError(f"a {self.type_name} has no truth value; compare its fields")

    def __hash__(self) -> int:
        raise ModelError(f"a symbolic {self.type_name} cannot be a dictionary key or a member of a Python set")


class ArrayView(Generic[K, T]):
    """One element per value of the index type: `s.replica[leader]`, read or assigned."""

    __slots__ = ("_domain", "_path", "_store")

    def __init__(self, store: Any, path: SymbolicPath, domain: ArrayDomain) -> None:
        self._store, self._path, self._domain = store, path, domain

    def __getitem__(self, index: K) -> T:
        return cast(T, _view(self._domain.element, self._store, self._element(index)))

    def __setitem__(self, index: K, value: T) -> None:
        _assign(self._domain.element, self._store, self._element(index), value)

    def _element(self, index: K) -> SymbolicPath:
        domain = self._domain.index
        code = domain.code_of(index)
        if not code.is_const:
            return (*self._path, code)
        count = domain.cardinality(current().constants)
        return (*self._path, _index(code, count, type_name_of(index)))

    def __iter__(self) -> Any:
        raise ModelError("an array cannot be looped over; quantify over its index type with every(…) or some(…)")

    def __len__(self) -> NoReturn:
        raise ModelError("an array has no len(…); it has one element per value of its index type")

    def __bool__(self) -> NoReturn:
        raise ModelError("an array has no truth value; compare its elements")


class LogView(Generic[S, N]):
    """A replica's log: offsets below `end` hold records, nothing lies beyond."""

    __slots__ = ("_domain", "_path", "_store")

    def __init__(self, store: Any, path: SymbolicPath, domain: LogDomain) -> None:
        self._store, self._path, self._domain = store, path, domain

    @property
    def end(self) -> N:
        """The log end offset: the offset that the next record will get."""
        return cast(N, self._domain.end.wrap(self._store.read((*self._path, LogDomain.END))))

    @property
    def is_empty(self) -> Bool:
        """Whether the log holds no record."""
        return self._end_is(0)

    @property
    def is_full(self) -> Bool:
        """Whether no record fits any more."""
        return self._end_is(self._slots())

    @property
    def last(self) -> S:
        """The newest record; meaningful only if the log is not empty."""
        return self.at(self.end - 1)

    def has(self, offset: N) -> Bool:
        """Whether the log holds a record at `offset`."""
        return (offset >= 0) & (offset < self.end)

    def at(self, offset: N) -> S:
        """The record at `offset`; meaningful only where `has(offset)`, elsewhere some record of the same log."""
        index = _plain(self._domain.offset.lift(offset))
        if isinstance(index, int) and current().reading is None:
            index = min(max(index, 0), self._slots() - 1)
        return cast(S, self._domain.record.at(self._store, (*self._path, LogDomain.RECORDS, index)))

    def same_record_at(self, other: LogView[S, N], offset: N) -> Bool:
        """Whether both logs hold the same record at `offset`."""
        return self.has(offset) & other.has(offset) & (self.at(offset) == other.at(offset))

    def append(self, record: S) -> None:
        """Puts a record at the log end; a full log makes the end leave its domain, which is an error of the protocol."""
        end = self.end
        slots = (*self._path, LogDomain.RECORDS)
        if not end.expr.is_const or end.expr.value < self._slots():
            _assign(StructDomain(self._domain.record), self._store, (*slots, _plain(end.expr)), record)
        self._set_end(end + 1)

    def copy(self, other: LogView[S, N], until: N) -> None:
        """Appends another log's records from this log's end on, up to but without offset `until`; that log must hold them."""
        pool = current().pool
        end, stop = self.end, self._domain.offset.lift(until)
        fields = [path for path, _ in StructDomain(self._domain.record).leaves((), current().constants)]
        for slot in range(self._slots()):
            slots = (*self._path, LogDomain.RECORDS, slot)
            source = (*other._path, LogDomain.RECORDS, slot)
            taken = pool.and_(pool.le(end.expr, literal(slot)), pool.lt(literal(slot), stop))
            for name in fields:
                before = self._store.read((*slots, *name))
                self._store.write((*slots, *name), pool.ite(taken, other._store.read((*source, *name)), before))
        self._set_end(type(end)(pool.ite(pool.lt(end.expr, stop), stop, end.expr)))

    def truncate(self, offset: N) -> None:
        """Drops every record from `offset` on; an offset beyond the end changes nothing."""
        pool = current().pool
        cut = self._domain.offset.lift(offset)
        fields = list(StructDomain(self._domain.record).leaves((), {}))
        self._store.blank_from((*self._path, LogDomain.RECORDS), fields, self._slots(), cut)
        end = self.end
        self._set_end(type(end)(pool.ite(pool.lt(cut, end.expr), cut, end.expr)))

    def __iter__(self) -> NoReturn:
        raise ModelError("a log cannot be looped over; quantify over its offsets with every(…) or some(…)")

    def __len__(self) -> NoReturn:
        raise ModelError("a log has no len(…); use its `.end`")

    def __bool__(self) -> NoReturn:
        raise ModelError("a log has no truth value; use `.is_empty`")

    def _end_is(self, offset: int) -> Bool:
        end = self.end.expr
        return Bool(end.pool.eq(end, literal(offset)))

    def _slots(self) -> int:
        return resolve(self._domain.size)

    def _set_end(self, end: N) -> None:
        self._store.write((*self._path, LogDomain.END), self._domain.end.code_of(end))


def _plain(expr: Expr) -> int | Expr:
    return expr.value if expr.is_const else expr


# -- how a protocol declares its state: each returns what mypy should believe about the field's type -------------------


@overload
def field(domain: type[S], doc: str = "") -> Field[S, S]: ...
@overload
def field(domain: type[Bool], doc: str = "") -> Field[Bool, Bool | bool]: ...  # type: ignore[overload-overlap]
@overload
def field(domain: type[N], doc: str = "") -> Field[N, N | IntLike]: ...  # type: ignore[overload-overlap]
@overload
def field(domain: type[V], doc: str = "") -> Field[V, V]: ...
@overload
def field(domain: Typed[T, W], doc: str = "") -> Field[T, W]: ...
def field(domain: Any, doc: str = "") -> Any:
    """Declares a field of a `Struct` with its domain and one line of documentation."""
    return Field(domain.domain if isinstance(domain, Typed) else domain, doc)


class Typed(Generic[T, W]):
    """A domain together with the types that a field of it is read as (T) and assigned from (W)."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain


def Between(item: type[N], lo: IntLike, hi: IntLike) -> Typed[N, N | IntLike]:  # noqa: N802
    """The integers lo..hi of a unit whose own range is another one."""
    return Typed(Range(item, lo, hi))


def Optional(item: type[V]) -> Typed[OptionalValue[V], OptionalValue[V] | V | None]:  # noqa: N802
    """None or a value of an `Int` or `Id` type."""
    return Typed(OptionalDomain(item))


def SetOf(item: type[I]) -> Typed[SetValue[I], SetValue[I]]:  # noqa: N802
    """A set of ids."""
    return Typed(SetDomain(item))


@overload
def Present(item: type[Bool], when: IntLike) -> Typed[Bool, Bool | bool]: ...
@overload
def Present(item: type[N], when: IntLike) -> Typed[N, N | IntLike]: ...
@overload
def Present(item: Typed[T, W], when: IntLike) -> Typed[T, W]: ...
def Present(item: Any, when: IntLike) -> Any:  # noqa: N802
    """A field that is there only where `when` is not 0.

    Elsewhere it has no bits, reads as false, none, empty or 0, and what is assigned to it goes nowhere.
    """
    return Typed(PresentDomain(as_leaf(item.domain if isinstance(item, Typed) else item), when))


@overload
def Array(index: type[K], element: type[T]) -> Typed[ArrayView[K, T], None]: ...
@overload
def Array(index: type[K], element: Typed[T, W]) -> Typed[ArrayView[K, T], None]: ...
def Array(index: Any, element: Any) -> Any:  # noqa: N802
    """One element per value of an `Int` or `Id` type."""
    inner = element.domain if isinstance(element, Typed) else as_domain(element)
    return Typed(ArrayDomain(as_leaf(index), inner))


def Log(record: type[S], offset: type[N], size: IntLike) -> Typed[LogView[S, N], None]:  # noqa: N802
    """A log of at most `size` records; `offset` is the unit of its positions."""
    return Typed(LogDomain(record, offset, size))


def all_of(item: type[I]) -> SetValue[I]:
    """The set of all ids of a sort."""
    reading = current().reading
    if reading is not None:
        return reading.uniform_set(item, True)
    return SetValue(literal((1 << resolve(item.size)) - 1), item)


def none_of(item: type[I]) -> SetValue[I]:
    """The empty set of a sort."""
    reading = current().reading
    if reading is not None:
        return reading.uniform_set(item, False)
    return SetValue(literal(0), item)


def leaves_of(state: Struct) -> tuple[Schema, Sequence[Expr]]:
    """The layout of a whole state and the code of every leaf, for those who read fields by their paths."""
    return state._store.schema, state._store.codes


def decode_view(state: Mapping[str, Any]) -> Any:
    """A decoded state whose fields are attributes, for the words that describe a step."""
    return _wrap(state)


class PlainStruct:
    """Plain values by attribute: `step.after.log[0].end`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update({key: _wrap(value) for key, value in values.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlainStruct) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


def _wrap(value: Any) -> Any:
    if isinstance(value, Mapping):
        return PlainStruct(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value
