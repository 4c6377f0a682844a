"""Consumers: records are acquired, acknowledged, and released by them, by their session's end, or when the lock's time is up.

A consumer is whoever has the lock: another that acknowledges a record is refused (`validateAcknowledgementBatchMemberId`),
so that no names are needed. Sources: `SharePartition` and `InFlightState` of 4.3.1, and of 3.9.0 to 4.2.1 as the rules say.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import ite, named, truth
from acked.model.language.telling import CONSUMER, Telling, Tells
from acked.model.language.values import Enum
from acked.model.share.common import end_lock, is_gap, is_written, released, send, told_leader
from acked.model.share.settings import (
    acquires_settled,
    deliveries,
    delivery_limit,
    fetches_gaps,
    sessions,
    takes_back,
)
from acked.model.share.state import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    EXPIRED,
    RUNNING,
    Delivery,
    Epoch,
    Offset,
    State,
)


class Answer(Enum, names=("accept", "release", "reject")):
    """What a consumer says of a record (`AcknowledgeType`)."""


ACCEPT, RELEASE, REJECT = Answer.names
"""Values of `Answer`: processed; another may have it; nobody can process it."""


def _says_acquired(t: Telling) -> str:
    count = told_leader(t.after, t.epoch).record[t.offset].count
    return f"the leader of epoch {t.epoch} delivers record {t.offset} to a consumer, with delivery count {count}"


@action(says=_says_acquired, actor="epoch", messages=(Tells("epoch", CONSUMER, lambda t: f"record {t.offset}"),))
def acquire(s: State, epoch: Epoch, offset: Offset) -> None:
    """A record is delivered, and locked for who gets it (`SharePartition.acquire`)."""
    mine = s.leader[epoch]
    record = mine.record[offset]
    require("has read what is kept", mine.active)
    require("the record is there", is_written(s, offset))
    is_new, is_available = offset == mine.end, record.state == AVAILABLE
    if acquires_settled.on:
        is_available = is_available & ~record.settling
    may = is_new | is_available
    if fetches_gaps.on:
        may = may | is_gap(mine, offset)
    require("may be delivered", may)
    mine.end = ite(is_new, mine.end + 1, mine.end)
    record.state = ACQUIRED
    record.count = record.count + 1
    record.lock = RUNNING
    if deliveries.on:
        s.shown[offset] = record.count
        s.times[offset] = ite(s.times[offset] > delivery_limit.value, s.times[offset], s.times[offset] + 1)


def _start_settling(s: State, epoch: Epoch, offset: Offset, state: Delivery, taken_back: int = 0) -> None:
    """A record's new state is sent, and is not there for good before the answer (`InFlightState.startStateTransition`)."""
    record = s.leader[epoch].record[offset]
    record.state = state
    record.settling = True
    send(s, epoch, offset, awaited=True, taken_back=taken_back)


def _require_settled(s: State, epoch: Epoch, offset: Offset) -> None:
    mine = s.leader[epoch]
    require("a consumer has it", mine.record[offset].state == ACQUIRED)
    require("nothing is being written of it", ~mine.record[offset].settling)
    require("a write may be sent", ~mine.writes.is_full)


@action(
    says=lambda t: (
        f"the consumer that has record {t.offset} says {t.answer} to the leader of epoch {t.epoch}, which sends that on"
    ),
    actor="epoch", messages=(Tells(CONSUMER, "epoch", lambda t: f"{t.answer} {t.offset}"),),
)
def acknowledge(s: State, epoch: Epoch, offset: Offset, answer: Answer) -> None:
    """A consumer acknowledges what it has, and waits for what becomes of that (`SharePartition.acknowledge`)."""
    _require_settled(s, epoch, offset)
    final = ite(answer == ACCEPT, named(Delivery, ACKNOWLEDGED), named(Delivery, ARCHIVED))
    _start_settling(s, epoch, offset, ite(answer == RELEASE, released(s.leader[epoch].record[offset]), final))


@action(
    says=lambda t: (
        f"the session of the consumer that has record {t.offset} ends, and the leader of epoch {t.epoch} releases it"
    ),
    when=lambda: sessions.on, actor="epoch",
)
def end_session(s: State, epoch: Epoch, offset: Offset) -> None:
    """A session is closed, or its connection breaks (`SharePartition.releaseAcquiredRecords`)."""
    _require_settled(s, epoch, offset)
    if takes_back.on:
        _start_settling(s, epoch, offset, named(Delivery, AVAILABLE), taken_back=1)
    else:
        _start_settling(s, epoch, offset, released(s.leader[epoch].record[offset]))


def _says_expired(t: Telling) -> str:
    is_spent = told_leader(t.after, t.epoch).record[t.offset].state == ARCHIVED
    what = "it was delivered as often as it may be" if is_spent else "it may be delivered again"
    return f"at the leader of epoch {t.epoch} the time of record {t.offset}'s lock is up: {what}"


@action(says=_says_expired, actor="epoch")
def expire(s: State, epoch: Epoch, offset: Offset) -> None:
    """The lock's timer fires (`SharePartition.releaseAcquisitionLockOnTimeout`); nobody waits for what it writes."""
    record = s.leader[epoch].record[offset]
    require("its lock runs", record.lock == RUNNING)
    require("a consumer has it", record.state == ACQUIRED)
    require("a write may be sent", ~s.leader[epoch].writes.is_full)
    end_lock(s, epoch, offset, truth(True))
    send(s, epoch, offset, awaited=False)


@action(
    says=lambda t: (
        f"at the leader of epoch {t.epoch} the time of record {t.offset}'s lock is up while what its consumer said of it is "
        "being written"
    ),
    actor="epoch",
)
def expire_unsettled(s: State, epoch: Epoch, offset: Offset) -> None:
    """The lock's timer fires and finds no record that is acquired: it is done, and does not come back."""
    record = s.leader[epoch].record[offset]
    require("its lock runs", record.lock == RUNNING)
    require("no consumer has it", record.state != ACQUIRED)
    record.lock = EXPIRED
