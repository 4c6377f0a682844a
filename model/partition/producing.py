"""Producing: a record reaches a leader, is appended, and the producer is answered, or not.

Acks, min.insync.replicas before the append, retries, idempotence, several requests in flight, producers that
give a record up, and producers that restart. The answer that acks=all waits for is given where the high watermark advances
(`common.py`).
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import every, for_each, implies, ite, least, some, truth
from acked.model.language.telling import PRODUCER, Fault, Telling
from acked.model.language.values import Bool
from acked.model.partition.common import (
    Advance,
    advance_high_watermark,
    answer_waiting,
    enough_in_sync,
    hold_high_watermark,
    presumes_leadership,
    waited_isr,
    without_success,
)
from acked.model.partition.rules import settings
from acked.model.partition.rules.facts import numbers_anew
from acked.model.partition.state import ACKED, FAILED, SENT, UNSENT, Offset, Record, RecordId, Replica, State
from acked.model.partition.vocabulary.messages import LOST_WRITE, WRITE, WRITE_ANSWERED_OR_NOT


def is_settled(s: State, record: RecordId) -> Bool:
    """The producer has an answer, or has given the record up."""
    return s.producer.status[record] >= ACKED


def require_turn(s: State, record: RecordId, again: Bool | None = None) -> None:
    """Records are sent in order, so many at once as may be in flight; first attempts do not overtake each other."""
    again = truth(False) if again is None else again
    require(
        "at most so many in flight",
        again | every(RecordId, lambda other: implies(other + settings.in_flight <= record, is_settled(s, other))),
    )
    if not settings.retries.on:
        require("earlier records were sent", every(RecordId, lambda r: implies(r < record, s.producer.status[r] > UNSENT)))


def is_duplicate(s: State, leader: Replica, record: RecordId) -> Bool:
    """With idempotence: the leader's log holds the record as sent by this producer id (KIP-98)."""
    if not settings.idempotence.on:
        return truth(False)
    log = s.log[leader]
    return some(
        Offset,
        lambda o: log.has(o) & (log.at(o).id == record) & (log.at(o).session == s.producer.session),
    )


def starts_anew(s: State, record: RecordId) -> Bool:
    """The record has sequence number 0: it is the first of its producer id, or follows one that was given up.

    A producer that has given a record up goes on under a new producer epoch, or, to 2.4, under a new producer id (KIP-360).
    """
    after_failure = some(RecordId, lambda other: (other + 1 == record) & (s.producer.status[other] == FAILED))
    return (record == s.producer.first) | after_failure


def is_next_in_sequence(s: State, leader: Replica, record: RecordId) -> Bool:
    """The last record of this producer id in the leader's log is the one before, or numbering starts anew with this one.

    If there is none in the log, the leader takes any sequence number (2.5, KIP-360), before that only 0; after 4.4 only 0,
    too, if its log holds nothing at all (KAFKA-15591). A producer that has an answer for the record before takes a new
    producer epoch then, in which this one has number 0 (`TransactionManager.canRetry`).
    """
    log = s.log[leader]

    def ours(o: Offset) -> Bool:
        return log.has(o) & (log.at(o).session == s.producer.session)

    expected = starts_anew(s, record) | some(Offset, lambda o: ours(o) & (log.at(o).id + 1 == record))
    if settings.unknown_producers_accepted.on:
        unknown = ~some(Offset, ours)
        if settings.first_sequence_checked.on:
            after_answered = some(RecordId, lambda other: (other + 1 == record) & is_settled(s, other))
            unknown &= ~log.is_empty | after_answered
        expected |= unknown
    return every(Offset, lambda o: implies(ours(o), log.at(o).id < record)) & expected


def require_accepted(s: State, leader: Replica, record: RecordId) -> None:
    """What a leader checks before it appends."""
    require("room in the log", s.log[leader].end < settings.log_size)
    if settings.acks.value == settings.ACKS_ALL:
        require("enough in-sync replicas", enough_in_sync(s.broker[leader].isr, s.broker[leader].assigned))
    if settings.idempotence.on and settings.sequence_check.on:
        require("next in sequence", is_next_in_sequence(s, leader, record))


