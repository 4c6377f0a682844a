"""What the player has to know of `coordinator`."""

from __future__ import annotations

from collections.abc import Mapping

from acked.base.errors import ConfigurationError
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.coordinating.driver import STEPS, CoordinatorDriver
from acked.cluster.coordinating.members import SETTINGS, SHORT_RETENTION
from acked.cluster.coordinating.script import differences, script_of
from acked.cluster.playing.protocol import PlayedProtocol, questions_without, without_steps
from acked.cluster.playing.script import Script
from acked.cluster.playing.setting import Brokers, Changed, OtherRule, Setting, differing_rules
from acked.cluster.releases.release import release
from acked.cluster.replicating.producers import Answers
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import ALL_REPLICAS
from acked.model.coordinator.protocol import coordinator
from acked.model.coordinator.settings import RULES, brokers, expiry, keeps_default_timestamps
from acked.model.coordinator.versions import VERSIONS, profile

_PATIENT: Mapping[str, str] = {
    "offsets.commit.timeout.ms": "600000", "replica.high.watermark.checkpoint.interval.ms": "100",
}  # fmt: skip
"""Steps between a commit and its answer may take longer than the five seconds of a broker. A fetch brings all there is."""
_OLD_FORMAT: Mapping[str, str] = {"inter.broker.protocol.version": "2.0"}
"""Offsets are written with a time of expiry, as to 2.0, also by brokers of 2.1 and later."""
_ONE_COMMIT = 180
"""Bytes that a batch with one commit fits in, and two do not."""
_REASONS: Mapping[str, str] = {
    **dict.fromkeys(("Shrink", "Expand", "LoseDisk", "ElectUnclean"), "what replicas do alone is played of `partition`"),
    "CommitOutOfStep": "a coordinator is out of step with the log only after a foreign load",
    **dict.fromkeys(("Flush", "RollBack"), "when a batch is written, a timer of the coordinator decides"),
    **dict.fromkeys(("CommitInTxn", "Decide", "WriteMarker", "AnswerMarker", "ApplyMarker"), "no step has transactions"),
    "Settle": "when a rebalance ends, a timer of the coordinator decides",
}
"""By action why no step of the driver brings it about, where more can be said than that."""
NOT_PLAYED = without_steps(coordinator, STEPS, _REASONS)


def _script(question: Question, run: Run, chosen: Brokers) -> Script:
    return script_of(question, run, NOT_PLAYED, release(chosen.version))


def _setting(question: Question, script: Script) -> Setting:
    constants = question.instance.constants
    buffers = {step.arguments["buffer"] for step in script.steps if step.action == "EndLoad"} - {0}
    own = {
        **(SETTINGS if constants[expiry.name] else {}),
        **(SHORT_RETENTION if any(step.action == "LetTimePass" for step in script.steps) else {}),
        **({} if constants[keeps_default_timestamps.name] else _OLD_FORMAT),
        **({"offsets.load.buffer.size": str(max(buffers) * _ONE_COMMIT)} if buffers else {}),
    }
    return Setting(constants[brokers.name], ALL_REPLICAS, {}, {**_PATIENT, **own})


def _control(setting: Setting, changed: Changed) -> Setting:
    if changed.version is None:
        raise ConfigurationError(f"--control {changed}: coordinators are played again on another release, such as 4.3.1")
    return setting


def rules_unlike(constants: Mapping[str, int], chosen: Brokers, setting: Setting) -> tuple[OtherRule, ...]:
    """The rules in which constants are not those of the release."""
    has = {name: rule.value for name, rule in profile(number_of(chosen.version).newest_of(VERSIONS), None).items()}
    return differing_rules(RULES, constants, has)


COORDINATORS: PlayedProtocol[TopicView, Answers] = PlayedProtocol(
    coordinator, NOT_PLAYED, questions_without(NOT_PLAYED), _script, _setting, _control, rules_unlike,
    lambda state, seen, setting: differences(state, seen), lambda prepared: {"has_witness": True}, CoordinatorDriver,
)  # fmt: skip
