"""Logs whose records have numbers of their own, as in `partition` and `majority`: who holds what, and who held it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from acked.reports.pictures.picture import Cell, Moment, State

LostRecords = tuple[frozenset[int], ...]
"""By replica the ids of records that it held and holds no more."""


def ids(log: State) -> list[int]:
    """The ids of a log's records."""
    return [record["id"] for record in log["records"]]


def remember(moment: Moment) -> LostRecords:
    """What every replica has lost up to a moment of a run."""
    state = moment.after
    old: LostRecords = moment.memory or (frozenset(),) * len(state["log"])
    before = (moment.before or state)["log"]
    return tuple((mine | set(ids(was))) - set(ids(now)) for mine, was, now in zip(old, before, state["log"], strict=True))


def plain_label(record: State) -> str:
    """What a record is called in its cell."""
    return f"r{record['id']}"


def cells(
    log: State,
    high_watermark: int,
    epoch: str,
    offsets: int,
    lost: frozenset[int],
    acked: Collection[int],
    label: Callable[[State], str] = plain_label,
) -> tuple[Cell, ...]:
    """A cell for every offset; `epoch` is the field of a record that colours its cell."""
    gone = ", ".join(f"r{record}" for record in sorted(lost & set(acked)))

    def cell(offset: int) -> Cell:
        if offset >= log["end"]:
            # The first free place stands for what the replica had and lost.
            return Cell(offset, None, None, lost=(gone or None) if offset == log["end"] else None)
        record = log["records"][offset]
        return Cell(offset, label(record), record[epoch], offset < high_watermark, record["id"] in acked)

    return tuple(map(cell, range(offsets)))
