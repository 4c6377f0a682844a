"""The promises of `coordinator`: what consumers and transactional producers are told of committed offsets.

Floor 1.
"""

from __future__ import annotations

from acked.invariants.property import Property, promise
from acked.model.coordinator.common import is_owner, leads_newest, newest_offsets, offsets_of, tells
from acked.model.coordinator.settings import some_rebalances, transactions
from acked.model.coordinator.state import ACTIVE, Broker, Epoch, State
from acked.model.language.quantify import every, implies
from acked.model.language.values import Bool

_SINCE = (
    "4.2.2, 4.3.1 and 4.4 but for row 96 of the gallery, with clean elections, as long as one replica in sync keeps its disk"
)
_OFFSETS = "the documentation, Distribution: consumer offset tracking"


@promise(
    "a commit that was acknowledged, or a later one, is what the next owner of the group reads",
    f"{_OFFSETS}; OffsetFetch with requireStable (KIP-447)",
    _SINCE,
)
def acknowledged_commits_survive(s: State) -> Bool:
    """An active coordinator on the newest leader has a commit in memory that is no older than the last acknowledged one."""

    def has(r: Broker) -> Bool:
        offsets = newest_offsets(s, r)
        return (offsets.value >= s.acked) | (offsets.pending > 0)

    return every(Broker, lambda r: implies(is_owner(s, r), has(r)))


@promise(
    "a fetch of offsets that does not require stable ones returns no older offset than was acknowledged",
    "OffsetFetch without requireStable, which reads what the coordinator knows to be committed",
    "no release from 4.0 on",
    lacks=lambda has: "" if has["queues_requests"] else "before 4.0 such a fetch reads what is loaded; set queues_requests",
)
def plain_fetches_are_current(s: State) -> Bool:
    """What an active coordinator on the newest leader knows to be committed is no older than what was acknowledged."""

    def has(r: Broker) -> Bool:
        return offsets_of(s, r, s.broker[r].committed).value >= s.acked

    return every(Broker, lambda r: implies(is_owner(s, r), has(r)))


@promise(
    "an aborted transaction's offsets are never used",
    "KIP-98, KIP-447",
    "3.9.1",
    lacks=lambda has: "" if has["transactions"] else "there is no transaction; set transactions",
)
def aborted_offsets_are_unused(s: State) -> Bool:
    """No active coordinator has the offset in use that was aborted last."""

    def uses(r: Broker) -> Bool:
        return (s.broker[r].phase == ACTIVE) & (s.aborted > 0) & (newest_offsets(s, r).value == s.aborted)

    return every(Broker, lambda r: ~uses(r))


@promise(
    "a member whose partition was given to another cannot commit under its former generation",
    "KIP-848; ILLEGAL_GENERATION, STALE_MEMBER_EPOCH",
    _SINCE,
    lacks=lambda has: "" if has["rebalances"] else "the group never rebalances; set rebalances",
)
def replaced_owners_are_fenced(s: State) -> Bool:
    """An active coordinator on the newest leader knows the newest generation that a member knows."""
    return every(Broker, lambda r: implies(is_owner(s, r), newest_offsets(s, r).generation >= s.generation))


@promise(
    "the owners of a group, one after the other, act as one that never fails: a consumer is told the last commit that counts "
    "or a later one, none older than was told before and none that was aborted, and who was replaced commits no more",
    "what `delivery` takes for granted of its group; OffsetFetch with requireStable (KIP-447)",
    _SINCE,
    lacks=lambda has: "" if has["asks"] and not has["expiry"] else "nobody asks, or offsets expire; set asks, without expiry",
)
def group_acts_as_one(s: State) -> Bool:
    """Who tells a stable offset tells none older than was acknowledged or told, none aborted, and knows the generation."""

    def is_right(r: Broker) -> Bool:
        offsets = newest_offsets(s, r)
        right = (offsets.value >= s.acked) & (offsets.value >= s.told)
        if transactions.on:
            right = right & ((s.aborted == 0) | (offsets.value != s.aborted))
        return right & (offsets.generation >= s.generation) if some_rebalances.on else right

    return every(Broker, lambda r: implies(tells(s, r), is_right(r)))


@promise(
    "loading ends: a leader of the partition whose loads are over answers",
    "COORDINATOR_LOAD_IN_PROGRESS is a retriable error",
    "2.8.1, 3.0 and later",
)
def loading_ends(s: State) -> Bool:
    """On the newest leader the coordinator is active once it was told of all epochs and no load is under way."""

    def has_settled(r: Broker) -> Bool:
        mine = s.broker[r]
        return leads_newest(s, r) & every(Epoch, lambda e: ~mine.duties[e] & ~mine.loads[e])

    return every(Broker, lambda r: implies(has_settled(r), s.broker[r].phase == ACTIVE))


PROPERTIES: tuple[Property, ...] = (
    acknowledged_commits_survive, plain_fetches_are_current, aborted_offsets_are_unused, replaced_owners_are_fenced,
    group_acts_as_one, loading_ends,
)  # fmt: skip
"""Every promise of the protocol."""
