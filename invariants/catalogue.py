"""Which properties are shipped for which protocol. What does not live here: the properties themselves."""

from __future__ import annotations

from invariants.majority import PROPERTIES as MAJORITY
from invariants.partition import PROPERTIES as PARTITION
from invariants.partition_writes import PROPERTIES as PARTITION_WRITES
from invariants.property import Property
from invariants.replication import PROPERTIES as REPLICATION
from model.majority.state import State as MajorityState
from model.partition.state import State as PartitionState
from model.protocol import Protocol
from model.replication.state import State as ReplicationState
from model.state import Struct

_SHIPPED: dict[type[Struct], tuple[Property, ...]] = {
    ReplicationState: REPLICATION,
    PartitionState: (*PARTITION, *PARTITION_WRITES),
    MajorityState: MAJORITY,
}


def properties_of(protocol: Protocol) -> dict[str, Property]:
    """The properties that can be asked of a protocol, by name, in the order they are listed."""
    shipped = _SHIPPED.get(protocol.state, ())
    return {item.name: item for item in shipped}
