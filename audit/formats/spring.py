"""Spring's `application.yml` and `.properties`: `spring.kafka.producer.*` and its like, in every spelling that Spring takes.

Sources: Spring Boot's KafkaProperties, its relaxed binding (a name without hyphens, underscores and capitals), and its
documents, of which one may be for a profile. `spring.kafka.streams.*` is of Kafka Streams; what Spring Cloud Stream's binders
make of the rest is in `parts/cloud_stream.py`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from acked.audit.formats.clients import client_entries
from acked.audit.formats.parts.cloud_stream import Property, bound_entries, is_of_kafka, meaning, uniform
from acked.audit.formats.parts.places import Whose
from acked.audit.formats.parts.properties import property_entries
from acked.audit.formats.parts.tree import Fields, Items, Node, Text
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.names import DECIDING, is_known, likely_setting_elsewhere
from acked.cluster.vocabulary.note import Read, settings_of

_OWN = {
    "acks": keys.ACKS,
    "retries": keys.RETRIES,
    "transactionidprefix": keys.TRANSACTIONAL_ID,
    "isolationlevel": keys.ISOLATION,
    "autooffsetreset": keys.OFFSET_RESET,
    "enableautocommit": keys.AUTO_COMMIT,
}
"""What KafkaProperties has a name of its own for, of what decides here; all else goes through `properties`."""

_OF_PRODUCERS = [key for key in DECIDING if Scope.PRODUCER in KEYS[key].scopes]
_WHOLE = {f"springkafkaproducer{name}": key for name, key in _OWN.items() if key in _OF_PRODUCERS} | {
    f"springkafka{who}properties{key.replace('.', '')}": key for who in ("", "producer") for key in _OF_PRODUCERS
}
"""Names of what decides of producers without what parts them, so that a slip in that is noticed too."""
_LIKENESS = 0.93

_NOT_OURS = frozenset({"streams", "admin", "listener", "template", "jaas", "ssl", "security", "retry", "bootstrapservers",
                       "clientid"})  # fmt: skip
DEFAULT_PROFILE = "default"


def is_spring(name: str) -> bool:
    """Whether a name is one of Spring's."""
    return uniform(name).startswith("spring.")


# -- files --------------------------------------------------------------------------------------------------------------


def spring_yaml(file: str, found: Iterable[Node]) -> list[Read]:
    """The settings of the documents of an `application.yml`."""
    return _profile_entries(file, [list(_flat(node, (), node.line)) for node in found])


def spring_properties(file: str, text: str) -> list[Read]:
    """The settings of an `application.properties`, whose documents are separated by `#---`."""
    parts: list[list[Property]] = []
    first, lines = 1, re.split(r"\r\n|\r|\n", text)
    for at, line in enumerate([*lines, "#---"], 1):
        if re.fullmatch(r"[#!]---\s*", line):
            entries = property_entries(file, "\n".join(lines[first - 1 : at - 1]) + "\n", first)
            parts.append([Property(tuple(_split(entry.key)), entry.value, entry.line) for entry in entries])
            first = at + 1
    return _profile_entries(file, parts)


def spring_variable(whose: Whose, name: str, value: str, line: int) -> SettingEntry | None:
    """`SPRING_KAFKA_PRODUCER_PROPERTIES_ENABLE_IDEMPOTENCE`; None for a variable that is not Spring's.

    One alone does not tell what a binder of Spring Cloud Stream makes of all, so there is none of it that is read.
    """
    if name.startswith("SPRING_CLOUD_STREAM_") and (means := meaning(name.split("_"))) is not None:
        return whose.suspect(name, value, line, means)
    if not name.startswith("SPRING_KAFKA_"):
        return None
    return next(settings_of(_settings(whose, [Property(tuple(name.lower().split("_")), value, line)])), None)


def _flat(node: Node, path: tuple[str, ...], line: int) -> Iterator[Property]:
    if isinstance(node, Text):
        if not node.is_null:
            yield Property(path, node.value.strip(), line)
    elif isinstance(node, Items):
        for item in node.items:
            yield from _flat(item, path, item.line)
    else:
        for field in node.fields:
            yield from _flat(field.node, (*path, *_split(field.key)), field.line)


