"""What the player has to know of a protocol, and a run of one that is ready to be played."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from typing import Any, Generic

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.playing.driver import A, Driver, S
from acked.cluster.playing.script import Script, State
from acked.cluster.playing.setting import Brokers, Changed, OtherRule, Setting
from acked.cluster.releases.release import Mode, Release, mode_of, release
from acked.cluster.topics.topic import Difference
from acked.model.language.protocol import Protocol

TOPIC = "played"
_NO_STEP = "the driver has no step for it"


def without_steps(model: Protocol, steps: Collection[str], known: Mapping[str, str]) -> Mapping[str, str]:
    """By action that no step of a driver brings about the reason: the known one, or that there is no step."""
    rest = {action.name: _NO_STEP for action in model.actions if action.name not in steps and action.name not in known}
    return {**known, **rest}


def questions_without(names: Collection[str]) -> Callable[[Question, Brokers, bool], Question]:
    """As `playable` of a protocol: the question about the runs that have none of these actions."""

    def playable(question: Question, _brokers: Brokers, _timed: bool) -> Question:
        made = question.instance.protocol.instantiate(question.instance.constants, question.instance.dropped)
        made.actions = tuple(step for step in made.actions if step.action.name not in names)
        return Question(made, question.properties)

    return playable


@frozen
class PlayedProtocol(Generic[S, A]):
    """How a protocol is played. `not_played` are the actions that no step of the driver brings about, with the reasons.

    `timed` are those that are played, but end by time, so a search does without them if it can. `playable` is the question
    about the runs that brokers can be led through, with those of `timed` or without. `script_of` raises `ConfigurationError`
    with the step and the reason. `setting_of` is what a script is played with, `control_of` what its control is, and
    `rules_unlike` in which rules constants are not those of brokers with such clients. `differences` compares a state of the
    model with what is seen. `plan_of` are the arguments of `make_plan` that are not the same for all protocols, `mode_for` is
    the mode of a release that a question asks for.
    """

    model: Protocol
    not_played: Mapping[str, str]
    playable: Callable[[Question, Brokers, bool], Question]
    script_of: Callable[[Question, Run, Brokers], Script]
    setting_of: Callable[[Question, Script], Setting]
    control_of: Callable[[Setting, Changed], Setting]
    rules_unlike: Callable[[Mapping[str, int], Brokers, Setting], tuple[OtherRule, ...]]
    differences: Callable[[State, S, Setting], tuple[Difference, ...]]
    plan_of: Callable[[PreparedRun], Mapping[str, Any]]
    driver: Callable[[PreparedRun, Cluster, str, float], Driver[S, A]]
    timed: Mapping[str, str] = field(default_factory=dict)
    mode_for: Callable[[Question, Release, Mode | None], Mode] = lambda question, chosen, asked: mode_of(chosen, asked)

    def left_out(self, question: Question, is_timed: bool = False) -> dict[str, str]:
        """The actions of a question that no run of `playable` has, each with the reason."""
        names = dict.fromkeys(step.action.name for step in question.instance.actions)
        reasons = dict(self.not_played) if is_timed else {**self.not_played, **self.timed}
        return {name: reasons[name] for name in names if name in reasons}

    def fit(self, brokers: Brokers, question: Question) -> Brokers:
        """Brokers in the mode of a question's rules; `ConfigurationError` if they are to run in another one."""
        return replace(brokers, mode=self.mode_for(question, brokers.release, brokers.mode))

    def prepare(self, question: Question, run: Run, brokers: Brokers) -> PreparedRun:
        """Checks that a run can be played; `ConfigurationError` with the step and the reason if it cannot."""
        brokers = brokers if brokers.mode else self.fit(brokers, question)
        if brokers.sessions_expire and brokers.chosen_mode is not Mode.KRAFT:
            raise ConfigurationError("sessions in ZooKeeper outlast every run here; leave --expire out, or use KRaft")
        script = self.script_of(question, run, brokers)
        setting = self.setting_of(question, script)
        others = self.rules_unlike(question.instance.constants, brokers, setting)
        return PreparedRun(self, question, run, script, setting, brokers, others)


def restore_actions(question: Question, found: Run) -> Run:
    """A run of `playable`, with the actions of the question itself."""
    steps = {step.label: step for step in question.instance.actions}
    return Run(found.states, tuple(steps[step.label] for step in found.actions))


@frozen
class PreparedRun:
    """A run ready to be played: everything that can be refused has been."""

    protocol: PlayedProtocol[Any, Any]
    question: Question
    run: Run
    script: Script
    setting: Setting
    brokers: Brokers
    others: tuple[OtherRule, ...]

    def control(self, changed: Changed) -> PreparedRun:
        """The same steps on another release or with another setting."""
        brokers, setting = self.brokers, self.protocol.control_of(self.setting, changed)
        if changed.version is not None:
            mode = brokers.chosen_mode
            kept = mode if mode in release(changed.version).modes else None
            brokers = Brokers(changed.version, kept, sessions_expire=brokers.sessions_expire)
        others = self.protocol.rules_unlike(self.question.instance.constants, brokers, setting)
        return replace(self, setting=setting, brokers=brokers, others=others)
