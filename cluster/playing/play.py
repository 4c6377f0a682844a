"""Playing a script on a cluster: every step, then a comparison with the model's state; and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Generic

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.cluster.nodes.cluster import Cluster, patience_after
from acked.cluster.nodes.jvm import Exited
from acked.cluster.playing.driver import A, Driver, Parted, S
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.script import ScriptStep
from acked.cluster.topics.topic import Difference
from acked.cluster.waiting import NotSeen, wait_for

AFTER_PARTING = 3.0
"""Seconds after which what is not seen will not be, once the brokers have gone another way than the model."""
_FRESH = 3.0


@frozen
class SeenStep(Generic[S, A]):
    """What was seen after a step: everything, or None where real brokers took the next step at once with it, or where nobody
    was left to be asked.

    `answers` is what clients have been answered by then; `lines` what brokers have said in their own logs since the step
    before; `reason` why a step that was not compared did not happen, empty if it did.
    """

    step: ScriptStep
    seen: S | None
    answers: A
    seconds: float
    lines: tuple[str, ...] = ()
    reason: str = ""


@frozen
class PlayedRun(Generic[S, A]):
    """How a run ended on real brokers.

    `parted` is the step at which they went another way, with the reason and the differences. `answers` is what clients have
    been answered, `broken` which promises are broken in the end. `lines` are the brokers' own words about losses. `beyond` is
    what was seen, and not compared, from the step on at which they parted. `sayings` are what is only said of Kafka, as
    `broken`.
    """

    initial: S
    steps: tuple[SeenStep[S, A], ...]
    parted: ScriptStep | None
    reason: str
    answers: A
    last: S
    broken: Mapping[str, bool]
    lines: tuple[str, ...]
    seconds: float
    differences: tuple[Difference, ...] = ()
    beyond: tuple[SeenStep[S, A], ...] = ()
    sayings: Mapping[str, bool] = field(default_factory=dict)

    @property
    def refusals(self) -> str:
        """Where brokers went another way, and what they refused later of what was late; nothing if they never parted."""
        later = [one for one in self.beyond if one.reason and one.step.action.startswith("Late")]
        return "; ".join([self.reason, *(f"at step {one.step.index} {one.reason}" for one in later)])

    def is_broken(self, promise: str) -> bool | None:
        """Whether a promise is broken in the end; None: that is not decided by what is seen. Of none: whether any is."""
        return {**self.sayings, **self.broken}.get(promise) if promise else any(self.broken.values())


def play(
    prepared: PreparedRun, cluster: Cluster, topic: str, listener: Callable[[SeenStep[S, A]], None] = lambda step: None
) -> PlayedRun[S, A]:
    """Plays a script. `listener` is told every step when it has been taken and seen, also those that are not compared."""
    return _Play(prepared, cluster, topic, listener).run()


class _Play(Generic[S, A]):
    def __init__(
        self, prepared: PreparedRun, cluster: Cluster, topic: str, listener: Callable[[SeenStep[S, A]], None]
    ) -> None:
        self._script, self._setting, self._cluster, self._listener = prepared.script, prepared.setting, cluster, listener
        self._differences = prepared.protocol.differences
        self._patience = patience_after(cluster.seconds)
        self._driver: Driver[S, A] = prepared.protocol.driver(prepared, cluster, topic, self._patience)
        self._steps: list[SeenStep[S, A]] = []
        self._beyond: list[SeenStep[S, A]] = []
        self._found: tuple[Difference, ...] = ()
        """The differences of the last look after the step that is taken."""

    def run(self) -> PlayedRun[S, A]:
        begun = time.monotonic()
        parted, reason = None, ""
        try:
            self._driver.begin()
            initial = self._driver.observe()
            for step in self._script.steps:
                started, self._found = time.monotonic(), ()
                try:
                    seen = self._take(step)
                except (Parted, NotSeen, Exited) as error:
                    self._check_machine(error)
                    parted, reason = step, str(error)
                    self._go_on(parted, started)
                    break
                self._note(self._steps, step, seen, started)
            return self._judge(initial, parted, reason, begun)
        finally:
            self._driver.close()

    def _check_machine(self, error: Exception) -> None:
        """`Exited` where a node ended for want of what the machine lacks: that is no way that brokers go."""
        if isinstance(error, Exited) and error.is_of_machine:
            raise error
        try:
            self._cluster.check()
        except Exited as ended:
            if ended.is_of_machine:
                raise

    def _take(self, step: ScriptStep) -> S | None:
        self._driver.perform(step)
        taken = time.time_ns()
        self._driver.check_answers(step)
        return self._compare(step, taken) if step.is_settled else None

    def _note(
        self, to: list[SeenStep[S, A]], step: ScriptStep, seen: S | None, begun: float, reason: str = ""
    ) -> None:
        answers, lines = self._driver.answers(), self._driver.lines()
        to.append(SeenStep(step, seen, answers, time.monotonic() - begun, lines, reason))
        self._listener(to[-1])

    def _compare(self, step: ScriptStep, taken: int) -> S:
        """What is seen as soon as it is what the model says; `Parted` with the differences if it is not in time."""
        last: list[S] = []

        def look() -> list[S]:
            last[:] = [self._driver.observe()]
            self._found = self._differences(step.after, last[0], self._setting)
            is_late = time.time_ns() - taken > _FRESH * 1e9
            return [] if self._found or not (is_late or self._driver.is_fresh(step, taken)) else last

        try:
            return wait_for(look, "what the model says", self._patience, self._cluster.check)[0]
        except NotSeen:
            if self._found:
                raise Parted("; ".join(map(str, self._found))) from None
            if not last:
                raise
            return last[0]  # Checkpoints are as the model says, and were not written again.

    def _observe_if_possible(self) -> S | None:
        """What is seen now; None where nobody is left to be asked."""
        try:
            return self._driver.observe()
        except (SystemFailure, OSError):
            return None

    def _go_on(self, parted: ScriptStep, begun: float) -> None:
        """Takes what follows as far as the brokers let themselves be led, without comparing."""
        self._note(self._beyond, parted, self._observe_if_possible(), begun)
        self._driver.hurry(AFTER_PARTING)
        for step in self._script.steps[parted.index :]:
            begun, reason = time.monotonic(), ""
            try:
                self._driver.perform(step)
            except (Parted, SystemFailure) as error:
                reason = str(error)
            self._note(self._beyond, step, self._observe_if_possible(), begun, reason)

    def _judge(self, initial: S, parted: ScriptStep | None, reason: str, begun: float) -> PlayedRun[S, A]:
        driver = self._driver
        driver.hurry(self._patience)
        last = driver.end()
        seen = [initial, *(one.seen for one in (*self._steps, *self._beyond) if one.seen is not None), last]
        broken = driver.broken_promises(seen)
        return PlayedRun(
            initial, tuple(self._steps), parted, reason, driver.answers(), last, broken, driver.losses(),
            time.monotonic() - begun, self._found if parted is not None else (), tuple(self._beyond), driver.sayings(last),
        )  # fmt: skip
