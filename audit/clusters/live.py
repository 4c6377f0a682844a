"""What a running cluster says of itself, as settings with their sources; what may not be read leaves answers undecided.

The facts as values, feature levels as releases, and both as the entries that files give too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from acked.base.frozen import frozen
from acked.base.release import release
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, STATED, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Assigned, Condition, Fact, Listed, Note, Noticed, Read, Unread, UnreadLeader

if TYPE_CHECKING:
    from acked.audit.clusters.topics import TopicGroup
    from acked.audit.decision.gather import Given

_LEVELS = (
    *("3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0", "3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1"),
    *("3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2", "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0"),
    *("3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0"),
    *("4.4-IV0", "4.4-IV1", "4.4-IV2"),
)
"""The names of metadata.version's levels, from level 1 (MetadataVersion at the release tags; 4.4.0 by its class file)."""

NOT_RUNNING = "it does not run"
"""Why nothing is known of a broker that the cluster does not list."""

ASSUMED = "assumed"
"""Where a producer's settings come from that nobody named."""


@frozen
class LiveValue:
    """A setting in effect and where the broker has it from: `static`, `dynamic`, `default` …"""

    key: str
    value: str
    source: str
    is_own: bool = True
    """Whether a topic has it itself, rather than from the broker that was asked."""


@frozen
class LiveBroker:
    """A broker; without `values` `failure` says why they are not known.

    `newest_level` is the newest metadata.version that its release knows, None where that is not known.
    """

    number: int
    rack: str | None = None
    values: tuple[LiveValue, ...] | None = None
    failure: str = ""
    newest_level: int | None = None


@frozen
class LivePartition:
    """A partition as it is now; `eligible` are the leaders that may be elected beside the ISR (KIP-966), None if unknown.

    `led_last` is who is remembered for having led where nobody is eligible. While a reassignment is under way, which is
    `adding` some replicas and `removing` others, the replicas are the old ones and the new.
    """

    number: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    eligible: tuple[int, ...] | None = None
    leader: int | None = None
    led_last: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@frozen
class Quorum:
    """The controllers' quorum (KRaft): who votes, and who of them lately fetched from the leader; None if unknown."""

    leader: int
    voters: tuple[int, ...]
    following: tuple[int, ...] | None = None

    @property
    def present(self) -> tuple[int, ...]:
        """The voters that are there, as far as is known."""
        return self.voters if self.following is None else self.following

    def stays_without(self, broker: int) -> bool:
        """Whether a majority of the voters is left without the broker; one that does not vote takes nothing from it."""
        left = [voter for voter in self.present if voter != broker]
        return broker not in self.voters or len(left) > len(self.voters) // 2


@frozen
class LiveTopic:
    """A topic; without `values` `failure` says why they are not known."""

    name: str
    partitions: tuple[LivePartition, ...]
    values: tuple[LiveValue, ...] | None = None
    failure: str = ""


@frozen
class LiveCluster:
    """A cluster, named by the first of its addresses. `features` are finalized levels, None where they are not known.

    `quorum` and reassignments are asked for where somebody needs them; they may not be known even so.
    """

    address: str
    brokers: tuple[LiveBroker, ...]
    topics: tuple[LiveTopic, ...]
    features: Mapping[str, int] | None = None
    quorum: Quorum | None = None
    are_moves_known: bool = False


def level_name(level: int) -> str | None:
    """`3.9-IV0` for 21; None for a level of a later release than is known here."""
    return _LEVELS[level - 1] if 1 <= level <= len(_LEVELS) else None


# -- as settings --------------------------------------------------------------------------------------------------------


def live_entries(cluster: LiveCluster) -> list[Read]:
    """Everything that the cluster says, as files would say it, in the order of brokers and topics."""
    has_kraft = is_kraft(cluster)
    entries: list[Read] = [*_features(cluster), *_controller_notes(cluster, has_kraft)]
    for broker in cluster.brokers:
        entries += _broker_entries(cluster, broker, has_kraft)
    brokers = {broker.number: broker for broker in cluster.brokers}
    for topic in cluster.topics:
        entries += _topic_entries(cluster, topic, brokers)
    return entries


def is_kraft(cluster: LiveCluster) -> bool:
    """Whether the cluster's metadata is with KRaft's controllers, by what brokers say."""
    if cluster.features and keys.METADATA_VERSION in cluster.features:
        return True
    found = (value for broker in cluster.brokers for value in broker.values or () if value.key == keys.ROLES)
    return any(value.value for value in found)


def _features(cluster: LiveCluster) -> Iterator[SettingEntry]:
    levels = cluster.features or {}
    said = "finalized features"
    level = levels.get(keys.METADATA_VERSION)
    name = None if level is None else level_name(level)
    if name is not None:
        yield SettingEntry(keys.METADATA_VERSION, name, cluster.address, 0, Scope.BROKER, said_by=said)
    if cluster.features is not None and any(_is_from_4(broker) for broker in cluster.brokers):
        value = str(min(levels.get(keys.ELR, 0), 1))
        yield SettingEntry(keys.ELR, value, cluster.address, 0, Scope.BROKER, said_by=said)


