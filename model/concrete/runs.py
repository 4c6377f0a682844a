"""A log as the concrete reading keeps it: runs of equal records, each by its first offset.

What compiled steps call. A run is (first offset, record); runs are in order of offsets, neighbours hold different records,
the last run goes up to the log end, which the state has beside them. Of Kafka's logs a record is its leader epoch, and the
runs are what Kafka's own leader-epoch cache holds (`leader-epoch-checkpoint`).
"""

from __future__ import annotations

Record = tuple[int, ...]
"""The codes of a record's fields."""
Runs = tuple[tuple[int, Record], ...]


def record_at(runs: Runs, offset: int, blank: Record) -> Record:
    """The record at an offset below the log end; before the first run a blank one."""
    for first, record in reversed(runs):
        if first <= offset:
            return record
    return blank


def append(runs: Runs, end: int, record: Record) -> Runs:
    """The log with records appended at its end, all the same."""
    return runs if runs and runs[-1][1] == record else (*runs, (end, record))


def cut(runs: Runs, to: int) -> Runs:
    """The log without what it has from an offset on."""
    return runs if not runs or runs[-1][0] < to else tuple(run for run in runs if run[0] < to)


def copy(runs: Runs, other: Runs, first: int, stop: int) -> Runs:
    """The log, which ends at `first`, with what another one has from there up to and without `stop`."""
    if first >= stop:
        return runs
    for number, (start, record) in enumerate(other):
        until = other[number + 1][0] if number + 1 < len(other) else stop
        if max(start, first) < min(until, stop):
            runs = append(runs, max(start, first), record)
    return runs


def fold(records: list[Record]) -> Runs:
    """The runs of a log given record by record from offset 0 on."""
    runs: Runs = ()
    for offset, record in enumerate(records):
        runs = append(runs, offset, record)
    return runs
