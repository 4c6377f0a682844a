"""Native loops that look backwards over the stored levels of a search: which states break something, and what leads where.

Functions in the subset of `language.py`, for a shard whose search is over; they change nothing in it.

Each lists what it finds in rows of three numbers and returns how many there are, which may be more than there is room for.
"""

from __future__ import annotations

from acked.checker.loops import formulas, slots
from acked.checker.loops.expansion import batches, deal, evaluate, fill_group, fire, fire_each, represent
from acked.checker.loops.language import P64, U64, at, copy, p16, p64
from acked.checker.loops.slots import W
from acked.checker.loops.table import differ, hash_rest, hash_state
from acked.checker.question.plan import BATCH


def put_row(found: P64, room: U64, total: U64, source: U64, second: U64, third: U64) -> U64:
    """Lists a row behind `total` others, if there is room for it; how many there are then."""
    if total < room:
        row = at(found, 3 * total)
        row[0] = source
        row[1] = second
        row[2] = third
    return total + 1


def list_violating(context: P64, begin: U64, end: U64, position: U64, found: P64, room: U64) -> U64:
    """The states begin..end-1 that violate the state property at a kernel position."""
    picked = p16(context[slots.LIST])
    total = 0
    for i, n in batches(context, begin, end):
        m = deal(at(p64(context[slots.ROWS]), (context[slots.ACTIONS] + position) * (BATCH // 64)), n, picked)
        for j in range(m):
            total = put_row(found, room, total, i + picked[j], 0, 0)
    return total


def list_bad_steps(context: P64, begin: U64, end: U64, bit: U64, found: P64, room: U64) -> U64:
    """(state, action) of the steps from states begin..end-1 that violate a check of steps."""
    picked = p16(context[slots.LIST])
    flags = p64(context[slots.FLAGS])
    total = 0
    for i, n in batches(context, begin, end):
        for k, m, failed in fire_each(context, at(p64(context[slots.STATES]), i * W), n):
            # Flags are written only by actions that have something to check.
            if failed != 0:
                for j in range(m):
                    if (flags[j] >> bit) & 1:
                        total = put_row(found, room, total, i + picked[j], k, 0)
    return total


def list_sources(
    context: P64, begin: U64, end: U64, targets: P64, places: P64, mask: U64, found: P64, room: U64
) -> U64:
    """(state, action, target) of the steps from states begin..end-1 to a target; `places` finds targets by their hash."""
    picked = p16(context[slots.LIST])
    out = p64(context[slots.OUT])
    total = 0
    for i, n in batches(context, begin, end):
        for k, m, _failed in fire_each(context, at(p64(context[slots.STATES]), i * W), n):
            for j in range(m):
                reached = at(out, j * W)
                slot = hash_state(reached) & mask
                while places[slot] != 0:
                    target = places[slot] - 1
                    if differ(at(targets, target * W), reached) == 0:
                        total = put_row(found, room, total, i + picked[j], k, target)
                        break
                    slot = (slot + 1) & mask
    return total


def fill_slots(targets: P64, n: U64, places: P64, mask: U64) -> None:
    """Puts targets where their hash finds them."""
    for j in range(n):
        slot = hash_state(at(targets, j * W)) & mask
        while places[slot] != 0:
            slot = (slot + 1) & mask
        places[slot] = j + 1


def keep_steps(other: P64, here: P64, n: U64, kept: P64, places: P64, mask: U64) -> U64:
    """Where everything leads under other rules, by source and target: rows of the source's number and the target."""
    picked = p16(other[slots.LIST])
    out = p64(other[slots.OUT])
    evaluate(other, here, n)
    for s in range(mask + 1):
        places[s] = 0
    total = 0
    for _k, m, _failed in fire_each(other, here, n):
        for j in range(m):
            row = at(kept, total * (W + 1))
            row[0] = picked[j]
            copy(at(row, 1), at(out, j * W), W)
            slot = (hash_state(at(row, 1)) + picked[j]) & mask
            while places[slot] != 0:
                slot = (slot + 1) & mask
            total += 1
            places[slot] = total
    return total


def is_kept(source: U64, target: P64, kept: P64, places: P64, mask: U64) -> U64:
    """1 if `keep_steps` has a step from this source to this target."""
    slot = (hash_state(target) + source) & mask
    while places[slot] != 0:
        row = at(kept, (places[slot] - 1) * (W + 1))
        if row[0] == source and differ(at(row, 1), target) == 0:
            return 1
        slot = (slot + 1) & mask
    return 0


def list_missing(
    context: P64, other: P64, begin: U64, end: U64, kept: P64, places: P64, mask: U64, found: P64, room: U64
) -> U64:
    """(state, action) of the steps from states begin..end-1 that change something and that other rules do not have.

    The other rules' context is of a shard whose states have the same layout; `kept` and `places` have room for their steps.
    """
    picked = p16(context[slots.LIST])
    out = p64(context[slots.OUT])
    total = 0
    for i, n in batches(context, begin, end):
        here = at(p64(context[slots.STATES]), i * W)
        keep_steps(other, here, n, kept, places, mask)
        for k, m, _failed in fire_each(context, here, n):
            for j in range(m):
                target = at(out, j * W)
                if differ(target, at(here, picked[j] * W)) != 0 and is_kept(picked[j], target, kept, places, mask) == 0:
                    total = put_row(found, room, total, i + picked[j], k, 0)
    return total


FUNCTIONS = (
    *formulas.FUNCTIONS, hash_rest, hash_state, differ,
    fill_group, deal, represent, fire, evaluate, batches, fire_each, put_row, list_violating, list_bad_steps, list_sources,
    fill_slots, keep_steps, is_kept, list_missing,
)  # fmt: skip
"""Everything that is translated, callees first."""
