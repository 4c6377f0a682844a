"""The native loops of a search: expanding batches of states, and the backward step of traces.

Functions in the subset of `language.py`, compiled once for every number of words in a state, the literal W. How a batch goes
through them is in the docstring of this package.
"""

from __future__ import annotations

from collections.abc import Iterator

from acked.checker.loops import formulas, growth, slots, table
from acked.checker.loops.formulas import decide, fire_formulas
from acked.checker.loops.language import (
    P16,
    P64,
    U64,
    at,
    call,
    copy,
    fetch_add,
    list_ones,
    load_acquire,
    minimum,
    p16,
    p64,
    prefetch,
    store_release,
    swap,
    trailing_zeros,
    unrolled,
)
from acked.checker.loops.slots import COMPRESSES, INTERPRETS, W
from acked.checker.loops.table import differ, find_state, hash_all, home_of, insert, less
from acked.checker.question.plan import BATCH


def insert_out(context: P64, begin: U64, n: U64) -> U64:
    """Inserts the candidates begin..n-1 of OUT; 1 if all are in. If growth is the caller's, what has no room is deferred."""
    done = insert(context, p64(context[slots.OUT]), p16(context[slots.ACTS]), begin, n)
    if context[slots.LOG_STEPS] != 0:
        call(context[slots.LOG_STEPS], context, begin, done)
    if done == n:
        return 1
    if context[slots.DEFERS]:
        context[slots.DEFERRED] = done
        context[slots.DEFERRED_END] = n
        store_release(p64(context[slots.SHARED]), slots.NEEDS_GROWTH, 1)
    return 0


def insert_deferred(context: P64) -> U64:
    """Inserts what was deferred, now that there may be room; 1 if all is in."""
    n = context[slots.DEFERRED_END]
    if n == 0:
        return 1
    context[slots.DEFERRED_END] = 0
    return insert_out(context, context[slots.DEFERRED], n)


def fill_group(listed: P16, m: U64) -> None:
    """Pads the list to a multiple of FIRE_GROUP by repeating its last entry."""
    for k in unrolled(slots.FIRE_GROUP - 1):
        listed[m + k] = listed[m - 1]


