"""One question in a process: searched as far as the effort goes, then walked at random; each loss reduced and explained."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from acked.base.bounds import Bounds
from acked.base.errors import AckedError, ConfigurationError, SystemFailure
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.base.processes import Service
from acked.checker.batch.outcome import FoundViolation
from acked.checker.explore.simulate import Plan, simulate
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.question import Question
from acked.checker.question.result import Run, StopReason
from acked.checker.search.local import search
from acked.checker.spec.question_text import QuestionText
from acked.cluster.releases.release import Mode
from acked.hunt.known.losses import KnownLoss
from acked.hunt.known.mend import Bar, Replayed, bar_events
from acked.hunt.search.reduction import reduce_settings, shortest
from acked.invariants.property import Property
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.tracings import Tracings

HUNTER = Service("acked.hunt.search.task:HuntProcess", "hunting")
"""Processes that hunt."""

_REPORT_EVERY = 0.5


@frozen
class Effort:
    """How far one question is gone into: distinct states of a search, then random walks and the steps of each.

    `is_playable`: first half of the walks are of steps that brokers can be led through.
    """

    states: int
    walks: int = 0
    depth: int = 60
    is_playable: bool = False


@frozen
class HuntTask:
    """A question with promises, without the events that are barred, how far to go into it, and where walks begin.

    Actions that `rare` names are taken more often by walks, so many times as it says. `brokers` are the release and the
    control plane of those that would play.
    """

    asked: QuestionText
    bars: tuple[Bar, ...]
    effort: Effort
    seed: int
    rare: tuple[tuple[str, int], ...] = ()
    brokers: tuple[str, str] = ("", "")


@frozen
class Loss:
    """A promise that is broken: its shortest run under `constants`, and the ids of the known losses that explain it.

    `is_shortest` is false of a run of a walk that was only shortened step by step.
    """

    promise: str
    constants: tuple[tuple[str, int], ...]
    run: FoundViolation
    is_shortest: bool
    known_as: tuple[str, ...]


@frozen
class HuntAnswer:
    """What became of a task: `is_decided` if every promise is broken or holds in every reachable state.

    `states` are those of the search, `walks` the random ones with their `steps`, `seconds` of a processor; `refused` says
    why there is no answer.
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
        self._tracings = Tracings()

    def answer(self, task: HuntTask, tell: Callable[[int], None]) -> HuntAnswer:
        """Searches and walks; whatever cannot be asked is refused with a sentence."""
        began = time.process_time()
        try:
            return replace(self._hunt(task, tell), seconds=round(time.process_time() - began, 2))
        except (AckedError, ModelError, DomainOverflow) as error:
            return HuntAnswer(False, 0, 0, 0, 0.0, (), {}, str(error))

    def _hunt(self, task: HuntTask, tell: Callable[[int], None]) -> HuntAnswer:
        question = barred(task, self._tracings)
        bounds = Bounds(1, self._memory, None, task.effort.states)
        result = search(question, bounds, StopPolicy.UNTIL_DECIDED, _Throttled(tell))
        losses = [self._loss(question, item.property, item.run, True, task.bars) for item in result.violations]
        broken = {item.property.name for item in result.violations}
        is_decided = result.stopped is StopReason.COMPLETE or len(broken) == len(question.properties)
        taken = {name: count.enabled for name, count in result.actions.items()}
        walks = steps = 0
        for asked, most in () if is_decided else self._walked(question, task):
            made = 0
            while made < most and (left := tuple(item for item in asked.properties if item.name not in broken)):
                plan = Plan(most - made, task.effort.depth, task.seed + walks, _weights(asked, task.rare))
                found = simulate(replace(asked, properties=left), plan, 1, lambda done, total: tell(done))
                made, walks, steps = made + found.runs, walks + found.runs, steps + found.steps
                if found.violation is None:
                    break
                broken.add(found.violation.property.name)
                run = _with_actions_of(question, found.violation.run)
                losses.append(self._loss(question, found.violation.property, run, False, task.bars))
        return HuntAnswer(is_decided, result.distinct_states, walks, steps, 0.0, tuple(losses), taken)

    def _walked(self, question: Question, task: HuntTask) -> Iterator[tuple[Question, int]]:
        """What is walked, and how often: the steps that brokers can be led through, and all."""
        effort = task.effort
        if effort.is_playable:
            version, plane = task.brokers
            try:
                with optional_packages():
                    from acked.cluster.playing.setting import Brokers
                    from acked.cluster.reports.reproductions.words import presentation_of
                playable = presentation_of(question).played.playable(question, Brokers(version, Mode(plane)), True)
            except (ConfigurationError, SystemFailure):
                pass  # Nobody plays this protocol, or not so, or not here.
            else:
                bar_events(playable.instance, task.bars)
                yield replace(playable, is_symmetric=question.is_symmetric), effort.walks // 2
        yield question, effort.walks // (1 + effort.is_playable)

    def _loss(self, question: Question, promise: Property, run: Run, is_shortest: bool, bars: Sequence[Bar]) -> Loss:
        asked = Question(question.instance, (promise,), is_symmetric=question.is_symmetric)
        found = reduce_settings(Replayed(asked, run, self._tracings))
        known = self._explained(found)
        if not is_shortest and not (known and not known[0].is_open):  # What is documented need not be told in full.
            found, is_shortest = shortest(found, self._memory, bars)
            found = reduce_settings(found)
            known = self._explained(found)
        constants = tuple(found.question.instance.constants.items())
        return Loss(promise.name, constants, _plain(found, promise), is_shortest, tuple(row.id for row in known))

    def _explained(self, found: Replayed) -> list[KnownLoss]:
        instance, promise = found.question.instance, found.question.properties[0].name
        named = (row for row in self._known if row.concerns(instance.protocol.name, instance.constants, promise))
        return [row for row in named if row.mend.prevents(found)]


def barred(task: HuntTask, tracings: Tracings) -> Question:
    """The question of a task, in which events that are barred do not happen."""
    asked = task.asked
    try:
        question = asked.question(tracings=tracings)
    except ConfigurationError as error:
        if not asked.symmetry or error.key != "check.symmetry":
            raise
        question = replace(asked, symmetry=False).question(tracings=tracings)
    bar_events(question.instance, task.bars)
    return question


def _with_actions_of(question: Question, run: Run) -> Run:
    """A run of fewer or other actions of the same names, with those of the question itself."""
    known = {step.label: step for step in question.instance.actions}
    return Run(run.states, tuple(known[step.label] for step in run.actions))


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
