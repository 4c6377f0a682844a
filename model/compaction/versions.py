"""Releases of Kafka as settings of `compaction`: which rules brokers of that release have.

Sources: the Kafka source at the release tags (`LogCleaner`, `LogCleanerManager`, `Log`, `ReplicaManager`; from 4.1
`Cleaner`, `CleanedTransactionMetadata` and `UnifiedLog`, of 4.4.0 the bytecode), JIRA ids as the rules name them.
"""

from __future__ import annotations

from pathlib import Path

from acked.base.release import LATEST
from acked.model.compaction.settings import CONSTANTS
from acked.model.releases import History

VERSIONS = (
    "1.0", "1.0.2", "1.1", "1.1.1", "2.0", "2.1", "2.2", "2.2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.8.2", "3.0",
    "3.0.2", "3.1", "3.1.1", "3.1.2", "3.2", "3.2.1", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.9.2", "4.0", "4.1",
    "4.2", "4.3", "4.4", LATEST,
)  # fmt: skip
HISTORY = History(
    VERSIONS, CONSTANTS, Path(__file__).with_name("versions.toml"),
    "the log of a release is cleaned alike with both control planes",
)
profile = HISTORY.profile
