"""The messages that actions of `partition` declare: from whom to whom, and their words."""

from __future__ import annotations

from collections.abc import Iterator

from acked.model.language.telling import (
    CONSUMER,
    CONTROLLER,
    PRODUCER,
    Course,
    Ends,
    Message,
    PlainStruct,
    Telling,
    Tells,
    Those,
    Words,
    asks,
    says_set,
)
from acked.model.partition.rules.settings import ACKS_0, BY_DIVERGING_FETCH, acks, truncation
from acked.model.partition.state import ACKED, Replica
from acked.model.partition.vocabulary.words import says_late, waited_at

LEADERSHIP, ALTER_PARTITION, LATE_ANSWER = "leadership", "AlterPartition", "late answer"
"""Channels of what is on its way for more than a step."""

# -- producers and consumers ------------------------------------------------------------------------------------------


def _answers(t: Telling) -> Iterator[str]:
    before, after = t.before.producer.status, t.after.producer.status
    for record, (was, now) in enumerate(zip(before, after, strict=True)):
        if was != now == ACKED and acks.value != ACKS_0:
            yield f"ack r{record}"
        elif now != ACKED and record in waited_at(t, t.leader):
            yield f"r{record}: NOT_ENOUGH_REPLICAS_AFTER_APPEND"


def _lost_answer(t: Telling) -> str | None:
    return None if t.answered else f"ack r{t.record}"


ANSWERS = Tells("leader", PRODUCER, _answers)
"""Producers that wait for the leader's high watermark are answered in the step that moves it."""

WRITE: tuple[Message, ...] = (Tells(PRODUCER, "leader", lambda t: f"r{t.record}"), ANSWERS)
WRITE_ANSWERED_OR_NOT: tuple[Message, ...] = (*WRITE, Tells("leader", PRODUCER, _lost_answer, Course.LOST))
LOST_WRITE = Tells(
    PRODUCER, Those(Replica, lambda t: t.before.controller.leader), lambda t: f"r{t.record}", Course.LOST
)


def reads_from(broker: str) -> Tells:
    """A consumer gets the record that it remembers."""
    return Tells(broker, CONSUMER, lambda t: f"r{t.after.consumer.record}")


LATEST_OFFSET = Tells("leader", CONSUMER, lambda t: f"latest offset {t.after.consumer.latest}")

# -- followers and their leaders --------------------------------------------------------------------------------------


def _fetch(t: Telling) -> str:
    return f"fetch from {t.before.log[t.follower].end}"


def _records(t: Telling) -> str:
    got = [f"r{record.id}" for record in t.after.log[t.follower].records[t.before.log[t.follower].end :]]
    return ", ".join([*got, f"HW {t.after.broker[t.follower].hw}"])


def _diverging(t: Telling) -> str:
    if truncation.value != BY_DIVERGING_FETCH:
        return "offset out of range"
    return f"diverging: truncate to {t.after.log[t.follower].end}"


def _diverging_only_told(t: Telling) -> str:
    return f"diverging, HW {min(t.before.broker[t.leader].hw, t.before.log[t.follower].end)}"


FETCH: tuple[Message, ...] = (*asks("follower", "leader", _fetch, _records), ANSWERS)
FETCH_UNANSWERED: tuple[Message, ...] = (*asks("follower", "leader", _fetch, "the answer", Course.LOST), ANSWERS)
FETCH_DIVERGING: tuple[Message, ...] = (*asks("follower", "leader", _fetch, _diverging), ANSWERS)
FETCH_OUT_OF_RANGE: tuple[Message, ...] = asks("follower", "leader", _fetch, "offset out of range")
FETCH_READ_BEFORE_TRUNCATION: tuple[Message, ...] = (
    *asks("follower", "leader", _fetch, _diverging_only_told), reads_from("follower")
)  # fmt: skip


def _departs_late(answer: Words) -> tuple[Message, ...]:
    departs = Tells("leader", "follower", answer, Course.DEPARTS, LATE_ANSWER, is_late=True)
    return (Tells("follower", "leader", _fetch), departs, ANSWERS)


def _arrives_late(answer: Words) -> Tells:
    awaited = Those(Replica, lambda t: t.before.late[t.follower].leader)
    return Tells(awaited, "follower", answer, Course.ARRIVES, LATE_ANSWER, is_late=True)


