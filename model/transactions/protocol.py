"""`transactions`: the protocol put together."""

from __future__ import annotations

from acked.model.language.protocol import Protocol
from acked.model.language.ranks import told_without_ranks
from acked.model.transactions import ending, initialising, marking, producing
from acked.model.transactions.settings import CONSTANTS, max_coordinator_epoch
from acked.model.transactions.state import Partition, Producer, State, initial
from acked.model.transactions.versions import profile

transactions = Protocol(
    "transactions",
    State,
    title="exactly once: one transactional id, its coordinator, the partitions it writes to, and requests that are late",
    source="the Kafka source, tags 0.11.0.0 to 4.3; KIP-98, KIP-360, KIP-890; each switch names its KIP or JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=(*initialising.ACTIONS, *producing.ACTIONS, *ending.ACTIONS, *marking.ACTIONS),
    profile=profile,
    told_with=told_without_ranks(max_coordinator_epoch),
    symmetric=(Partition, Producer),
    budgets=("a move is left", "none has been late", "a transaction is left", "room in the log"),
)
