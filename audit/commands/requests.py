"""What brokers are asked that the client library does not know: features, eligible leaders, moves under way, the quorum."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from acked.audit.clusters.live import Quorum
from acked.audit.commands.connection import (
    API_VERSIONS,
    DESCRIBE_QUORUM,
    DESCRIBE_TOPIC_PARTITIONS,
    LIST_REASSIGNMENTS,
    WHO,
    Connection,
    Unavailable,
)
from acked.base.bounds import threads


@dataclass
class Clock:
    """How much time is left of a bound."""

    until: float

    @property
    def left(self) -> float:
        """Seconds, at least a little, so that what has been answered is still taken."""
        return max(self.until - time.monotonic(), 0.05)

    @property
    def is_over(self) -> bool:
        """Whether no new question may be asked."""
        return time.monotonic() >= self.until


_AT_A_TIME = 32
"""Brokers that are asked for their features together."""

_PARTITIONS_AT_ONCE = 2_000
"""Partitions in an answer about eligible leaders: the most that brokers give (max.request.partition.size.limit)."""

Features = tuple[dict[str, int] | None, int | None]
"""Finalized levels, and the newest metadata.version that a broker supports; None where that cannot be known."""

Eligible = Mapping[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]
"""The eligible leaders beside the ISR, and who led last, by topic and partition; of those alone that were answered."""

Moving = Mapping[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]
"""The replicas that a reassignment under way adds and removes, by topic and partition."""

_FETCHING = 10_000
"""Milliseconds within which a controller that follows the quorum's leader has fetched from it; it does so all the time."""


def features_of_all(
    addresses: Mapping[int, tuple[str, int]], properties: Mapping[str, str], clock: Clock
) -> dict[int, Features]:
    """`features_of` every broker, in order; of those that hang 32 take their time together."""

    def ask(address: tuple[str, int]) -> Features:
        return (None, None) if clock.is_over else features_of(address, properties, clock)

    with threads(_AT_A_TIME) as asking:
        return dict(zip(addresses, asking.map(ask, addresses.values()), strict=True))


def levels_of(told: Mapping[int, Features]) -> tuple[int | None, dict[str, int] | None]:
    """A broker that has said which levels are finalized, and them: one that has some, if there is one; else (None, None)."""
    known = [(number, finalized) for number, (finalized, _) in told.items() if finalized is not None]
    return next((one for one in known if one[1]), known[0] if known else (None, None))


def features_of(address: tuple[str, int], properties: Mapping[str, str], clock: Clock) -> Features:
    """What one broker tells of its features.

    Brokers tell it to anyone who connects, before a login (KIP-35, KIP-584).
    """
    try:
        with Connection(address, properties, min(clock.left, 5.0)) as connection:
            answer = connection.ask(API_VERSIONS, WHO)
    except Unavailable:
        return None, None
    if answer.error_code:
        return None, None
    finalized = {str(item.name): int(item.max_version_level) for item in answer.finalized_features}
    supported = {str(item.name): int(item.max_version) for item in answer.supported_features}
    return finalized, supported.get("metadata.version")


def eligible_leaders(
    address: tuple[str, int], properties: Mapping[str, str], topics: Iterable[str], clock: Clock
) -> Eligible:
    """The eligible leaders of partitions whose ISR is short (KIP-966, since 4.0); what is not answered is left out."""
    names, found = sorted(topics), dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]()
    if not names:
        return found
    try:
        with Connection(address, properties, min(clock.left, 5.0)) as connection:
            connection.log_in()
            cursor: dict[str, object] | None = None
            while not clock.is_over:
                wanted = [{"name": name} for name in names]
                asked = {"topics": wanted, "response_partition_limit": _PARTITIONS_AT_ONCE, "cursor": cursor}
                answer = connection.ask(DESCRIBE_TOPIC_PARTITIONS, asked)
                for topic in answer.topics:
                    for one in topic.partitions:
                        told = tuple(one.eligible_leader_replicas or ()), tuple(one.last_known_elr or ())
                        found[str(topic.name), int(one.partition_index)] = told
                if answer.next_cursor is None:
                    break
                following = answer.next_cursor
                cursor = {"topic_name": str(following.topic_name), "partition_index": int(following.partition_index)}
                names = [name for name in names if name >= str(following.topic_name)]
    except Unavailable:
        pass  # What was answered so far is true.
    return found


def moves_under_way(address: tuple[str, int], properties: Mapping[str, str], clock: Clock) -> Moving | None:
    """What reassignments under way change, of all topics (since 2.4, KIP-455); None where that is not answered."""
    try:
        with Connection(address, properties, min(clock.left, 5.0)) as connection:
            connection.log_in()
            answer = connection.ask(LIST_REASSIGNMENTS, {"timeout": 5_000, "topics": None})
    except Unavailable:
        return None
    return {
        (str(topic.name), int(part.partition_index)): (tuple(part.adding_replicas), tuple(part.removing_replicas))
        for topic in answer.topics
        for part in topic.partitions
    }


def quorum_of(address: tuple[str, int], properties: Mapping[str, str], clock: Clock) -> Quorum | None:
    """The controllers' quorum (KRaft, KIP-595), of which any broker tells; None where that is not answered."""
    metadata = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
    try:
        with Connection(address, properties, min(clock.left, 5.0)) as connection:
            connection.log_in()
            answer = connection.ask(DESCRIBE_QUORUM, {"topics": [metadata]})
    except Unavailable:
        return None
    if answer.error_code or not answer.topics or answer.topics[0].partitions[0].error_code:
        return None
    told = answer.topics[0].partitions[0]
    latest = max(voter.last_fetch_timestamp for voter in (*told.current_voters, *told.observers))
    voters = tuple(int(voter.replica_id) for voter in told.current_voters)
    following = [
        int(voter.replica_id)
        for voter in told.current_voters
        if voter.replica_id == told.leader_id or 0 < latest - _FETCHING <= voter.last_fetch_timestamp
    ]
    return Quorum(int(told.leader_id), voters, tuple(following))
