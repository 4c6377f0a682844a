"""What stands behind structs in the first-order reading: every family of fields as a function of its indices.

`Family`, all leaves of a state that differ only in indices, and `FunctionStore`, what every family holds while a function is
traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from acked.base.frozen import frozen
from acked.model.firstorder.normal import substitute
from acked.model.firstorder.ranges import is_within, least
from acked.model.firstorder.records import Choice, Relation
from acked.model.firstorder.symbols import BOOL, Op, Sort, one_of
from acked.model.firstorder.terms import Logic, Term
from acked.model.firstorder.values import sort_of
from acked.model.formulas.errors import ModelError
from acked.model.language.domain import BoolDomain, IdDomain, LeafDomain, OptionalDomain, SetDomain
from acked.model.language.storage.composites import LogDomain
from acked.model.language.storage.store import StateStore, SymbolicPath
from acked.model.language.values import Id, Value

Key = tuple[str | None, ...]
"""A path whose indices are None."""
Code = Any
"""A term, a `Choice` or a `Relation`, where the language's types say `Expr` (see `values.py`)."""
Content = Callable[[tuple[Term, ...]], Code]
"""What a family holds, by index: a formula, a number, an id, a `Choice` or a `Relation`."""


@frozen
class Index:
    """What a family is indexed by: ids of a sort, truth values, or the integers within bounds.

    An optional id is two indices, whether there is one (`is_flag`) and which.
    """

    sort: Sort
    item: type[Value]
    bounds: tuple[Term, Term] | None
    is_flag: bool = False

    @property
    def hint(self) -> str:
        """The name of the type, which variables and marks carry."""
        return self.item.__name__


@frozen
class Family:
    """All leaves of a state that differ only in indices, such as the high watermark of every replica.

    One that the constants leave out (`Present`) reads as zero, and what is assigned to it goes nowhere.
    """

    key: Key
    domain: LeafDomain
    indices: tuple[Index, ...]
    is_absent: bool = False

    @property
    def name(self) -> str:
        """`replica[].hw`."""
        return "".join("[]" if part is None else f".{part}" for part in self.key).lstrip(".")

    @property
    def is_truth(self) -> bool:
        """Whether it holds truth values: its content is a formula, which the language codes as 0 or 1."""
        return isinstance(self.domain, BoolDomain)


class FunctionStore(StateStore):
    """What every family holds while one action is traced; assignments take effect at once, as substitutions.

    It keeps no history: what a finite instance of a protocol refuses (`model/language/state.py`) is not asked here again.
    """

    is_of_functions = True

    def __init__(self, logic: Logic, families: Mapping[Key, Family], contents: Mapping[Key, Content]) -> None:
        self.logic = logic
        self.contents = dict(contents)
        self.families = families
        self._loops: list[_Loop] = []

    def read(self, path: SymbolicPath, moment: int | None = None) -> Code:
        key, at = self._split(path)
        if self.logic.is_exact:
            indices = self.families[key].indices
            at = tuple(inside(self.logic, index, term) for index, term in zip(indices, at, strict=True))
        for loop in self._loops:
            loop.read.append((key, at))
        content = self.contents[key](at)
        return self.logic.ite(content, self.logic.int(1), self.logic.int(0)) if self.families[key].is_truth else content

    def write(self, path: SymbolicPath, code: Code, when: Code = None) -> None:
        key, at = self._split(path)
        where = self.logic.true if when is None else when
        content = self.logic.eq(code, self.logic.int(1)) if self.families[key].is_truth else code
        for loop in self._loops:
            loop.note(key, at)
        self._replace(key, lambda index: self.logic.and_(self._is_at(index, at), where), lambda _: content)

    def blank_from(self, slots: SymbolicPath, log: LogDomain, cut: Code) -> None:
        home, at = self._split(slots)
        for path, _ in log.record_leaves():
            key = (*home, None, *_key(path))
            blank = zero(self.logic, self.families[key].domain)
            self._replace(
                key,
                lambda index: self.logic.and_(self._is_at(index[:-1], at), self.logic.le(cut, index[-1])),
                lambda _, blank=blank: blank,  # type: ignore[misc]
            )

    def copy(self, slots: SymbolicPath, source: SymbolicPath, log: LogDomain, between: tuple[Code, Code]) -> None:
        home, at = self._split(slots)
        other, there = self._split(source)
        first, stop = between
        for path, _ in log.record_leaves():
            taken = self.contents[*other, None, *_key(path)]
            self._replace(
                (*home, None, *_key(path)),
                lambda index: self.logic.all((
                    self._is_at(index[:-1], at), self.logic.le(first, index[-1]), self.logic.lt(index[-1], stop)
                )),
                lambda index, taken=taken: taken((*there, index[-1])),  # type: ignore[misc]
            )

    def slot(self, offset: Code, log: LogDomain) -> Code:
        """The offset itself: a log is a function of offsets, whatever its size."""
        return offset

    @contextmanager
    def for_each(self, element: Term) -> Iterator[None]:
        """What is written within the block is written for every value of the variable `element`.

        `ModelError` if what is written does not have it as an index, or if it matters in which order values are taken.
        """
        loop = _Loop(element)
        self._loops.append(loop)
        yield
        self._loops.pop()
        for key, at in loop.read:
            if key in loop.places and at[loop.places[key]] is not element:
                raise ModelError(
                    f"for_each(…) assigns {self.families[key].name} and reads an element of it that is not the one in hand; "
                    "take what it was before into a variable"
                )
        for key, place in loop.places.items():
            self.contents[key] = self._generalise(self.contents[key], element, place)

    def _generalise(self, made: Content, element: Term, place: int) -> Content:
        return lambda index: replace_variable(self.logic, made(index), element, index[place])

    def _replace(self, key: Key, where: Callable[[tuple[Term, ...]], Term], content: Content) -> None:
        if self.families[key].is_absent:
            return
        before = self.contents[key]
        self.contents[key] = lambda index: self.logic.ite(where(index), content(index), before(index))

    def _is_at(self, index: tuple[Term, ...], at: tuple[Term, ...]) -> Term:
        return self.logic.all(self.logic.eq(a, b) for a, b in zip(index, at, strict=True))

    def _indices(self, key: Key) -> tuple[Index, ...]:
        """The indices of a family, or of all that begin so."""
        known = self.families.get(key)
        return known.indices if known else next(
            family.indices for other, family in self.families.items() if other[: len(key)] == key
        )

    def _split(self, path: SymbolicPath) -> tuple[Key, tuple[Term, ...]]:
        logic, key = self.logic, _key(path)
        indices = self._indices(key)
        found: list[Term] = []
        for part in path:
            if isinstance(part, Choice):
                found += flat(logic, part, indices[len(found) + 1].sort)
            elif not isinstance(part, str):
                is_truth = indices[len(found)].sort is BOOL
                found.append(logic.give_name(logic.eq(logic.int(part), logic.int(1))) if is_truth else logic.int(part))
        return key, tuple(found)


