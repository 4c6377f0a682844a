"""Where structs, arrays and logs live: domains of several codes, and which domain a type or a declaration stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, get_args, get_origin

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, resolve
from acked.model.language.domain import (
    Constants,
    Domain,
    IdDomain,
    LeafDomain,
    Path,
    PresentDomain,
    Range,
    Reader,
    SetDomain,
    SlotDomain,
    must_be,
    path_name,
    scalar_domain,
)
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool, Enum, Id, Int, IntLike, type_name_of


class Declaration:
    """The half of a `Struct` that domains know: a class that declares named fields."""

    type_name: ClassVar[str] = "struct"

    @classmethod
    def domains(cls) -> dict[str, Domain]:
        """The domain of every field."""
        raise NotImplementedError


@frozen
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

    def single_fields(self, place: str) -> list[tuple[Path, LeafDomain]]:
        """Its parts where all are single fields; `ModelError` names one that is none, which cannot be in such a `place`."""
        found: list[tuple[Path, LeafDomain]] = []
        for path, domain in self.parts():
            if not isinstance(domain, LeafDomain):
                name = f"{self.struct.__name__}.{path_name(path)}"
                raise ModelError(f"{name} cannot be in {place} holds single fields and structs of single fields")
            found.append((path, domain))
        return found

    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        parts = [(name, domain.reader((*path, name), places, constants)) for name, domain in self.fields_shown(constants)]
        return lambda codes: {name: read(codes) for name, read in parts}

    def fields_shown(self, constants: Constants) -> Iterator[tuple[str, Domain]]:
        """The fields that the constants leave there."""
        for name, domain in self.struct.domains().items():
            if not is_absent(domain, constants):
                yield name, domain

    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        for name, domain in self.struct.domains().items():
            if is_absent(domain, constants):
                codes.update({leaf: 0 for leaf, _ in domain.leaves((*path, name), constants)})
        domains = dict(self.fields_shown(constants))
        if not isinstance(value, dict) or set(value) != set(domains):
            raise ModelError(f"{path_name(path) or 'the state'} must have exactly the fields {', '.join(domains)}")
        for name, domain in domains.items():
            domain.encode(value[name], (*path, name), constants, codes)


@frozen
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

    def count(self, constants: Constants) -> int:
        """How many single values it holds if its elements hold one each; of the store of a set how many may be in it."""
        inner = self.element.count(constants) if isinstance(self.element, ArrayDomain) else 1
        return self.index.cardinality(constants) * inner

    def plain(self, constants: Constants) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Of an array that is the store of a set or a bag: the indices of every value that may be in it, and the value."""
        raise NotImplementedError

    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        count = self.index.cardinality(constants)
        if not isinstance(value, list) or len(value) != count:
            raise ModelError(f"{path_name(path)} must be a list of {count}")
        for k, element in enumerate(value):
            self.element.encode(element, (*path, k), constants, codes)


