"""Tiered compilation: when a search goes on with better code.

`Tiers`: the functions of a question are compiled beside the search. The loops, which searches share, are compiled between two
levels of the first that is long enough, because a search that goes on beside that would take what processors there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future

from acked.checker.loops.lines import LineKind
from acked.checker.native.compile import Kernel, ObjectCode, compile_loops, compile_optimized
from acked.checker.question.known import KnownPlan
from acked.checker.question.plan import KernelPlan
from acked.checker.shards.compact import CompactShard
from acked.checker.shards.shard import Shard

TIER_UP_RATIO = 80
"""A search is long, and worth the optimizing compilation, once it has generated so many states for every byte of its quickly
compiled code: by then it has taken about as long as that compilation will. Counted, not timed: a busy machine is slow at
both."""
ONCE = 3
"""How many times as many, of a question that was not asked before: better code saves a fifth to a half of a search, so by
then it has lost what the compilation takes. One that is asked again is worth more, since the code is kept."""

QUICK_UNTIL = 1 << 18
"""States that a search generates before it waits for loops that are optimized, which it does not if another one had them
compiled: until then it has lost some hundredths of a second by what it began with."""
PATIENCE = 64
"""How many times as many, where a search goes on without states soon, with other loops: then it has lost less than it would
wait, whatever follows."""


class Tiers:
    """The better code of one search's plan; `has_quick_loops` says that it begins with loops that are not optimized.

    `is_brief` says that it goes on without states, and so without these loops, when it is large.
    """

    def __init__(self, plan: KernelPlan, has_quick_loops: bool, is_brief: bool = False) -> None:
        self._plan = plan
        self._quick_until = QUICK_UNTIL * (PATIENCE if is_brief else 1)
        self._has_quick_loops = has_quick_loops
        self.optimized: Future[ObjectCode] | None = None
        """What was or is compiled; None before that."""

    def advance(
        self, kernel: Kernel, shards: Sequence[Shard], generated: int, compiler: Executor, kind: LineKind | None
    ) -> Kernel:
        """Between two levels: compiles what a search is long enough for, and switches to what is there; the kernel then."""
        # The loops of a table without states are optimized whenever it is used.
        if self._has_quick_loops and generated > self._quick_until and not isinstance(shards[0], CompactShard):
            self._has_quick_loops = False
            loops = Kernel(compile_loops(self._plan.instance.schema.words))
            for shard in shards:
                shard.use_loops(loops)
        if kernel.is_optimized:
            return kernel
        if self.optimized is None:
            if generated > TIER_UP_RATIO * kernel.size * (1 if isinstance(self._plan, KnownPlan) else ONCE):
                self.optimized = compiler.submit(compile_optimized, self._plan, kind)
        elif self.optimized.done():
            kernel = Kernel(self.optimized.result())
            for shard in shards:
                shard.use_kernel(kernel)
        return kernel
