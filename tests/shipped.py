"""The bundled specs, read once in a process: to read all takes longer than to look at them."""

from __future__ import annotations

from functools import cache

from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import file_and_variant, specs_under
from acked.model.language.protocol import Protocol
from tests.places import SPECS


@cache
def shipped() -> tuple[Spec, ...]:
    """Every spec of `specs/`, in order of its path."""
    return tuple(map(load_spec, specs_under(SPECS)))


@cache
def shipped_of(protocol: Protocol) -> tuple[Spec, ...]:
    """Those about a protocol. A file names its protocol once, at its top, so that no other file is read as a spec."""
    line = f'protocol = "{protocol.name}"'
    paths = [path for path in specs_under(SPECS) if line in file_and_variant(path)[0].read_text("utf-8").splitlines()]
    return tuple(map(load_spec, paths))
