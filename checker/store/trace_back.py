"""From a violation back to an initial state.

`shortest_run`, the canonical run that every engine reports, and `Walker`, which takes one step back on stored levels, file by
file, with memory for one block.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.errors import SystemFailure
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape
from acked.checker.question.ledger import Finding, LeavesDomain
from acked.checker.question.overflow import overflow_of, overflowing
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Violation, Words
from acked.checker.shards.shard import address, scratch
from acked.model.formulas.evaluate import Evaluator

if TYPE_CHECKING:
    from acked.checker.store.level_file import LevelFile, StateCodec

Edge = tuple[Words, int]
"""A state and the number of an action instance."""


def shortest_run(question: Question, found: Finding, source: Callable[[int, Words], Edge]) -> Violation:
    """The canonical run to a violation; `source(level, state)` is the least (state, action) of a level that leads there.

    Where a search saw representatives only, their run is turned into one of the protocol.
    """
    run = run_to(question, found.depth, found.state, source)
    if question.is_symmetric:
        run = real_run(question, run.states)
        if found.action is not None:
            run = add_step(question, run, found)
    elif found.action is not None:
        run = run.then(question.instance, question.instance.actions[found.action])
    return Violation(question.properties[found.position], run)


@contextmanager
def refusing_overflow(question: Question, source: Callable[[int, Words], Edge]) -> Iterator[None]:
    """Raises `DomainOverflow`, with the canonical run to its state, for a step that leaves a field's domain."""
    try:
        yield
    except LeavesDomain as left:
        run = run_to(question, left.found.depth, left.found.state, source)
        step = question.instance.actions[left.found.action or 0]
        if question.is_symmetric:
            run = real_run(question, run.states)
            step = overflowing(question.instance, question.instance.schema.unpack(run.states[-1])) or step
        raise overflow_of(question, run, step) from None


def run_to(question: Question, depth: int, state: Words, source: Callable[[int, Words], Edge]) -> Run:
    """The way that a search took from an initial state to a state of level `depth`; see `shortest_run`."""
    states, actions = [state], []
    for level in range(depth - 1, 0, -1):
        before, action = source(level, states[-1])
        states.append(before)
        actions.append(question.instance.actions[action])
    return Run(tuple(states[::-1]), tuple(actions[::-1]))


def real_run(question: Question, representatives: Sequence[Words]) -> Run:
    """A run of the protocol through the orbits of these states, by the plain evaluator; always the first action that fits."""
    instance, orbits = question.instance, question.orbits
    state = min(item for item in instance.initial if orbits.representative(item) == representatives[0])
    states, actions = [state], []
    for wanted in representatives[1:]:
        codes = instance.schema.unpack(states[-1])
        for step in instance.enabled_actions(codes):
            target = instance.schema.pack(instance.fire(step, codes))
            if orbits.representative(target) == wanted:
                states.append(target)
                actions.append(step)
                break
        else:
            raise SystemFailure("representatives do not make a trace of the protocol; please report this with the spec")
    return Run(tuple(states), tuple(actions))


def add_step(question: Question, run: Run, found: Finding) -> Run:
    """The run with the first step from its end that violates the step property."""
    instance = question.instance
    codes = instance.schema.unpack(run.states[-1])
    bit = 1 + question.step_properties.index(found.position)
    enabled = {id(step) for step in instance.enabled_actions(codes)}
    for check in question.plan.step_checks:
        step = instance.actions[check.action]
        if check.bit == bit and id(step) in enabled and Evaluator([check.violated])(codes)[0]:
            return run.then(instance, step)
    raise SystemFailure("a property is violated up to renaming, but under no renaming; please report this with the spec")


class Walker:
    """Looks for sources in level files; not for two threads at once."""

    def __init__(self, shape: Shape, kernel: Kernel, codec: StateCodec) -> None:
        from acked.checker.store.level_file import BLOCK_STATES

        self.codec = codec
        self._shard = scratch(shape, kernel, BLOCK_STATES)

    def source_in(self, folder: Path, level: int, files: Iterable[LevelFile], target: Words) -> Edge | None:
        """The least (state, action) among the states of these files of a level that leads to `target`."""
        best: Edge | None = None
        words = self.codec.words
        for file in files:
            for records in self.codec.read(folder / file.name, level, file):
                states = self.codec.unpack(records)
                ctypes.memmove(address(self._shard.states), address(states), records.count * words * 8)
                found = self._shard.find_source(0, records.count, target)
                if found is not None and (best is None or found < best):
                    best = found
        return best
