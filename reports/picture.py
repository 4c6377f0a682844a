"""What a picture of a partition is made of, whatever the protocol: rows of cells, markers, badges, boxes, messages.

What lives here: plain frozen data, and what differs between two pictures. A provider (`Provider`) turns a protocol's states
into pictures in Kafka's words; terminal, SVG and pages only draw what they are given. What does not: any protocol's words
(`replication.py`), and drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Any, Protocol

from model.protocol import ActionInstance, Instance

State = Mapping[str, Any]
"""A decoded state."""


@unique
class Edit(Enum):
    """What a step did to one offset of a log."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"


@unique
class Role(Enum):
    """What a badge says about a broker; the value is for style sheets, the badge's text for people."""

    LEADER = "leader"
    STALE_LEADER = "stale-leader"
    ELECTED = "elected"
    FOLLOWS = "follows"
    LEADERLESS = "leaderless"
    IN_ISR = "in-isr"
    OUT_OF_ISR = "out-of-isr"
    OWN_ISR = "own-isr"
    ELR = "elr"
    FENCED = "fenced"
    DOWN = "down"
    NOTE = "note"


@unique
class Place(Enum):
    """Which line a marker draws; the value is its short name."""

    HIGH_WATERMARK = "hw"
    LOG_END = "end"
    OTHER = "other"


@dataclass(frozen=True)
class Cell:
    """One offset of one log: a record and the leader epoch that wrote it, or None past the log end.

    `committed` says that the offset is below the broker's own high watermark, `acked` that the record was acknowledged by
    then, `lost` is the label of an acknowledged record that this broker held here and holds no more.
    """

    offset: int
    record: str | None
    epoch: int | None
    committed: bool = False
    acked: bool = False
    lost: str | None = None

    @property
    def content(self) -> tuple[str | None, int | None]:
        """What the log holds here."""
        return self.record, self.epoch


@dataclass(frozen=True)
class Marker:
    """A position in a log, such as its end; it stands before the offset of that number."""

    place: Place
    name: str
    offset: int


@dataclass(frozen=True)
class Badge:
    """One fact about a broker in two or three words; the first badge of a broker is its place in or outside the ISR."""

    role: Role
    text: str


@dataclass(frozen=True)
class Row:
    """One broker: `key` tells rows apart, `name` is its lane and what people read, `epoch` the leader epoch it knows."""

    key: str
    name: str
    epoch: int | None
    cells: tuple[Cell, ...]
    markers: tuple[Marker, ...]
    badges: tuple[Badge, ...]

    def at(self, place: Place) -> int:
        """The offset of a marker; 0 if the row has none there."""
        return next((marker.offset for marker in self.markers if marker.place is place), 0)


def row(
    number: int,
    name: str,
    epoch: int | None,
    cells: tuple[Cell, ...],
    high_watermark: int,
    log_end: int,
    badges: Iterable[tuple[Role, str]],
) -> Row:
    """The row of a replica: every protocol's replicas have a high watermark and a log end."""
    return Row(
        key=str(number),
        name=name,
        epoch=epoch,
        cells=cells,
        markers=(Marker(Place.HIGH_WATERMARK, "high watermark", high_watermark), Marker(Place.LOG_END, "log end", log_end)),
        badges=tuple(Badge(role, text) for role, text in badges),
    )


@dataclass(frozen=True)
class Fact:
    """One fact in a box; `key` tells facts apart, `text` is the whole fact in words."""

    key: str
    text: str


@dataclass(frozen=True)
class Box:
    """Someone without a log: the controller, a producer, a consumer."""

    key: str
    name: str
    epoch: int | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Message:
    """What one actor tells another. A picture lists the messages that its step sends, receives or drops.

    `key` tells messages of a run apart; a message that is received later is listed again then. `sent`, `received` and
    `dropped` are step numbers. `is_late` says that it arrives after something newer overtook it.
    """

    key: str
    sender: str
    receiver: str
    text: str
    sent: int
    received: int | None = None
    dropped: int | None = None
    is_late: bool = False


@dataclass(frozen=True)
class Picture:
    """One state: rows, boxes, the messages of the step that led here, and who took that step.

    `actors` are the lanes, in order; boxes and rows are named as their lanes are.
    """

    rows: tuple[Row, ...]
    boxes: tuple[Box, ...]
    actors: tuple[str, ...]
    actor: str | None = None
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Moment:
    """One step as a provider sees it; `before` and `action` are None where a run begins.

    `memory` is what the provider returned for the step before, None where a run begins.
    """

    index: int
    before: State | None
    action: ActionInstance | None
    after: State
    memory: Any


class Provider(Protocol):
    """Turns the states of the protocols that it recognises into pictures; the only place that knows their words."""

    def recognises(self, instance: Instance) -> bool:
        """Whether this provider pictures the protocol's states."""

    def tells(self, field: str) -> bool:
        """Whether the picture tells of a change of this leaf field."""

    def says_initial(self, state: State) -> str:
        """One sentence about the state that a run starts from."""

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, Any]:
        """The picture of a moment, and what to remember for the next (immutable, so that runs can branch)."""

    def actor(self, step: ActionInstance) -> str | None:
        """Who takes a step; None if nobody is known to."""

    def disagreements(self, name: str, before: State | None, after: State) -> Sequence[str]:
        """What exactly breaks the property of that name in `after`, or in the step from `before`; empty if not known."""


# -- differences -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowChange:
    """What differs in a row: whether its epoch does, which offsets, which markers, and badges that are new."""

    epoch: bool = False
    edits: Mapping[int, Edit] = field(default_factory=dict)
    markers: frozenset[str] = frozenset()
    badges: frozenset[Badge] = frozenset()


@dataclass(frozen=True)
class BoxChange:
    """What differs in a box: whether its epoch does, and the keys of facts that are new or other than before."""

    epoch: bool = False
    facts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Differences:
    """What differs in a picture, by the keys of its rows and boxes."""

    rows: Mapping[str, RowChange]
    boxes: Mapping[str, BoxChange]


def differences(before: Picture | None, after: Picture) -> Differences:
    """What `after` shows and `before` did not; nothing where a run begins."""
    old = after if before is None else before
    rows = {row.key: row for row in old.rows}
    boxes = {box.key: box for box in old.boxes}
    return Differences(
        {row.key: _row_change(rows.get(row.key, row), row) for row in after.rows},
        {box.key: _box_change(boxes.get(box.key, box), box) for box in after.boxes},
    )


def _row_change(old: Row, new: Row) -> RowChange:
    edits = {}
    for was, now in zip(old.cells, new.cells, strict=False):
        if was.content != now.content:
            edit = Edit.ADDED if was.record is None else Edit.REMOVED if now.record is None else Edit.REPLACED
            edits[now.offset] = edit
    return RowChange(
        epoch=old.epoch != new.epoch,
        edits=edits,
        markers=frozenset(marker.name for marker in new.markers if marker not in old.markers),
        badges=frozenset(badge for badge in new.badges if badge not in old.badges),
    )


def _box_change(old: Box, new: Box) -> BoxChange:
    return BoxChange(old.epoch != new.epoch, frozenset(fact.key for fact in new.facts if fact not in old.facts))
