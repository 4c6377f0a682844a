"""Where the fields of a state are while a function is traced, and what has changed there since.

`Store`, the current expression of every leaf and the history of its changes; the stores behind structs that are not part
of a state.

A store is asked for codes of the domain that a field declares. How a leaf keeps them is the store's own affair: an id in a
slot of a log is kept as none where there is no record (`domain.SlotDomain`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, NoReturn, cast

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError, StepError
from acked.model.formulas.expr import Expr
from acked.model.formulas.places import authors_place
from acked.model.language.context import literal, resolve
from acked.model.language.domain import IdDomain, LeafDomain, Path, PresentDomain, SlotDomain
from acked.model.language.semantics import is_binding
from acked.model.language.storage.composites import LogDomain
from acked.model.language.storage.layout import Leaf, Schema
from acked.model.language.values import Id, OptionalValue

SymbolicPath = tuple[Any, ...]
"""A path whose indices are plain numbers or expressions."""


@frozen
class Write:
    """One assignment, append or truncation; `before` are the codes that it changed, by leaf, as they were.

    `writer` is the struct that was assigned through, if one was. `replaces` says that something else took the place of what
    was there, rather than that a field of it was assigned; `place` is what was replaced, where that is known.
    """

    writer: object
    replaces: bool
    place: SymbolicPath | None = None
    before: dict[int, Expr] = field(default_factory=dict)


class StateStore(ABC):
    """What stands behind a struct; codes are expressions, or what a reading has in their place.

    As it is here nothing changes in it, and it has no logs: that is so of structs that are not part of a state.
    """

    is_of_functions = False
    """Whether a field is a function of its indices, as where sizes are open."""
    counts: Mapping[SymbolicPath, int] = {}
    """How many elements there are at each path that leads to several, where that is known without asking a constant."""
    changes: Sequence[Write] = ()
    """What has changed, in order, if the store keeps a history."""
    facts: dict[object, Any] | None = None
    """What was found out of the state, if that is kept; see `remembered`."""

    @abstractmethod
    def read(self, path: SymbolicPath, moment: int | None = None) -> Expr:
        """The code at a path, now or before the change of that number."""

    def is_changed(self, path: SymbolicPath, number: int) -> bool:
        """Whether the change of that number changed the code at a path."""
        return False

    def begin(self, writer: object, replaces: bool, place: SymbolicPath | None = None) -> None:
        """What is written from now on is one change."""
        return

    def write(self, path: SymbolicPath, code: Expr, when: Expr | None = None) -> None:
        """Replaces the code at a path, where a condition holds; an index beyond the array writes nowhere."""
        return

    def blank_from(self, slots: SymbolicPath, log: LogDomain, cut: Expr) -> None:
        """Blanks the fields of every slot of a log from `cut` on."""
        return

    def copy(self, slots: SymbolicPath, source: SymbolicPath, log: LogDomain, between: tuple[Expr, Expr]) -> None:
        """Writes to the slots of a log, from the first offset up to and without the second, what another log has there."""
        return

    def slot(self, offset: int | Expr, log: LogDomain) -> int | Expr | None:
        """The index of the slot that an offset of a log reads from: of a known one beyond the log the last; None if it has no
        slots.
        """
        slots = resolve(log.size)
        if not slots:
            return None
        return slots - 1 if isinstance(offset, int) and not 0 <= offset < slots else offset

    def leaves(self) -> tuple[Schema, Sequence[Expr]]:
        """The layout and the code of every leaf; `ModelError` of a store that is not a state's."""
        raise ModelError("only a whole state has leaves")


