"""The visited set without states: an exact table of remainders, from which every state can be had back.

Functions in the subset of `language.py`, compiled for every number of words in a state, W, and every layout of a line,
LINE_SLOTS, FIELDS and FIELD_BITS (`lines.py`). What a slot holds, and what must hold of the table at every moment, is in the
docstring of this package.
"""

from __future__ import annotations

from acked.checker.loops import slots
from acked.checker.loops.language import (
    P16,
    P64,
    U64,
    at,
    compare_and_swap,
    high_product,
    load_acquire,
    match_bucket,
    minimum,
    p64,
    prefetch,
    store_release,
    trailing_zeros,
    unrolled,
)
from acked.checker.loops.slots import FIELD_BITS, FIELDS, LINE_SLOTS, W
from acked.checker.loops.table import (
    PAD,
    copy_state,
    differ,
    hash_all,
    hash_rest,
    hash_state,
    less,
    owner_of,
    reserve_room,
    unhash,
)

LINE = 8
"""Words of a line: one cache line."""
LOW_BITS = 31
"""How many bits of a remainder stand in its slot's word, beside the low half of the hash and the bit of what is taken."""
BLOCK = 64
"""Most candidates whose lines are read before any of them is inserted, while those of as many others are prefetched, a
power of two. How many, a literal of this name says for every kind of line (`LineKind.literals`)."""
RING_WORDS = 8 * BLOCK
"""Words for what was computed of two blocks: lines, words and fields, and which of the known ones count."""
FULL_LINE, MIXED_LINE = 8, 9
"""In place of the first free slot: there is none, and no entry of this word; or there is such an entry, of another field."""


def shift_left(x: U64, bits: U64) -> U64:
    """`x << bits`, nothing from 64 bits on."""
    return x << bits if bits < 64 else 0


def lower(x: U64, bits: U64) -> U64:
    """`x >> bits`, nothing from 64 bits on."""
    return x >> bits if bits < 64 else 0


def kept_of(rest: U64, offset: U64, rest_bits: U64) -> U64:
    """What is kept of a state beside half of its hash, the first 64 bits; in a field of fewer there are no more."""
    return rest | (offset << rest_bits if FIELD_BITS < 64 else shift_left(offset, rest_bits))


def word_of(h: U64, kept: U64) -> U64:
    """The word of a slot: the low half of the hash, the first bits of what else is kept, and that the slot is taken."""
    return (h << 32) | ((kept & ((1 << LOW_BITS) - 1)) << 1) | 1


def top_of(kept: U64, upper: U64, offset: U64, rest_bits: U64) -> U64:
    """The bits of the rest and the offset that have no room in the word of a slot."""
    if FIELD_BITS < 64:
        return kept >> LOW_BITS
    above = upper | lower(offset, 64 - rest_bits)
    if rest_bits >= 64:
        above = upper | (offset << (rest_bits - 64))
    return (kept >> LOW_BITS) | (above << (64 - LOW_BITS))


def rest_of(state: P64, split: U64) -> U64:
    """The words of a state but the first, without gaps: the first 64 bits."""
    rest = 0
    if W == 2:
        rest = state[1]
    if W == 3:
        rest = state[1] | shift_left(state[2], split)
    return rest


def upper_of(state: P64, split: U64) -> U64:
    """The words of a state but the first, without gaps: what is beyond 64 bits."""
    return lower(state[2], 64 - split) if W == 3 else 0


