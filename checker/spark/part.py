"""The part of the states that one task owns: in a table with states at first, without them once there are many.

As in a search of one process (`native/__init__.py` has both tables), but for one worker, to which states also come from
elsewhere, and whose levels are in files, or in the table until they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

from acked.base.bounds import address_space_limit, give_way
from acked.base.errors import SystemFailure
from acked.checker.native.compile import Kernel, ObjectCode, replace_loops
from acked.checker.native.shape import Shape
from acked.checker.shards.compact import CompactShard, compact_team
from acked.checker.shards.forgetting import Forgetting
from acked.checker.shards.shard import Shard, address, alone, begin_level, reserve, states_for
from acked.checker.store.level_file import BLOCK_STATES


class Part:
    """What one task has visited.

    From `begin` to `end` is the level that is expanded, of which `done` is the first state that is not expanded yet; behind
    `end` is the next level. `known` states of earlier levels will be put in first. From `forget_from` states on it does
    without those of expanded levels.

    Raises OSError, ValueError or OverflowError where the system has no address space for it.
    """

    def __init__(self, shape: Shape, code: ObjectCode, memory: int, known: int, forget_from: int) -> None:
        self._shape, self._memory = shape, memory
        self._levels: list[tuple[int, int]] = []
        self.begin = self.done = self.end = 0
        self.is_full = False
        self.most_bytes = 0
        self._compiler = ThreadPoolExecutor(1, initializer=give_way)
        self._forgetting = Forgetting(shape, memory, partial(replace_loops, code, shape.words), load_code, forget_from)
        self._is_loaded = False
        is_large = known >= forget_from and address_space_limit() is None
        forgets = is_large or known > states_for(shape.words, 1, memory)
        lines = self._forgetting.first_lines(1, known) if forgets else None
        self.shard: Shard
        if lines is None:
            self.shard = alone(shape, load_code(code), memory)
            self.shard.defer()
        else:
            self.shard = compact_team(shape, self._forgetting.kernel(lines.kind), 1, memory, lines)[0]

    # -- levels -------------------------------------------------------------------------------------------------------

    def load_level(self) -> None:
        """What is taken from now on is of the next of the earlier levels."""
        if self._levels:
            begin_level([self.shard])
            self.shard.release(self.end)
        self.begin = self.done = self.end = self.shard.count
        self._levels.append((self.begin, self.end))

    def take(self, states: int, count: int) -> bool:
        """Puts states of an earlier level in, which stand at an address, a block at most; False if memory is full."""
        unknown = reserve(BLOCK_STATES // 4)  # the actions, which nobody counts; a variable keeps them alive
        is_in = self.insert(states, address(unknown), count)
        self.end = self.shard.count
        self._levels[-1] = self.begin, self.end
        return is_in

    def begin_level(self) -> None:
        """What was found is expanded from now on, and what is found is of the next level."""
        self.begin, self.done, self.end = self.end, self.end, self.shard.count
        self._levels.append((self.begin, self.end))
        begin_level([self.shard])
        if self._forgetting.is_ready([self.shard], self._compiler, lambda: [end - begin for begin, end in self._levels]):
            self._forget()
        self.make_room()  # for more levels than the table can tell from each other

    def begin_loaded(self) -> None:
        """The last level that was loaded is the first to be expanded."""
        self.end = self.begin
        del self._levels[-1:]
        self._is_loaded = True
        self.begin_level()

    def advance(self, done: int) -> None:
        """Says how far the level is expanded; states before are not needed as a list any more."""
        self.measure()
        self.done = done
        self.shard.release(done)

    def copies(self, last: int) -> Iterator[tuple[int, int, int]]:
        """The states of the levels up to `last`, which are complete; see `CompactShard.copies`."""
        if isinstance(self.shard, CompactShard):
            yield from self.shard.copies(last)
            return
        for level, (begin, end) in enumerate(self._levels[:last], start=1):
            if begin < end:
                yield level, address(self.shard.states) + 8 * self._shape.words * begin, end - begin

    def measure(self) -> None:
        """Notes how much memory is in use."""
        self.most_bytes = max(self.most_bytes, self.shard.memory_bytes)

    # -- room ---------------------------------------------------------------------------------------------------------

    def insert(self, states: int, actions: int, count: int) -> bool:
        """Inserts states that come from elsewhere, with the actions that led to them; False if memory is full."""
        done = self.shard.receive(states, actions, count)
        while done < count:
            # At the limit it stops at a state that is new.
            self.is_full = not (self._forget() if self.shard.at_memory_limit else self._grow())
            if self.is_full:
                return False
            done += self.shard.receive(states + 8 * self._shape.words * done, actions + 2 * done, count - done)
        return True

    def make_room(self) -> None:
        """Makes room for what an expansion had none for, and inserts it; `is_full` tells whether memory is."""
        while self.shard.needs_growth:
            if self.shard.at_memory_limit:
                # What was deferred may be known, and need no room.
                self.shard.insert_deferred()
                self.is_full = self.shard.is_full and not self._forget()
            else:
                self.is_full = not self._grow()
            if self.is_full:
                return
            self.shard.expand(0, 0)  # expands nothing, but inserts what was deferred

    def _grow(self) -> bool:
        self.measure()
        self.shard.grow()
        if self.shard.is_broken:
            raise SystemFailure("the table of visited states could not be rearranged; please report this with the spec")
        return not self.shard.is_full or self._forget()

    # -- without states -----------------------------------------------------------------------------------------------

    def _forget(self) -> bool:
        """Goes on without the states of expanded levels; False if that does not help, or they have been given up already."""
        levels = [[level] for level in self._levels]
        self.measure()
        if not self._is_loaded:
            return False
        forgotten = self._forgetting.forget([self.shard], levels, [self.done], lambda work, _: [work(0)])
        if forgotten is None:
            return False
        [self.shard] = forgotten.shards
        self.begin, self.done, self.end = self.begin - self.done, 0, self.end - self.done
        return True


@cache
def load_code(code: ObjectCode) -> Kernel:
    """A kernel, loaded once per process."""
    return Kernel(code)
