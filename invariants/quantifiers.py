"""Quantification over values of two or three types at once, as nested `every` says it, and over the offsets of logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from acked.model.language.quantify import every, implies
from acked.model.language.semantics import semantics
from acked.model.language.sets import SetValue
from acked.model.language.state import Struct
from acked.model.language.storage.views import LogView
from acked.model.language.values import Bool, N, Value

A = TypeVar("A", bound=Value)
B = TypeVar("B", bound=Value)
C = TypeVar("C", bound=Value)
S = TypeVar("S", bound=Struct)


def every_two(first: type[A] | SetValue[Any], second: type[B], body: Callable[[A, B], Bool]) -> Bool:
    """Whether the body holds for every value of the first type, or member of a set, with every value of the second type."""
    return semantics().every(first, lambda a: every(second, lambda b: body(a, b)))


def every_three(first: type[A], second: type[B], third: type[C], body: Callable[[A, B, C], Bool]) -> Bool:
    """Whether the body holds for all values of three types."""
    return every(first, lambda a: every_two(second, third, lambda b, c: body(a, b, c)))


def same_until(here: LogView[S, N], there: LogView[S, N], last: N) -> Bool:
    """Whether two logs hold the same records up to an offset, and at it."""
    return every(type(last), lambda o: implies(o <= last, here.same_record_at(there, o)))
