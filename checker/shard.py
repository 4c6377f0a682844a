"""One worker's part of a search: its memory, its context for the native loops, and the calls into them.

What lives here: `Shard`, the owner of a hash range of the state space. What does not: what the levels mean
(`levels.py`) and how several shards take turns (`search.py`).
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable, Sequence

from checker import loops
from checker.kernel import BATCH
from checker.native import Kernel
from checker.shape import Shape

Words = tuple[int, ...]

BOX_CANDIDATES = 1 << 14
"""What a box between two workers holds at least, besides room for one batch's worst case."""
FIRST_BUCKETS = 1 << 9
TOUCH_AHEAD = 4 << 20
"""Bytes of the state array that are touched before they are needed."""
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE of Linux 5.14, which Python has no name for yet
_PAGE = 2 << 20
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def numbers(values: Iterable[int]) -> ctypes.Array[ctypes.c_uint64]:
    """A small array of 64-bit numbers; plain ctypes, because importing an array library takes longer than most searches."""
    listed = list(values)
    return (ctypes.c_uint64 * max(len(listed), 1))(*listed)


def reserve(count: int, huge: bool = False) -> ctypes.Array[ctypes.c_uint64]:
    """Address space for `count` 64-bit numbers, zero until written; physical memory comes with the first touch."""
    region = mmap.mmap(-1, max(count, 1) * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            region.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # A kernel without huge pages is only slower.
    return (ctypes.c_uint64 * max(count, 1)).from_buffer(region)


def address(array: ctypes.Array[ctypes.c_uint64]) -> int:
    """Where an array's memory begins."""
    return ctypes.addressof(array)


class Shard:
    """The states whose hash belongs to one worker, in order of discovery, and the table that finds them."""

    def __init__(self, shape: Shape, kernel: Kernel, worker: int, workers: int, memory: int) -> None:
        self.words = shape.words
        self._properties = shape.properties
        self._checks = shape.checks
        actions = shape.actions
        # A state costs its words, and 8 bytes a slot at the greatest load.
        per_state = 8 * self.words + 8 * loops.LOAD_DENOMINATOR / loops.LOAD_NUMERATOR
        most = max(int((memory - 8 * loops.SLOTS * loops.PAD) / per_state), 1)
        most = min(most, loops.INDEX_MASK * loops.LOAD_NUMERATOR // loops.LOAD_DENOMINATOR)
        buckets = most * loops.LOAD_DENOMINATOR // loops.LOAD_NUMERATOR // loops.SLOTS + 1
        self.states = reserve((most + BATCH) * self.words, huge=True)
        self._table = reserve((buckets + loops.PAD) * loops.SLOTS, huge=True)
        worst = BATCH * max(actions, 1)
        self._columns = reserve(shape.leaves * shape.column_bytes // 8)
        self._rows = reserve(max(shape.rows, 1) * BATCH // 64)
        self._scratch = {
            loops.LIST: reserve(BATCH // 4 + 1),
            loops.OUT: reserve((worst + loops.GROUP) * self.words),
            loops.ACTS: reserve(worst // 4 + 1),
            loops.HASHES: reserve(worst),
            loops.FLAGS: reserve(BATCH),
            loops.SPARE: reserve(loops.SPARE_SLOTS),
            loops.SEEN: reserve(loops.RING + 1),
            loops.DIRTY: reserve(loops.DIRTY_MASK + 1),
            loops.FILL: reserve((buckets + loops.PAD) // 8 + 1),
        }
        self._fires = numbers(kernel.address(f"fire_{k}") for k in range(actions))
        # What is written all the time, or read by others, has pages of its own, so that workers share no line by chance.
        self.enabled = reserve(actions)
        self.new = reserve(actions)
        self._best_states = numbers([0] * self._properties * (self.words + 1))
        self._best_steps = numbers([0] * self._checks * (self.words + 2))
        self._best_source = numbers([0] * (self.words + 2))
        self._written, self._readable, self._read = (reserve(workers) for _ in range(3))
        self._done = reserve(1)
        self._offer = reserve(3)
        _put(self._offer, 0, (loops.OFFER_CLOSED, 0, address(self.states)))
        self._offers = numbers([0] * workers)
        self._offers[worker] = address(self._offer)
        self._inbox = numbers([0] * 4 * workers)
        capacity = 1 << (BOX_CANDIDATES + worst - 1).bit_length()
        self._boxes = [
            (reserve(capacity * self.words), reserve(capacity // 4 + 1))
            if owner != worker
            else (self._scratch[loops.OUT], self._scratch[loops.ACTS])
            for owner in range(workers)
        ]
        self._outbox = numbers([0] * 4 * workers)
        self.context = reserve(loops.CONTEXT_SLOTS)
        self._fill_context(shape, kernel, worker, workers, most, buckets, capacity)
        self._touched = {address(self.states): 0, address(self._table): 0}
        self._kernel = kernel  # whose code the functions below are
        self._expand = kernel.function("expand", 3)
        self._inspect = kernel.function("inspect", 3)
        self._receive = kernel.function("receive", 4)
        self._drain = kernel.function("drain", 1)
        self._find_source = kernel.function("find_source", 4)
        self._link = kernel.function("link", 6)
        self._hash_state = kernel.function("hash_state", 1)

    def _fill_context(
        self, shape: Shape, kernel: Kernel, worker: int, workers: int, most: int, buckets: int, capacity: int
    ) -> None:
        values = {
            loops.STATES: address(self.states),
            loops.MAX_STATES: most,
            loops.TABLE: address(self._table),
            loops.BUCKETS: min(FIRST_BUCKETS, buckets),
            loops.MAX_BUCKETS: buckets,
            loops.WORKERS: workers,
            loops.WORKER: worker,
            loops.OUTBOX: address(self._outbox),
            loops.WRITTEN: address(self._written),
            loops.READABLE: address(self._readable),
            loops.INBOX: address(self._inbox),
            loops.READ: address(self._read),
            loops.BOX_CAPACITY: capacity,
            loops.DONE: address(self._done),
            loops.OFFERS: address(self._offers),
            loops.COLUMNS: address(self._columns),
            loops.ROWS: address(self._rows),
            loops.UNPACK: kernel.address("unpack"),
            loops.GUARDS: kernel.address("guards"),
            loops.FIRES: address(self._fires),
            loops.ENABLED: address(self.enabled),
            loops.NEW: address(self.new),
            loops.BEST_STATES: address(self._best_states),
            loops.BEST_STEPS: address(self._best_steps),
            loops.BEST_SOURCE: address(self._best_source),
            loops.ACTIONS: shape.actions,
            loops.PROPERTIES: shape.properties,
            loops.BLOCK: shape.block,
            loops.REPRESENT: kernel.address("representatives") if shape.is_symmetric else 0,
        }
        values.update({slot: address(array) for slot, array in self._scratch.items()})
        for slot, value in values.items():
            self.context[slot] = value
        kernel.function("set_limit", 1)(address(self.context))

    # -- the search's calls ---------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many states the shard holds."""
        return int(self.context[loops.COUNT])

    @property
    def is_full(self) -> bool:
        """Whether the memory budget stopped the last call."""
        return bool(self.context[loops.STATUS] == loops.FULL)

    @property
    def is_broken(self) -> bool:
        """Whether the table could not be rearranged; never seen, and reported rather than risked."""
        return bool(self.context[loops.STATUS] == loops.BROKEN)

    @property
    def memory_bytes(self) -> int:
        """Bytes of states and table in use."""
        return 8 * (self.count * self.words + (self.context[loops.BUCKETS] + loops.PAD) * loops.SLOTS)

    def touch_ahead(self) -> bool:
        """Has the kernel provide memory that will be needed soon, so that the search does not wait for it.

        To be called from a thread of its own while the search runs. False where the system cannot do that.
        """
        states = self.count * self.words * 8 + TOUCH_AHEAD
        # The table grows by half, beginning at its new end, so memory for that comes first; little by little, because the
        # search may end before.
        buckets, limit = self.context[loops.BUCKETS], self.context[loops.LIMIT]
        late = max(self.count - limit // 8 * 7, 0)
        table = 8 * loops.SLOTS * (buckets + (buckets // 2) * late // (limit // 8 + 1)) if late else 0
        return self._touch(self.states, states) and self._touch(self._table, table)

    def provide(self, states: int) -> bool:
        """Has the kernel provide the memory of so many states at once, before a search; False where it cannot."""
        # The table may just have grown, by half.
        table = 8 * loops.SLOTS * loops.PAD + 12 * states * loops.LOAD_DENOMINATOR // loops.LOAD_NUMERATOR
        return self._touch(self.states, 8 * self.words * states) and self._touch(self._table, table)

    def _touch(self, array: ctypes.Array[ctypes.c_uint64], size: int) -> bool:
        base = address(array)
        begin, end = self._touched[base], min(size // _PAGE * _PAGE, ctypes.sizeof(array) // _PAGE * _PAGE)
        if begin >= end:
            return True
        self._touched[base] = end
        return _madvise(base + begin, end - begin) == 0

    def owns(self, state: Words) -> bool:
        """Whether a state belongs to this shard."""
        buffer = numbers(state)
        workers, worker = int(self.context[loops.WORKERS]), int(self.context[loops.WORKER])
        low = self._hash_state(address(buffer)) & loops.INDEX_MASK
        return low * workers >> loops.INDEX_BITS == worker

    def begin_level(self) -> None:
        """States found from now on belong to the next level; counters and violations start anew."""
        self.context[loops.BASE] = self.count
        for array in (self.enabled, self.new, self._best_states, self._best_steps):
            ctypes.memset(array, 0, ctypes.sizeof(array))

    def insert(self, states: Sequence[Words]) -> None:
        """Inserts initial states."""
        words = numbers(word for state in states for word in state)
        actions = numbers([0] * len(states))  # kept in a variable: an address does not keep its array alive
        self._receive(address(self.context), address(words), address(actions), len(states))

    def take(self, states: int, count: int) -> bool:
        """Inserts states that stand at an address, all of them owned and of an earlier level; False if memory is full."""
        actions = numbers([0] * (count // 4 + 1))
        return self._receive(address(self.context), states, address(actions), count) == count

    def expand(self, begin: int, end: int) -> int:
        """Checks and expands states begin..end-1, helped by the others and helping; where it stopped (a box, or budget)."""
        return self._expand(address(self.context), begin, end)

    def inspect(self, begin: int, end: int) -> None:
        """Checks states begin..end-1 and the steps from them without inserting anything."""
        self._inspect(address(self.context), begin, end)

    def meet(self, shards: Sequence[Shard]) -> None:
        """Tells this shard where it puts what the others own, and where they put what it owns."""
        me = self.context[loops.WORKER]
        mask = self.context[loops.BOX_CAPACITY] - 1
        for owner, (other, (words, actions)) in enumerate(zip(shards, self._boxes, strict=True)):
            # Its own box is no ring: it is emptied after every batch.
            ring = mask if other is not self else (1 << 64) - 1
            self._offers[owner] = address(other._offer)
            _put(self._outbox, 4 * owner, (address(words), address(actions), address(other._read) + 8 * me, ring))
            words, actions = other._boxes[me]
            _put(
                self._inbox,
                4 * owner,
                (address(words), address(actions), address(other._readable) + 8 * me, address(other._done)),
            )

    def drain(self) -> int:
        """Inserts what the others have sent; 0 if the budget is reached."""
        return self._drain(address(self.context))

    def empty_boxes(self) -> None:
        """Forgets what was sent and received; only while no shard is at work."""
        for counts in (self._written, self._readable, self._read, self._done):
            ctypes.memset(counts, 0, ctypes.sizeof(counts))

    def violating_states(self) -> dict[int, Words]:
        """By state property: the least state of the level, among those expanded, that violates it."""
        rows = _rows(self._best_states, self.words + 1)[: self._properties]
        return {p: tuple(row[1:]) for p, row in enumerate(rows) if row[0]}

    def violating_steps(self) -> dict[int, tuple[Words, int]]:
        """By check of steps: the least (source, action) of the level that violates it."""
        rows = _rows(self._best_steps, self.words + 2)
        return {bit: (tuple(row[2:]), row[1]) for bit, row in enumerate(rows) if row[0]}

    def link(self, begin: int, end: int, edges: int, acts: int, verdicts: int) -> int:
        """Lists the steps from states begin..end-1 at three addresses; see `loops.link`."""
        return self._link(address(self.context), begin, end, edges, acts, verdicts)

    def find_source(self, begin: int, end: int, target: Words) -> tuple[Words, int] | None:
        """The least (state, action) among states begin..end-1 whose successor is `target`."""
        ctypes.memset(self._best_source, 0, ctypes.sizeof(self._best_source))
        wanted = numbers(target)
        self._find_source(address(self.context), begin, end, address(wanted))
        row = list(self._best_source)
        return (tuple(row[2:]), row[1]) if row[0] else None


def _put(array: ctypes.Array[ctypes.c_uint64], begin: int, values: Sequence[int]) -> None:
    for k, value in enumerate(values, begin):
        array[k] = value


def _rows(array: ctypes.Array[ctypes.c_uint64], width: int) -> list[list[int]]:
    values = list(array)
    return [values[at : at + width] for at in range(0, len(values) - width + 1, width)]


def _madvise(start: int, length: int) -> int:
    # Through ctypes, which releases the GIL for as long as the kernel clears pages.
    madvise = getattr(ctypes.CDLL(None), "madvise", None)
    if madvise is None:
        return -1
    return int(madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), _POPULATE_WRITE))
