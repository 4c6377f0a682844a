"""The promises of `compaction`: what readers, transactional producers and followers are told of a log that is cleaned.

Floor 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acked.invariants.property import Property, promise
from acked.model.compaction.common import (
    ends_at,
    first_segment,
    high_watermark,
    is_aborted,
    is_committed,
    is_data,
    is_readable,
    is_there,
    is_transactional,
    is_whole,
    last_stable_offset,
)
from acked.model.compaction.settings import (
    carries_transactions,
    delete_horizons,
    indexes_whole_segments,
    last_batch,
    map_keys,
    marks_mapped_only,
    one_reading,
    reader,
    records,
    retention,
    spares_markers,
    stops_at_hw,
    transactions,
)
from acked.model.compaction.state import ABORT, COMMIT, TOMBSTONE, VALUE, Key, Offset, State
from acked.model.language.context import Constant
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool

_COMPACTION = "the documentation, Design: log compaction"
_READ_COMMITTED = "KIP-98: isolation.level=read_committed"
_SINCE = "3.0.2, 3.1.2, 3.2.1 and 3.3"


def _transactions(has: Mapping[str, int]) -> str:
    return "" if has["producers"] else "there are no transactions; set producers"


def _counts(s: State, o: Offset) -> Bool:
    """A record was committed at the offset, which the log has not been cut beyond, and consumers may read so far."""
    return is_committed(s, o) & (o >= s.start) & (o < last_stable_offset(s))


def _is_last(s: State, o: Offset) -> Bool:
    """No later record of its key counts."""

    def is_later(x: Offset) -> Bool:
        return (x > o) & _counts(s, x) & (s.log.at(x).key == s.log.at(o).key)

    return _counts(s, o) & ~some(Offset, is_later)


@promise(
    "the last value of a key stays readable, and a key that was deleted stays so",
    f"{_COMPACTION}: at least the last known value of each key is retained",
    "3.1",
)
def last_values_stay(s: State) -> Bool:
    """The last committed record of a key is there; without a value it may be gone, when no value of the key is there."""

    def holds(o: Offset) -> Bool:
        log = s.log

        def comes_back(x: Offset) -> Bool:
            batch = log.at(x)
            is_value = is_readable(s, x) & is_committed(s, x) & (batch.kind == VALUE)
            return (x < o) & is_value & (batch.key == log.at(o).key)

        stays = is_whole(s, o) | ((log.at(o).kind == TOMBSTONE) & ~some(Offset, comes_back))
        return implies(_is_last(s, o), stays)

    return every(Offset, holds)


def _is_hidden(s: State, o: Offset) -> Bool:
    """A consumer with read_committed passes the record over: an aborted transaction of the index began at or before it.

    That is over with a marker that aborts (`CompletedFetch.consumeAbortedTransactionsUpTo`, `containsAbortMarker`).
    """
    log, producer = s.log, s.log.at(o).producer

    def hides(m: Offset) -> Bool:
        entry = log.at(m)

        def is_over(x: Offset) -> Bool:
            marker = log.at(x)
            is_its = is_whole(s, x) & (marker.kind == ABORT) & (marker.producer == producer)
            return is_its & (x >= entry.first) & (x < o)

        applies = log.has(m) & entry.indexed & (entry.producer == producer) & (entry.first <= o) & (m >= s.start)
        return applies & ~some(Offset, is_over)

    return some(Offset, hides)


def _is_ended_in_a_copy(s: State, o: Offset, kind: str) -> Bool:
    """For who copies the log, or reads it again, such a marker ends the transaction of the record."""
    log, producer = s.log, s.log.at(o).producer

    def is_marker(x: Offset) -> Bool:
        return (x > o) & is_whole(s, x) & ~is_data(log.at(x)) & (log.at(x).producer == producer)

    def ends(x: Offset) -> Bool:
        return is_marker(x) & (log.at(x).kind == kind) & ~some(Offset, lambda y: (y < x) & is_marker(y))

    return some(Offset, ends)


@promise(
    "no aborted record becomes readable, here or on a replica that copies the log",
    _READ_COMMITTED,
    _SINCE,
    lacks=_transactions,
)
def aborted_records_stay_hidden(s: State) -> Bool:
    """An aborted record that is there is one that the transaction index hides, and that no marker commits in a copy."""

    def holds(o: Offset) -> Bool:
        is_it = is_readable(s, o) & is_aborted(s, o)
        return implies(is_it, _is_hidden(s, o) & ~_is_ended_in_a_copy(s, o, COMMIT))

    return every(Offset, holds)


@promise(
    "no committed record disappears from those that read committed ones, here or on a replica that copies the log",
    _READ_COMMITTED,
    _SINCE,
    lacks=_transactions,
)
def committed_records_stay_readable(s: State) -> Bool:
    """A committed record of a transaction that is there is not hidden, and no marker aborts it in a copy."""

    def holds(o: Offset) -> Bool:
        is_it = is_readable(s, o) & is_committed(s, o) & is_transactional(s.log.at(o))
        return implies(is_it, ~_is_hidden(s, o) & ~_is_ended_in_a_copy(s, o, ABORT))

    return every(Offset, holds)


@promise(
    "no transaction hangs because its marker was cleaned",
    "KIP-98: markers are kept until the records of their transaction are removed",
    _SINCE,
    lacks=_transactions,
)
def transactions_end(s: State) -> Bool:
    """For who copies the log a marker ends each transaction that is decided and of which a batch is there."""

    def holds(o: Offset) -> Bool:
        batch = s.log.at(o)
        is_its = is_there(s, o) & is_data(batch) & is_transactional(batch)
        is_decided = (o >= s.start) & (o < last_stable_offset(s))
        ends = _is_ended_in_a_copy(s, o, COMMIT) | _is_ended_in_a_copy(s, o, ABORT)
        return implies(is_its & is_decided, ends)

    return every(Offset, holds)


@promise(
    "a consumer that reads the log from its start within delete.retention.ms sees what was deleted",
    "the documentation, delete.retention.ms: a bound on the time in which a consumer must complete a read from offset 0",
    "no release",
    lacks=lambda has: "" if has["reader"] and has["tombstones"] else "nobody reads deletions; set reader and tombstones",
)
def readers_see_deletions(s: State) -> Bool:
    """A consumer that has read all in less than delete.retention.ms has no value of a key whose last record has none."""
    scan = s.scan
    has_read_all = scan.has_begun & (scan.position == last_stable_offset(s)) & (s.now < scan.since + retention.value)

    def holds(o: Offset) -> Bool:
        batch = s.log.at(o)
        is_deleted = _is_last(s, o) & (batch.kind == TOMBSTONE)
        return implies(has_read_all & is_deleted, every(Key, lambda key: (key != batch.key) | ~s.believed[key]))

    return every(Offset, holds)


@promise(
    "a replica that copies the log gets to its end",
    "the documentation, Design: replication; a follower is in sync once it has what the leader has",
    "3.9.2 and 4.0",
)
def copies_catch_up(s: State) -> Bool:
    """The last batch of the log is there, perhaps without its record, if the log does not start behind it."""
    return every(Offset, lambda o: implies((o + 1 == s.log.end) & (o >= s.start), is_there(s, o)))


@promise(
    "a follower that comes back from below the leader's log start goes on",
    "KIP-107; OFFSET_OUT_OF_RANGE",
    "1.0.2, 1.1.1 and 2.0",
    lacks=lambda has: "" if has["follower"] else "there is no follower; set follower",
)
def followers_go_on(s: State) -> Bool:
    """The follower's fetcher has not failed."""
    return ~s.copy.has_stopped


