"""Where values can live: leaf and composite domains, and the layout of a state in 64-bit words.

What lives here: the domains `Range`, `Optional`, `SetOf`, `Array`, `Log` (with the plain types `Int`, `Id`, `Bool` as
domains of their own), how each encodes and decodes plain Python values, and `Schema`, which gives every leaf its exact
bits. What does not: symbolic access to a state (`state.py`) and the values themselves (`values.py`).

A leaf of cardinality c holds a code 0..c-1 in `(c-1).bit_length()` bits; no leaf straddles a word.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, get_args, get_origin

from model.context import current, literal, resolve
from model.errors import ModelError
from model.expr import Expr
from model.values import Bool, Id, Int, IntLike, OptionalValue, SetValue, Value

if TYPE_CHECKING:
    from model.state import Struct

WORD_BITS = 64
MAX_WORDS = 16
"""A state has at most this many words; the engines size their buffers by it."""

Constants = Mapping[str, int]
Path = tuple[str | int, ...]
V = TypeVar("V", bound=Value)
I = TypeVar("I", bound=Id)  # noqa: E741


class Domain(ABC):
    """A set of plain values with a place in the state: a leaf, or a composite of leaves."""

    @abstractmethod
    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        """Every leaf below `path`, in layout order."""

    @abstractmethod
    def decode(self, path: Path, codes: Mapping[Path, int], constants: Constants) -> Any:
        """The plain value (JSON-ready) at `path`."""

    @abstractmethod
    def encode(self, value: Any, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
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
    def to_plain(self, code: int, constants: Constants) -> Any:
        """The plain value of a code."""

    @abstractmethod
    def from_plain(self, value: Any, constants: Constants) -> int:
        """The code of a plain value; `ModelError` if there is none."""

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        yield path, self

    def decode(self, path: Path, codes: Mapping[Path, int], constants: Constants) -> Any:
        return self.to_plain(codes[path], constants)

    def encode(self, value: Any, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
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

    def bounds(self, constants: Constants | None = None) -> tuple[int, int]:
        """The least and the greatest value under the given constants, or those of the current trace."""
        return resolve(self.lo, constants), resolve(self.hi, constants)

    def cardinality(self, constants: Constants) -> int:
        lo, hi = self.bounds(constants)
        return max(hi - lo + 1, 1)

    def wrap(self, code: Expr) -> Value:
        return self.item(code.pool.add(code, literal(resolve(self.lo))))

    def code_of(self, value: object) -> Expr:
        expr = self.item.lift(value)
        return expr.pool.sub(expr, literal(resolve(self.lo)))

    def to_plain(self, code: int, constants: Constants) -> Any:
        return code + resolve(self.lo, constants)

    def from_plain(self, value: Any, constants: Constants) -> int:
        lo, hi = self.bounds(constants)
        if isinstance(value, bool) or not isinstance(value, int) or not lo <= value <= hi:
            raise ModelError(f"{value!r} is not one of {lo}..{hi}")
        return value - lo


@dataclass(frozen=True)
class IdDomain(LeafDomain):
    """All ids of one sort."""

    item: type[Id]

    def cardinality(self, constants: Constants) -> int:
        return resolve(self.item.size, constants)

    def wrap(self, code: Expr) -> Value:
        return self.item(code)

    def code_of(self, value: object) -> Expr:
        return self.item.lift(value)

    def to_plain(self, code: int, constants: Constants) -> Any:
        return code

    def from_plain(self, value: Any, constants: Constants) -> int:
        size = self.cardinality(constants)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
            raise ModelError(f"{value!r} is no {self.item.type_name}: there are {size}, from 0")
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

    def to_plain(self, code: int, constants: Constants) -> Any:
        return bool(code)

    def from_plain(self, value: Any, constants: Constants) -> int:
        if not isinstance(value, bool):
            raise ModelError(f"{value!r} is neither true nor false")
        return int(value)


@dataclass(frozen=True)
class OptionalDomain(LeafDomain, Generic[V]):
    """None (code 0) or a value of an `Int` or `Id` type (code 1 + k)."""

    item: type[V]

    @property
    def _leaf(self) -> LeafDomain:
        return as_leaf(self.item)

    def cardinality(self, constants: Constants) -> int:
        return 1 + self._leaf.cardinality(constants)

    def wrap(self, code: Expr) -> Value:
        reading = current().reading
        return OptionalValue(code, self.item) if reading is None else reading.optional_value(code, self.item)

    def code_of(self, value: object) -> Expr:
        reading = current().reading
        none = OptionalValue(literal(0), self.item) if reading is None else reading.no_value(self.item)
        return none.code_of(value)

    def to_plain(self, code: int, constants: Constants) -> Any:
        return None if code == 0 else self._leaf.to_plain(code - 1, constants)

    def from_plain(self, value: Any, constants: Constants) -> int:
        return 0 if value is None else 1 + self._leaf.from_plain(value, constants)


@dataclass(frozen=True)
class SetDomain(LeafDomain, Generic[I]):
    """All sets of ids of one sort, as masks; a plain set is an ascending list."""

    item: type[I]

    def cardinality(self, constants: Constants) -> int:
        return int(1 << resolve(self.item.size, constants))

    def wrap(self, code: Expr) -> Value:
        reading = current().reading
        return SetValue(code, self.item) if reading is None else reading.set_value(code, self.item)

    def code_of(self, value: object) -> Expr:
        return SetValue(literal(0), self.item).mask_of(value)

    def to_plain(self, code: int, constants: Constants) -> Any:
        return [k for k in range(resolve(self.item.size, constants)) if code >> k & 1]

    def from_plain(self, value: Any, constants: Constants) -> int:
        members = IdDomain(self.item)
        if not isinstance(value, list):
            raise ModelError(f"{value!r} is no list of {self.item.type_name}s")
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
        return resolve(self.when, constants) == 0

    def cardinality(self, constants: Constants) -> int:
        return 1 if self.is_absent(constants) else self.inner.cardinality(constants)

    def wrap(self, code: Expr) -> Value:
        return self.inner.wrap(code)

    def code_of(self, value: object) -> Expr:
        return self.inner.code_of(value)

    def to_plain(self, code: int, constants: Constants) -> Any:
        return self.inner.to_plain(code, constants)

    def from_plain(self, value: Any, constants: Constants) -> int:
        return self.inner.from_plain(value, constants)


class Composite(Domain):
    """A domain made of named or numbered parts; `parts` says all that decoding, encoding and layout need."""

    @abstractmethod
    def view(self, store: Any, path: tuple[Any, ...]) -> Any:
        """Symbolic access to the part of `store` at `path`."""


@dataclass(frozen=True)
class StructDomain(Composite):
    """A fixed set of named fields; made from a `Struct` subclass."""

    struct: type[Struct]

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        for name, domain in self.struct.domains().items():
            yield from domain.leaves((*path, name), constants)

    def decode(self, path: Path, codes: Mapping[Path, int], constants: Constants) -> Any:
        return {name: domain.decode((*path, name), codes, constants) for name, domain in self._shown(constants)}

    def _shown(self, constants: Constants) -> Iterator[tuple[str, Domain]]:
        for name, domain in self.struct.domains().items():
            if not _is_absent(domain, constants):
                yield name, domain

    def encode(self, value: Any, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        for name, domain in self.struct.domains().items():
            if _is_absent(domain, constants):
                codes.update({leaf: 0 for leaf, _ in domain.leaves((*path, name), constants)})
        domains = dict(self._shown(constants))
        if not isinstance(value, dict) or set(value) != set(domains):
            raise ModelError(f"{path_name(path) or 'the state'} must have exactly the fields {', '.join(domains)}")
        for name, domain in domains.items():
            domain.encode(value[name], (*path, name), constants, codes)

    def view(self, store: Any, path: tuple[Any, ...]) -> Any:
        return self.struct.at(store, path)


@dataclass(frozen=True)
class ArrayDomain(Composite):
    """One element per value of the index type."""

    index: LeafDomain
    element: Domain

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        for k in range(self.index.cardinality(constants)):
            yield from self.element.leaves((*path, k), constants)

    def decode(self, path: Path, codes: Mapping[Path, int], constants: Constants) -> Any:
        return [
            self.element.decode((*path, k), codes, constants) for k in range(self.index.cardinality(constants))
        ]

    def encode(self, value: Any, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        count = self.index.cardinality(constants)
        if not isinstance(value, list) or len(value) != count:
            raise ModelError(f"{path_name(path)} must be a list of {count}")
        for k, element in enumerate(value):
            self.element.encode(element, (*path, k), constants, codes)

    def view(self, store: Any, path: tuple[Any, ...]) -> Any:
        from model.state import ArrayView

        return ArrayView(store, path, self)


@dataclass(frozen=True)
class LogDomain(Composite):
    """An append-only sequence of at most `size` records that can be cut; slots past the end hold code 0."""

    record: type[Struct]
    offset: type[Int]
    size: IntLike

    RECORDS: ClassVar[str] = "records"
    END: ClassVar[str] = "end"

    @property
    def end(self) -> Range:
        """The domain of the log end offset."""
        return Range(self.offset, 0, self.size)

    def leaves(self, path: Path, constants: Constants) -> Iterator[tuple[Path, LeafDomain]]:
        yield (*path, self.END), self.end
        for k in range(resolve(self.size, constants)):
            yield from StructDomain(self.record).leaves((*path, self.RECORDS, k), constants)

    def decode(self, path: Path, codes: Mapping[Path, int], constants: Constants) -> Any:
        end = codes[(*path, self.END)]
        records = [StructDomain(self.record).decode((*path, self.RECORDS, k), codes, constants) for k in range(end)]
        return {self.END: end, self.RECORDS: records}

    def encode(self, value: Any, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
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

    def view(self, store: Any, path: tuple[Any, ...]) -> Any:
        from model.state import LogView

        return LogView(store, path, self)


def _is_absent(domain: Domain, constants: Constants) -> bool:
    """Whether nothing of a field is there under the constants."""
    if isinstance(domain, ArrayDomain):
        return _is_absent(domain.element, constants)
    if isinstance(domain, StructDomain):
        return all(_is_absent(part, constants) for part in domain.struct.domains().values())
    return isinstance(domain, PresentDomain) and domain.is_absent(constants)


def as_domain(spec: Any) -> Domain:
    """The domain that a type or a domain stands for; `ModelError` for anything else."""
    from model.state import Struct

    if isinstance(spec, Domain):
        return spec
    if get_origin(spec) is SetValue:
        # How an action's parameter says that it is a set: `voters: SetValue[Replica]`.
        return SetDomain(get_args(spec)[0])
    if isinstance(spec, type):
        if issubclass(spec, Struct):
            return StructDomain(spec)
        if issubclass(spec, Int) and spec is not Int:
            return Range(spec, spec.lo, spec.hi)
        if issubclass(spec, Id) and spec is not Id:
            return IdDomain(spec)
        if issubclass(spec, Bool):
            return BoolDomain()
    raise ModelError(
        f"{spec!r} is no domain; use a subclass of Int, Id or Struct, Bool, or Range, Optional, SetOf, Array, Log"
    )


def as_leaf(spec: Any) -> LeafDomain:
    """Like `as_domain`, for a domain that fits one code."""
    domain = as_domain(spec)
    if isinstance(domain, LeafDomain):
        return domain
    raise ModelError(f"{spec!r} does not fit one field; use it through field(…) or Array(…)")


def path_name(path: Path) -> str:
    """`("replica", 2, "isr")` as people write it: `replica[2].isr`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".")


