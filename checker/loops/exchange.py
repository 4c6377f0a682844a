"""The native loops that move states between memory, files and workers in other processes.

Functions in the subset of `language.py`: packed states to records of bytes, grouped by bucket, and back; and the expansion of
a level whose successors belong to workers that share no memory.

A *bucket* is a range of hashes of a state's *steady* bits, those that few steps change, so that most successors stay in the
bucket of their source; how many there are is fixed for a run, and which worker owns it may change. `steady` has a mask for
each word of a state, and behind them room for a state. A *record* is a state without the bytes that no leaf uses: of every
word the lowest `WIDTHS >> 4w & 15` bytes, 11 for a state of 87 bits. A *parcel* is a record and the number of the action that
led to the state, in `ACTION_BYTES` bytes.
"""

from __future__ import annotations

from acked.checker.loops import slots
from acked.checker.loops.language import (
    P8,
    P16,
    P64,
    U64,
    at,
    call,
    minimum,
    p8,
    p16,
    p64,
    pack_bytes,
    trailing_zeros,
    unrolled,
)
from acked.checker.loops.slots import EXTRACTS
from acked.checker.loops.table import copy_state, hash_rest, hash_state, owner_of
from acked.checker.question.plan import BATCH

# Slots of a worker's exchange: its shard, and for everyone that it sends to a box of what is sent there, and the bytes in
# that box. Box 0 is its own and stays empty. NEXT has for every bucket the number of the box into which its candidates go.
# CHOSEN is scratch: for every box the numbers of this batch's candidates that go there.
SHARD, BUCKETS, NEXT, BOX_COUNT, BOXES, FILLED, BOX_BYTES, CHOSEN, WORST = range(9)
# Functions of the search's loops.
EVALUATE, NOTE_STATES, FIRE_ALL, HASH_ALL, INSERT_OUT = range(9, 14)
# The system's clock and what it is asked for, memory for its answer (seconds, nanoseconds), what it showed last, and
# nanoseconds spent so far.
CLOCK, MONOTONIC, MOMENT, NOW, ELSEWHERE, IN_KERNEL, IN_ROUTING, IN_TABLE = range(14, 22)
STEADY = 22
EXCHANGE_SLOTS = 23
OWN_BOX = 0

# Literals of the compiled protocol; the values here only name them.
W = WIDTHS = RECORD = ACTION_BYTES = 1


def bucket_of(state: P64, steady: P64, buckets: U64) -> U64:
    """The bucket of a state."""
    masked = at(steady, W)
    for w in unrolled(W):
        masked[w] = state[w] & steady[w]
    return owner_of(hash_state(masked), buckets)


def count_buckets(states: P64, n: U64, steady: P64, buckets: U64, numbers: P16, counts: P64) -> None:
    """The bucket of every state, and how many states each bucket has."""
    for j in range(n):
        b = bucket_of(at(states, j * W), steady, buckets)
        numbers[j] = b
        counts[b] += 1


def count_changes(states: P64, edges: P64, n: U64, counts: P64) -> None:
    """In how many steps every bit changes, 64 bits for each word; an edge is `source << 32 | target`, by index."""
    for j in range(n):
        source = at(states, (edges[j] >> 32) * W)
        target = at(states, (edges[j] & 0xFFFFFFFF) * W)
        for w in unrolled(W):
            changed = source[w] ^ target[w]
            while changed != 0:
                counts[64 * w + trailing_zeros(changed)] += 1
                changed = changed & (changed - 1)


def count_leaving(numbers: P16, edges: P64, n: U64) -> U64:
    """How many edges lead from one bucket to another."""
    leaving = 0
    for j in range(n):
        leaving += numbers[edges[j] >> 32] != numbers[edges[j] & 0xFFFFFFFF]
    return leaving


def count_alike(numbers: P16, n: U64, counts: P64) -> U64:
    """How many pairs of n numbers are equal; `counts`, a place for each number, holds zeros before and after."""
    alike = 0
    for j in range(n):
        before = counts[numbers[j]]
        alike += before
        counts[numbers[j]] = before + 1
    for j in range(n):
        counts[numbers[j]] = 0
    return alike


def put_record(target: P8, state: P64) -> None:
    """Writes the bytes of a state that are in use."""
    o = 0
    for w in unrolled(W):
        x = state[w]
        for b in unrolled(8):
            if b < (WIDTHS >> (4 * w)) & 15:
                target[o] = x >> (8 * b)
                o += 1


