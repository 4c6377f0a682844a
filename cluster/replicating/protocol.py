"""What the player has to know of `partition`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.playing.protocol import PlayedProtocol, PreparedRun
from acked.cluster.playing.script import Script
from acked.cluster.playing.setting import Brokers, Changed, Setting
from acked.cluster.replicating.compare import differences
from acked.cluster.replicating.driver import ReplicationDriver
from acked.cluster.replicating.playable import NOT_PLAYED, TIMED, playable, ways_of
from acked.cluster.replicating.producers import Answers
from acked.cluster.replicating.rivals import of_controller
from acked.cluster.replicating.script import is_timed, script_of
from acked.cluster.replicating.setting import mode_for, rules_unlike, setting_of
from acked.cluster.topics.views import TopicView
from acked.model.partition.protocol import partition


def _playable(question: Question, brokers: Brokers, timed: bool) -> Question:
    return playable(question, brokers.chosen_mode, timed, ways_of(brokers.release, brokers.chosen_mode))


def _script(question: Question, run: Run, brokers: Brokers) -> Script:
    return script_of(question, run, brokers.chosen_mode, ways_of(brokers.release, brokers.chosen_mode))


def _setting(question: Question, script: Script) -> Setting:
    setting = setting_of(question)
    return setting.timed() if is_timed(script) else setting


def _control(setting: Setting, changed: Changed) -> Setting:
    setting = replace(setting, compares_eligible=False)
    if changed.version is not None:
        setting = replace(setting, has_eligible_leaders=None)  # The release is the control, as it is.
    return setting if changed.setting is None else setting.changed(*changed.setting)


def _plan(prepared: PreparedRun) -> Mapping[str, Any]:
    return {
        "has_witness": True, "rivals": prepared.setting.rivals, "of_controller": of_controller(prepared.script),
    }  # fmt: skip


REPLICATION: PlayedProtocol[TopicView, Answers] = PlayedProtocol(
    partition, NOT_PLAYED, _playable, _script, _setting, _control,
    lambda constants, brokers, setting: rules_unlike(constants, brokers.release, brokers.chosen_mode),
    lambda state, seen, setting: differences(state, seen, setting.compares_eligible), _plan, ReplicationDriver,
    TIMED, mode_for,
)  # fmt: skip
