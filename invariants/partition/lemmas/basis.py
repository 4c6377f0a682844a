"""The lemmas of `partition` about leaders, epochs and logs: what stands by itself, whatever is committed.

Who knows which epoch and which leader, what an ISR is known to, and how logs agree. Each says what it is for, and which
action breaks which claim if it is left out (at the constants given: brokers, offsets, records).
"""

from __future__ import annotations

from acked.invariants.partition.lemmas.words import leads_in_newest_epoch, lemma
from acked.invariants.quantifiers import every_three, every_two, same_until
from acked.model.language.quantify import every, implies, truth
from acked.model.language.values import Bool
from acked.model.partition.common import presumes_leadership, share_epoch
from acked.model.partition.rules.controllers import many_controllers
from acked.model.partition.rules.facts import truncates_by_request
from acked.model.partition.rules.settings import asynchronous_isr, idempotence, sequence_check
from acked.model.partition.state import Epoch, Offset, Replica, State


@lemma("no broker knows a leader epoch that was not used", "kip320's EpochSent")
def epoch_sent(s: State) -> Bool:
    """No broker knows a leader epoch that the controller has not used.

    So an election takes an epoch that nobody is in yet. Without it Produce breaks RecordEpoch (2, 1, 1).
    """

    def is_known(r: Replica) -> Bool:
        epoch = s.broker[r].leader_epoch
        return epoch.is_none | (epoch <= s.controller.leader_epoch)

    return every(Replica, is_known)


@lemma("no record is of an epoch beyond its broker's", "kip320's RecordEpoch")
def record_epoch(s: State) -> Bool:
    """No log holds a record of a leader epoch that the controller has not used, or that its broker has not reached.

    So nothing is written in an epoch before it begins. Without it ElectLeader breaks VacantEpoch (2, 1, 1).
    """

    def has_reached(r: Replica, epoch: Epoch) -> Bool:
        known = s.broker[r].leader_epoch
        return (epoch <= s.controller.leader_epoch) & (known.is_none | (known >= epoch))

    return every_two(Replica, Offset, lambda r, o: implies(s.log[r].has(o), has_reached(r, s.log[r].at(o).epoch)))


@lemma("no high watermark is beyond its log", "kip320's HwInLog")
def hw_in_log(s: State) -> Bool:
    """No high watermark is beyond its log.

    While nobody can be elected no other lemma says so. Without it Crash breaks HwInEpoch (3, 1, 1).
    """
    return every(Replica, lambda r: s.broker[r].hw <= s.log[r].end)


@lemma("brokers of one leader epoch agree on its leader", "kip320's KnowsLeader")
def knows_leader(s: State) -> Bool:
    """Brokers of one leader epoch agree on its leader, and in the newest they agree with the controller.

    So no epoch has two leaders. Without it Produce breaks WrittenByLeader (2, 1, 1).
    """

    def agree(a: Replica, b: Replica) -> Bool:
        known = s.broker[a].leader_epoch
        return implies(known.is_some & (known == s.broker[b].leader_epoch), s.broker[a].leader == s.broker[b].leader)

    def agrees_with_election(r: Replica) -> Bool:
        is_newest = s.broker[r].leader_epoch == s.controller.leader_epoch
        return implies(is_newest & s.controller.leader.is_some, s.broker[r].leader == s.controller.leader)

    return every(Replica, agrees_with_election) & every_two(Replica, Replica, agree)


@lemma("the leader is in the ISR", "kip320's QuorumIsrHasLeader")
def quorum_isr_has_leader(s: State) -> Bool:
    """The controller's leader is in its ISR.

    So whoever counts the ISR counts the leader. Without it LearnIsr breaks OnlyLeadersKnowIsr (2, 1, 1).
    """
    return every(Replica, lambda r: implies(s.controller.leader == r, s.controller.isr.contains(r)))


@lemma("only leaders know an ISR, and are in it", "kip320's IsrHasLeader")
def only_leaders_know_isr(s: State) -> Bool:
    """Who does not presume leadership keeps no ISR, no change of it and no follower's log end; a leader is in its own ISR.

    So the ISR that a leader asks for has the leader. Without it CommitAlterPartition breaks QuorumIsrHasLeader (2, 1, 1).
    """

    def keeps(r: Replica) -> Bool:
        mine = s.broker[r]
        blank = mine.isr.is_empty & every(Replica, lambda f: s.known_end[r][f].is_none)
        full = mine.isr.contains(r)
        if asynchronous_isr.on:
            blank &= mine.pending.is_empty & ~mine.outdated
            full &= mine.pending.is_empty | mine.pending.contains(r)
        return implies(presumes_leadership(s, r), full) & implies(~presumes_leadership(s, r), blank)

    return every(Replica, keeps)


@lemma("logs that meet at an offset agree below", "kip320's LogMatching")
def log_matching_closed(s: State) -> Bool:
    """Two logs that hold records of one leader epoch at an offset hold the same records there and below.

    So a leader that knows the epoch of a fetch's last record knows what lies below it. Without it FetchNothingNew breaks
    CommitQuorum, CommittedInIsr, KnownEndIsHeld (2, 2, 1).
    """

    def same_up_to(a: Replica, b: Replica, o: Offset) -> Bool:
        here, there = s.log[a], s.log[b]
        is_met = here.has(o) & there.has(o) & (here.at(o).epoch == there.at(o).epoch)
        return implies(is_met, same_until(here, there, o))

    return every_three(Replica, Replica, Offset, same_up_to)


