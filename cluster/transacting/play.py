"""A run of `transactions` on one release: brokers are started, every step is taken and compared, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.nodes.archive import with_archive
from acked.cluster.nodes.cluster import Cluster, patience_after
from acked.cluster.nodes.jvm import Exited
from acked.cluster.nodes.plan import make_plan
from acked.cluster.releases.release import Mode, Release, mode_of, release
from acked.cluster.stories.seen import Difference
from acked.cluster.transacting.driver import Driver, Parted
from acked.cluster.transacting.script import Script, ScriptStep, script_of
from acked.cluster.transacting.seen import Seen, broken, differences
from acked.cluster.waiting import NotSeen, wait_for
from acked.model.transactions.settings import RULES, TV2, transaction_version
from acked.model.transactions.versions import VERSIONS, profile

FIRST = (3, 0)
"""Since then a coordinator describes its transactions (KIP-664), which is how they are compared."""
_KNOWS_V2 = (4, 0)
AFTER_PARTING = 3.0
"""Seconds after which what is not seen will not be, once the brokers have gone another way than the model."""
HANGS_FOR = 5.0
"""After the last step markers are let go, and what is open after so many seconds, though nobody is to end it, hangs."""
SETTINGS: Mapping[str, str] = {"transaction.state.log.num.partitions": "1"}
"""One partition of the coordinator's log, so that its leader is chosen with the topic."""
NOT_DONE = ("PrepareCommit", "PrepareAbort")


@dataclass(frozen=True)
class OtherRule:
    """A rule that the trace has in another way than the release: the constant and both values in words."""

    constant: str
    trace: str
    release: str


@dataclass(frozen=True)
class Prepared:
    """A run ready to be played: everything that can be refused has been. `is_v2`: with clients of `transaction_version` 2."""

    question: Question
    run: Run
    script: Script
    version: str
    mode: Mode
    home: Path | None
    is_v2: bool
    others: tuple[OtherRule, ...]

    def control(self, version: str) -> Prepared:
        """The same steps on another release, with the clients of that release."""
        chosen = _known(version)
        mode = self.mode if self.mode in chosen.modes else mode_of(chosen, None)
        is_v2 = chosen.number >= _KNOWS_V2
        others = other_rules(self.question, chosen, is_v2)
        return replace(self, version=version, mode=mode, home=None, is_v2=is_v2, others=others)


@dataclass(frozen=True)
class SeenStep:
    """What was seen after a step; None where the brokers could not be asked. `refused` says what they did not do of it."""

    step: ScriptStep
    seen: Seen | None
    seconds: float
    refused: str = ""


@dataclass(frozen=True)
class Played:
    """How a run ended on real brokers.

    `parted` is the step at which they went another way, with the reason and the differences; `beyond` what was seen from then
    on, uncompared. `broken` says by promise whether it is broken in the end, after markers were let go; `told` by transaction
    what its client was told, `inputs` which input it read (None: there are none). `waited` is for how many seconds what is
    open in the end was seen to stay so.
    """

    initial: Seen
    steps: tuple[SeenStep, ...]
    parted: ScriptStep | None
    reason: str
    found: tuple[Difference, ...]
    beyond: tuple[SeenStep, ...]
    last: Seen
    told: Mapping[int, str]
    inputs: Mapping[int, int] | None
    broken: Mapping[str, bool]
    waited: float
    seconds: float

    @property
    def refusals(self) -> str:
        """Where brokers went another way, and what they refused later of what was late; nothing if they never parted."""
        later = [one for one in self.beyond[1:] if one.refused and one.step.action.startswith("Late")]
        said = [self.reason, *(f"at step {one.step.index} {one.refused}" for one in later)]
        return "; ".join(text for text in said if text)

    def is_broken(self, promise: str) -> bool | None:
        """Whether a promise is broken in the end; None: that is not decided by what is seen. Of none: whether any is."""
        return self.broken.get(promise) if promise else any(self.broken.values())


@dataclass(frozen=True)
class Reproduction:
    """How a run was played, and what it took. `folder` is left if the brokers' files were to be kept."""

    prepared: Prepared
    played: Played
    start_seconds: float
    folder: Path | None

    @property
    def mode(self) -> Mode:
        """Where the brokers kept their metadata."""
        return self.prepared.mode


@dataclass(frozen=True)
class Heed:
    """Who is told how it goes: lines while brokers start, and every step that was taken."""

    said: Callable[[str], None] = field(default=lambda line: None)
    took: Callable[[SeenStep], None] = field(default=lambda step: None)


def prepare(question: Question, run: Run, version: str, mode: Mode | None = None, home: Path | None = None) -> Prepared:
    """Checks that a run can be played; `ConfigurationError` with what speaks against it if it cannot."""
    chosen = _known(version)
    script = script_of(question, run)
    if script.is_v2 and chosen.number < _KNOWS_V2:
        raise ConfigurationError(
            f"the trace is of transaction_version 2, which Kafka {version} does not have; take --kafka 4.0.0 or later"
        )
    others = other_rules(question, chosen, script.is_v2)
    return Prepared(question, run, script, version, mode_of(chosen, mode), home, script.is_v2, others)


def _known(version: str) -> Release:
    chosen = release(version)
    if chosen.number < FIRST:
        raise ConfigurationError(
            f"Kafka {version} does not describe its transactions, so nothing could be compared; take 3.0.0 or later (KIP-664)"
        )
    return chosen


