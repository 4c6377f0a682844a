"""The memory of a search, what each worker has of it, and the calls into the native loops.

`Visited`, the states and the table of all workers, and `Shard`, what one worker found and works with.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from abc import ABC
from collections.abc import Iterable, Sequence

from acked.base.errors import SystemFailure
from acked.checker.loops import quotient, slots, table
from acked.checker.loops.slots import FIRE_GROUP, LANES
from acked.checker.native.compile import UNPACK_ANY, Haste, Kernel, load_loops
from acked.checker.native.programs import words_of
from acked.checker.native.shape import Shape
from acked.checker.question.ledger import LevelReport
from acked.checker.question.plan import BATCH
from acked.checker.question.result import Words

FIRST_BUCKETS = 1 << 9
RING_WORDS = max(table.RING + 1, quotient.RING_WORDS)
PAGE = 2 << 20
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def numbers(values: Iterable[int]) -> ctypes.Array[ctypes.c_uint64]:
    """A small array of 64-bit numbers; plain ctypes, because importing an array library takes longer than most searches."""
    listed = list(values)
    return (ctypes.c_uint64 * max(len(listed), 1))(*listed)


def reserve(count: int, huge: bool = False) -> ctypes.Array[ctypes.c_uint64]:
    """Address space for `count` 64-bit numbers, zero until written; physical memory comes with the first touch."""
    region = mmap.mmap(-1, max(count, 1) * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    array = (ctypes.c_uint64 * max(count, 1)).from_buffer(region)
    if huge:
        ask_for_large_pages(array)
    return array


def ask_for_large_pages(array: ctypes.Array[ctypes.c_uint64]) -> None:
    """Has memory that is not written yet come in large pages; a kernel without them is only slower."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        _advise(address(array), ctypes.sizeof(array), mmap.MADV_HUGEPAGE)


def give_back(begin: int, end: int) -> int:
    """Gives memory from one address, where a page begins, to another back, as far as pages are whole; how far that is."""
    upto = end // PAGE * PAGE
    if upto <= begin:
        return begin
    _forget(begin, upto - begin)
    return upto


def _forget(begin: int, size: int) -> None:
    if hasattr(mmap, "MADV_DONTNEED"):
        _advise(begin, size, mmap.MADV_DONTNEED)


def _advise(begin: int, size: int, what: int) -> None:
    ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(size), ctypes.c_int(what))


def address(array: ctypes.Array[ctypes.c_uint64]) -> int:
    """Where an array's memory begins."""
    return ctypes.addressof(array)


