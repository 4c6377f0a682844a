"""The visited set without states: an exact table of remainders, from which every state can be had back.

Functions in the subset of `language.py`, compiled for every number of words in a state, W, and every layout of a line,
LINE_SLOTS, FIELDS and FIELD_BITS (`lines.py`). What a slot holds, and what must hold of the table at every moment, is in the
docstring of this package.
"""

from __future__ import annotations

from acked.checker.native.language import (
    P8,
    P16,
    P64,
    U64,
    at,
    compare_and_swap,
    fetch_add,
    load_acquire,
    match_bucket,
    minimum,
    p8,
    p64,
    prefetch,
    trailing_zeros,
    unrolled,
)
from acked.checker.native.slots import (
    BROKEN,
    BUCKETS,
    COUNT,
    DISPLACEMENT_BITS,
    FIELD_BITS,
    FIELDS,
    FILL,
    HOMES,
    LEVEL,
    LEVEL_BITS,
    LINE_SLOTS,
    NEW,
    NEXT_BUCKETS,
    NEXT_DISPLACEMENT_BITS,
    NEXT_FIELD_BITS,
    NEXT_FIELDS,
    NEXT_LEVEL_BITS,
    NEXT_SHARE,
    NEXT_SLOTS,
    NOWHERE,
    REST_BITS,
    SEEN,
    SHARE,
    SPARE,
    SPLIT,
    STATES,
    STATUS,
    STRIDE,
    TABLE,
    WORKER,
    WORKERS,
    W,
)
from acked.checker.native.table import (
    PAD,
    SPARE_SLOTS,
    copy_state,
    differ,
    hash_all,
    hash_rest,
    hash_state,
    insert,
    less,
    owner_of,
    reserve_room,
    unhashed,
)

LINE = 8
"""Words of a line: one cache line."""
LOW_BITS = 31
"""How many bits of a remainder stand in its slot's word, beside the low half of the hash and the bit of what is taken."""
FAR = 48
"""How many candidates before its turn a line is prefetched."""
BLOCK = 64
"""Candidates whose lines are read before any of them is inserted."""
RING = 127
"""Mask of the ring that keeps what was computed of a candidate: its line, its word, its field, and whether it was new."""
RING_WORDS = 4
assert FAR + BLOCK <= RING
SPARE_WORDS = 4
"""Words of an entry that is put aside while the table grows: the line, the word, the rest of the field, and the level."""


def shifted(x: U64, bits: U64) -> U64:
    """`x << bits`, nothing from 64 bits on."""
    return x << bits if bits < 64 else 0


def lower(x: U64, bits: U64) -> U64:
    """`x >> bits`, nothing from 64 bits on."""
    return x >> bits if bits < 64 else 0


def word_of(h: U64, rest: U64, offset: U64, rest_bits: U64) -> U64:
    """The word of a slot: the low half of the hash, the first bits of what else is kept, and that the slot is taken."""
    kept = rest | shifted(offset, rest_bits)
    return (h << 32) | ((kept & ((1 << LOW_BITS) - 1)) << 1) | 1


def top_of(rest: U64, upper: U64, offset: U64, rest_bits: U64) -> U64:
    """The bits of the rest and the offset that have no room in the word of a slot."""
    kept = rest | shifted(offset, rest_bits)
    above = upper | lower(offset, 64 - rest_bits)
    if rest_bits >= 64:
        above = upper | (offset << (rest_bits - 64))
    return (kept >> LOW_BITS) | (above << (64 - LOW_BITS))


def rest_of(context: P64, state: P64) -> U64:
    """The words of a state but the first, without gaps: the first 64 bits."""
    rest = 0
    if W == 2:
        rest = state[1]
    if W == 3:
        rest = state[1] | shifted(state[2], context[SPLIT])
    return rest


def upper_of(context: P64, state: P64) -> U64:
    """The words of a state but the first, without gaps: what is beyond 64 bits."""
    return lower(state[2], 64 - context[SPLIT]) if W == 3 else 0


