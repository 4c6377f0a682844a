"""Playing a script on a cluster: every step, then a comparison with the model's state; and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from acked.checker.errors import SystemFailure
from acked.cluster.nodes.cluster import Cluster, patience_after
from acked.cluster.nodes.jvm import Exited
from acked.cluster.observe.disk import HIGH_WATERMARKS
from acked.cluster.playing.compare import differences, value_of
from acked.cluster.playing.driver import Driver, Parted
from acked.cluster.playing.promises import broken, ends_out_of_sync, forks, has_gone, lost, repeated, sayings
from acked.cluster.playing.script import Script, ScriptStep
from acked.cluster.playing.setting import Setting
from acked.cluster.stories.seen import Difference, Seen
from acked.cluster.stories.stage import Stage
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import error_name
from acked.cluster.wire.client import PartitionView
from acked.model.partition.state import ACKED, FAILED

AFTER_PARTING = 3.0
"""Seconds after which what is not seen will not be, once the brokers have gone another way than the model."""
_FRESH = 3.0


@dataclass(frozen=True)
class SeenStep:
    """What was seen after a step: everything, or None where real brokers took the next step at once with it.

    `acknowledged` and `refused` are what producers have been answered by then, as in `Played`; `lines` what brokers and the
    controller have said of the topic in their own logs since the step before.
    """

    step: ScriptStep
    seen: Seen | None
    acknowledged: Mapping[int, int]
    seconds: float
    refused: Mapping[int, int] = field(default_factory=dict)
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Played:
    """How a run ended on real brokers.

    `parted` is the step at which they went another way, with the reason. `acknowledged` are the records by the offset that
    the producer was answered, `lost` those of them that the last leader's log lacks, `forks` the offsets below two replicas'
    high watermarks at which these have different records, `repeated` the records that the last leader
    has more than once, `broken` which promises are broken in the end. `lines` are the brokers' own words. `beyond` is what
    was seen, and not compared, from the step on at which they parted. `sayings` are what is only said of Kafka, as `broken`.
    """

    initial: Seen
    steps: tuple[SeenStep, ...]
    parted: ScriptStep | None
    reason: str
    acknowledged: Mapping[int, int]
    refused: Mapping[int, int]
    leader: int | None
    last: Seen
    lost: tuple[int, ...]
    forks: tuple[int, ...]
    repeated: tuple[int, ...]
    broken: Mapping[str, bool]
    lines: tuple[str, ...]
    seconds: float
    differences: tuple[Difference, ...] = field(default=())
    beyond: tuple[SeenStep, ...] = ()
    sayings: Mapping[str, bool] = field(default_factory=dict)

    def is_broken(self, promise: str) -> bool | None:
        """Whether a promise is broken in the end; None: that is not decided by what is seen. Of none: whether any is."""
        return {**self.sayings, **self.broken}.get(promise) if promise else any(self.broken.values())


def play(
    script: Script, cluster: Cluster, topic: str, setting: Setting, heed: Callable[[SeenStep], None] = lambda step: None
) -> Played:
    """Plays a script. `heed` is told every step when it has been taken and seen."""
    return _Play(script, cluster, topic, setting, heed).run()


class _Play:
    def __init__(
        self, script: Script, cluster: Cluster, topic: str, setting: Setting, heed: Callable[[SeenStep], None]
    ) -> None:
        self._script, self._cluster, self._setting, self._heed = script, cluster, setting, heed
        self._patience = patience_after(cluster.seconds)
        self._stage = Stage(cluster, topic)
        self._driver = Driver(cluster, self._stage, script, setting, self._patience)
        self._steps: list[SeenStep] = []
        self._beyond: list[SeenStep] = []

    def run(self) -> Played:
        begun = time.monotonic()
        parted: ScriptStep | None = None
        reason, found = "", tuple[Difference, ...]()
        try:
            self._driver.begin(self._setting.topic)
            initial = self._stage.seen()
            for step in self._script.steps:
                started = time.monotonic()
                try:
                    self._take(step)
                except (Parted, _Differ, NotSeen, Exited) as error:
                    self._check_machine(error)
                    parted, reason = step, str(error)
                    found = error.found if isinstance(error, _Differ) else ()
                    break
            if parted is not None:
                self._beyond.append(self._told(parted, self._seen_if_any(), started))
                self._go_on(parted)
            return self._judge(initial, parted, reason, found, begun)
        finally:
            self._driver.producers.close()
            self._driver.gates.lift()

    def _check_machine(self, error: Exception) -> None:
        """`Exited` where a node ended for want of what the machine lacks: that is no way that brokers go."""
        if isinstance(error, Exited) and error.is_of_machine:
            raise error
        try:
            self._stage.check()
        except Exited as ended:
            if ended.is_of_machine:
                raise

    def _take(self, step: ScriptStep) -> None:
        begun = time.monotonic()
        self._driver.perform(step)
        taken = time.time_ns()
        self._check_producers(step)
        seen = self._compare(step, taken) if step.is_settled else None
        self._note(step, seen, begun)

    def _note(self, step: ScriptStep, seen: Seen | None, begun: float) -> None:
        told = self._told(step, seen, begun)
        self._steps.append(told)
        self._heed(told)

    def _told(self, step: ScriptStep, seen: Seen | None, begun: float) -> SeenStep:
        refused = dict(self._driver.producers.refused)
        return SeenStep(step, seen, self._offsets(), time.monotonic() - begun, refused, self._stage.new_lines())

    def _seen_if_any(self) -> Seen | None:
        """What is seen now; None where nobody is left to be asked."""
        try:
            return self._stage.seen()
        except (SystemFailure, OSError):
            return None

    def _offsets(self) -> dict[int, int]:
        return {record: answer.offset for record, answer in self._driver.producers.acknowledged.items()}

    def _check_producers(self, step: ScriptStep) -> None:
        """The producers have heard what those of the model have."""
        producers = self._driver.producers
        producers.hear()
        for record, status in enumerate(step.after["producer"]["status"]):
            if status == ACKED and not producers.await_acknowledgement(record, self._patience):
                error = producers.refused.get(record)
                why = f"is answered with {error_name(error)}" if error else "has no answer"
                raise Parted(f"the producer of {value_of(record)} {why}, and in the model it is acknowledged")
            if status != ACKED and record in producers.acknowledged and step.is_settled:
                raise Parted(f"the producer of {value_of(record)} is acknowledged, and in the model it is not")

    def _compare(self, step: ScriptStep, taken: int) -> Seen:
        """What is seen as soon as it is what the model says; `_Differ` if it is not in time."""
        last: list[tuple[Seen, tuple[Difference, ...]]] = []

        def look() -> Seen | None:
            seen = self._stage.seen()
            found = differences(step.after, seen, self._setting.compares_eligible)
            last[:] = [(seen, found)]
            return None if found or not self._are_fresh(step, taken) else seen

        try:
            return wait_for(look, "what the model says", self._patience)
        except NotSeen:
            seen, found = last[0]
            if not found:
                return seen  # Checkpoints are as the model says, and were not written again.
            raise _Differ(found) from None

    def _are_fresh(self, step: ScriptStep, taken: int) -> bool:
        """Whether every replica that has heard of a leader has written its high watermarks since a step was taken."""
        if time.time_ns() - taken > _FRESH * 1e9:
            return True
        for broker in self._driver.replicas:
            node = self._cluster.nodes[broker]
            if node.is_running and step.after["broker"][broker]["leader_epoch"] is not None:
                try:
                    if (node.data / HIGH_WATERMARKS).stat().st_mtime_ns <= taken:
                        return False
                except FileNotFoundError:
                    return False
        return True

    # -- after the brokers went another way -------------------------------------------------------------------------------

    def _go_on(self, parted: ScriptStep) -> None:
        """Takes what follows as far as the brokers let themselves be led, without comparing."""
        self._driver.seconds = self._driver.producers.seconds = AFTER_PARTING
        if self._driver.rivals is not None:
            self._driver.rivals.seconds = AFTER_PARTING
        for step in self._script.steps[parted.index :]:
            begun = time.monotonic()
            with suppress(Parted, SystemFailure):
                self._driver.perform(step)
                self._driver.producers.hear()
            self._beyond.append(self._told(step, self._seen_if_any(), begun))

    def _judge(
        self, initial: Seen, parted: ScriptStep | None, reason: str, found: tuple[Difference, ...], begun: float
    ) -> Played:
        self._driver.producers.hear()
        last = self._stage.seen()
        leader = _leader_of(last.partition)
        acknowledged = self._offsets()
        records = len(self._script.initial["producer"]["status"])
        producers = self._driver.producers
        return Played(
            initial, tuple(self._steps), parted, reason, acknowledged, dict(producers.refused), leader, last,
            lost(acknowledged, last, leader), forks(last.replicas), repeated(records, last, leader),
            {**self._broken(acknowledged, records, last, leader), **self._of_moves(initial, last)},
            self._stage.words(), time.monotonic() - begun, found,
            tuple(self._beyond), sayings(last, leader),
        )  # fmt: skip

    def _broken(self, acknowledged: Mapping[int, int], records: int, last: Seen, leader: int | None) -> dict[str, bool]:
        rivals, latest = self._driver.rivals, self._driver.latest
        given = self._script.steps[-1].after["producer"]["status"] if self._script.steps else ()
        failed = [record for record, status in enumerate(given) if status == FAILED and record not in acknowledged]
        return {
            **broken(acknowledged, records, last, leader, failed),
            "ReadsStay": has_gone(self._driver.reads, last, leader),
            "LatestOffsetStays": latest != sorted(latest),
            "IsrIsAlive": leader is not None and self._counts_on_the_dead(last),
            **({} if rivals is None else rivals.broken()),
        }

    def _of_moves(self, initial: Seen, last: Seen) -> dict[str, bool]:
        """Decided of reassignments that leave out a replica: of one that only adds some nobody sees when it has ended."""
        steps = [step for step in self._script.steps if step.action == "Reassign"]
        targets = {frozenset(step.arguments["target"]) for step in steps if not self._only_adds(step)}
        if not targets or len(targets) < len(steps):
            return {}
        seen = [initial, *(one.seen for one in (*self._steps, *self._beyond)), last]
        views = [one.partition for one in seen if one is not None and one.partition is not None]
        return {"MovesEndInSync": ends_out_of_sync(views, targets)}

    def _only_adds(self, step: ScriptStep) -> bool:
        return set(step.before["controller"]["replicas"]) <= set(step.arguments["target"])

    def _counts_on_the_dead(self, last: Seen) -> bool:
        alive = set(last.running) - self._driver.sessions.lost
        return last.partition is not None and not set(last.partition.isr) <= alive


class _Differ(Exception):
    """What is seen is not what the model says."""

    def __init__(self, found: tuple[Difference, ...]) -> None:
        super().__init__("; ".join(map(str, found)))
        self.found = found


def _leader_of(partition: PartitionView | None) -> int | None:
    return None if partition is None or partition.leader < 0 else partition.leader