@lemma("a leader holds all records of its epoch", "kip320's FollowerPrefix")
def written_by_leader(s: State) -> Bool:
    """Who takes itself for the leader, rightly or not, holds every record of its own epoch that anybody holds.

    So what it appends next differs from all that is. Without it Produce breaks LogMatchingClosed (2, 2, 1).
    """

    def holds_its_own(leader: Replica, r: Replica) -> Bool:
        own, mine, theirs = s.broker[leader].leader_epoch, s.log[leader], s.log[r]
        return every(
            Offset, lambda o: implies(theirs.has(o) & (own == theirs.at(o).epoch), theirs.same_record_at(mine, o))
        )

    return every(
        Replica, lambda a: implies(presumes_leadership(s, a), every(Replica, lambda r: holds_its_own(a, r)))
    )


@lemma("the newest leader knows the committed ISR", "kip320's TrueLeaderIsr")
def true_leader_isr(s: State) -> Bool:
    """The current leader in the newest epoch knows the committed ISR, or there is news for it.

    So a change that is not outdated changes what the leader counts. Without it RefuseAlterPartition breaks
    IsrIsCounted (2, 1, 1).
    """
    if not asynchronous_isr.on:
        return truth(True)

    def knows(r: Replica) -> Bool:
        is_told = leads_in_newest_epoch(s, r) & (s.controller.leader == r) & ~s.broker[r].outdated
        return implies(is_told, s.broker[r].isr == s.controller.isr)

    return every(Replica, knows)


@lemma("no record of an epoch before its leader acts", "kip320's LeaderFirst")
def vacant_epoch(s: State) -> Bool:
    """Until an elected leader takes office there is no record of its epoch.

    kip320's LeaderFirst says that nobody follows before; here a broker does, as soon as it hears. Without it BecomeLeader
    breaks WrittenByLeader (2, 1, 1).
    """
    if many_controllers.on:
        return truth(True)  # A leader may take office twice: what is so then says OfficeIsHeld.

    def is_unwritten(r: Replica) -> Bool:
        return every(Offset, lambda o: ~(s.log[r].has(o) & (s.log[r].at(o).epoch == s.controller.leader_epoch)))

    def is_vacant(leader: Replica) -> Bool:
        return (s.controller.leader == leader) & ~leads_in_newest_epoch(s, leader)

    return every(Replica, lambda a: implies(is_vacant(a), every(Replica, is_unwritten)))


@lemma("records of later epochs are at later offsets", "kip320's LogEpochsAscend")
def epochs_ascend(s: State) -> Bool:
    """In a log, records of later epochs are at later offsets.

    So who has reached where a leader's epoch starts has everything older. Without it AskToExpand breaks
    PendingHasCaughtUp (2, 2, 1).
    """

    def ascend(r: Replica, o: Offset, p: Offset) -> Bool:
        log = s.log[r]
        return implies((p < o) & log.has(o), log.at(p).epoch <= log.at(o).epoch)

    return every_three(Replica, Offset, Offset, ascend)


@lemma("a truncated log is its leader's prefix", "kip320's FollowerPrefix")
def truncated_follower(s: State) -> Bool:
    """Where truncation is a request (to 2.7): who has truncated in its leader's epoch holds nothing that the leader lacks.

    And nobody has, in an epoch that its leader has not taken up; who has yet to truncate does not lead, and is not behind its
    own last record. From 2.8 on the leader compares epochs at each fetch instead. Without it FetchNothingNew breaks
    KnownEndIsHeld (2, 1, 1, Kafka 2.7).
    """
    if not truncates_by_request.on:
        return truth(True)

    def has(leader: Replica, f: Replica) -> Bool:
        mine, theirs = s.log[leader], s.log[f]
        is_told = presumes_leadership(s, leader) & (leader != f) & share_epoch(s, leader, f) & ~s.broker[f].truncating
        within = every(Offset, lambda o: implies(theirs.has(o), theirs.same_record_at(mine, o)))
        is_vacant = (s.controller.leader == leader) & ~leads_in_newest_epoch(s, leader)
        is_newest = s.broker[f].leader_epoch == s.controller.leader_epoch
        if many_controllers.on:  # A leader may take office twice: see OfficeIsHeld and TruncatedForOffice.
            return implies(is_told, within)
        return implies(is_told, within) & implies(is_vacant & is_newest, s.broker[f].truncating)

    def may_truncate(r: Replica) -> Bool:
        log, known = s.log[r], s.broker[r].leader_epoch
        # The leader knows the epoch that it is asked for, so it answers with an offset.
        is_known = log.is_empty | (log.last.epoch <= known.value)
        return implies(s.broker[r].truncating, ~presumes_leadership(s, r) & is_known)

    return every(Replica, may_truncate) & every_two(Replica, Replica, has)


@lemma("records of a producer id are in a log once and in order", "KIP-98")
def records_ascend(s: State) -> Bool:
    """With idempotence: in a log the records of one producer id are in the order in which they were given to it, each once.

    A leader takes a record only if it holds neither that one nor a later one of that producer (KIP-98); followers copy.
    Nothing rests on it but what consumers see: each record once (NoDuplicates), and in order (NoReordering).
    """
    if not (idempotence.on and sequence_check.on):
        return truth(True)

    def ascend(r: Replica, o: Offset, p: Offset) -> Bool:
        earlier, later = s.log[r].at(p), s.log[r].at(o)
        return implies((p < o) & s.log[r].has(o) & (earlier.session == later.session), earlier.id < later.id)

    return every_three(Replica, Offset, Offset, ascend)
