"""`share`: the protocol put together."""

from __future__ import annotations

from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol
from acked.model.share import consuming, leading, persisting
from acked.model.share.settings import CONSTANTS
from acked.model.share.state import State, initial
from acked.model.share.versions import VERSIONS, profile

share = Protocol(
    "share",
    State,
    title="a share group: records that are locked, delivered, counted and acknowledged one by one",
    source="KIP-932 and the Kafka source, tags 3.9.0 to 4.4.0; each switch names its JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=actions_of(leading, consuming, persisting),
    profile=profile,
    releases=VERSIONS,
    budgets=("an epoch is left", "a record is left", "a write may be sent"),
)
