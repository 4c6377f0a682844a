"""Replicating: a leader takes records, its followers' logs become its own, and what a majority holds is committed.

Writing, the two ways of AppendEntries (with a record and without), and commit. A request and its answer are
one step: a leader that has no use for an answer yet may commit later, so an answer that is late or lost adds nothing.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import count, each, ite, some
from acked.model.language.telling import PRODUCER, Telling, Tells, asks
from acked.model.language.values import Bool
from acked.model.majority.common import agree_until, majority, renumber_terms, says_heard, take_up
from acked.model.majority.state import Offset, Record, RecordId, Replica, State, log_size, records


@action(
    says=lambda t: (
        f"a producer sends record {t.before.next_record} to leader {t.leader}, which appends it at offset "
        f"{t.before.log[t.leader].end} in term {t.before.replica[t.leader].term}; the producer has no answer yet"
    ),
    actor=PRODUCER, messages=(Tells(PRODUCER, "leader", lambda t: f"r{t.before.next_record}"),),
)
def write(s: State, leader: Replica) -> None:
    """A producer's next record reaches a replica that leads, as far as it knows."""
    require("leads", s.replica[leader].leads)
    require("a record is left", s.next_record < records)
    require("room in the log", s.log[leader].end < log_size)
    s.log[leader].append(Record(id=s.next_record, term=s.replica[leader].term))
    s.next_record = s.next_record + 1


def require_heard(s: State, leader: Replica, follower: Replica) -> None:
    """A follower does what a leader of its term or of a newer one asks."""
    require("another replica", leader != follower)
    require("leads", s.replica[leader].leads)
    require("follower is up", ~s.replica[follower].down)
    require("not in a newer term", s.replica[follower].term <= s.replica[leader].term)


def follow(s: State, leader: Replica, follower: Replica, agreed: Offset) -> None:
    """Both learn from each other: the term, up to where the logs are the same, and what is committed of that."""
    mine = s.replica[follower]
    take_up(s, follower, s.replica[leader].term)
    s.match[leader][follower] = agreed
    told = s.replica[leader].hw
    told = ite(told < agreed, told, agreed)
    mine.hw = ite(told > mine.hw, told, mine.hw)
    renumber_terms(s)


def _says_hw(t: Telling) -> str:
    return f"HW {t.after.replica[t.leader].hw}"


def _says_append(t: Telling) -> str:
    log = t.after.log[t.follower]
    return f"r{log.records[log.end - 1].id}, {_says_hw(t)}"


def _says_match(t: Telling) -> str:
    return f"the same up to {t.after.match[t.leader][t.follower]}"


def _says_replicate(t: Telling) -> str:
    log = t.after.log[t.follower]
    at = log.end - 1
    text = f"{says_heard(t)}replica {t.follower} takes record {log.records[at].id} at offset {at} from leader {t.leader}"
    cut = t.before.log[t.follower].end - at
    return f"{text} and drops what it had from there on" if cut else text


@action(says=_says_replicate, actor="leader", messages=asks("leader", "follower", _says_append, _says_match))
def replicate(s: State, leader: Replica, follower: Replica) -> None:
    """A follower takes its leader's next record after those that both have, and drops what conflicts with it (Raft §5.3)."""
    require_heard(s, leader, follower)
    agreed = agree_until(s, leader, follower)
    require("leader holds the next offset", s.log[leader].has(agreed))
    s.log[follower].truncate(agreed)
    s.log[follower].append(s.log[leader].at(agreed))
    follow(s, leader, follower, s.log[follower].end)


@action(
    says=lambda t: (
        f"{says_heard(t)}replica {t.follower} hears from leader {t.leader}, whose records it has, of term "
        f"{t.after.replica[t.follower].term} and high watermark {t.after.replica[t.leader].hw}"
    ),
    actor="leader", messages=asks("leader", "follower", _says_hw, _says_match),
)
def heartbeat(s: State, leader: Replica, follower: Replica) -> None:
    """A follower that has all that its leader has learns of its term and of what is committed; its leader learns that."""
    require_heard(s, leader, follower)
    agreed = agree_until(s, leader, follower)
    require("leader holds nothing more", ~s.log[leader].has(agreed))
    follow(s, leader, follower, agreed)


def _acked_now(t: Telling) -> list[int]:
    was, now = t.before.acked, t.after.acked
    return [record for record in range(len(now)) if now[record] and not was[record]]


def _says_acks(t: Telling) -> list[str]:
    return [f"ack r{record}" for record in _acked_now(t)]


def _says_commit(t: Telling) -> str:
    acked = " and ".join(str(record) for record in _acked_now(t))
    hw = t.after.replica[t.leader].hw
    text = f"leader {t.leader} finds its log up to offset {hw} on a majority and commits it"
    return f"{text}; the producer gets an ack for record {acked}" if acked else text


@action(says=_says_commit, actor="leader", messages=(Tells("leader", PRODUCER, _says_acks),))
def commit(s: State, leader: Replica, until: Offset) -> None:
    """A leader commits up to a record of its own term that a majority holds (Raft §5.4.2), and answers the producers.

    Records of earlier terms are committed only along with one of its own: that a majority holds them does not keep them from
    being replaced.
    """
    mine, log = s.replica[leader], s.log[leader]
    require("leads", mine.leads)
    require("beyond the high watermark", until > mine.hw)
    require("leader holds it", until <= log.end)
    require(
        "a majority holds it", count(Replica, lambda r: (r == leader) | (until <= s.match[leader][r])) >= majority()
    )
    require("of the leader's own term", log.at(until - 1).term == mine.term)
    mine.hw = until
    for record in each(RecordId):
        s.acked[record] = s.acked[record] | _is_below(s, leader, record, until)


def _is_below(s: State, leader: Replica, record: RecordId, until: Offset) -> Bool:
    log = s.log[leader]
    return some(Offset, lambda o: (o < until) & log.has(o) & (log.at(o).id == record))
