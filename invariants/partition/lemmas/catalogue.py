"""The lemmas of `partition`: what holds in every reachable state and is preserved by every step, by name.

Said in `basis` (leaders, epochs, logs) and `commits` (what is committed), in the words of `words`; `machines`, `moves` and
`controllers` have those that are asked where constants say so.
docs/partition_proof.md says what they are for and what is proved with them.
"""

from __future__ import annotations

from acked.invariants.partition.domains import EPOCHS_ARE_DENSE, leader_has_epoch
from acked.invariants.partition.lemmas import basis, commits, controllers, machines, moves
from acked.invariants.property import Kind, Property


def _lemma(name: str, predicate: object, text: str, origin: str) -> Property:
    assert callable(predicate)
    return Property(name, Kind.STATE, predicate, text, origin, "the latest release, where no in-sync replica loses its log")


PARTITION_LEMMAS: tuple[Property, ...] = (
    _lemma("LeaderHasEpoch", leader_has_epoch, "a broker without a leader epoch has no leader", "kip320's LeaderHasEpoch"),
    EPOCHS_ARE_DENSE,
    _lemma("EpochSent", basis.epoch_sent, "no broker knows a leader epoch that was not used", "kip320's EpochSent"),
    _lemma("RecordEpoch", basis.record_epoch, "no record is of an epoch beyond its broker's", "kip320's RecordEpoch"),
    _lemma("HwInLog", basis.hw_in_log, "no high watermark is beyond its log", "kip320's HwInLog"),
    _lemma("KnowsLeader", basis.knows_leader, "brokers of one leader epoch agree on its leader", "kip320's KnowsLeader"),
    _lemma("QuorumIsrHasLeader", basis.quorum_isr_has_leader, "the leader is in the ISR", "kip320's QuorumIsrHasLeader"),
    _lemma(
        "OnlyLeadersKnowIsr", basis.only_leaders_know_isr, "only leaders know an ISR, and are in it", "kip320's IsrHasLeader"
    ),
    _lemma("LogMatchingClosed", basis.log_matching, "logs that meet at an offset agree below", "kip320's LogMatching"),
    _lemma("WrittenByLeader", basis.written_by_leader, "a leader holds all records of its epoch", "kip320's FollowerPrefix"),
    _lemma("EpochsAscend", basis.epochs_ascend, "records of later epochs are at later offsets", "kip320's LogEpochsAscend"),
    _lemma(
        "VacantEpoch", basis.vacant_epoch_is_unwritten, "no record of an epoch before its leader acts", "kip320's LeaderFirst"
    ),
    _lemma(
        "TruncatedFollower", basis.truncated_follower, "a truncated log is its leader's prefix", "kip320's FollowerPrefix"
    ),
    _lemma("TrueLeaderIsr", basis.true_leader_isr, "the newest leader knows the committed ISR", "kip320's TrueLeaderIsr"),
    _lemma(
        "EligibleOnlyWhereTooFew", commits.eligible_only_where_too_few, "eligible leaders only beside a small ISR", "KIP-966"
    ),
    _lemma("DeposedIsOut", commits.deposed_is_out, "who is deposed and does not know is out of the ISR", "zombies"),
    _lemma("LateFollower", commits.late_follower_is_unknown, "of who is late nothing is known", "kip320's LateMember"),
    _lemma("KnownEndIsHeld", commits.known_end_is_held, "what a leader knows of a follower is so", "kip320's FollowerPrefix"),
    _lemma(
        "HwInEpoch", commits.hw_in_epoch, "what is committed of a leader's epoch is so at the leader", "kip320's HwInEpoch"
    ),
    _lemma(
        "PendingHasCaughtUp", commits.pending_has_caught_up, "what joins the ISR next has caught up", "kip320's LateMember"
    ),
    _lemma("IsrIsCounted", commits.isr_is_counted, "the newest leader counts every electable broker", "kip320's StaleLeader"),
    _lemma("StaleLeader", commits.stale_leader, "what a stale leader may yet commit is held", "kip320's StaleLeader"),
    _lemma("CommitQuorum", commits.commit_quorum, "what is committed every heeded broker holds", "kip320's CommitQuorum"),
    _lemma(
        "AckedInPlace", commits.acked_in_place, "what is acknowledged every heeded broker holds", "kip320's CommitRequest"
    ),
)
"""Those at the bottom first; with the lemma of KIP-320's proof that each comes from, if any."""

