"""How a protocol declares its state, and structs of it, read and written in ordinary Python: `Struct` and `field`.

Everything a protocol does to its state goes through the store's `read` and `write` on paths whose indices may be
symbolic; another reading of the same source (e.g. over unbounded sorts) only needs another store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, wraps
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, TypeVarTuple, cast, overload

from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import current
from acked.model.language.domain import Domain, LeafDomain, OptionalDomain, PresentDomain, Range, SetDomain, must_be
from acked.model.language.semantics import semantics
from acked.model.language.sets import SetValue
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain, as_domain, as_leaf
from acked.model.language.storage.layout import Schema
from acked.model.language.storage.messages import MessagesView, Place, QueueDomain, QueueView, messages_domain
from acked.model.language.storage.store import LiteralStore, StateStore, SymbolicPath
from acked.model.language.storage.struct_view import StructView
from acked.model.language.storage.views import ArrayView, LogView, assign, cleared, codes_of, struct_of, view_of
from acked.model.language.values import Bool, E, Enum, I, Id, IntLike, N, OptionalValue, V, Value, mismatch

T = TypeVar("T")
W = TypeVar("W")
S = TypeVar("S", bound="Struct")
K = TypeVar("K", bound=Value)
F = TypeVar("F", bound=Value)
Given = TypeVarTuple("Given")


class Field(Generic[T, W]):
    """One named field of a struct; see `field`."""

    def __init__(self, domain: Any, doc: str, default: object) -> None:
        self._spec = domain
        self.doc = doc
        self.default = default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @cached_property
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
        known = obj.__dict__.get(self.name)
        if known is not None:
            return known
        domain, path = self.domain, (*obj._path, self.name)
        if isinstance(domain, LeafDomain):
            return domain.wrap(obj._read_at(path))
        if isinstance(domain, StructDomain):
            return struct_of(domain).at(obj._store, path, obj if obj._path else None, obj._within)
        # An array or a log stays where it is: one view of it does.
        view = obj.__dict__[self.name] = view_of(domain, obj._store, path)
        return view

    def __delete__(self, obj: Struct) -> None:
        raise ModelError(f"field {self.name} cannot be deleted; assign what it is to hold")

    def __set__(self, obj: Struct, value: W) -> None:
        obj._refuse_if_replaced()
        when = None if obj._within is None else obj._within().expr
        assign(self.domain, obj._store, (*obj._path, self.name), value, obj, when)


class Struct(StructView):
    """Named fields. As a class it declares a domain; its instances give symbolic access to one such struct.

    `Record(id=i, epoch=e)` makes one in place: every field is given or has a default, and arrays and logs are empty.

    >>> class Record(Struct):
    ...     value = field(Count, "what the client sent")
    ...     is_marker = field(Bool, "whether it only marks a transaction")
    >>> list(Record.fields())
    ['value', 'is_marker']
    """

    def __init_subclass__(cls) -> None:
        for name, value in vars(cls).items():
            if isinstance(value, Field) and (hasattr(Struct, name) or name.startswith("_")):
                raise ModelError(f"{cls.__name__} cannot have a field named {name!r}, which every struct needs; rename it")
        for name, kind in vars(cls).get("__annotations__", {}).items():
            if name not in vars(cls):
                kind = getattr(kind, "__name__", kind)
                raise ModelError(f"{cls.__name__}.{name} is declared as a type alone; write {name} = field({kind})")
        cls.type_name = cls.__name__

    def __init__(self, *unnamed: Any, **values: Any) -> None:
        domains = self.domains()
        defaults, empty = self._left_out()
        missing = [name for name in domains if name not in {*values, *defaults, *empty}]
        if unnamed or missing or not values.keys() <= domains.keys():
            raise ModelError(self._not_made(bool(unnamed), missing, [name for name in values if name not in domains]))
        codes: dict[SymbolicPath, Expr] = {}
        for name, domain in domains.items():
            is_left_out = name in empty and name not in values
            parts = cleared(domain) if is_left_out else codes_of(domain, {**defaults, **values}[name])
            codes |= {(name, *path): code for path, code in parts.items()}
        self.__dict__.update(_store=LiteralStore(codes), _path=(), _holder=None, _since=0, _within=None)

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
    def _left_out(cls) -> tuple[dict[str, object], frozenset[str]]:
        """What need not be given to make one: fields with their defaults, and those that are empty then."""
        defaults = {name: item.default for name, item in cls.fields().items() if item.default is not ...}
        several = (ArrayDomain, LogDomain)
        return defaults, frozenset(name for name, domain in cls.domains().items() if isinstance(domain, several))

    @classmethod
    @cache
    def domains(cls) -> dict[str, Domain]:
        """The domain of every field."""
        return {name: item.domain for name, item in cls.fields().items()}

    def __getattr__(self, name: str) -> Any:
        raise self._unknown_field(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.fields():
            raise self._unknown_field(name)
        object.__setattr__(self, name, value)

    def _unknown_field(self, name: str) -> ModelError | AttributeError:
        if name.startswith("__"):
            return AttributeError(name)
        return ModelError(f"{self.type_name} has no field {name!r}; its fields are {', '.join(self.fields())}")

    def __eq__(self, other: object) -> Bool:  # type: ignore[override]
        if not isinstance(other, type(self)):
            raise mismatch(self.type_name, other)
        pool = current().pool
        leaves = StructDomain(type(self)).leaves((), current().constants)
        return Bool(pool.all(pool.eq(self._read(path), other._read(path)) for path, _ in leaves))

    def __ne__(self, other: object) -> Bool:  # type: ignore[override]
        return ~(self == other)

    def __repr__(self) -> str:
        return f"<{self.type_name}>"

    if not TYPE_CHECKING:

        def __str__(self, _: str = "") -> NoReturn:
            raise ModelError(f"a {self.type_name} has no text: it has no value while a protocol is traced")

        __format__ = __str__

        def __call__(self, *_: object) -> NoReturn:
            raise ModelError(f"a {self.type_name} is no function; write it without (…)")

    def __bool__(self) -> NoReturn:
        raise ModelError(f"a {self.type_name} has no truth value; compare its fields")

    def __hash__(self) -> int:
        name = self.type_name
        raise ModelError(
            f"a symbolic {name} cannot be a dictionary key or a member of a Python set; "
            f"of a field SetOf({name}) write .add(…)"
        )


# -- how a protocol declares its state: each returns what mypy should believe about the field's type -------------------


@overload
def field(domain: type[S], doc: str = "", default: object = ...) -> Field[S, S]: ...
@overload
def field(domain: type[Bool], doc: str = "", default: object = ...) -> Field[Bool, Bool | bool]: ...  # type: ignore[overload-overlap]
@overload
def field(domain: Enum, doc: str = "", default: object = ...) -> Field[Enum, Enum | str]: ...
@overload
def field(domain: type[E], doc: str = "", default: object = ...) -> Field[E, E | str]: ...  # type: ignore[overload-overlap]
@overload
def field(domain: type[N], doc: str = "", default: object = ...) -> Field[N, N | IntLike]: ...  # type: ignore[overload-overlap]
@overload
def field(domain: type[V], doc: str = "", default: object = ...) -> Field[V, V]: ...
@overload
def field(domain: Typed[T, W], doc: str = "", default: object = ...) -> Field[T, W]: ...
def field(domain: Any, doc: str = "", default: object = ...) -> Any:
    """Declares a field of a `Struct` with its domain and one line of documentation.

    `default` is what a struct that is made in place has where the field is not given; initially all is zero nevertheless.

    >>> class Lock(Struct):
    ...     holder = field(Optional(Broker), "which broker holds it")
    >>> Lock.fields()["holder"].doc
    'which broker holds it'
    """
    return Field(domain.domain if isinstance(domain, Typed) else domain, doc, default)


class Typed(Generic[T, W]):
    """A domain together with the types that a field of it is read as (T) and assigned from (W)."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def __repr__(self) -> str:
        return f"{type(self.domain).__name__.removesuffix('Domain')}({getattr(self.domain, 'item', type).__name__})"

    if not TYPE_CHECKING:
        def __call__(self, *_: object) -> NoReturn:  # fmt: skip
            raise ModelError("this declares a field and makes no value; a set is none_of(…).add(…), no value None")


