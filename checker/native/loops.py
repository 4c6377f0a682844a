"""The native loops of a search: expanding a run of states, the exact visited set, and the backward step of traces.

Functions in the subset of `language.py`, compiled once for every number of words in a state, the literal W.

Every worker has one shard: an append-only array of the packed states that it found, in order of discovery and so of levels.
All look into one hash table (Laarman, van de Pol, Weber: Boosting multi-core reachability performance with shared hash
tables, FMCAD 2010). It has as many parts as there are workers, and the hash says in which part a state is looked for; a
part is an array of buckets of eight 64-bit slots, a cache line each. A slot is 0 or `tag << 32 | index + 1`, with the 32
upper hash bits as tag; a tag that agrees is always confirmed against the whole state, so the set is exact. An entry stands
in the first bucket with room from its home `tag * buckets >> 32` on, in the first slot that was free, and never leaves: two
workers that found the same state want the same slot, and the processor's compare and swap gives it to one of them.

Homes ascend with tags, so a part can grow in place, by any factor, in one sweep from its end, without looking at a state.
Every worker does that for one part, while nobody looks anything up.

A worker's numbers and addresses stand in its context, an array of 64-bit slots named below.
"""

# The loops are translated, not run, so the type checker sees them only as far as the subset's names go.
from __future__ import annotations

from acked.checker.native.kernel import FIRE_GROUP
from acked.checker.native.language import (
    P8,
    P16,
    P64,
    U64,
    at,
    call,
    compare_and_swap,
    copy,
    fetch_add,
    high_product,
    load_acquire,
    match_bucket,
    minimum,
    p8,
    p16,
    p64,
    prefetch,
    store_release,
    swap,
    trailing_zeros,
    unrolled,
)
from acked.checker.question.plan import BATCH

# Slots of a worker's context. Its own states, and how many it has room for:
STATES, COUNT, ROOM = range(3)
# All workers' states, of which its own are those from index FIRST on. Who found a state is the upper half of its index times
# FINDER; BASES says by finder from which index on states belong to the next level.
ALL_STATES, FIRST, FINDER, BASES = range(3, 7)
# The table: its parts stand STRIDE bytes apart and have BUCKETS each, for LIMIT states together; MAX_STATES and MAX_BUCKETS
# are what the budget allows.
TABLE, STRIDE, BUCKETS, MAX_BUCKETS, LIMIT, MAX_STATES = range(7, 13)
# Workers, what they share, and which candidates a worker put off until there is room, PUT_OFF to PUT_OFF_END - 1.
WORKERS, WORKER, SHARED, STATUS, PUT_OFF, PUT_OFF_END = range(13, 19)
# Scratch of one batch:
COLUMNS, ROWS, LIST, OUT, ACTS, HASHES, FLAGS, SPARE, FILL, SEEN, HOMES, OFFERS = range(19, 31)
# Code, counters, and the least violation found of every property:
UNPACK, GUARDS, FIRES, ENABLED, NEW, BEST_STATES, BEST_STEPS, BEST_SOURCE = range(31, 39)
# How many the protocol has of what the kernel decides, and of how many states at a time:
ACTIONS, PROPERTIES, BLOCK = range(39, 42)
# Code that replaces states by the representatives of their orbits, in groups of GROUP; 0 without symmetry.
REPRESENT = 42
CONTEXT_SLOTS = 43
GROUP = 8

# What a worker offers to be expanded, by itself or by others; OFFERS is the address of all workers' offers, two lines each.
OFFER_NEXT, OFFER_END, OFFER_STATES = range(3)
OFFER_SLOTS = 16
OFFER_CLOSED = 1 << 62
"""The next state of an offer outside of `expand`: past every end."""

# What all workers share: states that are in the table or may be by the end of this batch, and whether it must grow.
BOOKED, CROWDED = range(2)
SHARED_SLOTS = 2

NOWHERE = (1 << 64) - 1
"""The index of a state that has not been found."""

# Values of the STATUS slot.
RUNNING, FULL, BROKEN = range(3)

INDEX_BITS = 32
INDEX_MASK = (1 << INDEX_BITS) - 1
TAG_BITS = 64 - INDEX_BITS
OWNER_BITS = 30
"""How many low bits of a hash say to whom a state belongs; the layout of stored levels depends on it."""
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

# The literal that the loops are compiled with; the value here only names it.
W = 1

MIX_0, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F


def hash_state(words: P64) -> U64:
    """A well-mixed 64-bit hash; the search stays exact whatever its quality."""
    h = MIX_0
    for w in unrolled(W):
        x = (h ^ words[w]) + MIX_1
        h = (x * MIX_2) ^ high_product(x, MIX_2)
    return h * MIX_0 ^ (h >> 32)


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


