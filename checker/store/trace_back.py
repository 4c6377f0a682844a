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
from acked.checker.native.compile import Kernel, load_kernel
from acked.checker.native.shape import Shape, shape_of
from acked.checker.question.ledger import Finding, LeavesDomain
from acked.checker.question.overflow import overflow_of, overflowing
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Violation, Words
from acked.checker.shards.shard import address, scratch

if TYPE_CHECKING:
    from acked.checker.store.level_file import LevelFile, StateCodec

Edge = tuple[Words, int]
"""A state and the number of an action instance."""


def shortest_run(
    question: Question, found: Finding, source: Callable[[int, Words], Edge], kernel: Kernel | None = None
) -> Violation:
    """The canonical run to a violation; `source(level, state)` is the least (state, action) of a level that leads there.

    Where a search saw representatives only, their run is turned into one of the protocol. `kernel` is the search's own, if
    that is one for tables with states.
    """
    run = run_to(question, found.depth, found.state, source)
    if question.is_symmetric or found.action is not None:
        steps = _Steps(question, kernel)
        if question.is_symmetric:
            run = steps.real_run(run.states)
        if found.action is not None:
            run = steps.then(run, steps.violating(run, found) if question.is_symmetric else found.action)
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
            run = _Steps(question).real_run(run.states)
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


class _Steps:
    """Single steps of a question's protocol, by machine code: none of its actions is traced for them."""

    def __init__(self, question: Question, kernel: Kernel | None = None) -> None:
        self._question = question
        self._shard = scratch(shape_of(question.plan), kernel or load_kernel(question.plan), 1)

    def then(self, run: Run, action: int) -> Run:
        """The run with one step more."""
        self._begin(run)
        return Run((*run.states, self._shard.fire(action)), (*run.actions, self._question.instance.actions[action]))

    def real_run(self, representatives: Sequence[Words]) -> Run:
        """A run of the protocol through the orbits of these states; always the first action that fits."""
        initial = self._question.instance.initial
        if len(initial) > 1:
            orbits = self._question.orbits
            initial = tuple(item for item in initial if orbits.representative(item) == representatives[0])
        run = Run((min(initial),), ())
        for wanted in representatives[1:]:
            self._begin(run)
            found = self._shard.find_source(0, 1, wanted)
            if found is None:
                raise SystemFailure("representatives do not make a trace of the protocol; please report this with the spec")
            run = self.then(run, found[1])
        return run

    def violating(self, run: Run, found: Finding) -> int:
        """The first action whose step from the end of a run violates the step property."""
        self._begin(run)
        self._shard.begin_level()
        self._shard.inspect(0, 1)
        bad = self._shard.report(1, 0).bad_steps.get(1 + self._question.step_properties.index(found.position))
        if bad is None:
            raise SystemFailure("a property is violated up to renaming, but under no renaming; please report this with the spec")
        return bad[1]

    def _begin(self, run: Run) -> None:
        self._shard.states[: self._shard.words] = list(run.states[-1])


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
