"""Releases of Kafka as settings of `delivery`: what brokers and clients of that release do by default.

Sources: KIP-447, KIP-679, KAFKA-13598; the Kafka source at the release tags.
"""

from __future__ import annotations

from pathlib import Path

from acked.model.delivery.settings import CONSTANTS
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Setting
from acked.model.releases import TRANSACTIONAL, History

HISTORY = History(TRANSACTIONAL, CONSTANTS, Path(__file__).with_name("versions.toml"))


def profile(version: str | None, control_plane: str | None) -> dict[str, Setting]:
    """The rules of a release; `ModelError` if there is no such release, or a control plane is named."""
    if control_plane is not None:
        raise ModelError("groups deliver the same with ZooKeeper and KRaft; remove the control plane")
    return HISTORY.settings(version)