def inside(logic: Logic, index: Index, term: Term) -> Term:
    """The index that is read from: beyond an array that is its last one, as in a finite instance."""
    if index.bounds is None:
        return term
    greatest = index.bounds[1]
    if is_within(term, greatest):
        return term
    if least(greatest) < 0:
        raise ModelError(
            f"an array that may be empty is read at a {index.item.type_name} that may be beyond it, which a proof for all "
            "constants does not cover; quantify over its indices"
        )
    known = logic.all((logic.le(logic.int(0), term), logic.le(term, greatest)))
    return cast(Term, logic.ite(known, term, greatest))


def flat(logic: Logic, choice: Choice, sort: Sort) -> tuple[Term, Term]:
    """An optional id as two indices: whether there is one, and which, of none always the same."""
    nobody = logic.apply(one_of(sort))
    which = nobody if choice.value is None else logic.ite(choice.is_some, choice.value, nobody)
    return logic.give_name(choice.is_some), which


class _Loop:
    """What the body of a `for_each` has read so far, and for every family that it wrote which index is the element's."""

    def __init__(self, element: Term) -> None:
        self.element = element
        self.read: list[tuple[Key, tuple[Term, ...]]] = []
        self.places: dict[Key, int] = {}

    def note(self, key: Key, at: tuple[Term, ...]) -> None:
        """An element of a family is written."""
        places = [number for number, item in enumerate(at) if item is self.element]
        if len(places) != 1 or self.places.setdefault(key, places[0]) != places[0]:
            raise ModelError("for_each(…) assigns only what has the value in hand as one of its indices, always the same one")


def replace_variable(logic: Logic, content: Code, variable: Term, value: Term) -> Code:
    """What a family holds, with a variable replaced."""
    assert variable.op is Op.VARIABLE
    replaced = {variable.value: value}
    if isinstance(content, Choice):
        held = None if content.value is None else substitute(logic, content.value, replaced)
        return Choice(logic, substitute(logic, content.is_some, replaced), held)
    if isinstance(content, Relation):
        return Relation(
            logic,
            content.sort,
            lambda x: substitute(logic, content.member(x), replaced),
            lambda bound: substitute(logic, content.reaches(bound), replaced),
        )
    return substitute(logic, content, replaced)


def _key(path: SymbolicPath) -> Key:
    return tuple(part if isinstance(part, str) else None for part in path)


def zero(logic: Logic, domain: LeafDomain) -> Code:
    """What a family of this domain holds before anything is assigned: code 0."""
    if isinstance(domain, SetDomain):
        return empty(logic, sort_of(domain.item))
    if isinstance(domain, OptionalDomain) and issubclass(domain.item, Id):
        return Choice(logic, logic.false, None)
    if isinstance(domain, IdDomain):
        raise ModelError(f"no {domain.item.type_name} is the first one in the first-order reading; make the field Optional")
    return logic.false if isinstance(domain, BoolDomain) else logic.int(0)


def empty(logic: Logic, sort: Sort) -> Relation:
    """The set of nothing, which has not even one member."""
    return Relation(logic, sort, lambda _: logic.false, lambda _: logic.false)