def look_for_line(context: P64, candidate: P64, h: U64, t: U64) -> None:
    """The first look at candidate t, of hash h: finds its line and what stands there if it is known; prefetches the line."""
    product = (h >> 32) * context[BUCKETS]
    line = context[TABLE] + owner_of(h, context[WORKERS]) * context[STRIDE] + (product >> 32) * (LINE * 8)
    prefetch(p64(line), 0)
    offset = (product & 0xFFFFFFFF) >> context[SHARE]
    rest = rest_of(context, candidate)
    top = top_of(rest, upper_of(context, candidate), offset, context[REST_BITS])
    ring = at(p64(context[HOMES]), (t & RING) * RING_WORDS)
    ring[0] = line
    ring[1] = word_of(h, rest, offset, context[REST_BITS])
    ring[2] = top << (context[LEVEL_BITS] + context[DISPLACEMENT_BITS])


def match_line(line: P64, word: U64) -> U64:
    """Of a line's slots: bit k of the result if the word of slot k is this one, bit 8 + k if it is free."""
    return match_bucket(line, 0, word) & (((1 << LINE_SLOTS) - 1) * 257)


def field_of(line: P64, k: U64) -> U64:
    """The field of a slot, and above it bits of others."""
    return line[LINE_SLOTS + k // FIELDS] >> (k % FIELDS * FIELD_BITS)


def awaited_field(line: P64, k: U64, level_mask: U64) -> U64:
    """The field of a slot that is taken; waits for the worker that has just taken it."""
    field = field_of(line, k)
    while field & level_mask == 0:
        field = load_acquire(line, LINE_SLOTS + k // FIELDS) >> (k % FIELDS * FIELD_BITS)
    return field


def level_in(line: P64, found: U64, wanted: U64, level_bits: U64) -> U64:
    """The level of the state whose field is wanted, if it is one of those that `match_line` found in a line; else 0."""
    level_mask = (1 << level_bits) - 1
    matches = found & 255
    while matches != 0:
        field = awaited_field(line, trailing_zeros(matches), level_mask)
        if (((field ^ wanted) >> level_bits) << (level_bits + 64 - FIELD_BITS)) == 0:
            return field & level_mask
        matches = matches & (matches - 1)
    return 0


def take(line: P64, k: U64, word: U64, field: U64, workers: U64) -> U64:
    """Writes an entry into a free slot; 0 if the slot is not free any more."""
    part = field << (k % FIELDS * FIELD_BITS)
    if workers == 1:
        line[k] = word
        line[LINE_SLOTS + k // FIELDS] = line[LINE_SLOTS + k // FIELDS] | part
        return 1
    if compare_and_swap(line, k, 0, word) != 0:
        return 0
    fetch_add(line, LINE_SLOTS + k // FIELDS, part)
    return 1


def enter(context: P64, mine: P64, candidate: P64, count: U64, limit: U64) -> U64:
    """Looks for a candidate from its line on, and inserts it if it is new.

    The level it was found on; 0 if it is new; NOWHERE if it is new and there is no room.
    """
    level_bits = context[LEVEL_BITS]
    line = p64(mine[0])
    wanted = mine[2]
    passed = 0
    while passed >> context[DISPLACEMENT_BITS] == 0:
        found = match_line(line, mine[1])
        seen = level_in(line, found, wanted, level_bits)
        if seen != 0:
            return seen
        free = found >> 8
        if free == 0:
            passed += 1
            wanted += 1 << level_bits
            line = at(line, LINE)
        elif count >= limit:
            return NOWHERE
        elif take(line, trailing_zeros(free), mine[1], wanted | context[LEVEL], context[WORKERS]):
            copy_state(at(p64(context[STATES]), count * W), candidate)
            return 0
    return NOWHERE


def absorb(context: P64, candidates: P64, hashes: P64, acts: P16, n: U64, room: U64) -> U64:
    """Inserts candidates, up to `room` new ones; returns how many are done: the next is new, if there is one.

    Counts, by action, those whose target was not reached before this level. Of a block of candidates those are told first, by
    no branch, that stand where they are looked for first; then the others are looked for one by one, most of them new.
    """
    level_bits = context[LEVEL_BITS]
    level = context[LEVEL]
    level_mask = (1 << level_bits) - 1
    others = level_bits + 64 - FIELD_BITS
    count = context[COUNT]
    limit = count + room
    new = p64(context[NEW])
    ring = p64(context[HOMES])
    pending = p64(context[SEEN])
    for t in range(minimum(FAR, n)):
        look_for_line(context, at(candidates, t * W), hashes[t], t)
    begin = 0
    while begin < n:
        end = minimum(begin + BLOCK, n)
        left = 0
        for t in range(begin, end):
            if t + FAR < n:
                look_for_line(context, at(candidates, (t + FAR) * W), hashes[t + FAR], t + FAR)
            mine = at(ring, (t & RING) * RING_WORDS)
            line = p64(mine[0])
            found = match_line(line, mine[1])
            k = trailing_zeros(found) if found & 255 else 0
            field = field_of(line, k)
            seen = field & level_mask
            known = (found & 255 != 0) & (seen != 0) & ((((field ^ mine[2]) >> level_bits) << others) == 0)
            pending[left] = t
            left += 1 - known
            prefetch(line, LINE if found == 0 else 0)
            counts = known & (seen == level)
            mine[3] = counts
            new[acts[t]] += counts
        for i in range(left):
            t = pending[i]
            seen = enter(context, at(ring, (t & RING) * RING_WORDS), at(candidates, t * W), count, limit)
            if seen == NOWHERE:
                # Those behind it are asked again, and counted then.
                for late in range(t + 1, end):
                    new[acts[late]] -= ring[(late & RING) * RING_WORDS + 3]
                context[COUNT] = count
                return t
            count += seen == 0
            new[acts[t]] += (seen == 0) | (seen == level)
        begin = end
    context[COUNT] = count
    return n


# -- the way back from an entry -----------------------------------------------------------------------------------------


def offset_in(rest_bits: U64, word: U64, top: U64) -> U64:
    """The offset in an entry."""
    kept = ((word >> 1) & ((1 << LOW_BITS) - 1)) | (top << LOW_BITS)
    above = top >> (64 - LOW_BITS)
    if rest_bits >= 64:
        return above >> (rest_bits - 64)
    return (kept >> rest_bits) | shifted(above, 64 - rest_bits)


def rest_in(rest_bits: U64, word: U64, top: U64) -> U64:
    """The first 64 bits of the rest of the state of an entry."""
    kept = ((word >> 1) & ((1 << LOW_BITS) - 1)) | (top << LOW_BITS)
    return kept if rest_bits >= 64 else kept & ((1 << rest_bits) - 1)


def upper_in(rest_bits: U64, top: U64) -> U64:
    """The bits beyond of the rest of the state of an entry."""
    return (top >> (64 - LOW_BITS)) & ((1 << (rest_bits - 64)) - 1) if rest_bits >= 64 else 0


def tag_in(home: U64, offset: U64, buckets: U64, share: U64) -> U64:
    """The upper half of the hash: the one number whose product with the number of lines has this home and this offset."""
    return ((home << 32) + (offset << share) + buckets - 1) // buckets


def restore(context: P64, home: U64, word: U64, top: U64, state: P64) -> None:
    """Writes the state of an entry."""
    rest_bits = context[REST_BITS]
    tag = tag_in(home, offset_in(rest_bits, word, top), context[BUCKETS], context[SHARE])
    rest = rest_in(rest_bits, word, top)
    if W == 2:
        state[1] = rest
    if W == 3:
        split = context[SPLIT]
        state[1] = rest & (shifted(1, split) - 1)
        state[2] = lower(rest, split) | shifted(upper_in(rest_bits, top), 64 - split)
    state[0] = unhashed((tag << 32) | (word >> 32), hash_rest(state))


def collect(context: P64, level: U64, states: P64, room: U64) -> U64:
    """Lists the states of a level that the worker's part of the table holds; how many there are, perhaps more than room."""
    table = p64(context[TABLE] + context[WORKER] * context[STRIDE])
    level_bits = context[LEVEL_BITS]
    level_mask = (1 << level_bits) - 1
    field_mask = (1 << (FIELD_BITS - 1) << 1) - 1
    displacement_bits = context[DISPLACEMENT_BITS]
    total = 0
    for b in range(context[BUCKETS] + PAD):
        line = at(table, b * LINE)
        for k in unrolled(LINE_SLOTS):
            field = field_of(line, k) & field_mask
            if field & level_mask == level:
                if total < room:
                    home = b - ((field >> level_bits) & ((1 << displacement_bits) - 1))
                    restore(context, home, line[k], field >> (level_bits + displacement_bits), at(states, total * W))
                total += 1
    return total


# -- growth -------------------------------------------------------------------------------------------------------------


def place(context: P64, table: P64, fill: P8, number: U64, word: U64, top: U64, level: U64) -> U64:
    """Puts an entry, in the next layout, into the first line with room from its own on; 0 if there is none near."""
    slots = context[NEXT_SLOTS]
    fields = context[NEXT_FIELDS]
    displacement = 0
    while fill[number + displacement] == slots:
        displacement += 1
    if displacement >> context[NEXT_DISPLACEMENT_BITS] != 0 or number + displacement >= context[NEXT_BUCKETS] + PAD - 1:
        return 0
    k = fill[number + displacement]
    fill[number + displacement] = k + 1
    line = at(table, (number + displacement) * LINE)
    level_bits = context[NEXT_LEVEL_BITS]
    field = (top << (level_bits + context[NEXT_DISPLACEMENT_BITS])) | (displacement << level_bits) | level
    line[k] = word
    line[slots + k // fields] = line[slots + k // fields] | (field << (k % fields * context[NEXT_FIELD_BITS]))
    return 1


def move(context: P64, table: P64, fill: P8, b: U64, word: U64, field: U64, spared: U64) -> U64:
    """Moves an entry of line b to where it belongs in the next layout; how many are put aside now, NOWHERE if it failed."""
    rest_bits = context[REST_BITS]
    level_bits = context[LEVEL_BITS]
    displacement_bits = context[DISPLACEMENT_BITS]
    level = field & ((1 << level_bits) - 1)
    home = b - ((field >> level_bits) & ((1 << displacement_bits) - 1))
    top = field >> (level_bits + displacement_bits)
    tag = tag_in(home, offset_in(rest_bits, word, top), context[BUCKETS], context[SHARE])
    product = tag * context[NEXT_BUCKETS]
    offset = (product & 0xFFFFFFFF) >> context[NEXT_SHARE]
    rest = rest_in(rest_bits, word, top)
    next_word = word_of(word >> 32, rest, offset, rest_bits)
    next_top = top_of(rest, upper_in(rest_bits, top), offset, rest_bits)
    if product >> 32 > b:
        return spared if place(context, table, fill, product >> 32, next_word, next_top, level) else NOWHERE
    # Lines up to this one may still hold entries that have not moved: only near the start, for a few.
    if (spared + 1) * SPARE_WORDS > SPARE_SLOTS:
        return NOWHERE
    aside = at(p64(context[SPARE]), spared * SPARE_WORDS)
    aside[0] = product >> 32
    aside[1] = next_word
    aside[2] = next_top
    aside[3] = level
    return spared + 1


def grow(context: P64) -> U64:
    """Gives the worker's part of the table its next layout, in place; 1 if done, 0 if it failed (STATUS says so)."""
    table = p64(context[TABLE] + context[WORKER] * context[STRIDE])
    fill = p8(context[FILL])
    field_mask = (1 << (FIELD_BITS - 1) << 1) - 1
    old = p64(context[HOMES])
    for k in range(context[NEXT_BUCKETS] + PAD + 1):
        fill[k] = 0
    spared = 0
    b = context[BUCKETS] + PAD
    while b > 0:
        b -= 1
        line = at(table, b * LINE)
        for w in unrolled(LINE):
            old[w] = line[w]
            line[w] = 0
        for slot in unrolled(LINE_SLOTS):
            if old[slot] != 0:
                spared = move(context, table, fill, b, old[slot], field_of(old, slot) & field_mask, spared)
                if spared == NOWHERE:
                    context[STATUS] = BROKEN
                    return 0
    for k in range(spared):
        aside = at(p64(context[SPARE]), k * SPARE_WORDS)
        if place(context, table, fill, aside[0], aside[1], aside[2], aside[3]) == 0:
            context[STATUS] = BROKEN
            return 0
    return 1


FUNCTIONS = (
    hash_rest, hash_state, unhashed, owner_of, hash_all, differ, less, copy_state, reserve_room, shifted, lower, word_of,
    top_of, rest_of, upper_of, look_for_line, match_line, field_of, awaited_field, level_in, take, enter, absorb, insert,
    offset_in, rest_in, upper_in, tag_in, restore, collect, place, move, grow,
)  # fmt: skip
"""Everything that is translated, callees first."""
