"""Quantification over values of two or three types at once, as nested `every` says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from acked.model.language.quantify import every
from acked.model.language.semantics import semantics
from acked.model.language.sets import SetValue
from acked.model.language.values import Bool, Value

A = TypeVar("A", bound=Value)
B = TypeVar("B", bound=Value)
C = TypeVar("C", bound=Value)


def every_two(first: type[A] | SetValue[Any], second: type[B], body: Callable[[A, B], Bool]) -> Bool:
    """Whether the body holds for every value of the first type, or member of a set, with every value of the second type."""
    return semantics().every(first, lambda a: every(second, lambda b: body(a, b)))


def every_three(first: type[A], second: type[B], third: type[C], body: Callable[[A, B, C], Bool]) -> Bool:
    """Whether the body holds for all values of three types."""
    return every(first, lambda a: every_two(second, third, lambda b, c: body(a, b, c)))
