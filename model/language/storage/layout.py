"""The layout of a state in 64-bit words.

`Schema`, which gives every leaf its exact bits, packs codes into words and back, and decodes whole states; and `meanings`,
which distinguishes layouts that are made of the same numbers.

A leaf of cardinality c holds a code 0..c-1 in `(c-1).bit_length()` bits; no leaf straddles a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.domain import (
    Constants,
    Domain,
    EnumDomain,
    IdDomain,
    LeafDomain,
    OptionalDomain,
    Path,
    PresentDomain,
    Range,
    Reader,
    SetDomain,
    SlotDomain,
    path_name,
)
from acked.model.language.storage.composites import ArrayDomain, Declaration, LogDomain, StructDomain, as_leaf, is_absent
from acked.model.language.values import Id

WORD_BITS = 64
MAX_WORDS = 16
"""A state has at most this many words; the engines size their buffers by it."""


@frozen
class Leaf:
    """One field of the packed state: bits `shift .. shift+bits-1` of word `word` hold a code below `cardinality`.

    Of an id in a log's slot, whose code is one more than the field's own (`SlotDomain`), `slot` is the leaf of the log's end
    and the number of the slot: the code is 0 exactly where the end is not beyond that.
    """

    name: str
    path: Path
    domain: LeafDomain
    cardinality: int
    word: int
    shift: int
    bits: int
    slot: tuple[int, int] | None = None

    def outside(self, code: Expr) -> Expr | None:
        """Where a code is outside the leaf's domain; None if it never is."""
        if code.lo >= 0 and code.hi < self.cardinality:
            return None
        pool, zero = code.pool, code.pool.int(0)
        inner = self.domain.bare
        # Of ids nothing is said that would tell one from another, such as that they have an order.
        is_id = isinstance(inner, (IdDomain, OptionalDomain)) and issubclass(inner.item, Id)
        if is_id and code.lo == -1 and code.hi < self.cardinality:
            return pool.eq(code, pool.int(-1))
        if isinstance(inner, SetDomain) and code.lo >= 0 and code.hi < 2 * self.cardinality:
            return pool.not_(pool.eq(pool.bitand(code, pool.int(self.cardinality)), zero))
        return pool.or_(pool.lt(code, zero), pool.le(pool.int(self.cardinality), code))


    def code_text(self, code: int, constants: Constants) -> str:
        """A code that the leaf may not hold, as what an author assigned."""
        inner = self.domain.bare
        if isinstance(inner, SetDomain):
            return "a set that has none for a member"
        item = getattr(inner, "item", None)
        if code < 0 and item is not None and issubclass(item, Id):
            return f"no {item.type_name}"
        least, skipped = self._least(constants)
        return str(least + code - (skipped if code >= 0 else 0))

    def range_text(self, constants: Constants) -> str:
        """What the leaf can hold: `0..2`."""
        if isinstance(self.domain.bare, EnumDomain):
            return " or ".join(self.domain.bare.item.names)
        if isinstance(self.domain.bare, SetDomain):
            return f"sets of {self.domain.bare.item.type_name}s"
        least, skipped = self._least(constants)
        return f"{least}..{least + self.cardinality - 1 - skipped}"

    def _least(self, constants: Constants) -> tuple[int, int]:
        """The least number, and how many codes come before its own: that of none."""
        if isinstance(self.domain.bare, OptionalDomain):
            return self.domain.bare.least(constants), 1
        return (self.domain.bare.bounds(constants)[0] if isinstance(self.domain.bare, Range) else 0), 0


