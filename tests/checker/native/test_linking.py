"""Object files that are linked and loaded without LLVM: what they compute, and what is left to LLVM's loader."""

from __future__ import annotations

import ctypes
import struct
import sys
from platform import machine

import pytest

from acked.checker.native import compile as native
from acked.checker.native import linking
from acked.checker.native.compile import Kernel, ObjectCode, compile_kernel, compile_optimized
from acked.checker.native.linking import link
from acked.checker.native.machine import processor
from acked.checker.search.local import search
from tests.checker.toys import always, ask, counters

pytestmark = pytest.mark.skipif(
    (sys.platform, machine()) != ("linux", "x86_64"), reason="elsewhere LLVM's own loader does it"
)

ASKS = """
@primes = internal constant [4 x i64] [i64 2, i64 3, i64 5, i64 7]
declare i64 @labs(i64)
declare i64 @other(i64)
define i64 @asks(i64 %n) {
  %place = getelementptr [4 x i64], ptr @primes, i64 0, i64 %n
  %prime = load i64, ptr %place
  %from_file = call i64 @other(i64 %prime)
  %from_library = call i64 @labs(i64 %from_file)
  ret i64 %from_library
}
define ptr @where() {
  ret ptr @asks
}
"""
OTHER = "define i64 @other(i64 %n) {\n  %less = sub i64 -10, %n\n  ret i64 %less\n}\n"


def compiled(text: str) -> bytes:
    return native.emit(text, 2, 2)


def test_constants_other_files_and_the_library_of_c_are_found() -> None:
    objects = (compiled(ASKS), compiled(OTHER))
    assert link(objects) is not None
    kernel = Kernel(ObjectCode(processor(), objects))
    asks = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(kernel.address("asks"))
    assert [asks(n) for n in range(4)] == [12, 13, 15, 17]
    assert kernel.function("where", 0)() == kernel.address("asks")
    assert kernel.address("nothing") == 0


def test_a_search_by_linked_code_is_the_one_by_code_that_llvm_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ask(counters(3, 5), always("Small", lambda s: s.n0 + s.n1 < 9))
    for compile_it in (compile_kernel, compile_optimized):
        assert link(compile_it(asked.plan).objects) is not None
    linked = search(asked)
    monkeypatch.setattr(native, "link", lambda _: None)
    native._load.cache_clear()
    loaded = search(asked)
    assert linked.violations == loaded.violations
    assert (linked.level_sizes, linked.actions) == (loaded.level_sizes, loaded.actions)


@pytest.mark.parametrize("cut", [0, 4, 64, -64])
def test_what_is_no_whole_object_file_is_left_alone(cut: int) -> None:
    assert link([compiled(OTHER)[:cut]]) is None


def test_other_processors_and_relocations_that_are_not_known_are_left_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(compiled(OTHER))
    struct.pack_into("<H", data, 18, 183)
    assert link([bytes(data)]) is None
    monkeypatch.setattr(linking, "_KINDS", {})
    assert link([compiled(OTHER)]) is not None
    assert link([compiled(ASKS), compiled(OTHER)]) is None


def test_a_name_that_nothing_defines_and_data_that_is_written_are_left_to_llvm() -> None:
    assert link([compiled(ASKS)]) is None
    assert link([compiled("@counted = global i64 1\n" + OTHER)]) is None
