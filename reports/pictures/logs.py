"""Pictures of replicated logs: a row per replica with its cells, its high watermark and its log end; boxes for the others."""

from __future__ import annotations

from collections.abc import Iterable
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