def Between(item: type[N], lo: IntLike, hi: IntLike) -> Typed[N, N | IntLike]:  # noqa: N802
    """The integers lo..hi of a unit whose own range is another one.

    >>> class Window(Struct):
    ...     unacked = field(Between(Count, 0, 2), "records that are not acknowledged yet")
    >>> Window.domains()["unacked"].cardinality({"records": 8})
    3
    """
    return Typed(Range(item, lo, hi))


@overload
def Optional(item: type[E]) -> Typed[OptionalValue[E], OptionalValue[E] | E | str | None]: ...  # type: ignore[overload-overlap]
@overload
def Optional(item: type[V]) -> Typed[OptionalValue[V], OptionalValue[V] | V | None]: ...
def Optional(item: Any) -> Any:  # noqa: N802
    """None or a value of an `Int`, `Id` or `Enum` type.

    >>> class Lock(Struct):
    ...     holder = field(Optional(Broker), "which broker holds it")
    >>> Lock.domains()["holder"].cardinality({"brokers": 3})
    4
    """
    return Typed(OptionalDomain(item))


@overload
def SetOf(item: type[S]) -> Typed[MessagesView[S], None]: ...
@overload
def SetOf(item: type[I]) -> Typed[SetValue[I], SetValue[I]]: ...
def SetOf(item: Any) -> Any:  # noqa: N802
    """A set of ids; or of structs of single fields, such as messages, to `add` and `remove`.

    >>> class Partition(Struct):
    ...     isr = field(SetOf(Broker), "in-sync replicas")
    >>> Partition.domains()["isr"].cardinality({"brokers": 3})
    8
    >>> class Request(Struct):
    ...     source = field(Broker, "who asks")
    ...     offset = field(Count, "from where on")
    >>> class Network(Struct):
    ...     requests = field(SetOf(Request), "those on their way")
    >>> len([*Network.domains()["requests"].leaves((), {"brokers": 3, "records": 1})])
    6
    """
    if isinstance(item, type) and issubclass(item, Struct):
        return Typed(messages_domain(item, None))
    return Typed(SetDomain(item))