PROPERTIES: tuple[Property, ...] = (
    last_values_stay, aborted_records_stay_hidden, committed_records_stay_readable, transactions_end, readers_see_deletions,
    copies_catch_up, followers_go_on,
)  # fmt: skip
"""Every promise of the protocol."""


# -- lemmas -----------------------------------------------------------------------------------------------------------

_LOG = "UnifiedLog, LogCleaner"
@promise("the log has segments, from its start to its end", _LOG, "4.4")
def segments_are_in_the_log(s: State) -> Bool:
    """The first begins no later than the log, and none beyond its end; start, high watermark, end and dirty point follow."""
    has_segments = some(Offset, lambda b: s.base[b]) & (first_segment(s) <= s.start)
    hw, end = high_watermark(s), s.log.end
    bases = every(Offset, lambda b: implies(s.base[b], b <= end))
    return has_segments & bases & (s.start <= hw) & (hw <= end) & (s.dirty <= end)


@promise("nothing is missing from the last batch below the high watermark on", _LOG, "4.4")
def nothing_is_missing_at_the_end(s: State) -> Bool:
    """Batches from there on are there, perhaps without their records."""
    hw = high_watermark(s)
    return every(Offset, lambda o: implies(s.log.has(o) & (o + 1 >= hw) & (o >= s.start), is_there(s, o)))


