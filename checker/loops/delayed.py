"""The native loops of a search whose visited states are on disk: duplicates are decided later, a level at a time.

Functions in the subset of `language.py`, compiled for every layout of a state. The table holds *candidates*: the
successors of one level, most of which have been seen. `log_steps` writes down which action led to which of them. When the
level is expanded, or memory is full, all states seen so far pass by, and `mark` finds them among the candidates; what is
left is new. Stern and Dill: Using magnetic disk instead of main memory in the Murφ verifier, CAV 1998.

Of the states that pass by, few are candidates, and the table is larger than a cache. So they first go through a *sieve*: a
row of bits, some for every candidate, of which those are set that a candidate's hash says. Level files are in the order of
their buckets, which is that of the same bits of the hash, so what passes by reads the sieve from its begin to its end, again
and again, from the nearest cache.

Marks are bytes, by the index of a candidate. Several workers may mark one candidate at once, always with one value, because
a state stands on disk once.
"""

from __future__ import annotations

from acked.checker.loops import slots
from acked.checker.loops.exchange import get_record
from acked.checker.loops.language import P8, P16, P64, U64, at, minimum, p16, p64, prefetch
from acked.checker.loops.quotient import RING_WORDS
from acked.checker.loops.table import (
    confirm,
    copy_state,
    differ,
    find_state,
    hash_rest,
    hash_state,
    home_of,
    number_of,
    owner_of,
)

# Literals of the compiled protocol, as in `exchange.py`; the values here only name them.
W = WIDTHS = RECORD = 1

UNMARKED, EARLIER, THIS_LEVEL = range(3)
"""What a candidate is: new so far; of a level up to that which is expanded; on disk as new on the level at hand."""
TOGETHER = 256
"""States that are looked for together: the lines of all are prefetched before the first is read."""
assert TOGETHER <= RING_WORDS
LOG_PARTS = 3
"""16-bit numbers of an entry of the log: the lower and the upper half of the candidate's index, and the action."""


def log_steps(context: P64, begin: U64, end: U64) -> None:
    """Logs the candidates begin..end-1 of OUT, which are in the table."""
    out = p64(context[slots.OUT])
    hashes = p64(context[slots.HASHES])
    acts = p16(context[slots.ACTS])
    entry = at(p16(context[slots.LOG]), context[slots.LOGGED] * LOG_PARTS)
    for j in range(begin, end):
        index = find_state(context, at(out, j * W), hashes[j])
        entry[0] = index
        entry[1] = index >> 16
        entry[2] = acts[j]
        entry = at(entry, LOG_PARTS)
    context[slots.LOGGED] += end - begin


def note_candidates(states: P64, n: U64, sieve: P64, bits: U64) -> None:
    """Sets the bits of n candidates in the sieve."""
    for j in range(n):
        b = owner_of(hash_state(at(states, j * W)), bits)
        sieve[b // 64] = sieve[b // 64] | (1 << (b & 63))


def mark(context: P64, records: P8, n: U64, marks: P8, sieve: P64, bits: U64, value: U64) -> None:
    """Marks the candidates that are among the states of n records."""
    hashes = p64(context[slots.HOMES])
    picked = p64(context[slots.SEEN])
    state = p64(context[slots.SPARE])
    table = context[slots.TABLE]
    workers = context[slots.WORKERS]
    stride = context[slots.STRIDE]
    buckets = context[slots.BUCKETS]
    begin = 0
    while begin < n:
        m = minimum(TOGETHER, n - begin)
        group = at(records, begin * RECORD)
        hits = 0
        for j in range(m):
            get_record(at(group, j * RECORD), state)
            h = hash_state(state)
            b = owner_of(h, bits)
            hashes[hits] = h
            picked[hits] = j
            hits += (sieve[b // 64] >> (b & 63)) & 1
        for k in range(hits):
            prefetch(p64(home_of(table, workers, stride, buckets, hashes[k])), 0)
        for k in range(hits):
            get_record(at(group, picked[k] * RECORD), state)
            index = find_state(context, state, hashes[k])
            if index != slots.NOWHERE:
                marks[index] = value
        begin += m


def count_steps(log: P16, n: U64, marks: P8, counts: P64) -> None:
    """Counts, by action, the logged steps whose target was not reached before the level that they lead to."""
    for k in range(n):
        entry = at(log, k * LOG_PARTS)
        counts[entry[2]] += marks[entry[0] | (entry[1] << 16)] != EARLIER


def keep_unmarked(states: P64, marks: P8, n: U64) -> U64:
    """Moves those of n candidates that are new to the front; returns how many they are."""
    kept = 0
    for j in range(n):
        copy_state(at(states, kept * W), at(states, j * W))
        kept += marks[j] == UNMARKED
    return kept


FUNCTIONS = (
    hash_rest, hash_state, owner_of, number_of, home_of, differ, copy_state, confirm, find_state, get_record,
    log_steps, note_candidates, mark, count_steps, keep_unmarked,
)  # fmt: skip
"""Everything that is translated, callees first."""