class Schema:
    """The exact layout of one protocol's state under given constants."""

    def __init__(self, state: type[Declaration], constants: Constants) -> None:
        self.constants = dict(constants)
        self._root = StructDomain(state)
        self.logs = frozenset(_logs(self._root, (), self.constants))
        """The paths of all logs."""
        self.messages = dict(_messages(self._root, (), self.constants))
        """By path of a leaf that counts a value of a struct: where the set or bag is, and the value, as `decode` gives it."""
        free: list[int] = []
        leaves: list[Leaf] = []
        for path, domain in self._root.leaves((), self.constants):
            cardinality = domain.cardinality(self.constants)
            if cardinality < 1:
                raise ModelError(f"field {path_name(path)} has no possible value: {_emptiness(domain, self.constants)}")
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
            slot = self._slot(path, leaves) if self._is_slot_id(domain) else None
            leaves.append(Leaf(self._name(path), path, domain, cardinality, word, free[word], bits, slot))
            free[word] += bits
        if not leaves:
            raise ModelError(f"the state {state.__name__} has no fields")
        self.leaves: tuple[Leaf, ...] = tuple(leaves)
        self.words = len(free)
        self.bits = sum(leaf.bits for leaf in leaves)
        self.by_path = {leaf.path: index for index, leaf in enumerate(leaves)}
        self.counts = counts_of(leaves)
        """By the path of an array or of a log's records: how many elements there are."""
        if self.words > MAX_WORDS:
            raise ModelError(
                f"a state would need {self.words} words of {WORD_BITS} bits and {MAX_WORDS} are supported; "
                f"choose smaller constants; {self._largest()} alone needs most"
            )

    def _largest(self) -> str:
        """The field of the state that takes most bits."""
        bits: dict[str, int] = {}
        for leaf in self.leaves:
            bits[str(leaf.path[0])] = bits.get(str(leaf.path[0]), 0) + leaf.bits
        return max(bits, key=lambda name: bits[name])

    def _name(self, path: Path) -> str:
        """How people write a leaf: `log[0].end`; of a struct in a set or a bag by its fields, `sent[by=0, ballot=1]`."""
        if path not in self.messages:
            return path_name(path)
        place, message = self.messages[path]
        return f"{path_name(place)}[{', '.join(_written(message))}]"

    def _is_slot_id(self, domain: LeafDomain) -> bool:
        return isinstance(domain.bare, SlotDomain) and not is_absent(domain, self.constants)

    def _slot(self, path: Path, before: Sequence[Leaf]) -> tuple[int, int]:
        """The leaf of the end of the log that a field is in, and the number of the slot."""
        log = next(path[:at] for at in range(len(path)) if path[:at] in self.logs)
        number = path[len(log) + 1]
        assert isinstance(number, int)
        return next(at for at, leaf in enumerate(before) if leaf.path == (*log, LogDomain.END)), number

    def pack(self, codes: Sequence[int]) -> tuple[int, ...]:
        """The words of the state with the given leaf codes."""
        words = [0] * self.words
        for leaf, code in zip(self.leaves, codes, strict=True):
            words[leaf.word] |= code << leaf.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> list[int]:
        """The leaf codes of a packed state."""
        return [words[word] >> shift & mask for word, shift, mask in self._places]

    @cached_property
    def _places(self) -> Sequence[tuple[int, int, int]]:
        """Of every leaf its word, its lowest bit there, and as many ones as it has bits."""
        return [(leaf.word, leaf.shift, (1 << leaf.bits) - 1) for leaf in self.leaves]

    def decode(self, codes: Sequence[int]) -> dict[str, Any]:
        """The state as nested plain values, ready for JSON."""
        return cast(dict[str, Any], self._reader(codes))

    @cached_property
    def _reader(self) -> Reader:
        return self._root.reader((), self.by_path, self.constants)

    def encode(self, state: Any) -> list[int]:
        """The inverse of `decode`; `ModelError` names the field that does not fit."""
        codes: dict[Path, int] = {}
        self._root.encode(state, (), self.constants, codes)
        return [codes[leaf.path] for leaf in self.leaves]


