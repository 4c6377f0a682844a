"""A log with its cleaner, enumerated from Kafka's sources alone; it shares nothing with `model/compaction/`.

Segments are files of batches with a transaction index each, as `LogSegment` and `TransactionIndex` are; what was written is
remembered beside them, so that promises can be asked. Sources: `Cleaner`, `CleanedTransactionMetadata`, `LogCleanerManager`,
`LogToClean`, `UnifiedLog`, `ProducerStateManager` and `MemoryRecords.filterTo` of 4.3.1, `LogCleaner` of 2.2.1, 3.0.0 and
3.1.0, `ReplicaManager` and `ReplicaFetcherThread` of 1.1.0, `CompletedFetch` of the consumer of 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple


@dataclass(frozen=True)
class Rules:
    records: int = 4
    keys: int = 1
    segment: int = 2
    ticks: int = 1
    retention: int = 1
    producers: int = 1
    tombstones: bool = True
    reader: bool = False
    deletes: bool = False
    lags: bool = False
    expires: bool = False
    map_keys: int = 0
    integer_keys: bool = False
    follower: bool = False
    carries_transactions: bool = True
    stops_at_hw: bool = True
    indexes_whole_segments: bool = True
    spares_markers: bool = True
    delete_horizons: bool = True
    marks_mapped_only: bool = True
    last_batch: str = "at the high watermark"
    one_reading: bool = True


class Batch(NamedTuple):
    """One record or marker: `control` is the marker's type, `value` says whether the record has one."""

    offset: int
    pid: int | None
    control: str | None
    key: int | None
    value: bool
    empty: bool = False
    horizon: int | None = None


class AbortedTxn(NamedTuple):
    pid: int
    first: int
    last: int


class Segment(NamedTuple):
    base: int
    batches: tuple[Batch, ...] = ()
    index: tuple[AbortedTxn, ...] = ()
    modified: int = 0


class Written(NamedTuple):
    """What was appended once; of a transaction how it ended, once it did."""

    pid: int | None
    control: str | None
    key: int | None
    value: bool
    at: int


@dataclass(frozen=True)
class World:
    segments: tuple[Segment, ...] = (Segment(0),)
    history: tuple[Written, ...] = ()
    hw: int = 0
    start: int = 0
    checkpoint: int = 0
    now: int = 0
    active: frozenset[int] = frozenset()
    scan: tuple[int, int] | None = None
    believed: frozenset[int] = frozenset()
    copy: tuple[int, int, bool] = (0, 0, False)
    fetched: tuple[int, int] | None = None

    @property
    def end(self) -> int:
        return len(self.history)


# -- transactions, as the producer state manager has them -------------------------------------------------------------


class Txn(NamedTuple):
    pid: int
    first: int
    last: int | None
    aborted: bool
    data: tuple[int, ...]


def transactions(w: World) -> list[Txn]:
    """All transactions that were written, those that are open with no last offset."""
    open_: dict[int, list[int]] = {}
    found = []
    for o, item in enumerate(w.history):
        if item.pid is None:
            continue
        if item.control is None:
            open_.setdefault(item.pid, []).append(o)
        else:
            data = open_.pop(item.pid)
            found.append(Txn(item.pid, data[0], o, item.control == "ABORT", tuple(data)))
    return found + [Txn(pid, data[0], None, False, tuple(data)) for pid, data in open_.items()]


def first_unstable(w: World) -> int | None:
    firsts = [txn.first for txn in transactions(w) if txn.last is None or txn.last >= w.hw]
    return max(min(firsts), w.start) if firsts else None


def last_stable(w: World) -> int:
    unstable = first_unstable(w)
    return unstable if unstable is not None and unstable < w.hw else w.hw


def outcome(w: World, o: int) -> str:
    item = w.history[o]
    if item.pid is None:
        return "committed"
    for txn in transactions(w):
        if o in txn.data:
            return "open" if txn.last is None else "aborted" if txn.aborted else "committed"
    raise AssertionError("a record of a transaction is in one")