def append(
    s: State, leader: Replica, record: RecordId, answered: Bool, advance: Advance = advance_high_watermark
) -> None:
    """The leader appends the record; if the answer is due now, it reaches the producer or is lost."""
    s.log[leader].append(
        Record(id=record, epoch=s.broker[leader].leader_epoch.value, session=s.producer.session)
    )
    if settings.acks.value == settings.ACKS_1:
        s.producer.status[record] = ite(answered, ACKED, without_success())
    elif settings.acks.value == settings.ACKS_0:
        s.producer.status[record] = ACKED
    else:
        s.producer.status[record] = SENT
        s.producer.waits_at[record] = leader
    advance(s, leader)
    if settings.acks.value == settings.ACKS_ALL:
        s.producer.status[record] = ite(answered, s.producer.status[record], without_success())
        s.producer.waits_at[record] = ite(answered, s.producer.waits_at[record], None)


def require_answer_fits(s: State, leader: Replica, answered: Bool) -> None:
    """Whether an answer is lost is decided here where it is due with the append; later, retrying or giving up says it."""
    if settings.acks.value == settings.ACKS_0:
        require("no answer to lose", answered)
    elif settings.acks.value == settings.ACKS_ALL:
        require("due with the append, if it is lost", answered | waited_isr(s, leader).is_only(leader))


def _says_sending(t: Telling) -> str:
    """`the producer sends record 1`, and why it does so again or out of turn."""
    record, status = t.record, t.before.producer.status
    session = getattr(t.before.producer, "session", 0)
    if session and not any(item.id == record and item.session == session for log in t.before.log for item in log.records):
        return f"the producer sends record {record} under its new producer id"
    if status[record] == SENT:
        return f"the producer has no answer for record {record} in time, and sends it again"
    if any(later > UNSENT for later in status[record + 1 :]):
        return f"the producer sends record {record} again, whose first request failed,"
    missing = [str(other) for other in range(record) if status[other] == UNSENT]
    if missing:
        records, fail = ("record", "fails") if len(missing) == 1 else ("records", "fail")
        failed = f"the request with {records} {' and '.join(missing)} {fail}"
        return f"{failed}; the one behind it brings record {record}"
    return f"the producer sends record {record}"


def _says_append(t: Telling) -> str:
    record = t.record
    end = t.before.log[t.leader].end
    broker = t.before.broker[t.leader]
    is_acked = t.after.producer.status[record] == ACKED
    if t.after.log[t.leader].end == end:
        return f"{_says_sending(t)} to broker {t.leader}, which knows it and does not append it" + (
            "; the producer gets an ack" if is_acked else ""
        )
    failed = t.after.producer.status[record] == FAILED
    answer = "the producer gets an ack" if is_acked else "the producer has no answer yet"
    if failed:
        answer = "the answer is lost, and the producer reports to the application that the record failed"
    return (
        f"{_says_sending(t)} to broker {t.leader}, which appends it at offset {end} in leader epoch "
        f"{broker.leader_epoch}; {answer}"
    )


@action(says=_says_append, actor=PRODUCER, messages=WRITE_ANSWERED_OR_NOT)
def produce(s: State, leader: Replica, record: RecordId, answered: Bool) -> None:
    """A producer's next record reaches a broker that presumes leadership and is appended there."""
    require("presumes leadership", presumes_leadership(s, leader))
    require("not sent yet", s.producer.status[record] == UNSENT)
    require_turn(s, record)
    require_answer_fits(s, leader, answered)
    require_accepted(s, leader, record)
    append(s, leader, record, answered)


@action(
    says=_says_append,
    when=lambda: settings.retries.on and settings.acks.value != settings.ACKS_0,
    actor=PRODUCER, messages=WRITE_ANSWERED_OR_NOT,
)
def retry(s: State, leader: Replica, record: RecordId, answered: Bool) -> None:
    """No answer came in time, or an error did: the producer sends the record again.

    Without idempotence the leader appends it again; with it, a record that it holds from this producer id is answered as the
    first one is.
    """
    require("presumes leadership", presumes_leadership(s, leader))
    require("sent and not answered", s.producer.status[record] == SENT)
    require_answer_fits(s, leader, answered)
    known = is_duplicate(s, leader, record)
    require("not known to the leader", ~known)
    require_accepted(s, leader, record)
    append(s, leader, record, answered)