FETCH_LATE = _departs_late(lambda t: says_late(t.after.late[t.follower]))
FETCH_DIVERGING_LATE = _departs_late(lambda t: f"diverging: truncate to {t.after.late[t.follower].truncate_to}")
LATE_RECORDS_ARRIVE = _arrives_late(lambda t: says_late(t.before.late[t.follower]))
LATE_ANSWER_ARRIVES = _arrives_late(lambda t: f"diverging: truncate to {t.before.late[t.follower].truncate_to}")
LATE_ANSWER_ENDS = Ends("follower", LATE_ANSWER)


def no_late_answer(broker: str) -> Ends:
    """What the broker awaits will not count any more, if the step ends that."""

    def ends(t: Telling) -> bool:
        index = getattr(t, broker)
        return _awaits(t.before, index) and not _awaits(t.after, index)

    return Ends(broker, LATE_ANSWER, ends)


def _awaits(state: PlainStruct, broker: int) -> bool:
    late = getattr(state, "late", None)
    return late is not None and late[broker].leader is not None


WHERE_MY_EPOCH_ENDS: tuple[Message, ...] = asks(
    "follower", "leader", "where does my epoch end?", lambda t: f"truncate to {t.after.log[t.follower].end}"
)

# -- the controller ---------------------------------------------------------------------------------------------------


def _no_request_is_left(t: Telling) -> bool:
    return not any(t.broker in getattr(mine, "due", ()) for mine in getattr(t.after, "candidate", ()))


GOES_DOWN: tuple[Message, ...] = (
    Ends("broker", ALTER_PARTITION),
    Ends("broker", LATE_ANSWER),
    Ends("broker", LEADERSHIP, _no_request_is_left),
)
"""Connections of a broker are gone with its process; a controller sends its request again over the next one, until 2.2."""


def _live(t: Telling) -> list[int]:
    gone = getattr(t.after.controller, "gone", [])
    return [r for r, broker in enumerate(t.after.broker) if not getattr(broker, "down", False) and r not in gone]


def _leader_news(receiver: str | Those, course: Course) -> Tells:
    def text(t: Telling) -> str:
        return f"leader {t.after.controller.leader}"

    return Tells(CONTROLLER, receiver, text, course, LEADERSHIP, lambda t: t.after.controller.leader_epoch)


ELECTION = _leader_news(Those(Replica, _live), Course.DEPARTS)
"""Brokers that have a session are sent the news of a new leader, and hear of it in a step of their own."""


def hears_who_leads(broker: str) -> tuple[Message, ...]:
    """The broker hears of the controller's leader, and what it asked for when it led itself is void."""
    return _leader_news(broker, Course.ARRIVES), Ends(broker, ALTER_PARTITION), no_late_answer(broker)


def _isr(t: Telling) -> str:
    return f"ISR {says_set(t.after.controller.isr)}"


def _isr_number(t: Telling) -> tuple[int, ...]:
    return tuple(t.after.controller.isr)


NOT_A_REPLICA: tuple[Message, ...] = (
    Tells(CONTROLLER, "broker", "not a replica any more"),
    Ends("broker", LEADERSHIP),
    Ends("broker", ALTER_PARTITION),
    no_late_answer("broker"),
)
"""A broker that was removed hears of it, and of nothing else that was on its way to it or from it."""

CHANGED_ISR: tuple[Message, ...] = (Tells("leader", CONTROLLER, _isr), ANSWERS)


def _request(text: Words, course: Course) -> Tells:
    return Tells("leader", CONTROLLER, lambda t: f"AlterPartition: {text(t)}", course, ALTER_PARTITION)


ASK_FOR_ISR: tuple[Message, ...] = (
    _request(lambda t: f"ISR {says_set(t.after.broker[t.leader].pending)}", Course.DEPARTS),
    ANSWERS,
)
COMMITTED_ISR: tuple[Message, ...] = (
    _request(_isr, Course.ARRIVES),
    Tells(CONTROLLER, "leader", _isr, Course.DEPARTS, ALTER_PARTITION, _isr_number),
)
REFUSED_ISR: tuple[Message, ...] = (
    _request(lambda t: f"ISR {says_set(t.before.broker[t.leader].pending)}", Course.ARRIVES),
    Tells(CONTROLLER, "leader", "INELIGIBLE_REPLICA"),
    Ends("leader", ALTER_PARTITION),
)
HEARS_OF_ISR: tuple[Message, ...] = (
    Tells(CONTROLLER, "leader", _isr, Course.ARRIVES, ALTER_PARTITION, _isr_number),
    Ends("leader", ALTER_PARTITION),
    ANSWERS,
)
LOST_ISR_ANSWER = Tells(CONTROLLER, "leader", "the answer to AlterPartition", Course.LOST, ALTER_PARTITION)