class Memory(ABC):
    """What all workers of a search share: the table, and an array of states for each of them.

    Every worker has address space for all the states that the budget allows, in case it finds them all. Where there is too
    little address space, one that finds far more than its share may be short.

    `buckets` is how many lines of the table a worker's part may get, `first_buckets` how many it has at first, `stride` how
    many bytes apart the parts stand.
    """

    table: ctypes.Array[ctypes.c_uint64]
    buckets: int
    first_buckets: int
    stride: int
    begins_large = True
    """Whether memory comes in large pages from the beginning: the first of each costs what a small search takes in all."""

    def __init__(self, words: int, workers: int, max_states: int, room: int) -> None:
        self.words, self.workers = words, workers
        self.max_states, self.room = max_states, room
        try:
            self.states = self._reserve_states()
        except (OSError, ValueError, OverflowError):
            if workers == 1:
                raise
            self.room = min(self.room, self.max_states // workers * 5 // 4 + BATCH)
            self.states = self._reserve_states()
        self.bases = reserve(workers)
        self.offers = reserve(slots.OFFER_SLOTS * workers)
        self.shared = reserve(slots.SHARED_SLOTS)

    def _reserve_states(self) -> ctypes.Array[ctypes.c_uint64]:
        return reserve((self.room + BATCH) * self.workers * self.words, huge=self.begins_large)

    def _reserve_table(self, lines: int) -> None:
        """Address space for parts of so many lines, with their padding."""
        self.buckets = lines
        self.stride = -(-8 * table.SLOTS * (lines + table.PAD + 1) // PAGE) * PAGE
        self.table = reserve(self.stride // 8 * self.workers, huge=self.begins_large)

    @property
    def apart(self) -> int:
        """How many states after one worker's first the next worker's first stands."""
        return self.room + BATCH


def states_for(words: int, workers: int, memory: int) -> int:
    """How many states a budget of bytes allows: one costs its words, and 8 bytes a slot at the greatest load."""
    per_state = 8 * words + 8 * table.LOAD_DENOMINATOR / table.LOAD_NUMERATOR
    return min(max(int((memory - 8 * table.SLOTS * table.PAD * workers) / per_state), 1), table.INDEX_MASK - BATCH)


class Visited(Memory):
    """The states of all workers, and the table that finds them, within a budget of bytes.

    No more than 4 × 10^9 states. Raises OSError, ValueError or OverflowError where the system has no address space for them.
    """

    begins_large = False

    def __init__(self, words: int, workers: int, memory: int) -> None:
        max_states = states_for(words, workers, memory)
        super().__init__(words, workers, max_states, min(max_states, table.INDEX_MASK // workers - BATCH))
        entries = max_states * table.LOAD_DENOMINATOR // table.LOAD_NUMERATOR
        self._reserve_table(entries // table.SLOTS // workers + 2)
        self.first_buckets = FIRST_BUCKETS if self.buckets > 2 * FIRST_BUCKETS else self.buckets


class Scratch(Memory):
    """Room for so many states of one worker, and no table."""

    def __init__(self, words: int, states: int) -> None:
        super().__init__(words, 1, states, states)
        self.first_buckets = 0
        self._reserve_table(0)


class Shard:
    """What one worker found, in order of discovery, and what it works with; see `team` and `alone`."""

    def __init__(self, shape: Shape, kernel: Kernel, visited: Memory, worker: int) -> None:
        self.words = shape.words
        self._properties = shape.properties
        self._checks = shape.checks
        self._is_symmetric = shape.is_symmetric
        self._actions = actions = shape.actions
        begin = visited.apart * worker * self.words * 8
        self.states = (ctypes.c_uint64 * (visited.apart * self.words)).from_buffer(visited.states, begin)
        self._visited = visited
        worst = BATCH * max(actions, 1)
        self._rows = reserve(max(shape.rows, 1) * BATCH // 64)
        self._scratch = {
            slots.LIST: reserve((BATCH + max(FIRE_GROUP, 64)) // 4),
            slots.OUT: reserve((worst + FIRE_GROUP + slots.GROUP) * self.words),
            slots.ACTS: reserve(worst // 4 + 1),
            slots.HASHES: reserve(worst),
            slots.FLAGS: reserve(BATCH + FIRE_GROUP),
            slots.SPARE: reserve(table.SPARE_SLOTS),
            slots.SEEN: reserve(RING_WORDS),
            slots.HOMES: reserve(RING_WORDS),
            slots.FILL: reserve((visited.buckets + table.PAD) // 8 + 2),
        }
        self._fires = numbers([0] * actions)
        # What is written all the time, or read by others, has pages of its own, so that workers share no line by chance.
        self.enabled = reserve(actions)
        self.new = reserve(actions)
        self._best_states = numbers([0] * self._properties * (self.words + 1))
        self._best_steps = numbers([0] * self._checks * (self.words + 2))
        self._best_source = numbers([0] * (self.words + 2))
        begin = slots.OFFER_SLOTS * 8 * worker
        self._offer = (ctypes.c_uint64 * slots.OFFER_SLOTS).from_buffer(visited.offers, begin)
        self._offer[slots.OFFER_NEXT] = slots.OFFER_CLOSED
        self._offer[slots.OFFER_STATES] = address(self.states)
        self.context = reserve(slots.CONTEXT_SLOTS)
        self._fill_context(shape, kernel, visited, worker)
        self._bind(kernel)

    def _bind(self, loops: Kernel) -> None:
        """Takes the loops of an engine from now on."""
        self._loops = loops  # whose code the functions below are
        self._expand = loops.function("expand", 3)
        self._inspect = loops.function("inspect", 3)
        self._receive = loops.function("receive", 4)
        self._grow = loops.function("grow", 1)
        self._insert_deferred = loops.function("insert_deferred", 1)
        self._find_source = loops.function("find_source", 4)
        if isinstance(self._visited, Visited):
            self._link = loops.function("link", 6)
            loops.function("set_limit", 1)(address(self.context))

    def _fill_context(self, shape: Shape, kernel: Kernel, visited: Memory, worker: int) -> None:
        workers = visited.workers
        values = {
            slots.STATES: address(self.states),
            slots.ROOM: visited.room,
            slots.ALL_STATES: address(visited.states),
            slots.FIRST: visited.apart * worker,
            slots.FINDER: (1 << 64) // visited.apart + 1 if workers > 1 else 0,
            slots.BASES: address(visited.bases),
            slots.TABLE: address(visited.table),
            slots.STRIDE: visited.stride,
            slots.BUCKETS: visited.first_buckets,
            slots.MAX_BUCKETS: visited.buckets,
            slots.MAX_STATES: visited.max_states,
            slots.WORKERS: workers,
            slots.WORKER: worker,
            slots.SHARED: address(visited.shared),
            slots.OFFERS: address(visited.offers),
            slots.ROWS: address(self._rows),
            slots.FIRES: address(self._fires),
            slots.ENABLED: address(self.enabled),
            slots.NEW: address(self.new),
            slots.BEST_STATES: address(self._best_states),
            slots.BEST_STEPS: address(self._best_steps),
            slots.BEST_SOURCE: address(self._best_source),
            slots.ACTIONS: shape.actions,
            slots.PROPERTIES: shape.properties,
            slots.BLOCK: 64 * LANES,
        }
        values.update({slot: address(array) for slot, array in self._scratch.items()})
        for slot, value in values.items():
            self.context[slot] = value
        self.context[slots.DEFERS] = workers > 1
        self.use_kernel(kernel)

    # -- the search's calls ---------------------------------------------------------------------------------------

    @property
    def loops(self) -> Kernel:
        """The loops that work on its table now."""
        return self._loops

    @property
    def count(self) -> int:
        """How many states the shard holds."""
        return int(self.context[slots.COUNT])

    @property
    def found(self) -> int:
        """How many states it found."""
        return self.count

    def defer(self) -> None:
        """Leaves it to the caller to make the table larger, see `needs_growth`, though it works alone."""
        self.context[slots.DEFERS] = 1

    def forget_table(self) -> None:
        """Gives the memory of its part of the table back; nothing can be looked up or inserted any more."""
        begin = address(self._visited.table) + self._visited.stride * self.context[slots.WORKER]
        give_back(-(-begin // PAGE) * PAGE, begin + self._visited.stride)

    @property
    def is_full(self) -> bool:
        """Whether the memory budget stopped the last call."""
        return bool(self.context[slots.STATUS] == slots.FULL)

    @property
    def needs_growth(self) -> bool:
        """Whether a worker deferred what it found, because there was no room in the table."""
        return bool(self._visited.shared[slots.NEEDS_GROWTH])

    @property
    def at_memory_limit(self) -> bool:
        """Whether the table has room for as many states as the budget allows, so that it need not grow."""
        return bool(self.context[slots.LIMIT] == self.context[slots.MAX_STATES])

    @property
    def is_broken(self) -> bool:
        """Whether the table could not be rearranged; never seen, and reported rather than risked."""
        return bool(self.context[slots.STATUS] == slots.BROKEN)

    @property
    def memory_bytes(self) -> int:
        """Bytes of its states and of its part of the table in use."""
        return 8 * (self.count * self.words + (self.context[slots.BUCKETS] + table.PAD) * table.SLOTS)

    def begin_level(self) -> None:
        """States found from now on belong to the next level; counters and violations start anew."""
        self._visited.bases[self.context[slots.WORKER]] = self.context[slots.FIRST] + self.count
        for array in (self.enabled, self.new, self._best_states, self._best_steps):
            ctypes.memset(array, 0, ctypes.sizeof(array))

    def set_limit(self) -> None:
        """Says how many states fit into the table before it must grow, where that changes from level to level."""

    def insert(self, states: Sequence[Words]) -> None:
        """Inserts initial states."""
        words = numbers(word for state in states for word in state)
        actions = numbers([0] * len(states))  # kept in a variable: an address does not keep its array alive
        if self._receive(address(self.context), address(words), address(actions), len(states)) != len(states):
            raise SystemFailure("the initial states do not fit; use more --memory")

    def take(self, states: int, count: int) -> bool:
        """Inserts states that stand at an address, of an earlier level; False if there is no room, see `make_room`."""
        return self.accept(states, count) == count

    def accept(self, states: int, count: int) -> int:
        """As `take`; how many are in."""
        actions = (ctypes.c_uint64 * (count // 4 + 1))()
        return self.receive(states, address(actions), count)

    def receive(self, states: int, actions: int, count: int) -> int:
        """Inserts states that stand at an address, and counts the actions, at another, that led to them; how many are in."""
        return self._receive(address(self.context), states, actions, count)

    def expand(self, begin: int, end: int) -> int:
        """Checks and expands states begin..end-1, helped by the others and helping; where it stopped (room, or budget)."""
        return self._expand(address(self.context), begin, end)

    def inspect(self, begin: int, end: int) -> None:
        """Checks states begin..end-1 and the steps from them without inserting anything."""
        self._inspect(address(self.context), begin, end)

    def insert_deferred(self) -> None:
        """Inserts what was deferred, while no other shard is at work; what does not fit now exceeds the budget."""
        if not self._insert_deferred(address(self.context)):
            self.context[slots.STATUS] = slots.FULL
        self._visited.shared[slots.NEEDS_GROWTH] = 0

    def grow(self) -> None:
        """Makes this worker's part of the table larger; only while no shard is at work, and every shard must do it."""
        self._grow(address(self.context))
        if 8 * table.SLOTS * self.context[slots.BUCKETS] >= PAGE // 4:
            for array in (self._visited.states, self._visited.table):
                ask_for_large_pages(array)
        self._visited.shared[slots.NEEDS_GROWTH] = 0

    @property
    def free(self) -> int:
        """How many states fit into the table, of all workers together, before it must grow."""
        return max(int(self.context[slots.LIMIT]) - int(self._visited.shared[slots.BOOKED]), 0)

    def use_kernel(self, kernel: Kernel) -> None:
        """Makes successors with another kernel of the same plan from now on; only while no shard is at work."""
        self._kernel = kernel  # whose code these are
        self._columns = reserve(max(self.words * BATCH, words_of(kernel.program)))
        self.context[slots.COLUMNS] = address(self._columns)
        self.context[slots.REPRESENT] = kernel.address("representatives") if self._is_symmetric else 0
        self.context[slots.PROGRAM] = kernel.program_address
        self.context[slots.GUARDS] = kernel.address("guards")
        self.context[slots.UNPACK] = kernel.address("unpack") or kernel.address(UNPACK_ANY)
        for k, place in enumerate(kernel.fires(self._actions)):
            self._fires[k] = place

    @property
    def haste(self) -> Haste:
        """How its loops were compiled: with any there is faster code."""
        return self._loops.haste

    def better_loops(self) -> Kernel:
        """That code."""
        return load_loops(self.words, None, Haste(self.haste - 1))

    def use_loops(self, loops: Kernel) -> None:
        """Works on its table with other code of the same loops from now on; only while no shard is at work."""
        self._bind(loops)
        if not self.context[slots.GUARDS]:
            self.context[slots.UNPACK] = loops.address(UNPACK_ANY)

    def report(self, states: int, next_states: int, is_expanded: bool = True) -> LevelReport:
        """What it found on the level at hand, of which it expanded so many states; so many of the next level are its own."""
        least_states = _rows(self._best_states, self.words + 1)[: self._properties]
        least_steps = _rows(self._best_steps, self.words + 2)
        return LevelReport(
            states=states,
            next_states=next_states,
            enabled=tuple(self.enabled[: self._actions]),
            new=tuple(self.new[: self._actions]),
            bad_states={p: tuple(row[1:]) for p, row in enumerate(least_states) if row[0]},
            bad_steps={bit: (tuple(row[2:]), row[1]) for bit, row in enumerate(least_steps) if row[0]},
            is_expanded=is_expanded,
        )

    def link(self, begin: int, end: int, edges: int, acts: int, verdicts: int) -> int:
        """Lists the steps from states begin..end-1 at three addresses; see `loops.link`."""
        return self._link(address(self.context), begin, end, edges, acts, verdicts)

    def release(self, end: int) -> None:
        """Says that the states before `end` are not needed any more; here they are."""

    def fire(self, action: int) -> Words:
        """The successor of the first state by an action that is enabled there, as the protocol names it."""
        context, here, out = address(self.context), address(self.states), self._scratch[slots.OUT]
        self._loops.function("evaluate", 3)(context, here, 1)
        listed = numbers([0] * FIRE_GROUP)
        self._loops.function("fire", 6)(context, action, here, address(listed), 1, address(out))
        return tuple(out[: self.words])

    def find_source(self, begin: int, end: int, target: Words) -> tuple[Words, int] | None:
        """The least (state, action) among states begin..end-1 whose successor is `target`."""
        ctypes.memset(self._best_source, 0, ctypes.sizeof(self._best_source))
        wanted = numbers(target)
        self._find_source(address(self.context), begin, end, address(wanted))
        row = list(self._best_source)
        return (tuple(row[2:]), row[1]) if row[0] else None


def alone(shape: Shape, kernel: Kernel, memory: int) -> Shard:
    """What one worker works with that shares nothing, within a budget of bytes; errors as `Visited`."""
    return team(shape, kernel, 1, memory)[0]


def team(shape: Shape, kernel: Kernel, workers: int, memory: int) -> list[Shard]:
    """What so many workers of one search work with, within a budget of bytes for all; errors as `Visited`."""
    visited = Visited(shape.words, workers, memory)
    return [Shard(shape, kernel, visited, worker) for worker in range(workers)]


def scratch(shape: Shape, kernel: Kernel, states: int) -> Shard:
    """What one worker works with that looks at up to so many states at a time, and inserts none; errors as `Visited`."""
    return Shard(shape, kernel, Scratch(shape.words, states), 0)


def begin_level(shards: Sequence[Shard]) -> None:
    """States that any of them finds from now on belong to the next level; counters and violations start anew."""
    for shard in shards:
        shard.begin_level()
    for shard in shards:
        shard.set_limit()


def make_room(shards: Sequence[Shard], states: int) -> bool:
    """Has the table grow until so many more states fit, while no shard is at work; False if the budget is too small."""
    while shards[0].free < states:
        for shard in shards:
            shard.grow()
        if any(shard.is_full or shard.is_broken for shard in shards):
            return False
    return True


def _rows(array: ctypes.Array[ctypes.c_uint64], width: int) -> list[list[int]]:
    values = list(array)
    return [values[at : at + width] for at in range(0, len(values) - width + 1, width)]
