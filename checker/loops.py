"""The native loops of a search: expanding a run of states, the exact visited set, and the backward step of traces.

What lives here: functions in the subset of `lowlevel.py`, compiled once for every number of words in a state, the literal W.
What does not: levels, workers and verdicts (`search.py`).

Every worker owns one shard: an append-only array of packed states, in order of discovery and so of levels, and a hash
table beside it, in buckets of eight 64-bit slots, a cache line each. A slot is 0 or `tag << 30 | index + 1`, with the 34
upper hash bits as tag; a tag that agrees is always confirmed against the whole state, so the set is exact. An entry
stands in the first bucket with room from its home `tag * buckets >> 34` on. Homes ascend with tags, so the table can
grow in place, by any factor, in one sweep from its end, without looking at a state.

A worker's numbers and addresses stand in its context, an array of 64-bit slots named below.
"""

# The loops are translated, not run, so the type checker sees them only as far as the subset's names go.
from __future__ import annotations

from checker.kernel import BATCH
from checker.lowlevel import (
    P8,
    P16,
    P64,
    U64,
    at,
    call,
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

# Slots of a worker's context. The shard:
STATES, COUNT, MAX_STATES, TABLE, BUCKETS, LIMIT, MAX_BUCKETS, BASE = range(8)
# Workers and mail. Every pair of workers has a box, a ring of candidates that one writes and the other reads. OUTBOX lists
# the boxes that this worker writes: addresses of words, of actions and of the reader's count, and the ring's mask; WRITTEN
# counts what is in them, READABLE what their readers may look at. INBOX lists those it reads: addresses of words, of actions,
# of the writer's READABLE and of the writer's DONE; READ counts what it has taken.
WORKERS, WORKER, OUTBOX, WRITTEN, READABLE, BOX_CAPACITY, INBOX, READ, DONE, STATUS = range(8, 18)
# Scratch of one batch:
COLUMNS, ROWS, LIST, OUT, ACTS, HASHES, FLAGS, SPARE, FILL, SEEN, DIRTY, OFFERS = range(18, 30)
# Code, counters, and the least violation found of every property:
UNPACK, GUARDS, FIRES, ENABLED, NEW, BEST_STATES, BEST_STEPS, BEST_SOURCE, MOMENT = range(30, 39)
# How many the protocol has of what the kernel decides, and of how many states at a time:
ACTIONS, PROPERTIES, BLOCK = range(39, 42)
# Code that replaces states by the representatives of their orbits, in groups of GROUP; 0 without symmetry.
REPRESENT = 42
CONTEXT_SLOTS = 43
GROUP = 8

# What a worker offers to be expanded, by itself or by others; OFFERS lists the addresses of all workers' offers.
OFFER_NEXT, OFFER_END, OFFER_STATES = range(3)
OFFER_CLOSED = 1 << 62
"""The next state of an offer outside of `expand`: past every end."""

NOWHERE = (1 << 64) - 1
"""The index of a state that has not been found."""

# Values of the STATUS slot.
RUNNING, FULL, BROKEN = range(3)

INDEX_BITS = 30
INDEX_MASK = (1 << INDEX_BITS) - 1
TAG_BITS = 64 - INDEX_BITS
SLOTS = 8
"""Slots of a bucket: one cache line."""
PAD = 512
"""Buckets past the table's end, so that no probe wraps; the last one stays empty."""
SPARE_SLOTS = 1 << 16
FAR, AHEAD = 32, 16
"""How many candidates a bucket, and how many a state, is prefetched before it is needed."""
RING = 31
"""Mask of the ring that keeps what was seen in a bucket from the second look at a candidate to the third."""
DIRTY_MASK = 511
"""Mask of the table that remembers when a bucket was last written to, in candidates; buckets that share a place only cost
a needless look."""
assert AHEAD <= RING
LOAD_NUMERATOR, LOAD_DENOMINATOR = 4, 5
DOUBLE_UNTIL = 1 << 19
"""Smaller tables double; larger ones grow by half, which keeps the memory per state between 26 and 31 bytes at W=2."""

PATIENCE = 1 << 14
"""How often a worker looks into one box before it gives the other workers up for now; little where many share a processor."""

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


def owner_of(h: U64, workers: U64) -> U64:
    """Which worker's shard a hash belongs to; uses the bits that the tag does not."""
    return ((h & INDEX_MASK) * workers) >> INDEX_BITS


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


def absorb(context: P64, candidates: P64, hashes: P64, acts: P16, n: U64) -> U64:
    """Inserts candidates until all are in or the table must grow; returns how many are done.

    Counts, by action, those whose target was not reached before this level. Every candidate is looked at three times: its
    bucket is prefetched; FAR candidates later the bucket is searched for its tag and the state found there prefetched; AHEAD
    candidates later the state is compared, and the candidate inserted if it is new. The third look goes by what the second
    saw, unless an insertion came in between: a vector load of a bucket stalls while stores are under way.
    """
    states = p64(context[STATES])
    table = p64(context[TABLE])
    buckets = context[BUCKETS]
    last = buckets + PAD - 1
    limit = context[LIMIT]
    count = context[COUNT]
    base = context[BASE]
    new = p64(context[NEW])
    seen = p64(context[SEEN])
    dirty = p64(context[DIRTY])
    moment = context[MOMENT]
    context[MOMENT] = moment + n + AHEAD
    for t in range(minimum(FAR, n)):
        prefetch(table, ((hashes[t] >> INDEX_BITS) * buckets) >> TAG_BITS << 3)
    for t in range(n + AHEAD):
        if t + FAR < n:
            prefetch(table, ((hashes[t + FAR] >> INDEX_BITS) * buckets) >> TAG_BITS << 3)
        if t < n:
            tag = hashes[t] >> INDEX_BITS
            number = (tag * buckets) >> TAG_BITS
            bucket = at(table, number << 3)
            found = match_bucket(bucket, INDEX_BITS, tag)
            seen[t & RING] = found
            matches = found & 255
            index = bucket[trailing_zeros(matches | 128)] & INDEX_MASK
            # Without a match the next insertion comes into question, whose line is near already; or, behind a full bucket,
            # the next bucket.
            state = context[STATES] + (index - 1 if matches else count) * W * 8
            prefetch(p64(context[TABLE] + (number + 1) * SLOTS * 8 if found == 0 else state), 0)
        if t >= AHEAD:
            j = t - AHEAD
            tag = hashes[j] >> INDEX_BITS
            candidate = at(candidates, j * W)
            number = (tag * buckets) >> TAG_BITS
            bucket = at(table, number << 3)
            found = seen[j & RING]
            # What was seen is out of date if an insertion came in between.
            if dirty[number & DIRTY_MASK] > moment + j:
                found = match_bucket(bucket, INDEX_BITS, tag)
            index = NOWHERE
            while index == NOWHERE:
                matches = found & 255
                while matches != 0:
                    near = (bucket[trailing_zeros(matches)] & INDEX_MASK) - 1
                    if differ(at(states, near * W), candidate) == 0:
                        index = near
                        break
                    matches = matches & (matches - 1)
                if index == NOWHERE:
                    free = found >> 8
                    if free != 0:
                        if count >= limit or number >= last:
                            context[COUNT] = count
                            return j
                        bucket[trailing_zeros(free)] = (tag << INDEX_BITS) | (count + 1)
                        dirty[number & DIRTY_MASK] = moment + t + 1
                        target = at(states, count * W)
                        for w in unrolled(W):
                            target[w] = candidate[w]
                        index = count
                        count += 1
                    else:
                        number += 1
                        bucket = at(table, number << 3)
                        found = match_bucket(bucket, INDEX_BITS, tag)
            if index >= base:
                new[acts[j]] += 1
    context[COUNT] = count
    return n


def place(table: P64, fill: P8, buckets: U64, entry: U64) -> U64:
    """Puts an entry into the first bucket with room from its home on; `fill` counts what each bucket holds.

    0 if that would be the last bucket of the padding, which stays empty.
    """
    number = ((entry >> INDEX_BITS) * buckets) >> TAG_BITS
    while fill[number] == SLOTS:
        number += 1
    if number >= buckets + PAD - 1:
        return 0
    table[number * SLOTS + fill[number]] = entry
    fill[number] += 1
    return 1


def grow(context: P64) -> U64:
    """Makes the table larger in place; 1 if done, 0 if the budget is reached (STATUS says so)."""
    table = p64(context[TABLE])
    spare = p64(context[SPARE])
    old = context[BUCKETS]
    buckets = old + old // 2
    if old < DOUBLE_UNTIL:
        buckets = 2 * old
    buckets = minimum(buckets, context[MAX_BUCKETS])
    if context[COUNT] >= context[MAX_STATES] or buckets <= old + old // 16:
        context[STATUS] = FULL
        return 0
    # How full the new buckets are is kept beside them while they are filled: looking at the slots would cost a mispredicted
    # branch an entry.
    fill = p8(context[FILL])
    for k in range(buckets + PAD):
        fill[k] = 0
    spared = 0
    p = (old + PAD) * SLOTS
    while p > 0:
        p -= 1
        entry = table[p]
        if entry != 0:
            table[p] = 0
            if ((entry >> INDEX_BITS) * buckets) >> TAG_BITS << 3 < p:
                # Buckets from its new home on may still hold entries that have not moved: only near the start, for a few.
                if spared == SPARE_SLOTS:
                    context[STATUS] = BROKEN
                    return 0
                spare[spared] = entry
                spared += 1
            elif place(table, fill, buckets, entry) == 0:
                context[STATUS] = BROKEN
                return 0
    for k in range(spared):
        if place(table, fill, buckets, spare[k]) == 0:
            context[STATUS] = BROKEN
            return 0
    context[BUCKETS] = buckets
    set_limit(context)
    return 1


def set_limit(context: P64) -> None:
    """How many states fit before the table must grow or the budget is reached."""
    context[LIMIT] = minimum(context[BUCKETS] * SLOTS // LOAD_DENOMINATOR * LOAD_NUMERATOR, context[MAX_STATES])


def settle(context: P64, candidates: P64, acts: P16, n: U64) -> U64:
    """Inserts all candidates, whose hashes stand in HASHES, growing as needed; 0 if the budget is reached."""
    hashes = p64(context[HASHES])
    done = absorb(context, candidates, hashes, acts, n)
    while done < n:
        if grow(context) == 0:
            return 0
        done += absorb(context, at(candidates, done * W), at(hashes, done), at(acts, done), n - done)
    return 1


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


def route(context: P64, n: U64) -> U64:
    """Deals candidates to their owners' boxes; those that stay close ranks in OUT. Returns how many stay.

    The worker's own box is OUT itself, so that no branch asks who the owner is: half of them would be mispredicted.
    """
    out = p64(context[OUT])
    acts = p16(context[ACTS])
    hashes = p64(context[HASHES])
    workers = context[WORKERS]
    boxes = p64(context[OUTBOX])
    counts = p64(context[WRITTEN])
    me = context[WORKER]
    counts[me] = 0
    for j in range(n):
        h = hashes[j]
        owner = owner_of(h, workers)
        box = at(boxes, 4 * owner)
        k = counts[owner] & box[3]
        hashes[counts[me]] = h
        target = at(p64(box[0]), k * W)
        for w in unrolled(W):
            target[w] = out[j * W + w]
        listed = p16(box[1])
        listed[k] = acts[j]
        counts[owner] += 1
    readable = p64(context[READABLE])
    for owner in range(workers):
        store_release(readable, owner, counts[owner])
    return minimum(counts[me], n)


def evaluate(context: P64, here: P64, n: U64) -> None:
    """Fills ROWS for a batch of n states."""
    call(context[UNPACK], here, p64(context[COLUMNS]), (n + 7) // 8)
    call(context[GUARDS], p64(context[COLUMNS]), p64(context[ROWS]), (n + context[BLOCK] - 1) // context[BLOCK])


def claim(context: P64, owner: U64) -> U64:
    """Takes a batch of what a worker offers to expand; where it begins, or NOWHERE."""
    offer = p64(p64(context[OFFERS])[owner])
    # A look first, so that a worker in search of work does not keep the line from those who have some.
    if load_acquire(offer, OFFER_NEXT) >= offer[OFFER_END]:
        return NOWHERE
    begin = fetch_add(offer, OFFER_NEXT, BATCH)
    return begin if begin < offer[OFFER_END] else NOWHERE


def expand_batch(context: P64, owner: U64, begin: U64) -> U64:
    """Checks and expands a claimed batch; 0 if the budget is reached, and then all its checks are made nevertheless."""
    offer = p64(p64(context[OFFERS])[owner])
    out = p64(context[OUT])
    n = minimum(BATCH, offer[OFFER_END] - begin)
    here = at(p64(offer[OFFER_STATES]), begin * W)
    evaluate(context, here, n)
    note_states(context, here, n)
    m = fire_all(context, here, n)
    hash_all(out, p64(context[HASHES]), m)
    if context[WORKERS] > 1:
        m = route(context, m)
    return settle(context, out, p16(context[ACTS]), m)


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
    """Expands batch after batch, the worker's own and then others', and takes in its mail, until all are done.

    It ends early when a box is full and stays so or when the budget is reached (STATUS). Without work, it goes on reading its
    mail for a while, so that the others find room.
    """
    workers = context[WORKERS]
    tries = 0
    while tries < 8 * PATIENCE // (workers * workers):
        waits = 0
        while has_room(context) == 0:
            waits += 1
            if waits > PATIENCE // workers or drain(context) == 0:
                return
        claimed = claim_any(context)
        if claimed != NOWHERE:
            tries = 0
            if expand_batch(context, claimed % workers, claimed // workers) == 0:
                return
        else:
            tries += 1
            store_release(p64(context[DONE]), 0, 1)
            if are_done(context):
                drain(context)
                return
        if drain(context) == 0:
            return


def expand(context: P64, begin: U64, end: U64) -> U64:
    """Checks and expands the shard's states begin..end-1; returns where it stopped.

    Workers that are done with theirs take batches of the others', so that nobody waits long at the end of a level, however
    unequally the machine treats them. It stops early when a box is full and stays so (its reader is not at work: let all
    drain, and go on) or when the budget is reached (STATUS); the checks of all states before the result are made.
    """
    offer = p64(p64(context[OFFERS])[context[WORKER]])
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


def has_room(context: P64) -> U64:
    """1 if every box takes whatever one batch can yield."""
    boxes = p64(context[OUTBOX])
    counts = p64(context[WRITTEN])
    for owner in range(context[WORKERS]):
        if owner != context[WORKER]:
            waiting = counts[owner] - load_acquire(p64(boxes[4 * owner + 2]), 0)
            if waiting + BATCH * context[ACTIONS] > context[BOX_CAPACITY]:
                return 0
    return 1


def are_done(context: P64) -> U64:
    """1 if all other workers have expanded what they were given."""
    inbox = p64(context[INBOX])
    for source in range(context[WORKERS]):
        if source != context[WORKER] and load_acquire(p64(inbox[4 * source + 3]), 0) == 0:
            return 0
    return 1


def drain(context: P64) -> U64:
    """Takes in what other workers have sent so far, while it is near; 0 if the budget is reached."""
    inbox = p64(context[INBOX])
    read = p64(context[READ])
    capacity = context[BOX_CAPACITY]
    for source in range(context[WORKERS]):
        if source != context[WORKER]:
            box = at(inbox, 4 * source)
            end = load_acquire(p64(box[2]), 0)
            while read[source] < end:
                begin = read[source] & (capacity - 1)
                n = minimum(end - read[source], capacity - begin)
                if receive(context, at(p64(box[0]), begin * W), at(p16(box[1]), begin), n) != n:
                    return 0
                store_release(read, source, read[source] + n)
    return 1


def receive(context: P64, candidates: P64, acts: P16, n: U64) -> U64:
    """Inserts what another worker sent, batch by batch; returns how many are in (all, unless the budget is reached)."""
    i = 0
    while i < n:
        m = minimum(BATCH, n - i)
        batch = at(candidates, i * W)
        hash_all(batch, p64(context[HASHES]), m)
        if settle(context, batch, at(acts, i), m) == 0:
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
    """The index of a state of this hash in the shard, or NOWHERE."""
    table = p64(context[TABLE])
    states = p64(context[STATES])
    tag = h >> INDEX_BITS
    number = (tag * context[BUCKETS]) >> TAG_BITS
    index = NOWHERE
    free = 0
    while index == NOWHERE and free == 0:
        bucket = at(table, number << 3)
        found = match_bucket(bucket, INDEX_BITS, tag)
        matches = found & 255
        while matches != 0:
            near = (bucket[trailing_zeros(matches)] & INDEX_MASK) - 1
            if differ(at(states, near * W), state) == 0:
                index = near
                break
            matches = matches & (matches - 1)
        free = found >> 8
        number += 1
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
    table = p64(context[TABLE])
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
                prefetch(table, ((hashes[j] >> INDEX_BITS) * context[BUCKETS]) >> TAG_BITS << 3)
            for j in range(m):
                edges[total + j] = (i + picked[j]) << 32 | find_state(context, at(out, j * W), hashes[j])
                acts[total + j] = k
            total += m
        batch += 1
        i += n
    return total


def probe(table: P64, mask: U64, seed: U64, n: U64) -> U64:
    """Reads n independent random slots of a table, prefetched: the machine's own limit, for the benchmark."""
    total = 0
    x = seed
    ahead = seed
    for _k in range(64):
        ahead = ahead * MIX_2 + MIX_0
        prefetch(table, (ahead >> 20) & mask)
    for _k in range(n):
        ahead = ahead * MIX_2 + MIX_0
        prefetch(table, (ahead >> 20) & mask)
        x = x * MIX_2 + MIX_0
        total += table[(x >> 20) & mask]
    return total


FUNCTIONS = (
    hash_state, owner_of, hash_all, differ, less, absorb, place, set_limit, grow, settle, deal, note_states, note_source,
    note_steps, represent, fire_all, route, evaluate, receive, drain, has_room, are_done, claim, claim_any, expand_batch,
    expand_shares, expand, inspect, find_source, find_state, link,
    probe,
)  # fmt: skip
"""Everything that is translated, callees first."""
