"""What is outside the subset of Python that becomes machine code is refused with function and line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from acked.checker.loops import slots
from acked.checker.loops.language import (
    P8,
    P16,
    P64,
    U64,
    unrolled,
)
from acked.checker.native.translator import LowLevelError, translate


def added(a: U64, b: U64) -> U64:
    return a + b


def list_comprehension(a: U64) -> U64:
    return [a][0]


def text(a: U64) -> U64:
    return "a"  # type: ignore[return-value]


def fraction(a: U64) -> U64:
    return a * 0.5  # type: ignore[return-value]


def unknown_name(a: U64) -> U64:
    return a + nowhere  # type: ignore[name-defined,no-any-return]  # noqa: F821


def unknown_call(a: U64) -> U64:
    return abs(a)


def method(a: U64) -> U64:
    return a.bit_length()


def name_of_no_constant(a: U64) -> U64:
    return a + slots.NOBODY  # type: ignore[attr-defined,no-any-return]


def part_of_a_variable(slots: U64) -> U64:
    return slots.OUT  # type: ignore[attr-defined,no-any-return]


def constant_of_a_module(a: U64) -> U64:
    return a + slots.OUT


def chained(a: U64) -> U64:
    return 1 if 1 < a < 5 else 0


def true_division(a: U64) -> U64:
    return a / 2  # type: ignore[return-value]


def loop_over_a_list(a: U64) -> U64:
    for x in [1, 2]:
        a += x
    return a


def unrolled_by_a_variable(a: U64) -> U64:
    for _ in unrolled(a):
        pass
    return a


def indexed_number(a: U64) -> U64:
    return a[0]  # type: ignore[index,no-any-return]


def number_into_pointer(a: P64, b: U64) -> U64:
    a = b  # noqa: F841
    return 0


def pointer_stored(a: P64) -> U64:
    a[0] = a
    return 0


def pointer_added(a: P8) -> U64:
    return a + 1  # type: ignore[no-any-return]


def pair(a: U64) -> U64:
    b, c = a, a
    return b + c


def guarded(a: U64) -> U64:
    try:
        return a
    except ValueError:
        return 0


def unannotated(a) -> U64:  # type: ignore[no-untyped-def]
    return a  # type: ignore[no-any-return]


def wrong_annotation(a: float) -> U64:
    return 0


def wrong_argument(a: P16) -> U64:
    return added(a, 1)


def too_few_arguments(a: U64) -> U64:
    return added(a)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (list_comprehension, "List|P8|cannot be indexed|outside"),
        (text, "Constant is outside the subset"),
        (fraction, "Constant is outside the subset"),
        (unknown_name, "nowhere is neither a variable nor a constant"),
        (unknown_call, "abs is not a word of the subset"),
        (method, "only plain functions can be called"),
        (name_of_no_constant, "slots.NOBODY is not a constant of a module"),
        (part_of_a_variable, "slots.OUT is not a constant of a module"),
        (chained, "Compare is outside the subset"),
        (loop_over_a_list, "only `for … in range"),
        (unrolled_by_a_variable, "needs a literal"),
        (indexed_number, "U64 cannot be indexed"),
        (number_into_pointer, "a is P64 and cannot become U64"),
        (pointer_stored, "cannot store P64 in memory"),
        (pointer_added, "expected a number, got P8"),
        (pair, "outside the subset|cannot assign"),
        (guarded, "Try is outside the subset"),
        (wrong_argument, "added takes U64, U64"),
        (too_few_arguments, "added takes U64, U64"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_what_is_outside_the_subset_is_refused_with_function_and_line(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(LowLevelError, match=message) as refusal:
        translate([added, function], {})
    assert str(refusal.value).startswith(f"{function.__name__}, line ")


@pytest.mark.parametrize("function", [unannotated, wrong_annotation], ids=lambda function: function.__name__)
def test_a_signature_of_other_types_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(LowLevelError, match="parameters and result must be U64"):
        translate([function], {})


def test_an_operator_outside_the_subset_is_refused() -> None:
    with pytest.raises(LowLevelError, match="Div"):
        translate([true_division], {})


def test_a_constant_of_a_module_is_a_literal() -> None:
    assert f", {slots.OUT}\n" in translate([constant_of_a_module], {})
