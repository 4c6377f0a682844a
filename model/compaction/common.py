"""The vocabulary of `compaction`: segments, what became of transactions, the last stable offset, and what readers see."""

from __future__ import annotations

from acked.model.compaction.settings import lags, transactions
from acked.model.compaction.state import ABORT, COMMIT, GONE, TOMBSTONE, VALUE, WHOLE, Batch, Offset, Producer, State
from acked.model.language.context import literal
from acked.model.language.quantify import each, greatest, least, smaller, some, truth
from acked.model.language.state import remembered
from acked.model.language.telling import Role
from acked.model.language.values import Bool

BROKER = Role("broker")


def offset(number: int) -> Offset:
    """An offset as a value."""
    return Offset(literal(number))


def offsets() -> list[Offset]:
    """Every offset at which a batch may be."""
    return each(Offset)[:-1]


def greater(a: Offset, b: Offset) -> Offset:
    """The greater of two offsets."""
    return a + b - smaller(a, b)


# -- segments ---------------------------------------------------------------------------------------------------------


@remembered
def segment_of(s: State, o: Offset) -> Offset:
    """Where the segment begins that an offset is in (`LogSegments.floorSegment`)."""
    return greatest(Offset, lambda b: s.base[b] & (b <= o))


def active_segment(s: State) -> Offset:
    """Where the active segment begins."""
    return segment_of(s, s.log.end)


def first_segment(s: State) -> Offset:
    """Where the first segment begins."""
    return least(Offset, lambda b: s.base[b])


def segment_end(s: State, o: Offset) -> Offset:
    """Where the segment ends that begins at an offset."""
    return least(Offset, lambda b: (s.base[b] & (b > o)) | (b == s.log.end))


# -- transactions -----------------------------------------------------------------------------------------------------


def is_data(batch: Batch) -> Bool:
    """It has a record, not a marker."""
    return (batch.kind == VALUE) | (batch.kind == TOMBSTONE)


def is_transactional(batch: Batch) -> Bool:
    """It is in a transaction, or ends one."""
    return batch.producer.is_some if transactions.on else truth(False)


@remembered
def ends_at(s: State, m: Offset, o: Offset) -> Bool:
    """The marker at `m` ends the transaction of the record at `o`, as it was written."""
    log, producer = s.log, s.log.at(o).producer

    def comes_before(x: Offset) -> Bool:
        other = log.at(x)
        return (x > o) & (x < m) & ~is_data(other) & (other.producer == producer)

    marker = log.at(m)
    ends = log.has(m) & (m > o) & ~is_data(marker) & (marker.producer == producer)
    return ends & ~some(Offset, comes_before)


@remembered
def ended_as(s: State, o: Offset, kind: str) -> Bool:
    """The transaction of the record at `o` was ended by such a marker."""
    return some(Offset, lambda m: ends_at(s, m, o) & (s.log.at(m).kind == kind))


@remembered
def is_open(s: State, o: Offset) -> Bool:
    """The record at `o` is in a transaction that is not decided."""
    if not transactions.on:
        return truth(False)
    batch = s.log.at(o)
    is_it = s.log.has(o) & is_data(batch) & is_transactional(batch)
    return is_it & ~ended_as(s, o, COMMIT) & ~ended_as(s, o, ABORT)


@remembered
def is_aborted(s: State, o: Offset) -> Bool:
    """There was a record at `o` in a transaction that was aborted."""
    if not transactions.on:
        return truth(False)
    batch = s.log.at(o)
    return s.log.has(o) & is_data(batch) & is_transactional(batch) & ended_as(s, o, ABORT)


@remembered
def is_committed(s: State, o: Offset) -> Bool:
    """There was a record at `o`, in a transaction that was committed or in none."""
    return s.log.has(o) & is_data(s.log.at(o)) & ~is_open(s, o) & ~is_aborted(s, o)


def has_open(s: State, p: Producer) -> Bool:
    """The producer has a transaction that is not decided."""
    return some(Offset, lambda o: (s.log.at(o).producer == p) & is_open(s, o))


# -- how far the log goes ---------------------------------------------------------------------------------------------


def high_watermark(s: State) -> Offset:
    """The high watermark: the end, where replicas never lag."""
    return s.hw if lags.on else s.log.end


def last_stable_offset(s: State) -> Offset:
    """Up to which offset all is replicated and decided (`UnifiedLog.fetchLastStableOffsetMetadata`)."""
    hw = high_watermark(s)
    return smaller(hw, greater(first_unstable_offset(s), s.start))


@remembered
def first_unstable_offset(s: State) -> Offset:
    """Where the first transaction began that is open, or whose marker is not replicated; the end where there is none."""
    hw, log = high_watermark(s), s.log

    def is_unreplicated(o: Offset) -> Bool:
        if not lags.on:
            return truth(False)
        return some(Offset, lambda m: log.has(m) & (m >= hw) & ~is_data(log.at(m)) & (log.at(m).first == o))

    if not transactions.on:
        return log.end
    return least(Offset, lambda o: is_open(s, o) | is_unreplicated(o) | (o == log.end))


# -- what is left -----------------------------------------------------------------------------------------------------


def is_whole(s: State, o: Offset) -> Bool:
    """The record or marker at `o` is on disk."""
    return s.log.has(o) & (s.log.at(o).kept == WHOLE)


def is_there(s: State, o: Offset) -> Bool:
    """The batch at `o` is on disk, perhaps without its record."""
    return s.log.has(o) & (s.log.at(o).kept != GONE)


def is_readable(s: State, o: Offset) -> Bool:
    """It is on disk, and consumers may read so far."""
    return is_whole(s, o) & (o >= s.start) & (o < last_stable_offset(s))
