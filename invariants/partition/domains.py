"""Facts about how the state of `partition` is kept, which its domain proofs and its ranks of leader epochs rest on."""

from __future__ import annotations

from acked.invariants.property import Kind, Property
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, some
from acked.model.language.values import Bool
from acked.model.partition.rules.controllers import many_controllers
from acked.model.partition.rules.facts import asks_in_epoch, keeps_empty_epochs
from acked.model.partition.state import Epoch, Offset, Replica, State
from acked.model.partition.vocabulary.candidates import known_leader_epochs


def leader_has_epoch(s: State) -> Bool:
    """A broker without a leader epoch has no leader, so a record never lacks the epoch of the leader that wrote it.

    Without it Produce breaks domains (2, 1, 1).
    """
    return every(Replica, lambda r: implies(s.broker[r].leader_epoch.is_none, s.broker[r].leader.is_none))


def _is_in_use(s: State, epoch: Epoch) -> Bool:
    known = some(Replica, lambda r: s.broker[r].leader_epoch == epoch)
    written = some(Replica, lambda r: some(Offset, lambda o: s.log[r].has(o) & (s.log[r].at(o).epoch == epoch)))
    in_use = (s.controller.leader_epoch == epoch) | known | written
    if keeps_empty_epochs.on:
        in_use |= some(Replica, lambda r: s.broker[r].empty_epoch == epoch)
    if asks_in_epoch.on:
        in_use |= s.consumer.epoch == epoch
    if many_controllers.on:
        for is_known, believed in known_leader_epochs(s):
            in_use |= is_known & (believed == epoch)
    return in_use


def epochs_are_dense(s: State) -> Bool:
    """Below every leader epoch in use lie only leader epochs in use: ranks neither have gaps nor run out.

    So there is a rank for the next one. Without it ElectLeader breaks EpochSent (2, 1, 1).
    """
    return every_two(Epoch, Epoch, lambda high, low: implies((low < high) & _is_in_use(s, high), _is_in_use(s, low)))


DOMAIN_LEMMAS: tuple[Property, ...] = (
    Property(
        "LeaderHasEpoch",
        Kind.STATE,
        leader_has_epoch,
        "a broker without a leader epoch has no leader, so a record never lacks the epoch of the leader that wrote it",
        "leader and leader epoch are taken up together",
        "every version",
    ),
)
"""Every lemma of the domain proof."""

EPOCHS_ARE_DENSE = Property(
    "EpochsAreDense",
    Kind.STATE,
    epochs_are_dense,
    "leader epochs, kept by rank, are renumbered without gaps, so there is always a rank for the next one",
    "docs/abstractions.md",
    "every version, with any number of elections",
)
"""Checked by search rather than proved: it is about reachable states."""
