"""The kernel and the loops of a question as a WebAssembly module, compiled by LLVM as it comes with llvmlite.

`compile_module`, for addresses of 64 or 32 bits; compiled modules are cached by what they are made of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from acked.checker.loops import expansion
from acked.checker.loops import table as visited
from acked.checker.native import translator
from acked.checker.native.compile import compile_once, kernel_key, literals
from acked.checker.native.kernel import fire_ir, vector_ir
from acked.checker.question.plan import KernelPlan
from acked.checker.wasm import sections

WIDTHS = (32, 64)
"""Bits of an address. With 32 a search is as quick and every browser takes it; 64 are for those that need more than 4 GiB."""

CALLED_FIRST = ("unpack", "guards", "representatives")
"""What stands in the module's table before the actions, from index 1 on; without symmetry the third is missing."""

_EXPORTED = ("receive", "expand", "inspect", "grow", "set_limit", "find_source")
_FEATURES = "+simd128,+bulk-memory,+bulk-memory-opt,+sign-ext,+nontrapping-fptoint,+mutable-globals"
LANES = 2
"""How many times 64 states are decided about at a time: as many as one register holds, for half the code."""

# The product of two 128-bit numbers, which LLVM takes from a compiler's runtime on this target: by halves of 32 bits.
_RUNTIME = """\
define void @__multi3(ptr %result, i64 %a, i64 %a.high, i64 %b, i64 %b.high) {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %carry = lshr i64 %p00, 32
  %middle = add i64 %p10, %carry
  %middle.low = and i64 %middle, 4294967295
  %middle.high = lshr i64 %middle, 32
  %other = add i64 %p01, %middle.low
  %other.high = lshr i64 %other, 32
  %upper = add i64 %p11, %middle.high
  %product.high = add i64 %upper, %other.high
  %product.low = mul i64 %a, %b
  %cross0 = mul i64 %a, %b.high
  %cross1 = mul i64 %a.high, %b
  %high0 = add i64 %product.high, %cross0
  %high = add i64 %high0, %cross1
  store i64 %product.low, ptr %result
  %second = getelementptr i64, ptr %result, i64 1
  store i64 %high, ptr %second
  ret void
}
"""


def called(plan: KernelPlan) -> tuple[str, ...]:
    """The functions in the module's table, from index 1 on."""
    first = CALLED_FIRST if plan.is_symmetric else CALLED_FIRST[:-1]
    return (*first, *(f"fire_{number}" for number in range(len(plan.instance.actions))))


def compile_module(plan: KernelPlan, bits: int) -> bytes:
    """The module of a plan for addresses of so many bits (`WIDTHS`), from the cache if it is there."""
    return compile_once(f"{_key(plan, bits)}.wasm", lambda: _compiled(plan, bits))


def _key(plan: KernelPlan, bits: int) -> str:
    return hashlib.sha256(f"{kernel_key(plan)} {_source_hash()} {bits}".encode()).hexdigest()


@cache
def _source_hash() -> str:
    return hashlib.sha256(b"\0".join(Path(name).read_bytes() for name in (__file__, sections.__file__))).hexdigest()


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def _compiled(plan: KernelPlan, bits: int) -> bytes:
    constants = {**literals(plan.instance.schema.words), "COMPRESSES": 0, "EXTRACTS": 0}
    loops = translator.translate((*visited.FUNCTIONS, *expansion.COMMON), constants)
    return linked(loops, (vector_ir(plan, LANES), fire_ir(plan)), bits, _EXPORTED, called(plan))


def linked(loops: str, kernel: Sequence[str], bits: int, exported: Sequence[str], table: Sequence[str]) -> bytes:
    """The module of LLVM IR: of loops, which gain by the whole pipeline, and of a kernel's parts, which do not.

    It exports the functions `exported`, and has the functions of the kernel that `table` names in its table from index 1 on.
    """
    whole = _llvm().parse_bitcode(_optimized(loops, bits, tuple(exported)))
    for text in (*kernel, _RUNTIME):
        whole.link_in(_parsed(text, bits))
    whole.verify()
    return sections.module_of(bytes(_machine(bits).emit_object(whole)), bits, exported, table)


@cache
def _optimized(text: str, bits: int, exported: tuple[str, ...]) -> bytes:
    """Bitcode of loops, which are the same for all questions whose states have as many words."""
    whole = _parsed(text, bits)
    for function in whole.functions:
        if not function.is_declaration and function.name not in exported:
            function.linkage = "internal"
    llvm, machine = _llvm(), _machine(bits)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(whole, builder)
    return bytes(whole.as_bitcode())


def _machine(bits: int) -> Any:
    return _llvm().Target.from_triple(f"wasm{bits}-unknown-unknown").create_target_machine(
        cpu="generic", features=_FEATURES, opt=2, reloc="static", codemodel="small"
    )


def _parsed(text: str, bits: int) -> Any:
    module = _llvm().parse_assembly(text)
    module.triple, module.data_layout = f"wasm{bits}-unknown-unknown", str(_machine(bits).target_data)
    return module
