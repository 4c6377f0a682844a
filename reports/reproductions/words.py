"""Playing on real brokers in words: verdicts, what an answer was, and one line for what a broker, or the controller, has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acked.cluster.playing.compare import value_of
from acked.cluster.playing.observed import Found
from acked.cluster.playing.producers import NO_OFFSET
from acked.cluster.playing.reproduce import Changed, Prepared, Reproduction
from acked.cluster.releases.release import Mode
from acked.cluster.stories.seen import Seen
from acked.cluster.wire.apis import error_name
from acked.invariants.property import Property
from acked.model.language.words import says_list, says_set
from acked.reports.reproductions.verdict import (
    Control,
    Ending,
    Judgement,
    Verdict,
    ending_of_control,
    judge,
    verdict_in_words,
)
from acked.reports.units import plural

MODES = {Mode.ZOOKEEPER: "ZooKeeper", Mode.KRAFT: "KRaft"}


@dataclass(frozen=True)
class Answer:
    """A run that was played, the promise that it breaks (None: none), and its control, if there is one."""

    title: str
    promise: Property | None
    first: Reproduction
    changed: Changed | None = None
    control: Reproduction | None = None

    @property
    def name(self) -> str:
        """The promise's name, or nothing."""
        return "" if self.promise is None else self.promise.name

    @property
    def judgement(self) -> Judgement:
        """What the run says of the promise, and what its control does."""
        return judge(self.name, self.first.played, None if self.control is None else self.control.played)


def verdicts_in_words(answer: Answer) -> list[tuple[Ending, str]]:
    """The verdict of a run, and that of its control, in a sentence or two each."""
    first, found = answer.first, answer.judgement
    end = end_in_words(first, answer.promise)
    if found.verdict is Verdict.PARTED:
        said = [(Ending.OPEN, parting_in_words(first)), (Ending.OPEN, f"in the end {end}")]
    else:
        said = [verdict_in_words(found.verdict, brokers_in_words(first), answer.name, first.played, end)]
    said += _observed_in_words(first, "these brokers")
    if answer.control is None or found.control is None:
        return said
    parted, end = answer.control.played.parted, end_in_words(answer.control, answer.promise)
    at = "" if parted is None else f" at step {parted.index}"
    words = {
        Control.SAME_WAY: f"the control, {answer.changed}, goes the same way: {end}",
        Control.KEEPS: f"the control keeps it and goes another way{at}: {end}",
        Control.BREAKS: f"the control goes another way{at}, and all the same {end}",
        Control.NOT_SHOWN: f"the control goes another way{at}, and does not show whether {answer.name} holds: {end}",
    }
    said.append((ending_of_control(found), words[found.control]))
    return said + _observed_in_words(answer.control, "the control's brokers")


def _observed_in_words(reproduction: Reproduction, whose: str) -> list[tuple[Ending, str]]:
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


def brokers_in_words(reproduction: Reproduction) -> str:
    """`Kafka 4.1.0 with KRaft`."""
    return f"Kafka {reproduction.prepared.brokers.version} with {MODES[reproduction.mode]}"


def replica_in_words(values: Iterable[str], mark: int | None, is_down: bool) -> str:
    """`r0 r1 | hw 1`."""
    held = " ".join(values) or "-"
    return f"{held} | hw {mark or 0}{', down' if is_down else ''}"


def modelled(state: Mapping[str, Any]) -> list[str]:
    """What every broker of the model has, and the controller."""
    found = []
    for log, broker in zip(state["log"], state["broker"], strict=True):
        values = [value_of(record["id"]) for record in log["records"][: log["end"]]]
        found.append(replica_in_words(values, broker["hw"], bool(broker.get("down"))))
    controller = state["controller"]
    return [*found, _controller(controller["leader"], controller["isr"])]


def real(seen: Seen, replicas: int) -> list[str]:
    """What every real broker has, and the controller."""
    found = []
    for broker in range(replicas):
        one = next(replica for replica in seen.replicas if replica.broker == broker)
        found.append(replica_in_words(one.values, one.high_watermark, broker not in seen.running))
    partition = seen.partition
    leader = None if partition is None or partition.leader < 0 else partition.leader
    return [*found, _controller(leader, () if partition is None else partition.isr)]


def acknowledged_in_words(reproduction: Reproduction) -> str:
    """What the producer was answered: `r0 was acknowledged at offset 0`."""
    played = reproduction.played
    kept, refused = sorted(played.acknowledged.items()), sorted(played.refused.items())
    said = [
        f"{value_of(record)} was acknowledged at offset {offset}"
        if offset != NO_OFFSET
        else f"{value_of(record)} was taken for written without an answer"
        for record, offset in kept
    ]
    said += [f"{value_of(record)} was answered with {error_name(error)}" for record, error in refused]
    return says_list(said) if said else "the producer was answered nothing"


_OF_CONTROLLERS: Mapping[str, tuple[str, str]] = {
    "BrokersFollowZookeeper": (
        "the broker that ZooKeeper names as leader does not lead, or another one does",
        "the broker that ZooKeeper names as leader leads, and no other does",
    ),
    "OneController": ("two brokers take themselves for the controller", "one broker takes itself for the controller"),
}
"""By promise that is decided where there are several controllers: what is said if it is broken, and if it is kept."""


def end_in_words(reproduction: Reproduction, promise: Property | None) -> str:
    """What has become of what was acknowledged, or of the promise that the trace is about."""
    played = reproduction.played
    if promise is not None and promise.name in _OF_CONTROLLERS and promise.name in played.broken:
        is_broken, is_kept = _OF_CONTROLLERS[promise.name]
        return is_broken if played.broken[promise.name] else is_kept
    if promise is not None and not played.broken.get(promise.name, True) and any(played.broken.values()):
        return f"{promise.name} holds"
    if played.lost and (promise is None or played.is_broken(promise.name) is None or promise.name.startswith("Acked")):
        lost = says_list([value_of(record) for record in played.lost])
        verb = "is" if len(played.lost) == 1 else "are"
        return f"{lost}, acknowledged, {verb} not in the log of broker {played.leader}, the leader"
    if played.forks:
        return f"replicas have different records below their high watermarks, at offset {played.forks[0]}"
    if played.repeated:
        there = says_list([value_of(record) for record in played.repeated])
        return f"{there} is in the log of broker {played.leader}, the leader, more than once"
    if promise is not None and played.is_broken(promise.name):
        return f"{promise.name} does not hold of them"
    if not played.acknowledged:
        return "nothing was acknowledged, so nothing was lost"
    if played.leader is None:
        return "there is no leader, and nothing that was acknowledged is lost"
    return f"broker {played.leader}, the leader, has everything that was acknowledged"


def parting_in_words(reproduction: Reproduction) -> str:
    """`the model and Kafka 3.9.1 with KRaft part at step 7 of 11: …`."""
    played = reproduction.played
    assert played.parted is not None
    steps = len(reproduction.prepared.script.steps)
    return f"the model and {brokers_in_words(reproduction)} part at step {played.parted.index} of {steps}: {played.reason}"


def rules_in_words(prepared: Prepared) -> str:
    """In which rules the spec is not like the release; empty if in none."""
    others = prepared.others
    if not others:
        return ""
    said = ", ".join(f"{rule.constant} is {rule.spec} (in the release {rule.release})" for rule in others)
    return f"the rules of the trace are not those of Kafka {prepared.brokers.version}: {said}"


def _controller(leader: int | None, isr: Sequence[int]) -> str:
    return f"{'nobody' if leader is None else leader}, ISR {says_set(sorted(isr))}"
