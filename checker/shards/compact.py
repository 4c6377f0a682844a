"""The memory of a search that keeps no states but those of two levels, and what each worker has of it.

`CompactMemory`, the table without states of all workers; `CompactShard`, what one worker works with; and `without_states`,
how a search whose memory is full goes on with them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

from acked.base.errors import SystemFailure
from acked.checker.loops import slots
from acked.checker.loops.lines import KINDS, LineKind, Lines, first_lines, lines_for
from acked.checker.loops.quotient import LINE
from acked.checker.loops.table import PAD
from acked.checker.native.compile import Haste, Kernel, load_loops
from acked.checker.native.shape import Shape
from acked.checker.question.plan import BATCH
from acked.checker.shards.shard import PAGE, Memory, Shard, address, give_back, numbers, reserve

LINE_BYTES = 8 * LINE
STEPS = ((2, 1), (1, 2)), ((3, 2), (3, 4)), ((9, 8), (7, 8))
"""Factors by which a part grows, and of all memory the share that a table of the new size may take at most for it."""
MOST_LINES = 1 << 31
"""More lines no table has: the number of one has fewer bits than half a hash, and there is address space for all states."""
MOST_SLOTS = max(kind.slots for kind in KINDS)
FEW_IN_LINE = 2
"""States a line of a new table has, so that it does not grow at once, if there is memory."""
TOGETHER = 1 << 18
"""States that are collected at once, if a level has no more."""
COPIED = 1 << 22
"""States that are copied out of the table by one look through it."""
MOVED = 1 << 18
"""States that a worker moves before old memory is given back."""
FORGET_FROM = 1 << 18
"""From so many states on a search does without those of expanded levels, which takes half the memory and no more time; with
fewer there is nothing to gain, and code to load for it."""
WORTH = 1.1
"""How many times the states it has a search must have room for without them, to be worth going on so."""

Each = Callable[[Callable[[int], int], int], Sequence[int]]
"""Has work done for every worker, so many, at once."""


class CompactMemory(Memory):
    """A table without states, which grows as a whole from layout to layout, within a budget of bytes for it and two levels.

    Raises OSError, ValueError or OverflowError where the system has no address space for it.
    """

    def __init__(self, shape: Shape, workers: int, memory: int, lines: Lines) -> None:
        self.shape, self.memory = shape, memory
        self._layouts = [lines]
        self._lock = threading.Lock()
        self._loops: dict[tuple[LineKind, Haste], Kernel] = {}
        self.level_begins, self.level_ends = [0] * workers, [0] * workers
        most = min(memory // LINE_BYTES, MOST_LINES)
        super().__init__(shape.words, workers, most * MOST_SLOTS, most * MOST_SLOTS)
        self._reserve_table(max(most // workers, lines.lines))
        self.first_buckets = lines.lines

    def _bytes_of(self, lines: int) -> int:
        """Bytes of a table of parts of so many lines, and of what growing it takes."""
        return (lines + PAD) * (LINE_BYTES + 1) * self.workers

    def limit(self, lines: Lines) -> int:
        """How many states such a table may have, while the level at hand is expanded: by load, and by memory."""
        by_load = lines.slots * self.workers // 100 * lines.percent
        spare = (self.memory - self._bytes_of(lines.lines)) // (8 * self.words)
        return min(by_load, sum(self.level_begins) + max(spare, 0))

    def layout_after(self, generation: int, level: int) -> Lines | None:
        """The layout that follows a generation's; None if there is no memory for a larger one."""
        with self._lock:
            if generation + 1 == len(self._layouts):
                found = self.larger(self._layouts[generation], level)
                if found is None:
                    return None
                self._layouts.append(found)
            return self._layouts[generation + 1]

    def larger(self, now: Lines, level: int) -> Lines | None:
        """A layout for more states, or for more levels if these are too few for the one that is filled now; None if there is
        no memory for one.

        Sizes follow each other in one order, whenever they are taken: if the states of a level fit must not depend on when a
        worker happened to need room.
        """
        size, found = now.lines, None
        while found is None:
            size = self._size_after(size)
            if size > self.buckets:
                return None
            found = lines_for(self.shape.word_bits, size, level + 1)
        gained = self.limit(found) - self.limit(now)
        return found if gained > 0 or (gained == 0 and level > now.levels) else None

    def _size_after(self, lines: int) -> int:
        for (up, down), (share, whole) in STEPS:
            size = lines * up // down
            if self._bytes_of(size) * whole <= self.memory * share:
                return size
        return lines + lines // 16 + 1

    def most(self, lines: Lines, level: int) -> int:
        """How many states fit in all, if the table grows from this layout as far as there is memory."""
        found = self.limit(lines)
        while (following := self.larger(lines, level)) is not None:
            lines = following
            found = self.limit(lines)
        return found

    def loops(self, kind: LineKind, most: Haste) -> Kernel:
        """The loops for tables of a kind, with no more haste than this."""
        with self._lock:
            wanted = kind, most
            if wanted not in self._loops:
                self._loops[wanted] = load_loops(self.words, kind, most)
            return self._loops[wanted]