def _split(name: str) -> Iterator[str]:
    """`a.b[c.d].e` as a, b, c.d, e."""
    for found in re.finditer(r"\[([^\]]*)\]|([^.\[\]]+)", name):
        yield found[1] if found[1] is not None else found[2]


# -- profiles -----------------------------------------------------------------------------------------------------------


def _profile_entries(file: str, parts: Iterable[Sequence[Property]]) -> list[Read]:
    """Without profiles the settings; with them those of each profile, named after it, and of none."""
    of_all: list[Property] = []
    of_each: dict[str, list[Property]] = {}
    for part in parts:
        profile = next((item.value for item in part if item.uniform in
                        ("spring.config.activate.onprofile", "spring.profiles")), None)  # fmt: skip
        (of_all if profile is None else of_each.setdefault(profile, [])).extend(part)
    always = list(_settings(Whose(file), of_all))
    is_bound = is_of_kafka([*of_all, *(item for part in of_each.values() for item in part)])
    of: dict[str, list[Read]] = {}
    for profile, part in of_each.items():
        found = list(_settings(Whose(file, entity=profile), [*of_all, *part] if is_bound else part))
        if is_bound or any(entry.key in DECIDING or entry.means for entry in settings_of(found)):
            of[profile] = found
    if not of:
        return always
    whole = _assume(Whose(file, entity=DEFAULT_PROFILE), always)
    for profile, own in of.items():
        said = {(entry.key, entry.scope) for entry in settings_of(own)}
        base = [] if is_bound else [one for one in always
                                    if not (isinstance(one, SettingEntry) and (one.key, one.scope) in said)]  # fmt: skip
        whole += [*_assume(Whose(file, entity=profile), base), *own]
    _check_profiles(file, [*always, *whole], of)
    first = {entry.scope: entry.line for entry in reversed(whole) if entry.scope is not Scope.TOPIC}
    return whole + [Whose(file, scope, name).description(line)
                    for scope, line in first.items() for name in (DEFAULT_PROFILE, *of)]  # fmt: skip


def _check_profiles(file: str, found: Iterable[Read], of: Collection[str]) -> None:
    """Refuses what differs both by profile and by binding or topic: a setting has one of them as its owner here."""
    topics: dict[tuple[str | None, str], str] = {}
    for one in settings_of(found):
        is_bound = one.scope in (Scope.PRODUCER, Scope.CONSUMER) and one.entity not in (None, DEFAULT_PROFILE, *of)
        if is_bound or (one.scope is Scope.TOPIC and topics.setdefault((one.entity, one.key), one.value) != one.value):
            raise SpecUnreadable(f"{file}:{one.line}: {one.key} of {one.entity} differs by profile and by binding or topic, "
                                 "which is not told apart here; name a file for each profile")  # fmt: skip


def _assume(whose: Whose, entries: Iterable[Read]) -> list[Read]:
    return [entry if entry.scope is Scope.TOPIC else replace(entry, entity=whose.entity) for entry in entries]


# -- names --------------------------------------------------------------------------------------------------------------


def _settings(whose: Whose, part: Sequence[Property]) -> Iterator[Read]:
    found = list(_boot_settings(whose, part))
    yield from _of_streams(whose, part)
    if not is_of_kafka(part):
        yield from found
        return
    producers = [one for one in settings_of(found) if one.scope is Scope.PRODUCER and not one.means]
    yield from (one for one in found if one not in producers)
    yield from bound_entries(whose, part, {one.key: one for one in producers})


def _boot_settings(whose: Whose, part: Iterable[Property]) -> Iterator[Read]:
    for item in part:
        name = item.uniform
        if name.startswith("spring.kafka."):
            yield from _kafka_entries(whose, item)
        elif name in ("spring.config.import", "spring.config.additionallocation"):
            yield from (whose.import_note(one.strip(), item.line) for one in item.value.split(",") if one.strip())
        elif name.startswith("spring.cloud.stream.kafka."):
            continue
        elif (means := _elsewhere(item.parts) or meaning(item.parts)) is not None:
            yield whose.suspect(".".join(item.parts), item.value, item.line, means)


_BY_BOOT = "spring.kafka.streams."
_BY_BINDER = "spring.cloud.stream.kafka.streams.binder."


