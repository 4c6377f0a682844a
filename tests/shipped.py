"""The bundled specs, read once in a process (to read all takes longer than to look at them), and the tables of releases."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import file_and_variant, specs_under
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Protocol
from acked.model.releases import History
from tests.places import CHECKOUT, SPECS


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


@cache
def with_releases() -> dict[Protocol, str]:
    """By protocol that releases changed the package of its rules: where its table of them is, `versions.toml`."""
    tables = [path.relative_to(CHECKOUT) for path in sorted(CHECKOUT.glob("model/**/versions.toml"))]
    return {PROTOCOLS[path.parts[1]]: ".".join(("acked", *path.parent.parts)) for path in tables}


def history_of(protocol: Protocol) -> History:
    """What releases changed in one of them."""
    found: History = import_module(f"{with_releases()[protocol]}.versions").HISTORY
    return found