# -- appends ----------------------------------------------------------------------------------------------------------


def appended(rules: Rules, w: World, pid: int | None, control: str | None, key: int | None, value: bool) -> World | None:
    if w.end == rules.records:
        return None
    last = w.segments[-1]
    older = w.segments[:-1]
    if len(last.batches) >= rules.segment:
        older, last = w.segments, Segment(w.end)
    index = last.index
    if control == "ABORT":
        assert pid is not None
        first = next(txn.first for txn in transactions(w) if txn.pid == pid and txn.last is None)
        index = (*index, AbortedTxn(pid, first, w.end))
    batches = (*last.batches, Batch(w.end, pid, control, key, value))
    written = 0 if rules.delete_horizons else w.now
    last = Segment(last.base, batches, index, written)
    history = (*w.history, Written(pid, control, key, value, written))
    after = replace(w, segments=(*older, last), history=history)
    return after if rules.lags else replace(after, hw=after.end)


def appends(rules: Rules, w: World) -> Iterator[World | None]:
    for key in range(rules.keys):
        for value in (True, False) if rules.tombstones else (True,):
            yield appended(rules, w, None, None, key, value)
            for pid in range(rules.producers):
                after = appended(rules, w, pid, None, key, value)
                yield after and replace(after, active=after.active | {pid})
    for txn in transactions(w):
        if txn.last is None:
            for control in ("COMMIT", "ABORT"):
                yield appended(rules, w, txn.pid, control, None, True)


def broker(rules: Rules, w: World) -> Iterator[World | None]:
    """Rolls, the high watermark, truncation, producers that expire, time."""
    if w.segments[-1].base < w.end:
        yield replace(w, segments=(*w.segments, Segment(w.end)))
    if rules.lags:
        for hw in range(w.hw + 1, w.end + 1):
            yield replace(w, hw=hw)
        for to in range(w.hw, w.end):
            segments = tuple(
                item._replace(
                    batches=tuple(batch for batch in item.batches if batch.offset < to),
                    index=tuple(txn for txn in item.index if txn.last < to),
                )
                for item in w.segments
                if item.base <= to
            )
            history = w.history[:to]
            active = frozenset(pid for pid in w.active if any(it.pid == pid and it.control is None for it in history))
            yield replace(w, segments=segments, history=history, active=active, checkpoint=min(w.checkpoint, to))
    busy = {txn.pid for txn in transactions(w) if txn.last is None}
    for pid in w.active - busy:
        yield replace(w, active=w.active - {pid})
    if w.now < rules.ticks:
        yield replace(w, now=w.now + 1)


# -- the cleaner ------------------------------------------------------------------------------------------------------


@dataclass
class CleanedTransactionMetadata:
    waiting: list[AbortedTxn] = field(default_factory=list)
    committed: set[int] = field(default_factory=set)
    aborted: dict[int, tuple[AbortedTxn, bool]] = field(default_factory=dict)
    cleaned_index: list[AbortedTxn] = field(default_factory=list)

    def consume(self, offset: int) -> None:
        self.waiting.sort(key=lambda txn: txn.first)
        while self.waiting and self.waiting[0].first <= offset:
            txn = self.waiting.pop(0)
            self.aborted.setdefault(txn.pid, (txn, False))

    def on_control(self, batch: Batch) -> bool:
        self.consume(batch.offset)
        if batch.empty:
            return True
        assert batch.pid is not None
        if batch.control == "ABORT":
            txn, observed = self.aborted.pop(batch.pid, (None, False))
            if txn is not None and observed:
                self.cleaned_index.append(txn)
                return False
            return True
        was_ongoing = batch.pid in self.committed
        self.committed.discard(batch.pid)
        return not was_ongoing

    def on_batch(self, batch: Batch) -> bool:
        self.consume(batch.offset)
        if batch.pid is None:
            return False
        if batch.pid in self.aborted:
            self.aborted[batch.pid] = (self.aborted[batch.pid][0], True)
            return True
        self.committed.add(batch.pid)
        return False

    def discards(self, batch: Batch) -> bool:
        return self.on_batch(batch) if batch.control is None else self.on_control(batch)


