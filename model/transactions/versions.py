"""Releases of Kafka as settings of `transactions`: which rules brokers and clients of that release have.

A profile is of a cluster whose brokers and clients are of one release; `transaction_version` is that of a new cluster. Older
clients with newer brokers are asked for by the constants themselves.

Sources: the Kafka source at the release tags (`TransactionCoordinator`, `TransactionMetadata`, `ProducerAppendInfo`,
`ProducerStateManager`, `UnifiedLog`), KIPs and JIRA ids as the rules name them.
"""

from __future__ import annotations

from pathlib import Path

from acked.model.releases import TRANSACTIONAL, History
from acked.model.transactions.settings import CONSTANTS

HISTORY = History(
    TRANSACTIONAL, CONSTANTS, Path(__file__).with_name("versions.toml"),
    "transactions are the same with ZooKeeper and KRaft",
)
profile = HISTORY.profile
