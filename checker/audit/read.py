"""Reading what people have as settings with lines: properties files, what kafka-configs and kafka-topics describe, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from acked.checker.audit import keys
from acked.checker.audit.entry import IMAGE, REPLICATION_FACTOR, Scope, SettingEntry
from acked.checker.audit.foreign import INSTEAD, foreign
from acked.checker.audit.images import release_of_image
from acked.checker.audit.names import DECIDING, MAX_UNKNOWN, meant, named_within
from acked.checker.errors import SpecUnreadable
from acked.checker.files import read_bytes

MAX_BYTES = 4 << 20
"""No file of settings comes near this; a larger one is something else."""

_WHAT = "file of Kafka settings"


_JSON = re.compile(r"\s*(?:\{(?!\{|%)|\[(?!\s*[A-Za-z][\w. \-]*\]))")
"""How JSON begins, and no template or section of another format does."""


def read_settings(path: Path) -> list[SettingEntry]:
    """Every setting of a file, in its order; `SpecUnreadable` says what is wrong with it and where.

    A file in which there is nothing, or which is in another format, is refused: it is not a file that sets nothing.
    """
    text = _text(path)
    name = str(path)
    if path.suffix.lower() == ".json" or _JSON.match(text):
        return _some(name, _json_entries(name, text))
    if _DESCRIBED.search(text):
        return list(_described_entries(name, text))  # Where a topic sets nothing, that has been said.
    if (kind := foreign(path, text)) is not None:
        raise SpecUnreadable(f"{name} {kind}")
    return _some(name, list(_property_entries(name, text)))


def _some(name: str, entries: list[SettingEntry]) -> list[SettingEntry]:
    if not entries:
        raise SpecUnreadable(f"{name} has no setting in it; {INSTEAD}")
    return entries


def _text(path: Path) -> str:
    """The file's text as Java reads properties: ISO-8859-1, unless it is UTF-8 throughout."""
    data = read_bytes(path, _WHAT, MAX_BYTES)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SpecUnreadable(f"{path} is UTF-16 text, which Kafka cannot read; save it as UTF-8")
    if data.startswith(b"\xef\xbb\xbf"):
        raise SpecUnreadable(
            f"{path} begins with a byte order mark, which Kafka takes for a part of the first key; save it without"
        )
    strange = re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", data)
    if strange:
        raise SpecUnreadable(f"{path} is binary and no {_WHAT}: byte {strange.start()} is {strange[0][0]:#04x}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


# -- properties ---------------------------------------------------------------------------------------------------------


_NAME = re.compile(r"[A-Za-z_][\w.\-$%/+@]*", re.ASCII)


def _property_entries(name: str, text: str) -> Iterator[SettingEntry]:
    import javaproperties

    line = 1
    # Kafka does not mind where a file ends, but half an escape is an error.
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                if not _NAME.fullmatch(element.key):
                    raise SpecUnreadable(f"{name}:{line}: {element.key!r} is not the name of a setting; {INSTEAD}")
                yield SettingEntry(element.key, element.value.strip(), name, line)
            line += len(re.findall(r"\r\n|\r|\n", element.source))
    except javaproperties.InvalidUEscapeError as error:
        raise SpecUnreadable(f"{name}: the escape {error.escape} is not \\uXXXX; write four hexadecimal digits") from None


# -- what Kafka's tools print -------------------------------------------------------------------------------------------

_CONFIGS = re.compile(
    r"^(?:Dynamic|All|Default)? ?configs for (?P<kind>topics?|brokers?|client-id|user)\b"
    r"(?: '?(?P<name>[^\s']+)'?)?(?P<rest>.*?) are:?(?P<inline>.*)$",
    re.IGNORECASE,
)
_CONFIG_LINE = re.compile(r"^\s+(?P<key>[A-Za-z][\w.\-]*)=(?P<rest>.*)$")
_AFTER_VALUE = " sensitive="
_TOPIC_LINE = re.compile(
    r"^Topic:\s*(?P<name>\S+)\s.*?\bReplicationFactor:\s*(?P<factor>\d+)(?:\s+Configs:\s*(?P<configs>.*))?$"
)
_FEATURE_LINE = re.compile(
    r"^Feature:\s*(?P<name>\S+)\s.*\bFinalizedVersionLevel:\s*(?P<level>\S+)(?:\s+Epoch:\s*\d+)?\s*$"
)
_OWN_LINE = re.compile(r"^(?!\s+Topic:.*\bPartition:).*[=:]")
"""A line that could be a setting: not one of a partition."""
_DESCRIBED = re.compile(
    r"^(?:(?:Dynamic|All|Default)? ?configs for (?:topic|broker)|Topic:\s*\S+\s.*\bReplicationFactor:"
    r"|Feature:\s*\S+\s.*VersionLevel:)",
    re.IGNORECASE | re.MULTILINE,
)


def _described_entries(name: str, text: str) -> Iterator[SettingEntry]:
    scope, entity, is_ours = Scope.TOPIC, None, False
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if head := _CONFIGS.match(line):
            kind = head["kind"].lower()
            is_ours = kind.startswith(("topic", "broker"))
            scope = Scope.TOPIC if kind.startswith("topic") else Scope.DYNAMIC_BROKER
            entity = None if kind == "brokers" else head["name"]
            for key, value in _pairs(head["inline"]):
                yield SettingEntry(key, value, name, number, scope, entity)
        elif topic := _TOPIC_LINE.match(line):
            is_ours, scope, entity = False, Scope.TOPIC, topic["name"]
            yield SettingEntry(REPLICATION_FACTOR, topic["factor"], name, number, Scope.TOPIC, entity)
            for key, value in _pairs(topic["configs"] or ""):
                yield SettingEntry(key, value, name, number, Scope.TOPIC, entity)
        elif feature := _FEATURE_LINE.match(line):
            if feature["name"] in (keys.METADATA_VERSION, keys.ELR):
                yield SettingEntry(feature["name"], feature["level"], name, number, Scope.BROKER)
        elif item := _CONFIG_LINE.match(line):
            value = item["rest"].partition(_AFTER_VALUE)[0].strip()
            if is_ours and value != "null":
                yield SettingEntry(item["key"], value, name, number, scope, entity)
        elif _OWN_LINE.match(line) and (named := _setting_of(line)) is not None:
            raise SpecUnreadable(
                f"{name}:{number}: {named} stands among what Kafka's tools describe, and they print no such line; put it in "
                "a file of its own"
            )


def _setting_of(line: str) -> str | None:
    """The setting that a line gives a value to, which none of Kafka's tools printed."""
    key = re.split(r"[=:\s]", line.strip(), maxsplit=1)[0]
    return key if key in DECIDING or meant(key) is not None else named_within(line)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """`a=1,b=x,y,c=2`: a part without `=` belongs to the value before it."""
    parts: list[list[str]] = []
    for part in text.strip().split(","):
        key, separator, value = part.strip().partition("=")
        if separator:
            parts.append([key, value])
        elif parts and part:
            parts[-1][1] += f",{part}"
    yield from ((key, value) for key, value in parts)


# -- JSON ---------------------------------------------------------------------------------------------------------------


def _json_entries(name: str, text: str) -> list[SettingEntry]:
    def once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        known: dict[str, object] = {}
        for key, value in pairs:
            if key in known:
                raise SpecUnreadable(f"{name} names {key!r} twice in one object; leave one out")
            known[key] = value
        return known

    try:
        document = json.loads(text, object_pairs_hook=once)
        found = list(_Json(name, text).entries(document, None, None))
    except json.JSONDecodeError as error:
        raise SpecUnreadable(f"{name}:{error.lineno}: no valid JSON: {error.msg}") from None
    except RecursionError:
        raise SpecUnreadable(f"{name} is nested too deeply for a {_WHAT}") from None
    said: dict[tuple[Scope | None, str | None, str], SettingEntry] = {}
    for entry in found:
        before = said.setdefault((entry.scope, entry.entity, entry.key), entry)
        if before.value != entry.value and entry.key != REPLICATION_FACTOR:
            # JSON has no order that would make the later one count.
            raise SpecUnreadable(
                f"{name} sets {entry.key} to {before.value} at line {before.line} and to {entry.value} at line {entry.line}; "
                "leave one out"
            )
    return found


_CONTAINERS = ("configs", "config", "data", "partitions", "properties")
_NO_SETTINGS = ("topic", "topic_name", "topicName", "version", "partition", "log_dirs", "kind", "metadata")


def _setting_within(node: object) -> str | None:
    """A setting that decides, or a name that seems to mean one, anywhere in a part of the document that is not read."""
    for text, is_name in _texts_within(node):
        if (is_name and (text in DECIDING or meant(text) is not None)) or named_within(text) is not None:
            return text
    return None


def _texts_within(node: object) -> Iterator[tuple[str, bool]]:
    """Every text of a part of a document, and whether it is the name of something."""
    if isinstance(node, str):
        yield node, False
    elif isinstance(node, list):
        for item in node:
            yield from _texts_within(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield key, True
            if key == "name" and isinstance(value, str):
                yield value, True
            else:
                yield from _texts_within(value)


class _Json:
    """Settings of a document, each with the line on which its key stands for the first time after the one before it."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        self._at: dict[str, int] = {}

    def entries(self, node: object, scope: Scope | None, entity: str | None) -> Iterator[SettingEntry]:
        """Objects by section or flat, lists of {name, value}, and the assignments of kafka-reassign-partitions."""
        if isinstance(node, list):
            for item in node:
                if not isinstance(item, dict):
                    raise self._wrong("a list may hold objects with a name and a value, or topics")
                if isinstance(item.get("name"), str) and "value" in item:
                    yield from self._entry(item["name"], item["value"], scope, entity)
                else:
                    yield from self.entries(item, scope, entity)
            return
        if not isinstance(node, dict):
            raise self._wrong("the document must be an object or a list")
        topic = next((node[key] for key in ("topic", "topic_name", "topicName") if isinstance(node.get(key), str)), None)
        if topic is not None:
            scope, entity = Scope.TOPIC, topic
        for key, value in node.items():
            yield from self._member(key, value, scope, entity)

    def _member(self, key: str, value: object, scope: Scope | None, entity: str | None) -> Iterator[SettingEntry]:
        section = next((item for item in Scope if key.lower().removesuffix("s") == item.value), None)
        if section is not None and isinstance(value, dict | list):
            yield from self.entries(value, section, None)
        elif key in _CONTAINERS and isinstance(value, dict | list):
            yield from self.entries(value, scope, entity)
        elif key == "replicas" and isinstance(value, list):
            yield SettingEntry(REPLICATION_FACTOR, str(len(value)), self._name, self._line(key), Scope.TOPIC, entity)
        elif key in ("replication_factor", "replicationFactor", "replication-factor"):
            yield from self._entry(key, value, Scope.TOPIC, entity, REPLICATION_FACTOR)
        elif key == "image" and isinstance(value, str):
            if (runs := release_of_image(value)) is not None:
                yield SettingEntry(IMAGE, runs, self._name, self._line(key), Scope.BROKER)
        elif key not in _NO_SETTINGS or isinstance(value, dict | list):
            yield from self._entry(key, value, scope, entity)

    def _entry(
        self, key: str, value: object, scope: Scope | None, entity: str | None, known_as: str | None = None
    ) -> Iterator[SettingEntry]:
        line = self._line(key)
        if isinstance(value, dict | list):
            if "." in key or (scope is not None and key not in _NO_SETTINGS):
                raise SpecUnreadable(f"{self._name}:{line}: {key} is a {type(value).__name__}; give one value")
            if (hidden := _setting_within(value)) is not None:
                raise SpecUnreadable(
                    f"{self._name}:{line}: {hidden} stands within {key!r}, which is not a section that is known here; put it "
                    "under broker, topics, producer or consumer"
                )
            return
        if value is None:
            return
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield SettingEntry(known_as or key, text, self._name, line, scope, entity)

    def _line(self, key: str) -> int:
        token = json.dumps(key, ensure_ascii=False)
        at = self._text.find(token, self._at.get(token, 0))
        if at < 0:
            return 1
        self._at[token] = at + 1
        if len(self._at) > 2 * MAX_UNKNOWN:
            raise self._wrong(f"it has more than {2 * MAX_UNKNOWN:,} names")
        return self._text.count("\n", 0, at) + 1

    def _wrong(self, why: str) -> SpecUnreadable:
        return SpecUnreadable(f"{self._name} is not a {_WHAT}: {why}")