def find_lines(context: P64, homes: P64, candidates: P64, hashes: P64, n: U64) -> None:
    """Of n candidates of a block: the address of each one's line, and the word and the field that stand there if it is known.

    Without a branch, and what does not change in registers, so that it is done with vectors.
    """
    words = at(homes, 2 * BLOCK)
    fields = at(homes, 4 * BLOCK)
    table = context[slots.TABLE]
    workers = context[slots.WORKERS]
    stride = context[slots.STRIDE]
    lines = context[slots.BUCKETS]
    share = context[slots.SHARE]
    rest_bits = context[slots.REST_BITS]
    split = context[slots.SPLIT]
    below = context[slots.LEVEL_BITS] + context[slots.DISPLACEMENT_BITS]
    for j in range(n):
        h = hashes[j]
        candidate = at(candidates, j * W)
        product = (h >> 32) * lines
        offset = (product & 0xFFFFFFFF) >> share
        kept = kept_of(rest_of(candidate, split), offset, rest_bits)
        homes[j] = table + owner_of(h, workers) * stride + (product >> 32) * (LINE * 8)
        words[j] = word_of(h, kept)
        fields[j] = top_of(kept, upper_of(candidate, split), offset, rest_bits) << below


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


def is_wanted(field: U64, wanted: U64, level_bits: U64) -> U64:
    """Whether a field, with bits of others above it, is the wanted one on any level."""
    return (((field ^ wanted) >> level_bits) << (level_bits + 64 - FIELD_BITS)) == 0


def level_in(line: P64, found: U64, wanted: U64, level_bits: U64) -> U64:
    """The level of the state whose field is wanted, if it is one of those that `match_line` found in a line; else 0."""
    level_mask = (1 << level_bits) - 1
    matches = found & 255
    while matches != 0:
        field = awaited_field(line, trailing_zeros(matches), level_mask)
        if is_wanted(field, wanted, level_bits):
            return field & level_mask
        matches = matches & (matches - 1)
    return 0


