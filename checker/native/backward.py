"""Native loops that look backwards over the stored levels of a search: which states break something, and what leads where.

Functions in the subset of `language.py`, for a shard whose search is over; they change nothing in it.

Each lists what it finds in rows of three numbers and returns how many there are, which may be more than there is room for.
"""

# The loops are translated, not run, so the type checker sees them only as far as the subset's names go.
from __future__ import annotations

from acked.checker.native.language import P64, U64, at, call, copy, minimum, p16, p64
from acked.checker.native.loops import (
    ACTIONS,
    FIRES,
    FLAGS,
    LIST,
    OUT,
    ROWS,
    STATES,
    deal,
    differ,
    evaluate,
    fill_group,
    hash_state,
)
from acked.checker.question.plan import BATCH

# The literal that the loops are compiled with; the value here only names it.
W = 1


def list_violating(context: P64, begin: U64, end: U64, position: U64, found: P64, room: U64) -> U64:
    """The states begin..end-1 that violate the state property at a kernel position."""
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    total = 0
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        evaluate(context, at(p64(context[STATES]), i * W), n)
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
        evaluate(context, here, n)
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
        evaluate(context, here, n)
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


def keep_steps(other: P64, here: P64, n: U64, kept: P64, slots: P64, mask: U64) -> U64:
    """Where everything leads under other rules, by source and target: rows of the source's number and the target."""
    rows = p64(other[ROWS])
    picked = p16(other[LIST])
    out = p64(other[OUT])
    fires = p64(other[FIRES])
    evaluate(other, here, n)
    for s in range(mask + 1):
        slots[s] = 0
    total = 0
    for k in range(other[ACTIONS]):
        m = deal(at(rows, k * (BATCH // 64)), n, picked)
        if m != 0:
            call(fires[k], here, picked, m, out, p64(other[FLAGS]))
            for j in range(m):
                row = at(kept, total * (W + 1))
                row[0] = picked[j]
                copy(at(row, 1), at(out, j * W), W)
                slot = (hash_state(at(row, 1)) + picked[j]) & mask
                while slots[slot] != 0:
                    slot = (slot + 1) & mask
                total += 1
                slots[slot] = total
    return total


def list_missing(
    context: P64, other: P64, begin: U64, end: U64, kept: P64, slots: P64, mask: U64, found: P64, room: U64
) -> U64:
    """(state, action) of the steps from states begin..end-1 that change something and that other rules do not have.

    The other rules' context is of a shard whose states have the same layout; `kept` and `slots` have room for their steps.
    """
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    out = p64(context[OUT])
    fires = p64(context[FIRES])
    total = 0
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        here = at(p64(context[STATES]), i * W)
        keep_steps(other, here, n, kept, slots, mask)
        evaluate(context, here, n)
        for k in range(context[ACTIONS]):
            m = deal(at(rows, k * (BATCH // 64)), n, picked)
            if m != 0:
                call(fires[k], here, picked, m, out, p64(context[FLAGS]))
                for j in range(m):
                    target = at(out, j * W)
                    known = 1
                    if differ(target, at(here, picked[j] * W)) != 0:
                        known = 0
                        slot = (hash_state(target) + picked[j]) & mask
                        while slots[slot] != 0:
                            row = at(kept, (slots[slot] - 1) * (W + 1))
                            if row[0] == picked[j] and differ(at(row, 1), target) == 0:
                                known = 1
                                break
                            slot = (slot + 1) & mask
                    if known == 0:
                        if total < room:
                            found[3 * total] = i + picked[j]
                            found[3 * total + 1] = k
                        total += 1
        i += n
    return total


FUNCTIONS = (
    hash_state, differ, fill_group, deal, evaluate, list_violating, list_bad_steps, list_sources, fill_slots, keep_steps,
    list_missing,
)  # fmt: skip
"""Everything that is translated, callees first."""