@promise("a marker ends the transaction that began at its first offset", "ProducerAppendInfo.appendEndTxnMarker", "4.4")
def markers_end_transactions(s: State) -> Bool:
    """There is a record of its producer, the first that no marker before it ends."""
    if not transactions.on:
        return truth(True)

    def holds(m: Offset) -> Bool:
        log, marker = s.log, s.log.at(m)

        def is_first(o: Offset) -> Bool:
            return (marker.first == o) & is_data(log.at(o)) & ends_at(s, m, o)

        def is_later(o: Offset) -> Bool:
            return implies(is_data(log.at(o)) & ends_at(s, m, o), o >= marker.first)

        begins = marker.producer.is_some & some(Offset, is_first) & every(Offset, is_later)
        return implies(log.has(m) & ~is_data(marker), begins)

    return every(Offset, holds)


@promise("what was cleaned is decided, and replicated", _COMPACTION, "3.1")
def cleaned_is_stable(s: State) -> Bool:
    """The dirty point, and whatever is not whole, are below the last stable offset."""
    stable = last_stable_offset(s)
    is_below = every(Offset, lambda o: implies(s.log.has(o) & ~is_whole(s, o), o < stable))
    return (s.dirty <= stable) & is_below


@promise("a marker is there while a batch of its transaction is, and if it aborts in the transaction index", _LOG, _SINCE)
def markers_outlive_records(s: State) -> Bool:
    """Of transactions that the log has not been cut beyond."""
    if not transactions.on:
        return truth(True)

    def outlives(o: Offset, m: Offset) -> Bool:
        is_its = is_there(s, o) & is_data(s.log.at(o)) & is_transactional(s.log.at(o)) & (o >= s.start) & ends_at(s, m, o)
        return implies(is_its, is_whole(s, m) & implies(s.log.at(m).kind == ABORT, s.log.at(m).indexed))

    return every(Offset, lambda o: every(Offset, lambda m: outlives(o, m)))


@promise("the transaction index has markers that are there", _LOG, _SINCE)
def index_has_markers(s: State) -> Bool:
    """They abort."""
    if not transactions.on:
        return truth(True)

    def holds(m: Offset) -> Bool:
        marker = s.log.at(m)
        is_marker = s.log.has(m) & (marker.kind == ABORT) & implies(m >= s.start, is_whole(s, m))
        return implies((m < records.value) & marker.indexed, is_marker)

    return every(Offset, holds)


def _has_record_before(s: State, o: Offset) -> Bool:
    """A record of the record's key that counts is there below it."""

    def is_it(x: Offset) -> Bool:
        return (x < o) & (x >= s.start) & is_whole(s, x) & is_committed(s, x) & (s.log.at(x).key == s.log.at(o).key)

    return some(Offset, is_it)


@promise("below the dirty point a key has one record, and none that was aborted", _COMPACTION, "3.1")
def cleaned_keys_are_there_once(s: State) -> Bool:
    """Below a record that was cleaned none with its key is there."""

    def holds(o: Offset) -> Bool:
        is_cleaned = (o < s.dirty) & (o >= s.start) & is_whole(s, o) & is_data(s.log.at(o))
        return implies(is_cleaned, is_committed(s, o) & ~_has_record_before(s, o))

    return every(Offset, holds)


@promise("delete.retention.ms of a tombstone begins when what it deletes is gone", "KIP-534", "no release")
def horizons_are_cleaned(s: State) -> Bool:
    """A record that has a horizon is below the dirty point."""
    if not delete_horizons.on:
        return truth(True)

    def is_cleaned(o: Offset) -> Bool:
        batch = s.log.at(o)
        return implies(s.log.has(o) & is_data(batch) & batch.horizon.is_some, o < s.dirty)

    return every(Offset, is_cleaned)


