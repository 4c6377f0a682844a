"""One question in a process: searched as far as the effort goes, then walked at random; each loss reduced and explained."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from acked.base.bounds import Bounds
from acked.base.errors import AckedError, ConfigurationError
from acked.base.observer import Observer, Progress
from acked.base.processes import Service
from acked.checker.batch.outcome import FoundViolation
from acked.checker.explore.simulate import Plan, simulate
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Run, StopReason
from acked.checker.search.local import search
from acked.checker.spec.question_text import QuestionText
from acked.hunt.known.losses import KnownLoss
from acked.hunt.known.mend import Bar, Replayed, bar_events
from acked.hunt.search.reduction import reduce_settings, shortest
from acked.invariants.property import Property
from acked.model.formulas.errors import DomainOverflow, ModelError

HUNTER = Service("acked.hunt.search.task:HuntProcess", "hunting")
"""Processes that hunt."""

_REPORT_EVERY = 0.5


@dataclass(frozen=True)
class Effort:
    """How far one question is gone into: distinct states of a search, then random walks and the steps of each."""

    states: int
    walks: int = 0
    depth: int = 60


@dataclass(frozen=True)
class HuntTask:
    """A question with promises, without the events that are barred, how far to go into it, and where walks begin.

    Actions that `rare` names are taken more often by walks, so many times as it says.
    """

    asked: QuestionText
    bars: tuple[Bar, ...]
    effort: Effort
    seed: int
    rare: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Loss:
    """A promise that is broken: its shortest run under `constants`, and the ids of the known losses that explain it.

    `is_shortest` is false of a run of a walk that was only shortened step by step.
    """

    promise: str
    constants: tuple[tuple[str, int], ...]
    run: FoundViolation
    is_shortest: bool
    known_as: tuple[str, ...]


@dataclass(frozen=True)
class HuntAnswer:
    """What became of a task: `is_decided` if every promise is broken or holds in every reachable state.

    `states` are those of the search, `walks` the random ones with their `steps`; `refused` says why there is no answer.
    """

    is_decided: bool
    states: int
    walks: int
    steps: int
    seconds: float
    losses: tuple[Loss, ...]
    taken: Mapping[str, int]
    refused: str = ""


class HuntProcess:
    """What a process does with tasks; it is given how many bytes its searches may have, and what is known."""

    def __init__(self, given: tuple[int, Sequence[KnownLoss]], _: float) -> None:
        self._memory, self._known = given

    def answer(self, task: HuntTask, tell: Callable[[int], None]) -> HuntAnswer:
        """Searches and walks; whatever cannot be asked is refused with a sentence."""
        began = time.monotonic()
        try:
            return replace(self._hunt(task, tell), seconds=round(time.monotonic() - began, 2))
        except (AckedError, ModelError, DomainOverflow) as error:
            return HuntAnswer(False, 0, 0, 0, 0.0, (), {}, str(error))

    def _hunt(self, task: HuntTask, tell: Callable[[int], None]) -> HuntAnswer:
        question = barred(task)
        bounds = Bounds(1, self._memory, None, task.effort.states)
        result = search(question, bounds, StopPolicy.UNTIL_DECIDED, _Throttled(tell))
        losses = [self._loss(question, item.property, item.run, True) for item in result.violations]
        broken = {item.property.name for item in result.violations}
        is_decided = result.stopped is StopReason.COMPLETE or len(broken) == len(question.properties)
        taken = {name: count.enabled for name, count in result.actions.items()}
        walks = steps = 0
        while not is_decided and task.effort.walks and walks < task.effort.walks:
            left = tuple(item for item in question.properties if item.name not in broken)
            if not left:
                break
            asked = Question(question.instance, left)
            plan = Plan(task.effort.walks - walks, task.effort.depth, task.seed + len(broken), _weights(question, task.rare))
            found = simulate(asked, plan, workers=1, on_done=lambda done, total: tell(done))
            walks, steps = walks + found.runs, steps + found.steps
            if found.violation is None:
                break
            broken.add(found.violation.property.name)
            losses.append(self._loss(asked, found.violation.property, found.violation.run, False))
        return HuntAnswer(is_decided, result.distinct_states, walks, steps, 0.0, tuple(losses), taken)

    def _loss(self, question: Question, promise: Property, run: Run, is_shortest: bool) -> Loss:
        asked = Question(question.instance, (promise,), is_symmetric=question.is_symmetric)
        found = reduce_settings(Replayed(asked, run))
        known = self._explained(found)
        if not is_shortest and not (known and not known[0].is_open):  # What is documented need not be told in full.
            found, is_shortest = shortest(found, self._memory)
            found = reduce_settings(found)
            known = self._explained(found)
        constants = tuple(found.question.instance.constants.items())
        return Loss(promise.name, constants, _plain(found, promise), is_shortest, tuple(row.id for row in known))

    def _explained(self, found: Replayed) -> list[KnownLoss]:
        instance, promise = found.question.instance, found.question.properties[0].name
        named = (row for row in self._known if row.concerns(instance.protocol.name, instance.constants, promise))
        return [row for row in named if row.mend.prevents(found)]


def barred(task: HuntTask) -> Question:
    """The question of a task, in which events that are barred do not happen."""
    asked = task.asked
    try:
        question = asked.question()
    except ConfigurationError as error:
        if not asked.symmetry or error.key != "check.symmetry":
            raise
        question = replace(asked, symmetry=False).question()
    bar_events(question.instance, task.bars)
    return question


def _weights(question: Question, rare: Sequence[tuple[str, int]]) -> dict[str, int]:
    present = {item.name for item in question.instance.action_rules}
    return {name: weight for name, weight in rare if name in present}


def _plain(found: Replayed, promise: Property) -> FoundViolation:
    fired = tuple((step.action.name, dict(step.arguments)) for step in found.run.actions)
    return FoundViolation(promise.name, promise.kind, found.run.states, (), None, fired)


class _Throttled(Observer):
    """Passes the count of states on, at most twice a second."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._next = tell, time.monotonic() + _REPORT_EVERY

    def progress(self, now: Progress) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _REPORT_EVERY
            self._tell(now.distinct_states)
