"""The protocols that are shipped, by name. A protocol's modules are imported when it is asked for: a check asks for one.

Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from acked.model.language.context import Alternative
from acked.model.language.protocol import Protocol


@dataclass(frozen=True)
class Shipped(Mapping[str, Protocol]):
    """Protocols by name, in the order of ``modules``; in its module each is called as it is named, with _ for -."""

    modules: Mapping[str, str]

    def __getitem__(self, name: str) -> Protocol:
        protocol = getattr(import_module(f"acked.model.{self.modules[name]}"), name.replace("-", "_"))
        assert isinstance(protocol, Protocol)
        return protocol

    def __contains__(self, name: object) -> bool:
        return name in self.modules  # The inherited way would import the protocol.

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)


_FAMILY = {
    "truncate-to-hw": "replication.truncate_to_hw",
    "kip101": "replication.kip101",
    "kip279": "replication.kip279",
    "kip320-first-try": "replication.kip320_first_try",
    "kip320": "replication.kip320",
}

FAMILY = Shipped(_FAMILY)
"""The replication family, in historical order."""

_OTHERS = ("partition", "majority", "kraft", "transactions", "coordinator", "compaction", "share", "delivery")

PROTOCOLS = Shipped({**_FAMILY, **{name: f"{name}.protocol" for name in _OTHERS}})
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
