"""`transactions`: the protocol put together."""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol
from acked.model.releases import TRANSACTIONAL
from acked.model.transactions import ending, initialising, marking, moving, producing
from acked.model.transactions.settings import CONSTANTS, max_coordinator_epoch, max_producer_epoch
from acked.model.transactions.state import Partition, Producer, State, initial
from acked.model.transactions.versions import profile


def _told_with(constants: Mapping[str, int]) -> dict[str, int]:
    """Runs are shown with the numbers that Kafka has, up to a bound, instead of ranks."""
    bounds = [max_coordinator_epoch, *([max_producer_epoch] if constants["restarts"] else [])]
    return {**constants, **{bound.name: constants[bound.name] or bound.hi for bound in bounds}}


transactions = Protocol(
    "transactions",
    State,
    title="exactly once: one transactional id, its coordinator, the partitions it writes to, and requests that are late",
    source="the Kafka source, tags 0.11.0.0 to 4.3; KIP-98, KIP-360, KIP-890; each switch names its KIP or JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=actions_of(initialising, producing, ending, marking, moving),
    profile=profile,
    releases=TRANSACTIONAL,
    told_with=_told_with,
    symmetric=(Partition, Producer),
    budgets=("a move is left", "a producer epoch is left", "none has been late", "a transaction is left", "room in the log"),
)
