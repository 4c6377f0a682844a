"""The lemmas of `partition` about what is committed: who holds it, who may yet commit, and who is counted.

What a leader knows of its followers, which brokers it counts, and what stale leaders may yet do. Each says what it is for,
and which action breaks which claim if it is left out (at the constants given: brokers, offsets, records).
"""

from __future__ import annotations

from acked.invariants.partition.lemmas.words import (
    epochs_run_ahead,
    every_electable,
    every_heeded,
    is_behind_leader,
    is_electable,
    is_heeded,
    knows_no_more,
    leads_in_newest_epoch,
    lemma,
    may_commit,
    may_yet_join,
    reaches_own_epoch,
)
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import counted_isr, enough_in_sync, presumes_leadership, share_epoch
from acked.model.partition.rules import settings
from acked.model.partition.state import ACKED, Offset, RecordId, Replica, State


@lemma("eligible leaders only beside a small ISR", "KIP-966")
def eligible_only_where_too_few(s: State) -> Bool:
    """There are eligible leaders beside the ISR only while the ISR is smaller than min.insync.replicas.

    So a leader that may commit need not count them (KIP-966). Without it LearnIsr breaks IsrIsCounted (2, 1, 1).
    """
    if not settings.eligible_leader_replicas.on:
        return truth(True)
    # Who was removed may stay named, and is not elected.
    elr = s.controller.elr & s.controller.replicas if settings.reassignment.on else s.controller.elr
    return elr.is_empty | ~enough_in_sync(s.controller.isr, s.controller.replicas)


@lemma("who is deposed and does not know is out of the ISR", "zombies")
def deposed_is_out(s: State) -> Bool:
    """Where leadership never moves, who leads no more and does not know it is out of the ISR, or alone in it.

    Nor will it join: for that it would follow another leader. So who is elected again without having noticed counts nobody
    but itself, and it does no harm that it goes on with what it knew (`reelection_forgets_ends` off, to 4.4). Where epochs
    run ahead it may also have led all the time: then it knows of the ISR what is so. Without it BecomeLeader breaks
    LateFollower (2, 1, 1, Kafka 4.1 with zombies).
    """
    if settings.reelection_forgets_ends.on or settings.leadership_moves.on:
        return truth(True)

    def is_out(r: Replica) -> Bool:
        isr, is_elected = s.controller.isr, s.controller.leader == r
        joins = some(Replica, lambda m: may_yet_join(s, m, r)) if settings.asynchronous_isr.on else truth(False)
        is_deposed = presumes_leadership(s, r) & ~is_elected
        is_elected_again = presumes_leadership(s, r) & is_elected & ~leads_in_newest_epoch(s, r)
        out = implies(is_deposed, (~isr.contains(r) | isr.is_only(r)) & ~joins)
        alone = isr.is_only(r)
        if epochs_run_ahead():
            alone |= every(isr, lambda f: (f == r) | (counted_isr(s, r).contains(f) & knows_no_more(s, r, f)))
        return out & implies(is_elected_again, alone)

    return every(Replica, is_out)


@lemma("of who is late nothing is known", "kip320's LateMember")
def late_follower(s: State) -> Bool:
    """Of a broker that it counts and that is in an older epoch a leader knows nothing, or nothing that could change.

    Such a broker may still truncate to the leader that it has; whatever were known of it could be wrong at any time. Leaders
    have to forget what they knew when they take office again (`reelection_forgets_ends`), or to count nobody else then.
    Without it Produce breaks KnownEndIsHeld (2, 1, 1).
    """
    if not settings.reelection_forgets_ends.on and settings.leadership_moves.on:
        return truth(True)

    def is_unknown(leader: Replica, f: Replica) -> Bool:
        mine, theirs = s.broker[leader], s.broker[f].leader_epoch
        is_late = presumes_leadership(s, leader) & theirs.is_some & (theirs < mine.leader_epoch)
        return implies(is_late & counted_isr(s, leader).contains(f), knows_no_more(s, leader, f))

    return every_two(Replica, Replica, is_unknown)


@lemma("what a leader knows of a follower is so", "kip320's FollowerPrefix")
def known_end_is_held(s: State) -> Bool:
    """As far as a leader knows a broker that it counts, their logs do not disagree.

    It is so of the newest leader about everybody whom it counts, of a stale one about those who follow it still: who has
    left may have truncated to the next leader. Who may be elected or may yet join the ISR has as much as is known of it; only
    others can have lost a suffix. This is what makes a high watermark mean something. Without it LearnIsr breaks
    CommitQuorum (2, 1, 1).
    """

    def is_held(leader: Replica, f: Replica) -> Bool:
        known, mine, theirs = s.known_end[leader][f], s.log[leader], s.log[f]
        agree = every(Offset, lambda o: implies((known > o) & theirs.has(o), theirs.same_record_at(mine, o)))
        is_counted = presumes_leadership(s, leader) & counted_isr(s, leader).contains(f)
        in_touch = leads_in_newest_epoch(s, leader) | share_epoch(s, leader, f)
        if epochs_run_ahead():
            in_touch |= (s.controller.leader == leader) & s.controller.isr.contains(f)
        keeps = is_electable(s, f)
        if settings.asynchronous_isr.on:
            keeps |= may_yet_join(s, leader, f)
        return implies(is_counted & in_touch & (leader != f), agree & implies(keeps, known <= theirs.end))

    return every_two(Replica, Replica, is_held)


