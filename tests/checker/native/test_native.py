"""Compiled code: the cache of objects, the translator's subset, and what it makes of it.

Cache hits, misses and damage; small functions translated, run and compared with Python; refusals.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acked.base.bounds import Bounds
from acked.checker.loops.language import (
    P64,
    U64,
    at,
    copy,
    fetch_add,
    high_product,
    match_bucket,
    minimum,
    p16,
    prefetch,
    swap,
    trailing_zeros,
    unrolled,
)
from acked.checker.native import compile as native
from acked.checker.native import programs
from acked.checker.native.compile import Kernel, ObjectCode, compile_kernel, kernel_key
from acked.checker.native.kernel import fire_ir
from acked.checker.native.machine import processor
from acked.checker.native.translator import LowLevelError, translate
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.checker.shards.shard import address, reserve
from tests.checker.toys import always, ask, counters

MASK = (1 << 64) - 1
WORDS = st.integers(0, MASK)


def question(top: int = 3, bound: int = 3) -> Question:
    return ask(counters(2, top), always("Small", lambda s: s.n0 <= bound))


# -- the cache ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise AssertionError("compiled again")

    monkeypatch.setattr(native, "emit", refuse)
    monkeypatch.setattr(native, "program_of", refuse)


@pytest.mark.slow
def test_the_same_question_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compile_kernel(question().plan)
    assert len(list(cache.iterdir())) == len((*first.objects, first.program)) == 2
    forbid_compiling(monkeypatch)
    assert compile_kernel(question().plan) == first


@pytest.mark.slow
@pytest.mark.parametrize("other", [question(top=4), question(bound=2)], ids=["protocol", "property"])
def test_another_question_is_compiled_anew(other: Question, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_kernel(question().plan)
    assert kernel_key(other.plan) != kernel_key(question().plan)
    forbid_compiling(monkeypatch)
    with pytest.raises(AssertionError, match="compiled again"):
        compile_kernel(other.plan)


@pytest.mark.slow
def test_questions_share_the_code_of_steps_that_are_the_same(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MOST_WORK", -1)  # Every action has code.
    asked = [question(bound=1), question(bound=2), question(4, 1)]
    one, same, other = (compile_kernel(each.plan).objects[0] for each in asked)
    assert one == same != other
    assert len([*cache.glob("*-fire.o")]) == 2
    assert [len(search(each, Bounds(1)).violations[0].run.states) for each in asked] == [3, 4, 3]


def test_what_is_said_of_steps_differs_where_their_code_does() -> None:
    plan = question().plan
    (check, other) = plan.step_checks
    plans = [plan, *(replace(plan, step_checks=(changed, other)) for changed in
                     (replace(check, bit=1), replace(check, violated=other.violated)))]  # fmt: skip
    plans += [replace(plan, step_checks=()), question(4, 1).plan, ask(counters(3, 3), always("Small", lambda s: s.n0 <= 3)).plan]
    said = [(native._said_of_steps(each, [at]), fire_ir(each, [at])) for each in plans for at in (0, 1)]
    assert len({*said}) == len({name for name, _ in said})
    assert len({ir for _, ir in said}) > 6


def test_another_processor_has_other_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    key = kernel_key(question().plan)
    monkeypatch.setattr(native, "processor", lambda: "another")
    assert kernel_key(question().plan) != key


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 5000, None], ids=["empty", "short", "zeros", "foreign"])
def test_a_damaged_object_is_never_loaded_and_is_replaced(damage: bytes | None, cache: Path) -> None:
    sound = compile_kernel(question().plan)
    paths = sorted(cache.iterdir())
    stored = [path.read_bytes() for path in paths]
    for path in paths:
        path.write_bytes(path.read_bytes()[:32] + b"\x7fELF" if damage is None else damage)
    assert compile_kernel(question().plan) == sound
    assert [path.read_bytes() for path in paths] == stored


@pytest.mark.slow
def test_an_object_whose_one_bit_is_flipped_is_not_believed(cache: Path) -> None:
    sound = compile_kernel(question().plan)
    path = next(path for path in cache.iterdir() if "program" in path.name)
    data = bytearray(path.read_bytes())
    for place in (0, 31, 32, len(data) // 2, len(data) - 1):
        broken = bytearray(data)
        broken[place] ^= 4
        path.write_bytes(broken)
        assert compile_kernel(question().plan) == sound
        assert path.read_bytes() == data


def test_a_cache_that_cannot_be_made_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert search(question(), Bounds(1, 1 << 24)).distinct_states == 16


# -- what the translator makes of its subset ---------------------------------------------------------------------------

STEP = 3
"""A module constant, and so a literal."""


def arithmetic(a: U64, b: U64) -> U64:
    return (a + b * STEP - (a ^ b)) | (a & (b << 3)) + (a >> 5)


def division(a: U64, b: U64) -> U64:
    return a // (b | 1) + a % (b | 1)


def comparisons(a: U64, b: U64) -> U64:
    total = 0
    if a < b:
        total += 1
    if a <= b:
        total += 2
    if a > b:
        total += 4
    if a >= b:
        total += 8
    if a == b:
        total += 16
    if a != b:
        total += 32
    return total


def lazy(a: U64, b: U64) -> U64:
    if (b != 0 and a // b > 3) or not (a > 5 or b > 7):
        return 1 if a else 2
    return 3


def loops(a: U64, b: U64) -> U64:
    total = 0
    for i in range(a & 31):
        if i == 3:
            continue
        if i > (b & 31):
            break
        total += i * i
    for i in range(2, 7):
        total += i
    while total > 1000:
        total = total // 2
    for k in unrolled(4):
        total += k << 8
    return total


def built_in(a: U64, b: U64) -> U64:
    return trailing_zeros(a) + minimum(a, b) + high_product(a, b)


def calling(a: U64, b: U64) -> U64:
    return lazy(a, b) + 10 * comparisons(b, a)


def memory(data: P64, n: U64) -> U64:
    total = 0
    for i in range(n):
        prefetch(data, i)
        data[i] = data[i] * 2
        total += data[i]
    copy(at(data, n), data, n)
    small = p16(total)
    if total == 0:
        return small[0]
    return total


def in_python(function: Callable[..., int]) -> Callable[..., int]:
    """The source of the loops, run by Python: with the words that exist only in translated code."""
    words = {
        "trailing_zeros": lambda value: (value & -value).bit_length() - 1 if value else 64,
        "minimum": min,
        "high_product": lambda a, b: a * b >> 64,
    }
    namespace = {**function.__globals__, **words}
    return type(function)(function.__code__, namespace)  # type: ignore[call-arg,no-any-return]


def compiled(*functions: Callable[..., Any], **constants: int) -> Kernel:
    return Kernel(ObjectCode(processor(), (native.emit(translate(functions, constants), 2, 2),)))


PURE = (arithmetic, division, comparisons, lazy, loops, built_in, calling)
KERNEL = compiled(*PURE, memory)


@pytest.mark.parametrize("function", PURE, ids=lambda function: function.__name__)
def test_translated_code_computes_what_python_does_modulo_two_to_the_64(function: Callable[..., int]) -> None:
    native_function, plain = KERNEL.function(function.__name__, 2), in_python(function)

    @given(st.one_of(WORDS, st.integers(0, 40)), st.one_of(WORDS, st.integers(0, 40)))
    def agree(a: int, b: int) -> None:
        assert native_function(a, b) == plain(a, b) & MASK

    agree()


def test_translated_code_reads_writes_and_copies_memory() -> None:
    data = (ctypes.c_uint64 * 6)(1, 2, 1 << 63, 7, 7, 7)
    assert KERNEL.function("memory", 2)(ctypes.addressof(data), 3) == 6
    assert list(data) == [2, 4, 0, 2, 4, 0]


def claimed(cursor: P64, times: U64) -> U64:
    last = 0
    for _k in range(times):
        last = fetch_add(cursor, 0, 1)
        fetch_add(cursor, 1, 3)
    return last


def swapped(cell: P64, value: U64) -> U64:
    return swap(cell, 1, value)


def test_two_threads_that_add_to_one_number_lose_nothing() -> None:
    kernel, page, times = compiled(claimed), reserve(512), 200_000
    with ThreadPoolExecutor(2) as pool:
        last = list(pool.map(lambda _: kernel.function("claimed", 2)(address(page), times), range(2)))
    assert list(page[:3]) == [2 * times, 6 * times, 0]
    assert max(last) == 2 * times - 1


def test_a_swapped_number_is_returned_as_it_was() -> None:
    cells = (ctypes.c_uint64 * 3)(1, MASK, 3)
    assert compiled(swapped).function("swapped", 2)(ctypes.addressof(cells), 7) == MASK
    assert list(cells) == [1, 7, 3]


def seen_in_bucket(slots: P64, tag: U64) -> U64:
    return match_bucket(slots, 30, tag)


@pytest.mark.parametrize("tag", [0, 1, 7])
def test_a_free_slot_matches_no_tag(tag: int) -> None:
    kernel = compiled(seen_in_bucket)
    look = kernel.function("seen_in_bucket", 2)
    page = reserve(512)  # begins at a cache line, as buckets do
    assert look(address(page), tag) == 0xFF00
    page[2] = tag << 30 | 5
    page[3] = (tag + 1) << 30 | 6
    assert look(address(page), tag) == (1 << 2) | (0xFF & ~(1 << 2) & ~(1 << 3)) << 8


def test_a_constant_given_to_the_translator_is_a_literal() -> None:
    def scaled(a: U64) -> U64:
        return a * SCALE  # type: ignore[name-defined,no-any-return]  # noqa: F821

    assert compiled(scaled, SCALE=7).function("scaled", 1)(6) == 42


# -- generators ----------------------------------------------------------------------------------------------------


def evens(end: U64) -> Iterator[U64]:
    i = 0
    while i < end:
        if i & 1:
            i += 1
            continue
        yield i
        i += 1


def grid(rows: U64, columns: U64) -> Iterator[tuple[U64, U64]]:
    for i in evens(rows):
        for k in range(columns):
            yield i, k


def over_a_grid(rows: U64, columns: U64) -> U64:
    total = 0
    i = 1000  # not the generators' own
    for row, column in grid(rows, columns):
        if column == 3:
            continue
        if row * 100 + column > 404:
            break
        total = total * 7 + row * 10 + column
    for row in evens(rows):
        for again in evens(row):
            if again > 2:
                break
            total += i
        if row == 6:
            return total
    return total + 1


def run_as_python(rows: int, columns: int) -> int:
    return over_a_grid(rows, columns) & MASK


GRIDS = compiled(evens, grid, over_a_grid)


@given(st.integers(0, 9), st.integers(0, 7))
def test_a_generator_in_place_of_a_loop_is_pythons(rows: int, columns: int) -> None:
    assert GRIDS.function("over_a_grid", 2)(rows, columns) == run_as_python(rows, columns)


def returns_early(end: U64) -> Iterator[U64]:
    yield end
    return


def without_end(end: U64) -> Iterator[U64]:
    for i in without_end(end):
        yield i + 1


def used(a: U64) -> U64:
    for i in returns_early(a):
        a += i
    return a


def used_without_end(a: U64) -> U64:
    for i in without_end(a):
        a += i
    return a


def called(a: U64) -> U64:
    return evens(a)  # type: ignore[return-value]


def three_of_two(a: U64) -> U64:
    for i, k, m in grid(a, a):  # type: ignore[misc]
        a += i + k + m
    return a


def of_a_pointer(a: P64) -> U64:
    for i in evens(a):  # type: ignore[arg-type]
        return i
    return 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (used, "returns_early, line 3 of the function: a generator does not return early"),
        (used_without_end, "without_end cannot loop over itself"),
        (called, "evens is a generator, which only a `for` uses"),
        (three_of_two, "2 values are yielded and 3 are taken"),
        (of_a_pointer, "evens takes U64"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_generators_outside_the_subset_are_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(LowLevelError, match=message):
        translate([evens, grid, returns_early, without_end, function], {})


# -- what it refuses ---------------------------------------------------------------------------------------------------