def take(line: P64, k: U64, word: U64, field: U64, workers: U64) -> U64:
    """Writes an entry into a free slot; 0 if it is not free any more, or another in the same word of fields was taken."""
    shift = k % FIELDS * FIELD_BITS
    part = field << shift
    if workers == 1:
        if line[k] != 0:
            return 0
        line[k] = word
        line[LINE_SLOTS + k // FIELDS] = line[LINE_SLOTS + k // FIELDS] | part
        return 1
    held = load_acquire(line, LINE_SLOTS + k // FIELDS)
    if (held >> shift) & ((1 << (FIELD_BITS - 1) << 1) - 1) != 0:
        return 0
    if compare_and_swap(line, LINE_SLOTS + k // FIELDS, held, held | part) != held:
        return 0
    store_release(line, k, word)
    return 1


def enter(
    home: U64, passed: U64, word: U64, home_field: U64, level: U64, level_bits: U64, far: U64, workers: U64, is_room: U64
) -> U64:
    """Looks for a candidate from its line on, of which so many are `passed`, no further than `far`; inserts it if it is new.

    The level it was found on; 0 if it is new; NOWHERE if it is new and there is no room.
    """
    line = at(p64(home), passed * LINE)
    wanted = home_field + (passed << level_bits)
    while passed < far:
        found = match_line(line, word)
        seen = level_in(line, found, wanted, level_bits)
        if seen != 0:
            return seen
        free = found >> 8
        if free == 0:
            passed += 1
            wanted += 1 << level_bits
            line = at(line, LINE)
        elif is_room == 0:
            return slots.NOWHERE
        elif take(line, trailing_zeros(free), word, wanted | level, workers):
            return 0
    return slots.NOWHERE


def tell_known(
    homes: P64, following: P64, ahead: U64, size: U64, level: U64, level_bits: U64, pending: P64, new: P64, acts: P16
) -> U64:
    """Looks at the lines of a block of candidates, of which `homes` has what `find_lines` found; prefetches those of the
    following block.

    Counts those that are known, by no branch, and lists the others as pending; returns how many these are. Of each stands the
    first slot that was free above its number in the block.
    """
    words = at(homes, 2 * BLOCK)
    fields = at(homes, 4 * BLOCK)
    counted = at(homes, 6 * BLOCK)
    level_mask = (1 << level_bits) - 1
    left = 0
    for i in range(size):
        if i < ahead:
            prefetch(p64(following[i]), 0)
        line = p64(homes[i])
        found = match_line(line, words[i])
        field = field_of(line, trailing_zeros(found | 256) & 7)
        seen = field & level_mask
        known = (found & 255 != 0) & (seen != 0) & is_wanted(field, fields[i], level_bits)
        # An entry never leaves, and the first free slot is taken first: while it is free, nothing else was inserted here.
        free = trailing_zeros((found >> 8) | (1 << FULL_LINE)) if found & 255 == 0 else MIXED_LINE
        pending[left] = (free << 32) | i
        left += 1 - known
        prefetch(line, LINE if found == 0 else 0)
        counts = known & (seen == level)
        counted[i] = counts
        new[acts[i]] += counts
    return left


def absorb(context: P64, candidates: P64, hashes: P64, acts: P16, n: U64, room: U64) -> U64:
    """Inserts candidates, up to `room` new ones; returns how many are done: the next is new, if there is one.

    Counts, by action, those whose target was not reached before this level. Of a block of candidates those are told first
    that stand where they are looked for first; then the others are looked for one by one, most of them new.
    """
    workers = context[slots.WORKERS]
    level_bits = context[slots.LEVEL_BITS]
    far = 1 << context[slots.DISPLACEMENT_BITS]
    level = context[slots.LEVEL]
    own = p64(context[slots.STATES])
    count = context[slots.COUNT]
    limit = count + room
    new = p64(context[slots.NEW])
    pending = p64(context[slots.SEEN])
    homes = p64(context[slots.HOMES])
    ahead = minimum(BLOCK, n)
    find_lines(context, homes, candidates, hashes, ahead)
    for i in range(ahead):
        prefetch(p64(homes[i]), 0)
    begin = 0
    while begin < n:
        size = ahead
        ahead = minimum(BLOCK, n - begin - size)
        following = at(p64(context[slots.HOMES]), BLOCK - (begin & BLOCK))
        find_lines(context, following, at(candidates, (begin + size) * W), at(hashes, begin + size), ahead)
        left = tell_known(homes, following, ahead, size, level, level_bits, pending, new, at(acts, begin))
        for p in range(left):
            i = pending[p] & 0xFFFFFFFF
            free = pending[p] >> 32
            home = homes[i]
            word = homes[2 * BLOCK + i]
            wanted = homes[4 * BLOCK + i]
            seen = 0
            if free >= FULL_LINE or count >= limit or take(p64(home), free, word, wanted | level, workers) == 0:
                passed = 1 if free == FULL_LINE else 0
                seen = enter(home, passed, word, wanted, level, level_bits, far, workers, 1 if count < limit else 0)
            if seen == slots.NOWHERE:
                # Those behind it are asked again, and counted then.
                for late in range(i + 1, size):
                    new[acts[begin + late]] -= homes[6 * BLOCK + late]
                context[slots.COUNT] = count
                return begin + i
            copy_state(at(own, count * W), at(candidates, (begin + i) * W))
            count += seen == 0
            new[acts[begin + i]] += (seen == 0) | (seen == level)
        begin += size
        homes = following
    context[slots.COUNT] = count
    return n


# -- the way back from an entry -----------------------------------------------------------------------------------------


def kept_in(word: U64, top: U64) -> U64:
    """The first 64 bits of what an entry keeps of a state beside half of its hash."""
    return ((word >> 1) & ((1 << LOW_BITS) - 1)) | (top << LOW_BITS)


def offset_in(rest_bits: U64, word: U64, top: U64) -> U64:
    """The offset in an entry."""
    kept = kept_in(word, top)
    if FIELD_BITS < 64:
        return kept >> rest_bits
    above = top >> (64 - LOW_BITS)
    if rest_bits >= 64:
        return above >> (rest_bits - 64)
    return (kept >> rest_bits) | shift_left(above, 64 - rest_bits)


def rest_in(rest_bits: U64, word: U64, top: U64) -> U64:
    """The first 64 bits of the rest of the state of an entry."""
    kept = kept_in(word, top)
    return kept if (rest_bits >= 64) & (FIELD_BITS == 64) else kept & ((1 << rest_bits) - 1)


def upper_in(rest_bits: U64, top: U64) -> U64:
    """The bits beyond of the rest of the state of an entry."""
    return (top >> (64 - LOW_BITS)) & ((1 << (rest_bits - 64)) - 1) if rest_bits >= 64 else 0


def inverse_of(lines: U64) -> U64:
    """What `tag_in` multiplies with instead of dividing by a number of lines."""
    return ((1 << 64) - 1) // lines


def tag_in(home: U64, offset: U64, lines: U64, share: U64, inverse: U64) -> U64:
    """The upper half of the hash: the one number whose product with the number of lines has this home and this offset."""
    least = (home << 32) + (offset << share)
    # No more than the quotient, and at most two less than it rounded up.
    tag = high_product(least, inverse)
    tag += tag * lines < least
    tag += tag * lines < least
    return tag


def restore(context: P64, home: U64, word: U64, top: U64, state: P64) -> None:
    """Writes the state of an entry."""
    rest_bits = context[slots.REST_BITS]
    lines = context[slots.BUCKETS]
    tag = tag_in(home, offset_in(rest_bits, word, top), lines, context[slots.SHARE], inverse_of(lines))
    rest = rest_in(rest_bits, word, top)
    if W == 2:
        state[1] = rest
    if W == 3:
        split = context[slots.SPLIT]
        state[1] = rest & (shift_left(1, split) - 1)
        state[2] = lower(rest, split) | shift_left(upper_in(rest_bits, top), 64 - split)
    state[0] = unhash((tag << 32) | (word >> 32), hash_rest(state))


def count_levels(context: P64, counts: P64) -> None:
    """Counts the states of every level that the worker's part of the table holds, free slots as of level 0."""
    table = p64(context[slots.TABLE] + context[slots.WORKER] * context[slots.STRIDE])
    level_mask = (1 << context[slots.LEVEL_BITS]) - 1
    for b in range(context[slots.BUCKETS] + PAD):
        line = at(table, b * LINE)
        for k in unrolled(LINE_SLOTS):
            counts[field_of(line, k) & level_mask] += 1


def collect(context: P64, least: U64, most: U64, places: P64, states: P64, room: U64) -> None:
    """Lists the states of levels `least` to `most` that the worker's part of the table holds, each level from its place on,
    which is moved on. What would stand behind `room` states is left out."""
    table = p64(context[slots.TABLE] + context[slots.WORKER] * context[slots.STRIDE])
    level_bits = context[slots.LEVEL_BITS]
    level_mask = (1 << level_bits) - 1
    field_mask = (1 << (FIELD_BITS - 1) << 1) - 1
    displacement_bits = context[slots.DISPLACEMENT_BITS]
    for b in range(context[slots.BUCKETS] + PAD):
        line = at(table, b * LINE)
        for k in unrolled(LINE_SLOTS):
            field = field_of(line, k) & field_mask
            level = field & level_mask
            if (level >= least) & (level <= most):
                place = places[level - least]
                places[level - least] = place + 1
                if place < room:
                    home = b - ((field >> level_bits) & ((1 << displacement_bits) - 1))
                    restore(context, home, line[k], field >> (level_bits + displacement_bits), at(states, place * W))


FUNCTIONS = (
    hash_rest, hash_state, unhash, owner_of, hash_all, differ, less, copy_state, reserve_room, shift_left, lower, kept_of,
    word_of, top_of, rest_of, upper_of, find_lines, match_line, field_of, awaited_field, is_wanted, level_in, take, enter,
    tell_known, absorb, kept_in, offset_in, rest_in, upper_in, inverse_of, tag_in, restore, count_levels, collect,
)  # fmt: skip
"""Everything that is translated but growth, callees first."""
