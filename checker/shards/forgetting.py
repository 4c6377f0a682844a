"""When a search goes on without the states of expanded levels, with which table, and with which code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from typing import TYPE_CHECKING

from acked.base.bounds import address_space_limit
from acked.base.frozen import frozen
from acked.checker.loops.lines import LineKind, Lines
from acked.checker.native.compile import Kernel, ObjectCode
from acked.checker.native.shape import Shape
from acked.checker.shards.compact import FORGET_FROM, CompactShard, Each, Range, compact_lines, without_states
from acked.checker.shards.shard import Shard

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

SPAN = 2
"""How many levels apart those are by which it is told how levels grow."""
REST = 3
"""How many times the states that it has a search must have before it: moving one takes as long as is gained with so many."""
LARGE = 8
"""A search of so many times the states from which on it may forget them forgets them, whatever it has before it."""


def is_nearly_over(sizes: Sequence[int]) -> bool:
    """Whether levels of such sizes bring no more than REST times their states, if they go on as a bell rises and falls."""
    if len(sizes) <= 2 * SPAN or 0 in sizes:
        return False
    first, middle, last = (log(size) for size in sizes[-1 - 2 * SPAN :: SPAN])
    bend = max(2 * middle - first - last, 0) / SPAN**2  # what the logarithm of growth loses by a level
    growth, size, rest = (last - middle) / SPAN - bend * (SPAN - 1) / 2, float(sizes[-1]), 0.0
    most = REST * sum(sizes)
    while size >= 1 and rest <= most:
        growth -= bend
        size *= exp(growth)
        rest += size
    return rest <= most


@frozen
class Forgotten:
    """What a search goes on with: its shards without states, and the code with the loops for tables of their kind."""

    shards: Sequence[CompactShard]
    kernel: Kernel
    kind: LineKind


class Forgetting:
    """What a search within a budget of bytes knows of going on without states; nothing where every state is asked for.

    `compiled` makes the search's code with the loops for a table of a kind, and `loaded` a kernel of it: a search of one
    process and a task of Spark have them from different places. It forgets from `least` states on.
    """

    def __init__(
        self,
        shape: Shape,
        memory: int,
        compiled: Callable[[LineKind], ObjectCode],
        loaded: Callable[[ObjectCode], Kernel] = Kernel,
        least: int | None = None,
        is_allowed: bool = True,
    ) -> None:
        self._shape, self._memory, self._compiled, self._loaded = shape, memory, compiled, loaded
        self._least = FORGET_FROM if least is None else least
        self._is_allowed = is_allowed
        self._code: Future[ObjectCode] | None = None
        self._kind: LineKind | None = None

    def first_lines(self, workers: int, states: int = 0) -> Lines | None:
        """The layout of a table for so many states; None if they had better be kept."""
        return compact_lines(self._shape, workers, self._memory, states) if self._is_allowed else None

    def lines(self, shards: Sequence[Shard]) -> Lines | None:
        """The layout for what shards have found; None if they had better keep it, or do without it already."""
        if isinstance(shards[0], CompactShard):
            return None
        return self.first_lines(len(shards), max(sum(shard.found for shard in shards), self._least))

    def kernel(self, kind: LineKind) -> Kernel:
        """The search's code with the loops for such a table: what was compiled beside it, if that is for this one."""
        if self._code is not None and self._kind == kind:
            return self._loaded(self._code.result())
        return self._loaded(self._compiled(kind))

    def forget(
        self,
        shards: Sequence[Shard],
        levels: Sequence[Sequence[Range]],
        done: Sequence[int],
        each: Each,
        settle: Callable[[], None] = lambda: None,
    ) -> Forgotten | None:
        """Goes on without the states of expanded levels, which takes half the memory; see `without_states`.

        None if it does not help, or they have been given up already. `settle` is called before anything is moved.
        """
        lines = self.lines(shards)
        if lines is None:
            return None
        settle()
        kernel = self.kernel(lines.kind)
        new = without_states(shards, self._shape, kernel, self._memory, lines, levels, done, each)
        if new is None:
            self._is_allowed = False  # It will not help later, either.
            return None
        return Forgotten(new, kernel, lines.kind)

    def is_ready(self, shards: Sequence[Shard], compiler: Executor, sizes: Callable[[], Sequence[int]] = tuple) -> bool:
        """Whether the search is large enough, and the code is there, which is compiled beside it.

        `sizes` lists those of its levels: with few states before it, a search keeps those that it has. Never where address
        space is limited, of which it takes several times what it may fill: there, it is tried when memory is full.
        """
        states = sum(shard.found for shard in shards)
        if 2 * states < self._least or isinstance(shards[0], CompactShard) or address_space_limit() is not None:
            return False
        if states < LARGE * self._least and is_nearly_over(sizes()):
            return False
        if self._code is None:
            lines = self.lines(shards)
            if lines is not None:
                self._kind = lines.kind
                self._code = compiler.submit(self._compiled, lines.kind)
            return False
        return states >= self._least and self._code.done()
