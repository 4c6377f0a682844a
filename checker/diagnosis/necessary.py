"""Why a violating run breaks its promise: what happens without one of its events, and the nearest run that keeps the promise.

Leaving one step out, forbidding one action altogether, and changing one event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acked.base.bounds import Bounds
from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Verdict, Violation, Words
from acked.checker.search.local import search
from acked.invariants.property import Kind, Property
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance

MAX_STATES = 5_000_000
"""States that the search without an action may see before it gives up."""


@frozen
class LeftOut:
    """What becomes of a run without its step `index`, counted from 1.

    `blocked` is the first later step that is then not possible, `clause` the label that forbids it; None if the rest
    happens, and then nothing is broken, because no shorter run breaks it.
    """

    index: int
    blocked: int | None
    clause: str


@frozen
class Forbidden:
    """Whether the promise holds where an action never happens; `trace_length` is that of the shortest violation then."""

    action: str
    verdict: Verdict
    trace_length: int | None
    states: int


@frozen
class NearestRun:
    """The nearest run that keeps the promise, and by what it differs: the first step, counted from 1, that is another."""

    run: Run
    change: str
    index: int


@frozen
class Necessity:
    """Everything that was found about one violation; `kept` is None if no single change of an event keeps the promise."""

    left_out: tuple[LeftOut, ...]
    forbidden: tuple[Forbidden, ...]
    kept: NearestRun | None


def necessity(question: Question, violation: Violation, bounds: Bounds | None = None) -> Necessity:
    """Why the run of a violation, a shortest one, breaks its promise; exact, and independent of the number of workers."""
    replay = _Replay(question.instance, violation.property)
    steps = violation.run.actions
    left_out = tuple(replay.without(violation.run, at) for at in range(len(steps)))
    names = dict.fromkeys(step.action.name for step in steps)
    forbidden = tuple(_forbidden(question, violation.property, name, bounds) for name in names)
    return Necessity(left_out, forbidden, _nearest(replay, violation.run))


def nearest_kept(question: Question, violation: Violation) -> NearestRun | None:
    """The nearest run that keeps the promise of a violation; None if no single change of an event does."""
    return _nearest(_Replay(question.instance, violation.property), violation.run)


def _forbidden(question: Question, promise: Property, name: str, bounds: Bounds | None) -> Forbidden:
    instance = question.instance.protocol.instantiate(question.instance.constants, question.instance.dropped)
    instance.actions = tuple(step for step in instance.actions if step.action.name != name)
    given = bounds or Bounds()
    result = search(Question(instance, (promise,)), Bounds(given.workers, given.memory, max_states=MAX_STATES))
    length = result.violations[0].trace_length if result.violations else None
    return Forbidden(name, result.verdict, length, result.distinct_states)


class _Replay:
    """Fires steps one after the other, by the plain evaluator."""

    def __init__(self, instance: Instance, promise: Property) -> None:
        self.instance = instance
        self._promise = promise
        question = Question(instance, (promise,))
        self._in_state = None if promise.kind is Kind.STEP else Evaluator([question.holds_in_state(0)])
        self._question = question
        self._guards: dict[str, Evaluator] = {}
        self._steps: dict[str, Evaluator] = {}

    def refusal(self, step: ActionInstance, codes: Sequence[int]) -> str | None:
        """The label of a clause that forbids a step, None if it is possible."""
        if step.label not in self._guards:
            self._guards[step.label] = Evaluator([guard.condition for guard in step.guards])
        holds = self._guards[step.label](codes)
        return next((guard.label for guard, value in zip(step.guards, holds, strict=True) if not value), None)

    def run(self, start: Words, steps: Sequence[ActionInstance]) -> Run | None:
        """The run of these steps; None if one is not possible, or breaks the promise."""
        states, codes = [start], self.instance.schema.unpack(start)
        if not self._keeps(codes):
            return None
        for step in steps:
            if self.refusal(step, codes) is not None or not self._step_keeps(step, codes):
                return None
            try:
                codes = self.instance.fire(step, codes)
            except ModelError:
                return None
            if not self._keeps(codes):
                return None
            states.append(self.instance.schema.pack(codes))
        return Run(tuple(states), tuple(steps))

    def without(self, run: Run, at: int) -> LeftOut:
        """What becomes of a run without the step that leaves its state `at`."""
        codes = self.instance.schema.unpack(run.states[at])
        for index in range(at + 1, len(run.actions)):
            clause = self.refusal(run.actions[index], codes)
            if clause is not None:
                return LeftOut(at + 1, index + 1, clause)
            try:
                codes = self.instance.fire(run.actions[index], codes)
            except ModelError:
                return LeftOut(at + 1, index + 1, "the bounds of the fields")
        return LeftOut(at + 1, None, "")

    def enabled_actions(self, state: Words) -> list[ActionInstance]:
        """What is possible in a state."""
        return self.instance.enabled_actions(self.instance.schema.unpack(state))

    def _keeps(self, codes: Sequence[int]) -> bool:
        return self._in_state is None or bool(self._in_state(codes)[0])

    def _step_keeps(self, step: ActionInstance, codes: Sequence[int]) -> bool:
        if self._promise.kind is not Kind.STEP:
            return True
        if step.label not in self._steps:
            self._steps[step.label] = Evaluator([self._question.holds_in_step(0, step)])
        return bool(self._steps[step.label](codes)[0])


def _nearest(replay: _Replay, run: Run) -> NearestRun | None:
    """The first change that keeps the promise: first of order, then an event more, then another event; the latest of each."""
    for change, index, steps in _changes(replay, run):
        made = replay.run(run.states[0], steps)
        if made is not None:
            return NearestRun(made, change, index)
    return None


def _changes(replay: _Replay, run: Run) -> Iterator[tuple[str, int, Sequence[ActionInstance]]]:
    steps = run.actions
    for at in range(len(steps) - 2, -1, -1):
        exchanged = (*steps[:at], steps[at + 1], steps[at], *steps[at + 2 :])
        yield f"steps {at + 1} and {at + 2} are exchanged", at + 1, exchanged
    for at in range(len(steps) - 1, -1, -1):
        for step in replay.enabled_actions(run.states[at]):
            yield f"{step.label} happens before step {at + 1}", at + 1, (*steps[:at], step, *steps[at:])
    for at in range(len(steps) - 1, -1, -1):
        for step in replay.enabled_actions(run.states[at]):
            if step is not steps[at]:
                yield f"{step.label} happens in place of step {at + 1}", at + 1, (*steps[:at], step, *steps[at + 1 :])
