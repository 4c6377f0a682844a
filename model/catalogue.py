"""The protocols that are shipped, by name. A protocol's modules are imported when it is asked for: a check asks for one.

Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from acked.base.optional import Imported
from acked.model.language.context import Alternative
from acked.model.language.protocol import Protocol


def _shipped(modules: Mapping[str, str]) -> Imported[Protocol]:
    """Protocols by name, in the order of modules; in its module each is called as it is named, with _ for -."""
    return Imported({name: f"model.{module}:{name.replace('-', '_')}" for name, module in modules.items()}, Protocol)


_FAMILY = {
    "truncate-to-hw": "replication.truncate_to_hw",
    "kip101": "replication.kip101",
    "kip279": "replication.kip279",
    "kip320-first-try": "replication.kip320_first_try",
    "kip320": "replication.kip320",
}

FAMILY = _shipped(_FAMILY)
"""The replication family, in historical order."""

_OTHERS = ("partition", "majority", "kraft", "transactions", "coordinator", "compaction", "share", "delivery")

PROTOCOLS = _shipped({**_FAMILY, **{name: f"{name}.protocol" for name in _OTHERS}})
"""Every shipped protocol."""

_ALTERNATIVES = {"partition": "partition.rules.versions"}
"""Protocols whose rules differ by release, with the module that says what could be otherwise."""


def alternatives_of(protocol: Protocol) -> Callable[[Mapping[str, int]], Iterator[Alternative]] | None:
    """What could be otherwise in a shipped protocol under given constants, one change at a time; None if nothing can."""
    if protocol.name not in _ALTERNATIVES or protocol is not PROTOCOLS[protocol.name]:
        return None
    found: Callable[[Mapping[str, int]], Iterator[Alternative]] = import_module(
        f"acked.model.{_ALTERNATIVES[protocol.name]}"
    ).alternatives
    return found
