"""Spring Cloud Stream's Kafka binder: what its bindings produce with, and the topics that it makes.

A producer has the binder's `requiredAcks`, Spring Boot's settings, the binder's `configuration` and `producerProperties`, and
its binding's `configuration`, each instead of those before it; with a transaction id all have those of `transaction.producer`
in the place of their bindings'. `requiredAcks` is 1 by default in every binder before spring-cloud-stream issue 3170 (January
2026), and no file says which binder it is for: 1 is taken.
Sources: KafkaBinderConfigurationProperties, KafkaMessageChannelBinder.getProducerFactory, the binder's reference.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from acked.audit.formats.parts.places import Whose
from acked.base.frozen import frozen
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.names import likely_setting_elsewhere
from acked.cluster.vocabulary.note import Read

_NAME = "Spring Cloud Stream"
_STREAM = "spring.cloud.stream."
_KAFKA = f"{_STREAM}kafka."
_STREAMS = f"{_KAFKA}streams."
_OWN = {"requiredacks": keys.ACKS, "replicationfactor": REPLICATION_FACTOR}
_MEANINGS = {**_OWN, keys.ACKS: keys.ACKS, "topicreplicationfactor": REPLICATION_FACTOR,
             "adminreplicationfactor": REPLICATION_FACTOR}  # fmt: skip
"""Names of the binder's own that decide, as they may be misspelt or stand where none is read."""
_LIKENESS = 0.84
_EVERY = "bindings:*"
"""The topics of bindings that no file names."""


@frozen
class Property:
    """A property by the parts of its name; a part in brackets is one part, whatever stands in it."""

    parts: tuple[str, ...]
    value: str
    line: int

    @property
    def uniform(self) -> str:
        """The name as Spring compares it."""
        return ".".join(map(uniform, self.parts))


def uniform(part: str) -> str:
    """A part of a name as Spring compares it: without hyphens, underscores and capitals."""
    return re.sub(r"[-_]", "", part).lower()


Settings = Mapping[str, SettingEntry]


@dataclass
class _Binder:
    """What is said of a binder and its bindings, as it is read."""

    acks: SettingEntry | None = None
    factor: SettingEntry | None = None
    makes_topics: bool = True
    common: dict[str, SettingEntry] = field(default_factory=dict)
    own: dict[str, SettingEntry] = field(default_factory=dict)
    consumers: list[SettingEntry] = field(default_factory=list)
    transactional: SettingEntry | None = None
    bindings: dict[str, dict[str, SettingEntry]] = field(default_factory=dict)
    topics: dict[str, dict[str, SettingEntry]] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    destinations: dict[str, str] = field(default_factory=dict)


_DEFAULT, _TRANSACTION = "", "transaction"
"""Bindings that are none: what is said of all, and of all under a transaction."""


def is_of_kafka(part: Iterable[Property]) -> bool:
    """Whether bindings go through the Kafka binder: it is set up, or Spring's Kafka is and there are bindings."""
    names = [item.uniform for item in part]
    if any(name.startswith(_KAFKA) and not name.startswith(_STREAMS) for name in names):
        return True
    return any(name.startswith("spring.kafka.") for name in names) and any(
        name.startswith(f"{_STREAM}bindings.") for name in names
    )


def meaning(parts: Sequence[str]) -> str | None:
    """The setting that a binder's own name seems to mean, wherever it stands."""
    if not any("cloud" in uniform(part) or "stream" in uniform(part) or "kafka" in uniform(part) for part in parts):
        return None
    close = difflib.get_close_matches(uniform(parts[-1]), _MEANINGS, n=1, cutoff=_LIKENESS)
    return _MEANINGS[close[0]] if close else None


def bound_entries(whose: Whose, part: Sequence[Property], boot: Settings) -> Iterator[Read]:
    """The settings of every output binding that differs, and of the topics; `boot` are Spring Boot's for producers."""
    binder = _Binder()
    for item in part:
        name = item.uniform
        if name.startswith(f"{_STREAM}bindings."):
            _note_binding(binder, item)
        elif name.startswith(_KAFKA) and not name.startswith(_STREAMS) and not _read(binder, whose, item):
            yield from _suspects(whose, item)
    first = next(item.line for item in part if item.uniform.startswith(_STREAM))
    default = replace(whose.entry(keys.ACKS, "1", first, Scope.PRODUCER), default_of=_NAME)
    base = {keys.ACKS: binder.acks or default, **boot, **binder.common, **binder.own}
    yield from _producers(binder, base)
    yield from binder.consumers
    if binder.makes_topics:
        yield from _topics(binder, whose, first)


# -- reading --------------------------------------------------------------------------------------------------------------


def _note_binding(binder: _Binder, item: Property) -> None:
    """A binding of any binder: whether it is one of output, and its destination."""
    name, *rest = item.parts[4:] or ("",)
    if re.search(r"-out-\d+$", name) or (rest and uniform(rest[0]) == "producer"):
        binder.outputs.setdefault(name, item.line)
    if rest and uniform(rest[0]) == "destination":
        binder.destinations[name] = item.value


def _read(binder: _Binder, whose: Whose, item: Property) -> bool:
    """Takes a property of the Kafka binder; False for one that is none of those that are known to matter."""
    where, rest = uniform(item.parts[4]) if len(item.parts) > 4 else "", item.parts[4:]
    if uniform(item.parts[3]) == "kafka" and len(item.parts) > 4:
        where, rest = uniform(item.parts[4]), item.parts[5:]
    match where:
        case "binder":
            return bool(rest) and _read_binder(binder, whose, item, rest)
        case "bindings" if len(rest) > 2:
            return _read_binding(binder, whose, item, rest[0], rest[1:])
        case "default" if len(rest) > 1:
            return _read_binding(binder, whose, item, _DEFAULT, rest)
    return False


