"""Releases of Kafka as settings of `kraft`: which rules controllers of that release have.

Whether voters are static or dynamic is the cluster's own choice from 3.9 on, and no rule of a release.

Sources: the Kafka source at the release tags (`KafkaRaftClient`, `QuorumState`, `LeaderState`), KIPs and JIRA ids as the
rules name them. 2.7 had the classes, and nothing but a test server that ran them.
"""

from __future__ import annotations

from pathlib import Path

from acked.base.release import LATEST
from acked.model.kraft.settings import CONSTANTS
from acked.model.releases import History

VERSIONS = (
    "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4",
    LATEST,
)  # fmt: skip
HISTORY = History(VERSIONS, CONSTANTS, Path(__file__).with_name("versions.toml"), "kraft is the control plane itself")
profile = HISTORY.profile
