"""A quorum of controllers that is disturbed at random while metadata is written: is all of it there at the end?

Each disturbance leaves a majority of the voters with their disks, and is undone before the next one.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from enum import StrEnum, unique
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from tempfile import TemporaryDirectory

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.cluster.nodes.controllers import Controllers
from acked.cluster.releases.release import release
from acked.cluster.waiting import NotSeen, wait_for

_SETTLE_SECONDS, _CHANGE_SECONDS = 120.0, 10.0
_FIRST_VALUE = 86_400_000


@unique
class QuorumKind(StrEnum):
    """What is done to one controller."""

    KILL = "kill"
    PAUSE = "pause"
    REPLACE_DISK = "disk"
    LEAVE = "leave"

    __hash__ = object.__hash__


MEANING: Mapping[QuorumKind, str] = {
    QuorumKind.KILL: "the process is killed and starts again",
    QuorumKind.PAUSE: "the process stands still, shorter or longer than a fetch may take",
    QuorumKind.REPLACE_DISK: "it is killed, removed from the voters, starts with an empty disk and is added again",
    QuorumKind.LEAVE: "it is removed from the voters while it runs, be it the leader, and added again",
}
_LASTS: Mapping[QuorumKind, tuple[float, float]] = {
    QuorumKind.KILL: (0.0, 5.0), QuorumKind.PAUSE: (0.5, 6.0), QuorumKind.REPLACE_DISK: (0.0, 2.0),
    QuorumKind.LEAVE: (0.5, 3.0),
}  # fmt: skip
OF_STATIC = (QuorumKind.KILL, QuorumKind.PAUSE)
"""What static voters are meant to bear."""


@frozen
class QuorumExercise:
    """What is asked for."""

    version: str
    controllers: int
    minutes: float
    seed: int

    @property
    def is_static(self) -> bool:
        """Before 3.9 voters are those of the configuration."""
        return release(self.version).number < (3, 9)


@dataclass
class QuorumExercised:
    """What was done: how often which disturbance came, and those that were not possible; `acknowledged` metadata records,
    and which of them the last leader's log lacks, `missing`. `logs` has a folder for each controller, with its file `log`.
    """

    asked: QuorumExercise
    logs: Path
    seconds: float = 0.0
    counts: Counter[QuorumKind] = field(default_factory=Counter)
    skipped: int = 0
    acknowledged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def exercise_quorum(asked: QuorumExercise, logs: Path, show: Callable[[str], None]) -> QuorumExercised:
    """Runs it, and copies the controllers' logs into a folder; `SystemFailure` if there is no leader again in two minutes."""
    done = QuorumExercised(asked, logs)
    with TemporaryDirectory(prefix="acked-quorum-") as folder:
        try:
            with Controllers(asked.version, asked.controllers, Path(folder), is_static=asked.is_static) as them:
                _Run(them, done, show).go()
        finally:
            for one in range(asked.controllers):
                (logs / str(one)).mkdir(parents=True, exist_ok=True)
                with suppress(OSError):
                    shutil.copy(Path(folder) / str(one) / "log", logs / str(one) / "log")
    return done


class _Run:
    def __init__(self, them: Controllers, done: QuorumExercised, show: Callable[[str], None]) -> None:
        self._them, self._done, self._show = them, done, show
        self._chosen = random.Random(done.asked.seed)
        self._kinds = OF_STATIC if done.asked.is_static else tuple(QuorumKind)

    def go(self) -> None:
        """Disturbs until the time is over, and then looks for what was acknowledged."""
        them, done = self._them, self._done
        them.replicated_leader()
        begun = time.monotonic()
        while time.monotonic() < begun + 60 * done.asked.minutes:
            kind, one = self._chosen.choice(self._kinds), self._chosen.randrange(done.asked.controllers)
            lasts = self._chosen.uniform(*_LASTS[kind])
            self._show(f"{time.monotonic() - begun:.0f} s of {60 * done.asked.minutes:.0f} s: {kind} of controller {one}")
            self._write()
            try:
                self._disturb(kind, one, lasts)
                done.counts[kind] += 1
            except (NotSeen, SystemFailure):
                done.skipped += 1
            self._mend()
        self._write()
        leader = them.replicated_leader()
        done.seconds = time.monotonic() - begun
        done.missing = [value for value in done.acknowledged if not them.has_written(leader, value.encode())]

    def _write(self) -> int:
        """Has a default of all brokers written, with a value that no other record has; who leads then."""
        value = str(_FIRST_VALUE + len(self._done.acknowledged))
        leader = self._them.write_default(value)
        self._done.acknowledged.append(value)
        return leader

    def _disturb(self, kind: QuorumKind, one: int, lasts: float) -> None:
        them = self._them
        match kind:
            case QuorumKind.KILL:
                them.kill(one)
                time.sleep(lasts)
            case QuorumKind.PAUSE:
                them.signal([one], SIGSTOP)
                try:
                    time.sleep(lasts)
                finally:
                    them.signal([one], SIGCONT)
            case QuorumKind.REPLACE_DISK:
                them.kill(one)
                time.sleep(lasts)
                self._remove(one)
                them.lose_disk(one, "--no-initial-controllers")
                self._write()
            case QuorumKind.LEAVE:
                self._remove(one)
                time.sleep(lasts)
                self._write()

    def _remove(self, one: int) -> None:
        with ExitStack() as stack:
            self._them.remove(one, self._write(), stack)
            wait_for(lambda: self._votes(one) is False, f"that controller {one} is no voter", _CHANGE_SECONDS)

    def _votes(self, one: int) -> bool | None:
        """Whether it is a voter by the newest set of who leads; None where nobody does."""
        leader = self._them.leader()
        voters = set() if leader is None else self._them.voters(leader)
        return one in voters if voters else None

    def _mend(self) -> None:
        """Everybody runs, has everything, and is a voter."""
        them = self._them
        for one in range(self._done.asked.controllers):
            if one not in them.running:
                them.start(one)
        leader = them.replicated_leader()
        for one in set(range(self._done.asked.controllers)) - them.voters(leader):
            self._add(one)

    def _add(self, one: int) -> None:
        """Has it added, and asked for again if need be: a leader gives up where it does not reach who has just started."""

        def is_added() -> bool | None:
            with ExitStack() as stack, suppress(NotSeen):
                self._them.add(one, self._them.replicated_leader(), stack)
                wait_for(lambda: self._votes(one), f"that controller {one} is a voter", _CHANGE_SECONDS)
            return self._votes(one)

        wait_for(is_added, f"that controller {one} is a voter again", _SETTLE_SECONDS)
        self._them.replicated_leader()
