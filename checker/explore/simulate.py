"""Random runs, for constants that are too large for a search: what was seen of a protocol, and a violation if there was one.

`simulate` runs native walkers and shortens the violating run that they find. A simulation that finds nothing proves nothing,
and its count of distinct states is an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from acked.base.bounds import default_workers
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.checker.explore.distinct import DistinctCount
from acked.checker.loops import walks
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions, load_kernel
from acked.checker.native.machine import processor
from acked.checker.native.shape import shape_of
from acked.checker.question.overflow import overflow_of
from acked.checker.question.plan import BATCH
from acked.checker.question.question import OVERFLOW_BIT, Question
from acked.checker.question.result import ActionCount, Run, Violation
from acked.checker.shards.shard import address, alone, reserve
from acked.invariants.property import Kind
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.tracings import ActionInstance

_GOLD = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1
_SMALL = 1 << 16


@frozen
class Plan:
    """What to simulate: runs of at most `depth` steps each; an action's weight is 1 unless `weights` says otherwise."""

    runs: int
    depth: int
    seed: int
    weights: Mapping[str, int]


@frozen
class Simulation:
    """What random traces found.

    >>> found = simulate(ask(toylog, nobody_lags, brokers=3, records=3), runs=10)
    >>> found.violation.property.name, found.violation.trace_length
    ('NobodyLags', 2)
    """

    question: Question
    """What was asked."""
    plan: Plan
    """How many traces were to be made, how long, from which seed, with which weights."""
    runs: int
    """Traces that were made."""
    steps: int
    """Steps of all of them."""
    stuck: int
    """Traces that ended early because no action was enabled."""
    actions: Mapping[str, ActionCount]
    """By name of an action: how often it was taken."""
    distinct: tuple[float, float, float]
    """An estimate of the distinct states that were seen, and the bounds of its 95 % interval."""
    violation: Violation | None
    """The violation that was found, shortened to the steps that it needs."""
    number: int | None
    """Which of the traces violated the property, from 0."""
    length: int | None
    """Its steps before it was shortened."""

    def __repr__(self) -> str:
        found = "no violation" if self.violation is None else repr(self.violation)
        return f"<Simulation: {found} in {self.runs:,} traces of {self.steps:,} steps; of {self.question!r}>"


@frozen
class _Batch:
    steps: int
    stuck: int
    enabled: tuple[int, ...]
    violating: tuple[int, int, int, list[int]] | None
    """(steps, number of the run, ending, actions) of the shortest violating run, the first of equally short ones."""


def simulate(
    question: Question, plan: Plan, workers: int | None = None, on_done: Callable[[int, int], None] = lambda done, total: None
) -> Simulation:
    """Runs until one batch has found a violation, or all have been made; the answer depends on the plan alone.

    `on_done` is told how many runs of how many are made.
    """
    weights = _weights(question, plan.weights)
    kernel, shape = load_kernel(question.plan), shape_of(question.plan)
    threads = workers or default_workers()
    code = ObjectCode(processor(), (compile_functions(walks.FUNCTIONS, {"W": shape.words}),))
    walkers = [_Walkers(question, plan, weights, kernel, Kernel(code)) for _ in range(threads)]
    seen = DistinctCount()
    seen.update(np.zeros(1, np.uint64))  # the initial state; no other has the hash 0
    done: list[_Batch] = []
    batches = [(begin, min(BATCH, plan.runs - begin)) for begin in range(0, plan.runs, BATCH)]
    with ThreadPoolExecutor(threads) as pool:
        for at in range(0, len(batches), threads):
            wave = batches[at : at + threads]
            for made, hashes in pool.map(lambda pair: pair[0].walk(*pair[1]), zip(walkers, wave, strict=False)):
                done.append(made)
                seen.update(hashes)
                on_done(min(len(done) * BATCH, plan.runs), plan.runs)
                if made.violating is not None:
                    break
            if done[-1].violating is not None:
                break
    return _answer(question, plan, done, seen, sum(count for _, count in batches[: len(done)]))


class _Walkers:
    """The memory and the native code of one thread."""

    def __init__(self, question: Question, plan: Plan, weights: Sequence[int], kernel: Kernel, code: Kernel) -> None:
        shape = shape_of(question.plan)
        self._question, self._plan = question, plan
        self._words = shape.words
        self._shard = alone(shape, kernel, _SMALL)
        self._code = code  # whose function is called below
        self._walk_on = code.function("walk_on", 4)
        actions, places = max(shape.actions, 1), BATCH * plan.depth
        sizes = {
            walks.HERE: BATCH * shape.words,
            walks.NEXT: BATCH * shape.words,
            walks.ACTIONS_TAKEN: places // 4 + 1,
            walks.HASHES: places,
            walks.WEIGHTS: actions,
            walks.HEAD: actions,
        }
        self._arrays = {slot: reserve(sizes.get(slot, BATCH)) for slot in range(walks.WALK_SLOTS)}
        self._walk = reserve(walks.WALK_SLOTS)
        for slot, array in self._arrays.items():
            self._walk[slot] = address(array)
        for at, weight in enumerate(weights):
            self._arrays[walks.WEIGHTS][at] = weight

    def walk(self, begin: int, count: int) -> tuple[_Batch, NDArray[np.uint64]]:
        """The runs begin … begin+count-1, and the hashes of the states that they reached, shape (steps,)."""
        initial, depth = self._question.instance.initial[0], self._plan.depth
        here, random = self._arrays[walks.HERE], self._arrays[walks.RANDOM]
        for j in range(count):
            here[j * self._words : (j + 1) * self._words] = list(initial)
            random[j] = _start(self._plan.seed, begin + j)
            self._arrays[walks.ENDING][j] = walks.ALIVE
        self._shard.begin_level()
        reached = self._walk_on(address(self._shard.context), address(self._walk), count, depth)
        lengths = np.ctypeslib.as_array(self._arrays[walks.LENGTH])[:count]
        endings = np.ctypeslib.as_array(self._arrays[walks.ENDING])[:count]
        hashes = np.ctypeslib.as_array(self._arrays[walks.HASHES])[: BATCH * max(reached, 1)].reshape(-1, BATCH)[:, :count]
        violating = None
        if (endings >= walks.BROKEN).any():
            at = min((int(lengths[j]), int(j)) for j in np.flatnonzero(endings >= walks.BROKEN))[1]
            taken = np.ctypeslib.as_array(self._arrays[walks.ACTIONS_TAKEN]).view(np.uint16)
            actions = [int(taken[t * BATCH + at]) for t in range(int(lengths[at]))]
            violating = (int(lengths[at]), begin + at, int(endings[at]), actions)
        enabled = tuple(int(number) for number in self._shard.enabled[: len(self._question.instance.actions)])
        return _Batch(sum(enabled), int((endings == walks.STUCK).sum()), enabled, violating), hashes[hashes != 0]