@frozen
class LogDomain(Domain):
    """An append-only sequence of at most `size` records that can be cut; slots past the end hold code 0.

    A record is made of single fields, and of structs of them; in a queue it may be a single value. Ids are kept as
    `SlotDomain` says. Where the constant `when` is 0 the log is absent, as `PresentDomain` says.
    """

    record: type[Declaration] | LeafDomain
    offset: type[Int]
    size: IntLike
    when: IntLike = 1

    RECORDS: ClassVar[str] = "records"
    END: ClassVar[str] = "end"

    def __post_init__(self) -> None:
        must_be(self.offset, "the offsets of a log are", Int)
        self.record_leaves()

    @cached_property
    def content(self) -> Domain:
        """What stands in each slot."""
        return self.record if isinstance(self.record, LeafDomain) else StructDomain(self.record)

    @cached_property
    def end(self) -> LeafDomain:
        """The domain of the log end offset."""
        return self._present(Range(self.offset, 0, self.size))

    def _present(self, domain: LeafDomain) -> LeafDomain:
        return domain if isinstance(self.when, int) else PresentDomain(domain, self.when)

    def record_leaves(self) -> list[tuple[Path, LeafDomain]]:
        """The fields of a record as it declares them; `ModelError` if one of them is an array or a log.

        Of a single value it is the path of nothing.
        """
        content = self.content
        fields = content.single_fields("a log: a record") if isinstance(content, StructDomain) else [*content.leaves((), {})]
        return [(path, self._present(domain)) for path, domain in fields]

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        yield (*path, self.END), self.end
        fields = [(field, slot_domain(domain)) for field, domain in self.record_leaves()]
        for k in range(resolve(self.size, constants)):
            yield from (((*path, self.RECORDS, k, *field), domain) for field, domain in fields)

    def _ids(self, path: Path, count: int, constants: Constants) -> Iterator[Path]:
        """The fields of the first `count` records that are kept with a code of their own."""
        kept = [(field, domain) for field, domain in self.record_leaves() if slot_domain(domain) is not domain]
        fields = [field for field, domain in kept if not is_absent(domain, constants)]
        return ((*path, self.RECORDS, k, *field) for k in range(count) for field in fields)

    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        last, record, size = places[(*path, self.END)], self.content, resolve(self.size, constants)
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
            self.content.encode(record, (*path, self.RECORDS, k), constants, codes)
        for slot in self._ids(path, len(records), constants):
            codes[slot] += 1


def slot_domain(domain: LeafDomain) -> LeafDomain:
    """How a record's field is kept in a slot of a log."""
    if isinstance(domain, PresentDomain):
        inner = slot_domain(domain.inner)
        return domain if inner is domain.inner else PresentDomain(inner, domain.when)
    return SlotDomain(domain.item) if isinstance(domain, IdDomain) else domain


def is_absent(domain: Domain, constants: Constants) -> bool:
    """Whether the constants leave out all of a field."""
    if isinstance(domain, ArrayDomain):
        return is_absent(domain.element, constants)
    if isinstance(domain, StructDomain):
        return all(is_absent(part, constants) for part in domain.struct.domains().values())
    if isinstance(domain, LogDomain):
        return is_absent(domain.end, constants)
    return isinstance(domain, PresentDomain) and domain.is_absent(constants)


_OF_PYTHON = {
    set: "SetOf(Node)", frozenset: "SetOf(Node)", list: "Log(Entry, Offset, size) or Queue(Entry, size)",
    dict: "Array(Node, …)",
    int: "a subclass of Int with its bounds, class Count(Int, hi=3)", str: 'names, Enum("ask", "tell")', bool: "Bool",
    tuple: "a Struct with a field for each part",
}  # fmt: skip


def as_domain(spec: object) -> Domain:
    """The domain that a type or a domain stands for; `ModelError` for anything else."""
    if isinstance(spec, Domain):
        return spec
    if isinstance(spec, type):
        if issubclass(spec, Declaration):
            return StructDomain(spec)
        if issubclass(spec, (Int, Id, Bool)) and spec not in (Int, Id, Enum):
            return scalar_domain(spec)
    if get_origin(spec) is SetValue:
        # How an action's parameter says that it is a set: `voters: SetValue[Replica]`.
        return SetDomain(get_args(spec)[0])
    if isinstance(spec, (int, Constant)):
        number = spec.name if isinstance(spec, Constant) else spec
        raise ModelError(f"{number} is a number and no domain; that many things are a type, class Node(Id, size={number})")
    name = getattr(spec, "__name__", None) or type_name_of(spec)
    if isinstance(spec, type) and spec in _OF_PYTHON:
        raise ModelError(f"{name} is Python's own and no domain; write {_OF_PYTHON[spec]}")
    ours = "a subclass of Int, Id, Enum or Struct, Bool, or Optional, SetOf, Array, Log"
    raise ModelError(f"{name} is not a domain; use {ours}")


def as_leaf(spec: object) -> LeafDomain:
    """Like `as_domain`, for a domain that fits one code."""
    domain = as_domain(spec)
    if isinstance(domain, LeafDomain):
        return domain
    raise ModelError(f"{spec!r} does not fit one field; use it through field(…) or Array(…)")
