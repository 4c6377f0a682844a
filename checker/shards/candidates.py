"""What the workers of a search have in memory whose visited states are on disk: the candidates of one level.

`CandidateShard`, and `candidate_team`. The loops are in `delayed.py`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from acked.checker.loops import delayed, slots, table
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape
from acked.checker.shards.shard import Shard, Visited, address, reserve

TABLE_SHARE = 3, 4
"""The part of the budget that candidates and their table may take; the rest is for the log of the steps to them."""
LOG_BYTES = 2 * delayed.LOG_PARTS
SIEVE_BITS = 16
"""Bits of the sieve for a candidate."""


class CandidateShard(Shard):
    """The candidates that one worker found, and the steps to them."""

    def __init__(
        self, shape: Shape, kernel: Kernel, visited: Visited, worker: int, loops: Kernel, memory: int, most: int
    ) -> None:
        super().__init__(shape, kernel, visited, worker)
        self.defer()
        self._delayed = loops  # whose code the functions below are
        self._mark = loops.function("mark", 7)
        self._note_candidates = loops.function("note_candidates", 4)
        self._count_steps = loops.function("count_steps", 4)
        self._keep_unmarked = loops.function("keep_unmarked", 3)
        # On top of what the budget allows, a call may log what it deferred in the last one, and what all workers expand, if
        # it helps them; nobody looks at the budget in between.
        self._log = reserve((memory + LOG_BYTES * (visited.workers + 1) * most * max(shape.actions, 1)) // 8)
        self.context[slots.LOG] = address(self._log)
        self.context[slots.LOG_STEPS] = loops.address("log_steps")

    def read_from(self, states: int) -> None:
        """What is expanded from now on, states `begin` to `end - 1`, stands at this address."""
        self._offer[slots.OFFER_STATES] = states

    @property
    def room(self) -> int:
        """How many numbers its candidates may have."""
        return self._visited.apart

    @property
    def has_no_room(self) -> bool:
        """Whether its own array is as good as full, which a larger table does not mend."""
        return self.context[slots.ROOM] - self.context[slots.COUNT] < table.FEW

    @property
    def most_candidates(self) -> int:
        """How many candidates all workers together may hold."""
        return self._visited.max_states

    @property
    def logged(self) -> int:
        """Steps in the log."""
        return int(self.context[slots.LOGGED])

    @property
    def memory_bytes(self) -> int:
        """Bytes of its candidates, their part of the table, their marks and bits of the sieve, and the log."""
        return super().memory_bytes + self.count * (8 + SIEVE_BITS) // 8 + LOG_BYTES * self.logged

    def note_candidates(self, sieve: int, bits: int) -> None:
        """Sets the bits of its candidates in a sieve of so many bits, which no other worker does at the same time."""
        self._note_candidates(address(self.states), self.count, sieve, bits)

    def mark(self, records: int, count: int, marks: int, sieve: int, bits: int, value: int) -> None:
        """Marks all workers' candidates that are among the states of `count` records at an address."""
        self._mark(address(self.context), records, count, marks, sieve, bits, value)

    def count_steps(self, marks: int, counts: int) -> None:
        """Adds the logged steps that lead to what was not reached before, by action."""
        self._count_steps(address(self._log), self.logged, marks, counts)

    def keep_unmarked(self, marks: int) -> int:
        """Moves the new states to the front of its array; how many there are. Nothing can be looked up until `clear`."""
        return self._keep_unmarked(address(self.states), marks + self.context[slots.FIRST], self.count)

    def clear(self, marks: int) -> None:
        """Forgets its candidates, marks and steps, but not what is deferred. Every shard must do it."""
        ctypes.memset(marks + self.context[slots.FIRST], 0, self.count)
        part = address(self._visited.table) + self._visited.stride * self.context[slots.WORKER]
        ctypes.memset(part, 0, 8 * table.SLOTS * (self.context[slots.BUCKETS] + table.PAD))
        self.context[slots.COUNT] = self.context[slots.LOGGED] = 0
        self.context[slots.STATUS] = slots.RUNNING
        self._visited.shared[slots.BOOKED] = self._visited.shared[slots.NEEDS_GROWTH] = 0


def candidate_team(
    shape: Shape, kernel: Kernel, loops: Kernel, workers: int, memory: int, most: int
) -> Sequence[CandidateShard]:
    """What so many workers work with within a budget of bytes for all; none expands more than `most` states in one call.

    Raises OSError, ValueError or OverflowError where the system has no address space for it.
    """
    share, whole = TABLE_SHARE
    visited = Visited(shape.words, workers, memory * share // whole)
    return [CandidateShard(shape, kernel, visited, worker, loops, memory, most) for worker in range(workers)]


def marks_for(shards: Sequence[CandidateShard]) -> ctypes.Array[ctypes.c_uint64]:
    """A byte for every candidate that they may hold."""
    return reserve(sum(shard.room for shard in shards) // 8 + 1)


def sieve_for(shards: Sequence[CandidateShard]) -> ctypes.Array[ctypes.c_uint64]:
    """Bits for every candidate that they may hold."""
    return reserve(shards[0].most_candidates * SIEVE_BITS // 64 + 1)