@dataclass(frozen=True)
class Leaf:
    """One field of the packed state: bits `shift .. shift+bits-1` of word `word` hold a code below `cardinality`."""

    name: str
    path: Path
    domain: LeafDomain
    cardinality: int
    word: int
    shift: int
    bits: int


class Schema:
    """The exact layout of one protocol's state under given constants."""

    def __init__(self, state: type[Struct], constants: Constants) -> None:
        self.constants = dict(constants)
        self._root = StructDomain(state)
        free: list[int] = []
        leaves: list[Leaf] = []
        for path, domain in self._root.leaves((), self.constants):
            cardinality = domain.cardinality(self.constants)
            bits = (cardinality - 1).bit_length()
            if bits > WORD_BITS - 2:
                raise ModelError(
                    f"field {path_name(path)} needs {bits} bits and a field has at most {WORD_BITS - 2}; "
                    "choose smaller constants"
                )
            # First fit: leaves keep their order except where a hole in an earlier word takes a later, smaller one.
            word = next((w for w, used in enumerate(free) if used + bits <= WORD_BITS), len(free))
            if word == len(free):
                free.append(0)
            leaves.append(Leaf(path_name(path), path, domain, cardinality, word, free[word], bits))
            free[word] += bits
        if not leaves:
            raise ModelError(f"the state {state.__name__} has no fields")
        self.leaves: tuple[Leaf, ...] = tuple(leaves)
        self.words = len(free)
        self.bits = sum(leaf.bits for leaf in leaves)
        self.by_path = {leaf.path: index for index, leaf in enumerate(leaves)}
        if self.words > MAX_WORDS:
            raise ModelError(
                f"a state would need {self.words} words of {WORD_BITS} bits and {MAX_WORDS} are supported; "
                "choose smaller constants"
            )

    def pack(self, codes: Sequence[int]) -> tuple[int, ...]:
        """The words of the state with the given leaf codes."""
        words = [0] * self.words
        for leaf, code in zip(self.leaves, codes, strict=True):
            words[leaf.word] |= code << leaf.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> list[int]:
        """The leaf codes of a packed state."""
        return [words[leaf.word] >> leaf.shift & ((1 << leaf.bits) - 1) for leaf in self.leaves]

    def decode(self, codes: Sequence[int]) -> dict[str, Any]:
        """The state as nested plain values, ready for JSON."""
        by_path = {leaf.path: code for leaf, code in zip(self.leaves, codes, strict=True)}
        return cast(dict[str, Any], self._root.decode((), by_path, self.constants))

    def encode(self, state: Any) -> list[int]:
        """The inverse of `decode`; `ModelError` names the field that does not fit."""
        codes: dict[Path, int] = {}
        self._root.encode(state, (), self.constants, codes)
        return [codes[leaf.path] for leaf in self.leaves]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Whether `text` can name a constant, a field or an action."""
    return bool(_NAME.fullmatch(text))