class Store(StateStore):
    """The current expression of every leaf while one action is traced; assignments take effect at once."""

    def __init__(self, schema: Schema, codes: list[Expr]) -> None:
        self.schema = schema
        self.counts = schema.counts
        self.codes = codes
        self.changes: list[Write] = []
        self.facts: dict[object, Any] = {}
        self.strays: list[tuple[int, Expr]] = []
        """The last element of an array that is written to, and when the index is beyond it: such a write goes nowhere."""

    def begin(self, writer: object, replaces: bool, place: SymbolicPath | None = None) -> None:
        if is_binding():
            raise StepError("an assignment depends on the values that a quantifier goes through")
        self.changes.append(Write(writer, replaces, place))

    def read(self, path: SymbolicPath, moment: int | None = None) -> Expr:
        leaf = self.schema.by_path.get(path)
        if leaf is not None:
            code = self.codes[leaf] if moment is None else self._code_at(leaf, moment)
            kept = self.schema.leaves[leaf]
            return code if kept.slot is None else declared_code(kept, code)
        at, index = _first_symbolic(path)
        if index is None:
            raise KeyError(path)
        # The last element stands for every index beyond the array: reads are total, guards say where they matter.
        choices = [(*path[:at], k, *path[at + 1 :]) for k in range(self._count(path[:at]))]
        if not choices:
            return literal(0)
        value = self.read(choices[-1], moment)
        pool = value.pool
        for k in reversed(range(len(choices) - 1)):
            value = pool.ite(pool.eq(index, literal(k)), self.read(choices[k], moment), value)
        return value

    def is_changed(self, path: SymbolicPath, number: int) -> bool:
        # Most changes are of other leaves, which is seen without making the expressions before and after.
        before = self.changes[number].before
        leaf = self.schema.by_path.get(path)
        if leaf is not None:
            is_touched = leaf in before
        else:
            is_touched = any(_may_mean(path, self.schema.leaves[other].path) for other in before)
        return is_touched and self.read(path, number) is not self.read(path, number + 1)

    def _code_at(self, leaf: int, moment: int) -> Expr:
        later = (change.before[leaf] for change in self.changes[moment:] if leaf in change.before)
        return next(later, self.codes[leaf])

    def write(self, path: SymbolicPath, code: Expr, when: Expr | None = None) -> None:
        leaf = self.schema.by_path.get(path)
        if leaf is None:
            at, index = _first_symbolic(path)
            if index is None:
                raise KeyError(path)
            self._write_each(path, at, index, lambda leaf: kept_code(self.schema.leaves[leaf], code), when)
            return
        target = self.schema.leaves[leaf]
        new = kept_code(target, code)
        if (new.hi < 0 or new.lo >= target.cardinality) and not _is_absent(target, self.schema):
            raise StepError(f"assignment outside the domain: {self._misfit(target, new)}")
        self._set(leaf, new, when)

    def blank_from(self, slots: SymbolicPath, log: LogDomain, cut: Expr) -> None:
        for k in range(resolve(log.size)):
            dropped = cut.pool.le(cut, literal(k))
            for field_path, _ in log.record_leaves():
                path = (*slots, k, *field_path)
                at, index = _first_symbolic(path)
                if index is None:
                    self._set(self.schema.by_path[path], literal(0), dropped)
                else:
                    self._write_each(path, at, index, lambda _: literal(0), dropped)

    def copy(self, slots: SymbolicPath, source: SymbolicPath, log: LogDomain, between: tuple[Expr, Expr]) -> None:
        first, stop = between
        pool = first.pool
        for slot in range(resolve(log.size)):
            taken = pool.and_(pool.le(first, literal(slot)), pool.lt(literal(slot), stop))
            for path, _ in log.record_leaves():
                self.write((*slots, slot, *path), self.read((*source, slot, *path)), taken)

    def leaves(self) -> tuple[Schema, Sequence[Expr]]:
        return self.schema, self.codes

    def codes_after(self) -> list[Expr]:
        """The code of every leaf."""
        return self.codes.copy()

    def close(self) -> None:
        """The function that worked on this is over: whoever kept it may neither read nor write."""
        self.codes, self.facts = _Over(), {}

    def _write_each(
        self, path: SymbolicPath, at: int, index: Expr, code: Callable[[int], Expr], when: Expr | None
    ) -> None:
        """Writes `code(leaf)` to the element that the index at `at` means; further indices may be symbolic, too."""
        pool, count = index.pool, self._count(path[:at])
        is_slot = at > 0 and path[at - 1] == LogDomain.RECORDS  # What is assigned beyond a log's slots goes nowhere.
        if count and not is_slot and not 0 <= index.lo <= index.hi < count:
            beyond = pool.or_(pool.lt(index, literal(0)), pool.le(literal(count), index))
            self._note_stray((*path[:at], count - 1, *path[at + 1 :]), beyond if when is None else pool.and_(beyond, when))
        for k in range(count):
            here = pool.eq(index, literal(k))
            meant = here if when is None else pool.and_(here, when)
            element = (*path[:at], k, *path[at + 1 :])
            inner, further = _first_symbolic(element)
            if further is not None:
                self._write_each(element, inner, further, code, meant)
            else:
                leaf = self.schema.by_path[element]
                self._set(leaf, code(leaf), meant)

    def _note_stray(self, path: SymbolicPath, beyond: Expr) -> None:
        element = tuple(0 if isinstance(part, Expr) else part for part in path)
        self.strays.append((self.schema.by_path[element], beyond))

    def _set(self, leaf: int, code: Expr, when: Expr | None) -> None:
        if _is_absent(self.schema.leaves[leaf], self.schema):
            return
        old = self.codes[leaf]
        new = code if when is None else code.pool.ite(when, code, old)
        if new is not old:
            if self.changes:
                self.changes[-1].before.setdefault(leaf, old)
            self.codes[leaf] = new

    def _misfit(self, target: Leaf, code: Expr) -> str:
        values = (target.code_text(at, self.schema.constants) for at in (code.lo, code.hi))
        given = "..".join(dict.fromkeys(values))
        return f"{target.name} holds {target.range_text(self.schema.constants)}, and this is {given}"

    def _count(self, prefix: SymbolicPath) -> int:
        return self.counts.get(prefix, 0)


