"""Where single values can live: the domains that fit one code, and how each encodes and decodes plain Python values.

The domains behind `Int`, `Id`, `Bool`, `Optional`, `SetOf` and `Present`; those of structs, arrays and logs are in
`storage/composites.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Generic

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import literal, resolve
from acked.model.language.semantics import semantics
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool, Enum, I, Id, Int, IntLike, V, Value, type_name_of

Constants = Mapping[str, int]
Path = tuple[str | int, ...]
Reader = Callable[[Sequence[int]], Any]
Plain = int | bool | str | list[int] | None
"""What a field holds, ready for JSON: a number, an id, a truth value, a name, an ascending list of ids, or none."""


class Domain:
    """A set of plain values with a place in the state: a leaf, or a composite of leaves.

    No ABC: whether something is one is asked whenever a field is read, and of an ABC in Python.
    """

    no_assignment: ClassVar[str] = "arrays and logs are changed by element, append or truncate, not assigned whole"
    view: ClassVar[Callable[..., Any] | None] = None
    """What gives symbolic access to one, of the kinds that say so themselves: of a store, a path and the domain."""

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

    @property
    def bare(self) -> LeafDomain:
        """The domain where the field is there: of `PresentDomain` the one inside."""
        return self

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


@frozen
class Range(LeafDomain):
    """The integers lo..hi of one unit, both ends included."""

    item: type[Int]
    lo: IntLike
    hi: IntLike

    def __post_init__(self) -> None:
        must_be(self.item, "numbers lo..hi are", Int)
        if type(self) is Range and issubclass(self.item, Enum):
            raise ModelError(f"{self.item.__name__} is an Enum, whose values have no order; make another Enum of fewer names")

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


@frozen
class EnumDomain(Range):
    """All values of an `Enum`; plain values are their names."""

    item: type[Enum]

    def to_plain(self, code: int, constants: Constants) -> Plain:
        return self.item.names[code]

    def from_plain(self, value: object, constants: Constants) -> int:
        if not isinstance(value, str) or value not in self.item.names:
            raise ModelError(f"{value!r} is not one of {', '.join(self.item.names)}")
        return self.item.names.index(value)


@frozen
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


@frozen
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


@frozen
class OptionalDomain(LeafDomain, Generic[V]):
    """None (code 0) or a value of an `Int` or `Id` type (code 1 + k)."""

    item: type[V]

    def __post_init__(self) -> None:
        must_be(self.item, "an optional value is", Int, Id)

    @property
    def _leaf(self) -> LeafDomain:
        return scalar_domain(self.item)

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


@frozen
class SlotDomain(OptionalDomain[V]):
    """An id in a slot of a log: none where there is no record, so that an empty slot prefers no id to another.

    What a record declares there is the id itself; stores, logs and symmetry are the ones to know that it is kept so.
    """


@frozen
class SetDomain(LeafDomain, Generic[I]):
    """All sets of ids of one sort, as masks; a plain set is an ascending list."""

    item: type[I]

    def __post_init__(self) -> None:
        if isinstance(self.item, type) and issubclass(self.item, (Int, Bool)):
            name = self.item.__name__
            raise ModelError(f"the members of a set are ids or structs, not {name}; Array({name}, Bool) says which are in it")
        must_be(self.item, "the members of a set are", Id)

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


@frozen
class PresentDomain(LeafDomain):
    """Another leaf domain where a bound is not 0; elsewhere the field is absent: no bits, and its code is 0."""

    inner: LeafDomain
    when: IntLike

    @property
    def bare(self) -> LeafDomain:
        return self.inner.bare

    def is_absent(self, constants: Constants) -> bool:
        """Whether the constants leave the field out."""
        inner = self.inner
        return resolve(self.when, constants) == 0 or (isinstance(inner, PresentDomain) and inner.is_absent(constants))

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


def must_be(item: object, what: str, *kinds: type[Value]) -> None:
    """`ModelError` unless a domain is made of a type of its author's: a subclass of one of `kinds`."""
    if not isinstance(item, type) or not issubclass(item, kinds) or item in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        name = getattr(item, "__name__", None) or type_name_of(item)
        raise ModelError(f"{what} of a subclass of {wanted}, not {name}")


@cache
def scalar_domain(item: type[Value]) -> LeafDomain:
    """The domain of a type of one's own: a subclass of `Int` or `Id`; and of `Bool`."""
    if issubclass(item, Enum):
        return EnumDomain(item, item.lo, item.hi)
    if issubclass(item, Int):
        return Range(item, item.lo, item.hi)
    return IdDomain(item) if issubclass(item, Id) else BoolDomain()


def path_name(path: Path) -> str:
    """`("replica", 2, "isr")` as people write it: `replica[2].isr`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.lstrip(".")
