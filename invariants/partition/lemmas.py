"""KIP-320's lemmas in the words of `partition`: how far they carry over to the latest release with clean crashes.

The lemmas of `replication/kip320_lemmas.py` that can be said of brokers that crash, of an ISR that changes by request, and
of a leader that knows its followers' log ends only from their fetches; each with what became of the original.
docs/partition_proof.md says what is proved and what is open.
"""

from __future__ import annotations

from acked.invariants.partition.domains import EPOCHS_ARE_DENSE, leader_has_epoch
from acked.invariants.property import Kind, Property
from acked.model.language.quantify import each, every, implies, ite, some, truth
from acked.model.language.values import Bool, SetValue
from acked.model.partition.common import (
    counted_isr,
    enough_in_sync,
    epoch_start,
    has_reached,
    holds,
    presumes_leadership,
)
from acked.model.partition.settings import asynchronous_isr, eligible_leader_replicas, strict_min_isr, waits
from acked.model.partition.state import ACKED, SENT, UNSENT, Epoch, Offset, RecordId, Replica, State


def epoch_sent(s: State) -> Bool:
    """No broker knows a leader epoch that the controller has not used."""

    def is_known(r: Replica) -> Bool:
        epoch = s.broker[r].leader_epoch
        return epoch.is_none | (epoch <= s.controller.leader_epoch)

    return every(Replica, is_known)


def record_epoch(s: State) -> Bool:
    """No log holds a record of a leader epoch that the controller has not used, or that its broker has not reached."""

    def reached(r: Replica, epoch: Epoch) -> Bool:
        known = s.broker[r].leader_epoch
        return (epoch <= s.controller.leader_epoch) & (known.is_none | (known >= epoch))

    return every(Replica, lambda r: every(Offset, lambda o: implies(s.log[r].has(o), reached(r, s.log[r].at(o).epoch))))


def hw_in_log(s: State) -> Bool:
    """No high watermark is beyond its log."""
    return every(Replica, lambda r: s.broker[r].hw <= s.log[r].end)


def knows_leader(s: State) -> Bool:
    """Brokers of one leader epoch agree on its leader, and in the newest they agree with the controller."""

    def agree(a: Replica, b: Replica) -> Bool:
        known = s.broker[a].leader_epoch
        return implies(known.is_some & (known == s.broker[b].leader_epoch), s.broker[a].leader == s.broker[b].leader)

    def as_elected(r: Replica) -> Bool:
        is_newest = s.broker[r].leader_epoch == s.controller.leader_epoch
        return implies(is_newest & s.controller.leader.is_some, s.broker[r].leader == s.controller.leader)

    return every(Replica, as_elected) & every(Replica, lambda a: every(Replica, lambda b: agree(a, b)))


def epoch_has_leader(s: State) -> Bool:
    """A broker with a leader epoch has a leader."""
    return every(Replica, lambda r: implies(s.broker[r].leader_epoch.is_some, s.broker[r].leader.is_some))


def quorum_isr_has_leader(s: State) -> Bool:
    """The controller's leader is in its ISR."""
    return every(Replica, lambda r: implies(s.controller.leader == r, s.controller.isr.contains(r)))


def only_leaders_know_isr(s: State) -> Bool:
    """Who does not presume leadership keeps no ISR, no change of it and no follower's log end; a leader is in its own ISR."""

    def keeps(r: Replica) -> Bool:
        mine = s.broker[r]
        blank = mine.isr.is_empty & every(Replica, lambda f: s.known_end[r][f].is_none)
        full = mine.isr.contains(r)
        if asynchronous_isr.on:
            blank &= mine.pending.is_empty & ~mine.outdated
            full &= mine.pending.is_empty | mine.pending.contains(r)
        return implies(presumes_leadership(s, r), full) & implies(~presumes_leadership(s, r), blank)

    return every(Replica, keeps)


def log_matching(s: State) -> Bool:
    """Two logs that hold records of one leader epoch at an offset hold the same records there and below."""

    def same_up_to(a: Replica, b: Replica, o: Offset) -> Bool:
        here, there = s.log[a], s.log[b]
        is_met = here.has(o) & there.has(o) & (here.at(o).epoch == there.at(o).epoch)
        return implies(is_met, every(Offset, lambda p: implies(p <= o, here.same_record_at(there, p))))

    return every(Replica, lambda a: every(Replica, lambda b: every(Offset, lambda o: same_up_to(a, b, o))))


