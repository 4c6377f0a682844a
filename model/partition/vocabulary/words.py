"""Words that steps of `partition` share: how a producer that waits is answered in another actor's step, and who leads now."""

from __future__ import annotations

from acked.model.language.telling import PlainStruct, Telling, says_cut, says_set
from acked.model.partition.state import ACKED, FAILED


def waited_at(t: Telling, broker: int) -> list[int]:
    """Records whose producer waits at the broker and, after the step, no more."""
    before, after = (getattr(state.producer, "waits_at", []) for state in (t.before, t.after))
    return [record for record, (was, now) in enumerate(zip(before, after, strict=True)) if was == broker and now is None]


def answers_of(t: Telling, leader: int) -> list[str]:
    """How a leader answers the producers that waited for its high watermark, as predicates: `acknowledges record 0 …`."""
    answers = []
    for record in waited_at(t, leader):
        if t.after.producer.status[record] == ACKED:
            answers.append(f"acknowledges record {record} to the producer")
        else:
            answers.append(f"answers the producer of record {record} with NOT_ENOUGH_REPLICAS_AFTER_APPEND")
    return answers


def says_answers(t: Telling, leader: int) -> str:
    """How a leader answers waiting producers, as the end of a sentence about it."""
    return "".join(f"; it {answer}" for answer in answers_of(t, leader))


def says_no_answers(t: Telling, broker: int) -> str:
    """What producers do that will get no answer any more, as the end of a sentence."""
    text = ""
    for record in waited_at(t, broker):
        text += f"; the producer of record {record} gets no answer"
        if t.after.producer.status[record] == FAILED:
            text += " and reports to the application that it failed"
    return text


def says_cut_as_told(t: Telling, read: int) -> str:
    """What an answer that logs diverge makes a follower do, as a predicate; `read` is the high watermark that it carried."""
    cuts = says_cut(t, t.follower)
    lowered = min(t.before.broker[t.follower].hw, t.after.log[t.follower].end)
    if t.after.broker[t.follower].hw == lowered:
        return cuts
    return f"takes over high watermark {min(read, t.before.log[t.follower].end)} first and {cuts}"


def says_late(late: PlainStruct) -> str:
    """What an answer that is late brings."""
    records = [f"r{record.id}" for record in late.log.records[late.fetched_at :]]
    return ", ".join([*records, f"HW {late.hw}"])


def says_complete(t: Telling) -> str:
    """That a reassignment is complete with the step, as the end of a sentence; nothing if none is."""
    before, after = t.before.controller, t.after.controller
    was_moving = bool(getattr(before, "adding", None) or getattr(before, "removing", None))
    if not was_moving or after.adding or after.removing:
        return ""
    text = f"; with that the reassignment is complete, the replicas are {says_set(after.replicas)}"
    if before.removing:
        text += f" and the ISR {says_set(after.isr)}"
    if before.leader is not None and after.leader is None:
        text += "; there is no leader"
    return text


def says_office(t: Telling) -> str:
    """A broker becomes leader, in words."""
    return (
        f"broker {t.leader} becomes leader in epoch {t.after.broker[t.leader].leader_epoch} with ISR "
        f"{says_set(t.after.broker[t.leader].isr)}, log end {t.after.log[t.leader].end} and high watermark "
        f"{t.after.broker[t.leader].hw}{says_answers(t, t.leader)}"
    )


def says_following(t: Telling) -> str:
    """A broker becomes a follower, in words."""
    return (
        f"broker {t.follower} becomes follower of broker {t.leader} in leader epoch "
        f"{t.after.broker[t.follower].leader_epoch}"
        + (f" and {says_cut(t, t.follower)}" if t.before.log[t.follower].end != t.after.log[t.follower].end else "")
        + says_no_answers(t, t.follower)
    )


def says_by(t: Telling) -> str:
    """Which candidate tells the broker."""
    is_old = t.before.zookeeper.controller != t.controller
    return f"as {'the old controller, ' if is_old else ''}candidate {t.controller}{',' if is_old else ''} tells it, "


def request_text(t: Telling) -> str:
    """A LeaderAndIsr request of the controller of a step."""
    mine = t.after.candidate[t.controller]
    return f"leader {mine.leader}, controller epoch {mine.epoch}"


def says_gone(t: Telling) -> str:
    """What the loss of a broker does, as the end of a sentence."""
    before, after = t.before.controller, t.after.controller
    text = f"; the controller takes it out of the ISR, now {says_set(after.isr)}" if before.isr != after.isr else ""
    if before.leader_epoch != after.leader_epoch:
        text += f", in a new leader epoch, {after.leader_epoch}"
    if complete := says_complete(t):
        return text + complete
    if before.leader is not None and after.leader is None:
        text += "; there is no leader"
    return text
