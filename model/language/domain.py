"""Where values can live: leaf and composite domains.

The domains `Range`, `Optional`, `SetOf`, `Array`, `Log` (with the plain types `Int`, `Id`, `Bool` as domains of their own),
and how each encodes and decodes plain Python values.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import literal, resolve
from acked.model.language.semantics import semantics
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool, Id, Int, IntLike, Value

Constants = Mapping[str, int]
Path = tuple[str | int, ...]
Reader = Callable[[Sequence[int]], Any]
Plain = int | bool | list[int] | None
"""What a field holds, ready for JSON: a number, an id, a truth value, an ascending list of ids, or none."""
V = TypeVar("V", bound=Value)
I = TypeVar("I", bound=Id)  # noqa: E741


class Domain(ABC):
    """A set of plain values with a place in the state: a leaf, or a composite of leaves."""

    @abstractmethod
    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        """Every leaf below `path`, in layout order."""

    @abstractmethod
    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        """What makes the plain value (JSON-ready) at `path` of the codes of all leaves, whose numbers are `places`."""

    @abstractmethod
    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        """Writes the codes of a plain value below `path`; `ModelError` if it is not of this domain."""


class LeafDomain(Domain):
    """A domain whose values fit one code."""

    @abstractmethod
    def cardinality(self, constants: Constants) -> int:
        """How many values there are."""

    @abstractmethod
    def wrap(self, code: Expr) -> Value:
        """The symbolic value of a code."""

    @abstractmethod
    def code_of(self, value: object) -> Expr:
        """The code of a symbolic or plain value; `ModelError` for a value of another type."""

    @abstractmethod
    def to_plain(self, code: int, constants: Constants) -> Plain:
        """The plain value of a code."""

    @abstractmethod
    def from_plain(self, value: object, constants: Constants) -> int:
        """The code of a plain value; `ModelError` if there is none."""

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        yield path, self

    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        leaf, to_plain = places[path], self.to_plain
        return lambda codes: to_plain(codes[leaf], constants)

    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        try:
            codes[path] = self.from_plain(value, constants)
        except ModelError as error:
            raise ModelError(f"{path_name(path)}: {error}") from None


@dataclass(frozen=True)
class Range(LeafDomain):
    """The integers lo..hi of one unit, both ends included."""

    item: type[Int]
    lo: IntLike
    hi: IntLike

    def __post_init__(self) -> None:
        _must_be(self.item, "numbers lo..hi are", Int)

    def bounds(self, constants: Constants | None = None) -> tuple[int, int]:
        """The least and the greatest value under the given constants, or those of the current trace."""
        return resolve(self.lo, constants), resolve(self.hi, constants)

    def cardinality(self, constants: Constants) -> int:
        lo, hi = self.bounds(constants)
        return max(hi - lo + 1, 0)

    def wrap(self, code: Expr) -> Value:
        lo = resolve(self.lo)
        return self.item(code.pool.add(code, literal(lo)) if lo else code)

    def code_of(self, value: object) -> Expr:
        expr = self.item.lift(value)
        lo = resolve(self.lo)
        return expr.pool.sub(expr, literal(lo)) if lo else expr

    def to_plain(self, code: int, constants: Constants) -> Plain:
        return code + resolve(self.lo, constants)

    def from_plain(self, value: object, constants: Constants) -> int:
        lo, hi = self.bounds(constants)
        if isinstance(value, bool) or not isinstance(value, int) or not lo <= value <= hi:
            raise ModelError(f"{value!r} is not one of {lo}..{hi}")
        return value - lo


@dataclass(frozen=True)
class IdDomain(LeafDomain):
    """All ids of one sort."""

    item: type[Id]

    def cardinality(self, constants: Constants) -> int:
        size = resolve(self.item.size, constants)
        if size < 0:
            raise ModelError(f"{self.item.__name__} has the size {size}; an Id type has at least 0 ids")
        return size

    def wrap(self, code: Expr) -> Value:
        return self.item(code)

    def code_of(self, value: object) -> Expr:
        return self.item.lift(value)

    def to_plain(self, code: int, constants: Constants) -> Plain:
        return code

    def from_plain(self, value: object, constants: Constants) -> int:
        size = self.cardinality(constants)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
            raise ModelError(f"{value!r} is not a valid {self.item.type_name}: there are {size}, numbered from 0")
        return value


@dataclass(frozen=True)
class BoolDomain(LeafDomain):
    """False and true."""

    def cardinality(self, constants: Constants) -> int:
        return 2

    def wrap(self, code: Expr) -> Value:
        return Bool(code.pool.eq(code, literal(1)))

    def code_of(self, value: object) -> Expr:
        expr = Bool.lift(value)
        return expr.pool.ite(expr, literal(1), literal(0))

    def to_plain(self, code: int, constants: Constants) -> Plain:
        return bool(code)

    def from_plain(self, value: object, constants: Constants) -> int:
        if not isinstance(value, bool):
            raise ModelError(f"{value!r} is neither true nor false")
        return int(value)


@dataclass(frozen=True)
class OptionalDomain(LeafDomain, Generic[V]):
    """None (code 0) or a value of an `Int` or `Id` type (code 1 + k)."""

    item: type[V]

    def __post_init__(self) -> None:
        _must_be(self.item, "an optional value is", Int, Id)

    @property
    def _leaf(self) -> LeafDomain:
        return as_leaf(self.item)

    def least(self, constants: Constants) -> int:
        """The least value of the type, which has code 1."""
        return resolve(self.item.lo, constants) if issubclass(self.item, Int) else 0

    def cardinality(self, constants: Constants) -> int:
        return 1 + self._leaf.cardinality(constants)

    def wrap(self, code: Expr) -> Value:
        return semantics().optional_value(code, self.item)

    def code_of(self, value: object) -> Expr:
        return semantics().no_value(self.item).code_of(value)

    def to_plain(self, code: int, constants: Constants) -> Plain:
        return None if code == 0 else self._leaf.to_plain(code - 1, constants)

    def from_plain(self, value: object, constants: Constants) -> int:
        return 0 if value is None else 1 + self._leaf.from_plain(value, constants)


@dataclass(frozen=True)
class SlotDomain(OptionalDomain[V]):
    """An id in a slot of a log: none where there is no record, so that an empty slot prefers no id to another.

    What a record declares there is the id itself; stores, logs and symmetry are the ones to know that it is kept so.
    """


@dataclass(frozen=True)
class SetDomain(LeafDomain, Generic[I]):
    """All sets of ids of one sort, as masks; a plain set is an ascending list."""

    item: type[I]

    def __post_init__(self) -> None:
        _must_be(self.item, "the members of a set are", Id)

    def cardinality(self, constants: Constants) -> int:
        return 1 << IdDomain(self.item).cardinality(constants)

    def wrap(self, code: Expr) -> Value:
        return semantics().set_value(code, self.item)

    def code_of(self, value: object) -> Expr:
        return SetValue(literal(0), self.item).mask_of(value)

    def to_plain(self, code: int, constants: Constants) -> Plain:
        return [k for k in range(resolve(self.item.size, constants)) if code >> k & 1]

    def from_plain(self, value: object, constants: Constants) -> int:
        members = IdDomain(self.item)
        if not isinstance(value, list):
            raise ModelError(f"{value!r} is not a list of {self.item.type_name}s")
        mask = sum(1 << members.from_plain(k, constants) for k in dict.fromkeys(value))
        if self.to_plain(mask, constants) != value:
            raise ModelError(f"{value!r} must be ascending and without repetition")
        return mask


@dataclass(frozen=True)
class PresentDomain(LeafDomain):
    """Another leaf domain where a bound is not 0; elsewhere the field is absent: no bits, and its code is 0."""

    inner: LeafDomain
    when: IntLike

    def is_absent(self, constants: Constants) -> bool:
        """Whether the constants leave the field out."""
        return resolve(self.when, constants) == 0 or is_absent(self.inner, constants)

    def cardinality(self, constants: Constants) -> int:
        return 1 if self.is_absent(constants) else self.inner.cardinality(constants)

    def wrap(self, code: Expr) -> Value:
        return self.inner.wrap(code)

    def code_of(self, value: object) -> Expr:
        return self.inner.code_of(value)

    def to_plain(self, code: int, constants: Constants) -> Plain:
        return self.inner.to_plain(code, constants)

    def from_plain(self, value: object, constants: Constants) -> int:
        return self.inner.from_plain(value, constants)


class Declaration:
    """The half of a `Struct` that domains know: a class that declares named fields."""

    type_name: ClassVar[str] = "struct"

    @classmethod
    def domains(cls) -> dict[str, Domain]:
        """The domain of every field."""
        raise NotImplementedError


@dataclass(frozen=True)
class StructDomain(Domain):
    """A fixed set of named fields; made from a `Struct` subclass."""

    struct: type[Declaration]

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        for name, domain in self.struct.domains().items():
            yield from domain.leaves((*path, name), constants)

    def parts(self) -> Iterator[tuple[Path, Domain]]:
        """Its single fields, arrays and logs, those of structs in it included."""
        for name, domain in self.struct.domains().items():
            inner = domain.parts() if isinstance(domain, StructDomain) else [((), domain)]
            yield from (((name, *path), part) for path, part in inner)

    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        parts = [(name, domain.reader((*path, name), places, constants)) for name, domain in self._fields_shown(constants)]
        return lambda codes: {name: read(codes) for name, read in parts}

    def _fields_shown(self, constants: Constants) -> Iterator[tuple[str, Domain]]:
        for name, domain in self.struct.domains().items():
            if not is_absent(domain, constants):
                yield name, domain

    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        for name, domain in self.struct.domains().items():
            if is_absent(domain, constants):
                codes.update({leaf: 0 for leaf, _ in domain.leaves((*path, name), constants)})
        domains = dict(self._fields_shown(constants))
        if not isinstance(value, dict) or set(value) != set(domains):
            raise ModelError(f"{path_name(path) or 'the state'} must have exactly the fields {', '.join(domains)}")
        for name, domain in domains.items():
            domain.encode(value[name], (*path, name), constants, codes)


@dataclass(frozen=True)
class ArrayDomain(Domain):
    """One element per value of the index type."""

    index: LeafDomain
    element: Domain

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        for k in range(self.index.cardinality(constants)):
            yield from self.element.leaves((*path, k), constants)

    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        count = self.index.cardinality(constants)
        elements = [self.element.reader((*path, k), places, constants) for k in range(count)]
        return lambda codes: [read(codes) for read in elements]

    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        count = self.index.cardinality(constants)
        if not isinstance(value, list) or len(value) != count:
            raise ModelError(f"{path_name(path)} must be a list of {count}")
        for k, element in enumerate(value):
            self.element.encode(element, (*path, k), constants, codes)


@dataclass(frozen=True)
class LogDomain(Domain):
    """An append-only sequence of at most `size` records that can be cut; slots past the end hold code 0.

    A record is made of single fields, and of structs of them. Ids are kept as `SlotDomain` says. Where the constant
    `when` is 0 the log is absent, as `PresentDomain` says.
    """

    record: type[Declaration]
    offset: type[Int]
    size: IntLike
    when: IntLike = 1

    RECORDS: ClassVar[str] = "records"
    END: ClassVar[str] = "end"

    def __post_init__(self) -> None:
        _must_be(self.offset, "the offsets of a log are", Int)
        self.record_leaves()

    @cached_property
    def end(self) -> LeafDomain:
        """The domain of the log end offset."""
        return self._present(Range(self.offset, 0, self.size))

    def _present(self, domain: LeafDomain) -> LeafDomain:
        return domain if isinstance(self.when, int) else PresentDomain(domain, self.when)

    def record_leaves(self) -> list[tuple[Path, LeafDomain]]:
        """The fields of a record as it declares them; `ModelError` if one of them is an array or a log."""
        found: list[tuple[Path, LeafDomain]] = []
        for path, domain in StructDomain(self.record).parts():
            if not isinstance(domain, LeafDomain):
                name = f"{self.record.__name__}.{path_name(path)}"
                raise ModelError(f"{name} cannot be in a log: a record holds single fields and structs of single fields")
            found.append((path, self._present(domain)))
        return found

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        yield (*path, self.END), self.end
        fields = [(field, _in_slot(domain)) for field, domain in self.record_leaves()]
        for k in range(resolve(self.size, constants)):
            yield from (((*path, self.RECORDS, k, *field), domain) for field, domain in fields)

    def _ids(self, path: Path, count: int, constants: Constants) -> Iterator[Path]:
        """The fields of the first `count` records that are kept with a code of their own."""
        kept = [(field, domain) for field, domain in self.record_leaves() if _in_slot(domain) is not domain]
        fields = [field for field, domain in kept if not is_absent(domain, constants)]
        return ((*path, self.RECORDS, k, *field) for k in range(count) for field in fields)

    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        last, record, size = places[(*path, self.END)], StructDomain(self.record), resolve(self.size, constants)
        records = [record.reader((*path, self.RECORDS, k), places, constants) for k in range(size)]
        ids = [[places[slot] for slot in self._ids(path, k, constants)] for k in range(size + 1)]

        def read(codes: Sequence[int]) -> dict[str, Any]:
            end = codes[last]
            if ids[end]:
                codes = list(codes)
                for leaf in ids[end]:
                    codes[leaf] -= 1
            return {self.END: end, self.RECORDS: [records[k](codes) for k in range(end)]}

        return read

    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        if not isinstance(value, dict) or set(value) != {self.END, self.RECORDS}:
            raise ModelError(f"{path_name(path)} must have exactly the fields {self.END}, {self.RECORDS}")
        self.end.encode(value[self.END], (*path, self.END), constants, codes)
        records = value[self.RECORDS]
        if not isinstance(records, list) or len(records) != value[self.END]:
            raise ModelError(f"{path_name(path)} must list as many records as its end says")
        for slot, _ in list(self.leaves(path, constants))[1:]:
            codes[slot] = 0
        for k, record in enumerate(records):
            StructDomain(self.record).encode(record, (*path, self.RECORDS, k), constants, codes)
        for slot in self._ids(path, len(records), constants):
            codes[slot] += 1


def _in_slot(domain: LeafDomain) -> LeafDomain:
    """How a record's field is kept in a slot of a log."""
    if isinstance(domain, PresentDomain):
        inner = _in_slot(domain.inner)
        return domain if inner is domain.inner else PresentDomain(inner, domain.when)
    return SlotDomain(domain.item) if isinstance(domain, IdDomain) else domain