def written_by_leader(s: State) -> Bool:
    """A current leader holds every record of its own epoch that anybody holds."""

    def holds_its_own(leader: Replica, r: Replica) -> Bool:
        own, mine, theirs = s.broker[leader].leader_epoch, s.log[leader], s.log[r]
        return every(
            Offset, lambda o: implies(theirs.has(o) & (own == theirs.at(o).epoch), theirs.same_record_at(mine, o))
        )

    return every(
        Replica, lambda a: implies(presumes_leadership(s, a), every(Replica, lambda r: holds_its_own(a, r)))
    )


def true_leader_isr(s: State) -> Bool:
    """The current leader in the newest epoch knows the committed ISR, or there is news for it."""
    if not asynchronous_isr.on:
        return truth(True)

    def knows(r: Replica) -> Bool:
        broker = s.broker[r]
        is_newest = presumes_leadership(s, r) & (broker.leader_epoch == s.controller.leader_epoch)
        return implies(is_newest & (s.controller.leader == r) & ~broker.outdated, broker.isr == s.controller.isr)

    return every(Replica, knows)


def leads_in_newest_epoch(s: State, r: Replica) -> Bool:
    """r presumes leadership in the newest leader epoch."""
    return presumes_leadership(s, r) & (s.broker[r].leader_epoch == s.controller.leader_epoch)


def electable(s: State) -> SetValue[Replica]:
    """Whom a clean election may choose, once alive: the ISR, and with KIP-966 the eligible leader replicas.

    While the ISR is empty the last leader is one of them: it is elected if none is left.
    """
    if not eligible_leader_replicas.on:
        return s.controller.isr
    chosen = s.controller.isr | s.controller.elr
    for r in each(Replica):
        chosen = ite(s.controller.isr.is_empty & (s.controller.last_leader == r), chosen.add(r), chosen)
    return chosen


def leader_in_office(s: State) -> Bool:
    """Who takes itself for the leader leads in the newest epoch, and the controller has no other leader."""
    return every(
        Replica,
        lambda r: implies(
            presumes_leadership(s, r),
            leads_in_newest_epoch(s, r) & (s.controller.leader == r),
        ),
    )


def vacant_epoch_is_unwritten(s: State) -> Bool:
    """Until an elected leader takes office there is no record of its epoch."""

    def unwritten(r: Replica) -> Bool:
        return every(Offset, lambda o: ~(s.log[r].has(o) & (s.log[r].at(o).epoch == s.controller.leader_epoch)))

    def is_vacant(leader: Replica) -> Bool:
        return (s.controller.leader == leader) & ~leads_in_newest_epoch(s, leader)

    return every(Replica, lambda a: implies(is_vacant(a), every(Replica, unwritten)))


def eligible_where_empty(s: State) -> Bool:
    """An empty ISR leaves a replica to elect: the last leader."""
    empty = s.controller.isr.is_empty
    return implies(empty, s.controller.last_leader.is_some) if eligible_leader_replicas.on else ~empty


def known_end_is_held(s: State) -> Bool:
    """What the newest leader knows of a broker is so: that far its log reaches and agrees with the leader's."""

    def held(leader: Replica, f: Replica) -> Bool:
        known, mine, theirs = s.known_end[leader][f], s.log[leader], s.log[f]
        agree = every(Offset, lambda o: implies(known > o, theirs.same_record_at(mine, o)))
        return implies(leads_in_newest_epoch(s, leader) & (leader != f), (known <= theirs.end) & agree)

    return every(Replica, lambda a: every(Replica, lambda f: held(a, f)))


def hw_in_epoch(s: State) -> Bool:
    """What is committed anywhere and is of the newest leader's epoch, is committed at that leader."""

    def known(leader: Replica, r: Replica) -> Bool:
        own, theirs = s.broker[leader].leader_epoch, s.log[r]
        return every(
            Offset,
            lambda o: implies((o < s.broker[r].hw) & (own == theirs.at(o).epoch), o < s.broker[leader].hw),
        )

    return every(Replica, lambda a: implies(leads_in_newest_epoch(s, a), every(Replica, lambda r: known(a, r))))


def reaches_own_epoch(s: State, leader: Replica, f: Replica) -> Bool:
    """The leader knows that the follower has its high watermark and everything below its own epoch."""
    known = s.known_end[leader][f]
    return (known >= s.broker[leader].hw) & (known >= epoch_start(s, leader))


