"""Releases of Kafka as settings of `delivery`: what brokers and clients of that release do by default.

Sources: KIP-447, KIP-679, KAFKA-13598; the Kafka source at the release tags.
"""

from __future__ import annotations

from acked.model.delivery import settings
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Setting, known_version

LATEST = "latest"
VERSIONS = (
    "0.11", "0.11.0.2", "1.0", "1.1", "2.0", "2.0.1", "2.1", "2.2", "2.3", "2.4", "2.4.1", "2.5", "2.6", "2.7", "2.8",
    "2.8.1", "3.0", "3.1", "3.2", "3.3", "3.4", "3.4.1", "3.5", "3.5.1", "3.6", "3.7", "3.8", "3.9", "3.9.1", "4.0",
    "4.0.1", "4.1", "4.2", "4.3", "4.4", LATEST,
)  # fmt: skip
"""Releases at which something changed here or in another protocol, and those in between, oldest first."""

_SINCE = (
    (settings.idempotence, "3.2", "KIP-679, KAFKA-13598: enable.idempotence is true in effect from 3.0.1, 3.1.1 and 3.2"),
    (settings.group_metadata, "2.5", "KIP-447: sendOffsetsToTransaction(offsets, groupMetadata)"),
    (settings.stable_offsets, "2.5", "KIP-447: OffsetFetch with requireStable"),
)


def profile(version: str | None, control_plane: str | None) -> dict[str, Setting]:
    """The rules of a release; `ModelError` if there is no such release, or a control plane is named."""
    if control_plane is not None:
        raise ModelError("groups deliver the same with ZooKeeper and KRaft; remove the control plane")
    wanted = known_version(version, VERSIONS)
    at = VERSIONS.index(wanted)
    return {item.name: Setting(int(at >= VERSIONS.index(since)), source) for item, since, source in _SINCE}