def floor(w: World, offset: int) -> int:
    return max(i for i, item in enumerate(w.segments) if item.base <= offset)


def segments_between(w: World, start: int, end: int) -> tuple[Segment, ...]:
    """`LogSegments.values`: from the one that has `start` to that which has the offset before `end`."""
    begin = floor(w, max(start, w.segments[0].base))
    return tuple(item for item in w.segments[begin:] if item.base < end)


def collect_aborted(w: World, base: int, upper: int) -> list[AbortedTxn]:
    entries = [txn for item in w.segments[floor(w, base) :] for txn in item.index]
    return [txn for txn in entries if txn.last >= w.start and txn.first < upper]


def offset_map(rules: Rules, w: World, dirty: int, upper: int) -> tuple[dict[int, int], int]:
    found: dict[int, int] = {}
    latest = -1
    metadata = CleanedTransactionMetadata(waiting=collect_aborted(w, dirty, upper))
    segments = segments_between(w, dirty, upper)
    for item, following in zip(segments, [*(one.base for one in segments[1:]), upper], strict=True):
        for batch in item.batches:
            discards = metadata.discards(batch)
            if batch.control is None and not discards and not batch.empty and batch.offset >= dirty:
                assert batch.key is not None
                if rules.map_keys and len(found) >= rules.map_keys:
                    return found, latest
                found[batch.key] = latest = batch.offset
            if batch.offset >= dirty:
                latest = batch.offset
        latest = max(latest, following - 1)
    return found, latest


def groups(rules: Rules, segments: tuple[Segment, ...]) -> list[list[Segment]]:
    grouped: list[list[Segment]] = []
    for item in segments:
        if grouped and sum(len(one.batches) for one in grouped[-1]) + len(item.batches) <= rules.segment:
            grouped[-1].append(item)
        else:
            grouped.append([item])
    return grouped


def clean(rules: Rules, w: World) -> Iterator[World]:
    dirty = max(w.checkpoint, w.start)
    unstable = first_unstable(w)
    bound = last_stable(w) if rules.stops_at_hw else w.end if unstable is None else unstable
    upper = w.segments[floor(w, min(bound, w.segments[-1].base))].base
    if dirty >= upper:
        return
    clean_ones = [item for item in w.segments if item.base < dirty]
    legacy = clean_ones[-1].modified - rules.retention if clean_ones else None
    found, latest = offset_map(rules, w, dirty, upper)
    cleanable = tuple(item for item in w.segments if item.base < latest + 1)
    metadata = CleanedTransactionMetadata()
    replaced = []
    for group in groups(rules, cleanable):
        batches: list[Batch] = []
        metadata.cleaned_index = index = []
        for i, item in enumerate(group):
            if not rules.carries_transactions:
                metadata = CleanedTransactionMetadata(cleaned_index=index)
            stop = latest + 1
            if i + 1 < len(group):
                stop = group[i + 1].base
            elif rules.indexes_whole_segments:
                stop = item.batches[-1].offset + 1 if item.batches else item.base
            metadata.waiting += collect_aborted(w, item.base, stop)
            retains = legacy is None or item.modified > legacy
            for batch in item.batches:
                left = filtered(rules, w, batch, metadata, found, latest, upper, retains)
                if left is not None:
                    batches.append(left)
        replaced.append(Segment(group[0].base, tuple(batches), tuple(index), group[-1].modified))
    yield replace(w, segments=(*replaced, *w.segments[len(cleanable) :]), checkpoint=latest + 1)


