"""Which lemmas the proof of a property needs.

Names, and the claim that with these lemmas a property is inductive, whatever the constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from acked.invariants.partition.lemmas import PARTITION_LEMMAS
from acked.invariants.property import Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.model.language.protocol import Protocol
from acked.model.partition.state import State as PartitionState
from acked.model.replication.state import State as ReplicationState

_DOMAIN = ("LeaderHasEpoch",)
"""Without it, what a leader writes could leave a record's domain."""

_LEADERSHIP = (*_DOMAIN, "EpochSent", "KnowsLeader")
_LOGS = (*_LEADERSHIP, "IdFresh", "RecordEpoch", "LeaderFirst", "LogMatching", "FollowerPrefix")
_COMMITS = tuple(item.name for item in KIP320_LEMMAS)

_ISRS = (*_DOMAIN, "QuorumIsrHasLeader", "RequestIsrHasLeader", "IsrHasLeader")

_IN_EVERY_VARIANT: Mapping[str, tuple[str, ...]] = {
    "LeaderInIsr": _ISRS,
    "HwWithinLog": _ISRS,
    "OneLeaderPerEpoch": _LEADERSHIP,
    "KnownEpochs": _DOMAIN,
    "LeaderEpochsOnlyGrow": (*_DOMAIN, "EpochsWereUsed"),
}

_IN_KIP320: Mapping[str, tuple[str, ...]] = {
    **_IN_EVERY_VARIANT,
    "LogEpochsAscend": _LOGS,
    "WeakIsr": _COMMITS,
    "StrongIsr": ("WeakIsr", *_COMMITS),
    "HwWithinOwnIsr": ("WeakIsr", *_COMMITS),
    "HwWithinQuorumIsr": ("WeakIsr", "StrongIsr", *_COMMITS),
    "CommittedRecordsStay": ("WeakIsr", "StrongIsr", *_COMMITS),
    **{item.name: ("WeakIsr", *_COMMITS) for item in KIP320_LEMMAS},
}

_BY_PROTOCOL: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    # Whoever cuts its log at its own high watermark keeps what lies below, whatever that is worth to anyone else.
    "truncate-to-hw": {**_IN_EVERY_VARIANT, "CommittedRecordsStay": _ISRS},
    "kip320": _IN_KIP320,
}


COUNTERPARTS: Mapping[str, str] = {
    "LeaderIncHighWatermark": "FencedLeaderIncHighWatermark",
    "LeaderShrinkIsr": "FencedLeaderShrinkIsr",
    "LeaderExpandIsr": "FencedLeaderExpandIsr",
    "FollowerReplicate": "FencedFollowerFetch",
    "FollowerFetch": "FencedFollowerFetch",
    "BecomeFollower": "FencedBecomeFollowerAndTruncate",
    "BecomeFollowerTruncateToHighWatermark": "FencedBecomeFollowerAndTruncate",
    "BecomeFollowerTruncateKip101": "FencedBecomeFollowerAndTruncate",
    "BecomeFollowerTruncateKip279": "FencedBecomeFollowerAndTruncate",
}
"""The rule of kip320 that took the place of a rule of an older variant, with the same parameters."""


def needs_of(protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
    """The names of the lemmas by property, for every property that is known to be provable of the protocol."""
    if protocol.state is not ReplicationState:
        return {}
    return _BY_PROTOCOL.get(protocol.name, _IN_EVERY_VARIANT)


def lemmas_for(protocol: Protocol, properties: Iterable[Property]) -> tuple[Property, ...] | None:
    """The lemmas that the proof of the properties needs, those at the bottom first; None if no proof of one is known."""
    needs = needs_of(protocol)
    names: set[str] = set()
    asked = [item.name for item in properties]
    for name in asked:
        if name not in needs:
            return None
        names.update(needs[name])
    known = (*KIP320_LEMMAS, *PROPERTIES)
    return tuple(item for item in known if item.name in names and item.name not in asked)


def all_lemmas(protocol: Protocol) -> tuple[Property, ...]:
    """Every lemma that can be read in a protocol's state; whether they hold of it is for a proof to say."""
    if protocol.state is PartitionState:
        return PARTITION_LEMMAS
    return KIP320_LEMMAS if protocol.state is ReplicationState else ()
