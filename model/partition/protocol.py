"""`partition`: the protocol put together."""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.language.action import actions_of
from acked.model.language.protocol import Protocol
from acked.model.partition import (
    answering,
    consuming,
    controlling,
    failing,
    fetching,
    following,
    leading,
    producing,
    reassigning,
)
from acked.model.partition.controllers import hearing, racing
from acked.model.partition.rules import settings
from acked.model.partition.rules.conflicts import settle
from acked.model.partition.rules.controllers import are_many, max_controller_epoch
from acked.model.partition.rules.facts import enough_replicas
from acked.model.partition.rules.versions import VERSIONS, profile
from acked.model.partition.state import Candidate, Replica, State, initial
from acked.model.ranks import told_without_ranks


def _told_with(constants: Mapping[str, int]) -> dict[str, int]:
    """Runs are shown with numbers for ranks, which change their meaning from step to step."""
    told = told_without_ranks(settings.max_leader_epoch)(constants)
    return told_without_ranks(max_controller_epoch)(told) if are_many(constants) else told


partition = Protocol(
    "partition",
    State,
    title="one partition as people configure it: producers, brokers, controller, consumers; every rule a switch",
    source="the Kafka source, tags 0.8.0 to 4.1; each switch names its KIP or JIRA id",
    constants=settings.CONSTANTS,
    initial=initial,
    actions=actions_of(
        producing, leading, following, fetching, answering, failing, controlling, consuming, reassigning, racing, hearing
    ),
    profile=profile,
    releases=VERSIONS,
    told_with=_told_with,
    settle=settle,
    symmetric=(Replica, Candidate),
    budgets=(
        "a leader epoch is left",
        "a leader epoch is left for the end of the reassignment",
        "a controller epoch is left",
        "a lossy crash is left",
        "an empty disk is left",
        "a restart is left",
        "another move may be asked for",
        "room in the log",
    ),
    # A bound of elections that may be any number is as good as none (`docs/abstractions.md`).
    sizes={
        settings.replicas: 1,
        settings.log_size: 1,
        settings.records: 1,
        settings.in_flight: 1,
        settings.min_insync_replicas: 1,
        settings.max_leader_epoch: 1,
    },
    thresholds=(enough_replicas,),
)
