"""Releases of Kafka as settings of `coordinator`: which rules brokers of that release have.

Sources: the Kafka source at the release tags (`GroupMetadataManager`, `GroupMetadata` to 3.9; `CoordinatorRuntime`,
`CoordinatorLoaderImpl`, `CoordinatorPartitionWriter`, `OffsetMetadataManager` from 4.0), JIRA ids as the rules name them.
"""

from __future__ import annotations

from pathlib import Path

from acked.base.release import LATEST
from acked.model.coordinator.settings import CONSTANTS
from acked.model.releases import History

VERSIONS = (
    "0.11", "0.11.0.1", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "2.8.1", "2.8.2", "3.0",
    "3.0.1", "3.1", "3.1.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "3.9.1", "4.0", "4.1", "4.2", "4.2.2",
    "4.3", "4.3.1", "4.4", LATEST,
)  # fmt: skip
HISTORY = History(
    VERSIONS, CONSTANTS, Path(__file__).with_name("versions.toml"),
    "the coordinators of a release are the same with both control planes",
)
profile = HISTORY.profile