def filtered(
    rules: Rules, w: World, batch: Batch, metadata: CleanedTransactionMetadata, found: dict[int, int], latest: int,
    upper: int, retains: bool,
) -> Batch | None:  # fmt: skip
    """`checkBatchRetention`, `shouldRetainRecord` and `filterTo` for one batch."""
    can_discard = metadata.discards(batch)
    is_control = batch.control is not None
    has_aged = batch.horizon is not None and batch.horizon <= w.now
    old_enough = has_aged if rules.delete_horizons else not retains
    discards = can_discard and (old_enough or not is_control)
    stays = not batch.empty and not discards
    past = batch.offset > latest
    key = batch.key
    if is_control and rules.integer_keys and not rules.spares_markers:
        key = {"ABORT": 0, "COMMIT": 1}[str(batch.control)]
    if stays and not past and not (is_control and rules.spares_markers) and key is not None:
        newest = batch.offset >= found.get(key, -1)
        stays = newest and (batch.value or not old_enough)
    if stays:
        if rules.delete_horizons and batch.horizon is None:
            marks = not batch.value and not (past and rules.marks_mapped_only)
            if marks or (is_control and can_discard):
                return batch._replace(horizon=w.now + rules.retention)
        return batch
    data = [o for o, item in enumerate(w.history) if item.pid == batch.pid and item.control is None]
    is_last = batch.pid in w.active and not is_control and batch.offset == data[-1]
    bounds = {"removed": None, "of a pass": upper, "at the high watermark": w.hw}
    if is_last or batch.offset + 1 == bounds[rules.last_batch]:
        return batch._replace(empty=True, horizon=None)
    return None


# -- the log start ----------------------------------------------------------------------------------------------------


def without_first(w: World) -> tuple[Segment, ...]:
    return w.segments[1:] if len(w.segments) > 1 else (Segment(w.end),)


def log_start(rules: Rules, w: World) -> Iterator[World]:
    if rules.deletes:
        for to in range(w.start + 1, w.hw + 1):
            yield replace(w, start=to)
    if not rules.deletes and not rules.expires:
        return
    upper = w.segments[1].base if len(w.segments) > 1 else w.end
    if rules.expires and w.segments[0].base < upper <= w.hw and upper > w.start:
        yield replace(w, segments=without_first(w), start=upper)
    if len(w.segments) > 1 and upper <= w.start:
        yield replace(w, segments=without_first(w))


def follower(rules: Rules, w: World) -> Iterator[World]:
    end, start, dead = w.copy
    if not rules.follower or dead:
        return
    if w.fetched is None:
        if end < w.start:
            yield replace(w, copy=(w.start, w.start, False))
        else:
            for until in range(end + 1, w.end + 1):
                yield replace(w, fetched=(until, w.start))
    else:
        until, told = w.fetched
        told = told if rules.one_reading else w.start
        fails = told > min(until, w.hw)
        yield replace(w, copy=(until, start if fails else max(start, told), fails), fetched=None)


# -- consumers --------------------------------------------------------------------------------------------------------


def fetch(w: World) -> list[Batch]:
    """What a consumer with read_committed gets from the log start on."""
    upper = last_stable(w)
    batches = [batch for item in w.segments for batch in item.batches if w.start <= batch.offset < upper]
    entries = [txn for item in w.segments for txn in item.index if txn.last >= w.start and txn.first < upper]
    entries.sort(key=lambda txn: txn.first)
    aborted: set[int] = set()
    got = []
    for batch in batches:
        while entries and entries[0].first <= batch.offset:
            aborted.add(entries.pop(0).pid)
        if batch.control is not None:
            if batch.control == "ABORT" and not batch.empty and batch.pid is not None:
                aborted.discard(batch.pid)
        elif not batch.empty and batch.pid not in aborted:
            got.append(batch)
    return got


def consumer(rules: Rules, w: World) -> Iterator[World]:
    if not rules.reader:
        return
    if w.scan is None:
        yield replace(w, scan=(w.start, w.now))
        return
    at, since = w.scan
    if w.start <= at < last_stable(w):
        believed = w.believed
        for batch in fetch(w):
            if batch.offset == at and batch.key is not None:
                believed = believed | {batch.key} if batch.value else believed - {batch.key}
        yield replace(w, scan=(at + 1, since), believed=believed)


def steps(rules: Rules, w: World) -> Iterator[World]:
    for party in (appends, broker, clean, log_start, follower, consumer):
        for after in party(rules, w):
            if after is not None:
                yield after
