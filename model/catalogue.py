"""The protocols that are shipped, by name. What does not live here: their rules."""

from __future__ import annotations

from model.majority.protocol import majority
from model.partition.protocol import partition
from model.protocol import Protocol
from model.replication.kip101 import kip101
from model.replication.kip279 import kip279
from model.replication.kip320 import kip320
from model.replication.kip320_first_try import kip320_first_try
from model.replication.truncate_to_hw import truncate_to_hw

FAMILY: dict[str, Protocol] = {
    protocol.name: protocol for protocol in (truncate_to_hw, kip101, kip279, kip320_first_try, kip320)
}
"""The replication family, in historical order."""

PROTOCOLS: dict[str, Protocol] = {**FAMILY, partition.name: partition, majority.name: majority}
"""Every shipped protocol."""
