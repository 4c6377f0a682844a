"""Releases of Kafka as settings of `delivery`: what brokers and clients of that release do by default.

Sources: KIP-447, KIP-679, KAFKA-13598; the Kafka source at the release tags.
"""

from __future__ import annotations

from pathlib import Path

from acked.model.delivery.settings import CONSTANTS
from acked.model.releases import TRANSACTIONAL, History

HISTORY = History(
    TRANSACTIONAL, CONSTANTS, Path(__file__).with_name("versions.toml"),
    "groups deliver the same with ZooKeeper and KRaft",
)
profile = HISTORY.profile