def take_slot(bucket: P64, slot: U64, entry: U64, workers: U64) -> U64:
    """Writes an entry into a free slot; 0 if the slot is not free any more."""
    if workers == 1:
        if bucket[slot] != 0:
            return 0
        bucket[slot] = entry
        return 1
    return compare_and_swap(bucket, slot, 0, entry) == 0


def absorb(context: P64, candidates: P64, hashes: P64, acts: P16, n: U64, room: U64) -> U64:
    """Inserts candidates, up to `room` new ones; returns how many are done: the next is new, if there is one.

    Counts, by action, those whose target was not reached before this level. Every candidate is looked at three times: its
    home is prefetched; FAR candidates later the home is searched for its tag and the state found there prefetched; AHEAD
    candidates later the state is compared, and the candidate inserted if it is new. The third look goes by what the second
    saw. An entry never leaves, and whoever came in between took the slot that seemed free.
    """
    all_states = p64(context[ALL_STATES])
    own = p64(context[STATES])
    table = context[TABLE]
    stride = context[STRIDE]
    workers = context[WORKERS]
    buckets = context[BUCKETS]
    first = context[FIRST]
    finder = context[FINDER]
    bases = p64(context[BASES])
    count = context[COUNT]
    most = count + room
    new = p64(context[NEW])
    seen = p64(context[SEEN])
    homes = p64(context[HOMES])
    for t in range(minimum(FAR, n)):
        home = home_of(table, workers, stride, buckets, hashes[t])
        homes[t] = home
        prefetch(p64(home), 0)
    for t in range(n + AHEAD):
        if t + FAR < n:
            home = home_of(table, workers, stride, buckets, hashes[t + FAR])
            homes[(t + FAR) & RING] = home
            prefetch(p64(home), 0)
        if t < n:
            home = homes[t & RING]
            found = match_bucket(p64(home), INDEX_BITS, hashes[t] >> INDEX_BITS)
            seen[t & RING] = found
            matches = found & 255
            index = p64(home)[trailing_zeros(matches | 128)] & INDEX_MASK
            # Without a match the next insertion comes into question, whose line is near already; or, behind a full bucket,
            # the next bucket.
            state = context[ALL_STATES] + ((index if matches else first + count + 1) - 1) * W * 8
            prefetch(p64(home + SLOTS * 8 if found == 0 else state), 0)
        if t >= AHEAD:
            j = t - AHEAD
            tag = hashes[j] >> INDEX_BITS
            candidate = at(candidates, j * W)
            bucket = p64(homes[j & RING])
            found = seen[j & RING]
            passed = 0
            index = NOWHERE
            while index == NOWHERE:
                matches = found & 255
                while matches != 0:
                    near = (bucket[trailing_zeros(matches)] & INDEX_MASK) - 1
                    if differ(at(all_states, near * W), candidate) == 0:
                        index = near
                        break
                    matches = matches & (matches - 1)
                if index == NOWHERE:
                    free = found >> 8
                    if free != 0:
                        if count >= most:
                            context[COUNT] = count
                            return j
                        target = at(own, count * W)
                        for w in unrolled(W):
                            target[w] = candidate[w]
                        entry = (tag << INDEX_BITS) | (first + count + 1)
                        if take_slot(bucket, trailing_zeros(free), entry, workers):
                            index = first + count
                            count += 1
                        else:
                            found = match_bucket(bucket, INDEX_BITS, tag)
                    else:
                        passed += 1
                        if number_of(hashes[j], buckets) + passed >= buckets + PAD - 1:
                            context[COUNT] = count
                            return j
                        bucket = at(bucket, SLOTS)
                        found = match_bucket(bucket, INDEX_BITS, tag)
            new[acts[j]] += 1 if index >= bases[high_product(index, finder)] else 0
    context[COUNT] = count
    return n


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
    table = p64(context[TABLE] + context[WORKER] * context[STRIDE])
    spare = p64(context[SPARE])
    old = context[BUCKETS]
    buckets = old + old // 2
    if old < DOUBLE_UNTIL:
        buckets = 2 * old
    # A last step that is too small would leave no room to move entries in.
    if buckets + buckets // 8 > context[MAX_BUCKETS]:
        buckets = context[MAX_BUCKETS]
    if p64(context[SHARED])[BOOKED] >= context[MAX_STATES] or context[COUNT] >= context[ROOM] or buckets == old:
        context[STATUS] = FULL
        return 0
    # How full the new buckets are is kept beside them while they are filled. What stands in a free slot, nothing, goes to a
    # bucket behind the last one: which slots are free is as good as random, and a mispredicted branch costs more than a move.
    fill = p8(context[FILL])
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
                        context[STATUS] = BROKEN
                        return 0
                    spare[spared] = entry
                    spared += 1
                elif place(table, fill, buckets, entry) == 0:
                    context[STATUS] = BROKEN
                    return 0
            else:
                table[number * SLOTS + held] = entry
                fill[number] = held + (1 if entry else 0)
    for k in range(spared):
        if place(table, fill, buckets, spare[k]) == 0:
            context[STATUS] = BROKEN
            return 0
    context[BUCKETS] = buckets
    set_limit(context)
    return 1


