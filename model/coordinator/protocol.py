"""`coordinator`: the protocol put together."""

from __future__ import annotations

from acked.model.coordinator import committing, coordinating, replicating
from acked.model.coordinator.settings import CONSTANTS
from acked.model.coordinator.state import Broker, State, initial
from acked.model.coordinator.versions import VERSIONS, profile
from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol

coordinator = Protocol(
    "coordinator",
    State,
    title="a coordinator whose state is a replicated log: the offsets of a group in __consumer_offsets",
    source="the Kafka source, tags 0.11.0.0 to 4.4.0; KIP-211, KIP-447, KIP-848; each switch names its JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=actions_of(replicating, coordinating, committing),
    profile=profile,
    releases=VERSIONS,
    symmetric=(Broker,),
    budgets=(
        "an epoch is left", "an offset is left", "a generation is left", "a disk may be lost", "the log has room",
        "the view has room",
    ),
)  # fmt: skip
