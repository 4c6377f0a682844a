"""Which properties are shipped for which protocol. They are imported when a protocol's properties are asked for.

Floor 2.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from acked.model.language.protocol import Protocol

if TYPE_CHECKING:
    from acked.invariants.property import Property

_SHIPPED = {
    "replication": ("replication.properties",),
    "partition": ("partition.properties", "partition.writes", "partition.moves", "partition.controllers"),
    "majority": ("majority",),
    "kraft": ("kraft",),
    "transactions": ("transactions.properties",),
    "coordinator": ("coordinator",),
    "compaction": ("compaction",),
    "share": ("share",),
    "delivery": ("delivery",),
}
"""For each package of protocols the modules with properties of its state; they are what each calls ``PROPERTIES``."""


def properties_of(protocol: Protocol) -> dict[str, Property]:
    """The properties that can be asked of a protocol, by name, in the order they are listed.

    A protocol has the properties of its state: those of ``partition`` can be asked of a working copy of its rules too, and
    of one whose state is a subclass with more fields. A protocol over a state of the user's own has none that are shipped.
    """
    found: list[Property] = []
    homes = {base.__module__ for base in protocol.state.__mro__}
    for package, modules in _SHIPPED.items():
        if f"acked.model.{package}.state" in homes:
            for module in modules:
                found += import_module(f"acked.invariants.{module}").PROPERTIES
    return {item.name: item for item in found}