def other_rules(question: Question, chosen: Release, is_v2: bool) -> tuple[OtherRule, ...]:
    """The rules in which the trace is not like the release with such clients."""
    number = number_of(chosen.version)
    newest = number.newest_of(VERSIONS)
    has, constants = profile(newest, None), question.instance.constants
    found = []
    for rule in RULES:
        value = has[rule.name].value
        if rule is transaction_version:
            value = TV2 if is_v2 else 1
        if value != constants[rule.name]:
            found.append(OtherRule(rule.name, str(rule.show(constants[rule.name])), str(rule.show(value))))
    return tuple(found)


def reproduce(prepared: Prepared, keep: bool = False, heed: Heed | None = None) -> Reproduction:
    """Starts brokers, plays the run, and ends them; `SystemFailure` if they do not start."""
    heed = heed or Heed()
    brokers = range(prepared.script.partitions)
    plan = make_plan(prepared.version, prepared.mode, prepared.home, brokers, SETTINGS, {}, keep, heed.said)
    with Cluster(with_archive(plan, heed.said), heed.said) as cluster:
        played = _Play(prepared, cluster, heed.took).run()
        return Reproduction(prepared, played, cluster.seconds, cluster.folder if keep else None)


class _Differ(Exception):
    """What is seen is not what the model says."""

    def __init__(self, found: tuple[Difference, ...]) -> None:
        super().__init__("; ".join(map(str, found)))
        self.found = found


class _Play:
    def __init__(self, prepared: Prepared, cluster: Cluster, took: Callable[[SeenStep], None]) -> None:
        self._script, self._took = prepared.script, took
        self._patience = patience_after(cluster.seconds)
        self._driver = Driver(cluster, prepared.script, prepared.is_v2, self._patience)
        self._steps: list[SeenStep] = []
        self._beyond: list[SeenStep] = []

    def run(self) -> Played:
        begun = time.monotonic()
        parted: ScriptStep | None = None
        reason, found = "", tuple[Difference, ...]()
        try:
            self._driver.begin()
            initial = self._driver.seen()
            for step in self._script.steps:
                try:
                    self._take(step)
                except (Parted, _Differ, NotSeen, Exited) as error:
                    if isinstance(error, Exited) and error.is_of_machine:
                        raise
                    parted, reason = step, str(error)
                    found = error.found if isinstance(error, _Differ) else ()
                    break
            if parted is not None:
                self._go_on(parted, reason)
            last, waited = self._wait_for_the_end()
            told, inputs = dict(self._driver.told), self._inputs()
            return Played(initial, tuple(self._steps), parted, reason, found, tuple(self._beyond), last, told,
                          inputs, broken(last, told, inputs), waited, time.monotonic() - begun)  # fmt: skip
        finally:
            self._driver.close()

    def _inputs(self) -> dict[int, int] | None:
        return dict(self._driver.inputs) if self._script.has_offsets else None

    def _take(self, step: ScriptStep) -> None:
        begun = time.monotonic()
        self._driver.perform(step)
        self._note(self._steps, step, self._compare(step), begun)

    def _note(self, to: list[SeenStep], step: ScriptStep, seen: Seen | None, begun: float, refused: str = "") -> None:
        to.append(SeenStep(step, seen, time.monotonic() - begun, refused))
        self._took(to[-1])

    def _compare(self, step: ScriptStep) -> Seen:
        """What is seen as soon as it is what the model says; `_Differ` if it is not in time."""
        last: list[tuple[Difference, ...]] = []

        def look() -> Seen | None:
            seen = self._driver.seen()
            last[:] = [differences(step.after, seen)]
            return None if last[0] else seen

        try:
            return wait_for(look, "what the model says", self._patience, self._driver.check)
        except NotSeen:
            if not last:
                raise
            raise _Differ(last[0]) from None

    def _go_on(self, parted: ScriptStep, reason: str) -> None:
        """Takes what follows as far as the brokers let themselves be led, without comparing."""
        begun = time.monotonic()
        self._note(self._beyond, parted, self._seen_if_any(), begun, reason)
        self._driver.seconds = AFTER_PARTING
        for step in self._script.steps[parted.index :]:
            begun, refused = time.monotonic(), ""
            try:
                self._driver.perform(step)
            except (Parted, SystemFailure) as error:
                refused = str(error)
            self._note(self._beyond, step, self._seen_if_any(), begun, refused)

    def _seen_if_any(self) -> Seen | None:
        try:
            return self._driver.seen()
        except (SystemFailure, OSError):
            return None

    def _wait_for_the_end(self) -> tuple[Seen, float]:
        """Lets markers go until no transaction is in its markers, then looks whether what is open stays so."""
        self._driver.seconds = self._patience
        self._driver.let_markers_go()

        def done() -> Seen | None:
            seen = self._driver.seen()
            return None if seen.state in NOT_DONE else seen

        with suppress(NotSeen):
            wait_for(done, "the end of the transaction", self._patience, self._driver.check)
        last = self._driver.seen()
        begun = time.monotonic()
        while broken(last, {}, self._inputs())["NoHangingTransaction"] and time.monotonic() - begun < HANGS_FOR:
            time.sleep(0.5)
            last = self._driver.seen()
        return last, time.monotonic() - begun
