"""The processor at hand, and LLVM, which makes object code for it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

from acked.base.cache import open_cache


@cache
def llvm_binding() -> Any:
    """LLVM's binding, which is imported for the first code: what only names a search does not wait for it."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def target_machine(optimize: int) -> Any:
    """LLVM's description of this processor."""
    llvm = llvm_binding()
    # Large: the loader may put constants further from the code than a 32-bit displacement reaches, because searches reserve
    # gigabytes of address space in between.
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=optimize,
        reloc="pic",
        codemodel="large",
    )


@cache
def _host() -> tuple[str, str]:
    """The processor and LLVM, as LLVM tells of both; once it has told, it need not be loaded for that on the same host."""
    name = _looks_of_host()
    store = open_cache()
    known = None if name is None or store is None else store.known(f"{name}.host")
    if known is None:
        import llvmlite

        llvm = llvm_binding()
        features = llvm.get_host_cpu_features().flatten()
        version = f"{llvmlite.__version__} {llvm.llvm_version_info}"
        known = f"{llvm.get_host_cpu_name()} {features}\n{version}".encode()
        if store is not None and name is not None:
            store.write(f"{name}.host", known)
    told, version = known.decode().split("\n")
    return told, version


def _looks_of_host() -> str | None:
    """A hash of what the system says of the processor and of LLVM's library; None where it does not."""
    found = find_spec("llvmlite")
    library = Path(found.origin or "").parent / "binding" / "libllvmlite.so" if found is not None else Path()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            lines = takewhile(str.strip, file)  # of the first processor
            told = [line for line in lines if line.startswith(("vendor_id", "cpu family", "model", "stepping", "flags"))]
        status = library.stat()
    except OSError:
        return None
    parts = [*told, str(library), str(status.st_size), str(status.st_mtime_ns), str(status.st_ctime_ns)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def processor() -> str:
    """The processor that compiled code is for: name and features."""
    return _host()[0]


def compiler() -> str:
    """The versions of LLVM and of its binding."""
    return _host()[1]


def has(feature: str) -> bool:
    """Whether this processor has something."""
    return f"+{feature}" in processor().partition(" ")[2].split(",")


def emit(ir: str, codegen: int, passes: int | None) -> bytes:
    """Object code of a module, optimized so much, after these passes, if any."""
    llvm = llvm_binding()
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = target_machine(codegen)
    if passes is not None:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=passes))
        builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))
