"""The bundled specs, read once in a process: to read all takes longer than to look at them."""

from __future__ import annotations

from functools import cache

from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import specs_under
from tests.places import SPECS


@cache
def shipped() -> tuple[Spec, ...]:
    """Every spec of `specs/`, in order of its path."""
    return tuple(map(load_spec, specs_under(SPECS)))
