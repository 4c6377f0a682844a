"""What the player has to know of `coordinator`."""

from __future__ import annotations

from collections.abc import Mapping

from acked.base.errors import ConfigurationError
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.coordinating.driver import STEPS, CoordinatorDriver
from acked.cluster.coordinating.script import differences, script_of
from acked.cluster.playing.protocol import PlayedProtocol, questions_without, without_steps
from acked.cluster.playing.script import Script
from acked.cluster.playing.setting import Brokers, Changed, OtherRule, Setting, differing_rules
from acked.cluster.releases.release import release
from acked.cluster.replicating.producers import Answers
from acked.cluster.replicating.protocol import FOR_PLAYING
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import ALL_REPLICAS
from acked.model.coordinator.protocol import coordinator
from acked.model.coordinator.settings import RULES, brokers
from acked.model.coordinator.versions import VERSIONS, profile

FIRST = (4, 0)
_PATIENT: Mapping[str, str] = {"offsets.commit.timeout.ms": "600000"}
"""Steps between a commit and its answer may take longer than the five seconds of a broker."""
_REASONS: Mapping[str, str] = {
    **dict.fromkeys(("Shrink", "Expand", "LoseDisk", "ElectUnclean"), "what replicas do alone is played of `partition`"),
    "CommitOutOfStep": "a coordinator is out of step with the log only after a foreign load",
    **dict.fromkeys(("Flush", "RollBack"), "when a batch is written, a timer of the coordinator decides"),
    **dict.fromkeys(("CommitInTxn", "Decide", "WriteMarker", "AnswerMarker", "ApplyMarker"), "no step has transactions"),
    **dict.fromkeys(("Leave", "Join", "Settle", "LetTimePass", "Expire"), "no step has members, or offsets that expire"),
}
"""By action why no step of the driver brings it about, where more can be said than that."""
NOT_PLAYED = without_steps(coordinator, STEPS, _REASONS)


def _script(question: Question, run: Run, chosen: Brokers) -> Script:
    _queueing_release(chosen.version)
    return script_of(question, run, NOT_PLAYED)


def _queueing_release(version: str) -> None:
    """Refuses a release whose coordinator has no queue of requests, loads and unloads."""
    if release(version).number < FIRST:
        raise ConfigurationError(f"coordinators are played from 4.0 on, which have one runtime; Kafka {version} has another")


def _setting(question: Question, script: Script) -> Setting:
    return Setting(question.instance.constants[brokers.name], ALL_REPLICAS, {}, {**FOR_PLAYING, **_PATIENT})


def _control(setting: Setting, changed: Changed) -> Setting:
    if changed.version is None:
        raise ConfigurationError(f"--control {changed}: coordinators are played again on another release, such as 4.3.1")
    _queueing_release(changed.version)
    return setting


def rules_unlike(constants: Mapping[str, int], chosen: Brokers, setting: Setting) -> tuple[OtherRule, ...]:
    """The rules in which constants are not those of the release."""
    has = {name: rule.value for name, rule in profile(number_of(chosen.version).newest_of(VERSIONS), None).items()}
    return differing_rules(RULES, constants, has)


COORDINATORS: PlayedProtocol[TopicView, Answers] = PlayedProtocol(
    coordinator, NOT_PLAYED, questions_without(NOT_PLAYED), _script, _setting, _control, rules_unlike,
    lambda state, seen, setting: differences(state, seen), lambda prepared: {"has_witness": True}, CoordinatorDriver,
)  # fmt: skip