def Bag(item: type[S], most: IntLike) -> Typed[MessagesView[S], None]:  # noqa: N802
    """A set of structs in which each may be up to `most` times.

    >>> class Request(Struct):
    ...     source = field(Broker, "who asks")
    >>> class Network(Struct):
    ...     requests = field(Bag(Request, 2), "those on their way")
    >>> [leaf.cardinality({"brokers": 2}) for _, leaf in Network.domains()["requests"].leaves((), {"brokers": 2})]
    [3, 3]
    """
    return Typed(messages_domain(item, most))


def Queue(item: type[S] | type[Value] | Typed[Any, Any], size: IntLike) -> Typed[QueueView[Any], None]:  # noqa: N802
    """At most `size` values or structs, of which the one that was sent first is received first.

    >>> class Network(Struct):
    ...     inbox = field(Array(Broker, Queue(Count, 2)), "what was sent to a broker")
    >>> @action()
    ... def take(s: Network, to: Broker) -> None:
    ...     require("something has come", ~s.inbox[to].is_empty)
    ...     s.inbox[to].receive()
    >>> [path for path, _ in Network.domains()["inbox"].leaves((), {"brokers": 1, "records": 1})]
    [(0, 'end'), (0, 'records', 0), (0, 'records', 1)]
    """
    if isinstance(item, type) and issubclass(item, Struct):
        return Typed(QueueDomain(item, Place, size))
    return Typed(QueueDomain(as_leaf(item.domain if isinstance(item, Typed) else item), Place, size))


@overload
def Present(item: type[Bool], when: IntLike) -> Typed[Bool, Bool | bool]: ...
@overload
def Present(item: type[E], when: IntLike) -> Typed[E, E | str]: ...  # type: ignore[overload-overlap]
@overload
def Present(item: type[N], when: IntLike) -> Typed[N, N | IntLike]: ...
@overload
def Present(item: Typed[T, W], when: IntLike) -> Typed[T, W]: ...
def Present(item: Any, when: IntLike) -> Any:  # noqa: N802
    """A field that is there only where `when` is not 0.

    Elsewhere it has no bits, reads as false, none, empty or its least number, and what is assigned to it goes nowhere.

    >>> flushes = switch("flushes", "whether a record is on disk before it is acknowledged")
    >>> class Disk(Struct):
    ...     flushed = field(Present(Count, flushes), "how many records are on disk")
    >>> [Disk.domains()["flushed"].cardinality({"records": 3, "flushes": on}) for on in (0, 1)]
    [1, 4]
    """
    return Typed(PresentDomain(as_leaf(item.domain if isinstance(item, Typed) else item), when))