class PlacedStore(Store):
    """A store that notes where an author's function assigned each leaf last: the file and the line."""

    def __init__(self, schema: Schema, codes: list[Expr]) -> None:
        super().__init__(schema, codes)
        self.places: dict[int, tuple[str, int]] = {}

    def _set(self, leaf: int, code: Expr, when: Expr | None) -> None:
        before, place = self.codes[leaf], authors_place()
        super()._set(leaf, code, when)
        if self.codes[leaf] is not before and place is not None:
            self.places[leaf] = place


class _Over(list[Expr]):
    """The codes of a state that is over."""

    def __getitem__(self, number: object = None) -> NoReturn:
        raise ModelError("this state was kept from a function that is over; a function works on the state that it is given")

    __iter__ = __getitem__


class LiteralStore(StateStore):
    """The fields of a struct made in place, such as `Record(id=…, epoch=…)`."""

    def __init__(self, codes: Mapping[SymbolicPath, Expr]) -> None:
        self.codes = codes

    def read(self, path: SymbolicPath, moment: int | None = None) -> Expr:
        return self.codes[path]

    def begin(self, writer: object, replaces: bool, place: SymbolicPath | None = None) -> None:
        """Fields of a struct made in place are set once, when it is made."""
        raise ModelError("a struct made in place cannot be changed; make a new one")


class NoStore(StateStore):
    """The record of a log that has room for none: it is blank, and what is written to it goes nowhere."""

    def __init__(self, fields: Sequence[tuple[Path, LeafDomain]]) -> None:
        self._blank = {path: -1 if isinstance(domain, IdDomain) else 0 for path, domain in fields}

    def read(self, path: SymbolicPath, moment: int | None = None) -> Expr:
        """The code of a blank field; of an id that of no id."""
        return literal(self._blank[path])


def _first_symbolic(path: SymbolicPath) -> tuple[int, Expr | None]:
    for at, part in enumerate(path):
        if isinstance(part, Expr):
            return at, part
    return -1, None


def _may_mean(path: SymbolicPath, place: Path) -> bool:
    """Whether a path leads to a place under some values of its symbolic indices."""
    return len(path) == len(place) and all(
        isinstance(part, Expr) or part == other for part, other in zip(path, place, strict=True)
    )


def _is_absent(leaf: Leaf, schema: Schema) -> bool:
    return isinstance(leaf.domain, PresentDomain) and leaf.domain.is_absent(schema.constants)


def declared_code(leaf: Leaf, code: Expr) -> Expr:
    """What a leaf holds as the field's own domain codes it; of an id in a slot without a record −1, the code of no id."""
    return code if leaf.slot is None else OptionalValue(code, _item(leaf)).value.expr


def kept_code(leaf: Leaf, code: Expr) -> Expr:
    """The inverse; "no id" is not a value that a slot with a record could hold, and so not none either."""
    return code if leaf.slot is None else OptionalValue(literal(0), _item(leaf)).code_of(_item(leaf)(code))


def _item(leaf: Leaf) -> type[Id]:
    assert isinstance(leaf.domain.bare, SlotDomain)
    return cast(type[Id], leaf.domain.bare.item)


def path_text(path: SymbolicPath) -> str:
    """A path as people write it, with … for an index that depends on the state."""
    known = ("[…]" if isinstance(part, Expr) else f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(known).lstrip(".")
