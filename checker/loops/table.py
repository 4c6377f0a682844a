"""The visited set: the exact hash table of all states found, which all workers share, and grows in place.

Functions in the subset of `language.py`, compiled once for every number of words in a state, the literal W. How a batch comes
here, and what must hold of the table at every moment, is in the docstring of this package.
"""

from __future__ import annotations

from acked.checker.loops import slots
from acked.checker.loops.language import (
    P8,
    P16,
    P64,
    U64,
    at,
    compare_and_swap,
    fetch_add,
    high_product,
    load_acquire,
    match_bucket,
    minimum,
    p8,
    p64,
    prefetch,
    trailing_zeros,
    unrolled,
)
from acked.checker.loops.slots import W

INDEX_BITS = 32
INDEX_MASK = (1 << INDEX_BITS) - 1
TAG_BITS = 64 - INDEX_BITS
OWNER_BITS = 30
"""How many low bits of a hash decide which worker owns a state; the layout of stored levels depends on it."""
SLOTS = 8
"""Slots of a bucket: one cache line."""
PAD = 512
"""Buckets past a part's end, so that no probe wraps; the last one stays empty. Behind them stands one more for `grow`."""
SPARE_SLOTS = 1 << 16
FAR, AHEAD = 32, 16
"""How many candidates a bucket, and how many a state, is prefetched before it is needed."""
RING = 63
"""Mask of the rings that keep a candidate's home, and what was seen there, from one look at it to the next."""
assert FAR + AHEAD <= RING
FEW, MANY = 64, 4096
"""With room for fewer states than FEW, a table that can grow does. A worker keeps room for MANY at a time, which leaves some
to the others."""
LOAD_NUMERATOR, LOAD_DENOMINATOR = 4, 5
DOUBLE_UNTIL = 1 << 19
"""Smaller parts double; larger ones grow by half, which keeps the memory per state between 26 and 31 bytes at W=2."""

MIX_0, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
UNMIX_0, UNMIX_1 = (pow(factor, -1, 1 << 64) for factor in (MIX_0, MIX_1))
"""Multiplying by these undoes multiplying by MIX_0 and by MIX_1."""


def hash_rest(words: P64) -> U64:
    """A mix of all words but the first.

    A product moves no bit down, so what differs in the last bits of a word only is spread by the second one: else it would
    differ in few bits, and states whose first words make up for them would all have one hash.
    """
    h = MIX_2
    for w in unrolled(W - 1):
        x = (h ^ words[w + 1]) * MIX_2
        h = (x ^ (x >> 32)) * MIX_1
    return h


def hash_state(words: P64) -> U64:
    """A well-mixed 64-bit hash, from which and the other words the first can be had back (`unhash`)."""
    x = (words[0] + hash_rest(words)) * MIX_0
    y = (x ^ (x >> 32)) * MIX_1
    return y ^ (y >> 29)


def unhash(h: U64, rest: U64) -> U64:
    """The first word of the state of this hash whose other words mix to `rest`."""
    y = (h ^ (h >> 29) ^ (h >> 58)) * UNMIX_1
    return (y ^ (y >> 32)) * UNMIX_0 - rest


def owner_of(h: U64, parts: U64) -> U64:
    """Which of so many parts a hash belongs to; uses bits that the tag does not."""
    return ((h & ((1 << OWNER_BITS) - 1)) * parts) >> OWNER_BITS


def number_of(tagged: U64, buckets: U64) -> U64:
    """The number of the home, among the buckets of its part, of what has a tag: a hash or an entry."""
    return ((tagged >> INDEX_BITS) * buckets) >> TAG_BITS


def home_of(table: U64, parts: U64, stride: U64, buckets: U64, h: U64) -> U64:
    """The address of the first bucket in which a state of this hash may be."""
    return table + owner_of(h, parts) * stride + number_of(h, buckets) * SLOTS * 8


def hash_all(candidates: P64, hashes: P64, n: U64) -> None:
    """The hash of every candidate."""
    for j in range(n):
        hashes[j] = hash_state(at(candidates, j * W))


def differ(a: P64, b: P64) -> U64:
    """Nonzero if two states differ."""
    d = 0
    for w in unrolled(W):
        d = d | (a[w] ^ b[w])
    return d


def less(a: P64, b: P64) -> U64:
    """1 if state a comes before state b as a tuple of words."""
    for w in unrolled(W):
        if a[w] != b[w]:
            return 1 if a[w] < b[w] else 0
    return 0


def copy_state(target: P64, source: P64) -> None:
    """Copies a state; the two must not overlap, unless they are the same."""
    for w in unrolled(W):
        target[w] = source[w]


def take_slot(bucket: P64, slot: U64, entry: U64, workers: U64) -> U64:
    """Writes an entry into a free slot; 0 if the slot is not free any more."""
    if workers == 1:
        if bucket[slot] != 0:
            return 0
        bucket[slot] = entry
        return 1
    return compare_and_swap(bucket, slot, 0, entry) == 0


