"""Pictures of logs whose records have numbers of their own, as in `partition` and `majority`: who holds what, who held it."""

from __future__ import annotations

from collections.abc import Collection

from acked.reports.pictures.logs import LogPictures
from acked.reports.pictures.picture import Cell, Moment, State

LostRecords = tuple[frozenset[int], ...]
"""By replica the ids of records that it held and holds no more."""


def ids(log: State) -> list[int]:
    """The ids of a log's records."""
    return [record["id"] for record in log["records"]]


class NumberedLogPictures(LogPictures[LostRecords]):
    """What the pictures of both have in common: a record is lost where its number was, and is no more."""

    coloured_by: str
    """The field of a record that colours its cell."""

    def remember(self, moment: Moment) -> LostRecords:
        """What every replica has lost up to a moment of a run."""
        state = moment.after
        old: LostRecords = moment.memory or (frozenset(),) * len(state["log"])
        before = (moment.before or state)["log"]
        return tuple((mine | set(ids(was))) - set(ids(now)) for mine, was, now in zip(old, before, state["log"], strict=True))

    def cells(self, state: State, replica: int, offsets: int, memory: LostRecords) -> tuple[Cell, ...]:
        """A cell for every offset; the first free place stands for what the replica had and lost."""
        log, high_watermark, acked = state["log"][replica], state[self.views][replica]["hw"], self.acked_records(state)
        gone = ", ".join(f"r{record}" for record in sorted(memory[replica] & set(acked)))

        def cell(offset: int) -> Cell:
            if offset >= log["end"]:
                return Cell(offset, None, None, lost=(gone or None) if offset == log["end"] else None)
            record = log["records"][offset]
            is_acked = record["id"] in acked
            return Cell(offset, self.label(record), record[self.coloured_by], offset < high_watermark, is_acked)

        return tuple(map(cell, range(offsets)))

    def label(self, record: State) -> str:
        """What a record is called in its cell."""
        return f"r{record['id']}"

    def acked_records(self, state: State) -> Collection[int]:
        """The numbers of records that were acknowledged."""
        raise NotImplementedError
