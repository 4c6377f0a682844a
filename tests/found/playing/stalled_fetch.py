"""The fetch that is counted in another epoch, played on brokers: one request handler of broker 0 stands still in between.

All steps but its last ones are those of a run of the model, led by the driver; what the model has no step for is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from acked.base.release import release
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.nodes.cluster import Cluster, patience_after
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.playing.protocol import TOPIC, PreparedRun
from acked.cluster.playing.reproduce import cluster_plan
from acked.cluster.playing.script import ScriptStep
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.driver import ReplicationDriver
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.topics.topic import TopicView
from acked.cluster.waiting import NotSeen, wait_for
from acked.invariants.catalogue import properties_of
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import rules_of
from tests.found.playing.debugger import LISTENS, HeldThread

COUNTS = "kafka.cluster.Partition.updateFollowerFetchState"
"""Where a handler stands still: it has read the log for a fetch, in the fetch's leader epoch, and has not counted it."""
CONSTANTS = {
    "replicas": 3, "log_size": 1, "records": 2, "acks": 2, "min_insync_replicas": 2, "unclean_election": 0, "crashes": 0,
    "leadership_moves": 1, "retries": 0, "idempotence": 0,
}  # fmt: skip
Steps = tuple[tuple[str, dict[str, Any]], ...]
BEFORE: Steps = (
    ("Produce", {"leader": 0, "record": 0, "answered": True}),
    ("FetchAtOnce", {"follower": 1, "leader": 0, "end": 1}),
)
"""Then broker 1 fetches again, at offset 1, and that fetch is not counted for long."""
AFTER: Steps = (
    ("MoveLeadership", {"broker": 2}),
    ("BecomeFollower", {"follower": 0, "leader": 2}),
    ("BecomeLeader", {"leader": 2}),
    ("FetchDiverging", {"follower": 0, "leader": 2}),
    ("BecomeFollower", {"follower": 1, "leader": 2}),
    ("FetchDiverging", {"follower": 1, "leader": 2}),
    ("MoveLeadership", {"broker": 0}),
    ("BecomeLeader", {"leader": 0}),
    ("BecomeFollower", {"follower": 2, "leader": 0}),
    ("BecomeFollower", {"follower": 1, "leader": 0}),
    ("FetchNothingNew", {"follower": 1, "leader": 0}),
    ("Produce", {"leader": 0, "record": 1, "answered": True}),
    ("FetchAtOnce", {"follower": 2, "leader": 0, "end": 1}),
    ("FetchNothingNew", {"follower": 2, "leader": 0}),
    ("AskToShrink", {"leader": 0, "followers": [1]}),
    ("CommitAlterPartition", {"leader": 0}),
)
_ASKS_WITHIN = 20.0
"""Seconds in which a leader asks for another ISR if it ever does."""


@dataclass(frozen=True)
class Ended:
    """How it ended: for which ISR broker 0 asks when the fetch has been counted (empty: for none), who leads, what is left in
    the leader's log, the offsets of acknowledged records, and the promises that are broken.
    """

    asked: tuple[int, ...]
    leader: int
    left: tuple[str, ...]
    acknowledged: dict[int, int]
    broken: set[str]


def prepared(brokers: Brokers) -> PreparedRun:
    """The run of the model, in which the fetch is not sent."""
    rules = partition.profile(rules_of(release(brokers.version)), "kraft")
    profile = {name: setting.value for name, setting in rules.items()}
    instance = partition.instantiate(partition.bind({**profile, **CONSTANTS}))
    codes = instance.schema.unpack(instance.initial[0])
    states, taken = [instance.initial[0]], []
    for name, arguments in (*BEFORE, *AFTER):
        step = next(
            item for item in instance.enabled_actions(codes)
            if item.action.name == name and all(item.arguments[key] == value for key, value in arguments.items())
        )  # fmt: skip
        codes = instance.fire(step, codes)
        states.append(instance.schema.pack(codes))
        taken.append(step)
    question = Question(instance, (properties_of(partition)["AckedRecordsSurvive"],))
    return REPLICATION.prepare(question, Run(tuple(states), tuple(taken)), brokers)


