"""Optional ids and sets of ids in the first-order reading: a truth value and an id, and what is in the set.

They have the methods of `OptionalValue` and `SetValue`, so a protocol does not notice. Where types say `Expr`, `code` and
`formula` let a term pass for one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import cast

from acked.model.firstorder.definitions import cardinality, compare_sizes, measure
from acked.model.firstorder.records import Choice, Relation
from acked.model.firstorder.symbols import BOOL, Sort, Symbol
from acked.model.firstorder.terms import Logic, Term, free_variables
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import resolve
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool, Count, I, Id, IntLike, OptionalValue, V, Value


def code(content: Term | Choice | Relation) -> Expr:
    """A term, an optional id or a set where the language takes an expression: it asks of both the same."""
    return cast(Expr, content)


def formula(term: Term) -> Bool:
    """A truth value that is a term."""
    return Bool(code(term))


def term_of(value: Bool | bool) -> Term:
    """The term of a truth value."""
    return cast(Term, Bool.lift(value))


def sort_of(item: type[Id]) -> Sort:
    """The uninterpreted sort of an id type."""
    return Sort(item.__name__)


Facts = Callable[[Term, Callable[[Relation], Term]], Iterable[Term]]
"""What is true of a new set, given whether it reaches a threshold, and a function that says whether another one does."""


def derive(logic: Logic, sort: Sort, member: Callable[[Term], Term], facts: Facts) -> Relation:
    """A set that is made of others. Whether it reaches a threshold is open, but for the facts, which are true of all sets."""
    made: dict[Hashable, Term] = {}

    def reaches(threshold: Hashable) -> Term:
        if threshold not in made:
            probe = logic.variable(sort, sort.name)
            free = tuple(item.value for item in free_variables(member(probe)) if item is not probe)
            symbol = Symbol(logic.fresh("reaches"), tuple(item.sort for item in free), BOOL)
            term = logic.apply(symbol, map(logic.bound, free))
            known = tuple(facts(term, lambda other: other.reaches(threshold)))
            made[threshold] = measure(logic, symbol, free, relation, threshold, known)
        return made[threshold]

    relation = Relation(logic, sort, member, reaches)
    return relation


class SymbolicOptional(OptionalValue[V]):
    """An optional id, of which it is not said that it is a number."""

    __slots__ = ()

    @property
    def _choice(self) -> Choice:
        return cast(Choice, self.expr)

    @property
    def is_none(self) -> Bool:
        """Whether there is no value."""
        return ~self.is_some

    @property
    def is_some(self) -> Bool:
        """Whether there is a value."""
        return formula(self._choice.is_some)

    @property
    def value(self) -> V:
        """The value; of none any id, unless the reading is exact."""
        if self._choice.pool.is_exact:
            raise ModelError(
                f"the .value of an optional {self.item.type_name} may be that of none; compare the optional with ==, or "
                f"write some({self.item.__name__}, lambda x: (x == …) & …)"
            )
        if self._choice.value is None:
            raise ModelError(f"a {self.item.type_name} that is certainly none has no value")
        return self.item(code(self._choice.value))

    def code_of(self, other: object) -> Expr:
        """The choice behind a value, None or another optional."""
        logic = self._choice.pool
        if other is None:
            return code(Choice(logic, logic.false, None))
        if isinstance(other, OptionalValue):
            return super().code_of(other)
        return code(Choice(logic, logic.true, cast(Term, self.item.lift(other))))


class SymbolicSet(SetValue[I]):
    """A set of ids, by what is in it."""

    __slots__ = ()

    @property
    def _relation(self) -> Relation:
        return cast(Relation, self.expr)

    def _relation_of(self, other: SetValue[I]) -> Relation:
        return cast(Relation, self.mask_of(other))

    def _id(self, member: I | OptionalValue[I]) -> Term:
        return cast(Term, self.item.lift(member))

    def _make(self, member: Callable[[Term], Term], facts: Facts) -> SymbolicSet[I]:
        """A set that is made of others; `facts` compare its size with theirs."""
        return SymbolicSet(code(derive(self._relation.pool, self._relation.sort, member, facts)), self.item)

    def _every(self, body: Callable[[Term], Term]) -> Bool:
        return formula(self._relation.pool.every(self._relation.sort, self.item.__name__, body))

    @property
    def is_empty(self) -> Bool:
        """Whether nothing is in the set."""
        logic, member = self._relation.pool, self._relation.member
        return self._every(lambda x: logic.not_(member(x)))

    @property
    def size(self) -> Count:
        """A number of which is known what is true of sizes; or refused where first-order logic is to do without."""
        logic, relation = self._relation.pool, self._relation
        if logic.is_exact:
            return Count(code(cardinality(logic, relation, logic.int(resolve(self.item.size)))))
        raise ModelError(
            f"the number of {self.item.type_name}s in a set cannot be said in first-order logic; compare sets instead, or "
            "ask whether it reaches(…) a threshold that the protocol declares"
        )

    def reaches(self, threshold: IntLike) -> Bool:
        """Whether the set has at least so many members: a truth value that is kept beside the set."""
        return formula(self._relation.reaches(threshold))

    def as_many_as(self, other: SetValue[I]) -> Bool:
        """Whether the set has at least as many members: open, but where the other is a subset."""
        return formula(compare_sizes(self._relation.pool, self._relation, self._relation_of(other)))

    def contains(self, member: I | OptionalValue[I]) -> Bool:
        """Whether `member` is in the set; false of none."""
        logic, relation = self._relation.pool, self._relation
        if isinstance(member, OptionalValue) and member.item is self.item:
            choice = cast(Choice, member.expr)
            inside = logic.false if choice.value is None else relation.member(choice.value)
            return formula(logic.and_(choice.is_some, inside))
        return formula(relation.member(self._id(member)))

    def add(self, member: I | OptionalValue[I]) -> SymbolicSet[I]:
        """The set with `member`."""
        logic, relation, new = self._relation.pool, self._relation, self._id(member)
        return self._make(
            lambda x: logic.or_(relation.member(x), logic.eq(x, new)),
            lambda more, of: (
                logic.or_(logic.not_(of(relation)), more),
                logic.any((logic.not_(relation.member(new)), logic.not_(more), of(relation))),
            ),
        )

    def remove(self, member: I | OptionalValue[I]) -> SymbolicSet[I]:
        """The set without `member`."""
        logic, relation, old = self._relation.pool, self._relation, self._id(member)
        return self._make(
            lambda x: logic.and_(relation.member(x), logic.not_(logic.eq(x, old))),
            lambda less, of: (
                logic.or_(logic.not_(less), of(relation)),
                logic.any((relation.member(old), logic.not_(of(relation)), less)),
            ),
        )

    def is_only(self, member: I | OptionalValue[I]) -> Bool:
        """Whether `member` is the only one in the set."""
        logic, relation, only = self._relation.pool, self._relation, self._id(member)
        return self._every(lambda x: logic.eq(relation.member(x), logic.eq(x, only)))

    def issubset(self, other: SetValue[I]) -> Bool:
        """Whether every member is in `other` too."""
        logic, mine, theirs = self._relation.pool, self._relation, self._relation_of(other)
        return self._every(lambda x: logic.or_(logic.not_(mine.member(x)), theirs.member(x)))

    def __or__(self, other: SetValue[I]) -> SymbolicSet[I]:
        logic, mine, theirs = self._relation.pool, self._relation, self._relation_of(other)
        return self._make(
            lambda x: logic.or_(mine.member(x), theirs.member(x)),
            lambda both, of: (logic.or_(logic.not_(of(part)), both) for part in (mine, theirs)),
        )

    def __and__(self, other: SetValue[I]) -> SymbolicSet[I]:
        logic, mine, theirs = self._relation.pool, self._relation, self._relation_of(other)
        return self._make(
            lambda x: logic.and_(mine.member(x), theirs.member(x)),
            lambda common, of: (logic.or_(logic.not_(common), of(part)) for part in (mine, theirs)),
        )

    def __sub__(self, other: SetValue[I]) -> SymbolicSet[I]:
        logic, mine, theirs = self._relation.pool, self._relation, self._relation_of(other)
        return self._make(
            lambda x: logic.and_(mine.member(x), logic.not_(theirs.member(x))),
            lambda rest, of: (logic.or_(logic.not_(rest), of(mine)),),
        )

    __hash__ = Value.__hash__
