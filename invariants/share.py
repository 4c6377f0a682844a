"""The promises of `share`: what the documentation of share consumers says of records, locks and counts.

Floor 1.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.invariants.property import Property, promise
from acked.model.language.quantify import every, implies
from acked.model.language.values import Bool
from acked.model.share.common import is_awaited, is_final, is_gap, is_written
from acked.model.share.settings import delivery_limit, fetches_gaps, latest
from acked.model.share.state import ACQUIRED, OPEN, RUNNING, TOLD, Epoch, Leader, Offset, State

_CONSUMER = "KafkaShareConsumer, Record Delivery and Acknowledgement"


def _of_leader(s: State, holds: Callable[[Epoch, Leader, Offset], Bool]) -> Bool:
    """Something holds of every record that is written, at the newest leader, once it has read what is kept."""

    def of(epoch: Epoch) -> Bool:
        mine = s.leader[epoch]
        leads = (epoch == s.epoch) & mine.active
        return implies(leads, every(Offset, lambda o: implies(is_written(s, o), holds(epoch, mine, o))))

    return every(Epoch, of)


@promise(
    "a record is not delivered again once a consumer was told that its accept or reject was taken",
    _CONSUMER,
    "4.4 but for row 110 of the gallery",
)
def acknowledged_records_stay(s: State) -> Bool:
    """The newest leader knows that the record is final, or is past it."""

    def stays(_: Epoch, mine: Leader, o: Offset) -> Bool:
        return implies(s.fate[o] == TOLD, (o < mine.start) | is_final(mine.record[o].state))

    return _of_leader(s, stays)


@promise(
    "no record is skipped: one that was released, or whose consumer is gone, is delivered to another",
    _CONSUMER,
    "4.1.1 but for row 111 of the gallery",
)
def no_record_is_skipped(s: State) -> Bool:
    """What the newest leader is past, or will not deliver, is acknowledged, or was delivered as often as it may be."""

    def counts(o: Offset) -> Bool:
        return (s.first.value <= o) if latest.on else (o >= 0)

    def is_left(epoch: Epoch, mine: Leader, o: Offset) -> Bool:
        left = (o < mine.start) | is_final(mine.record[o].state)
        if not fetches_gaps.on:
            left = left | is_gap(mine, o)
        return left & ~is_awaited(s, epoch, o)

    return _of_leader(s, lambda epoch, mine, o: implies(counts(o) & is_left(epoch, mine, o), s.fate[o] != OPEN))


@promise(
    "a record that was delivered comes back once the time of its lock is up, if nothing is heard of it",
    f"{_CONSUMER}: the lock is automatically released once the lock duration has elapsed",
    "4.2",
)
def locks_end(s: State) -> Bool:
    """Where a consumer has a record, its lock's time runs."""

    def runs(_: Epoch, mine: Leader, o: Offset) -> Bool:
        record = mine.record[o]
        return implies((record.state == ACQUIRED) & ~record.settling, record.lock == RUNNING)

    return _of_leader(s, runs)


@promise(
    "a record is delivered no more often than group.share.delivery.count.limit says",
    "group.share.delivery.count.limit",
    "4.0 and 4.2, as long as the leader stays",
    lacks=lambda has: "" if has["deliveries"] else "nobody counts deliveries; set deliveries",
)
def deliveries_are_limited(s: State) -> Bool:
    """No record was delivered more often."""
    return every(Offset, lambda o: s.times[o] <= delivery_limit.value)


@promise(
    "the delivery count that consumers see of a record never falls",
    "ConsumerRecord.deliveryCount",
    "every release, as long as the leader stays",
    lacks=lambda has: "" if has["deliveries"] else "nobody looks at delivery counts; set deliveries",
)
def delivery_counts_never_fall(s: State) -> Bool:
    """The next delivery's count is no less than the last one's."""

    def is_shown(_: Epoch, mine: Leader, o: Offset) -> Bool:
        record = mine.record[o]
        may = (mine.start <= o) & ~is_final(record.state) & (record.state != ACQUIRED)
        return implies(may, record.count + 1 >= s.shown[o])

    return _of_leader(s, is_shown)


PROPERTIES: tuple[Property, ...] = (
    acknowledged_records_stay, no_record_is_skipped, locks_end, deliveries_are_limited, delivery_counts_never_fall,
)
"""Every promise of the protocol."""
