"""The graph of all states and steps, for what only the whole of it decides.

The graph as arrays, what can be reached in it, and `GraphViolation`, a property that it does not satisfy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.checker.question.ledger import Finding
from acked.checker.question.plan import BATCH
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.checker.shards.arrays import states_of
from acked.checker.shards.shard import Shard

_CHUNK = 1 << 20

Mask = NDArray[np.bool_]
"""A truth value per state or step of a graph."""
Numbers = NDArray[np.int64]
"""Numbers of states or steps."""


@frozen
class GraphViolation:
    """A graph property that does not hold: its finding, or None where only a bound of the model violates it.

    `run` shows it where the shortest way to the finding's state does not; `why` are sentences about it.
    """

    position: int
    finding: Finding | None
    why: tuple[str, ...]
    run: Run | None = None


class StateGraph:
    """All states of a shard, in order of discovery, and every step between them.

    Attributes:
        count: How many states there are.
        states: The packed states; uint64 of shape (count, W), W the words of a state.
        ends: By level the number of states up to its end; int64 of shape (levels,).
        sources, targets: By step the numbers of its two states; int64 of shape (steps,).
        actions: By step the number of its action instance; uint16 of shape (steps,).
    """

    def __init__(self, question: Question, shard: Shard, ends: Sequence[int], steps: int) -> None:
        self.question, self.ends = question, np.asarray(ends, np.int64)
        self.count = shard.count
        properties = question.plan.properties
        edges, acts = np.zeros(max(steps, 1), np.uint64), np.zeros(max(steps, 1), np.uint16)
        batches = -(-self.count // BATCH)
        rows = np.zeros((batches, properties, BATCH // 64), np.uint64)
        done = 0
        for begin in range(0, self.count, _CHUNK):
            end = min(begin + _CHUNK, self.count)
            verdicts = rows[begin // BATCH :].ctypes.data
            done += shard.link(begin, end, edges[done:].ctypes.data, acts[done:].ctypes.data, verdicts)
        if done != steps:
            raise SystemFailure(f"{steps} steps were counted and {done} found again; please report this with the spec")
        self.sources = (edges[:done] >> np.uint64(32)).astype(np.int64)
        self.targets = (edges[:done] & np.uint64(0xFFFFFFFF)).astype(np.int64)
        self.actions = acts[:done]
        asked = sum(question.graph_rows.values())
        wanted = rows[:, properties - asked - 1 :, :]
        bits = np.unpackbits(np.ascontiguousarray(wanted).view(np.uint8), axis=2, bitorder="little")
        self._holds = bits.transpose(1, 0, 2).reshape(wanted.shape[1], -1)[:, : self.count].astype(bool)
        self.states = states_of(shard)

    def conditions(self, position: int) -> Mask:
        """Where the conditions of a property (`Question.graph_conditions`) are true; shape (conditions, count)."""
        first = 0
        for other, rows in self.question.graph_rows.items():
            if other == position:
                return self._holds[first : first + rows]
            first += rows
        raise KeyError(position)

    @property
    def held_up(self) -> Mask:
        """Where only what bounds the model keeps some action from being enabled; shape (count,)."""
        held_up: Mask = self._holds[-1]
        return held_up

    def closure(self, start: Mask, counted: Mask, backward: bool = False) -> Mask:
        """Which states can be reached from those of `start`, themselves included; or, backward, can reach them.

        `start` and the result have shape (count,); `counted`, of shape (steps,), is where a step may be taken.
        """
        here, there = (self.targets, self.sources) if backward else (self.sources, self.targets)
        here, there = here[counted], there[counted]
        order, first = sort_by_end(here, self.count)
        there = there[order]
        reached = start.copy()
        frontier = np.flatnonzero(start)
        while len(frontier):
            found = there[places_of(frontier, first)]
            found = np.unique(found[~reached[found]])
            reached[found] = True
            frontier = found
        return reached

    def without(self, names: Collection[str]) -> Mask:
        """The steps by other actions than these; shape (steps,)."""
        steps = self.question.instance.actions
        return np.array([step.action.name not in names for step in steps], bool)[self.actions]

    def shallowest(self, chosen: Mask) -> tuple[int, int]:
        """(level, index) of the least state among the chosen ones, of shape (count,), of the first level that has one."""
        numbers = np.flatnonzero(chosen)
        levels = np.searchsorted(self.ends, numbers, side="right")
        best = numbers[levels == levels.min()]
        for word in range(self.states.shape[1]):
            values = self.states[best, word]
            best = best[values == values.min()]
        return int(levels.min()) + 1, int(best[0])

    def words_of(self, index: int) -> tuple[int, ...]:
        """The packed state of an index."""
        return tuple(int(word) for word in self.states[index])


def sort_by_end(ends: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """The steps in order of one of their ends, and where in that order those of each state begin.

    `ends` and the first result have shape (steps,), the second one (count + 1,).
    """
    first = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=count), out=first[1:])
    return np.argsort(ends, kind="stable"), first


def places_of(states: Numbers, first: Numbers) -> Numbers:
    """Where in the order of `sort_by_end` the steps of these states are, one state after the other."""
    lengths = first[states + 1] - first[states]
    offsets = np.repeat(first[states] - np.cumsum(lengths) + lengths, lengths)
    places: Numbers = offsets + np.arange(lengths.sum())
    return places


def labels_of_bounds(question: Question) -> str:
    """The clauses that bound the model, for a sentence."""
    labels = {guard.label for step in question.instance.actions for guard in step.guards}
    return ", ".join(sorted(question.instance.protocol.budgets & labels))
