"""From expressions to what runs: programs, compilation, and loading.

`compile_kernel` and its kin, which return portable bytes, and `Kernel`, the same loaded into this process.

Compiled objects are cached (`cache.py`) by a hash of the expressions, of this code, of LLVM's version and of the processor.
An entry that is damaged, or not ours, is compiled again.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum, unique
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acked.base.cache import SealedStore, open_cache
from acked.base.frozen import frozen
from acked.checker.loops import expansion as loops
from acked.checker.loops import formulas, growth, language, quotient, slots, table
from acked.checker.loops.lines import LineKind
from acked.checker.loops.slots import FIRE_GROUP, LANES
from acked.checker.native.linking import link
from acked.checker.native.machine import compiler, emit, has, llvm_binding, processor, target_machine
from acked.checker.native.programs import actions_without, program_of, steps_of
from acked.checker.native.slices import WORD, unpack_ir
from acked.checker.question.plan import KernelPlan
from acked.checker.symmetry import check as symmetry
from acked.checker.symmetry import orbits, renaming

if TYPE_CHECKING:
    from concurrent.futures import Future

    from acked.model.formulas.expr import Expr

_CODEGEN_FAST, _CODEGEN_LESS, _CODEGEN_GOOD = 0, 1, 2


@unique
class Haste(IntEnum):
    """How the loops were compiled: optimized, in a quarter of the time, or in a third of that."""

    NONE, SOME, MOST = range(3)


_SUFFIXES = {Haste.NONE: "loops", Haste.SOME: "quick", Haste.MOST: "first"}
MOST_INLINED = 60
"""Lines of LLVM IR of the longest function that quickly compiled loops have inlined."""
CODE_OF_PROGRAM = 4
"""How many times the bytes of a program quickly compiled code would have."""
_EMISSION = ("bits", "instructions", "kernel", "machine", "programs", "representatives", "slices", "translator", "words")
"""The modules beside this one that write code. Most are imported where some is written: what is cached needs none of them."""
_MAKING: dict[str, Future[bytes]] = {}
"""What a thread is compiling, which another one waits for; not in a forked process, which has no such thread."""
os.register_at_fork(after_in_child=_MAKING.clear)
LEAST_OF_PIECE, MOST_PIECES = 8, 32
"""The optimized tier is compiled in pieces of so many actions, or of more where there would be more pieces: mostly in 0.2
to 0.9 seconds each, so that a search that ends in the middle has lost no more, and the next one goes on."""
UNPACK_ANY = "unpack_any"
"""The function of the loops that is `unpack` for every state of as many words."""


@frozen
class ObjectCode:
    """Relocatable object files of one kernel, for processors like `processor`."""

    processor: str
    objects: tuple[bytes, ...]
    """Of a kernel, its loops come last."""
    haste: Haste = Haste.NONE
    """Of its loops. With some a large search takes a fifth to a quarter longer, with most two to three times as long."""
    program: bytes = b""
    """What decides guards and makes successors where no object does (`programs.py`)."""
    pieces: tuple[bytes, ...] = ()
    """Objects of the optimized tier, see `pieces_of`, that do what they can before others; empty where there is none yet."""

    @property
    def is_optimized(self) -> bool:
        """Whether it is the optimized tier; see `compile_optimized`."""
        return bool(self.pieces) and all(self.pieces)

    def with_pieces(self, pieces: Mapping[int, bytes]) -> ObjectCode:
        """The same with more pieces, by number."""
        all_pieces = tuple(pieces.get(number, piece) for number, piece in enumerate(self.pieces))
        return replace(self, pieces=all_pieces, program=b"" if all(all_pieces) else self.program)


def literals(words: int, kind: LineKind | None = None) -> dict[str, int]:
    """The constants that the loops are compiled with: for a table of this kind, or with states."""
    return {"W": words, **(kind.literals if kind is not None else {})}


@cache
def _source_hash() -> str:
    plan = sys.modules[KernelPlan.__module__]
    modules = (orbits, renaming, symmetry, plan, loops, formulas, quotient, growth, table, slots, language)
    here = [Path(__file__).with_name(f"{name}.py") for name in _EMISSION]
    paths = [*here, *(Path(module.__file__ or "") for module in modules)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in (*paths, Path(__file__)))).hexdigest()


def kernel_key(plan: KernelPlan) -> str:
    """What the compiled code depends on, as a hash."""
    parts = [plan.code, _source_hash(), compiler(), processor(), str(literals(plan.instance.schema.words))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def compile_kernel(plan: KernelPlan, kind: LineKind | None = None, most: Haste = Haste.SOME) -> ObjectCode:
    """The optimized code of the kernel if that is in the cache, else a program, which takes no compilation.

    With the loops for a table without states of this kind, or for one with states: the best of the cache, if there are
    none those that are compiled with the `most` haste.
    """
    store = open_cache()  # To look at who may write to it takes as long as to read what is there.
    loops, haste = _choose_loops(plan.instance.schema.words, kind, most, store)
    key = kernel_key(plan)
    pieces = tuple(_look_up(_piece_name(key, of), store) or b"" for of in pieces_of(len(plan.instance.actions)))
    program = b"" if all(pieces) else compile_once(f"{key}.program", lambda: program_of(plan), store)
    if not program and not all(pieces):
        pieces = _all_pieces(plan)
    return ObjectCode(processor(), (*_beside(plan, key, program, store), loops), haste, program, pieces)


def _beside(plan: KernelPlan, key: str, program: bytes, store: SealedStore | None) -> Iterator[bytes]:
    """Objects of what neither a program nor pieces do, which questions share that say the same there. Representatives are one
    long basic block that needs no IR passes, and the successors of single states gain nothing from codegen optimisation."""

    def shared(what: str, said: Callable[[], bytes], ir: Callable[[], str], codegen: int) -> bytes:
        compiled = f"{compiler()} {processor()} ".encode()
        name = compile_once(f"{key}.{what}", lambda: hashlib.sha256(compiled + said()).digest(), store).hex()
        return compile_once(f"{name}-{what}.o", lambda: emit(ir(), codegen, None), store)

    if plan.is_symmetric:
        from acked.checker.native.representatives import representatives_ir

        ir = partial(representatives_ir, plan.instance)
        yield shared("representatives", lambda: ir().encode(), ir, _CODEGEN_GOOD)
    if program and (coded := actions_without(program, len(plan.instance.actions))):
        from acked.checker.native.kernel import fire_ir

        yield shared("fire", lambda: _said_of_steps(plan, coded), partial(fire_ir, plan, coded), _CODEGEN_FAST)


def _said_of_steps(plan: KernelPlan, actions: Sequence[int]) -> bytes:
    """All that the code of `fire_k` of some actions depends on, without writing it: whatever else the question asks."""
    schema, steps = plan.instance.schema, steps_of(plan)
    parts: list[object] = [_source_hash(), schema.words, [(leaf.word, leaf.shift, leaf.cardinality) for leaf in schema.leaves]]
    roots: list[Expr] = []
    for number in actions:
        own, computed = steps[number]
        parts += [number, [leaf for leaf, _ in plan.instance.actions[number].updates], [check.bit for check in own]]
        roots += computed
    return b"".join((repr(parts).encode(), *plan.instance.pool.digests(roots)))


def pieces_of(actions: int) -> list[range]:
    """Which of so many actions the pieces of the optimized tier make successors by. The first of none: it decides guards."""
    size = max(LEAST_OF_PIECE, -(-actions // MOST_PIECES))
    return [range(0), *(range(first, min(first + size, actions)) for first in range(0, actions, size))]


def _piece_name(key: str, actions: range) -> str:
    return f"{key}-{actions.start}-{actions.stop}.o"


def compile_piece(plan: KernelPlan, number: int) -> bytes:
    """A piece of the optimized tier, from the cache if it is there."""
    actions = pieces_of(len(plan.instance.actions))[number]

    def make() -> bytes:
        from acked.checker.native.kernel import successors_ir
        from acked.checker.native.slices import slices_ir

        ir = successors_ir(plan, _lanes(), actions) if number else slices_ir(plan, LANES)
        return emit(ir, _CODEGEN_LESS, None)

    return compile_once(_piece_name(kernel_key(plan), actions), make)


def _all_pieces(plan: KernelPlan) -> tuple[bytes, ...]:
    return tuple(compile_piece(plan, number) for number in range(len(pieces_of(len(plan.instance.actions)))))


def _translate(functions: Sequence[Callable[..., object]], constants: Mapping[str, int]) -> str:
    from acked.checker.native.translator import translate

    return translate(functions, constants)


def compile_optimized(plan: KernelPlan, kind: LineKind | None = None, most: Haste = Haste.NONE) -> ObjectCode:
    """The optimized tier, which takes up to some seconds to compile and makes up for it in a long search; cached too.

    Its loops are as in `compile_kernel`.
    """
    loops, haste = _choose_loops(plan.instance.schema.words, kind, most)
    beside = _beside(plan, kernel_key(plan), b"", open_cache())
    return ObjectCode(processor(), (*beside, loops), haste, pieces=_all_pieces(plan))


def replace_loops(code: ObjectCode, words: int, kind: LineKind) -> ObjectCode:
    """A kernel that has been compiled, with the loops for a table without states of this kind."""
    return replace(code, objects=(*code.objects[:-1], _choose_loops(words, kind, Haste.NONE)[0]), haste=Haste.NONE)


def _lanes() -> int:
    """How many 64-bit numbers a register of this processor holds, at least half of FIRE_GROUP."""
    return FIRE_GROUP if has("avx512f") else FIRE_GROUP // 2


def _processor_literals() -> dict[str, int]:
    """Literals that say what this processor can do, and what loops for it do."""
    # AMD's processors before Zen 3 take hundreds of cycles to pack chosen bits.
    extracts = has("bmi2") and processor().partition(" ")[0] not in ("bdver4", "znver1", "znver2")
    return {"COMPRESSES": int(has("avx512vbmi2")), "EXTRACTS": int(extracts), "INTERPRETS": 1}


def _loops_constants(words: int, kind: LineKind | None) -> dict[str, int]:
    return {**literals(words, kind), **_processor_literals()}


def _loops_name(words: int, kind: LineKind | None, haste: Haste) -> str:
    parts = f"{_source_hash()} {compiler()} {processor()} {_loops_constants(words, kind)}"
    return f"{hashlib.sha256(parts.encode()).hexdigest()}-{_SUFFIXES[haste]}.o"


def _choose_loops(
    words: int, kind: LineKind | None, most: Haste, store: SealedStore | None = None
) -> tuple[bytes, Haste]:
    """The best loops of the cache with no more haste than this; if there are none, those with it, which are compiled."""
    for haste in range(most):
        known = _look_up(_loops_name(words, kind, Haste(haste)), store)
        if known is not None:
            return known, Haste(haste)
    return compile_once(_loops_name(words, kind, most), lambda: _emit_loops(_loops_ir(words, kind), most), store), most


def _emit_loops(ir: str, haste: Haste) -> bytes:
    """Object code; in haste with no more passes than variables in registers and short functions inlined take."""
    if haste is Haste.NONE:
        return emit(ir, _CODEGEN_GOOD, 2)
    llvm = llvm_binding()
    machine = target_machine(_CODEGEN_GOOD if haste is Haste.SOME else _CODEGEN_FAST)
    module = llvm.parse_assembly(ir)
    for function in module.functions:
        if not function.is_declaration and str(function).count("\n") <= MOST_INLINED:
            function.add_function_attribute("alwaysinline")
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


def _loops_ir(words: int, kind: LineKind | None) -> str:
    functions = loops.FUNCTIONS if kind is None else loops.QUOTIENT_FUNCTIONS
    translated = _translate(functions, _loops_constants(words, kind))
    return "\n".join([translated, unpack_ir([WORD] * words, LANES, UNPACK_ANY)])


def load_loops(words: int, kind: LineKind | None, most: Haste = Haste.NONE) -> Kernel:
    """The loops alone, for a table of this kind, as in `compile_kernel`."""
    loops, haste = _choose_loops(words, kind, most)
    return Kernel(ObjectCode(processor(), (loops,), haste=haste))


def begin_loops(words: int, most: Haste) -> None:
    """Has the loops for a table with states in the cache, as `compile_kernel` will ask for them."""
    _choose_loops(words, None, most)


def _look_up(name: str, store: SealedStore | None = None) -> bytes | None:
    store = store or open_cache()
    return None if store is None else store.known(name)


def compile_once(name: str, make: Callable[[], bytes], store: SealedStore | None = None) -> bytes:
    """What the cache has under a file name, or what is compiled now and kept there; `store` is that cache, if it was opened."""
    stored = _look_up(name, store)
    if stored is not None:
        return stored
    from concurrent.futures import ThreadPoolExecutor
    from threading import current_thread

    # In a thread of its own, which a Ctrl-C does not reach: LLVM's objects do not survive one in the wrong moment. It is as
    # dispensable as the one that waits for it.
    with ThreadPoolExecutor(1, current_thread().name) as apart:
        making = _MAKING.get(name) or _MAKING.setdefault(name, apart.submit(make))
        try:
            made = making.result()
            store = store or open_cache()
            if store is not None:
                store.write(name, made)
        finally:
            _MAKING.pop(name, None)
    return made


@lru_cache(maxsize=2 * MOST_PIECES)
def _load(objects: tuple[bytes, ...]) -> Any:
    """What has the functions of object files by their names, kept for the next question: those with programs share code."""
    linked = link(objects)
    if linked is not None:
        return linked
    llvm = llvm_binding()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine(_CODEGEN_FAST))
    for data in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return engine


class Kernel:
    """Code loaded into this process; functions are called with addresses and numbers, without the GIL.

    `program` is empty where there is code for guards and successors. `size` is in bytes, without loops and pieces, of
    code that does the same.
    """

    def __init__(self, code: ObjectCode) -> None:
        self.code = code
        self.is_optimized = code.is_optimized
        self.haste = code.haste
        self.size = sum(map(len, code.objects[:-1])) + CODE_OF_PROGRAM * len(code.program)
        self.program = code.program
        self._engine = _load(code.objects)
        # Each by itself: LLVM's loader takes the constants of only one object from where they are.
        self._pieces = [_load((piece,)) if piece else None for piece in code.pieces]

    def address(self, name: str) -> int:
        """Where a function is; 0 if there is none."""
        engines = [engine for engine in (*self._pieces[:1], self._engine) if engine is not None]
        return next((found for engine in engines if (found := int(engine.get_function_address(name)))), 0)

    def fires(self, actions: int) -> list[int]:
        """Where each of so many `fire_k` is; 0 if a program is there for that."""
        engines = [self._engine] * actions
        for of, engine in zip(pieces_of(actions), self._pieces, strict=False):
            engines[of.start : of.stop] = [engine or self._engine] * len(of)
        return [int(engine.get_function_address(f"fire_{k}")) for k, engine in enumerate(engines)]

    @property
    def program_address(self) -> int:
        """Where its program is; 0 if it has none."""
        return ctypes.cast(ctypes.c_char_p(self.program), ctypes.c_void_p).value or 0 if self.program else 0

    def function(self, name: str, arguments: int) -> Callable[..., int]:
        """A function of so many 64-bit arguments (numbers or addresses)."""
        prototype = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * arguments)
        return prototype(self.address(name))


def load_kernel(plan: KernelPlan, kind: LineKind | None = None, most: Haste = Haste.SOME) -> Kernel:
    """Compiles (or takes from the cache) and loads."""
    return Kernel(compile_kernel(plan, kind, most))


def compile_functions(functions: Sequence[Callable[..., object]], constants: Mapping[str, int]) -> bytes:
    """Object code of functions in the subset of `language.py` that no kernel contains, from the cache if it is there."""
    constants = {**constants, **_processor_literals()}
    name = f"{_functions_key(functions, constants)}-functions.o"
    return compile_once(name, lambda: emit(_translate(functions, constants), _CODEGEN_GOOD, 2))


def _functions_key(functions: Sequence[Callable[..., object]], constants: Mapping[str, int]) -> str:
    modules = sorted({function.__module__ for function in functions})
    sources = [Path(sys.modules[name].__file__ or "").read_bytes() for name in modules]
    parts = [_source_hash(), hashlib.sha256(b"\0".join(sources)).hexdigest(), compiler(), processor()]
    return hashlib.sha256("\n".join([*parts, str(sorted(constants.items()))]).encode()).hexdigest()


@frozen
class PortableCode:
    """A kernel as LLVM IR, for processors unlike this one: texts with the optimisation of their compilation."""

    parts: tuple[tuple[str, int, int | None], ...]


def portable_code(plan: KernelPlan) -> PortableCode:
    """The optimized kernel of a plan as text; that of the loops is from the cache if it is there."""
    from acked.checker.native.kernel import optimized_ir

    constants = literals(plan.instance.schema.words)
    name = f"{_functions_key(loops.FUNCTIONS, constants)}-loops.ll"
    text = compile_once(name, lambda: _translate(loops.FUNCTIONS, constants).encode()).decode()
    return PortableCode(((optimized_ir(plan), _CODEGEN_LESS, None), (text, _CODEGEN_GOOD, 2)))


def compile_portable(code: PortableCode) -> ObjectCode:
    """Object code for this processor."""
    return ObjectCode(processor(), tuple(emit(*part) for part in code.parts))