def set_limit(context: P64) -> None:
    """How many states fit before the table must grow or the budget is reached."""
    most = context[WORKERS] * context[BUCKETS] * SLOTS // LOAD_DENOMINATOR * LOAD_NUMERATOR
    context[LIMIT] = minimum(most, context[MAX_STATES])


def reserve_room(context: P64, n: U64) -> U64:
    """Keeps room in the table for as many of n candidates as it can, none if the table had better grow; returns how many."""
    shared = p64(context[SHARED])
    limit = context[LIMIT]
    booked = load_acquire(shared, BOOKED)
    most = minimum(limit - minimum(booked, limit), context[ROOM] - context[COUNT])
    if most < n and most < FEW and limit < context[MAX_STATES]:
        return 0
    most = minimum(most, n)
    if fetch_add(shared, BOOKED, most) + most > limit:
        fetch_add(shared, BOOKED, 0 - most)
        return 0
    return most


def settle(context: P64, candidates: P64, acts: P16, done: U64, n: U64) -> U64:
    """Inserts candidates done..n-1, whose hashes stand in HASHES; returns how many are done.

    One worker has the table grow as needed: all are done unless the budget is reached. Several stop where it must grow.
    """
    hashes = p64(context[HASHES])
    shared = p64(context[SHARED])
    while done < n:
        before = context[COUNT]
        m = reserve_room(context, minimum(n - done, MANY))
        done += absorb(context, at(candidates, done * W), at(hashes, done), at(acts, done), n - done, m)
        spared = before + m - context[COUNT]
        fetch_add(shared, BOOKED, 0 - spared)
        if done < n and (m == 0 or spared != 0):
            if context[WORKERS] > 1 or grow(context) == 0:
                return done
    return done


def settle_out(context: P64, begin: U64, n: U64) -> U64:
    """Inserts the candidates begin..n-1 of OUT; 1 if all are in. What several workers have no room for is put off."""
    done = settle(context, p64(context[OUT]), p16(context[ACTS]), begin, n)
    if done == n:
        return 1
    if context[WORKERS] > 1:
        context[PUT_OFF] = done
        context[PUT_OFF_END] = n
        store_release(p64(context[SHARED]), CROWDED, 1)
    return 0


def settle_rest(context: P64) -> U64:
    """Inserts what was put off, now that there may be room; 1 if all is in."""
    n = context[PUT_OFF_END]
    if n == 0:
        return 1
    context[PUT_OFF_END] = 0
    return settle_out(context, context[PUT_OFF], n)


def fill_group(listed: P16, m: U64) -> None:
    """Repeats the last of m places behind it, so that who takes them in groups meets nothing else."""
    for k in unrolled(FIRE_GROUP - 1):
        listed[m + k] = listed[m - 1]