def look_for_home(table: U64, workers: U64, stride: U64, buckets: U64, homes: P64, h: U64, t: U64) -> None:
    """The first look at candidate t, of hash h: finds its home, and prefetches it."""
    home = home_of(table, workers, stride, buckets, h)
    homes[t & RING] = home
    prefetch(p64(home), 0)


def look_at_home(home: U64, tag: U64, states: U64, following: U64) -> U64:
    """The second look at a candidate: what its home has of its tag; prefetches what the third look reads.

    That is the state found there. Without a match the next insertion comes into question, of index `following`, whose line is
    near already; or, behind a full bucket, the next bucket.
    """
    found = match_bucket(p64(home), INDEX_BITS, tag)
    matches = found & 255
    index = (p64(home)[trailing_zeros(matches | 128)] & INDEX_MASK) - 1
    state = states + (index if matches else following) * W * 8
    prefetch(p64(home + SLOTS * 8 if found == 0 else state), 0)
    return found


def confirm(bucket: P64, found: U64, states: P64, state: P64) -> U64:
    """The index of the state, if it is one of those that `match_bucket` found in a bucket; else NOWHERE."""
    matches = found & 255
    while matches != 0:
        index = (bucket[trailing_zeros(matches)] & INDEX_MASK) - 1
        if differ(at(states, index * W), state) == 0:
            return index
        matches = matches & (matches - 1)
    return slots.NOWHERE


def absorb(context: P64, candidates: P64, hashes: P64, acts: P16, n: U64, room: U64) -> U64:
    """Inserts candidates, up to `room` new ones; returns how many are done: the next is new, if there is one.

    Counts, by action, those whose target was not reached before this level. The second look at a candidate is FAR candidates
    after the first, the third one AHEAD after the second. It relies on what the second saw: an entry never leaves, and a
    worker that came in between has taken the slot that seemed free.
    """
    states = p64(context[slots.ALL_STATES])
    own = p64(context[slots.STATES])
    table = context[slots.TABLE]
    stride = context[slots.STRIDE]
    workers = context[slots.WORKERS]
    buckets = context[slots.BUCKETS]
    first = context[slots.FIRST]
    finder = context[slots.FINDER]
    bases = p64(context[slots.BASES])
    count = context[slots.COUNT]
    limit = count + room
    new = p64(context[slots.NEW])
    seen = p64(context[slots.SEEN])
    homes = p64(context[slots.HOMES])
    for t in range(minimum(FAR, n)):
        look_for_home(table, workers, stride, buckets, homes, hashes[t], t)
    for t in range(n + AHEAD):
        if t + FAR < n:
            look_for_home(table, workers, stride, buckets, homes, hashes[t + FAR], t + FAR)
        if t < n:
            seen[t & RING] = look_at_home(homes[t & RING], hashes[t] >> INDEX_BITS, context[slots.ALL_STATES], first + count)
        if t >= AHEAD:
            j = t - AHEAD
            tag = hashes[j] >> INDEX_BITS
            candidate = at(candidates, j * W)
            bucket = p64(homes[j & RING])
            found = seen[j & RING]
            passed = 0
            index = slots.NOWHERE
            while index == slots.NOWHERE:
                index = confirm(bucket, found, states, candidate)
                if index == slots.NOWHERE:
                    free = found >> 8
                    if free != 0:
                        if count >= limit:
                            context[slots.COUNT] = count
                            return j
                        copy_state(at(own, count * W), candidate)
                        entry = (tag << INDEX_BITS) | (first + count + 1)
                        if take_slot(bucket, trailing_zeros(free), entry, workers):
                            index = first + count
                            count += 1
                        else:
                            found = match_bucket(bucket, INDEX_BITS, tag)
                    else:
                        passed += 1
                        if number_of(hashes[j], buckets) + passed >= buckets + PAD - 1:
                            context[slots.COUNT] = count
                            return j
                        bucket = at(bucket, SLOTS)
                        found = match_bucket(bucket, INDEX_BITS, tag)
            new[acts[j]] += 1 if index >= bases[high_product(index, finder)] else 0
    context[slots.COUNT] = count
    return n


def find_state(context: P64, state: P64, h: U64) -> U64:
    """The index of a state of this hash, or NOWHERE."""
    states = p64(context[slots.ALL_STATES])
    bucket = p64(home_of(context[slots.TABLE], context[slots.WORKERS], context[slots.STRIDE], context[slots.BUCKETS], h))
    index = slots.NOWHERE
    free = 0
    while index == slots.NOWHERE and free == 0:
        found = match_bucket(bucket, INDEX_BITS, h >> INDEX_BITS)
        index = confirm(bucket, found, states, state)
        free = found >> 8
        bucket = at(bucket, SLOTS)
    return index


