"""Spring's `application.yml` and `.properties`: `spring.kafka.producer.*` and its like, in every spelling that Spring takes.

Sources: Spring Boot's KafkaProperties, its relaxed binding (a name without hyphens, underscores and capitals), and its
documents, of which one may be for a profile.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from acked.audit.formats.parts.places import Whose
from acked.audit.formats.parts.properties import property_entries
from acked.audit.formats.parts.tree import Fields, Items, Node, Text
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import Scope, SettingEntry
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

_NOT_OURS = frozenset({"streams", "admin", "listener", "template", "jaas", "ssl", "security", "retry", "bootstrapservers",
                       "clientid"})  # fmt: skip
DEFAULT_PROFILE = "default"


@dataclass(frozen=True)
class _Property:
    """A property by the parts of its name; a part in brackets is one part, whatever stands in it."""

    parts: tuple[str, ...]
    value: str
    line: int

    @property
    def uniform(self) -> str:
        """The name as Spring compares it."""
        return ".".join(map(_uniform, self.parts))


def _uniform(part: str) -> str:
    return re.sub(r"[-_]", "", part).lower()


def is_spring(name: str) -> bool:
    """Whether a name is one of Spring's."""
    return _uniform(name).startswith("spring.")


# -- files --------------------------------------------------------------------------------------------------------------


def spring_yaml(file: str, found: Iterable[Node]) -> list[Read]:
    """The settings of the documents of an `application.yml`."""
    return _profile_entries(file, [list(_flat(node, (), node.line)) for node in found])


def spring_properties(file: str, text: str) -> list[Read]:
    """The settings of an `application.properties`, whose documents are separated by `#---`."""
    parts: list[list[_Property]] = []
    first, lines = 1, re.split(r"\r\n|\r|\n", text)
    for at, line in enumerate([*lines, "#---"], 1):
        if re.fullmatch(r"[#!]---\s*", line):
            entries = property_entries(file, "\n".join(lines[first - 1 : at - 1]) + "\n", first)
            parts.append([_Property(tuple(_split(entry.key)), entry.value, entry.line) for entry in entries])
            first = at + 1
    return _profile_entries(file, parts)


def spring_variable(whose: Whose, name: str, value: str, line: int) -> SettingEntry | None:
    """`SPRING_KAFKA_PRODUCER_PROPERTIES_ENABLE_IDEMPOTENCE`; None for a variable that is not Spring's."""
    if not name.startswith("SPRING_KAFKA_"):
        return None
    return next(settings_of(_settings(whose, [_Property(tuple(name.lower().split("_")), value, line)])), None)


def _flat(node: Node, path: tuple[str, ...], line: int) -> Iterator[_Property]:
    if isinstance(node, Text):
        if not node.is_null:
            yield _Property(path, node.value.strip(), line)
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


def _profile_entries(file: str, parts: Iterable[Sequence[_Property]]) -> list[Read]:
    """Without profiles the settings; with them those of each profile, named after it, and of none."""
    always: list[Read] = []
    of: dict[str, list[Read]] = {}
    for part in parts:
        profile = next((item.value for item in part if item.uniform in
                        ("spring.config.activate.onprofile", "spring.profiles")), None)  # fmt: skip
        found = list(_settings(Whose(file, entity=profile), part))
        if profile is None:
            always += found
        elif any(entry.key in DECIDING or entry.means for entry in settings_of(found)):
            of[profile] = of.get(profile, []) + found
    if not of:
        return always
    whole = _assume(Whose(file, entity=DEFAULT_PROFILE), always)
    for profile, own in of.items():
        said = {(entry.key, entry.scope) for entry in settings_of(own)}
        base = [one for one in always if not (isinstance(one, SettingEntry) and (one.key, one.scope) in said)]
        whole += [*_assume(Whose(file, entity=profile), base), *own]
    first = {entry.scope: entry.line for entry in reversed(whole)}
    return whole + [Whose(file, scope, name).description(line)
                    for scope, line in first.items() for name in (DEFAULT_PROFILE, *of)]  # fmt: skip


def _assume(whose: Whose, entries: Iterable[Read]) -> list[Read]:
    return [replace(entry, entity=whose.entity) for entry in entries]


# -- names --------------------------------------------------------------------------------------------------------------


def _settings(whose: Whose, part: Iterable[_Property]) -> Iterator[Read]:
    for item in part:
        uniform = item.uniform
        if uniform.startswith("spring.kafka."):
            yield from _kafka_entries(whose, item)
        elif uniform in ("spring.config.import", "spring.config.additionallocation"):
            yield from (whose.import_note(one.strip(), item.line) for one in item.value.split(",") if one.strip())
        elif (means := _elsewhere(item.parts)) is not None:
            yield whose.suspect(".".join(item.parts), item.value, item.line, means)


_MOST_PARTS = 16
"""Twice as many as any setting of Kafka has: a name of thousands would be compared as often as it has parts."""


def _elsewhere(parts: Sequence[str]) -> str | None:
    """The setting that a property of something else seems to mean: its last parts, taken together."""
    for first in range(max(len(parts) - _MOST_PARTS, 0), len(parts)):
        name = ".".join(parts[first:])
        if is_known(name) and name not in KEYS:
            return None
        if (means := likely_setting_elsewhere(name, parts[:first])) is not None:
            return means
    return None


def _kafka_entries(whose: Whose, item: _Property) -> Iterator[SettingEntry]:
    rest = item.parts[2:]
    who = _uniform(rest[0])
    scope = {"producer": Scope.PRODUCER, "consumer": Scope.CONSUMER}.get(who)
    if who == "properties":
        yield _literal(whose, item, ".".join(rest[1:]), None)
    elif scope is not None and len(rest) > 1 and _uniform(rest[1]) == "properties":
        yield _literal(whose, item, ".".join(rest[2:]), scope)
    elif scope is not None and len(rest) > 1:
        yield _own_property(whose, item, rest[1:], scope)
    elif who not in _NOT_OURS and (means := _elsewhere(item.parts)) is not None:
        yield whose.suspect(".".join(item.parts), item.value, item.line, means)


def _own_property(whose: Whose, item: _Property, rest: Sequence[str], scope: Scope) -> SettingEntry:
    """A property that KafkaProperties has a name for, or one that Spring passes over."""
    own = _OWN.get(_uniform("".join(rest)))
    if own is not None and scope in KEYS[own].scopes:
        value = item.value.lower().replace("-", "_") if own == keys.ISOLATION else item.value
        return whose.entry(own, value, item.line, scope)
    name = ".".join(part.replace("-", ".").replace("_", ".") for part in rest)
    full = ".".join(item.parts)
    if name in DECIDING:
        return whose.suspect(f"{full} (Spring has it under properties only)", item.value, item.line, name)
    means = None if is_known(name) else likely_setting_elsewhere(name, item.parts[:3])
    return whose.suspect(full, item.value, item.line, means) if means else whose.entry(name, item.value, item.line, scope)


def _literal(whose: Whose, item: _Property, name: str, scope: Scope | None) -> SettingEntry:
    """A setting by Kafka's own name; those for all clients are the consumers' where only consumers have them."""
    if scope is None:
        key = KEYS.get(name)
        scope = Scope.CONSUMER if key is not None and Scope.CONSUMER in key.scopes else Scope.PRODUCER
    return whose.entry(name, item.value, item.line, scope)


def has_spring(found: Iterable[Node]) -> bool:
    """Whether one of the documents is Spring's."""
    keys_of = (field.key for node in found if isinstance(node, Fields) for field in node.fields)
    return any(key == "spring" or is_spring(key) for key in keys_of)
