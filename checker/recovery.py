"""Recoverability: from every reachable state, can the cluster still get to where a predicate holds?

What lives here: the graph of all states and steps as arrays, the backward search that decides it, and why nothing helps in a
dead end. What does not: the search that finds the states (`search.py`).

A state is lost if no continuation leads to one in which the predicate holds. A lost state is a dead end of the protocol
only if no state that can be reached from it is held up by what merely bounds the model (a leader epoch is left, say): where
one is, a larger bound might help, and nothing is claimed. A property may name actions that do not count as help: a broker
that crashes and comes back mends much that should not have needed it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from checker.errors import SystemFailure
from checker.kernel import BATCH
from checker.levels import Finding
from checker.question import Question
from checker.shard import Shard
from model.evaluate import Evaluator

_CHUNK = 1 << 20
_MOST_TOLD = 200
"""States around a dead end that are looked at for the reason why nothing helps."""
_MOST_ACTIONS = 4


@dataclass(frozen=True)
class Lost:
    """What became of one property: a finding for a dead end, or the states that only a bound keeps from recovering."""

    position: int
    finding: Finding | None
    held_up: int
    why: tuple[str, ...]


class StateGraph:
    """All states of a shard, in order of discovery, and every step between them.

    `ends` says where each level ends. `holds[k]` tells of every state whether the k-th graph property's predicate is true;
    the last one, whether the state is held up by a bound.
    """

    def __init__(self, question: Question, shard: Shard, ends: Sequence[int], steps: int) -> None:
        self.question, self.ends = question, np.asarray(ends, np.int64)
        self.count = shard.count
        self._words = question.instance.schema.words
        properties = len(question.plan.state_violations)
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
        wanted = rows[:, properties - len(question.graph_properties) - 1 :, :]
        bits = np.unpackbits(np.ascontiguousarray(wanted).view(np.uint8), axis=2, bitorder="little")
        self.holds = bits.transpose(1, 0, 2).reshape(wanted.shape[1], -1)[:, : self.count].astype(bool)
        view = np.frombuffer(memoryview(shard.states).cast("B"), np.uint64, self.count * self._words)
        self.states = view.reshape(self.count, self._words)

    def closure(self, start: np.ndarray, counted: np.ndarray, backward: bool = False) -> np.ndarray:
        """Which states can be reached from those of `start` (a mask), themselves included; or, backward, can reach them.

        `counted` is a mask of the steps that may be taken.
        """
        here, there = (self.targets, self.sources) if backward else (self.sources, self.targets)
        here, there = here[counted], there[counted]
        order = np.argsort(here, kind="stable")
        there = there[order]
        first = np.zeros(self.count + 1, np.int64)
        np.cumsum(np.bincount(here, minlength=self.count), out=first[1:])
        reached = start.copy()
        frontier = np.flatnonzero(start)
        while len(frontier):
            lengths = first[frontier + 1] - first[frontier]
            offsets = np.repeat(first[frontier] - np.cumsum(lengths) + lengths, lengths)
            found = there[offsets + np.arange(lengths.sum())]
            found = np.unique(found[~reached[found]])
            reached[found] = True
            frontier = found
        return reached

    def without(self, names: Collection[str]) -> np.ndarray:
        """A mask of the steps by other actions than these."""
        steps = self.question.instance.actions
        return np.array([step.action.name not in names for step in steps], bool)[self.actions]

    def shallowest(self, chosen: np.ndarray) -> tuple[int, int]:
        """(level, index) of the least state among the chosen ones (a mask) of the first level that has one."""
        numbers = np.flatnonzero(chosen)
        levels = np.searchsorted(self.ends, numbers, side="right")
        best = numbers[levels == levels.min()]
        for word in range(self._words):
            values = self.states[best, word]
            best = best[values == values.min()]
        return int(levels.min()) + 1, int(best[0])

    def words_of(self, index: int) -> tuple[int, ...]:
        """The packed state of an index."""
        return tuple(int(word) for word in self.states[index])


def decide(graph: StateGraph) -> list[Lost]:
    """Every graph property that does not hold, with what is known of it; nothing of those that hold."""
    question, found = graph.question, []
    for row, position in enumerate(question.graph_properties):
        counted = graph.without(question.properties[position].without)
        lost = ~graph.closure(graph.holds[row], counted, backward=True)
        if not lost.any():
            continue
        dead = ~graph.closure(graph.holds[row] | graph.holds[-1], counted, backward=True)
        if not dead.any():
            found.append(Lost(position, None, int(lost.sum()), (_held_up(graph, position, lost),)))
            continue
        level, index = graph.shallowest(dead)
        finding = Finding(position, level, graph.words_of(index), None)
        found.append(Lost(position, finding, 0, tuple(_why(graph, row, position, index, int(dead.sum()), counted))))
    return found


def _held_up(graph: StateGraph, position: int, lost: np.ndarray) -> str:
    name = graph.question.properties[position].name
    labels = sorted(graph.question.instance.protocol.budgets & _labels(graph.question))
    return (
        f"{name}: {int(lost.sum()):,} of {graph.count:,} states cannot recover, but from each of them a state can be reached "
        f"in which only a bound of the model forbids a step ({', '.join(labels)}); choose constants without such an end"
    )


def _labels(question: Question) -> set[str]:
    return {guard.label for step in question.instance.actions for guard in step.guards}


# -- why nothing helps ------------------------------------------------------------------------------------------------


def _why(graph: StateGraph, row: int, position: int, index: int, dead: int, counted: np.ndarray) -> list[str]:
    """Sentences about the dead end: what can still happen there, and what would help but cannot happen."""
    question, instance = graph.question, graph.question.instance
    item = question.properties[position]
    start = np.zeros(graph.count, bool)
    start[index] = True
    around = np.flatnonzero(graph.closure(start, counted))
    if len(around) == 1:
        first = "no step leaves the run's last state"
    else:
        first = f"from the run's last state {len(around):,} states can be reached, itself included, and it holds in none"
    told = [f"{item.name}: {first}; {dead:,} of {graph.count:,} states are such dead ends"]
    # Which actions ever bring the predicate about?
    makes = graph.holds[row][graph.targets] & ~graph.holds[row][graph.sources] & counted
    helpful = list(dict.fromkeys(instance.actions[at].action.name for at in np.unique(graph.actions[makes])))
    codes = [instance.schema.unpack(graph.words_of(int(at))) for at in around[:_MOST_TOLD]]
    more = f" (in the first {len(codes)} of them)" if len(around) > len(codes) else ""
    return told + [_hindrance(question, name, codes) + more for name in helpful[:_MOST_ACTIONS]]


def _hindrance(question: Question, name: str, codes: Sequence[list[int]]) -> str:
    """What keeps an action that elsewhere brings the predicate about from doing so in any of these states."""
    guards = [step.guards for step in question.instance.actions if step.action.name == name]
    evaluate = Evaluator([guard.condition for clauses in guards for guard in clauses])
    false_sets = []
    for state in codes:
        values = iter(evaluate(state))
        false_sets += [[guard.label for guard in clauses if not next(values)] for clauses in guards]
    if not all(false_sets):
        return f"{name}, which brings that about elsewhere, can happen but does not do so"
    if always := set(false_sets[0]).intersection(*false_sets):
        return f"{name} would bring that about, but {_quoted(sorted(always))} is false"
    return f"{name} would bring that about, but at best {_quoted(min(false_sets, key=len))} is false"


def _quoted(labels: Sequence[str]) -> str:
    return " and ".join(f'"{label}"' for label in labels)
