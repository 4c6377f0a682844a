"""One run on one release: what is started for it, and the answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.lines.configuration import configuration, is_read
from acked.cluster.nodes.archive import with_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.jvm import Exited
from acked.cluster.nodes.plan import ClusterPlan, make_plan
from acked.cluster.playing.observed import Observed, observed
from acked.cluster.playing.play import Played, SeenStep, play
from acked.cluster.playing.playable import ways_of
from acked.cluster.playing.rivals import of_controller
from acked.cluster.playing.script import Script, script_of
from acked.cluster.playing.setting import OtherRule, Setting, mode_for, other_rules, setting_of
from acked.cluster.releases.release import Mode, mode_of, release
from acked.cluster.stories.stage import Stage

TOPIC = "played"


@dataclass(frozen=True)
class Brokers:
    """Which brokers play: a release, its mode (None: that of the rules), and where its jars are (None: the cache).

    `sessions_expire`: the controller notices by itself, after seconds, that a broker is dead; only with KRaft.
    """

    version: str
    mode: Mode | None = None
    home: Path | None = None
    sessions_expire: bool = False

    @property
    def chosen_mode(self) -> Mode:
        """The mode in which they run, the release's own if none is said; `ConfigurationError` for what there is not."""
        return mode_of(release(self.version), self.mode)


@dataclass(frozen=True)
class Changed:
    """What is another in a control: the release, or one setting; the other is None."""

    version: str | None = None
    setting: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"Kafka {self.version}" if self.version is not None else "=".join(self.setting or ())


@dataclass(frozen=True)
class Prepared:
    """A run ready to be played: everything that can be refused has been."""

    question: Question
    run: Run
    script: Script
    setting: Setting
    brokers: Brokers
    others: tuple[OtherRule, ...]

    def control(self, changed: Changed) -> Prepared:
        """The same steps on another release or with another setting."""
        brokers, setting = self.brokers, replace(self.setting, compares_eligible=False)
        if changed.version is not None:
            mode = brokers.chosen_mode
            kept = mode if mode in release(changed.version).modes else None
            brokers = Brokers(changed.version, kept, sessions_expire=brokers.sessions_expire)
            setting = replace(setting, has_eligible_leaders=None)  # The release is the control, as it is.
        if changed.setting is not None:
            setting = setting.changed(*changed.setting)
        others = other_rules(self.question, release(brokers.version), brokers.chosen_mode)
        return Prepared(self.question, self.run, self.script, setting, brokers, others)


@dataclass(frozen=True)
class Reproduction:
    """How a run was played, on what, and what it took. `folder` is left if the brokers' files were to be kept; `observed` is
    what the brokers' own logs say, None where the release's lines are not read.
    """

    prepared: Prepared
    mode: Mode
    played: Played
    start_seconds: float
    folder: Path | None
    observed: Observed | None = None


@dataclass(frozen=True)
class Heed:
    """Who is told how it goes: lines while brokers start, and every step that was taken."""

    said: Callable[[str], None] = lambda line: None
    took: Callable[[SeenStep], None] = lambda step: None


def prepare(question: Question, run: Run, brokers: Brokers) -> Prepared:
    """Checks that a run can be played; `ConfigurationError` with the step and the reason if it cannot."""
    chosen = release(brokers.version)
    mode = brokers.chosen_mode if brokers.mode else mode_for(question, chosen, None)
    brokers = replace(brokers, mode=mode)
    if brokers.sessions_expire and mode is not Mode.KRAFT:
        raise ConfigurationError("sessions in ZooKeeper outlast every run here; leave --expire out, or use KRaft")
    script = script_of(question, run, mode, ways_of(chosen, mode))
    setting = setting_of(question)
    setting = setting.timed() if script.is_timed else setting
    return Prepared(question, run, script, setting, brokers, other_rules(question, chosen, mode))


def reproduce(prepared: Prepared, keep: bool = False, heed: Heed | None = None) -> Reproduction:
    """Starts brokers, plays the run, ends them, and validates what they logged; `SystemFailure` if they do not start."""
    heed = heed or Heed()
    is_observed = can_be_validated(prepared)
    plan = planned(prepared, keep, heed, is_observed)
    with Cluster(plan, heed.said) as cluster:
        setting = replace(prepared.setting, sessions_expire=prepared.brokers.sessions_expire)
        played = play(prepared.script, cluster, TOPIC, setting, heed.took)
        cluster.end_nodes()
        found = observed(cluster.folder, TOPIC, prepared.brokers.version) if is_observed else None
        return Reproduction(prepared, plan.mode, played, cluster.seconds, cluster.folder if keep else None, found)


def reproduce_each(wanted: Iterable[Prepared]) -> Iterator[Reproduction]:
    """Plays runs one after the other, each on a topic of its own; the cluster is the same as long as it does for the next.

    What brokers log is not validated then: a topic's begin and end are within that of others.

    It does if the next needs the same nodes and settings, and if everything of this one could be cleared away. A broker may
    still end after that, of what it found when it was let go on, as old ones do: then the next has a cluster of its own.
    """
    left = deque(wanted)
    number = 0
    while left:
        plan = planned(left[0])
        with Cluster(plan) as cluster:
            is_new = True
            while left and planned(left[0]) == plan:
                prepared, number = left[0], number + 1
                setting = replace(prepared.setting, sessions_expire=prepared.brokers.sessions_expire)
                try:
                    played = play(prepared.script, cluster, f"{TOPIC}{number}", setting)
                except Exited as error:
                    if is_new or error.is_of_machine:
                        raise
                    break
                left.popleft()
                yield Reproduction(prepared, plan.mode, played, cluster.seconds, None)
                is_new = False
                if not left or prepared.setting.rivals or not cleared(cluster, f"{TOPIC}{number}"):
                    break


def cleared(cluster: Cluster, topic: str) -> bool:
    """Whether all brokers are back and the topic is gone."""
    try:
        for broker in cluster.plan.brokers:
            if not cluster.nodes[broker].is_running:
                cluster.restart(broker)
        cluster.await_known()
        Stage(cluster, topic).delete()
    except SystemFailure:
        return False
    return True


def can_be_validated(prepared: Prepared) -> bool:
    """Whether `acked kafka validate` reads what these brokers log."""
    mode = prepared.brokers.chosen_mode
    return is_read(release(prepared.brokers.version).number, mode is Mode.KRAFT)


def planned(
    prepared: Prepared, keep: bool = False, heed: Heed | None = None, is_observed: bool = False
) -> ClusterPlan:
    """The cluster that a run is played on; `is_observed`: it logs what a validation needs."""
    heed = heed or Heed()
    brokers, setting = prepared.brokers, prepared.setting
    chosen, mode = release(brokers.version), brokers.chosen_mode
    logging = configuration(chosen.number, None, TOPIC) if is_observed else None
    plan = make_plan(
        brokers.version, mode, brokers.home, range(setting.replicas), setting.brokers, setting.features(chosen), keep,
        heed.said, has_witness=True, logging=logging, rivals=setting.rivals, of_controller=of_controller(prepared.script),
    )  # fmt: skip
    return with_archive(plan, heed.said)
