"""`partition`: the protocol put together. What does not live here: its rules (one module a concern) and its versions."""

from __future__ import annotations

from model.partition import consuming, controlling, fetching, leading, producing
from model.partition.conflicts import settle
from model.partition.settings import CONSTANTS, max_leader_epoch
from model.partition.state import Replica, State, initial
from model.partition.versions import profile
from model.protocol import Protocol
from model.ranks import told_without_ranks

partition = Protocol(
    "partition",
    State,
    title="one partition as people configure it: producers, brokers, controller, consumers; every rule a switch",
    source="the Kafka source, tags 0.8.0 to 4.1; each switch names its KIP or JIRA id",
    constants=CONSTANTS,
    initial=initial,
    actions=(*producing.ACTIONS, *leading.ACTIONS, *fetching.ACTIONS, *controlling.ACTIONS, *consuming.ACTIONS),
    profile=profile,
    told_with=told_without_ranks(max_leader_epoch),
    settle=settle,
    symmetric=(Replica,),
    budgets=("a leader epoch is left", "a lossy crash is left", "a restart is left", "room in the log"),
)
