"""The state of `share`: leaders of a share-partition, what the share coordinator keeps of it, and what consumers know.

A record of the log is its offset, and every record is a batch of its own. What was left out, and why that is sound, is in
`docs/share-groups.md`. A part that a question turns off has no field.
"""

from __future__ import annotations

from acked.model.language.state import Array, Optional, Present, Queue, Struct, field
from acked.model.language.values import Bool, Enum, Int
from acked.model.share.settings import deliveries, delivery_limit, latest, max_epoch, records, writes


class Offset(Int, lo=0, hi=records):
    """An offset of the topic partition; the greatest is its end."""


class Epoch(Int, lo=1, hi=max_epoch):
    """A leader epoch of the topic partition."""


class Count(Int, lo=0, hi=delivery_limit):
    """A delivery count."""


class Times(Int, lo=0, hi=delivery_limit + 1):
    """How often a record was delivered; the greatest is any more than may be."""


class Delivery(Enum, names=("unknown", "available", "acquired", "acknowledged", "archived")):
    """The state of a record (`RecordState`); unknown where none is kept."""


class Lock(Enum, names=("none", "running", "expired")):
    """The acquisition lock of a record, or rather its timer (`AcquisitionLockTimerTask`)."""


class Fate(Enum, names=("open", "acknowledged", "spent")):
    """What consumers know of a record: one was told that its accept or reject is taken, or its deliveries are used up."""


UNKNOWN, AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = Delivery.names
"""Values of `Delivery`: no state; may be delivered; is; was accepted; was rejected, or delivered often enough."""

NO_LOCK, RUNNING, EXPIRED = Lock.names
"""Values of `Lock`: there is none; its time runs; its time was up while an acknowledgement was being written."""

OPEN, TOLD, SPENT = Fate.names
"""Values of `Fate`: is to be delivered; a consumer was told that it is acknowledged; its deliveries are used up."""


class Record(Struct):
    """A record in a leader's memory (`InFlightState`)."""

    state = field(Delivery, "its state")
    count = field(Count, "how often it was delivered, as the leader knows")
    settling = field(Bool, "its state is being written, and it goes back to acquired if that fails (rollbackState)")
    lock = field(Lock, "the lock of who has it")


class Write(Struct):
    """A write on its way to the share coordinator (WriteShareGroupState)."""

    offset = field(Offset, "of which record")
    state = field(Delivery, "its state")
    count = field(Count, "its delivery count")
    start = field(Offset, "the start offset, as it was when this was sent")
    awaited = field(Bool, "its record is settled by the answer")


class Leader(Struct):
    """The share-partition of a leader epoch, in memory (`SharePartition`)."""

    active = field(Bool, "it has read what is kept")
    start = field(Offset, "the start offset (SPSO)")
    end = field(Offset, "the first offset that was not acquired so far")
    record = field(Array(Offset, Record), "the records from the start offset on")
    writes = field(Queue(Write, writes), "what is on its way to the share coordinator, first what is taken first")


class Kept(Struct):
    """What the share coordinator keeps of a record."""

    state = field(Delivery, "its state")
    count = field(Count, "its delivery count")


class State(Struct):
    """A share-partition: its leaders, the share coordinator, and what consumers know of every record."""

    epoch = field(Epoch, "the newest leader epoch")
    leader = field(Array(Epoch, Leader), "by leader epoch what its leader has in memory")
    kept_start = field(Optional(Offset), "the start offset that is kept")
    kept = field(Array(Offset, Kept), "what is kept of every record")
    kept_epoch = field(Epoch, "the newest leader epoch that has read what is kept, which fences older ones")
    fate = field(Array(Offset, Fate), "what consumers know of every record")
    produced = field(Present(Offset, latest), "how many records were written")
    first = field(Present(Optional(Offset), latest), "with which record the group began")
    times = field(Array(Offset, Present(Times, deliveries)), "how often every record was delivered")
    shown = field(Array(Offset, Present(Count, deliveries)), "the delivery count that was last shown with it")


def initial(s: State) -> None:
    """A leader of the first epoch that has read nothing so far; whatever is not said is zero, none or empty."""
