"""What the player has to know of `partition`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acked.base.errors import ConfigurationError
from acked.base.release import release
from acked.checker.question.question import Question
from acked.cluster.playing.protocol import PlayedProtocol, PreparedRun
from acked.cluster.playing.script import Script
from acked.cluster.playing.setting import FIRST_WITH_ELIGIBLE_LEADERS, Changed, OtherRule, Setting, differing_rules
from acked.cluster.releases.release import Mode, Release, mode_of
from acked.cluster.replicating.candidates import controller_settings
from acked.cluster.replicating.compare import differences
from acked.cluster.replicating.driver import ReplicationDriver
from acked.cluster.replicating.playable import NOT_PLAYED, TIMED, playable
from acked.cluster.replicating.producers import Answers
from acked.cluster.replicating.script import is_timed, script_of
from acked.cluster.topics.topic import TopicView
from acked.cluster.wire.client import ALL_REPLICAS
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings
from acked.model.partition.rules.controllers import are_many
from acked.model.partition.rules.versions import plane_of, profile, rules_of

FOR_PLAYING: Mapping[str, str] = {
    "replica.fetch.max.bytes": "1",  # A fetch brings the first batch, however large, and no other.
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
"""What makes steps of brokers as small as those of the model."""

_ACKS = {settings.ACKS_0: 0, settings.ACKS_1: 1}


def setting_of(question: Question) -> Setting:
    """What a question's constants are to Kafka."""
    constants = question.instance.constants
    topic = {
        "min.insync.replicas": str(constants[settings.min_insync_replicas.name]),
        "unclean.leader.election.enable": "true" if constants[settings.unclean_election.name] else "false",
    }
    return Setting(constants["replicas"], _ACKS.get(constants[settings.acks.name], ALL_REPLICAS), topic, FOR_PLAYING,
                   has_eligible_leaders=bool(constants[settings.eligible_leader_replicas.name]),
                   is_idempotent=bool(constants[settings.idempotence.name]),
                   other_candidates=constants["candidates"] - 1 if are_many(constants) else 0)  # fmt: skip


def mode_for(question: Question, chosen: Release, asked: Mode | None) -> Mode:
    """The mode in which a release plays a question: that of the question's rules, where the release has it.

    `ConfigurationError` if another is asked for then, or one that the release does not have.
    """
    if question.instance.protocol is not partition:
        return mode_of(chosen, asked)
    rules = Mode(plane_of(question.instance.constants))
    if rules not in chosen.modes:
        return mode_of(chosen, asked)
    if mode_of(chosen, asked or rules) is not rules:
        raise ConfigurationError(
            f"the rules are those of {rules}, and --control-plane is {asked}; leave it out, or name with --kafka-version "
            f"the release whose rules with {asked} are meant"
        )
    return rules


def rules_unlike(constants: Mapping[str, int], chosen: Release, mode: Mode) -> tuple[OtherRule, ...]:
    """The rules in which constants are not like the release that plays them."""
    has = {name: rule.value for name, rule in profile(rules_of(release(chosen.version)), mode.value).items()}
    if chosen.number >= FIRST_WITH_ELIGIBLE_LEADERS:
        has.pop(settings.eligible_leader_replicas.name, None)  # A feature, which is switched as the trace has it.
    return differing_rules(settings.RULES, constants, has)


def _setting(question: Question, script: Script) -> Setting:
    setting = setting_of(question)
    return setting.limit_lag() if is_timed(script) else setting


def _control(setting: Setting, changed: Changed) -> Setting:
    setting = replace(setting, compares_eligible=False)
    if changed.version is not None:
        setting = replace(setting, has_eligible_leaders=None)  # The release is the control, as it is.
    return setting if changed.setting is None else setting.change(*changed.setting)


def _plan(prepared: PreparedRun) -> Mapping[str, Any]:
    return {
        "has_witness": True, "other_candidates": prepared.setting.other_candidates,
        "of_controller": controller_settings(prepared.script),
    }  # fmt: skip


REPLICATION: PlayedProtocol[TopicView, Answers] = PlayedProtocol(
    partition, NOT_PLAYED, playable, script_of, _setting, _control,
    lambda constants, brokers, setting: rules_unlike(constants, brokers.release, brokers.chosen_mode),
    lambda state, seen, setting: differences(state, seen, setting.compares_eligible), _plan, ReplicationDriver,
    TIMED, mode_for,
)  # fmt: skip
