"""The promises of `share`: what the documentation of share consumers says of records, locks and counts.

Floor 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, ite, truth
from acked.model.language.values import Bool
from acked.model.share.common import is_awaited, is_final, is_gap, is_written, queued
from acked.model.share.settings import (
    acquires_settled,
    deliveries,
    delivery_limit,
    ends_expired_locks,
    fetches_gaps,
    hides_refusals,
    keeps_first_start,
    latest,
    lost_answers,
    max_epoch,
    records,
    some_zombies,
    start_goes_forward,
    start_waits,
    takes_back,
)
from acked.model.share.state import (
    ACQUIRED,
    AVAILABLE,
    NO_LOCK,
    OPEN,
    RUNNING,
    TOLD,
    UNKNOWN,
    Epoch,
    Leader,
    Offset,
    Record,
    State,
    Write,
)

_CONSUMER = "KafkaShareConsumer, Record Delivery and Acknowledgement"
_PERSISTER = "KIP-932: SharePartition, ShareCoordinatorShard"


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


# -- lemmas -----------------------------------------------------------------------------------------------------------

_SINCE = "4.2, and latest with a persister that sends again"
_RULES = (acquires_settled, fetches_gaps, start_waits, ends_expired_locks, start_goes_forward)
"""The rules that every lemma rests on, as the newest brokers have them."""


def _of_writes(s: State, holds: Callable[[Epoch, Write], Bool]) -> Bool:
    """Something holds of every write that is on its way."""

    def of(epoch: Epoch) -> Bool:
        found = truth(True)
        for is_there, write in queued(s, epoch):
            found = found & implies(is_there, holds(epoch, write))
        return found

    return every(Epoch, of)


def _of_records(s: State, holds: Callable[[Epoch, Leader, Offset], Bool]) -> Bool:
    """Something holds of every record in a leader's memory, whether it has one or not."""
    return every_two(Epoch, Offset, lambda epoch, o: holds(epoch, s.leader[epoch], o))


def _is_blank(record: Record) -> Bool:
    return (record.state == UNKNOWN) & (record.count == 0) & ~record.settling & (record.lock == NO_LOCK)


def _is_newest(s: State, epoch: Epoch) -> Bool:
    """The leader is the last one that has read what is kept: what older ones write is refused."""
    return (epoch == s.kept_epoch) & s.leader[epoch].active


@promise("what is kept was read by leaders that were elected, the newest of which fences the others", _PERSISTER, _SINCE)
def readers_were_elected(s: State) -> Bool:
    """Who has read what is kept is no newer than the last that did, and, without zombies, the newest leader."""

    def was(epoch: Epoch) -> Bool:
        is_last = truth(True) if some_zombies.on else epoch == s.epoch
        return implies(s.leader[epoch].active, (epoch <= s.kept_epoch) & is_last)

    return (s.kept_epoch <= s.epoch) & every(Epoch, was)


@promise("a leader knows of records between its start offset and its end, and of none before it has read what is kept",
         _PERSISTER, _SINCE)  # fmt: skip
def memory_has_bounds(s: State) -> Bool:
    """Elsewhere its memory is blank, and nothing of it is on its way."""

    def has(_: Epoch, mine: Leader, o: Offset) -> Bool:
        return implies(~mine.active | (o < mine.start) | (o >= mine.end), _is_blank(mine.record[o]))

    def begins(epoch: Epoch) -> Bool:
        mine = s.leader[epoch]
        nothing = (mine.start == 0) & (mine.end == 0) & mine.writes.is_empty
        return (mine.start <= mine.end) & implies(~mine.active, nothing)

    return every(Epoch, begins) & _of_records(s, has)


