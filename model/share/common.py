"""The vocabulary of `share`: what a leader delivers, what it writes, and what is settled by the answer."""

from __future__ import annotations

from typing import Any

from acked.model.language.context import literal
from acked.model.language.quantify import each, every, greatest, implies, ite, named, truth
from acked.model.language.storage.messages import Place
from acked.model.language.telling import Role
from acked.model.language.values import Bool
from acked.model.share.settings import (
    acquires_settled,
    delivery_limit,
    ends_expired_locks,
    fetches_gaps,
    latest,
    records,
    start_waits,
    takes_back,
    writes,
)
from acked.model.share.state import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    EXPIRED,
    NO_LOCK,
    SPENT,
    TOLD,
    UNKNOWN,
    Delivery,
    Epoch,
    Fate,
    Leader,
    Lock,
    Offset,
    Record,
    State,
    Write,
)

COORDINATOR = Role("share coordinator")


def told_leader(state: Any, epoch: int) -> Any:
    """A leader's memory in a state that is told of."""
    return state.leader[epoch - 1]


def offsets() -> list[Offset]:
    """The offset of every record."""
    return each(Offset)[:-1]


def is_written(s: State, offset: Offset) -> Bool:
    """The record is in the log, and below its high watermark."""
    return offset < s.produced if latest.on else offset < records.value


# -- a leader's memory ------------------------------------------------------------------------------------------------


def is_final(state: Delivery) -> Bool:
    """The record is never delivered again (`SharePartition.isStateTerminal`)."""
    return (state == ACKNOWLEDGED) | (state == ARCHIVED)


def is_gap(mine: Leader, offset: Offset) -> Bool:
    """Nothing is known of the record, although of a later one something is."""
    return (mine.record[offset].state == UNKNOWN) & (mine.start <= offset) & (offset < mine.end)


def _is_passed(mine: Leader, offset: Offset) -> Bool:
    """The start offset may pass the record (`findLastOffsetAcknowledged`)."""
    record = mine.record[offset]
    passes = is_final(record.state)
    if start_waits.on:
        passes = passes & ~record.settling
    if not fetches_gaps.on:
        passes = passes | (is_gap(mine, offset) & (offset > mine.start))
    return passes


def move_start(s: State, epoch: Epoch, moves: Bool) -> None:
    """The start offset passes all that is final, and what is below it is forgotten (`maybeUpdateCachedStateAndOffsets`)."""
    mine = s.leader[epoch]

    def is_reached(until: Offset) -> Bool:
        between = every(Offset, lambda o: implies((mine.start <= o) & (o < until), _is_passed(mine, o)))
        return (mine.start <= until) & (until <= mine.end) & between

    reached = greatest(Offset, is_reached)
    start = ite(moves & mine.active, reached, mine.start)
    for o in offsets():
        forget_record(mine.record[o], o < start)
    mine.start = start


def forget_record(record: Record, forgets: Bool) -> None:
    """Nothing is known of the record any more."""
    record.state = ite(forgets, named(Delivery, UNKNOWN), record.state)
    record.count = ite(forgets, 0, record.count)
    record.settling = ~forgets & record.settling
    record.lock = ite(forgets, named(Lock, NO_LOCK), record.lock)


def released(record: Record) -> Delivery:
    """What a record becomes that may be delivered again, unless it was often enough (`InFlightState.tryUpdateState`)."""
    return ite(record.count >= delivery_limit.value, named(Delivery, ARCHIVED), named(Delivery, AVAILABLE))


def end_lock(s: State, epoch: Epoch, offset: Offset, ends: Bool) -> None:
    """The lock's time is up: the record is given to another, or to nobody any more."""
    record = s.leader[epoch].record[offset]
    state = released(record)
    is_spent = ends & (state == ARCHIVED) & (s.fate[offset] != TOLD)
    record.state = ite(ends, state, record.state)
    record.lock = ite(ends, named(Lock, NO_LOCK), record.lock)
    s.fate[offset] = ite(is_spent, named(Fate, SPENT), s.fate[offset])


# -- writes -----------------------------------------------------------------------------------------------------------


def send(s: State, epoch: Epoch, offset: Offset, *, awaited: bool, taken_back: int = 0) -> None:
    """What a leader has of a record is sent, with its start offset (`SharePartition.writeShareGroupState`).

    Deliveries that are taken back are so in memory, too, once that is taken.
    """
    mine = s.leader[epoch]
    record = mine.record[offset]
    count = record.count - taken_back
    mine.writes.send(Write(offset=offset, state=record.state, count=count, start=mine.start, awaited=awaited))


def queued(s: State, epoch: Epoch) -> list[tuple[Bool, Write]]:
    """For every place of a leader's queue whether a write is there, and which; the first is taken first."""
    queue = s.leader[epoch].writes
    places = [Place(literal(k)) for k in range(writes.value)]
    return [(queue.has(place), queue.at(place)) for place in places]


def is_awaited(s: State, epoch: Epoch, offset: Offset) -> Bool:
    """A write that settles the record is on its way."""
    found = truth(False)
    for is_there, write in queued(s, epoch):
        found = found | (is_there & (write.offset == offset) & write.awaited)
    return found


def settle(s: State, epoch: Epoch, write: Write, is_taken: Bool) -> None:
    """The answer to a write: its record's state stays, or goes back (`InFlightState.completeStateTransition`)."""
    for o in offsets():
        mine = s.leader[epoch]
        record = mine.record[o]
        is_it = write.awaited & (write.offset == o)
        settles = is_it & mine.active & (mine.start <= o)
        fails = settles & ~is_taken
        ends = fails & (record.lock == EXPIRED)
        record.state = ite(fails, named(Delivery, ACQUIRED), record.state)
        record.settling = ~settles & record.settling
        record.lock = ite(settles & is_taken, named(Lock, NO_LOCK), record.lock)
        if takes_back.on:
            record.count = ite(settles & is_taken, write.count, record.count)
        if not acquires_settled.on:
            record.count = ite(fails, write.count, record.count)
        if ends_expired_locks.on:
            end_lock(s, epoch, o, ends)
        s.fate[o] = ite(is_it & is_taken & is_final(write.state), named(Fate, TOLD), s.fate[o])
    move_start(s, epoch, is_taken | ~write.awaited)


# -- what is gone -----------------------------------------------------------------------------------------------------


def clear_leader(s: State, epoch: Epoch, clears: Bool | None = None) -> None:
    """A former leader's memory is gone, and with it whatever waits for an answer."""
    clears = truth(True) if clears is None else clears
    mine = s.leader[epoch]
    mine.active = ~clears & mine.active
    mine.start = ite(clears, 0, mine.start)
    mine.end = ite(clears, 0, mine.end)
    for o in offsets():
        forget_record(mine.record[o], clears)
    mine.writes.truncate(ite(clears, Place(literal(0)), mine.writes.end))