class CompactShard(Shard):
    """What one worker found on the last two levels, its part of the table, and what it works with; see `compact_team`."""

    def __init__(self, shape: Shape, kernel: Kernel, memory: CompactMemory, worker: int, lines: Lines) -> None:
        self._memory, self._worker = memory, worker
        self._generation = 0
        self._sizes: list[int] = []  # of levels, and where those stand that were collected
        self._collected: dict[int, tuple[int, int]] = {}
        self._passed = 0  # states that it found and that do not stand in its array any more
        super().__init__(shape, kernel, memory, worker)
        self.context[slots.DEFERS] = 1
        self.context[slots.LEVEL] = 1
        self.context[slots.REST_BITS] = sum(shape.word_bits[1:])
        self.context[slots.SPLIT] = shape.word_bits[1] if len(shape.word_bits) > 1 else 0
        self._released = -(-address(self.states) // PAGE) * PAGE
        self._adopt(lines)

    def _adopt(self, lines: Lines) -> None:
        self._lines = lines
        self.context[slots.BUCKETS] = lines.lines
        self.context[slots.SHARE] = lines.share
        self.context[slots.LEVEL_BITS] = lines.level_bits
        self.context[slots.DISPLACEMENT_BITS] = lines.displacement_bits
        self.set_limit()

    def _bind(self, loops: Kernel) -> None:
        super()._bind(loops)
        self._count_levels = loops.function("count_levels", 2)
        self._collect = loops.function("collect", 6)

    def better_loops(self) -> Kernel:
        """See `Shard`."""
        return self._memory.loops(self._lines.kind, Haste.NONE)

    def set_limit(self) -> None:
        """Says how many states fit into the table before it must grow; anew on every level."""
        limit = self._memory.limit(self._lines)
        self.context[slots.LIMIT] = limit
        self.context[slots.MAX_STATES] = limit if self._larger() is None else slots.NOWHERE

    def _larger(self) -> Lines | None:
        return self._memory.larger(self._lines, self.context[slots.LEVEL])

    @property
    def at_memory_limit(self) -> bool:
        """Whether there is no memory for a larger table."""
        return self._larger() is None and not self.is_too_deep

    @property
    def is_too_deep(self) -> bool:
        """Whether the table cannot tell the level of what is found now from others."""
        return int(self.context[slots.LEVEL]) > self._lines.levels

    @property
    def memory_bytes(self) -> int:
        """Bytes of its part of the table, and of its states whose memory was not given back."""
        states = address(self.states) + 8 * self.words * self.count - self._released
        return LINE_BYTES * (self._lines.lines + PAD) + max(states, 0)

    def begin_level(self) -> None:
        """States found from now on belong to the next level; counters and violations start anew."""
        super().begin_level()
        self._memory.level_begins[self._worker] = self._memory.level_ends[self._worker]
        self._memory.level_ends[self._worker] = self.found
        self.context[slots.LEVEL] += 1
        if self.is_too_deep:
            self._visited.shared[slots.NEEDS_GROWTH] = 1

    def grow(self) -> None:
        """Gives this worker's part of the table its next layout, while no shard is at work; every shard must do it."""
        lines = self._memory.layout_after(self._generation, self.context[slots.LEVEL])
        self._visited.shared[slots.NEEDS_GROWTH] = 0
        if lines is None:
            self.context[slots.STATUS] = slots.FULL
            return
        values = {
            slots.NEXT_BUCKETS: lines.lines,
            slots.NEXT_SLOTS: lines.kind.slots,
            slots.NEXT_FIELDS: lines.kind.fields,
            slots.NEXT_FIELD_BITS: lines.kind.field_bits,
            slots.NEXT_SHARE: lines.share,
            slots.NEXT_LEVEL_BITS: lines.level_bits,
            slots.NEXT_DISPLACEMENT_BITS: lines.displacement_bits,
        }
        for slot, value in values.items():
            self.context[slot] = value
        if not self._grow(address(self.context)):
            return
        if lines.kind != self._lines.kind:
            self._bind(self._memory.loops(lines.kind, self.haste))
        self._generation += 1
        self._adopt(lines)

    @property
    def found(self) -> int:
        """How many states it found."""
        return self._passed + self.count

    def release(self, end: int) -> None:
        """Gives the memory of the states before `end` back."""
        self._released = give_back(self._released, address(self.states) + end * self.words * 8)

    def set_level(self, level: int) -> None:
        """States inserted from now on are of this level."""
        self.context[slots.LEVEL] = level
        self.set_limit()

    def pass_over(self) -> None:
        """Forgets where the states in its array are; the table has them."""
        self._passed += self.count
        self.context[slots.COUNT] = 0

    def take_over(self, other: Shard, level_begin: int, level_end: int) -> None:
        """Goes on with what another shard has counted, found violated and deferred on a level, of which this shard has the
        states; of all that both found, the level is from `level_begin` to `level_end`."""
        self._memory.level_begins[self._worker], self._memory.level_ends[self._worker] = level_begin, level_end
        for mine, its in (
            (self.enabled, other.enabled),
            (self.new, other.new),
            (self._best_states, other._best_states),
            (self._best_steps, other._best_steps),
        ):
            ctypes.memmove(mine, its, ctypes.sizeof(its))
        end = other.context[slots.DEFERRED_END]
        self.context[slots.DEFERRED], self.context[slots.DEFERRED_END] = other.context[slots.DEFERRED], end
        for slot, size in ((slots.OUT, 8 * self.words), (slots.ACTS, 2), (slots.HASHES, 8)):
            ctypes.memmove(self._scratch[slot], other._scratch[slot], end * size)
        self.set_limit()

    def copies(self, last: int) -> Iterator[tuple[int, int, int]]:
        """The states of the levels up to `last`, level by level: its number, an address, and how many stand there until the
        next. The search may go on as if nobody had asked.
        """
        sizes = numbers([0] * (self.context[slots.LEVEL] + 2))
        self._count_levels(address(self.context), address(sizes))
        ends = list(accumulate(sizes[1 : last + 1], initial=0))
        room = min(COPIED, ends[-1])
        states = reserve(room * self.words)
        for begin in range(0, ends[-1], COPIED):
            # What would stand before this window stands far behind it, as numbers wrap.
            places = numbers((end - begin) % (1 << 64) for end in ends)
            self._collect(address(self.context), 1, last, address(places), address(states), room)
            for level, (first, upto) in enumerate(pairwise(ends), start=1):
                first, upto = max(first - begin, 0), min(upto - begin, room)
                if first < upto:
                    yield level, address(states) + 8 * self.words * first, upto - first

    def collect(self, level: int) -> tuple[int, int]:
        """Lists the states of a level, the first counted 1, in place of those of the last levels; where they begin and end.

        Only when the search is over. Levels before it are listed with it: a trace asks for them next, and a look through the
        table for each takes long where there are thousands.
        """
        if not self._sizes:
            sizes = numbers([0] * (self.context[slots.LEVEL] + 2))
            self._count_levels(address(self.context), address(sizes))
            self._sizes = list(sizes)
        if level not in self._collected:
            least, together, most = level, self._sizes[level], min(TOGETHER, self._visited.room)
            while least > 1 and together + self._sizes[least - 1] <= most:
                least -= 1
                together += self._sizes[least]
            ends = list(accumulate(self._sizes[least : level + 1], initial=0))
            self._collected = {least + at: pair for at, pair in enumerate(pairwise(ends))}
            places = numbers(ends)  # kept in a variable: an address does not keep its array alive
            self._collect(address(self.context), least, level, address(places), address(self.states), self._visited.room)
        return self._collected[level]


def compact_lines(shape: Shape, workers: int, memory: int, states: int = 0) -> Lines | None:
    """The layout of the table that a search begins with when it has found so many states; None if it had better keep them."""
    for fewest in (states // (FEW_IN_LINE * workers), 0):
        lines = first_lines(shape.word_bits, fewest=fewest)
        if lines is not None:
            least = (lines.lines + PAD) * LINE_BYTES * workers * 4 + 8 * shape.words * BATCH * workers
            if least <= memory:
                return lines
    return None


def compact_team(shape: Shape, kernel: Kernel, workers: int, memory: int, lines: Lines) -> Sequence[CompactShard]:
    """What so many workers of one search work with, within a budget of bytes for all; the kernel has the loops of `lines`."""
    shared = CompactMemory(shape, workers, memory, lines)
    return [CompactShard(shape, kernel, shared, worker, lines) for worker in range(workers)]


def _grow(shards: Sequence[CompactShard]) -> None:
    for shard in shards:
        shard.grow()
    if any(shard.is_full or shard.is_broken for shard in shards):
        raise SystemFailure("memory is full, and going on without states takes more than there is; use more --memory")


Range = tuple[int, int]
"""Where states of a shard begin and end."""


def without_states(
    old: Sequence[Shard],
    shape: Shape,
    kernel: Kernel,
    memory: int,
    lines: Lines,
    levels: Sequence[Sequence[Range]],
    done: Sequence[int],
    each: Each,
) -> Sequence[CompactShard] | None:
    """Moves what shards with states have found into as many without; None, and nothing moved, if that would not help.

    `levels` is where the states of every level are, the last one that which is expanded, up to `done`; behind it are those of
    the next level. The new shards have the states of both from 0 on: what is not expanded yet, and then the next level's.
    """
    try:
        shared = CompactMemory(shape, len(old), memory, lines)
    except (OSError, ValueError, OverflowError):
        return None  # There is no address space for it.
    shared.level_begins = [begin for begin, _ in levels[-1]]
    if shared.most(lines, len(levels) + 1) < sum(shard.count for shard in old) * WORTH:
        return None
    for shard in old:
        shard.forget_table()
    new = [CompactShard(shape, kernel, shared, worker, lines) for worker in range(len(old))]
    freed = [-(-address(shard.states) // PAGE) * PAGE for shard in old]
    for level, ranges in enumerate(levels, start=1):
        is_last = level == len(levels)
        _move(old, new, level, [(begin, at if is_last else end) for (begin, end), at in zip(ranges, done, strict=True)],
              freed, each)  # fmt: skip
    _move(old, new, len(levels), [(at, end) for (_, end), at in zip(levels[-1], done, strict=True)], None, each)
    following = [(end, shard.count) for (_, end), shard in zip(levels[-1], old, strict=True)]
    _move(old, new, len(levels) + 1, following, None, each)
    for shard, other, (begin, end) in zip(new, old, levels[-1], strict=True):
        shard.take_over(other, begin, end)
    return new


def _move(
    old: Sequence[Shard],
    new: Sequence[CompactShard],
    level: int,
    ranges: Sequence[Range],
    freed: list[int] | None,
    each: Each,
) -> None:
    """Inserts ranges of old shards' states, of a level, into the new ones; with `freed`, neither array keeps them."""
    at = [begin for begin, _ in ranges]
    for shard in new:
        shard.set_level(level)
    while new[0].is_too_deep:
        _grow(new)
    while any(here < end for here, (_, end) in zip(at, ranges, strict=True)):
        sizes = [min(MOVED, end - here) for here, (_, end) in zip(at, ranges, strict=True)]
        while new[0].free < sum(sizes):
            _grow(new)

        def move(worker: int) -> int:
            return new[worker].accept(address(old[worker].states) + 8 * old[worker].words * at[worker], sizes[worker])  # noqa: B023

        moved = each(move, len(new))
        if list(moved) != sizes:
            _grow(new)  # There is room, but too far from where it is wanted.
        at = [here + done for here, done in zip(at, moved, strict=True)]
        if freed is not None:
            for worker, shard in enumerate(new):
                shard.pass_over()
                freed[worker] = give_back(freed[worker], address(old[worker].states) + 8 * old[worker].words * at[worker])
