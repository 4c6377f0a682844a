"""What is made of terms: an optional id, a set of ids, and what a `Logic` knows of symbols that stand for something."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum, unique
from typing import Any, TypeAlias

from acked.base.frozen import frozen
from acked.model.firstorder.symbols import Sort, Symbol, Variable

Logic: TypeAlias = Any
Term: TypeAlias = Any
"""Of `terms.py`, which imports this module."""


@frozen(eq=False)
class Choice:
    """An optional id: whether there is one, and which; `value` is None where there is certainly none."""

    pool: Logic
    is_some: Term
    value: Term | None

    is_const = False


@frozen(eq=False)
class Relation:
    """A set of ids of one sort, by what is in it; `reaches` says whether its size reaches a threshold of the `Logic`."""

    pool: Logic
    sort: Sort
    member: Callable[[Term], Term]
    reaches: Callable[[Hashable], Term]

    is_const = False


@unique
class Detail(Enum):
    """How much is said of defined terms: all, an outline, or only what names of formulas mean. Less is never wrong."""

    WHOLE = "whole"
    OUTLINE = "outline"
    NAMES = "names"


@frozen
class Implication:
    """Where every assumption holds, the conclusion does."""

    name: str
    assumptions: tuple[Term, ...]
    conclusion: Term


@frozen
class Definition:
    """A symbol that stands for something: `meaning` holds of the symbol, applied to the variables, and of nothing else.

    `axioms` says so for all values of the variables; `outline`, which follows from them, is what suffices for most proofs: of
    the greatest number such that …, that it is such a number, and not that it is the greatest. That there is one such thing,
    and no other, is what the claims say; the name of a formula needs none.
    """

    symbol: Symbol
    variables: tuple[Variable, ...]
    meaning: tuple[Term, ...]
    axioms: tuple[Term, ...]
    outline: tuple[Term, ...]
    claims: tuple[Implication, ...]


@frozen
class Cardinality:
    """How many of `whole` ids, or numbers within bounds, are in a set: `member` says of a term whether it is.

    The set depends on the variables, by whose values `member` takes it. The axioms are true of sizes, and not all that is.
    """

    symbol: Symbol
    variables: tuple[Variable, ...]
    sort: Sort
    bounds: tuple[Term, Term] | None
    whole: Term
    member: Callable[[Term, tuple[Term, ...]], Term]
    axioms: tuple[Term, ...]


@frozen
class Measure:
    """Whether the size of a set reaches a threshold, or that of another set, a truth value: first-order logic cannot count.

    `relation` is the set, which depends on the variables. The axioms are true of sizes, whatever the threshold, and not all.
    """

    symbol: Symbol
    variables: tuple[Variable, ...]
    relation: Relation
    threshold: Hashable | Relation
    axioms: tuple[Term, ...]
