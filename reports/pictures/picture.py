"""What a picture of a state is made of, whatever the protocol: rows of cells, markers, badges, boxes, messages, a legend.

A provider (`Pictures`) turns a protocol's states into pictures in that protocol's words; terminal, SVG and pages only draw
what they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, unique
from typing import Any

from acked.base.frozen import frozen
from acked.model.language.protocol import Instance
from acked.model.language.protocol import Protocol as ShippedProtocol
from acked.model.language.telling import Sort
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Id, Int

State = Mapping[str, Any]
"""A decoded state."""


@unique
class Edit(Enum):
    """What a step did to one offset of a log."""

    ADDED = "added"
    REPLACED = "replaced"
    REMOVED = "removed"


@unique
class Tone(Enum):
    """How a badge is drawn; the value is for style sheets, the badge's text for people."""

    PLAIN = "plain"
    STRONG = "strong"
    WRONG = "wrong"
    PENDING = "pending"
    ABSENT = "absent"
    ASIDE = "aside"


@unique
class Sign(Enum):
    """What a legend explains; the value is for scripts."""

    RECORD = "record"
    LOG_END = "end"
    HIGH_WATERMARK = "hw"
    ACKED = "acked"
    LOST = "lost"
    REMOVED = "removed"
    BADGE = "badge"


@frozen
class Explained:
    """One entry of a legend. `sample` is what is shown of a record or in a badge, `tone` is that badge's."""

    sign: Sign
    text: str
    sample: str = ""
    tone: Tone = Tone.PLAIN


@frozen
class Look:
    """What is the same in all pictures of a protocol.

    `row` is what a row is. `epoch` is the character before the number of an epoch, or of a term, in cells and beside
    names; it is empty where there is none. `first_badge` is how many characters every row's first badge takes at least, so
    that the others stand below each other. Every legend ends with how changes are marked.
    """

    row: str
    epoch: str = ""
    legend: tuple[Explained, ...] = ()
    first_badge: int = 0


@unique
class MarkerKind(Enum):
    """Which line a marker draws; the value is its short name."""

    HIGH_WATERMARK = "hw"
    LOG_END = "end"
    OTHER = "other"


@frozen
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


@frozen
class Marker:
    """A position in a log, such as its end; it stands before the offset of that number."""

    place: MarkerKind
    name: str
    offset: int


@frozen
class Badge:
    """One fact about whom a row is of, in two or three words; `kind` identifies it among the badges of a row."""

    kind: str
    text: str
    tone: Tone = Tone.PLAIN


@frozen
class Row:
    """One broker or the like: `key` identifies the row, `name` is its lane and what people read, `epoch` the one it knows.

    Cells and markers are of its log, if it has one.
    """

    key: str
    name: str
    epoch: int | None = None
    cells: tuple[Cell, ...] = ()
    markers: tuple[Marker, ...] = ()
    badges: tuple[Badge, ...] = ()

    def offset_of(self, place: MarkerKind) -> int | None:
        """The offset of a marker; None if the row has none there."""
        return next((marker.offset for marker in self.markers if marker.place is place), None)


@frozen
class Fact:
    """One fact in a box; `key` identifies the fact, `text` is the whole fact in words, `tone` is as of a badge."""

    key: str
    text: str
    tone: Tone = Tone.PLAIN


@frozen
class Box:
    """Someone without a log: the controller, a producer, a consumer."""

    key: str
    name: str
    epoch: int | None
    facts: tuple[Fact, ...]


@frozen
class Message:
    """What one actor sends to another. A picture lists the messages that its step sends, receives or drops.

    `key` identifies the message in its trace; a message that is received later is listed again then. `sent`, `received` and
    `dropped` are step numbers; one that is dropped in the step that sends it is lost. `is_late` says that it arrives after
    something newer overtook it, or that its being late is what the run is about.
    """

    key: str
    sender: str
    receiver: str
    text: str
    sent: int
    received: int | None = None
    dropped: int | None = None
    is_late: bool = False


@frozen
class Picture:
    """One state: rows, boxes, the messages of the step that led here, and who took that step.

    `actors` are the lanes, in order; boxes and rows are named as their lanes are. Who acted and the messages are nothing that
    a provider says: they come from what the action declares.
    """

    rows: tuple[Row, ...]
    boxes: tuple[Box, ...]
    actors: tuple[str, ...]
    actor: str | None = None
    messages: tuple[Message, ...] = ()

    @property
    def is_drawn(self) -> bool:
        """Whether there is anything to draw of the state; a protocol without pictures has only lanes."""
        return bool(self.rows or self.boxes)


@frozen
class Moment:
    """One step as a provider sees it; `before` and `action` are None where a run begins.

    `memory` is what the provider returned for the step before, None where a run begins.
    """

    index: int
    before: State | None
    action: ActionInstance | None
    after: State
    memory: Any


class Pictures:
    """Turns the states of a protocol into pictures: the only place that knows the protocol's words. By default it has none.

    A protocol names its provider as `Protocol(…, pictures=…)`.
    """

    look = Look("")
    """What is the same in all pictures."""

    protocol: ShippedProtocol | None = None
    """The shipped protocol that is pictured, and whoever has its state, or more fields; others name a provider themselves."""

    beginning = "the initial state"
    """One sentence about the state that a run starts from, where it says nothing of the state."""

    held: frozenset[type[Id]] = frozenset()
    """Ids that are values and take no steps."""
    ordered: frozenset[type[Int]] = frozenset()
    """Numbers that act: processes that have an order."""

    in_state: Mapping[str, Callable[[State], Iterator[str]]] = {}
    in_step: Mapping[str, Callable[[State, State], Iterator[str]]] = {}
    """By property: what exactly violates it in a state, or in the step from one to the next."""

    def recognises(self, instance: Instance) -> bool:
        """Whether this provider pictures the protocol's states, also where the protocol does not name it."""
        return self.protocol is not None and issubclass(instance.protocol.state, self.protocol.state)

    def name(self, sort: Sort, number: int) -> str:
        """What one of many is called: its row and its lane."""
        return f"{sort.type_name} {number}"

    def tells(self, field: str) -> bool:
        """Whether the picture shows a change of this leaf field; what it does not show is listed beside it."""
        return False

    def says_initial(self, state: State) -> str:
        """One sentence about the state that a run starts from."""
        return self.beginning

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, Any]:
        """The picture of a moment, and what to remember for the next (immutable, so that runs can branch)."""
        return Picture((), (), ()), None

    def disagreements(self, name: str, before: State | None, after: State) -> Sequence[str]:
        """What exactly violates the property of that name; the properties are decided elsewhere, this only points."""
        if name in self.in_state:
            return list(self.in_state[name](after))
        if name in self.in_step and before is not None:
            return list(self.in_step[name](before, after))
        return []


# -- differences -------------------------------------------------------------------------------------------------------


@frozen
class RowChange:
    """What differs in a row: whether its epoch does, which offsets, which markers, and badges that are new."""

    epoch: bool = False
    edits: Mapping[int, Edit] = field(default_factory=dict)
    markers: frozenset[str] = frozenset()
    badges: frozenset[Badge] = frozenset()


@frozen
class BoxChange:
    """What differs in a box: whether its epoch does, and the keys of facts that are new or other than before."""

    epoch: bool = False
    facts: frozenset[str] = frozenset()


@frozen
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
