"""The protocols that are shipped, by name."""

from __future__ import annotations

from acked.model.delivery.protocol import delivery
from acked.model.language.protocol import Protocol
from acked.model.majority.protocol import majority
from acked.model.partition.protocol import partition
from acked.model.replication.kip101 import kip101
from acked.model.replication.kip279 import kip279
from acked.model.replication.kip320 import kip320
from acked.model.replication.kip320_first_try import kip320_first_try
from acked.model.replication.truncate_to_hw import truncate_to_hw
from acked.model.transactions.protocol import transactions

FAMILY: dict[str, Protocol] = {
    protocol.name: protocol for protocol in (truncate_to_hw, kip101, kip279, kip320_first_try, kip320)
}
"""The replication family, in historical order."""

PROTOCOLS: dict[str, Protocol] = {
    **FAMILY,
    **{protocol.name: protocol for protocol in (partition, majority, transactions, delivery)},
}
"""Every shipped protocol."""