def deal(row: P64, n: U64, target: P16) -> U64:
    """Lists the positions of the one bits among the first n of a row; returns how many."""
    m = 0
    for word in range((n + 63) // 64):
        bits = row[word]
        if word * 64 + 64 > n:
            bits = bits & ((1 << (n & 63)) - 1)
        while bits != 0:
            target[m] = word * 64 + trailing_zeros(bits)
            bits = bits & (bits - 1)
            m += 1
    if m != 0:
        fill_group(target, m)
    return m


def note_states(context: P64, here: P64, n: U64) -> None:
    """Keeps, for every state property, the least state of this batch that violates it."""
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    for p in range(context[PROPERTIES]):
        m = deal(at(rows, (context[ACTIONS] + p) * (BATCH // 64)), n, picked)
        best = at(p64(context[BEST_STATES]), p * (W + 1))
        for j in range(m):
            state = at(here, picked[j] * W)
            if best[0] == 0 or less(state, at(best, 1)):
                best[0] = 1
                copy(at(best, 1), state, W)


def note_steps(context: P64, here: P64, action: U64, m: U64) -> None:
    """Keeps, for every check of steps, the least (source, action) of this batch that violates it."""
    picked = p16(context[LIST])
    flags = p64(context[FLAGS])
    for j in range(m):
        bits = flags[j]
        while bits != 0:
            best = at(p64(context[BEST_STEPS]), trailing_zeros(bits) * (W + 2))
            bits = bits & (bits - 1)
            note_source(best, at(here, picked[j] * W), action)


def note_source(best: P64, source: P64, action: U64) -> None:
    """Keeps the lesser of (source, action) and what `best` holds: [valid, action, words…]."""
    kept = at(best, 2)
    if best[0] == 0 or less(source, kept) or (less(kept, source) == 0 and action < best[1]):
        best[0] = 1
        best[1] = action
        copy(kept, source, W)


def represent(context: P64, states: P64, n: U64) -> None:
    """Replaces n states, and up to GROUP - 1 after them, by the representatives of their orbits; nothing without symmetry."""
    if context[REPRESENT] != 0:
        call(context[REPRESENT], states, (n + GROUP - 1) // GROUP)


def fire_all(context: P64, here: P64, n: U64) -> U64:
    """Fires every enabled action of a batch whose guards stand in ROWS; returns the number of candidates in OUT."""
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    out = p64(context[OUT])
    acts = p16(context[ACTS])
    fires = p64(context[FIRES])
    enabled = p64(context[ENABLED])
    total = 0
    for k in range(context[ACTIONS]):
        m = deal(at(rows, k * (BATCH // 64)), n, picked)
        if m != 0:
            enabled[k] += m
            if call(fires[k], here, picked, m, at(out, total * W), p64(context[FLAGS])):
                note_steps(context, here, k, m)
            for j in range(m):
                acts[total + j] = k
            total += m
    represent(context, out, total)
    return total


def evaluate(context: P64, here: P64, n: U64) -> None:
    """Fills ROWS for a batch of n states."""
    call(context[UNPACK], here, p64(context[COLUMNS]), (n + 7) // 8)
    call(context[GUARDS], p64(context[COLUMNS]), p64(context[ROWS]), (n + context[BLOCK] - 1) // context[BLOCK])


def offer_of(offers: U64, worker: U64) -> U64:
    """The address of what a worker offers to be expanded."""
    return offers + worker * OFFER_SLOTS * 8


def claim(context: P64, owner: U64) -> U64:
    """Takes a batch of what a worker offers to expand; where it begins, or NOWHERE."""
    offer = p64(offer_of(context[OFFERS], owner))
    # A look first, so that a worker in search of work does not keep the line from those who have some.
    if load_acquire(offer, OFFER_NEXT) >= offer[OFFER_END]:
        return NOWHERE
    begin = fetch_add(offer, OFFER_NEXT, BATCH)
    return begin if begin < offer[OFFER_END] else NOWHERE


def expand_batch(context: P64, owner: U64, begin: U64) -> U64:
    """Checks and expands a claimed batch; 0 if not all candidates are in, but all its checks are made nevertheless."""
    offer = p64(offer_of(context[OFFERS], owner))
    out = p64(context[OUT])
    n = minimum(BATCH, offer[OFFER_END] - begin)
    here = at(p64(offer[OFFER_STATES]), begin * W)
    evaluate(context, here, n)
    note_states(context, here, n)
    m = fire_all(context, here, n)
    hash_all(out, p64(context[HASHES]), m)
    return settle_out(context, 0, m)


def claim_any(context: P64) -> U64:
    """Takes a batch, the worker's own before others'; `begin * WORKERS + owner`, or NOWHERE."""
    workers = context[WORKERS]
    claimed = NOWHERE
    for k in range(workers):
        # Everybody begins with what is its own, and none of the others is everybody's second.
        owner = (context[WORKER] + k) % workers
        begin = claim(context, owner)
        if begin != NOWHERE:
            claimed = begin * workers + owner
            break
    return claimed


def expand_shares(context: P64) -> None:
    """Expands batch after batch, the worker's own and then others', until all are taken or the table must grow."""
    if settle_rest(context) == 0:
        return
    while load_acquire(p64(context[SHARED]), CROWDED) == 0:
        claimed = claim_any(context)
        if claimed == NOWHERE:
            return
        if expand_batch(context, claimed % context[WORKERS], claimed // context[WORKERS]) == 0:
            return


def expand(context: P64, begin: U64, end: U64) -> U64:
    """Checks and expands the shard's states begin..end-1; returns where it stopped.

    Workers that are done with theirs take batches of the others', so that nobody waits long at the end of a level, however
    unequally the machine treats them. It stops early when somebody needs room in the table (CROWDED: make some, and go on) or
    when the budget is reached (STATUS); the checks of all states before the result are made.
    """
    offer = p64(offer_of(context[OFFERS], context[WORKER]))
    offer[OFFER_END] = end
    store_release(offer, OFFER_NEXT, begin)
    expand_shares(context)
    return minimum(swap(offer, OFFER_NEXT, OFFER_CLOSED), end)


def inspect(context: P64, begin: U64, end: U64) -> None:
    """Checks the shard's states begin..end-1 and the steps from them, and inserts nothing."""
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        here = at(p64(context[STATES]), i * W)
        evaluate(context, here, n)
        note_states(context, here, n)
        fire_all(context, here, n)
        i += n


def receive(context: P64, candidates: P64, acts: P16, n: U64) -> U64:
    """Inserts states that come from elsewhere, batch by batch; returns how many are in (all, unless there is no room)."""
    i = 0
    while i < n:
        m = minimum(BATCH, n - i)
        batch = at(candidates, i * W)
        hash_all(batch, p64(context[HASHES]), m)
        if settle(context, batch, at(acts, i), 0, m) < m:
            return i
        i += m
    return n


def find_source(context: P64, begin: U64, end: U64, target: P64) -> None:
    """The least (state, action) among the shard's states begin..end-1 that leads to `target`, into BEST_SOURCE."""
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    out = p64(context[OUT])
    fires = p64(context[FIRES])
    best = p64(context[BEST_SOURCE])
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        here = at(p64(context[STATES]), i * W)
        evaluate(context, here, n)
        for k in range(context[ACTIONS]):
            m = deal(at(rows, k * (BATCH // 64)), n, picked)
            call(fires[k], here, picked, m, out, p64(context[FLAGS]))
            represent(context, out, m)
            for j in range(m):
                if differ(at(out, j * W), target) == 0:
                    note_source(best, at(here, picked[j] * W), k)
        i += n


def find_state(context: P64, state: P64, h: U64) -> U64:
    """The index of a state of this hash, or NOWHERE."""
    states = p64(context[ALL_STATES])
    tag = h >> INDEX_BITS
    bucket = p64(home_of(context[TABLE], context[WORKERS], context[STRIDE], context[BUCKETS], h))
    index = NOWHERE
    free = 0
    while index == NOWHERE and free == 0:
        found = match_bucket(bucket, INDEX_BITS, tag)
        matches = found & 255
        while matches != 0:
            near = (bucket[trailing_zeros(matches)] & INDEX_MASK) - 1
            if differ(at(states, near * W), state) == 0:
                index = near
                break
            matches = matches & (matches - 1)
        free = found >> 8
        bucket = at(bucket, SLOTS)
    return index


def link(context: P64, begin: U64, end: U64, edges: P64, acts: P16, verdicts: P64) -> U64:
    """Lists the steps from the shard's states begin..end-1, all of whose targets it holds; returns how many there are.

    An edge is `source << 32 | target`, by index. `verdicts` gets the properties' rows of every batch, one after the other.
    """
    rows = p64(context[ROWS])
    picked = p16(context[LIST])
    out = p64(context[OUT])
    fires = p64(context[FIRES])
    hashes = p64(context[HASHES])
    width = context[PROPERTIES] * (BATCH // 64)
    total = 0
    batch = 0
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        here = at(p64(context[STATES]), i * W)
        evaluate(context, here, n)
        copy(at(verdicts, batch * width), at(rows, context[ACTIONS] * (BATCH // 64)), width)
        for k in range(context[ACTIONS]):
            m = deal(at(rows, k * (BATCH // 64)), n, picked)
            call(fires[k], here, picked, m, out, p64(context[FLAGS]))
            represent(context, out, m)
            hash_all(out, hashes, m)
            for j in range(m):
                prefetch(p64(home_of(context[TABLE], 1, 0, context[BUCKETS], hashes[j])), 0)
            for j in range(m):
                edges[total + j] = (i + picked[j]) << 32 | find_state(context, at(out, j * W), hashes[j])
                acts[total + j] = k
            total += m
        batch += 1
        i += n
    return total


FUNCTIONS = (
    hash_state, owner_of, number_of, home_of, hash_all, differ, less, take_slot, absorb, place, set_limit, grow,
    reserve_room, settle, settle_out, settle_rest, fill_group, deal, note_states, note_source, note_steps, represent,
    fire_all, evaluate, receive, offer_of, claim, claim_any, expand_batch, expand_shares, expand, inspect, find_source,
    find_state, link,
)  # fmt: skip
"""Everything that is translated, callees first."""
