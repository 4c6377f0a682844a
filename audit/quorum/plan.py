"""The plan of a change of the controllers' quorum: who votes in the beginning, and the steps that an operator will do.

    dynamic 1 2 3
    stop 3
    format 3
    remove-controller 3
    start 3
    add-controller 3

The first line names the voters, of the quorum's log (`dynamic`) or of controller.quorum.voters (`static`), which a step
`upgrade` makes dynamic. What follows a # is no part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum, unique
from itertools import accumulate
from pathlib import Path

from acked.base.errors import SpecUnreadable
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.model.kraft import settings

_WHAT = "plan of a quorum"
_FORM = "its first line is like `dynamic 1 2 3` or `static 1 2 3`, and the others are like `stop 3` or `upgrade`"


_EPOCHS_AFTER = 2
_FEW = 3


@unique
class StepKind(Enum):
    """What an operator does to a controller, or to all: kraft.version 1 makes static voters dynamic."""

    ADD = "add-controller"
    REMOVE = "remove-controller"
    FORMAT = "format"
    STOP = "stop"
    START = "start"
    UPGRADE = "upgrade"


@frozen
class QuorumStep:
    """One step; `line` is where it stands. An upgrade has no controller of its own."""

    kind: StepKind
    controller: int | None
    line: int

    @property
    def words(self) -> str:
        """As it is written."""
        return self.kind.value if self.controller is None else f"{self.kind.value} {self.controller}"


@frozen
class Standing:
    """Who votes, who is stopped, and whose disk is another one than that by which the voters know it, by their ids.

    Static voters know each other by id alone.
    """

    is_dynamic: bool
    voters: frozenset[int]
    down: frozenset[int] = frozenset()
    replaced: frozenset[int] = frozenset()

    def after(self, step: QuorumStep) -> Standing:
        """As it is once a step is done."""
        if step.controller is None:
            return replace(self, is_dynamic=True, replaced=frozenset[int]())
        one = {step.controller}
        match step.kind:
            case StepKind.ADD:
                return replace(self, voters=self.voters | one, replaced=self.replaced - one)
            case StepKind.REMOVE:
                return replace(self, voters=self.voters - one, replaced=self.replaced - one)
            case StepKind.FORMAT:
                return replace(self, replaced=self.replaced | (one & self.voters))
            case StepKind.STOP:
                return replace(self, down=self.down | one)
            case StepKind.START:
                return replace(self, down=self.down - one)
            case StepKind.UPGRADE:
                return self

    @property
    def spare(self) -> int:
        """How many voters more may stop so that those that run can have a leader; below 0 they cannot have one now."""
        running = self.voters - self.down - (self.replaced if self.is_dynamic else frozenset())
        return len(running) - (len(self.voters) // 2 + 1)


@frozen
class QuorumPlan:
    """The voters in the beginning, by their ids, and the steps."""

    file: str
    is_dynamic: bool
    voters: tuple[int, ...]
    steps: tuple[QuorumStep, ...]

    @property
    def controllers(self) -> tuple[int, ...]:
        """Every controller that has a part in it, the first voters first; its place is its number in the model."""
        return tuple(dict.fromkeys([*self.voters, *(one for step in self.steps if (one := step.controller) is not None)]))

    @property
    def epochs_after(self) -> int:
        """Leader epochs that a search has beyond those of the steps before: one where there are many controllers."""
        return _EPOCHS_AFTER if len(self.controllers) <= _FEW else 1

    @property
    def records(self) -> int:
        """Metadata records: one that was acknowledged before the steps, and another where there are few controllers."""
        return 2 if len(self.controllers) <= _FEW else 1

    @property
    def standings(self) -> tuple[Standing, ...]:
        """How it is before the first step and after each."""
        return tuple(accumulate(self.steps, Standing.after, initial=Standing(self.is_dynamic, frozenset(self.voters))))

    @property
    def upgrades(self) -> bool:
        """Whether static voters become dynamic."""
        return any(step.kind is StepKind.UPGRADE for step in self.steps)


def is_quorum_plan(text: str) -> bool:
    """Whether a text is meant as one: it begins as one does."""
    first = next((line for _, line in _lines(text)), "")
    return first.split()[:1] in (["dynamic"], ["static"])


def read_quorum_plan(path: Path) -> QuorumPlan:
    """A plan from a file; `SpecUnreadable` says what is wrong with it, where, and what Kafka would refuse."""
    name = str(path)
    lines = _lines(read_text(path, _WHAT))
    if not lines:
        raise SpecUnreadable(f"{name} is empty; {_FORM}")
    (at, first), *rest = lines
    kind, *ids = first.split()
    if kind not in ("dynamic", "static") or not ids or not all(map(str.isdecimal, ids)) or len({*ids}) < len(ids):
        raise SpecUnreadable(f"{name}:{at}: {first!r} does not name the voters, each once; {_FORM}")
    plan = QuorumPlan(name, kind == "dynamic", tuple(map(int, ids)), tuple(_step(name, *line) for line in rest))
    _check(plan)
    return plan


def _lines(text: str) -> list[tuple[int, str]]:
    stripped = ((at, line.split("#")[0].strip()) for at, line in enumerate(text.splitlines(), 1))
    return [(at, line) for at, line in stripped if line]


def _step(name: str, at: int, line: str) -> QuorumStep:
    if line == StepKind.UPGRADE.value:
        return QuorumStep(StepKind.UPGRADE, None, at)
    words = "|".join(kind.value for kind in StepKind if kind is not StepKind.UPGRADE)
    found = re.fullmatch(rf"({words})\s+([0-9]{{1,9}})", line)
    if found is None:
        raise SpecUnreadable(
            f"{name}:{at}: {line!r} is no step; a step is one of {words.replace('|', ', ')}, and an id, or upgrade"
        )
    return QuorumStep(StepKind(found[1]), int(found[2]), at)


def _check(plan: QuorumPlan) -> None:
    """Refuses what Kafka or the tools would refuse, and what is too large."""
    kinds = [step.kind for step in plan.steps]
    sizes = (
        (len(plan.controllers), settings.servers.hi, "controllers"),
        (changes_in(plan.steps), settings.changes.hi, "changes of voters"),
        # One more disk is lost than the plan formats, and each controller that is stopped may have been the leader.
        (kinds.count(StepKind.FORMAT), settings.formats.hi - 1, "formatted disks"),
        (kinds.count(StepKind.STOP), settings.max_epoch.hi - _EPOCHS_AFTER - 1, "stops"),
    )
    for count, most, what in sizes:
        if count > most:
            raise SpecUnreadable(f"{plan.file} has {count} {what}, and at most {most} can be asked about; ask in two plans")
    for step, standing in zip(plan.steps, plan.standings, strict=False):
        if why := _refusal(step, standing):
            raise SpecUnreadable(f"{plan.file}:{step.line}: {step.words}: {why}")


def changes_in(steps: Iterable[QuorumStep]) -> int:
    """How many voter sets are written."""
    return sum(step.kind in (StepKind.ADD, StepKind.REMOVE, StepKind.UPGRADE) for step in steps)


def _refusal(step: QuorumStep, standing: Standing) -> str:
    """Why a step cannot be done; nothing if it can."""
    one, voters, is_down = step.controller, standing.voters, step.controller in standing.down
    match step.kind:
        case StepKind.ADD | StepKind.REMOVE if not standing.is_dynamic:
            return "static voters are not changed while controllers run (controller.quorum.voters); upgrade first"
        case StepKind.UPGRADE if standing.is_dynamic:
            return "kraft.version is 1 already; leave it out"
        case StepKind.UPGRADE if voters & standing.down:
            return "a voter is stopped, and a leader has to be told all directory ids; start it first"
        case StepKind.ADD if one in voters:
            return "it is a voter, and Kafka refuses to add an id that is one (DUPLICATE_VOTER); remove it first"
        case StepKind.ADD if is_down:
            return "it is stopped, and Kafka adds one that has caught up; start it first"
        case StepKind.REMOVE if one not in voters:
            return "it is no voter; leave it out"
        case StepKind.REMOVE if len(voters) == 1:
            return "it is the last voter, and Kafka keeps that; add another first"
        case StepKind.FORMAT if not is_down:
            return "it runs; stop it first"
        case StepKind.STOP if is_down:
            return "it is stopped already; leave it out"
        case StepKind.START if not is_down:
            return "it runs already; leave it out"
    return ""
