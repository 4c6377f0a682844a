"""A pass of the cleaner over the log: its offset map, what it does with every batch, and segments that it merges.

Sources: `Cleaner.doClean`, `buildOffsetMap`, `cleanInto`, `groupSegmentsBySize`, `CleanedTransactionMetadata`,
`MemoryRecords.filterTo`, `LogCleanerManager.cleanableOffsets` of 4.3.1; `LogCleaner` of 2.2.1 and 3.0.0 as the rules say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acked.base.frozen import frozen
from acked.model.compaction.common import (
    BROKER,
    active_segment,
    first_segment,
    first_unstable_offset,
    greater,
    high_watermark,
    is_data,
    is_there,
    is_whole,
    last_stable_offset,
    offset,
    offsets,
    segment_end,
    segment_of,
)
from acked.model.compaction.settings import (
    carries_transactions,
    delete_horizons,
    indexes_whole_segments,
    integer_keys,
    last_batch,
    map_keys,
    marks_mapped_only,
    retention,
    segment,
    spares_markers,
    starts_later,
    stops_at_hw,
    transactions,
)
from acked.model.compaction.state import (
    ABORT,
    COMMIT,
    EMPTY,
    GONE,
    TOMBSTONE,
    WHOLE,
    Kept,
    Key,
    Offset,
    Producer,
    State,
    Time,
)
from acked.model.language.action import action, require
from acked.model.language.context import literal
from acked.model.language.quantify import each, implies, ite, named, smaller, truth
from acked.model.language.telling import Telling
from acked.model.language.values import Bool

Flags = list[Bool]
"""For every offset whether something is so."""


def _none() -> Flags:
    return [truth(False) for _ in offsets()]


# -- what is known of transactions ------------------------------------------------------------------------------------


@frozen
class Transactions:
    """What `CleanedTransactionMetadata` says as batches are read one after another.

    `aborted` records may be removed, `discardable` markers have no batches any more, and what is `indexed` enters the
    transaction index of what was cleaned.
    """

    aborted: Flags
    discardable: Flags
    indexed: Flags


def read_transactions(
    s: State, reads: Flags, begins: Flags, collects: Callable[[Offset, Offset], Bool], *, carries: bool
) -> Transactions:
    """What a scan knows that reads some batches, as `CleanedTransactionMetadata` does.

    `begins` says at which offsets a segment is begun, whose entries of the transaction index that it `collects` (by its base,
    and their markers) are added to those that wait. Without `carries` everything is forgotten there.
    """
    log, everywhere = s.log, offsets()
    found = Transactions(_none(), _none(), _none())
    if not transactions.on:
        return found
    waiting = _none()
    producers = each(Producer)
    aborting = [offset(0) for _ in producers]
    observed = [truth(False) for _ in producers]
    committing = [truth(False) for _ in producers]
    for i, o in enumerate(everywhere):
        for j, m in enumerate(everywhere):
            kept = waiting[j] if carries else waiting[j] & ~begins[i]
            waiting[j] = kept | (begins[i] & log.at(m).indexed & collects(o, m))
        if not carries:
            aborting = [ite(begins[i], 0, at) for at in aborting]
            observed = [seen & ~begins[i] for seen in observed]
            committing = [seen & ~begins[i] for seen in committing]
        batch = log.at(o)
        for j, m in enumerate(everywhere):
            is_due = reads[i] & waiting[j] & (log.at(m).first <= o)
            for k, p in enumerate(producers):
                is_first = is_due & (log.at(m).producer == p) & (aborting[k] == 0)
                aborting[k] = ite(is_first, m, aborting[k])
                observed[k] = observed[k] & ~is_first
            waiting[j] = waiting[j] & ~is_due
        is_empty_marker = reads[i] & ~is_data(batch) & (batch.kept == EMPTY)
        found.discardable[i] = is_empty_marker
        for k, p in enumerate(producers):
            is_mine = reads[i] & (batch.producer == p)
            is_record, is_marker = is_mine & is_data(batch), is_mine & ~is_data(batch) & (batch.kept == WHOLE)
            aborts, commits = is_marker & (batch.kind == ABORT), is_marker & (batch.kind == COMMIT)
            is_hidden = is_record & (aborting[k] > 0)
            found.aborted[i] = found.aborted[i] | is_hidden
            stays = (aborts & (aborting[k] > 0) & observed[k]) | (commits & committing[k])
            found.discardable[i] = found.discardable[i] | (is_marker & ~stays)
            for j, m in enumerate(everywhere):
                found.indexed[j] = found.indexed[j] | (aborts & stays & (aborting[k] == m))
            observed[k] = (observed[k] | is_hidden) & ~aborts
            committing[k] = (committing[k] | (is_record & ~is_hidden)) & ~commits
            aborting[k] = ite(aborts, 0, aborting[k])
    return found


# -- what a pass begins with ------------------------------------------------------------------------------------------


def first_dirty_offset(s: State) -> Offset:
    """Where the next pass begins: the checkpoint, or the log start (`LogCleanerManager.cleanableOffsets`)."""
    return greater(s.dirty, s.start) if starts_later.on else s.dirty


def first_uncleanable_offset(s: State) -> Offset:
    """Where it ends: with the last segment that is wholly below the last stable offset (`LogToClean`)."""
    until = last_stable_offset(s) if stops_at_hw.on else first_unstable_offset(s)
    return segment_of(s, smaller(until, active_segment(s)))


@frozen
class OffsetMap:
    """By key the end of its last record in the dirty part, 0 if there is none, and up to where the map goes."""

    ends: list[Offset]
    end: Offset


def build_offset_map(s: State, dirty: Offset, until: Offset) -> OffsetMap:
    """The records of the dirty part that were not aborted, by key, until the map is full (`Cleaner.buildOffsetMap`)."""
    log, everywhere = s.log, offsets()
    begin = segment_of(s, dirty)
    reads = [is_there(s, o) & (o >= begin) & (o < until) for o in everywhere]
    known = read_transactions(
        s, reads, [o == begin for o in everywhere],
        lambda _, m: (m >= begin) & (m >= s.start) & (log.at(m).first < until), carries=True,
    )  # fmt: skip
    keys = each(Key)
    ends = [offset(0) for _ in keys]
    end, is_full = dirty, truth(False)
    for i, o in enumerate(everywhere):
        batch = log.at(o)
        is_put = reads[i] & (o >= dirty) & is_data(batch) & (batch.kept == WHOLE) & ~known.aborted[i]
        if map_keys.value:
            is_full = is_full | (is_put & at_least([at > 0 for at in ends], map_keys.value))
        is_in = ~is_full & is_put
        ends = [ite(is_in & (batch.key == key), o + 1, at) for key, at in zip(keys, ends, strict=True)]
        is_passed = (reads[i] | s.base[o + 1]) & (o >= dirty) & (o < until)
        end = ite(~is_full & is_passed, o + 1, end)
    return OffsetMap(ends, end)


def at_least(flags: Sequence[Bool], number: int) -> Bool:
    """So many of the flags are true."""
    if number == 0:
        return truth(True)
    if len(flags) < number:
        return truth(False)
    return (flags[0] & at_least(flags[1:], number - 1)) | at_least(flags[1:], number)


# -- the pass ---------------------------------------------------------------------------------------------------------


def last_modified(s: State) -> list[Time]:
    """For every offset when its segment was modified last."""
    times: list[Time] = []
    later = Time(literal(0))
    for o in reversed(offsets()):
        ends_segment = s.base[o + 1] | (s.log.end == o + 1)
        later = ite(ends_segment, s.log.at(o).written, later)
        times.insert(0, later)
    return times


def is_last_of_producer(s: State, o: Offset) -> Bool:
    """The record is the last one of a producer that the broker remembers (`UnifiedLog.lastRecordsOfActiveProducers`)."""
    if not transactions.on:
        return truth(False)
    log = s.log

    def is_it(p: Producer) -> Bool:
        is_later = [log.has(x) & (x > o) & is_data(log.at(x)) & (log.at(x).producer == p) for x in offsets()]
        return (log.at(o).producer == p) & s.known[p] & ~at_least(is_later, 1)

    return is_data(log.at(o)) & at_least([is_it(p) for p in each(Producer)], 1)


def is_newest(s: State, o: Offset, found: OffsetMap) -> Bool:
    """The map has no later record with the key of the batch (`Cleaner.shouldRetainRecord`)."""
    batch = s.log.at(o)
    newest = truth(True)
    for i, (key, end) in enumerate(zip(each(Key), found.ends, strict=True)):
        has_key = is_data(batch) & (batch.key == key)
        if integer_keys.on and not spares_markers.on:
            has_key = has_key | (batch.kind == (ABORT, COMMIT)[i])
        newest = newest & implies(has_key, o + 1 >= end)
    return newest


def _says_pass(t: Telling) -> str:
    before, after = t.before.log.records, t.after.log.records
    removed = [o for o in range(t.after.log.end) if after[o].kept == GONE != before[o].kept]
    emptied = [o for o in range(t.after.log.end) if after[o].kept == EMPTY != before[o].kept]
    did = [
        f"{verb} {', '.join(map(str, places))}" for verb, places in (("removes", removed), ("empties", emptied)) if places
    ]
    return f"the cleaner's pass up to offset {t.after.dirty} {' and '.join(did) or 'removes nothing'}"


@action(says=_says_pass, actor=BROKER)
def clean(s: State) -> None:
    """A pass of the cleaner, at its end: segments are replaced by what is left of them (`Cleaner.doClean`)."""
    dirty, until = first_dirty_offset(s), first_uncleanable_offset(s)
    require("there is a segment to clean", dirty < until)
    log, everywhere, now = s.log, offsets(), s.now
    found = build_offset_map(s, dirty, until)
    is_cleaned = [log.has(o) & (segment_of(s, o) < found.end) for o in everywhere]

    def collects(begin: Offset, m: Offset) -> Bool:
        stop = segment_end(s, begin)
        if not indexes_whole_segments.on:
            stop = smaller(stop, found.end)
        return (m >= begin) & (m >= s.start) & (log.at(m).first < stop)

    reads = [is_there(s, o) & cleaned for o, cleaned in zip(everywhere, is_cleaned, strict=True)]
    begins = [s.base[o] & cleaned for o, cleaned in zip(everywhere, is_cleaned, strict=True)]
    known = read_transactions(s, reads, begins, collects, carries=carries_transactions.on)
    modified, hw = last_modified(s), high_watermark(s)
    kept: list[Kept] = []
    marked: Flags = []
    for i, o in enumerate(everywhere):
        batch = log.at(o)
        is_record = is_data(batch)
        if delete_horizons.on:
            is_old = batch.horizon.is_some & (batch.horizon.value + retention.value <= now)
        else:
            is_old = has_aged(s, dirty, modified, i)
        is_discarded = ite(is_record, known.aborted[i], known.discardable[i] & is_old)
        is_past = o >= found.end
        is_needed = is_newest(s, o, found) & ((batch.kind != TOMBSTONE) | ~is_old)
        if spares_markers.on:
            is_needed = is_needed | ~is_record
        stays = is_whole(s, o) & ~is_discarded & (is_past | is_needed)
        is_last = is_last_of_producer(s, o)
        if last_batch.value:
            is_last = is_last | (o + 1 == (until if last_batch.value == 1 else hw))
        left = ite(stays, named(Kept, WHOLE), ite(is_last, named(Kept, EMPTY), named(Kept, GONE)))
        kept.append(ite(reads[i], left, batch.kept))
        marks = (batch.kind == TOMBSTONE) & ~(is_past if marks_mapped_only.on else truth(False))
        marked.append(reads[i] & stays & batch.horizon.is_none & (marks | (~is_record & known.discardable[i])))
    bases = merge(s, found.end, reads)
    for i, o in enumerate(everywhere):
        batch = log.at(o)
        batch.horizon = ite(kept[i] == WHOLE, ite(marked[i], now, batch.horizon), None)
        batch.kept = kept[i]
        batch.indexed = known.indexed[i] | (batch.indexed & ~is_cleaned[i])
        s.base[o] = bases[i]
    s.dirty = found.end


def has_aged(s: State, dirty: Offset, modified: list[Time], index: int) -> Bool:
    """The segment is older by delete.retention.ms than the last clean one (`Cleaner.clean` before 3.1)."""
    aged = truth(False)
    for i, o in enumerate(offsets()):
        is_last_clean = (o + 1 == dirty) & is_clean(s, dirty)
        aged = aged | (is_last_clean & (modified[index] + retention.value <= modified[i]))
    return aged


def is_clean(s: State, dirty: Offset) -> Bool:
    """There is a segment that begins below the dirty point."""
    return first_segment(s) < dirty


def merge(s: State, end: Offset, reads: Flags) -> Flags:
    """Where segments begin after a pass, which joins those that fit into one (`Cleaner.groupSegmentsBySize`)."""
    everywhere = offsets()
    sizes: list[Offset] = []
    rest = offset(0)
    for i, o in reversed([*enumerate(everywhere)]):
        rest = ite(s.base[o + 1], 0, rest) + ite(reads[i], offset(1), offset(0))
        sizes.insert(0, rest)
    bases: Flags = []
    group, has_begun = offset(0), truth(False)
    for i, o in enumerate(everywhere):
        is_grouped = s.base[o] & (o < end)
        fits = has_begun & is_grouped & (group + sizes[i] <= segment.value)
        group = ite(is_grouped, ite(fits, group + sizes[i], sizes[i]), group)
        has_begun = has_begun | is_grouped
        bases.append(s.base[o] & ~fits)
    return bases