def _start(seed: int, run: int) -> int:
    """Where the random numbers of a run begin."""
    x = (seed * _GOLD + run * 0xD6E8FEB86659FD93 + 1) & _WORD
    x = ((x ^ x >> 32) * 0xD6E8FEB86659FD93) & _WORD
    return (x ^ x >> 32) & _WORD


def _weights(question: Question, weights: Mapping[str, int]) -> list[int]:
    names = [item.name for item in question.instance.action_rules]
    for name in weights:
        if name not in names:
            raise ConfigurationError(
                f"{question.instance.protocol.name} has no action {name!r}{near(name, names)}; it has {choices(names)}"
            )
    return [weights.get(step.action.name, 1) for step in question.instance.actions]


def _answer(question: Question, plan: Plan, done: Sequence[_Batch], seen: DistinctCount, runs: int) -> Simulation:
    instance = question.instance
    counts = {item.name: 0 for item in instance.action_rules}
    for batch in done:
        for step, number in zip(instance.actions, batch.enabled, strict=True):
            counts[step.action.name] += number
    violating = done[-1].violating
    violation = None
    if violating is not None:
        _, _, ending, actions = violating
        violation = shorten(question, [instance.actions[number] for number in actions], ending - walks.BROKEN)
    return Simulation(
        question,
        plan,
        runs,
        sum(batch.steps for batch in done),
        sum(batch.stuck for batch in done),
        {name: ActionCount(number) for name, number in counts.items()},
        seen.interval,
        violation,
        None if violating is None else violating[1],
        None if violating is None else violating[0],
    )


def shorten(question: Question, steps: Sequence[ActionInstance], found: int) -> Violation:
    """A violating run without the steps that it does not need; `found` numbers state properties, then checks of steps.

    What is left violates the same property, and no single step of it can be removed. It need not be a shortest run.
    """
    states = len(question.state_properties)
    if found == states + OVERFLOW_BIT:
        _refuse_overflow(question, steps)
    position = question.state_properties[found] if found < states else question.step_properties[found - states - 1]
    replay = _Replay(question, position)
    kept = list(steps)
    size = max(len(kept) // 2, 1)
    while True:
        at = 0
        while at < len(kept):
            shorter = replay.until_violated([*kept[:at], *kept[at + size :]])
            if shorter is not None:
                kept = shorter
            else:
                at += size
        if size == 1:
            break
        size //= 2
    # Removing one may have made another one unnecessary.
    while (again := _without_one(replay, kept)) is not None:
        kept = again
    run = Run(question.instance.initial[:1], ()).then(question.instance, *kept)
    return Violation(question.properties[position], run)


def _without_one(replay: _Replay, steps: list[ActionInstance]) -> list[ActionInstance] | None:
    tried = (replay.until_violated(steps[:at] + steps[at + 1 :]) for at in range(len(steps)))
    return next((made for made in tried if made is not None), None)


def _refuse_overflow(question: Question, steps: Sequence[ActionInstance]) -> None:
    """`DomainOverflow`, which the last of the steps raises."""
    *before, last = steps
    instance = question.instance
    raise overflow_of(question, Run(instance.initial[:1], ()).then(instance, *before), last)


class _Replay:
    """Replays steps with the plain evaluator and decides one property."""

    def __init__(self, question: Question, position: int) -> None:
        self._question, self._position = question, position
        self._is_step = question.properties[position].kind is Kind.STEP
        self._in_state = None if self._is_step else Evaluator([question.holds_in_state(position)])
        self._known: dict[str, tuple[Evaluator, Evaluator | None]] = {}

    def until_violated(self, steps: Sequence[ActionInstance]) -> list[ActionInstance] | None:
        """The steps up to the one that violates the property; None if a step is not enabled, or nothing is violated."""
        instance = self._question.instance
        codes = instance.schema.unpack(instance.initial[0])
        if self._in_state is not None and not self._in_state(codes)[0]:
            return []
        for at, step in enumerate(steps):
            if step.label not in self._known:
                holds = Evaluator([self._question.holds_in_step(self._position, step)]) if self._is_step else None
                self._known[step.label] = (Evaluator([step.guard, *(code for _, code in step.updates)]), holds)
            rule, holds = self._known[step.label]
            is_enabled, *values = rule(codes)
            if not is_enabled:
                return None
            if holds is not None and not holds(codes)[0]:
                return list(steps[: at + 1])
            for (leaf, _), value in zip(step.updates, values, strict=True):
                codes[leaf] = value
            if self._in_state is not None and not self._in_state(codes)[0]:
                return list(steps[: at + 1])
        return None