def get_record(source: P8, state: P64) -> None:
    """Reads what `put_record` wrote."""
    o = 0
    for w in unrolled(W):
        x = 0
        for b in unrolled(8):
            if b < (WIDTHS >> (4 * w)) & 15:
                x = x | (source[o] << (8 * b))
                o += 1
        state[w] = x


def group(states: P64, n: U64, numbers: P16, places: P64, out: P8) -> None:
    """Writes records bucket by bucket; `places` says where in `out` the next record of every bucket goes."""
    for j in range(n):
        b = numbers[j]
        o = places[b]
        places[b] = o + RECORD
        put_record(at(out, o), at(states, j * W))


def put_bytes(target: P8, x: U64, width: U64) -> U64:
    """Writes the bytes of a word that are not zero; a bit for each of them, and from bit 8 on how many they are.

    Behind them it writes others, eight in all at most, of which `width` are in use.
    """
    if EXTRACTS:
        return pack_bytes(target, x)
    ones = 0x0101010101010101
    rest = 0x7F7F7F7F7F7F7F7F
    is_used = ((((x & rest) + rest) | x) >> 7) & ones
    upto = is_used * ones  # of every byte, how many are written up to it
    target[0] = x
    for b in unrolled(7):
        if b + 1 < width:
            target[(upto >> (8 * b)) & 255] = x >> (8 * (b + 1))
    return ((is_used * 0x0102040810204080) >> 56) | ((upto >> 56) << 8)


def pack_states(before: P64, states: P64, n: U64, out: P8) -> U64:
    """Writes the bytes in which every state differs from the one before it, the first one from `before`; how many these are.

    For each state and word a byte says which bytes of it differ; then these follow, each as the bits in which it differs.
    States that were found one after the other have most of their bytes in common.
    """
    last = before
    o = 0
    for j in range(n):
        state = at(states, j * W)
        p = o + W
        for w in unrolled(W):
            written = put_bytes(at(out, p), state[w] ^ last[w], (WIDTHS >> (4 * w)) & 15)
            out[o + w] = written
            p += written >> 8
        last = state
        o = p
    return o


def unpack_states(data: P8, size: U64, before: P64, n: U64, states: P64) -> U64:
    """Reads what `pack_states` wrote, no further than a state beyond `size` bytes; how many bytes it was, 0 if too few."""
    last = before
    o = 0
    j = 0
    while j < n and o < size:
        state = at(states, j * W)
        p = o + W
        for w in unrolled(W):
            differs = data[o + w]
            x = 0
            for b in unrolled(8):
                if b < (WIDTHS >> (4 * w)) & 15:
                    is_other = (differs >> b) & 1
                    x = x | ((data[p] * is_other) << (8 * b))
                    p += is_other
            state[w] = last[w] ^ x
        last = state
        o = p
        j += 1
    return o if j == n else 0


def write_records(states: P64, n: U64, data: P8) -> None:
    """States to records, in their order."""
    for j in range(n):
        put_record(at(data, j * RECORD), at(states, j * W))


def read_records(data: P8, n: U64, states: P64) -> None:
    """Records back to states."""
    for j in range(n):
        get_record(at(data, j * RECORD), at(states, j * W))


def read_parcels(data: P8, n: U64, states: P64, acts: P16) -> None:
    """Parcels back to states and actions."""
    for j in range(n):
        parcel = at(data, j * (RECORD + ACTION_BYTES))
        get_record(parcel, at(states, j * W))
        action = 0
        for b in unrolled(ACTION_BYTES):
            action = action | (parcel[RECORD + b] << (8 * b))
        acts[j] = action


def keep_wanted(states: P64, n: U64, steady: P64, buckets: U64, wanted: P8) -> U64:
    """Moves the states of the buckets whose bytes in `wanted` are 1, not 0, to the front; returns how many."""
    kept = 0
    for j in range(n):
        b = bucket_of(at(states, j * W), steady, buckets)
        copy_state(at(states, kept * W), at(states, j * W))
        kept += wanted[b]
    return kept


def put_parcel(target: P8, state: P64, action: U64) -> None:
    """Writes a parcel."""
    put_record(target, state)
    for b in unrolled(ACTION_BYTES):
        target[RECORD + b] = action >> (8 * b)


