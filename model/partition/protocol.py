"""`partition`: the protocol put together."""

from __future__ import annotations

from acked.model.language.protocol import Protocol
from acked.model.language.ranks import told_without_ranks
from acked.model.partition import consuming, controlling, fetching, leading, producing, reassigning
from acked.model.partition.conflicts import settle
from acked.model.partition.settings import (
    CONSTANTS,
    enough_replicas,
    in_flight,
    log_size,
    max_leader_epoch,
    min_insync_replicas,
    records,
    replicas,
)
from acked.model.partition.state import Replica, State, initial
from acked.model.partition.versions import profile

partition = Protocol(
    "partition",
    State,
    title="one partition as people configure it: producers, brokers, controller, consumers; every rule a switch",
    source="the Kafka source, tags 0.8.0 to 4.1; each switch names its KIP or JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=(
        *producing.ACTIONS,
        *leading.ACTIONS,
        *fetching.ACTIONS,
        *controlling.ACTIONS,
        *consuming.ACTIONS,
        *reassigning.ACTIONS,
    ),
    profile=profile,
    told_with=told_without_ranks(max_leader_epoch),
    settle=settle,
    symmetric=(Replica,),
    budgets=(
        "a leader epoch is left",
        "a leader epoch is left for the end of the reassignment",
        "a lossy crash is left",
        "an empty disk is left",
        "a restart is left",
        "another move may be asked for",
        "room in the log",
    ),
    # A bound of elections that may be any number is as good as none (`docs/abstractions.md`).
    sizes={replicas: 1, log_size: 1, records: 1, in_flight: 1, min_insync_replicas: 1, max_leader_epoch: 1},
    thresholds=(enough_replicas,),
)
