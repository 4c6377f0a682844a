"""The properties that only the graph of all states decides, one after the other, once a search has seen all of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from acked.base.errors import SystemFailure
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import shape_of
from acked.checker.question.question import Question
from acked.checker.search import liveness, recoverability
from acked.checker.search.state_graph import GraphViolation, StateGraph
from acked.checker.shards.shard import Shard, address, alone
from acked.invariants.property import Kind

_DECIDES = {Kind.RECOVERABLE: recoverability.decide, Kind.LIVENESS: liveness.decide}

Levels = Sequence[Sequence[tuple[int, int]]]
"""By level and shard, where the level's states begin and end."""


def decide(
    question: Question, shards: Sequence[Shard], levels: Levels, steps: int, kernel: Kernel, memory: int
) -> Sequence[GraphViolation]:
    """The violations of the question's graph properties; `steps` is how many lead from all the states of the shards."""
    shard = shards[0] if len(shards) == 1 else _merge(question, shards, levels, kernel, memory)
    ends = list(accumulate(sum(end - begin for begin, end in ranges) for ranges in levels))
    graph = StateGraph(question, shard, ends, steps)
    found = [_DECIDES[question.properties[at].kind](graph, at) for at in question.graph_properties]
    return [violation for violation in found if violation is not None]


def _merge(question: Question, shards: Sequence[Shard], levels: Levels, kernel: Kernel, memory: int) -> Shard:
    """All states in one shard, level by level."""
    merged = alone(shape_of(question.plan), kernel, memory)
    for ranges in levels:
        for shard, (begin, end) in zip(shards, ranges, strict=True):
            if not merged.take(address(shard.states) + 8 * merged.words * begin, end - begin):
                raise SystemFailure("the states do not fit into one table; use --workers 1, or more --memory")
    return merged