def deal_candidates(exchange: P64, n: U64) -> U64:
    """Puts the candidates of OUT that others own into boxes, and own ones to the front; returns how many these are.

    What goes into each box is listed first, so that no branch depends on the owner.
    """
    context = p64(exchange[SHARD])
    out = p64(context[slots.OUT])
    acts = p16(context[slots.ACTS])
    following = p16(exchange[NEXT])
    steady = p64(exchange[STEADY])
    buckets = exchange[BUCKETS]
    boxes = exchange[BOX_COUNT]
    worst = exchange[WORST]
    chosen = p64(exchange[CHOSEN])
    filled = p64(exchange[FILLED])
    counts = at(chosen, boxes * worst)
    for t in range(boxes):
        counts[t] = 0
    for j in range(n):
        t = following[bucket_of(at(out, j * W), steady, buckets)]
        k = counts[t]
        counts[t] = k + 1
        chosen[t * worst + k] = j
    for t in range(1, boxes):
        box = p8(exchange[BOXES] + t * exchange[BOX_BYTES])
        o = filled[t]
        for i in range(counts[t]):
            j = chosen[t * worst + i]
            put_parcel(at(box, o), at(out, j * W), acts[j])
            o += RECORD + ACTION_BYTES
        filled[t] = o
    kept = 0
    while kept < counts[OWN_BOX]:
        j = chosen[OWN_BOX * worst + kept]
        copy_state(at(out, kept * W), at(out, j * W))
        acts[kept] = acts[j]
        kept += 1
    return kept


def hand_on(exchange: P64, data: P8, n: U64, states: P64, acts: P16) -> U64:
    """Puts parcels that others own into boxes, which have room, and unpacks the own ones; returns how many these are."""
    following = p16(exchange[NEXT])
    steady = p64(exchange[STEADY])
    buckets = exchange[BUCKETS]
    filled = p64(exchange[FILLED])
    kept = 0
    for j in range(n):
        read_parcels(at(data, j * (RECORD + ACTION_BYTES)), 1, at(states, kept * W), at(acts, kept))
        t = following[bucket_of(at(states, kept * W), steady, buckets)]
        if t == OWN_BOX:
            kept += 1
        else:
            box = p8(exchange[BOXES] + t * exchange[BOX_BYTES])
            put_parcel(at(box, filled[t]), at(states, kept * W), acts[kept])
            filled[t] = filled[t] + RECORD + ACTION_BYTES
    return kept


def book(exchange: P64, slot: U64) -> None:
    """Adds the time since the last call to a slot. The clock is asked a few times a batch, which costs nothing beside it."""
    moment = p64(exchange[MOMENT])
    call(exchange[CLOCK], exchange[MONOTONIC], moment)
    now = moment[0] * 1000000000 + moment[1]
    exchange[slot] += now - exchange[NOW]
    exchange[NOW] = now


def expand_apart(exchange: P64, states: P64, begin: U64, end: U64) -> U64:
    """Checks and expands states begin..end-1 of an array; returns where it stopped.

    Early, because a box may overflow; or because candidates of the last batch had no room in the table, and are deferred.
    """
    context = p64(exchange[SHARD])
    filled = p64(exchange[FILLED])
    i = begin
    while i < end:
        for t in range(exchange[BOX_COUNT]):
            if filled[t] + exchange[WORST] * (RECORD + ACTION_BYTES) > exchange[BOX_BYTES]:
                return i
        n = minimum(BATCH, end - i)
        here = at(states, i * W)
        book(exchange, ELSEWHERE)
        call(exchange[EVALUATE], context, here, n)
        call(exchange[NOTE_STATES], context, here, n)
        m = call(exchange[FIRE_ALL], context, here, n)
        book(exchange, IN_KERNEL)
        m = deal_candidates(exchange, m)
        call(exchange[HASH_ALL], p64(context[slots.OUT]), p64(context[slots.HASHES]), m)
        book(exchange, IN_ROUTING)
        is_in = call(exchange[INSERT_OUT], context, 0, m)
        book(exchange, IN_TABLE)
        i += n
        if is_in == 0:
            return i
    return i


FUNCTIONS = (
    hash_rest, hash_state, owner_of, copy_state, bucket_of, count_buckets, count_changes, count_leaving, count_alike,
    put_record, get_record, group, put_bytes, pack_states, unpack_states, write_records, read_records, read_parcels,
    keep_wanted, put_parcel, deal_candidates, hand_on, book, expand_apart,
)  # fmt: skip
"""Everything that is translated, callees first."""
