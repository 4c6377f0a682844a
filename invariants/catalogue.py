"""Which properties are shipped for which protocol. What does not live here: the properties themselves."""

from __future__ import annotations

from invariants.property import Property
from invariants.replication import PROPERTIES as REPLICATION
from model.protocol import Protocol
from model.replication.state import State as ReplicationState


def properties_of(protocol: Protocol) -> dict[str, Property]:
    """The properties that can be asked of a protocol, by name, in the order they are listed."""
    shipped = REPLICATION if protocol.state is ReplicationState else ()
    return {item.name: item for item in shipped}