def pending_has_caught_up(s: State) -> Bool:
    """Whom the newest leader asks to take into the ISR has reached its high watermark and its epoch."""

    def has(leader: Replica, f: Replica) -> Bool:
        broker = s.broker[leader]
        joins = broker.pending.contains(f) & ~broker.isr.contains(f)
        return implies(leads_in_newest_epoch(s, leader) & joins, reaches_own_epoch(s, leader, f))

    if not asynchronous_isr.on:
        return truth(True)
    return every(Replica, lambda a: every(Replica, lambda f: has(a, f)))


def isr_is_counted(s: State) -> Bool:
    """The newest leader counts every member of the controller's ISR, and every eligible one while they are enough."""

    def counts(leader: Replica) -> Bool:
        members = counted_isr(s, leader)
        in_sync = every(s.controller.isr, lambda r: members.contains(r))
        if not (eligible_leader_replicas.on and strict_min_isr.on):
            return in_sync
        return in_sync & every(s.controller.elr, lambda r: members.contains(r) | ~enough_in_sync(s.broker[leader].isr))

    return every(Replica, lambda a: implies(leads_in_newest_epoch(s, a), counts(a)))


def commit_quorum(s: State) -> Bool:
    """What any broker takes for committed, every electable one holds."""

    def held(r: Replica) -> Bool:
        return every(
            electable(s),
            lambda m: every(Offset, lambda o: implies(o < s.broker[r].hw, s.log[r].same_record_at(s.log[m], o))),
        )

    return every(Replica, held)


def counted_is_held(s: State) -> Bool:
    """What a leader may count as committed every electable broker holds."""

    def held(leader: Replica) -> Bool:
        mine, members = s.log[leader], counted_isr(s, leader)
        enough = enough_in_sync(s.broker[leader].isr) if strict_min_isr.on else truth(True)

        def counted(o: Offset) -> Bool:
            return enough & mine.has(o) & every(members, lambda m: has_reached(s, leader, m, o + 1))

        return every(electable(s), lambda r: every(Offset, lambda o: implies(counted(o), mine.same_record_at(s.log[r], o))))

    return every(Replica, lambda a: implies(presumes_leadership(s, a), held(a)))


def _is_acked(s: State, r: Replica, o: Offset) -> Bool:
    log = s.log[r]
    return some(RecordId, lambda i: log.has(o) & (log.at(o).id == i) & (s.producer.status[i] == ACKED))


def acked_in_place(s: State) -> Bool:
    """Electable brokers hold every acknowledged record, and at the same offset."""

    def same(a: Replica, b: Replica) -> Bool:
        return every(Offset, lambda o: implies(_is_acked(s, a, o), s.log[a].same_record_at(s.log[b], o)))

    def held(r: Replica) -> Bool:
        return every(RecordId, lambda i: implies(s.producer.status[i] == ACKED, holds(s, r, i)))

    return every(electable(s), lambda a: held(a) & every(electable(s), lambda b: same(a, b)))


def acked_in_epoch(s: State) -> Bool:
    """What was acknowledged and is of the newest leader's epoch, is committed at that leader."""

    def known(leader: Replica, o: Offset) -> Bool:
        is_own = s.broker[leader].leader_epoch == s.log[leader].at(o).epoch
        return implies(_is_acked(s, leader, o) & is_own, o < s.broker[leader].hw)

    return every(Replica, lambda a: implies(leads_in_newest_epoch(s, a), every(Offset, lambda o: known(a, o))))


def written_once(s: State) -> Bool:
    """A record that was not sent is in no log, and none is in a log twice: without retries it is appended once."""

    def once(r: Replica, o: Offset) -> Bool:
        log = s.log[r]
        sent = every(RecordId, lambda i: implies(log.at(o).id == i, s.producer.status[i] != UNSENT))
        return sent & every(Offset, lambda p: implies((p < o) & log.has(p), log.at(p).id != log.at(o).id))

    return every(Replica, lambda r: every(Offset, lambda o: implies(s.log[r].has(o), once(r, o))))


def epochs_ascend(s: State) -> Bool:
    """In a log, records of later epochs are at later offsets."""

    def ascend(r: Replica, o: Offset, p: Offset) -> Bool:
        log = s.log[r]
        return implies((p < o) & log.has(o), log.at(p).epoch <= log.at(o).epoch)

    return every(Replica, lambda r: every(Offset, lambda o: every(Offset, lambda p: ascend(r, o, p))))


def eligible_only_where_too_few(s: State) -> Bool:
    """There are eligible leaders beside the ISR only while the ISR is smaller than min.insync.replicas."""
    if not eligible_leader_replicas.on:
        return truth(True)
    return s.controller.elr.is_empty | ~enough_in_sync(s.controller.isr)


