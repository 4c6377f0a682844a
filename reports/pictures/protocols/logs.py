"""Pictures of replicated logs: a row per replica with its cells, its high watermark and its log end; boxes for the others.

In `partition` and `majority` records have numbers of their own, so that who held what can be told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Generic, TypeVar

from acked.model.language.protocol import Instance
from acked.model.language.telling import Sort
from acked.reports.pictures.picture import Badge, Box, Cell, Marker, MarkerKind, Moment, Picture, Pictures, Row, State

Memory = TypeVar("Memory")
"""What a run has shown so far and one state does not say."""


class LogPictures(Pictures, Generic[Memory]):
    """What the pictures of `partition`, of the replication family and of `majority` have in common.

    A decoded state has `log[r]` for every replica r, with `end` and `records`, and the replica's own view under the name
    `views`, with the high watermark `hw` and the epoch, or term, that it knows under the name `epoch`.
    """

    views: str
    epoch: str
    shown: tuple[str, ...]
    """Fields that the picture shows, or that repeat what it shows."""

    first_lanes: tuple[str, ...]
    """Lanes before those of the replicas; boxes that are not among them come after."""

    def name(self, sort: Sort, number: int) -> str:
        """All of them are replicas."""
        return f"{self.look.row} {number}"

    def tells(self, field: str) -> bool:
        """Whether the picture shows a change of this leaf field."""
        return field.partition("[")[0].partition(".")[0] in self.shown

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, Memory]:
        """The picture of a moment; lost records are computed over the run so far."""
        state, memory = moment.after, self.remember(moment)
        rows = tuple(self._row(state, r, instance.constants["log_size"], memory) for r in range(len(state["log"])))
        boxes = tuple(self.boxes(state))
        last_lanes = [box.name for box in boxes if box.name not in self.first_lanes]
        return Picture(rows, boxes, (*self.first_lanes, *(row.name for row in rows), *last_lanes)), memory

    def _row(self, state: State, replica: int, offsets: int, memory: Memory) -> Row:
        log, view = state["log"][replica], state[self.views][replica]
        high_watermark = Marker(MarkerKind.HIGH_WATERMARK, "high watermark", view["hw"])
        return Row(
            key=str(replica),
            name=f"{self.look.row} {replica}",
            epoch=view[self.epoch],
            cells=self.cells(state, replica, offsets, memory),
            markers=(high_watermark, Marker(MarkerKind.LOG_END, "log end", log["end"])),
            badges=tuple(self.badges(state, replica)),
        )

    # -- what each protocol has of its own ---------------------------------------------------------------------------

    def remember(self, moment: Moment) -> Memory:
        """What to remember after a moment, given `moment.memory`."""
        raise NotImplementedError

    def cells(self, state: State, replica: int, offsets: int, memory: Memory) -> tuple[Cell, ...]:
        """A cell for each of so many offsets of a replica's log."""
        raise NotImplementedError

    def badges(self, state: State, replica: int) -> Iterable[Badge]:
        """What a replica is, in a few words each."""
        raise NotImplementedError

    def boxes(self, state: State) -> Iterable[Box]:
        """Those without a log."""
        raise NotImplementedError


# -- records that have numbers of their own --------------------------------------------------------------------------------

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