def _of_streams(whose: Whose, part: Sequence[Property]) -> Iterator[Read]:
    """The settings of Kafka Streams, which Spring Boot or Spring Cloud Stream's other binder starts."""
    found = []
    for item in part:
        name = item.uniform
        if not name.startswith((_BY_BOOT, _BY_BINDER)):
            continue
        first, *rest = item.parts[3 if name.startswith(_BY_BOOT) else 6 :]
        key = {"replicationfactor": REPLICATION_FACTOR, "applicationid": "application.id"}.get(uniform(first), "")
        if uniform(first) in ("properties", "configuration"):
            key = ".".join(rest)
        if key:
            found.append(SettingEntry(key, item.value, whose.file, item.line))
        elif (means := _elsewhere(item.parts) or meaning(item.parts)) is not None:
            yield whose.suspect(".".join(item.parts), item.value, item.line, means)
    if not found:
        return
    if not any(entry.key == "application.id" for entry in found):
        named = next((item.value for item in part if item.uniform == "spring.application.name"), "streams")
        found.append(SettingEntry("application.id", named, whose.file, found[0].line))
    yield from client_entries(found) or ()


_MOST_PARTS = 16
"""Twice as many as any setting of Kafka has: a name of thousands would be compared as often as it has parts."""
_LONGEST = 200


def _elsewhere(parts: Sequence[str]) -> str | None:
    """The setting that a property of something else seems to mean: its last parts, taken together, or nearly all of it."""
    for first in range(max(len(parts) - _MOST_PARTS, 0), len(parts)):
        name = ".".join(parts[first:])
        if is_known(name) and name not in KEYS:
            return None
        if (means := likely_setting_elsewhere(name, parts[:first])) is not None:
            return means
    near = difflib.get_close_matches(uniform("".join(parts).replace(".", ""))[:_LONGEST], _WHOLE, n=1, cutoff=_LIKENESS)
    return _WHOLE[near[0]] if near else None


def _kafka_entries(whose: Whose, item: Property) -> Iterator[SettingEntry]:
    rest = item.parts[2:]
    who = uniform(rest[0])
    scope = {"producer": Scope.PRODUCER, "consumer": Scope.CONSUMER}.get(who)
    if who == "properties":
        yield _literal(whose, item, ".".join(rest[1:]), None)
    elif scope is not None and len(rest) > 1 and uniform(rest[1]) == "properties":
        yield _literal(whose, item, ".".join(rest[2:]), scope)
    elif scope is not None and len(rest) > 1:
        yield _own_property(whose, item, rest[1:], scope)
    elif who not in _NOT_OURS and (means := _elsewhere(item.parts)) is not None:
        yield whose.suspect(".".join(item.parts), item.value, item.line, means)


def _own_property(whose: Whose, item: Property, rest: Sequence[str], scope: Scope) -> SettingEntry:
    """A property that KafkaProperties has a name for, or one that Spring passes over."""
    own = _OWN.get(uniform("".join(rest)))
    if own is not None and scope in KEYS[own].scopes:
        value = item.value.lower().replace("-", "_") if own == keys.ISOLATION else item.value
        return whose.entry(own, value, item.line, scope)
    name = ".".join(part.replace("-", ".").replace("_", ".") for part in rest)
    full = ".".join(item.parts)
    if name in DECIDING:
        return whose.suspect(f"{full} (Spring has it under properties only)", item.value, item.line, name)
    means = None if is_known(name) else likely_setting_elsewhere(name, item.parts[:3]) or _elsewhere(item.parts)
    return whose.suspect(full, item.value, item.line, means) if means else whose.entry(name, item.value, item.line, scope)


def _literal(whose: Whose, item: Property, name: str, scope: Scope | None) -> SettingEntry:
    """A setting by Kafka's own name; those for all clients are the consumers' where only consumers have them."""
    if scope is None:
        key = KEYS.get(name)
        scope = Scope.CONSUMER if key is not None and Scope.CONSUMER in key.scopes else Scope.PRODUCER
    return whose.entry(name, item.value, item.line, scope)


def has_spring(found: Iterable[Node]) -> bool:
    """Whether one of the documents is Spring's."""
    keys_of = (field.key for node in found if isinstance(node, Fields) for field in node.fields)
    return any(key == "spring" or is_spring(key) for key in keys_of)
