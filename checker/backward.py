"""Native loops that look backwards over the stored levels of a search: which states break something, and what leads where.

What lives here: functions in the subset of `lowlevel.py`, for a shard whose search is over; they change nothing in it. What
does not: the search (`loops.py`), and what is made of all shortest runs (`easiest.py`).

Each lists what it finds in rows of three numbers and returns how many there are, which may be more than there is room for.
"""

# The loops are translated, not run, so the type checker sees them only as far as the subset's names go.
from __future__ import annotations

from checker.kernel import BATCH
from checker.loops import (
    ACTIONS,
    BLOCK,
    COLUMNS,
    FIRES,
    FLAGS,
    GUARDS,
    LIST,
    OUT,
    ROWS,
    STATES,
    UNPACK,
    deal,
    differ,
    hash_state,
)
from checker.lowlevel import P64, U64, at, call, minimum, p16, p64

# The literal that the loops are compiled with; the value here only names it.
W = 1


def look(context: P64, here: P64, n: U64) -> None:
    """Fills ROWS for a batch of n states."""
    call(context[UNPACK], here, p64(context[COLUMNS]), (n + 7) // 8)
    call(context[GUARDS], p64(context[COLUMNS]), p64(context[ROWS]), (n + context[BLOCK] - 1) // context[BLOCK])


def list_violating(context: P64, begin: U64, end: U64, position: U64, found: P64, room: U64) -> U64:
    """The states begin..end-1 that violate the state property at a kernel position."""
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    total = 0
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        look(context, at(p64(context[STATES]), i * W), n)
        m = deal(at(rows, (context[ACTIONS] + position) * (BATCH // 64)), n, picked)
        for j in range(m):
            if total < room:
                found[3 * total] = i + picked[j]
            total += 1
        i += n
    return total


def list_bad_steps(context: P64, begin: U64, end: U64, bit: U64, found: P64, room: U64) -> U64:
    """(state, action) of the steps from states begin..end-1 that violate a check of steps."""
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    fires = p64(context[FIRES])
    flags = p64(context[FLAGS])
    total = 0
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        here = at(p64(context[STATES]), i * W)
        look(context, here, n)
        for k in range(context[ACTIONS]):
            m = deal(at(rows, k * (BATCH // 64)), n, picked)
            if m != 0:
                # Flags are written only by actions that have something to check.
                seen = call(fires[k], here, picked, m, p64(context[OUT]), flags)
                for j in range(m):
                    if seen != 0 and (flags[j] >> bit) & 1:
                        if total < room:
                            found[3 * total] = i + picked[j]
                            found[3 * total + 1] = k
                        total += 1
        i += n
    return total


def list_sources(
    context: P64, begin: U64, end: U64, targets: P64, slots: P64, mask: U64, found: P64, room: U64
) -> U64:
    """(state, action, target) of the steps from states begin..end-1 to a target; `slots` finds targets by their hash."""
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    out = p64(context[OUT])
    fires = p64(context[FIRES])
    total = 0
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        here = at(p64(context[STATES]), i * W)
        look(context, here, n)
        for k in range(context[ACTIONS]):
            m = deal(at(rows, k * (BATCH // 64)), n, picked)
            if m != 0:
                call(fires[k], here, picked, m, out, p64(context[FLAGS]))
                for j in range(m):
                    reached = at(out, j * W)
                    slot = hash_state(reached) & mask
                    while slots[slot] != 0:
                        target = slots[slot] - 1
                        if differ(at(targets, target * W), reached) == 0:
                            if total < room:
                                found[3 * total] = i + picked[j]
                                found[3 * total + 1] = k
                                found[3 * total + 2] = target
                            total += 1
                            break
                        slot = (slot + 1) & mask
        i += n
    return total


def fill_slots(targets: P64, n: U64, slots: P64, mask: U64) -> None:
    """Puts targets where their hash finds them."""
    for j in range(n):
        slot = hash_state(at(targets, j * W)) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = j + 1


FUNCTIONS = (hash_state, differ, deal, look, list_violating, list_bad_steps, list_sources, fill_slots)
"""Everything that is translated, callees first."""