@promise("who has read a value that is deleted reads that, or is too late", "KIP-534", "no release")
def readers_meet_deletions(s: State) -> Bool:
    """The last record of a key, without a value, is there for who is before it, and delete.retention.ms began meanwhile."""
    if not (reader.on and delete_horizons.on):
        return truth(True)
    scan, log = s.scan, s.log
    is_late = s.now >= scan.since + retention.value

    def is_met(o: Offset, key: Key) -> Bool:
        batch = log.at(o)
        is_ahead = (o >= scan.position) & is_whole(s, o) & implies(batch.horizon.is_some, batch.horizon.value >= scan.since)
        return implies(_is_last(s, o) & (batch.kind == TOMBSTONE) & (batch.key == key) & s.believed[key], is_ahead | is_late)

    is_begun = every(Key, lambda key: implies(s.believed[key], scan.has_begun))
    is_in_log = (scan.position <= last_stable_offset(s)) & (scan.since <= s.now)
    return is_begun & is_in_log & every(Offset, lambda o: every(Key, lambda key: is_met(o, key)))


@promise("a follower is told of a log start that is no later than what it gets", "KIP-107, KAFKA-7104", "1.0.2, 1.1.1, 2.0")
def answers_have_one_reading(s: State) -> Bool:
    """What was read for it ends in the log, and begins in it."""
    mine = s.copy
    return implies(mine.until > 0, (mine.told <= mine.until) & (mine.until <= s.log.end)) & (mine.end <= s.log.end)


LEMMAS: tuple[Property, ...] = (
    segments_are_in_the_log, nothing_is_missing_at_the_end, markers_end_transactions, markers_outlive_records,
    index_has_markers, cleaned_is_stable, cleaned_keys_are_there_once, horizons_are_cleaned,
    readers_meet_deletions, answers_have_one_reading,
)  # fmt: skip
"""What the promises are inductive with, those at the bottom first."""

_TRANSACTIONS = (markers_end_transactions, markers_outlive_records, index_has_markers)
_TRANSACTION_RULES = (carries_transactions, indexes_whole_segments, spares_markers)
_OF_KEYS = (segments_are_in_the_log, cleaned_is_stable, cleaned_keys_are_there_once)
_NEEDS: Mapping[str, tuple[tuple[Constant, ...], tuple[Property, ...]]] = {
    last_values_stay.name: ((stops_at_hw,), _OF_KEYS),
    readers_see_deletions.name: (
        (stops_at_hw, delete_horizons), (*_OF_KEYS, last_values_stay, horizons_are_cleaned, readers_meet_deletions),
    ),
    **dict.fromkeys(
        (item.name for item in (aborted_records_stay_hidden, committed_records_stay_readable, transactions_end)),
        (_TRANSACTION_RULES, (segments_are_in_the_log, *_TRANSACTIONS)),
    ),
    copies_catch_up.name: ((stops_at_hw, last_batch), (segments_are_in_the_log, nothing_is_missing_at_the_end)),
    followers_go_on.name: ((one_reading,), (segments_are_in_the_log, answers_have_one_reading)),
}
"""By promise the rules that its proof rests on, none of which may be off, and its lemmas."""


def lemmas_of(properties: Iterable[Property], has: Mapping[str, int]) -> tuple[Property, ...] | None:
    """The lemmas of a configuration; None where no proof of one of the properties is known.

    Where there are transactions, keys need what is known of them. Where the cleaner's map may be full, readers need the rule
    that mends row 104.
    """
    used: set[str] = set()
    for item in properties:
        if item.name not in _NEEDS:
            return None
        rules, lemmas = _NEEDS[item.name]
        if cleaned_keys_are_there_once in lemmas and has["producers"]:
            rules, lemmas = (*rules, *_TRANSACTION_RULES), (*lemmas, *_TRANSACTIONS)
        if item is readers_see_deletions and has[map_keys.name]:
            rules = (*rules, marks_mapped_only)
        if not all(has[rule.name] for rule in rules):
            return None
        used |= {lemma.name for lemma in lemmas}
    return tuple(item for item in (last_values_stay, *LEMMAS) if item.name in used)
