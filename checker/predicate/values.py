"""What the terms of a predicate stand for: numbers, sets of ids and truth values, any of which may be None.

`Fields` has those that a state holds. Of a record past a log's end everything is None, as is an optional field without a
value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr, Pool
from acked.model.language.domain import (
    BoolDomain,
    EnumDomain,
    IdDomain,
    LeafDomain,
    OptionalDomain,
    Path,
    Range,
    SetDomain,
    path_name,
)
from acked.model.language.storage.composites import LogDomain, as_leaf
from acked.model.language.storage.layout import Schema
from acked.model.language.values import Enum, Id

FIRST = "first"
"""How predicates name the record of a log or a queue that is its oldest."""


@frozen
class IdSet:
    """A set of ids as a mask where `none` is false; `sort` is the type of its members where that is known."""

    mask: Expr
    none: Expr
    sort: type[Id] | type[Enum] | None = None

    @property
    def size(self) -> int:
        """Ids from 0 on that may be members."""
        return self.mask.hi.bit_length()

    def has(self, member: int) -> Expr:
        """Whether an id is a member; nothing is in None."""
        pool = self.mask.pool
        inside = pool.not_(pool.eq(pool.bitand(self.mask, pool.int(1 << member)), pool.int(0)))
        return pool.and_(pool.not_(self.none), inside)


@frozen
class Flag:
    """A truth value where `none` is false."""

    true: Expr
    none: Expr


@frozen
class Number:
    """A number where `none` is false; `sort` is the type of an id or of a name, only compared with others of its type."""

    code: Expr
    none: Expr
    sort: type[Id] | type[Enum] | None = None


@frozen
class Names:
    """Names that are written out, one or a set of them: of which type is known when they are compared."""

    texts: tuple[str, ...]
    is_set: bool

    def of(self, sort: type[Enum], pool: Pool) -> Number | IdSet:
        """What they stand for as values of a type; `ModelError` if it has no such name."""
        if strange := [text for text in self.texts if text not in sort.names]:
            meant = near(strange[0], sort.names)
            raise ModelError(f"{sort.type_name} is never {strange[0]!r}{meant}; it is {choices(sort.names)}")
        codes = [sort.names.index(text) for text in self.texts]
        if not self.is_set:
            return Number(pool.int(codes[0]), pool.false, sort)
        return IdSet(pool.int(sum(1 << code for code in dict.fromkeys(codes))), pool.false, sort)


Value = Flag | IdSet | Number


@frozen
class Member:
    """A struct that may be in a set or a bag of them: its fields, by their paths."""

    type_name: str
    fields: Mapping[Path, Value]


Bound = int | Member
"""What a name stands for that any, all or count binds."""


def equal(a: Value, b: Value) -> Expr:
    """Whether two values of one kind are the same; None is equal to nothing else."""
    pool = a.none.pool
    if isinstance(a, IdSet) and isinstance(b, IdSet):
        same = pool.eq(a.mask, b.mask)
    elif isinstance(a, Number) and isinstance(b, Number):
        same = pool.eq(a.code, b.code)
    else:
        assert isinstance(a, Flag)
        assert isinstance(b, Flag)
        same = pool.or_(pool.and_(a.true, b.true), pool.and_(pool.not_(a.true), pool.not_(b.true)))
    both = pool.and_(pool.not_(a.none), pool.not_(b.none))
    return pool.or_(pool.and_(a.none, b.none), pool.and_(both, same))


def number_of(pool: Any, constants: Mapping[str, Any], domain: object, code: Any) -> Number:
    """What a field stands for that holds a number, a name or an id, by its code in a pool or its first-order term."""
    if isinstance(domain, EnumDomain):
        return Number(code, pool.false, domain.item)
    if isinstance(domain, Range):
        return Number(pool.add(code, pool.int(domain.bounds(constants)[0])), pool.false)
    if isinstance(domain, OptionalDomain):
        inner = number_of(pool, constants, as_leaf(domain.item), pool.sub(code, pool.int(1)))
        return replace(inner, none=pool.eq(code, pool.int(0)))
    assert isinstance(domain, IdDomain)
    return Number(code, pool.false, domain.item)


class Fields:
    """The values of the leaves of a state, which have these codes under a schema; `paths` are those of leaves and parts."""

    def __init__(self, schema: Schema, codes: Sequence[Expr]) -> None:
        self._schema, self._codes, self._pool = schema, codes, codes[0].pool
        self.paths = {path[:length] for path in schema.by_path for length in range(len(path) + 1)}
        self._places = {place for place, _ in schema.messages.values()}
        self._members: dict[Path, list[tuple[Member, Expr]]] = {}

    def value(self, path: Path) -> Value | None:
        """What a field holds; None if the path is that of several."""
        if path not in self._schema.by_path:
            return None
        at = self._schema.by_path[path]
        leaf, code = self._schema.leaves[at], self._codes[at]
        return self._held(leaf.domain.bare, code, self._past_the_end(path))

    def _held(self, domain: LeafDomain, code: Expr, past: Expr) -> Value:
        """What the code of a leaf of this domain stands for, where it is not past a log's end."""
        if isinstance(domain, SetDomain):
            return IdSet(code, past, domain.item)
        if isinstance(domain, BoolDomain):
            return Flag(self._pool.eq(code, self._pool.int(1)), past)
        value = number_of(self._pool, self._schema.constants, domain, code)
        return replace(value, none=self._pool.or_(value.none, past))

    def members(self, path: Path) -> list[tuple[Member, Expr]] | None:
        """Every struct that a set or a bag may have, as often as it may, and where it is there; None if there is neither."""
        if path not in self._places:
            return None
        if path not in self._members:
            self._members[path] = self._structs(path)
        return self._members[path]

    def _structs(self, path: Path) -> list[tuple[Member, Expr]]:
        domain: Any = self._schema._root
        for part in path:
            domain = domain.struct.domains()[part] if isinstance(part, str) else domain.element
        fields, constants = domain.fields(), self._schema.constants
        most = domain.leaf.cardinality(constants) - 1
        found = []
        for codes in domain.combinations(constants):
            held = self._codes[self._schema.by_path[(*path, *codes)]]
            parts = zip(fields, codes, strict=True)
            values = {inside: self._held(leaf.bare, self._pool.int(code), self._pool.false) for (inside, leaf), code in parts}
            member = Member(domain.struct.type_name, values)
            found += [(member, self._pool.lt(self._pool.int(times), held)) for times in range(most)]
        return found

    def _past_the_end(self, path: Path) -> Expr:
        """Of a field of a log's record: that the log is too short to have that record."""
        pool = self._pool
        for at, part in enumerate(path):
            if part == LogDomain.RECORDS and path[:at] in self._schema.logs:
                end, offset = self._codes[self._schema.by_path[(*path[:at], LogDomain.END)]], path[at + 1]
                assert isinstance(offset, int)
                return pool.not_(pool.lt(pool.int(offset), end))
        return pool.false

    def parts(self, path: Path) -> str:
        """The parts of what is at a path, as they are written: `queue.end and queue.first`."""
        parts: list[Path] = [(name,) for name in self._names(path)]
        if path in self._schema.logs:
            parts = [(LogDomain.END,), (FIRST,), (LogDomain.RECORDS, 0)]
        return choices([path_name((*path, *part)) for part in parts])

    def _names(self, path: Path) -> list[str | int]:
        """What the parts of what is at a path are called."""
        return sorted({other[-1] for other in self.paths if other and other[:-1] == path}, key=str)

    def below(self, path: Path, part: str | int) -> Path | None:
        """Where a part of what is at a path is; of a log or a queue `first`, and a record by its offset alone, too."""
        longer = (*path, part)
        if longer not in self.paths and path in self._schema.logs and (part == FIRST or isinstance(part, int)):
            longer = (*path, LogDomain.RECORDS, 0 if part == FIRST else part)
        return longer if longer in self.paths else None

    def lacks(self, path: Path, part: str | int) -> str:
        """The sentence that what is at a path has no such part."""
        known = [*map(str, self._names(path))]
        whole = path_name(path) or "the state"
        if not known:
            return f"{whole} has no parts{self._instead(path, part)}"
        more = [] if path else [*self._schema.constants]
        sorts = [leaf.domain.bare for leaf in self._schema.leaves]
        is_name = not path and any(isinstance(sort, EnumDomain) and part in sort.item.names for sort in sorts)
        meant = f", and a name is written \"{part}\"" if is_name else near(str(part), [*known, *more])
        return f"{whole} has no {part!r}{meant}; it has {choices(known)}"

    def _instead(self, path: Path, part: str | int) -> str:
        """What is asked of a set in another way than in an action."""
        leaf = self._schema.by_path.get(path)
        if leaf is None or not isinstance(self._schema.leaves[leaf].domain.bare, SetDomain):
            return ""
        ways = {"size": f"len({path_name(path)})", "is_empty": f"{path_name(path)} == {{}}"}
        return f"; write {ways[str(part)]}" if part in ways else ""