@promise("a record that may be delivered again was delivered less often than it may be", _PERSISTER, _SINCE)
def states_are_settled(s: State) -> Bool:
    """Nothing is written or kept of a record that a consumer has; nothing at all of one that is not there."""

    def is_written_well(_: Epoch, write: Write) -> Bool:
        is_one = (write.state == AVAILABLE) | is_final(write.state)
        return is_one & implies(write.state == AVAILABLE, write.count < delivery_limit.value) & (write.offset < records.value)

    def is_kept_well(o: Offset) -> Bool:
        kept = s.kept[o]
        is_none = (kept.state == UNKNOWN) & (kept.count == 0)
        is_one = is_final(kept.state) | ((kept.state == AVAILABLE) & (kept.count < delivery_limit.value))
        return is_none | (is_one & (o < records.value))

    def is_known_well(_: Epoch, mine: Leader, o: Offset) -> Bool:
        record = mine.record[o]
        none = (record.state != UNKNOWN) | _is_blank(record)
        return none & implies(record.state == AVAILABLE, record.count < delivery_limit.value)

    return _of_writes(s, is_written_well) & every(Offset, is_kept_well) & _of_records(s, is_known_well)


@promise("the lock of a record that a consumer has runs until something is written of it, and ends with the answer",
         _CONSUMER, _SINCE)  # fmt: skip
def locks_are_of_deliveries(s: State) -> Bool:
    """There is a lock while a consumer has the record, or its acknowledgement is being written."""

    def is_locked(_: Epoch, mine: Leader, o: Offset) -> Bool:
        record = mine.record[o]
        has_it = implies(record.state == ACQUIRED, ~record.settling & (record.lock == RUNNING))
        settles = implies(record.settling, (record.state != UNKNOWN) & (record.lock != NO_LOCK))
        return has_it & settles & ((record.state == ACQUIRED) | record.settling | (record.lock == NO_LOCK))

    return _of_records(s, is_locked)


@promise("one write settles a record, as long as its answer is not there", _PERSISTER, _SINCE)
def one_write_settles(s: State) -> Bool:
    """What is awaited has the state and count of its record, which is being settled, and the other way round."""

    def is_its(epoch: Epoch, write: Write) -> Bool:
        def settles(o: Offset) -> Bool:
            mine = s.leader[epoch]
            record = mine.record[o]
            count = truth(True) if takes_back.on else record.count == write.count
            is_same = record.settling & (record.state == write.state) & count & (mine.start <= o)
            return implies(write.offset == o, is_same)

        return implies(write.awaited, every(Offset, settles))

    def is_one(epoch: Epoch) -> Bool:
        found, waiting = truth(True), queued(s, epoch)
        for k, (is_there, write) in enumerate(waiting):
            for is_later, later in waiting[k + 1 :]:
                both = is_there & is_later & write.awaited & later.awaited
                found = found & implies(both, write.offset != later.offset)
        return found

    is_awaited_for = _of_records(s, lambda epoch, mine, o: implies(mine.record[o].settling, is_awaited(s, epoch, o)))
    return _of_writes(s, is_its) & every(Epoch, is_one) & is_awaited_for


@promise("the leader knows of as many deliveries of a record as anything that is written or kept of it", _PERSISTER, _SINCE)
def leader_counts_most(s: State) -> Bool:
    """Of the records from its start offset on."""

    def is_counted(epoch: Epoch, mine: Leader, o: Offset) -> Bool:
        return implies(_is_newest(s, epoch) & (mine.start <= o), s.kept[o].count <= mine.record[o].count)

    def is_sent(epoch: Epoch, write: Write) -> Bool:
        mine = s.leader[epoch]

        def is_less(o: Offset) -> Bool:
            is_its = (write.offset == o) & (mine.start <= o)
            return implies(is_its, write.count <= mine.record[o].count)

        return implies(_is_newest(s, epoch), every(Offset, is_less))

    return _of_records(s, is_counted) & _of_writes(s, is_sent)


@promise("what a consumer was told to be acknowledged is kept, whatever is still to be taken", _PERSISTER, _SINCE)
def acknowledged_is_kept(s: State) -> Bool:
    """It is final or below the start offset, and a write that would make it available again counts no more deliveries."""

    def stays(o: Offset) -> Bool:
        return implies(s.fate[o] == TOLD, is_final(s.kept[o].state) | (s.kept_start > o))

    def comes_too_late(epoch: Epoch, write: Write) -> Bool:
        def is_less(o: Offset) -> Bool:
            kept = s.kept[o]
            return implies((write.offset == o) & (s.fate[o] == TOLD), (write.count <= kept.count) | (s.kept_start > o))

        return implies(_is_newest(s, epoch) & ~is_final(write.state), every(Offset, is_less))

    return every(Offset, stays) & _of_writes(s, comes_too_late)