@lemma("what is committed of a leader's epoch is so at the leader", "kip320's HwInEpoch")
def hw_in_epoch(s: State) -> Bool:
    """What is committed anywhere and is of the newest leader's epoch, is committed at that leader.

    So who has reached the leader's high watermark and its epoch's start holds all that is committed (KAFKA-7128). Without
    it CommitAlterPartition breaks CommitQuorum (3, 1, 1).
    """

    def is_known(leader: Replica, r: Replica) -> Bool:
        own, theirs = s.broker[leader].leader_epoch, s.log[r]
        return every(
            Offset,
            lambda o: implies((o < s.broker[r].hw) & (own == theirs.at(o).epoch), is_behind_leader(s, leader, o)),
        )

    return every(Replica, lambda a: implies(leads_in_newest_epoch(s, a), every(Replica, lambda r: is_known(a, r))))


@lemma("what joins the ISR next has caught up", "kip320's LateMember")
def pending_has_caught_up(s: State) -> Bool:
    """Whom the newest leader asks to take into the ISR, and may yet get, has reached its high watermark and its epoch.

    "May yet get" is KIP-903: a request that names a broker which has crashed since is refused. Without it
    CommitAlterPartition breaks CommitQuorum (2, 1, 1).
    """
    if not settings.asynchronous_isr.on:
        return truth(True)

    def has(leader: Replica, f: Replica) -> Bool:
        joins = may_yet_join(s, leader, f) & ~s.broker[leader].isr.contains(f)
        return implies(joins, reaches_own_epoch(s, leader, f))

    return every_two(Replica, Replica, has)


@lemma("the newest leader counts every electable broker", "kip320's StaleLeader")
def isr_is_counted(s: State) -> Bool:
    """The newest leader counts every member of the controller's ISR, and while it may commit every electable broker.

    So what it commits whoever is elected next holds. Without it Produce breaks CommitQuorum (2, 1, 1).
    """

    def counts(leader: Replica) -> Bool:
        members = counted_isr(s, leader)
        in_sync = every(s.controller.isr, lambda r: members.contains(r))
        return in_sync & implies(may_commit(s, leader), every_electable(s, lambda r: members.contains(r)))

    return every(Replica, lambda a: implies(leads_in_newest_epoch(s, a), counts(a)))


@lemma("what a stale leader may yet commit is held", "kip320's StaleLeader")
def stale_leader(s: State) -> Bool:
    """What a stale leader may yet commit every heeded broker holds, or is counted by it and follows it still.

    It may yet commit at an offset if everybody whom it counts is in its epoch still, or known to it to be beyond the offset.
    Nobody enters an epoch that is not the newest: who has left, however that was, will never tell it more. Without it Produce
    breaks AckedInPlace, CommitQuorum (2, 1, 1).
    """

    def is_held(leader: Replica) -> Bool:
        mine, members = s.log[leader], counted_isr(s, leader)

        def may_yet(o: Offset) -> Bool:
            return every(members, lambda m: share_epoch(s, leader, m) | (s.known_end[leader][m] > o))

        def has(r: Replica, o: Offset) -> Bool:
            return mine.same_record_at(s.log[r], o) | (members.contains(r) & share_epoch(s, leader, r))

        return every_heeded(s, lambda r: every(Offset, lambda o: implies(may_yet(o), has(r, o))))

    def is_stale(leader: Replica) -> Bool:
        return presumes_leadership(s, leader) & ~leads_in_newest_epoch(s, leader) & may_commit(s, leader)

    return every(Replica, lambda a: implies(is_stale(a), is_held(a)))


@lemma("what is committed every heeded broker holds", "kip320's CommitQuorum")
def commit_quorum(s: State) -> Bool:
    """What any broker takes for committed, every heeded one holds.

    This is what elections rest on. Without it BecomeLeader breaks AckedInPlace (2, 1, 1).
    """

    def is_held(r: Replica) -> Bool:
        return every_heeded(
            s,
            lambda m: every(Offset, lambda o: implies(o < s.broker[r].hw, s.log[r].same_record_at(s.log[m], o))),
        )

    return every(Replica, is_held)


@lemma("what is acknowledged every heeded broker holds", "kip320's CommitRequest")
def acked_in_place(s: State) -> Bool:
    """Every acknowledged record has an offset at which all heeded brokers hold it, and the newest leader knows that.

    It knows that it is committed there, if it is of its own epoch. A retry may have put the record at other offsets too.
    Without it ElectLeader breaks AckedRecordsInIsr (2, 1, 1).
    """

    return every(RecordId, lambda i: implies(s.producer.status[i] == ACKED, some(Offset, lambda o: _is_placed(s, i, o))))


def _is_placed(s: State, i: RecordId, o: Offset) -> Bool:
    there = every_heeded(s, lambda a: s.log[a].has(o) & (s.log[a].at(o).id == i))
    alike = every_heeded(s, lambda a: every_heeded(s, lambda b: s.log[a].same_record_at(s.log[b], o)))

    def is_known(leader: Replica) -> Bool:
        own = s.broker[leader].leader_epoch
        of_own = some(Replica, lambda a: is_heeded(s, a) & (own == s.log[a].at(o).epoch))
        return implies(leads_in_newest_epoch(s, leader) & of_own, is_behind_leader(s, leader, o))

    return there & alike & every(Replica, is_known)


@lemma("what a consumer has read every heeded broker holds", "AckedInPlace, of what was read")
def read_in_place(s: State) -> Bool:
    """Where a consumer read, every heeded broker holds what it read, and the newest leader knows that if it is of its epoch.

    Whoever read below a high watermark read what is committed. Without it BecomeLeader breaks ReadsStay (2, 1, 1).
    """
    return every(Offset, lambda o: implies(s.consumer.offset == o, _is_placed(s, s.consumer.record, o)))