def deal(row: P64, n: U64, target: P16) -> U64:
    """Lists the positions of the one bits among the first n of a row; returns how many."""
    m = 0
    for word in range((n + 63) // 64):
        bits = row[word]
        if word * 64 + 64 > n:
            bits = bits & ((1 << (n & 63)) - 1)
        if COMPRESSES:
            m += list_ones(at(target, m), bits, word * 64)
        else:
            while bits != 0:
                target[m] = word * 64 + trailing_zeros(bits)
                bits = bits & (bits - 1)
                m += 1
    if m != 0:
        fill_group(target, m)
    return m


def note_states(context: P64, here: P64, n: U64) -> None:
    """Keeps, for every state property, the least state of this batch that violates it."""
    rows = p64(context[slots.ROWS])
    picked = p16(context[slots.LIST])
    for p in range(context[slots.PROPERTIES]):
        m = deal(at(rows, (context[slots.ACTIONS] + p) * (BATCH // 64)), n, picked)
        best = at(p64(context[slots.BEST_STATES]), p * (W + 1))
        for j in range(m):
            state = at(here, picked[j] * W)
            if best[0] == 0 or less(state, at(best, 1)):
                best[0] = 1
                copy(at(best, 1), state, W)


def note_steps(context: P64, here: P64, action: U64, m: U64) -> None:
    """Keeps, for every check of steps, the least (source, action) of this batch that violates it."""
    picked = p16(context[slots.LIST])
    flags = p64(context[slots.FLAGS])
    for j in range(m):
        bits = flags[j]
        while bits != 0:
            best = at(p64(context[slots.BEST_STEPS]), trailing_zeros(bits) * (W + 2))
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
    if context[slots.REPRESENT] != 0:
        call(context[slots.REPRESENT], states, (n + slots.GROUP - 1) // slots.GROUP)


def fire(context: P64, action: U64, here: P64, picked: P16, m: U64, out: P64) -> U64:
    """Fires an action in the m listed states of a batch whose guards stand in ROWS; the union of its checks that failed."""
    code = p64(context[slots.FIRES])[action]
    if INTERPRETS and code == 0:
        if context[slots.DECIDED] == 0:
            decide(context)
        return fire_formulas(context, action, here, picked, m, out)
    return call(code, here, picked, m, out, p64(context[slots.FLAGS]))


def fire_all(context: P64, here: P64, n: U64) -> U64:
    """Fires every enabled action of a batch whose guards stand in ROWS; returns the number of candidates in OUT."""
    rows = p64(context[slots.ROWS])
    picked = p16(context[slots.LIST])
    out = p64(context[slots.OUT])
    acts = p16(context[slots.ACTS])
    enabled = p64(context[slots.ENABLED])
    total = 0
    for k in range(context[slots.ACTIONS]):
        m = deal(at(rows, k * (BATCH // 64)), n, picked)
        if m != 0:
            enabled[k] += m
            if fire(context, k, here, picked, m, at(out, total * W)):
                note_steps(context, here, k, m)
            for j in range(m):
                acts[total + j] = k
            total += m
    represent(context, out, total)
    return total


def evaluate(context: P64, here: P64, n: U64) -> None:
    """Fills ROWS for a batch of n states."""
    columns = p64(context[slots.COLUMNS])
    blocks = (n + context[slots.BLOCK] - 1) // context[slots.BLOCK]
    if n != blocks * context[slots.BLOCK]:
        # Whole blocks are read, and behind the last state there may be nothing to read.
        copy(p64(context[slots.OUT]), here, n * W)
        here = p64(context[slots.OUT])
    call(context[slots.UNPACK], here, columns, blocks)
    if INTERPRETS and context[slots.GUARDS] == 0:
        decide(context)
    else:
        context[slots.DECIDED] = 0
        call(context[slots.GUARDS], columns, p64(context[slots.ROWS]), blocks)


def batches(context: P64, begin: U64, end: U64) -> Iterator[tuple[U64, U64]]:
    """The shard's states begin..end-1 in batches: yields the first state's number and how many; ROWS has their guards."""
    i = begin
    while i < end:
        n = minimum(BATCH, end - i)
        evaluate(context, at(p64(context[slots.STATES]), i * W), n)
        yield i, n
        i += n


def fire_each(context: P64, here: P64, n: U64) -> Iterator[tuple[U64, U64, U64]]:
    """Fires the actions of a batch whose guards stand in ROWS, one after the other.

    Yields the action, how many of the n states at `here` it was fired in, and whether any of its checks failed. LIST has the
    numbers of these states, OUT the successors, and FLAGS the checks that failed, if any did.
    """
    rows = p64(context[slots.ROWS])
    picked = p16(context[slots.LIST])
    out = p64(context[slots.OUT])
    for k in range(context[slots.ACTIONS]):
        m = deal(at(rows, k * (BATCH // 64)), n, picked)
        if m != 0:
            failed = fire(context, k, here, picked, m, out)
            represent(context, out, m)
            yield k, m, failed


def offer_of(offers: U64, worker: U64) -> U64:
    """The address of what a worker offers to be expanded."""
    return offers + worker * slots.OFFER_SLOTS * 8


def claim(context: P64, owner: U64) -> U64:
    """Takes a batch of what a worker offers to expand; where it begins, or NOWHERE."""
    offer = p64(offer_of(context[slots.OFFERS], owner))
    # A look first, so that a worker in search of work does not keep the line from those who have some.
    if load_acquire(offer, slots.OFFER_NEXT) >= offer[slots.OFFER_END]:
        return slots.NOWHERE
    begin = fetch_add(offer, slots.OFFER_NEXT, BATCH)
    return begin if begin < offer[slots.OFFER_END] else slots.NOWHERE


def expand_batch(context: P64, owner: U64, begin: U64) -> U64:
    """Checks and expands a claimed batch; 0 if not all candidates are in, but all its checks are made nevertheless."""
    offer = p64(offer_of(context[slots.OFFERS], owner))
    out = p64(context[slots.OUT])
    n = minimum(BATCH, offer[slots.OFFER_END] - begin)
    here = at(p64(offer[slots.OFFER_STATES]), begin * W)
    evaluate(context, here, n)
    note_states(context, here, n)
    m = fire_all(context, here, n)
    hash_all(out, p64(context[slots.HASHES]), m)
    return insert_out(context, 0, m)


def claim_any(context: P64) -> U64:
    """Takes a batch, the worker's own before others'; `begin * WORKERS + owner`, or NOWHERE."""
    workers = context[slots.WORKERS]
    claimed = slots.NOWHERE
    for k in range(workers):
        # Each worker begins with its own states; then each has another worker to begin with.
        owner = (context[slots.WORKER] + k) % workers
        begin = claim(context, owner)
        if begin != slots.NOWHERE:
            claimed = begin * workers + owner
            break
    return claimed


def expand_shares(context: P64) -> None:
    """Expands batch after batch, the worker's own and then others', until all are taken or the table must grow."""
    if insert_deferred(context) == 0:
        return
    while load_acquire(p64(context[slots.SHARED]), slots.NEEDS_GROWTH) == 0:
        claimed = claim_any(context)
        if claimed == slots.NOWHERE:
            return
        if expand_batch(context, claimed % context[slots.WORKERS], claimed // context[slots.WORKERS]) == 0:
            return


def expand(context: P64, begin: U64, end: U64) -> U64:
    """Checks and expands the shard's states begin..end-1; returns where it stopped.

    Workers that are done with theirs take batches of the others', so that none waits long at the end of a level, however
    unequally the machine treats them. It stops early when a worker needs room in the table (NEEDS_GROWTH: make some, and go
    on) or when the budget is reached (STATUS); the checks of all states before the result are made.
    """
    offer = p64(offer_of(context[slots.OFFERS], context[slots.WORKER]))
    offer[slots.OFFER_END] = end
    store_release(offer, slots.OFFER_NEXT, begin)
    expand_shares(context)
    return minimum(swap(offer, slots.OFFER_NEXT, slots.OFFER_CLOSED), end)


def inspect(context: P64, begin: U64, end: U64) -> None:
    """Checks the shard's states begin..end-1 and the steps from them, and inserts nothing."""
    for i, n in batches(context, begin, end):
        here = at(p64(context[slots.STATES]), i * W)
        note_states(context, here, n)
        fire_all(context, here, n)


def receive(context: P64, candidates: P64, acts: P16, n: U64) -> U64:
    """Inserts states that come from elsewhere, batch by batch; returns how many are in (all, unless there is no room)."""
    i = 0
    while i < n:
        m = minimum(BATCH, n - i)
        batch = at(candidates, i * W)
        hash_all(batch, p64(context[slots.HASHES]), m)
        done = insert(context, batch, at(acts, i), 0, m)
        i += done
        if done < m:
            return i
    return n


def find_source(context: P64, begin: U64, end: U64, target: P64) -> None:
    """The least (state, action) among the shard's states begin..end-1 that leads to `target`, into BEST_SOURCE."""
    picked = p16(context[slots.LIST])
    out = p64(context[slots.OUT])
    best = p64(context[slots.BEST_SOURCE])
    for i, n in batches(context, begin, end):
        here = at(p64(context[slots.STATES]), i * W)
        for k, m, _failed in fire_each(context, here, n):
            for j in range(m):
                if differ(at(out, j * W), target) == 0:
                    note_source(best, at(here, picked[j] * W), k)


def link(context: P64, begin: U64, end: U64, edges: P64, acts: P16, verdicts: P64) -> U64:
    """Lists the steps from the shard's states begin..end-1, all of whose targets it holds; returns how many there are.

    An edge is `source << 32 | target`, by index. `verdicts` gets the properties' rows of every batch, one after the other.
    """
    picked = p16(context[slots.LIST])
    out = p64(context[slots.OUT])
    hashes = p64(context[slots.HASHES])
    width = context[slots.PROPERTIES] * (BATCH // 64)
    total = 0
    batch = 0
    for i, n in batches(context, begin, end):
        copy(at(verdicts, batch * width), at(p64(context[slots.ROWS]), context[slots.ACTIONS] * (BATCH // 64)), width)
        batch += 1
        for k, m, _failed in fire_each(context, at(p64(context[slots.STATES]), i * W), n):
            hash_all(out, hashes, m)
            for j in range(m):
                prefetch(p64(home_of(context[slots.TABLE], 1, 0, context[slots.BUCKETS], hashes[j])), 0)
            for j in range(m):
                edges[total + j] = (i + picked[j]) << 32 | find_state(context, at(out, j * W), hashes[j])
                acts[total + j] = k
            total += m
    return total


COMMON = (
    *formulas.FUNCTIONS, insert_out, insert_deferred, fill_group, deal, note_states, note_source, note_steps, represent, fire,
    fire_all, evaluate, batches, fire_each, receive, offer_of, claim, claim_any, expand_batch, expand_shares, expand, inspect,
    find_source,
)  # fmt: skip
"""What is the same for both kinds of table."""

FUNCTIONS = (*table.FUNCTIONS, *COMMON, link)
"""Everything that is translated for a table with states, callees first."""

QUOTIENT_FUNCTIONS = (*growth.FUNCTIONS, *COMMON)
"""Everything that is translated for a table without states, callees first."""