def play(version: str, home: Path | None = None, holds: bool = True) -> Ended:
    """Plays it on a release; `holds` is false: no thread stands still, and the fetch is counted at once."""
    made = prepared(Brokers(version, Mode.KRAFT, home))
    with Cluster(cluster_plan(made), options={0: (LISTENS,)}) as cluster:
        driver = ReplicationDriver(made, cluster, TOPIC, patience_after(cluster.seconds))
        try:
            return _Play(made, driver).run(holds)
        finally:
            driver.close()


class _Play:
    def __init__(self, made: PreparedRun, driver: ReplicationDriver) -> None:
        self._steps, self._setting, self._driver = made.script.steps, made.setting, driver
        self._moments: list[TopicView] = []

    def run(self, holds: bool) -> Ended:
        driver = self._driver
        driver.begin()
        self._take(self._steps[: len(BEFORE)])
        fetches = driver.gates.fetches[1, 0]
        again = fetches.wait(driver.seconds)
        if holds:
            with HeldThread(driver.cluster.nodes[0].folder / "out", COUNTS) as handler:
                fetches.let(again)
                handler.await_it()
                self._acknowledge()
                handler.let()
        else:
            fetches.let(again)
            fetches.wait(driver.seconds)
            self._acknowledge()
        asked = self._asked()
        if asked:
            self._elect()
        return self._end(asked)

    def _acknowledge(self) -> None:
        """All that comes in between; broker 0 hears then that broker 1 is out of the ISR, and r1 is acknowledged."""
        self._take(self._steps[len(BEFORE) :])
        self._driver.perform(replace(self._steps[-1], action="LearnIsr", arguments={"leader": 0}))
        assert self._driver.producers.await_acknowledgement(1, self._driver.seconds)

    def _take(self, steps: Sequence[ScriptStep]) -> None:
        for step in steps:
            self._driver.perform(step)
            self._driver.check_answers(step)
            if step.is_settled:
                self._see(step)

    def _see(self, step: ScriptStep) -> None:
        """Returns when all that is seen is what the model says."""
        def look() -> bool:
            self._moments.append(self._driver.observe())
            return not REPLICATION.differences(step.after, self._moments[-1], self._setting)

        wait_for(look, f"what the model says after {step.label}", self._driver.seconds)

    def _asked(self) -> tuple[int, ...]:
        """For which ISR broker 0 asks; the controller takes it, and broker 0 hears so."""
        gates = self._driver.gates
        try:
            frame = gates.asks[0].wait(_ASKS_WITHIN)
        except NotSeen:
            return ()
        assert isinstance(frame.facts, tuple)
        [asked] = frame.facts
        gates.asks[0].let(frame)
        gates.answers[0].let(seconds=self._driver.seconds)
        return tuple(sorted(asked.isr))

    def _elect(self) -> None:
        """Broker 1 is elected, and hears so before it fetches."""
        move_leadership(self._driver.cluster, TOPIC, (1, 0, 2), self._driver.seconds)
        hears = replace(self._steps[-1], action="BecomeLeader", arguments={"leader": 1})
        self._driver.perform(hears)
        self._moments.append(self._driver.observe())

    def _end(self, asked: tuple[int, ...]) -> Ended:
        """Everybody hears of everything, and all logs become the leader's."""
        driver = self._driver
        driver.cluster.network.lift()

        def look() -> TopicView | None:
            seen = driver.observe()
            return seen if len({replica.values for replica in seen.replicas[:3]}) == 1 else None

        last = wait_for(look, "that all replicas have the same", driver.seconds)
        assert last.partition is not None
        leader = last.partition.leader
        broken = driver.broken_promises([*self._moments, last])
        names = {name for name, is_broken in broken.items() if is_broken}
        return Ended(asked, leader, last.replicas[leader].values, dict(driver.answers().acknowledged), names)