@action(
    says=lambda t: f"{_says_append(t)}; the high watermark waits for a follower outside the ISR",
    when=lambda: settings.hw_waits_for_caught_up.on,
    actor=PRODUCER, messages=WRITE_ANSWERED_OR_NOT,
)
def produce_while_hw_waits(s: State, leader: Replica, record: RecordId, answered: Bool) -> None:
    """A record is sent, for the first time or again, to a leader whose high watermark waits (KAFKA-4485).

    It would rise where the leader is alone in its ISR, or where it has waited already; it waits for a follower that has
    lately caught up and may soon join.
    """
    require("presumes leadership", presumes_leadership(s, leader))
    may_retry = (s.producer.status[record] == SENT) & ~is_duplicate(s, leader, record)
    again = may_retry if settings.retries.on and settings.acks.value != settings.ACKS_0 else truth(False)
    require("not sent yet, or not answered", (s.producer.status[record] == UNSENT) | again)
    require_turn(s, record, again)
    require("the answer is not due yet", answered if settings.acks.value != settings.ACKS_1 else truth(True))
    require_accepted(s, leader, record)
    append(s, leader, record, answered, hold_high_watermark)


@action(
    says=_says_append,
    when=lambda: settings.retries.on and settings.idempotence.on and settings.acks.value != settings.ACKS_0,
    actor=PRODUCER, messages=WRITE,
)
def retry_known(s: State, leader: Replica, record: RecordId) -> None:
    """A retry of a record that the leader holds from this producer id is not appended again, but answered (KIP-98)."""
    require("presumes leadership", presumes_leadership(s, leader))
    require("sent and not answered", s.producer.status[record] == SENT)
    require("known to the leader", is_duplicate(s, leader, record))
    if settings.acks.value == settings.ACKS_ALL:
        require("enough in-sync replicas", enough_in_sync(s.broker[leader].isr, s.broker[leader].assigned))
        s.producer.waits_at[record] = leader
        answer_waiting(s, leader)
    else:
        s.producer.status[record] = ACKED


def _says_give_up(t: Telling) -> str:
    why = "is refused, or does not arrive" if t.before.producer.status[t.record] == UNSENT else "is not answered in time"
    return f"record {t.record} {why}, and the producer gives it up and reports to the application that it failed"


@action(
    says=_says_give_up,
    when=lambda: (
        settings.acks.value != settings.ACKS_0 and (not settings.retries.on or settings.delivery_timeout.on)
    ),
    actor=PRODUCER,
)
def give_up(s: State, record: RecordId) -> None:
    """A record was refused, or its answer did not come in time: the producer reports to the application that it failed.

    Without retries that is at the first error, with them after `delivery.timeout.ms`. It may have been written all the same.
    """
    if settings.delivery_timeout.on:
        require("no answer yet", s.producer.status[record] < ACKED)
    else:
        require("refused", s.producer.status[record] == UNSENT)
    require_turn(s, record)
    s.producer.status[record] = FAILED
    s.producer.waits_at[record] = None


@action(
    says=lambda t: f"record {t.record} is lost on its way, and the producer, which wants no answer, takes it for sent",
    when=lambda: settings.acks.value == settings.ACKS_0,
    actor=PRODUCER, fault=Fault.LOST, messages=(LOST_WRITE,),
)
def lose_request(s: State, record: RecordId) -> None:
    """With acks=0 nobody notices a request that does not arrive."""
    require("not sent yet", s.producer.status[record] == UNSENT)
    require_turn(s, record)
    s.producer.status[record] = ACKED


@action(
    says=lambda t: "the producer restarts and gets a new producer id; the application sends again what was not acknowledged",
    when=lambda: settings.producer_restarts.value > 0,
    actor=PRODUCER, fault=Fault.RESTARTS,
)
def restart_producer(s: State) -> None:
    """A producer without a transactional id restarts under a new producer id; what it sent before is not its own any more.

    Answers to its former self reach nobody.
    """
    require("a restart is left", s.producer.session < settings.producer_restarts)
    s.producer.session = s.producer.session + 1

    def forget(record: RecordId) -> None:
        is_open = s.producer.status[record] == SENT
        s.producer.status[record] = ite(is_open, without_success(), s.producer.status[record])
        s.producer.waits_at[record] = None

    for_each(RecordId, forget)
    if numbers_anew.on:
        s.producer.first = least(RecordId, lambda r: (r + 1 == settings.records) | (s.producer.status[r] < ACKED))