def _written(message: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """The fields of a plain struct as people write them."""
    for name, value in message.items():
        if isinstance(value, dict):
            yield from _written(value, f"{prefix}{name}.")
        else:
            members = f"{{{', '.join(map(str, value))}}}" if isinstance(value, list) else str(value)
            yield f"{prefix}{name}={'none' if value is None else members.lower() if isinstance(value, bool) else members}"


def counts_of(leaves: Iterable[Leaf]) -> dict[Path, int]:
    """How many elements there are at each path that leads to several."""
    counts: dict[Path, int] = {}
    for leaf in leaves:
        for at, part in enumerate(leaf.path):
            if isinstance(part, int):
                counts[leaf.path[:at]] = max(part + 1, counts.get(leaf.path[:at], 0))
    return counts


def _logs(domain: Domain, path: Path, constants: Constants) -> Iterator[Path]:
    if isinstance(domain, LogDomain):
        yield path
    elif isinstance(domain, StructDomain):
        for name, inner in domain.struct.domains().items():
            yield from _logs(inner, (*path, name), constants)
    elif isinstance(domain, ArrayDomain) and domain.view is None:
        for k in range(domain.index.cardinality(constants)):
            yield from _logs(domain.element, (*path, k), constants)


def _messages(domain: Domain, path: Path, constants: Constants) -> Iterator[tuple[Path, tuple[Path, Any]]]:
    if isinstance(domain, StructDomain):
        for name, inner in domain.struct.domains().items():
            yield from _messages(inner, (*path, name), constants)
    elif isinstance(domain, ArrayDomain) and domain.view is None:
        for k in range(domain.index.cardinality(constants)):
            yield from _messages(domain.element, (*path, k), constants)
    elif isinstance(domain, ArrayDomain):
        count = domain.count(constants)
        if count > WORD_BITS * MAX_WORDS:
            raise ModelError(
                f"{path_name(path)} may have {count:,} different members, each of which takes at least a bit of the "
                f"{WORD_BITS * MAX_WORDS:,} of a state; give every kind of message a set of its own, whose struct has the "
                "fields of that kind alone, or choose smaller constants"
            )
        yield from (((*path, *codes), (path, value)) for codes, value in domain.plain(constants))


def meanings(state: type[Declaration], constants: Constants) -> Iterator[str]:
    """For every field, elements of arrays and records of logs taken together, what its codes stand for.

    Fields with the same codes may mean different things: a number from 0 to 2, or one of three ids, which symmetry may
    rename. Id types are told apart by the order in which they come, for their names need not differ.
    """
    sorts: dict[type[Any], int] = {}

    def leaf_meaning(domain: LeafDomain) -> str:
        if isinstance(domain, PresentDomain):
            return "absent" if domain.is_absent(constants) else leaf_meaning(domain.inner)
        item = getattr(domain, "item", None)
        kind = type(domain).__name__
        if item is None:
            return kind
        if isinstance(domain, Range):
            return f"{kind} {item.__name__} {domain.bounds(constants)}"
        if isinstance(domain, OptionalDomain) and not isinstance(domain, SlotDomain):
            return f"{kind} {leaf_meaning(as_leaf(item))}"
        return f"{kind} {item.__name__} {sorts.setdefault(item, len(sorts))} of {IdDomain(item).cardinality(constants)}"

    def walk(domain: Domain, path: str) -> Iterator[str]:
        if isinstance(domain, StructDomain):
            for name, inner in domain.struct.domains().items():
                yield from walk(inner, f"{path}.{name}")
        elif isinstance(domain, ArrayDomain):
            yield from walk(domain.element, f"{path}[{leaf_meaning(domain.index)}]")
        elif isinstance(domain, LogDomain):
            yield from walk(domain.end, f"{path}.{LogDomain.END}")
            for inside, leaf in domain.record_leaves():
                yield from walk(leaf, f"{path}.{LogDomain.RECORDS}[].{path_name(inside)}")
        else:
            assert isinstance(domain, LeafDomain)
            yield f"{path} {leaf_meaning(domain)}"

    return walk(StructDomain(state), "")


def _emptiness(domain: LeafDomain, constants: Constants) -> str:
    """Why a domain has no value, and what to do."""
    inner = domain.bare
    if isinstance(inner, Range):
        lo, hi = inner.bounds(constants)
        return f"there is no number from {lo} to {hi}; raise the upper bound, or leave the field out with Present(…)"
    return f"there are 0 {getattr(inner, 'item', type(inner)).__name__}s; make it Optional(…)"
