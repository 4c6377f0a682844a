"""`majority`: the protocol put together."""

from __future__ import annotations

from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol
from acked.model.majority import failing, replicating, voting
from acked.model.majority.state import CONSTANTS, Replica, State, initial, max_term
from acked.model.ranks import told_without_ranks

majority = Protocol(
    "majority",
    State,
    title="a log replicated by majorities, 2n+1 replicas for n failures, as the alternative to in-sync replicas",
    source="Raft (Ongaro and Ousterhout 2014); KIP-595, which Kafka keeps its own metadata with",
    constants=CONSTANTS,
    initial=initial,
    actions=actions_of(voting, replicating, failing),
    told_with=told_without_ranks(max_term),
    symmetric=(Replica,),
    budgets=("a term is left", "a lossy crash is left", "a record is left", "room in the log"),
)
