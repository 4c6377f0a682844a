"""Access to what stands at a path of a store: values, structs, arrays and logs, read and written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, cast

from acked.model.formulas.binding import is_open
from acked.model.formulas.errors import ModelError, StepError, UnknownName
from acked.model.formulas.expr import Expr
from acked.model.language.context import current, literal, resolve
from acked.model.language.domain import Domain, LeafDomain, Path
from acked.model.language.semantics import is_binding
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.storage.store import LiteralStore, NoStore, StateStore, SymbolicPath
from acked.model.language.storage.struct_view import StructView
from acked.model.language.values import Bool, Id, IntLike, N, Value, mismatch, type_name_of

D = TypeVar("D", bound=Domain)
T = TypeVar("T")
W = TypeVar("W")
S = TypeVar("S", bound=StructView)
K = TypeVar("K", bound=Value)


class View(Generic[D]):
    """An array or a log, which stays in its store, and refuses what Python does with a list."""

    __slots__ = ("_domain", "_path", "_store")
    no_loop: ClassVar[str]
    no_length: ClassVar[str]
    no_truth: ClassVar[str]
    no_equality: ClassVar[str]
    no_other: ClassVar[str]
    no_index: ClassVar[str]
    no_membership: ClassVar[str] = "there is no `in` here; write some(…)"
    _store: StateStore
    _path: SymbolicPath
    _domain: D

    @property
    def type_name(self) -> str:
        """How errors name it."""
        return self.no_other.removeprefix("a ").removeprefix("an ")

    def __init__(self, store: StateStore, path: SymbolicPath, domain: D) -> None:
        self._store, self._path, self._domain = store, path, domain

    def __iter__(self) -> NoReturn:
        raise ModelError(self.no_loop)

    def __contains__(self, item: object) -> NoReturn:
        raise ModelError(self.no_membership)

    def __len__(self) -> NoReturn:
        raise ModelError(self.no_length)

    def __bool__(self) -> NoReturn:
        raise ModelError(self.no_truth)

    def __eq__(self, other: object) -> NoReturn:
        raise ModelError(self.no_equality)

    def __repr__(self) -> str:
        return f"<{self.type_name}>"

    if not TYPE_CHECKING:

        def __str__(self, _: str = "") -> NoReturn:
            raise ModelError(f"{self.no_other} has no text: it has no value while a protocol is traced")

        __format__ = __str__

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            has = [item for item in dir(type(self)) if not item.startswith(("_", "no_", "type_name", "item"))]
            raise UnknownName(f"{self.no_other} has no {name!r}; it has {', '.join(has) or 'its elements alone'}")

        def __getitem__(self, index: object) -> NoReturn:
            raise ModelError(self.no_index)

        def __delitem__(self, index: object) -> NoReturn:
            raise ModelError(f"nothing can be deleted from {self.no_other}; assign what it is to hold")

    __hash__ = None  # type: ignore[assignment]


def view_of(domain: Domain, store: StateStore, path: SymbolicPath) -> Any:
    """Symbolic access to what stands at `path` of a store: a value, or the view of a struct, an array or a log."""
    if isinstance(domain, LeafDomain):
        return domain.wrap(store.read(path))
    if isinstance(domain, StructDomain):
        return domain.struct.at(store, path)  # type: ignore[attr-defined]
    if domain.view is not None:
        return domain.view(store, path, domain)
    if isinstance(domain, ArrayDomain):
        return ArrayView(store, path, domain)
    assert isinstance(domain, LogDomain)
    return LogView(store, path, domain)


def struct_of(domain: StructDomain) -> type[StructView]:
    """The class of a struct's domain, whose instances give access to one."""
    assert issubclass(domain.struct, StructView)
    return domain.struct


def assign(
    domain: Domain, store: StateStore, path: SymbolicPath, value: object, writer: object, when: Expr | None = None
) -> None:
    """One change of the store: all of the value is read before any of it is written."""
    if isinstance(domain, LeafDomain):
        code = domain.code_of(value)
        store.begin(writer, False, path)
        store.write(path, code, when)
        return
    codes = codes_of(domain, value)
    store.begin(writer, isinstance(domain, StructDomain), path)
    for log_path, log in _logs(domain):
        store.blank_from((*path, *log_path, LogDomain.RECORDS), log, literal(0))
    for field_path, code in codes.items():
        store.write((*path, *field_path), code, when)


def codes_of(domain: Domain, value: object) -> dict[SymbolicPath, Expr]:
    """The codes of a value that is to be stored: of a struct those of all its fields."""
    if isinstance(domain, LeafDomain):
        return {(): domain.code_of(value)}
    if isinstance(value, View) and isinstance(value._store, LiteralStore):
        return cleared(domain)
    if not isinstance(domain, StructDomain):
        raise ModelError(domain.no_assignment)
    if not isinstance(value, domain.struct):
        raise mismatch(domain.struct.type_name, value)
    codes: dict[SymbolicPath, Expr] = {}
    for name, inner in domain.struct.domains().items():
        codes |= {(name, *path): code for path, code in codes_of(inner, getattr(value, name)).items()}
    return codes


def cleared(domain: Domain) -> dict[SymbolicPath, Expr]:
    """The codes of what is empty: arrays of zeros, logs without records, which have no codes of their own."""
    if isinstance(domain, LeafDomain):
        return {(): literal(0)}
    if isinstance(domain, LogDomain):
        return {(LogDomain.END,): literal(0)}
    return {(part, *path): code for part, inner in _parts(domain) for path, code in cleared(inner).items()}