def waiting_is_sent(s: State) -> Bool:
    """Who waits for an answer, waits at a leader that holds the record, for a record that has been sent."""
    if not waits.value:
        return truth(True)

    def held(i: RecordId, r: Replica) -> Bool:
        is_sent = s.producer.status[i] == SENT
        return implies(s.producer.waits_at[i] == r, presumes_leadership(s, r) & is_sent & holds(s, r, i))

    return every(RecordId, lambda i: every(Replica, lambda r: held(i, r)))


def _lemma(name: str, predicate: object, text: str, origin: str) -> Property:
    assert callable(predicate)
    return Property(name, Kind.STATE, predicate, text, origin, "the latest release, with clean crashes")


PARTITION_LEMMAS: tuple[Property, ...] = (
    _lemma("LeaderHasEpoch", leader_has_epoch, "a broker without a leader epoch has no leader", "LeaderHasEpoch of kip320"),
    _lemma("EpochHasLeader", epoch_has_leader, "a broker with a leader epoch has a leader", "KnowsLeader of kip320"),
    EPOCHS_ARE_DENSE,
    _lemma("EpochSent", epoch_sent, "no broker knows a leader epoch that was not used", "EpochSent of kip320"),
    _lemma("RecordEpoch", record_epoch, "no record is of an epoch that its broker has not reached", "RecordEpoch of kip320"),
    _lemma("HwInLog", hw_in_log, "no high watermark is beyond its log", "HwInLog of kip320"),
    _lemma("KnowsLeader", knows_leader, "brokers of one leader epoch agree on its leader", "KnowsLeader of kip320"),
    _lemma(
        "QuorumIsrHasLeader", quorum_isr_has_leader, "the controller's leader is in its ISR", "QuorumIsrHasLeader of kip320"
    ),
    _lemma(
        "OnlyLeadersKnowIsr", only_leaders_know_isr, "an ISR is known to leaders only, and has them", "IsrHasLeader of kip320"
    ),
    _lemma("LogMatchingClosed", log_matching, "logs that meet at an offset agree below", "LogMatching of kip320"),
    _lemma("WrittenByLeader", written_by_leader, "a leader holds all records of its epoch", "FollowerPrefix of kip320"),
    _lemma("TrueLeaderIsr", true_leader_isr, "the newest leader knows the committed ISR", "TrueLeaderIsr of kip320"),
    _lemma("KnownEndIsHeld", known_end_is_held, "what a leader knows of a follower is so", "FollowerPrefix of kip320"),
    _lemma("WrittenOnce", written_once, "what was not sent is nowhere, and nothing is in a log twice", "IdFresh of kip320"),
    _lemma("EpochsAscend", epochs_ascend, "records of later epochs are at later offsets", "LogEpochsAscend of kip320"),
    _lemma("WaitingIsSent", waiting_is_sent, "a producer waits for an answer at a leader with the record", "acks=all"),
    _lemma("EligibleOnlyWhereTooFew", eligible_only_where_too_few, "eligible leaders only beside a small ISR", "KIP-966"),
    _lemma("LeaderInOffice", leader_in_office, "every acting leader is the current one", "none: kip320 has stale leaders"),
    _lemma("VacantEpoch", vacant_epoch_is_unwritten, "no record of an epoch before its leader acts", "LeaderFirst"),
    _lemma("EligibleWhereEmpty", eligible_where_empty, "an empty ISR leaves somebody to elect", "KIP-966"),
    _lemma("HwInEpoch", hw_in_epoch, "what is committed of a leader's epoch is so at the leader", "HwInEpoch of kip320"),
    _lemma("PendingHasCaughtUp", pending_has_caught_up, "what joins the ISR next has caught up", "LateMember of kip320"),
    _lemma("IsrIsCounted", isr_is_counted, "the newest leader counts the whole ISR", "StaleLeader of kip320"),
    _lemma("CommitQuorum", commit_quorum, "what is committed every electable broker holds", "CommitQuorum of kip320"),
    _lemma("AckedInPlace", acked_in_place, "what is acknowledged every electable broker holds", "CommitRequest of kip320"),
    _lemma("AckedInEpoch", acked_in_epoch, "what is acknowledged of a leader's epoch is committed there", "HwInEpoch"),
    _lemma("CountedIsHeld", counted_is_held, "what a leader may count every electable broker holds", "CommitQuorum"),
)
"""Those at the bottom first. What of kip320's set is missing here does not carry over: see docs/partition_proof.md."""
