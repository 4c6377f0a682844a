"""What runs Kafka's clients for people: Kafka Streams, Connect and its connectors, MirrorMaker 2, SmallRye (Quarkus).

Each hands settings on under prefixes of its own, has its own defaults for what it produces with, and makes topics itself.
Sources: StreamsConfig (prefixes, `processing.guarantee`; KIP-733: replication.factor -1), Worker.baseProducerProps of Connect
(acks=all, no idempotence, one request in flight) and DistributedConfig, MirrorMakerConfig and MirrorSourceConfig, the
attributes of SmallRye's Kafka connector (`acks` is 1 by default).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acked.base.frozen import frozen
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Described, Note, Read

_OF_CONNECT = {keys.ACKS: "all", keys.IDEMPOTENCE: "false", keys.IN_FLIGHT: "1", keys.RETRIES: str(keys.MAX_INT)}
_OF_SMALLRYE = {keys.ACKS: "1"}
_EXACTLY_ONCE = {keys.ACKS: "all", keys.IDEMPOTENCE: "true", keys.TRANSACTIONAL_ID: "its own"}

_CONSUMERS = ("main.consumer.", "restore.consumer.", "global.consumer.", "consumer.override.", "consumer.")
_STORES = ("offset.storage", "config.storage", "status.storage")
_MIRRORED = ("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
_FLOW = re.compile(r"(?P<flow>[\w.\-]+?(?:->[\w.\-]+?)?)\.(?P<rest>(?:producer|consumer)\.(?:override\.)?.+)")
_CHANNEL = re.compile(r"mp\.messaging\.(?P<way>outgoing|incoming)\.(?P<name>\"[^\"]+\"|[^.]+)\.(?P<rest>.+)")
_OF_PRODUCERS = frozenset(name for name, key in KEYS.items() if Scope.PRODUCER in key.scopes)
_CONNECTED = ("key.converter", *(f"{store}.{what}" for store in _STORES for what in ("topic", "replication.factor")))


@frozen
class _Client:
    """What a file is of: its name, what its producers have by default, and the application."""

    name: str
    defaults: Mapping[str, str]
    application: str = ""


def client_of(said: Mapping[str, str]) -> _Client | None:
    """Which of them settings are of, by the names that only it has; None for others."""
    if "connector.class" in said:
        return _Client("Kafka Connect", {}, said.get("name", ""))
    if any("->" in key for key in said):
        return _Client("MirrorMaker 2", _OF_CONNECT)
    if any(key in said for key in _CONNECTED):
        exactly = said.get("exactly.once.source.support", "").lower() == "enabled"
        return _Client("Kafka Connect", _OF_CONNECT | (_EXACTLY_ONCE if exactly else {}), said.get("group.id", ""))
    if "application.id" in said:
        exactly = said.get("processing.guarantee", "").lower().startswith("exactly_once")
        return _Client("Kafka Streams", _EXACTLY_ONCE if exactly else {}, said["application.id"])
    if any(key.startswith("mp.messaging.outgoing.") for key in said):
        return _Client("SmallRye", _OF_SMALLRYE)
    return None


def client_entries(entries: Sequence[SettingEntry]) -> list[Read] | None:
    """The settings by Kafka's names, each of the client or the topic that gets it; None if a file is of no such client."""
    said = {entry.key: entry.value for entry in entries}
    client = client_of(said)
    if client is None or not entries:
        return None
    found = [one for entry in entries for one in _handed_on(client, entry, said)]
    producers = dict.fromkeys(one.entity for one in found if isinstance(one, SettingEntry) and one.scope is Scope.PRODUCER)
    for producer in producers or [None]:
        own = {one.key for one in found if isinstance(one, SettingEntry) and one.scope is Scope.PRODUCER
               and one.entity in (producer, None)}  # fmt: skip
        found += [
            SettingEntry(key, value, entries[0].file, entries[0].line, Scope.PRODUCER, producer, default_of=client.name)
            for key, value in client.defaults.items()
            if key not in own
        ]
    return found


def _handed_on(client: _Client, entry: SettingEntry, said: Mapping[str, str]) -> Iterator[Read]:
    """What becomes of one setting."""
    key = entry.key
    if (topic := _topic_made(client, key, said)) is not None:
        yield Note(Described(), entry.file, entry.line, Scope.TOPIC, topic)
        if entry.value != "-1":  # The brokers' default.
            name = key.removeprefix("topic.") if client.name == "Kafka Streams" else REPLICATION_FACTOR
            yield replace(entry, key=name, scope=Scope.TOPIC, entity=topic)
        return
    flow, rest = None, key
    if client.name == "MirrorMaker 2" and (match := _FLOW.fullmatch(key)) is not None:
        flow, rest = match["flow"], match["rest"]
    if (channel := _CHANNEL.fullmatch(key)) is not None:
        scope = Scope.PRODUCER if channel["way"] == "outgoing" else Scope.CONSUMER
        yield replace(entry, key=channel["rest"], scope=scope, entity=channel["name"].strip('"'))
    elif rest.startswith(("producer.override.", "producer.")):
        name = rest.removeprefix("producer.").removeprefix("override.")
        yield replace(entry, key=name, scope=Scope.PRODUCER, entity=flow, means=_meant_for_producers(name, key))
    elif (prefix := next((one for one in _CONSUMERS if rest.startswith(one)), None)) is not None:
        yield replace(entry, key=rest.removeprefix(prefix), scope=Scope.CONSUMER, entity=flow)
    else:  # A prefix with a slip hands on nothing.
        yield replace(entry, means=_meant_for_producers(key, key))


def _meant_for_producers(name: str, key: str) -> str | None:
    """The producers' setting that a name ends with, behind what is none of the prefixes; `key` is all of it."""
    ends = (one for one in _OF_PRODUCERS if name != one and name.endswith(one))
    return next((one for one in ends if one != keys.RETRIES or "prod" in key.lower()), None)


def _topic_made(client: _Client, key: str, said: Mapping[str, str]) -> str | None:
    """The topics that a client makes with this setting, as they are called or as their names begin."""
    if client.name == "Kafka Streams" and (key == REPLICATION_FACTOR or key.startswith("topic.")):
        return f"{client.application}-*"
    if client.name == "Kafka Connect" and key.endswith(".replication.factor"):
        store = key.removesuffix(".replication.factor")
        if store in _STORES:
            return said.get(f"{store}.topic", store)
        return f"{client.application or 'connectors'}:*" if store.startswith("topic.creation.") else None
    if client.name == "MirrorMaker 2" and key.endswith(REPLICATION_FACTOR):
        name = key.removesuffix(REPLICATION_FACTOR).strip(".")
        return next((one for one in _MIRRORED if name.endswith(one)), None) or name or "mirrored:*"
    return None
