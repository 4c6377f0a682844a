"""`compaction`: the protocol put together."""

from __future__ import annotations

from acked.model.compaction import cleaning, deleting, reading, writing
from acked.model.compaction.settings import CONSTANTS
from acked.model.compaction.state import Producer, State, initial
from acked.model.compaction.versions import VERSIONS, profile
from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol

compaction = Protocol(
    "compaction",
    State,
    title="one replica's log that is compacted and cut: segments, passes of the cleaner, transaction markers, log start",
    source="the Kafka source, tags 1.0.0 to 4.4.0; KIP-98, KIP-107, KIP-534; each switch names its JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=actions_of(writing, cleaning, deleting, reading),
    profile=profile,
    releases=VERSIONS,
    symmetric=(Producer,),
    budgets=("the log has room", "time is left"),
)
