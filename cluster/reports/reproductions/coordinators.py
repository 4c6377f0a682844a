"""How a run of `coordinator` that was played is shown: as one of `partition`, whose records are a group's commits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from acked.cluster.coordinating.protocol import COORDINATORS
from acked.cluster.coordinating.script import values_of
from acked.cluster.playing.play import PlayedRun
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.script import State
from acked.cluster.replicating.compare import value_of
from acked.cluster.replicating.producers import Answers
from acked.cluster.replicating.promises import leader_of
from acked.cluster.reports.reproductions.presentation import Presentation
from acked.cluster.reports.reproductions.replication import (
    REPLICATION_SHOWN,
    controller_in_words,
    painter_of,
    replica_in_words,
)
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.apis import error_name
from acked.model.coordinator.common import CONSUMER
from acked.model.coordinator.settings import records
from acked.model.language.telling import says_list
from acked.reports.pictures.picture import Picture


def _cells(state: State) -> list[str]:
    found = [
        replica_in_words(values_of(state, broker), one["hw"], False) for broker, one in enumerate(state["broker"])
    ]
    return [*found, controller_in_words(state["leader"][state["epoch"]], state["isr"])]


def answered_in_words(played: PlayedRun[TopicView, Answers]) -> str:
    """`commit r2 was acknowledged`."""
    said = [f"commit {value_of(commit)} was acknowledged" for commit in sorted(played.answers.acknowledged)]
    refused = sorted(played.answers.refused.items())
    said += [f"commit {value_of(commit)} was answered with {error_name(error)}" for commit, error in refused]
    return says_list(said) if said else "no commit was answered"


def end_in_words(played: PlayedRun[TopicView, Answers], promise: str) -> str:
    """What has become of a promise, and of the commits."""
    leader, told = leader_of(played.last), answered_in_words(played)
    if promise and not played.is_broken(promise):
        return f"{promise} holds: {told}"
    where = "there is no leader" if leader is None else f"broker {leader} coordinates the group"
    return f"{told}, {where}" + (f", and {promise} does not hold of it" if promise else "")


def _painter(prepared: PreparedRun) -> Callable[[TopicView, Answers], Picture]:
    constants = prepared.question.instance.constants
    return painter_of(prepared.setting.replicas, constants[records.name], range(1, constants["commits"] + 1), CONSUMER)


COORDINATORS_SHOWN: Presentation[TopicView, Answers] = replace(
    REPLICATION_SHOWN, played=COORDINATORS, clients="Consumer", model_cells=_cells, clients_in_words=answered_in_words,
    end_in_words=end_in_words, painter=_painter,
)  # fmt: skip
