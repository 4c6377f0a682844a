"""Playing on real brokers in words, whatever the protocol: an answer, its verdicts, and in which rules a trace is unlike."""

from __future__ import annotations

from typing import Any

from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.reproduce import Found, Reproduction
from acked.cluster.playing.setting import Changed, Setting
from acked.cluster.releases.release import Mode
from acked.cluster.reports.reproductions.coordinators import COORDINATORS_SHOWN
from acked.cluster.reports.reproductions.presentation import Presentation
from acked.cluster.reports.reproductions.replication import REPLICATION_SHOWN
from acked.cluster.reports.reproductions.transactions import TRANSACTIONS_SHOWN
from acked.cluster.reports.reproductions.verdict import (
    Control,
    Ending,
    Judgement,
    Verdict,
    ending_of_control,
    judge,
    verdict_in_words,
)
from acked.invariants.property import Property
from acked.reports.units import plural

MODES = {Mode.ZOOKEEPER: "ZooKeeper", Mode.KRAFT: "KRaft"}
AnyReproduction = Reproduction[Any, Any]
"""A run of any protocol that was played."""


def presentation_of(question: Question) -> Presentation[Any, Any]:
    """How the protocol of a question is played and shown; that of replication says of others that they are not."""
    shown = (one for one in (TRANSACTIONS_SHOWN, COORDINATORS_SHOWN) if one.played.model is question.instance.protocol)
    return next(shown, REPLICATION_SHOWN)


@frozen
class Answer:
    """A run that was played, the promise that it breaks (None: none), and its control, if there is one."""

    title: str
    promise: Property | None
    first: AnyReproduction
    changed: Changed | None = None
    control: AnyReproduction | None = None

    @property
    def name(self) -> str:
        """The promise's name, or nothing."""
        return "" if self.promise is None else self.promise.name

    @property
    def judgement(self) -> Judgement:
        """What the run says of the promise, and what its control does."""
        return judge(self.name, self.first.played, None if self.control is None else self.control.played)

    @property
    def shown(self) -> Presentation[Any, Any]:
        """How the protocol is shown."""
        return presentation_of(self.first.prepared.question)

    def end_in_words(self, one: AnyReproduction) -> str:
        """What has become of the promise in one of them."""
        return self.shown.end_in_words(one.played, self.name)


def verdicts_in_words(answer: Answer) -> list[tuple[Ending, str]]:
    """The verdict of a run, and that of its control, in a sentence or two each."""
    first, found = answer.first, answer.judgement
    end = answer.end_in_words(first)
    if found.verdict is Verdict.PARTED:
        said = [(Ending.OPEN, parting_in_words(first)), (Ending.OPEN, f"in the end {end}")]
    else:
        said = [verdict_in_words(found.verdict, brokers_in_words(first), answer.name, first.played, end)]
    said += _observed_in_words(first, "these brokers")
    if answer.control is None or found.control is None:
        return said
    parted, end = answer.control.played.parted, answer.end_in_words(answer.control)
    at = "" if parted is None else f" at step {parted.index}"
    words = {
        Control.SAME_WAY: f"the control, {answer.changed}, goes the same way: {end}",
        Control.KEEPS: f"the control keeps it and goes another way{at}: {end}",
        Control.BREAKS: f"the control goes another way{at}, and all the same {end}",
        Control.NOT_SHOWN: f"the control goes another way{at}, and does not show whether {answer.name} holds: {end}",
    }
    said.append((ending_of_control(found), words[found.control]))
    return said + _observed_in_words(answer.control, "the control's brokers")


def _observed_in_words(reproduction: AnyReproduction, whose: str) -> list[tuple[Ending, str]]:
    """What a validation of the brokers' own logs says, which they make where their release's lines are read."""
    one = reproduction.observed
    if one is None:
        return []
    events = plural(one.events, "event")
    if one.found is Found.NOT_READ:
        return [(Ending.OPEN, f"what {whose} logged could not be validated: {one.said}")]
    if one.found is Found.NOT_EXPLAINED:
        text = f"what {whose} logged is not a behaviour of the model: {events} are one, and none explains {one.said}"
        return [(Ending.BAD, text)]
    broken = "" if one.broken is None else f"; in it {one.broken} does not hold"
    return [(Ending.GOOD, f"what {whose} logged meanwhile, {events}, is a behaviour of the model{broken}")]


def brokers_in_words(reproduction: AnyReproduction) -> str:
    """`Kafka 4.1.0 with KRaft`."""
    return f"Kafka {reproduction.prepared.brokers.version} with {MODES[reproduction.mode]}"


def setting_in_words(setting: Setting) -> str:
    """`acks=all, min.insync.replicas=2`, and which transactions clients make."""
    acks = {-1: "all"}.get(setting.acks, str(setting.acks))
    clients = [] if setting.transaction_version is None else [f"clients of transaction_version {setting.transaction_version}"]
    return ", ".join([f"acks={acks}", *(f"{key}={value}" for key, value in setting.topic.items()), *clients])


def parting_in_words(reproduction: AnyReproduction) -> str:
    """`the model and Kafka 3.9.1 with KRaft part at step 7 of 11: …`."""
    played = reproduction.played
    assert played.parted is not None
    steps = len(reproduction.prepared.script.steps)
    return f"the model and {brokers_in_words(reproduction)} part at step {played.parted.index} of {steps}: {played.refusals}"


def rules_in_words(prepared: PreparedRun) -> str:
    """In which rules the spec is not like the release; empty if in none."""
    others = prepared.others
    if not others:
        return ""
    said = ", ".join(f"{rule.constant} is {rule.trace} (in the release {rule.release})" for rule in others)
    return f"the rules of the trace are not those of Kafka {prepared.brokers.version}: {said}"
