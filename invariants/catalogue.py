"""Which properties are shipped for which protocol."""

from __future__ import annotations

from acked.invariants.majority import PROPERTIES as MAJORITY
from acked.invariants.partition.moves import PROPERTIES as PARTITION_MOVES
from acked.invariants.partition.properties import PROPERTIES as PARTITION
from acked.invariants.partition.writes import PROPERTIES as PARTITION_WRITES
from acked.invariants.property import Property
from acked.invariants.replication.properties import PROPERTIES as REPLICATION
from acked.invariants.transactions.properties import PROPERTIES as TRANSACTIONS
from acked.model.language.protocol import Protocol
from acked.model.language.state import Struct
from acked.model.majority.state import State as MajorityState
from acked.model.partition.state import State as PartitionState
from acked.model.replication.state import State as ReplicationState
from acked.model.transactions.state import State as TransactionsState

_SHIPPED: dict[type[Struct], tuple[Property, ...]] = {
    ReplicationState: REPLICATION,
    PartitionState: (*PARTITION, *PARTITION_WRITES, *PARTITION_MOVES),
    MajorityState: MAJORITY,
    TransactionsState: TRANSACTIONS,
}


def properties_of(protocol: Protocol) -> dict[str, Property]:
    """The properties that can be asked of a protocol, by name, in the order they are listed."""
    shipped = _SHIPPED.get(protocol.state, ())
    return {item.name: item for item in shipped}