def place(table: P64, fill: P8, buckets: U64, entry: U64) -> U64:
    """Puts an entry into the first bucket with room from its home on; `fill` counts what each bucket holds.

    0 if that would be the last bucket of the padding, which stays empty.
    """
    number = number_of(entry, buckets)
    while fill[number] == SLOTS:
        number += 1
    if number >= buckets + PAD - 1:
        return 0
    table[number * SLOTS + fill[number]] = entry
    fill[number] += 1
    return 1


def grow(context: P64) -> U64:
    """Makes the worker's part of the table larger in place; 1 if done, 0 if the budget is reached (STATUS says so)."""
    table = p64(context[slots.TABLE] + context[slots.WORKER] * context[slots.STRIDE])
    spare = p64(context[slots.SPARE])
    old = context[slots.BUCKETS]
    buckets = old + old // 2
    if old < DOUBLE_UNTIL:
        buckets = 2 * old
    # A last step that is too small would leave no room to move entries in.
    if buckets + buckets // 8 > context[slots.MAX_BUCKETS]:
        buckets = context[slots.MAX_BUCKETS]
    booked = p64(context[slots.SHARED])[slots.BOOKED]
    if booked >= context[slots.MAX_STATES] or context[slots.COUNT] >= context[slots.ROOM] or buckets == old:
        context[slots.STATUS] = slots.FULL
        return 0
    # How full the new buckets are is kept beside them while they are filled. What stands in a free slot, nothing, goes to a
    # bucket behind the last one: which slots are free is as good as random, and a mispredicted branch costs more than a move.
    fill = p8(context[slots.FILL])
    nowhere = buckets + PAD
    for k in range(nowhere + 1):
        fill[k] = 0
    spared = 0
    b = old + PAD
    while b > 0:
        b -= 1
        bucket = at(table, b * SLOTS)
        for slot in unrolled(SLOTS):
            entry = bucket[slot]
            bucket[slot] = 0
            number = number_of(entry, buckets) if entry else nowhere
            held = fill[number]
            if (number <= b) | (held == SLOTS):
                # Buckets up to this one may still hold entries that have not moved: only near the start, for a few.
                if number <= b:
                    if spared == SPARE_SLOTS:
                        context[slots.STATUS] = slots.BROKEN
                        return 0
                    spare[spared] = entry
                    spared += 1
                elif place(table, fill, buckets, entry) == 0:
                    context[slots.STATUS] = slots.BROKEN
                    return 0
            else:
                table[number * SLOTS + held] = entry
                fill[number] = held + (1 if entry else 0)
    for k in range(spared):
        if place(table, fill, buckets, spare[k]) == 0:
            context[slots.STATUS] = slots.BROKEN
            return 0
    context[slots.BUCKETS] = buckets
    set_limit(context)
    return 1


def set_limit(context: P64) -> None:
    """How many states fit before the table must grow or the budget is reached."""
    most = context[slots.WORKERS] * context[slots.BUCKETS] * SLOTS // LOAD_DENOMINATOR * LOAD_NUMERATOR
    context[slots.LIMIT] = minimum(most, context[slots.MAX_STATES])


def reserve_room(context: P64, n: U64) -> U64:
    """Keeps room in the table for as many of n candidates as it can, none if the table had better grow; returns how many."""
    shared = p64(context[slots.SHARED])
    limit = context[slots.LIMIT]
    booked = load_acquire(shared, slots.BOOKED)
    most = minimum(limit - minimum(booked, limit), context[slots.ROOM] - context[slots.COUNT])
    if most < n and most < FEW and limit < context[slots.MAX_STATES]:
        return 0
    most = minimum(most, n)
    if fetch_add(shared, slots.BOOKED, most) + most > limit:
        fetch_add(shared, slots.BOOKED, 0 - most)
        return 0
    return most


def insert(context: P64, candidates: P64, acts: P16, done: U64, n: U64) -> U64:
    """Inserts candidates done..n-1, whose hashes stand in HASHES; returns how many are done.

    One worker has the table grow as needed: all are done unless the budget is reached. Several stop where it must grow.
    """
    hashes = p64(context[slots.HASHES])
    shared = p64(context[slots.SHARED])
    while done < n:
        before = context[slots.COUNT]
        m = reserve_room(context, minimum(n - done, MANY))
        done += absorb(context, at(candidates, done * W), at(hashes, done), at(acts, done), n - done, m)
        spared = before + m - context[slots.COUNT]
        fetch_add(shared, slots.BOOKED, 0 - spared)
        if done < n and (m == 0 or spared != 0):
            if context[slots.DEFERS] or grow(context) == 0:
                return done
    return done


FUNCTIONS = (
    hash_rest, hash_state, owner_of, number_of, home_of, hash_all, differ, less, copy_state, take_slot, look_for_home,
    look_at_home, confirm, absorb, find_state, place, set_limit, grow, reserve_room, insert,
)  # fmt: skip
"""Everything that is translated, callees first."""
