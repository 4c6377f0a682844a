"""Releases of Kafka as settings of `share`: which rules brokers of that release have.

Sources: the Kafka source at the release tags (`SharePartition`, `InFlightState`, `ShareCoordinatorShard`,
`ShareCoordinatorService`), class files of 4.4.0, JIRA ids as the rules name them. Share groups are an early access in 4.0, a
preview in 4.1, and for everybody since 4.2; 3.9.0 has classes of them that nothing calls.
"""

from __future__ import annotations

from pathlib import Path

from acked.base.release import LATEST
from acked.model.releases import History
from acked.model.share.settings import CONSTANTS

VERSIONS = ("3.9", "4.0", "4.1", "4.1.1", "4.2", "4.3", "4.3.1", "4.4", LATEST)
HISTORY = History(
    VERSIONS, CONSTANTS, Path(__file__).with_name("versions.toml"), "share groups are the same with both control planes"
)
profile = HISTORY.profile