def _read_binder(binder: _Binder, whose: Whose, item: Property, rest: Sequence[str]) -> bool:
    first, name = uniform(rest[0]), ".".join(rest[1:])
    match first:
        case "requiredacks":
            binder.acks = whose.entry(keys.ACKS, item.value, item.line, Scope.PRODUCER)
        case "replicationfactor":
            binder.factor = whose.entry(REPLICATION_FACTOR, item.value, item.line, Scope.TOPIC)
        case "autocreatetopics":
            binder.makes_topics = item.value.lower() != "false"
        case "configuration" if name:
            key = KEYS.get(name)
            if key is not None and Scope.CONSUMER in key.scopes:
                binder.consumers.append(whose.entry(name, item.value, item.line, Scope.CONSUMER))
            else:
                binder.common[name] = whose.entry(name, item.value, item.line, Scope.PRODUCER)
        case "producerproperties" if name:
            binder.own[name] = whose.entry(name, item.value, item.line, Scope.PRODUCER)
        case "consumerproperties" if name:
            binder.consumers.append(whose.entry(name, item.value, item.line, Scope.CONSUMER))
        case "transaction" if uniform("".join(rest[1:])) == "transactionidprefix":
            binder.transactional = whose.entry(keys.TRANSACTIONAL_ID, item.value, item.line, Scope.PRODUCER)
        case "transaction" if len(rest) > 2 and uniform(rest[1]) == "producer":
            return _read_producer(binder, whose, item, _TRANSACTION, rest[2:])
        case _:
            return False
    return True


def _read_binding(binder: _Binder, whose: Whose, item: Property, name: str, rest: Sequence[str]) -> bool:
    side = uniform(rest[0])
    if side == "producer":
        if name != _DEFAULT:
            binder.outputs.setdefault(name, item.line)
        return _read_producer(binder, whose, item, name, rest[1:])
    is_topic = len(rest) > 2 and uniform(rest[1]) in ("topic", "admin")
    if side == "consumer" and is_topic:
        return _read_topic(binder, whose, item, name, rest[2:])
    is_consumers = side == "consumer" and len(rest) > 2 and uniform(rest[1]) == "configuration"
    if is_consumers:
        entry = whose.entry(".".join(rest[2:]), item.value, item.line, Scope.CONSUMER)
        binder.consumers.append(replace(entry, entity=name or whose.entity))
    return is_consumers


def _read_producer(binder: _Binder, whose: Whose, item: Property, name: str, rest: Sequence[str]) -> bool:
    if len(rest) > 1 and uniform(rest[0]) == "configuration":
        key = ".".join(rest[1:])
        binder.bindings.setdefault(name, {})[key] = whose.entry(key, item.value, item.line, Scope.PRODUCER)
        return True
    return len(rest) > 1 and uniform(rest[0]) in ("topic", "admin") and _read_topic(binder, whose, item, name, rest[1:])


def _read_topic(binder: _Binder, whose: Whose, item: Property, name: str, rest: Sequence[str]) -> bool:
    key = REPLICATION_FACTOR if uniform("".join(rest)) == "replicationfactor" else ".".join(rest[1:])
    if key != REPLICATION_FACTOR and (uniform(rest[0]) not in ("properties", "configuration") or not key):
        return False
    binder.topics.setdefault(name, {})[key] = whose.entry(key, item.value, item.line, Scope.TOPIC)
    return True


def _suspects(whose: Whose, item: Property) -> Iterator[SettingEntry]:
    """A name of the binder's that is not read here, and seems to mean a setting."""
    parts = item.parts
    tails = (".".join(parts[at:]) for at in range(4, len(parts)))
    found = (tail if tail in KEYS else likely_setting_elsewhere(tail, parts[:4]) for tail in tails)
    means = meaning(parts) or next(filter(None, found), None)
    if means is not None:
        yield whose.suspect(".".join(parts), item.value, item.line, means)


# -- what follows ---------------------------------------------------------------------------------------------------------


def _producers(binder: _Binder, base: Settings) -> Iterator[SettingEntry]:
    """The settings of one producer where all have the same, else of each by the name of its binding."""
    own = {name: found for name, found in binder.bindings.items() if name not in (_DEFAULT, _TRANSACTION)}
    every = {**base, **binder.bindings.get(_DEFAULT, {})}
    if binder.transactional is not None:
        transactional = {**base, **binder.bindings.get(_TRANSACTION, {}), keys.TRANSACTIONAL_ID: binder.transactional}
        yield from transactional.values()
        return
    if not own:
        yield from every.values()
        return
    for name in dict.fromkeys([*own, *binder.outputs]):
        for entry in {**every, **own.get(name, {})}.values():
            yield replace(entry, entity=name)


def _topics(binder: _Binder, whose: Whose, line: int) -> Iterator[Read]:
    """The topics that are made, by destination: with what the binder says of all, and what their bindings do."""
    every = {} if binder.factor is None else {REPLICATION_FACTOR: binder.factor}
    every |= binder.topics.get(_DEFAULT, {})
    named = [name for name in binder.topics if name not in (_DEFAULT, _TRANSACTION)]
    names = dict.fromkeys([*named, *(binder.destinations if every else ())]) or ([_EVERY] if every else [])
    for name in names:
        topic = binder.destinations.get(name, name)
        yield replace(whose, scope=Scope.TOPIC, entity=topic).description(line)
        for entry in {**every, **binder.topics.get(name, {})}.values():
            if entry.key != REPLICATION_FACTOR or entry.value != "-1":  # The brokers' default.
                yield replace(entry, entity=topic)
