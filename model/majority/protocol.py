"""`majority`: the protocol put together. What does not live here: its rules (one module a concern)."""

from __future__ import annotations

from collections.abc import Mapping

from model.majority import failing, replicating, voting
from model.majority.state import CONSTANTS, Replica, State, initial, max_term
from model.protocol import Protocol


def _with_plain_terms(constants: Mapping[str, int]) -> dict[str, int]:
    """Ranks change their meaning from step to step; people are told the terms that replicas would show."""
    return {**constants, max_term.name: constants[max_term.name] or max_term.hi}


majority = Protocol(
    "majority",
    State,
    title="a log replicated by majorities, 2n+1 replicas for n failures, as the alternative to in-sync replicas",
    source="Raft (Ongaro and Ousterhout 2014); KIP-595, which Kafka keeps its own metadata with",
    constants=CONSTANTS,
    initial=initial,
    actions=(*voting.ACTIONS, *replicating.ACTIONS, *failing.ACTIONS),
    told_with=_with_plain_terms,
    symmetric=(Replica,),
)
