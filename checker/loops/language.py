"""A small subset of Python in which the native loops are written, so that they read as Python and start in no time.

The subset: functions whose parameters and result are `U64` (unsigned, wrapping) or pointers `P8`, `P16`, `P64`; local
variables of these types; `p[i]`, `p[i] = x`, `+=` and its kin; `+ - * // % & | ^ << >>`, comparisons (unsigned),
`and`, `or`, `not` (lazy); `if`, `while`, `for i in range(…)`, `break`, `continue`, `return`; calls of each other and of
the words below. Constants of the module or of one that it imports (`slots.OUT`) are literals, as are those given to
`translate`; `for w in unrolled(N)` unrolls.

A generator is inlined where a `for` loops over it: its body stands there, with the loop's body in place of each `yield`. It
may loop over other generators, and it does not return early.

Pointers never alias the context of another worker, and nothing is bounds-checked: both are the caller's responsibility. To
mypy a pointer is a class of its own, so it notices where one takes the place of another or of a number.
"""

from __future__ import annotations

from typing import NoReturn, TypeVar

U64 = int
KINDS = ("and", "andn", "or", "xor")
"""What `combine` makes of two bits: `andn` is the first and not the second."""


def _only_native(*_: object) -> NoReturn:
    raise NotImplementedError("this word exists only in translated code")


class _Pointer:
    """To unsigned numbers of one width, which are read and written as `U64`."""

    def __getitem__(self, index: U64) -> U64:
        _only_native(index)

    def __setitem__(self, index: U64, value: U64) -> None:
        _only_native(index, value)


class P8(_Pointer):
    """A pointer to bytes."""


class P16(_Pointer):
    """A pointer to 16-bit numbers."""


class P64(_Pointer):
    """A pointer to 64-bit numbers."""


Pointer = TypeVar("Pointer", P8, P16, P64)


def prefetch(pointer: P64, index: U64) -> None:
    """Prefetches `pointer[index]` into L2, which has more outstanding-miss slots than L1."""
    _only_native(pointer, index)


def trailing_zeros(value: U64) -> U64:
    """The number of zero bits below the lowest one bit; 64 of zero."""
    _only_native(value)


def list_ones(target: P16, bits: U64, first: U64) -> U64:
    """Lists `first + k` for every one bit k of `bits`, in order; how many there are. Writes up to 64 numbers in any case.

    Where the processor compresses vectors of such numbers (`COMPRESSES` in `slots.py`) this takes a few instructions.
    """
    _only_native(target, bits, first)


def combine(kind: U64, target: P64, a: P64, b: P64) -> None:
    """Writes a bit of every state of a batch at `target`, made of those at `a` and `b` as `KINDS[kind]` says, a literal."""
    _only_native(kind, target, a, b)


def pack_bytes(target: P8, value: U64) -> U64:
    """Writes the bytes of a word that are not zero; a bit for each of them, and from bit 8 on how many they are.

    It writes eight bytes in any case. Only for processors that pack the chosen bits of a word (`EXTRACTS` in `slots.py`).
    """
    _only_native(target, value)


def minimum(a: U64, b: U64) -> U64:
    """The smaller of two numbers."""
    _only_native(a, b)


def high_product(a: U64, b: U64) -> U64:
    """The upper 64 bits of the 128-bit product."""
    _only_native(a, b)


def p8(address: U64) -> P8:
    """The address as a pointer to bytes."""
    _only_native(address)


def p16(address: U64) -> P16:
    """The address as a pointer to 16-bit numbers."""
    _only_native(address)


def p64(address: U64) -> P64:
    """The address as a pointer to 64-bit numbers."""
    _only_native(address)


def at(pointer: Pointer, index: U64) -> Pointer:
    """The pointer moved on by `index` elements of its own type."""
    _only_native(pointer, index)


def match_bucket(slots: P64, shift: U64, tag: U64) -> U64:
    """Of eight slots: bit k of the result if `slots[k] >> shift == tag` and it is not zero, bit 8 + k if slot k is zero."""
    _only_native(slots, shift, tag)


def copy(target: P64, source: P64, count: U64) -> None:
    """Copies `count` 64-bit numbers; the two must not overlap."""
    _only_native(target, source, count)


def load_acquire(pointer: P64, index: U64) -> U64:
    """`pointer[index]`, and with it everything that another thread wrote before it released that number."""
    _only_native(pointer, index)


def store_release(pointer: P64, index: U64, value: U64) -> None:
    """`pointer[index] = value`, after everything that this thread wrote before."""
    _only_native(pointer, index, value)


def fetch_add(pointer: P64, index: U64, value: U64) -> U64:
    """Adds to `pointer[index]` in one step for all threads, and returns what it was; acquires and releases."""
    _only_native(pointer, index, value)


def swap(pointer: P64, index: U64, value: U64) -> U64:
    """Replaces `pointer[index]` in one step for all threads, and returns what it was; acquires and releases."""
    _only_native(pointer, index, value)


def compare_and_swap(pointer: P64, index: U64, expected: U64, value: U64) -> U64:
    """Replaces `pointer[index]` if it is as expected, in one step for all threads; returns what it was; acquires and
    releases."""
    _only_native(pointer, index, expected, value)


def call(address: U64, *arguments: U64 | P8 | P16 | P64) -> U64:
    """Calls the native function at an address; all results are `U64`."""
    _only_native(address, *arguments)


def unrolled(count: int) -> range:
    """Like `range(count)`, with the loop unrolled; `count` must be a literal."""
    return range(count)
