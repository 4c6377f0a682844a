"""The words of the native loops (`loops/language.py`) as LLVM IR: single instructions, and some on many numbers at once.

Each is given `Let`, `Emit` and its arguments as texts, and returns the text of its value, 0 where it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from acked.checker.loops.language import KINDS
from acked.checker.question.plan import BATCH

Let = Callable[[str], str]
"""Gives the value of an instruction a name."""
Emit = Callable[[str], None]
"""Adds an instruction without a value."""

HALF = 32
"""Numbers of 16 bits that a vector has room for, half as many as a word has bits."""

DECLARATIONS = f"""\
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.umin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.x86.bmi.pext.64(i64, i64)
declare i32 @llvm.ctpop.i{HALF}(i{HALF})
declare <{HALF} x i16> @llvm.experimental.vector.compress.v{HALF}i16(<{HALF} x i16>, <{HALF} x i1>, <{HALF} x i16>)
"""


def _place(let: Let, pointer: str, index: str) -> str:
    return let(f"getelementptr inbounds i64, ptr {pointer}, i64 {index}")


def prefetch(let: Let, emit: Emit, pointer: str, index: str) -> str:
    """`language.prefetch`."""
    emit(f"call void @llvm.prefetch.p0(ptr {_place(let, pointer, index)}, i32 0, i32 2, i32 1)")
    return "0"


def load_acquire(let: Let, _: Emit, pointer: str, index: str) -> str:
    """`language.load_acquire`."""
    return let(f"load atomic i64, ptr {_place(let, pointer, index)} acquire, align 8")


def store_release(let: Let, emit: Emit, pointer: str, index: str, value: str) -> str:
    """`language.store_release`."""
    emit(f"store atomic i64 {value}, ptr {_place(let, pointer, index)} release, align 8")
    return "0"


def fetch_add(let: Let, _: Emit, pointer: str, index: str, value: str) -> str:
    """`language.fetch_add`."""
    return let(f"atomicrmw add ptr {_place(let, pointer, index)}, i64 {value} acq_rel, align 8")


def swap(let: Let, _: Emit, pointer: str, index: str, value: str) -> str:
    """`language.swap`."""
    return let(f"atomicrmw xchg ptr {_place(let, pointer, index)}, i64 {value} acq_rel, align 8")


def compare_and_swap(let: Let, _: Emit, pointer: str, index: str, expected: str, value: str) -> str:
    """`language.compare_and_swap`."""
    place = _place(let, pointer, index)
    pair = let(f"cmpxchg ptr {place}, i64 {expected}, i64 {value} acq_rel acquire, align 8")
    return let(f"extractvalue {{ i64, i1 }} {pair}, 0")


def copy(let: Let, emit: Emit, target: str, source: str, count: str) -> str:
    """`language.copy`."""
    emit(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {let(f'shl i64 {count}, 3')}, i1 false)")
    return "0"


def trailing_zeros(let: Let, _: Emit, value: str) -> str:
    """`language.trailing_zeros`."""
    return let(f"call i64 @llvm.cttz.i64(i64 {value}, i1 false)")


def minimum(let: Let, _: Emit, a: str, b: str) -> str:
    """`language.minimum`."""
    return let(f"call i64 @llvm.umin.i64(i64 {a}, i64 {b})")


def high_product(let: Let, _: Emit, a: str, b: str) -> str:
    """`language.high_product`."""
    wide = [let(f"zext i64 {text} to i128") for text in (a, b)]
    upper = let(f"lshr i128 {let(f'mul i128 {wide[0]}, {wide[1]}')}, 64")
    return let(f"trunc i128 {upper} to i64")


def match_bucket(let: Let, _: Emit, slots: str, shift: str, tag: str) -> str:
    """`language.match_bucket`."""
    wide, bits = "<8 x i64>", "<8 x i1>"
    loaded = let(f"load {wide}, ptr {slots}, align 64")
    tags = let(f"lshr {wide} {loaded}, splat (i64 {shift})")
    single = let(f"insertelement {wide} poison, i64 {tag}, i64 0")
    wanted = let(f"shufflevector {wide} {single}, {wide} poison, <8 x i32> zeroinitializer")
    used = let(f"icmp ne {wide} {loaded}, zeroinitializer")
    # A free slot does not match tag 0.
    same = let(f"icmp eq {wide} {tags}, {wanted}")
    matches = let(f"and {bits} {same}, {used}")
    masks = [let(f"zext i8 {let(f'bitcast {bits} {mask} to i8')} to i64") for mask in (matches, used)]
    free = let(f"shl i64 {let(f'xor i64 {masks[1]}, 255')}, 8")
    return let(f"or i64 {masks[0]}, {free}")


def list_ones(let: Let, emit: Emit, target: str, bits: str, first: str) -> str:
    """`language.list_ones`: for each half of the word, the numbers whose bits are set are packed and stored, and the others
    behind them, where the next are stored."""
    wide = f"<{HALF} x i16>"
    single = let(f"insertelement {wide} poison, i16 {let(f'trunc i64 {first} to i16')}, i64 0")
    base = let(f"shufflevector {wide} {single}, {wide} poison, <{HALF} x i32> zeroinitializer")
    listed = "0"
    for half in range(2):
        numbers = ", ".join(f"i16 {half * HALF + k}" for k in range(HALF))
        numbered = let(f"add {wide} {base}, <{numbers}>")
        part = let(f"trunc i64 {let(f'lshr i64 {bits}, {half * HALF}')} to i{HALF}")
        mask = let(f"bitcast i{HALF} {part} to <{HALF} x i1>")
        name = f"@llvm.experimental.vector.compress.v{HALF}i16"
        chosen = let(f"call {wide} {name}({wide} {numbered}, <{HALF} x i1> {mask}, {wide} poison)")
        place = let(f"getelementptr inbounds i16, ptr {target}, i64 {listed}")
        emit(f"store {wide} {chosen}, ptr {place}, align 2")
        count = let(f"call i{HALF} @llvm.ctpop.i{HALF}(i{HALF} {part})")
        listed = let(f"add i64 {listed}, {let(f'zext i{HALF} {count} to i64')}")
    return listed


def combine(let: Let, emit: Emit, kind: str, target: str, a: str, b: str) -> str:
    """`language.combine`."""
    wide = f"<{BATCH // 64} x i64>"
    first, second = (let(f"load {wide}, ptr {place}, align 64") for place in (a, b))
    operation = KINDS[int(kind)]
    if operation == "andn":
        operation, second = "and", let(f"xor {wide} {second}, splat (i64 -1)")
    emit(f"store {wide} {let(f'{operation} {wide} {first}, {second}')}, ptr {target}, align 64")
    return "0"


def pack_bytes(let: Let, emit: Emit, target: str, value: str) -> str:
    """`language.pack_bytes`: the sum has the upper bit of every byte that is not zero, and carries nothing beyond a byte."""
    rest, upper = (int.from_bytes(bytes([byte] * 8), "little") for byte in (0x7F, 0x80))
    carried = let(f"add i64 {let(f'and i64 {value}, {rest}')}, {rest}")
    used = let(f"and i64 {let(f'or i64 {carried}, {value}')}, {upper}")
    chosen = let(f"mul i64 {let(f'lshr i64 {used}, 7')}, 255")
    emit(f"store i64 {let(f'call i64 @llvm.x86.bmi.pext.64(i64 {value}, i64 {chosen})')}, ptr {target}, align 1")
    bits = let(f"call i64 @llvm.x86.bmi.pext.64(i64 {used}, i64 {upper})")
    count = let(f"call i64 @llvm.ctpop.i64(i64 {used})")
    return let(f"or i64 {bits}, {let(f'shl i64 {count}, 8')}")


WORDS: Mapping[str, Callable[..., str]] = {
    word.__name__: word
    for word in (
        prefetch, load_acquire, store_release, fetch_add, swap, compare_and_swap, copy, trailing_zeros, minimum, high_product,
        match_bucket, list_ones, combine, pack_bytes,
    )
}  # fmt: skip
"""By name."""