def _must_be(item: object, what: str, *kinds: type[Value]) -> None:
    """`ModelError` unless a domain is made of a type of its author's: a subclass of one of `kinds`."""
    if not isinstance(item, type) or not issubclass(item, kinds) or item in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise ModelError(f"{what} of a subclass of {wanted}, not {getattr(item, '__name__', repr(item))}")


def is_absent(domain: Domain, constants: Constants) -> bool:
    """Whether the constants leave out all of a field."""
    if isinstance(domain, ArrayDomain):
        return is_absent(domain.element, constants)
    if isinstance(domain, StructDomain):
        return all(is_absent(part, constants) for part in domain.struct.domains().values())
    if isinstance(domain, LogDomain):
        return is_absent(domain.end, constants)
    return isinstance(domain, PresentDomain) and domain.is_absent(constants)


def as_domain(spec: object) -> Domain:
    """The domain that a type or a domain stands for; `ModelError` for anything else."""
    if isinstance(spec, Domain):
        return spec
    if get_origin(spec) is SetValue:
        # How an action's parameter says that it is a set: `voters: SetValue[Replica]`.
        return SetDomain(get_args(spec)[0])
    if isinstance(spec, type):
        if issubclass(spec, Declaration):
            return StructDomain(spec)
        if issubclass(spec, Int) and spec is not Int:
            return Range(spec, spec.lo, spec.hi)
        if issubclass(spec, Id) and spec is not Id:
            return IdDomain(spec)
        if issubclass(spec, Bool):
            return BoolDomain()
    name = getattr(spec, "__name__", repr(spec))
    raise ModelError(f"{name} is not a domain; use a subclass of Int, Id or Struct, Bool, or Optional, SetOf, Array, Log")


def as_leaf(spec: object) -> LeafDomain:
    """Like `as_domain`, for a domain that fits one code."""
    domain = as_domain(spec)
    if isinstance(domain, LeafDomain):
        return domain
    raise ModelError(f"{spec!r} does not fit one field; use it through field(…) or Array(…)")


def path_name(path: Path) -> str:
    """`("replica", 2, "isr")` as people write it: `replica[2].isr`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".")


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Whether `text` can name a constant, a field or an action."""
    return bool(_NAME.fullmatch(text))
