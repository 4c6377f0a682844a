"""The state of `compaction`: one replica's log with its segments, the cleaner's point, and those who read and copy it.

An offset is one batch of one record. What was written stays known here, so that promises can speak of it: `kept` says what
is left of a batch on disk. What was left out, and why that is sound, is in `docs/compaction.md`. A part that a question
turns off has no field.
"""

from __future__ import annotations

from acked.model.compaction.settings import (
    delete_horizons,
    follows,
    keys,
    lags,
    reader,
    records,
    starts_later,
    tells_times,
    ticks,
    transactions,
)
from acked.model.language.context import Computed
from acked.model.language.state import Array, Log, Optional, Present, Struct, field
from acked.model.language.values import Bool, Enum, Id, Int


class Offset(Int, lo=0, hi=records):
    """An offset of the log, its end, or its start."""


class Key(Int, lo=0, hi=keys - 1):
    """A key of a record."""


class Producer(Id, size=Computed(lambda constants: max(1, constants["producers"]))):
    """A transactional producer."""


class Time(Int, lo=0, hi=ticks):
    """How often time has passed."""


class Kind(Enum, names=("value", "tombstone", "commit", "abort")):
    """What a batch is: a record with a value or without one, a marker that commits or aborts."""


class Kept(Enum, names=("whole", "empty", "gone")):
    """What is left of a batch on disk: all; its header, without the record; nothing."""


VALUE, TOMBSTONE, COMMIT, ABORT = Kind.names
WHOLE, EMPTY, GONE = Kept.names


class Batch(Struct):
    """A batch as it was written, and what is left of it."""

    kind = field(Kind, "what it is")
    key = field(Key, "its record's key; 0 of a marker")
    producer = field(Present(Optional(Producer), transactions), "whose transaction it is in")
    first = field(Present(Offset, transactions), "of a marker: the transaction's first offset")
    kept = field(Kept, "what is left of it")
    indexed = field(Present(Bool, transactions), "of a marker that aborts: the transaction is in the transaction index")
    horizon = field(Present(Optional(Time), delete_horizons), "when a pass found that only its age keeps it (KIP-534)")
    written = field(Present(Time, tells_times), "when it was written: its segment's time of modification")


class Scan(Struct):
    """A consumer that reads the log once."""

    has_begun = field(Present(Bool, reader), "it reads")
    position = field(Present(Offset, reader), "the offset it reads next")
    since = field(Present(Time, reader), "when it began")


class Copy(Struct):
    """A follower that is not in sync."""

    end = field(Present(Offset, follows), "its log end offset")
    start = field(Present(Offset, follows), "its log start offset")
    has_stopped = field(Present(Bool, follows), "its fetcher has failed")
    until = field(Present(Offset, follows), "the end of the records that were read for it; 0: none")
    told = field(Present(Offset, follows), "the leader's log start offset then")


class State(Struct):
    """A replica's log."""

    log = field(Log(Batch, Offset, records), "its batches")
    base = field(Array(Offset, Bool), "whether a segment begins there")
    hw = field(Present(Offset, lags), "the high watermark, where it may differ from the end")
    start = field(Present(Offset, starts_later), "the log start offset")
    dirty = field(Offset, "the cleaner's checkpoint: where the next pass begins")
    now = field(Time, "how often time has passed")
    known = field(Array(Producer, Present(Bool, transactions)), "the broker remembers the producer")
    scan = field(Scan, "the consumer")
    believed = field(Array(Key, Present(Bool, reader)), "the consumer has a value for the key")
    copy = field(Copy, "the follower")


def initial(s: State) -> None:
    """An empty log of one segment; whatever is not said is zero or none."""
    s.base[Offset(Offset.lift(0))] = True
