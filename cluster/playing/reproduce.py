"""One run on one release: what is started for it, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum, unique
from pathlib import Path
from typing import Any, Generic

from acked.base.errors import AckedError
from acked.base.frozen import frozen
from acked.cluster.lines.configuration import configuration, is_read
from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import ClusterPlan, make_plan
from acked.cluster.playing.driver import A, S
from acked.cluster.playing.play import PlayedRun, SeenStep, play
from acked.cluster.playing.protocol import TOPIC, PreparedRun
from acked.cluster.releases.release import Mode
from acked.cluster.validating.judge import Asked, judge
from acked.model.partition.protocol import partition


@unique
class Found(StrEnum):
    """What a validation of the brokers' own logs says; that a promise is broken is often what the run is about."""

    EXPLAINED = "explained"
    NOT_EXPLAINED = "not explained"
    NOT_READ = "not read"


@frozen
class LogValidation:
    """What was found. `events` were explained, `broken` is the first promise that is broken on the way, if one is; `said`
    names the line that is not explained and why, or why the logs were not read, and is empty else.
    """

    found: Found
    events: int = 0
    broken: str | None = None
    said: str = ""


def validate_logs(folder: Path, topic: str, version: str) -> LogValidation:
    """Validates what the nodes of a cluster that has ended logged of a topic's only partition."""
    try:
        verdict = judge(Asked((str(folder),), topic, version=version)).verdict
    except AckedError as error:
        return LogValidation(Found.NOT_READ, said=str(error).replace(f"{folder}/", ""))
    broken = None if verdict.broken is None else verdict.broken.promise
    if verdict.stuck is None:
        return LogValidation(Found.EXPLAINED, verdict.explained, broken)
    event, reasons = verdict.stuck.open[0]
    why = reasons[0] if reasons else "it could come next, and leads nowhere"
    where = f"{Path(event.file).relative_to(folder) if event.file else 'a record of the metadata log'}:{event.line}"
    return LogValidation(Found.NOT_EXPLAINED, verdict.explained, broken, f"{where}, {event}: {why}")


@frozen
class Reproduction(Generic[S, A]):
    """How a run was played, on what, and what it took. `folder` is left if the brokers' files were to be kept; `observed` is
    what the brokers' own logs say, None where the release's lines are not read.
    """

    prepared: PreparedRun
    played: PlayedRun[S, A]
    start_seconds: float
    folder: Path | None
    observed: LogValidation | None = None

    @property
    def mode(self) -> Mode:
        """Where the brokers kept their metadata."""
        return self.prepared.brokers.chosen_mode


@frozen
class Listener:
    """Who is told how it goes: lines while brokers start, and every step that was taken."""

    line: Callable[[str], None] = lambda line: None
    step: Callable[[SeenStep[Any, Any]], None] = lambda step: None


def reproduce(prepared: PreparedRun, keep: bool = False, listener: Listener | None = None) -> Reproduction[Any, Any]:
    """Starts brokers, plays the run, ends them, and validates what they logged; `SystemFailure` if they do not start."""
    listener = listener or Listener()
    is_observed = can_be_validated(prepared)
    plan = cluster_plan(prepared, keep, listener, is_observed)
    with Cluster(plan, listener.line) as cluster:
        played: PlayedRun[Any, Any] = play(prepared, cluster, TOPIC, listener.step)
        cluster.end_nodes()
        found = validate_logs(cluster.folder, TOPIC, prepared.brokers.version) if is_observed else None
        return Reproduction(prepared, played, cluster.seconds, cluster.folder if keep else None, found)


def can_be_validated(prepared: PreparedRun) -> bool:
    """Whether `acked validate` reads what these brokers log."""
    brokers = prepared.brokers
    is_one = prepared.protocol.model is partition
    return is_one and is_read(brokers.release.number, brokers.chosen_mode is Mode.KRAFT)


def cluster_plan(
    prepared: PreparedRun, keep: bool = False, listener: Listener | None = None, is_observed: bool = False
) -> ClusterPlan:
    """The cluster that a run is played on; `is_observed`: it logs what a validation needs."""
    listener = listener or Listener()
    brokers, setting = prepared.brokers, prepared.setting
    plan = make_plan(
        brokers.version, brokers.chosen_mode, brokers.home, range(setting.replicas), setting.brokers,
        setting.features(brokers.release), keep, listener.line, **prepared.protocol.plan_of(prepared),
        logging=configuration(brokers.release.number, None, TOPIC) if is_observed else None,
    )  # fmt: skip
    return add_archive(plan, listener.line)