@promise("the last leader that has read what is kept knows what consumers were told to be acknowledged", _PERSISTER, _SINCE)
def acknowledged_is_known(s: State) -> Bool:
    """It is past such a record, or that is final and nothing is being written of it."""

    def is_known(epoch: Epoch, mine: Leader, o: Offset) -> Bool:
        record = mine.record[o]
        is_told = _is_newest(s, epoch) & (s.fate[o] == TOLD)
        return implies(is_told, (o < mine.start) | (is_final(record.state) & ~record.settling))

    return _of_records(s, is_known)


@promise("what anybody is past, or has for final, is no record that still waits for a consumer", _PERSISTER, _SINCE)
def what_is_left_is_settled(s: State) -> Bool:
    """Of leaders, of what is kept, and of what is on its way without a consumer that waits."""

    def is_settled(o: Offset) -> Bool:
        is_due = s.first.is_some & (s.first.value <= o) if latest.on else truth(True)
        return implies(is_due, s.fate[o] != OPEN)

    def is_known(_: Epoch, mine: Leader, o: Offset) -> Bool:
        record = mine.record[o]
        return implies((o < mine.start) | (is_final(record.state) & ~record.settling), is_settled(o))

    def is_kept(o: Offset) -> Bool:
        return implies((s.kept_start > o) | is_final(s.kept[o].state), is_settled(o))

    def is_sent(_: Epoch, write: Write) -> Bool:
        def is_so(o: Offset) -> Bool:
            is_it = (write.offset == o) & is_final(write.state) & ~write.awaited
            return implies(is_it | (o < write.start), is_settled(o))

        return every(Offset, is_so)

    begins = truth(True)
    if latest.on:  # Before the group begins nobody has read anything, and where it began is kept.
        nothing = every(Offset, lambda o: s.kept[o].state == UNKNOWN) & every(Epoch, lambda e: ~s.leader[e].active)
        begins = ite(s.first.is_none, s.kept_start.is_none & nothing, s.kept_start.is_some)
    return begins & _of_records(s, is_known) & every(Offset, is_kept) & _of_writes(s, is_sent)


@promise("as long as the leader stays, it counts every delivery", _PERSISTER, _SINCE)
def every_delivery_counts(s: State) -> Bool:
    """A record was delivered as often as the only leader knows, and shown so; before it begins nothing was."""

    def is_counted(epoch: Epoch, mine: Leader, o: Offset) -> Bool:
        count = mine.record[o].count
        nothing = (s.kept[o].state == UNKNOWN) & (s.times[o] == 0) & (s.shown[o] == 0)
        is_shown = s.shown[o] == count
        for number in range(delivery_limit.value + 1):
            is_shown = is_shown & implies(count == number, s.times[o] == number)
        return ite(mine.active, implies(mine.start <= o, is_shown), nothing)

    return _of_records(s, is_counted)


LEMMAS: tuple[Property, ...] = (
    readers_were_elected, memory_has_bounds, states_are_settled, locks_are_of_deliveries, one_write_settles,
    leader_counts_most, acknowledged_is_kept, acknowledged_is_known, what_is_left_is_settled, every_delivery_counts,
)  # fmt: skip
"""What the promises are inductive with, those at the bottom first."""


def lemmas_of(properties: Iterable[Property], has: Mapping[str, int]) -> tuple[Property, ...] | None:
    """The lemmas of a configuration; None where no proof of one of the properties is known.

    An answer that is lost leaves what is kept unsettled, and what was delivered before a change of leader is not counted.
    """
    if any(has[item.name] != item.default for item in _RULES) or hides_refusals.make(has) or takes_back.make(has):
        return None
    skips = has[lost_answers.name] or (has[latest.name] and not has[keeps_first_start.name])
    counts = has[deliveries.name] and has[max_epoch.name] == 1
    unknown = ({no_record_is_skipped.name} if skips else set()) | (
        set() if counts else {deliveries_are_limited.name, delivery_counts_never_fall.name}
    )
    if not unknown.isdisjoint(item.name for item in properties):
        return None
    without = ({what_is_left_is_settled.name} if skips else set()) | (set() if counts else {every_delivery_counts.name})
    return tuple(item for item in LEMMAS if item.name not in without)