@overload
def Array(index: type[K], element: type[S]) -> Typed[ArrayView[K, S, S], None]: ...
@overload
def Array(index: type[K], element: type[Bool]) -> Typed[ArrayView[K, Bool, Bool | bool], None]: ...  # type: ignore[overload-overlap]
@overload
def Array(index: type[K], element: Enum) -> Typed[ArrayView[K, Enum, Enum | str], None]: ...
@overload
def Array(index: type[K], element: type[E]) -> Typed[ArrayView[K, E, E | str], None]: ...  # type: ignore[overload-overlap]
@overload
def Array(index: type[K], element: type[N]) -> Typed[ArrayView[K, N, N | IntLike], None]: ...  # type: ignore[overload-overlap]
@overload
def Array(index: type[K], element: type[V]) -> Typed[ArrayView[K, V, V], None]: ...
@overload
def Array(index: type[K], element: Typed[T, W]) -> Typed[ArrayView[K, T, W], None]: ...
def Array(index: Any, element: Any) -> Any:  # noqa: N802
    """One element per value of an `Int` or `Id` type.

    >>> class Cluster(Struct):
    ...     is_up = field(Array(Broker, Bool), "which brokers run")
    >>> len([*Cluster.domains()["is_up"].leaves((), {"brokers": 3})])
    3
    """
    inner = element.domain if isinstance(element, Typed) else as_domain(element)
    return Typed(ArrayDomain(as_leaf(index), inner))


def Log(  # noqa: N802
    record: type[S], offset: type[N], size: IntLike, when: IntLike = 1
) -> Typed[LogView[S, N], None]:
    """A log of at most `size` records; `offset` is the unit of its positions. It is there only where `when` is not 0.

    >>> class Record(Struct):
    ...     value = field(Count, "what the client sent")
    >>> class Replica(Struct):
    ...     log = field(Log(Record, Count, records), "its records and their end")
    >>> [path for path, _ in Replica.domains()["log"].leaves((), {"records": 1})]
    [('end',), ('records', 0, 'value')]
    """
    return Typed(LogDomain(record, offset, size, when))


def all_of(item: type[I]) -> SetValue[I]:
    """The set of all ids of a sort.

    >>> @invariant
    ... def nobody_is_missing(s: State) -> Bool:
    ...     return every(Broker, lambda b: all_of(Broker).contains(b))
    >>> check(ask(toylog, nobody_is_missing, brokers=2, records=1)).verdict.value
    'holds'
    """
    must_be(item, "all_of(…) and none_of(…) are", Id)
    return semantics().uniform_set(item, everything=True)


def none_of(item: type[I]) -> SetValue[I]:
    """The empty set of a sort.

    >>> @invariant
    ... def leader_is_somebody(s: State) -> Bool:
    ...     return none_of(Broker).add(s.leader) != none_of(Broker)
    >>> check(ask(toylog, leader_is_somebody, brokers=2, records=1)).verdict.value
    'holds'
    """
    must_be(item, "all_of(…) and none_of(…) are", Id)
    return semantics().uniform_set(item, everything=False)


def remembered(fact: Callable[[S, *Given], F]) -> Callable[[S, *Given], F]:
    """A fact of a state that is asked of the same again and again: it is traced once, as long as nothing has changed."""

    @wraps(fact)
    def ask(state: S, *given: *Given) -> F:
        facts = state._store.facts
        if facts is None:
            return fact(state, *given)
        of = (item.expr if isinstance(item, Value) else item for item in given)
        key = (fact, state._path, len(state._store.changes), *of)
        if key not in facts:
            facts[key] = fact(state, *given)
        return cast(F, facts[key])

    return ask


def store_of(state: Struct) -> StateStore:
    """Where the fields of a state are, for those who read them otherwise than its author does."""
    return state._store


def leaves_of(state: Struct) -> tuple[Schema, Sequence[Expr]]:
    """The layout of a whole state and the code of every leaf, for those who read fields by their paths."""
    return state._store.leaves()
