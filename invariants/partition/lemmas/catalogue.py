"""The lemmas of `partition`: what holds in every reachable state and is preserved by every step, by name.

Said in `basis` (leaders, epochs, logs) and `commits` (what is committed), in the words of `words`; `machines`, `moves` and
`controllers` have those that are asked where constants say so.
docs/partition_proof.md says what they are for and what is proved with them.
"""

from __future__ import annotations

from acked.invariants.partition.domains import EPOCHS_ARE_DENSE, leader_has_epoch
from acked.invariants.partition.lemmas import basis, commits, controllers, machines, moves
from acked.invariants.partition.lemmas.words import lemma
from acked.invariants.property import Property

PARTITION_LEMMAS: tuple[Property, ...] = (
    lemma("a broker without a leader epoch has no leader", "kip320's LeaderHasEpoch")(leader_has_epoch), EPOCHS_ARE_DENSE,
    basis.epoch_sent, basis.record_epoch, basis.hw_in_log, basis.knows_leader, basis.quorum_isr_has_leader,
    basis.only_leaders_know_isr, basis.log_matching_closed, basis.written_by_leader, basis.epochs_ascend, basis.vacant_epoch,
    basis.truncated_follower, basis.true_leader_isr, commits.eligible_only_where_too_few, commits.deposed_is_out,
    commits.late_follower, commits.known_end_is_held, commits.hw_in_epoch, commits.pending_has_caught_up,
    commits.isr_is_counted, commits.stale_leader, commits.commit_quorum, commits.acked_in_place,
)  # fmt: skip
"""Those at the bottom first; with the lemma of KIP-320's proof that each comes from, if any."""

MACHINE_LEMMAS: tuple[Property, ...] = (machines.leaders_are_true, machines.killed_are_eligible, machines.somebody_is_left)
"""What it takes besides where one machine may die, an in-sync replica's too."""

MOVE_LEMMAS: tuple[Property, ...] = (
    moves.isr_are_replicas, moves.counted_are_assigned, moves.assignment_is_known, moves.named_are_replicas,
)  # fmt: skip
"""What it takes besides where an operator moves the partition."""

RETURN_LEMMAS: tuple[Property, ...] = (moves.removed_are_late, moves.returned_are_out)
"""And where it may be moved more than once, so that a broker that was removed comes back."""

CONTROLLER_EPOCHS_ARE_DENSE = controllers.controller_epochs_are_dense

CONTROLLER_LEMMAS: tuple[Property, ...] = (
    controllers.newest_controller, CONTROLLER_EPOCHS_ARE_DENSE, controllers.controllers_know,
    controllers.requests_reach_the_living, controllers.one_leader, controllers.requested_isr, controllers.office_is_held,
    controllers.told_are_behind, controllers.office_began, controllers.truncated_for_office, controllers.known_follow,
)  # fmt: skip
"""What it takes besides where several controllers fail over, and leadership ends with its broker alone."""

RECORDS_ASCEND = basis.records_ascend
"""What the promises of an idempotent producer need besides; nothing above needs it."""

READ_IN_PLACE = commits.read_in_place
"""What a consumer's reads need besides; nothing above needs it."""