def _release_of(broker: LiveBroker) -> str | None:
    """The minor release that a broker runs, by the newest features that it knows."""
    newest = None if broker.newest_level is None else level_name(broker.newest_level)
    return None if newest is None else newest.partition("-")[0]


def _is_from_4(broker: LiveBroker) -> bool:
    named = _release_of(broker)
    return named is not None and release(named).since("4.0")


def _controller_notes(cluster: LiveCluster, is_kraft: bool) -> Iterator[Note]:
    """What nothing that a broker says tells: with KRaft controllers of their own have settings of their own."""
    roles = {value.value for broker in cluster.brokers for value in broker.values or () if value.key == keys.ROLES}
    if is_kraft and roles and not any("controller" in role for role in roles):
        yield Note(Unread("brokers cannot tell"), cluster.address, 0, said_by="controllers")


def _broker_entries(cluster: LiveCluster, broker: LiveBroker, is_kraft: bool) -> Iterator[Read]:
    name, address = str(broker.number), cluster.address
    yield Note(Listed(), address, 0, Scope.BROKER, name, f"broker {name}")
    release = _release_of(broker)
    if release is not None:
        said = f"broker {name} (supported features)"
        yield SettingEntry(STATED, release, address, 0, Scope.BROKER, name, said_by=said)
    if broker.values is None:
        yield Note(Unread(broker.failure), address, 0, Scope.BROKER, name, f"broker {name}")
        return
    for value in broker.values:
        key = KEYS.get(value.key)
        if key is None or Scope.BROKER not in key.scopes:
            continue
        if value.key == keys.IBP and is_kraft:
            continue  # With KRaft no rule follows from it.
        if not value.value and value.key in (keys.SELECTOR, keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.IBP):
            continue
        said = f"broker {name} ({value.source})"
        yield SettingEntry(value.key, value.value, address, 0, Scope.BROKER, name, said_by=said)


def _topic_entries(cluster: LiveCluster, topic: LiveTopic, brokers: Mapping[int, LiveBroker]) -> Iterator[Read]:
    address, said = cluster.address, f"topic {topic.name}"

    def entry(key: str, value: str, by: str = said) -> SettingEntry:
        return SettingEntry(key, value, address, 0, Scope.TOPIC, topic.name, said_by=by)

    def note(fact: Fact) -> Note:
        return Note(fact, address, 0, Scope.TOPIC, topic.name, said)

    for number in dict.fromkeys(len(partition.replicas) for partition in topic.partitions):
        yield entry(REPLICATION_FACTOR, str(number))
    for partition in topic.partitions:
        is_moving = bool(partition.adding or partition.removing)
        yield note(Assigned(topic.name, partition.number, partition.replicas, is_moving))
        if len(partition.isr) < len(partition.replicas):
            now = f"partition {partition.number} has {_ids(partition.isr)} of {_ids(partition.replicas)}"
            now += f" (eligible to lead besides: {_ids(partition.eligible)})" if partition.eligible else ""
            yield note(Noticed(Condition.SHORT_ISR, now))
        if partition.leader is None:
            now = f"partition {partition.number} of {_ids(partition.replicas)}"
            yield note(Noticed(Condition.NO_LEADER, now))
        named = [rack for replica in partition.replicas if (rack := brokers[replica].rack) is not None]
        if len(set(named)) < len(named):
            shared = sorted({rack for rack in named if named.count(rack) > 1})
            now = f"partition {partition.number} ({_ids(partition.replicas)}) in {', '.join(shared)}"
            yield note(Noticed(Condition.SHARED_RACK, now))
    for number in sorted({replica for partition in topic.partitions for replica in partition.replicas}):
        if brokers[number].values is None:
            yield note(UnreadLeader(str(number), brokers[number].failure))
    if topic.values is None:
        yield note(Unread(topic.failure))
        return
    for value in topic.values:
        key = KEYS.get(value.key)
        if value.is_own and key is not None and Scope.TOPIC in key.scopes:
            yield entry(value.key, value.value, f"{said} ({value.source})")


def _ids(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers)) or "none"


# -- producers ----------------------------------------------------------------------------------------------------------


def assume_producers(groups: Iterable[TopicGroup]) -> list[TopicGroup]:
    """Every group twice, as a cluster has no producers: by the clients' defaults since 3.0, which decide, and by acks=1."""
    found = []
    for group in groups:
        if group.refusal:
            found.append(group)
            continue
        careful = _assuming(group.given, {keys.ACKS: "all", keys.IDEMPOTENCE: "true"})
        found.append(replace(group, given=careful, producer="producers with acks=all and idempotence"))
        other = _assuming(group.given, {keys.ACKS: "1", keys.IDEMPOTENCE: "false"})
        found.append(replace(group, given=other, producer="producers with acks=1", decides=False))
    return found


def _assuming(given: Given, values: Mapping[str, str]) -> Given:
    own = {key: SettingEntry(key, value, ASSUMED, 0, Scope.PRODUCER) for key, value in values.items()}
    return replace(given, entries={**given.entries, **own})