def _logs(domain: Domain) -> Iterator[tuple[Path, LogDomain]]:
    """The logs in a struct that is assigned whole."""
    if isinstance(domain, LogDomain):
        yield (), domain
    elif not isinstance(domain, LeafDomain):
        for part, inner in _parts(domain):
            yield from (((part, *path), log) for path, log in _logs(inner))


def _parts(domain: Domain) -> Iterator[tuple[str | int, Domain]]:
    if isinstance(domain, StructDomain):
        yield from domain.struct.domains().items()
    else:
        assert isinstance(domain, ArrayDomain)
        yield from ((k, domain.element) for k in range(domain.index.cardinality(current().constants)))


class ArrayView(View[ArrayDomain], Generic[K, T, W]):
    """One element per value of the index type: `s.replica[leader]`, read or assigned."""

    __slots__ = ()
    no_loop = "an array cannot be looped over; quantify over its index type with every(…) or some(…)"
    no_length = "an array has no len(…); it has one element per value of its index type"
    no_truth = "an array has no truth value; compare its elements"
    no_equality = "arrays have no ==; compare their elements with every(…)"
    no_other = "an array"

    def __getitem__(self, index: K) -> T:
        return view_of(self._domain.element, self._store, self._element(index))  # type: ignore[no-any-return]

    def __setitem__(self, index: K, value: W) -> None:
        assign(self._domain.element, self._store, self._element(index), value, None)

    def _element(self, index: K) -> SymbolicPath:
        domain = self._domain.index
        code = domain.code_of(index)
        if not code.is_const:
            if is_binding() and is_open(code) and not 0 <= code.lo <= code.hi < domain.cardinality(current().constants):
                raise StepError("some value of a struct is an index beyond the array")
            return (*self._path, code)
        if isinstance(index, Id) and code.value < 0:  # no id, which is beyond the array
            return (*self._path, code)
        count = self._store.counts.get(self._path) or domain.cardinality(current().constants)
        if not 0 <= code.value < count:
            raise StepError(f"{type_name_of(index)} {code.value} does not exist: there are {count}, from 0")
        return (*self._path, code.value)


class LogView(View[LogDomain], Generic[S, N]):
    """A replica's log: offsets below `end` hold records, nothing lies beyond."""

    __slots__ = ()
    no_loop = "a log cannot be looped over; quantify over its offsets with every(…) or some(…)"
    no_length = "a log has no len(…); use its `.end`"
    no_truth = "a log has no truth value; use `.is_empty`"
    no_equality = "logs have no ==; compare their ends, and their records with same_record_at(…)"
    no_other = "a log"
    no_index = "a log has no […]; write .at(offset) or .last, and .has(offset) for whether there is one"

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
        """The record at `offset`; meaningful only where `has(offset)`.

        Elsewhere it is blank (its ids are none, and equal to one another), or the one in the log's last slot, and what is
        assigned to it goes nowhere.
        """
        domain = self._domain
        index = self._store.slot(_plain(domain.offset.lift(offset)), domain)
        content = domain.content
        store = NoStore(domain.record_leaves()) if index is None else self._store
        path = () if index is None else (*self._path, LogDomain.RECORDS, index)
        if not isinstance(content, StructDomain):
            return cast(S, view_of(content, store, path))
        within = None if index is None else lambda: self.has(offset)
        return cast(S, struct_of(content).at(store, path, None, within))

    def same_record_at(self, other: LogView[S, N], offset: N) -> Bool:
        """Whether both logs hold the same record at `offset`."""
        return self.has(offset) & other.has(offset) & (self.at(offset) == other.at(offset))

    def append(self, record: S) -> None:
        """Puts a record at the log end; a full log makes the end leave its domain, which is an error of the protocol."""
        end = self.end
        codes = codes_of(self._domain.content, record)
        place = (*self._path, LogDomain.RECORDS, _plain(end.expr))
        self._store.begin(None, True, place)
        if not end.expr.is_const or end.expr.value < self._slots():
            for field_path, code in codes.items():
                self._store.write((*place, *field_path), code)
        self._set_end(end + 1)

    def copy(self, other: LogView[S, N], until: N) -> None:
        """Appends another log's records from this log's end on, up to but without offset `until`; that log must hold them."""
        pool = current().pool
        end, stop = self.end, self._domain.offset.lift(until)
        self._store.begin(None, True)
        slots, source = (*self._path, LogDomain.RECORDS), (*other._path, LogDomain.RECORDS)
        self._store.copy(slots, source, self._domain, (end.expr, stop))
        self._set_end(type(end)(pool.ite(pool.lt(end.expr, stop), stop, end.expr)))

    def truncate(self, offset: N | IntLike) -> None:
        """Drops every record from `offset` on; an offset beyond the end changes nothing."""
        pool = current().pool
        cut = self._domain.offset.lift(offset)
        end = self.end
        self._store.begin(None, True)
        self._store.blank_from((*self._path, LogDomain.RECORDS), self._domain, cut)
        self._set_end(type(end)(pool.ite(pool.lt(cut, end.expr), cut, end.expr)))

    def _end_is(self, offset: int) -> Bool:
        end = self.end.expr
        return Bool(end.pool.eq(end, literal(offset)))

    def _slots(self) -> int:
        return resolve(self._domain.size)

    def _set_end(self, end: N) -> None:
        self._store.write((*self._path, LogDomain.END), self._domain.end.code_of(end))


def _plain(expr: Expr) -> int | Expr:
    return expr.value if expr.is_const else expr
