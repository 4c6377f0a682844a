"""What terms are made of: sorts, function symbols, bound variables, and the kinds of nodes.

They are tuples, because every term is looked up by them: what a dataclass calls to hash one is written in Python.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import NamedTuple


class Sort(NamedTuple):
    """What a term stands for: a truth value, an integer, or one of unknown many ids."""

    name: str


BOOL = Sort("Bool")
INT = Sort("Int")


class Symbol(NamedTuple):
    """A function or, without arguments, a constant that an interpretation gives a value."""

    name: str
    arguments: tuple[Sort, ...]
    result: Sort


def one_of(sort: Sort) -> Symbol:
    """The constant that stands for some id of a sort, such as the first leader."""
    return Symbol(f"one.{sort.name}", (), sort)


class Variable(NamedTuple):
    """A bound variable; the number is unique in its `Logic`."""

    number: int
    sort: Sort
    hint: str

    @property
    def name(self) -> str:
        """`Epoch!12`: the type that it ranges over and the number."""
        return f"{self.hint}!{self.number}"


@unique
class Op(Enum):
    """The closed set of node kinds, by their names in SMT-LIB where it has them."""

    __hash__ = object.__hash__  # Enum's own is written in Python, and every term is looked up by its kind.

    CONST = "const"
    VARIABLE = "variable"
    APPLY = "apply"
    ADD = "+"
    SUB = "-"
    MUL = "*"
    EQ = "="
    LT = "<"
    NOT = "not"
    AND = "and"
    OR = "or"
    ITE = "ite"
    EVERY = "forall"
    SOME = "exists"