MACHINE_LEMMAS: tuple[Property, ...] = (
    _lemma("LeadersAreTrue", machines.leaders_are_true, "who acts as leader is the controller's", "no zombies, no moves"),
    _lemma("KilledAreEligible", machines.killed_are_eligible, "whose machine died is down and eligible", "KIP-966"),
    _lemma("SomebodyIsLeft", machines.somebody_is_left, "two may be elected, or one after a machine died", "KIP-966"),
)
"""What it takes besides where one machine may die, an in-sync replica's too."""

MOVE_LEMMAS: tuple[Property, ...] = (
    _lemma("IsrAreReplicas", moves.isr_are_replicas, "every member of the ISR is a replica", "KIP-455"),
    _lemma("CountedAreAssigned", moves.counted_are_assigned, "a leader counts those that it knows as replicas", "KIP-455"),
    _lemma("AssignmentIsKnown", moves.assignment_is_known, "the leader knows the assignment, or it is news", "KIP-455"),
    _lemma("NamedAreReplicas", moves.named_are_replicas, "before a move every eligible leader is a replica", "KIP-966"),
)
"""What it takes besides where an operator moves the partition."""

RETURN_LEMMAS: tuple[Property, ...] = (
    _lemma("RemovedAreLate", moves.removed_are_late, "who was removed is in no epoch of a present leader", "KIP-455"),
    _lemma("ReturnedAreOut", moves.returned_are_out, "who may delete its log though it is back does not count", "KIP-455"),
)
"""And where it may be moved more than once, so that a broker that was removed comes back."""

CONTROLLER_EPOCHS_ARE_DENSE = _lemma(
    "ControllerEpochsAreDense", controllers.controller_epochs_are_dense, "no rank is left out", "docs/abstractions.md"
)

CONTROLLER_LEMMAS: tuple[Property, ...] = (
    _lemma("NewestController", controllers.newest_controller, "who holds /controller has the newest epoch", "KAFKA-6082"),
    CONTROLLER_EPOCHS_ARE_DENSE,
    _lemma("ControllersKnow", controllers.controllers_know, "what a controller believes was so", "kip320's KnowsLeader"),
    _lemma("RequestsReachTheLiving", controllers.requests_reach_the_living, "requests are for those who are up", "KIP-380"),
    _lemma("OneLeader", controllers.one_leader, "who leads, or is about to, is ZooKeeper's leader", "no zombies, no moves"),
    _lemma("RequestedIsr", controllers.requested_isr, "a request to lead has all of the ISR", "kip320's RequestIsrHasLeader"),
    _lemma("OfficeIsHeld", controllers.office_is_held, "who is to lead holds its epoch's records", "kip320's LeaderFirst"),
    _lemma("ToldAreBehind", controllers.told_are_behind, "no request is older than a restarted broker's log", "KIP-380"),
    _lemma("OfficeBegan", controllers.office_began, "from its office on a leader's log is its own", "KAFKA-7128"),
    _lemma("TruncatedForOffice", controllers.truncated_for_office, "who has truncated is its leader's prefix", "KIP-101"),
    _lemma("KnownFollow", controllers.known_follow, "of whom a leader knows something follows it", "kip320's FollowerPrefix"),
)
"""What it takes besides where several controllers fail over, and leadership ends with its broker alone."""

RECORDS_ASCEND = _lemma(
    "RecordsAscend", basis.records_ascend, "records of a producer id are in a log once and in order", "KIP-98"
)
"""What the promises of an idempotent producer need besides; nothing above needs it."""
