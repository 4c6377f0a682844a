"""JSON: flat, by section, lists of names with values, and the assignment that kafka-reassign-partitions takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from acked.audit.formats.clients import client_entries
from acked.audit.formats.parts.images import release_of_image
from acked.audit.formats.parts.reader import Reader, Sign, Source
from acked.audit.formats.parts.tree import Fields, documents
from acked.audit.formats.properties_file import kafka_names
from acked.audit.formats.terraform import plan_entries
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import IMAGE, REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.names import DECIDING, MAX_UNKNOWN, likely_setting, setting_within
from acked.cluster.vocabulary.note import Assigned, Read, settings_of

_WHAT = "file of Kafka settings"
_BEGINNING = re.compile(r"\s*(?:\{(?!\{|%)|\[(?!\s*[A-Za-z][\w. \-]*\]))")
"""How JSON begins, and no template or section of another format does."""
_PLAN = re.compile(r'"terraform_version"\s*:')
_RESOURCE = re.compile(r'"apiVersion"\s*:')


def is_json(source: Source) -> bool:
    """Whether a file says that it is JSON, or begins like it."""
    return source.suffix == ".json" or _BEGINNING.match(source.text) is not None


def has_resource(source: Source) -> bool:
    """Whether a resource of Kubernetes may be in it: that is read as YAML, which JSON is."""
    return _RESOURCE.search(source.text) is not None


def _entries(name: str, text: str) -> list[Read]:
    def once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        known: dict[str, object] = {}
        for key, value in pairs:
            if key in known:
                raise SpecUnreadable(f"{name} names {key!r} twice in one object; leave one out")
            known[key] = value
        return known

    if _PLAN.search(text):
        plans = documents(name, text)
        if len(plans) > 1:
            raise SpecUnreadable(f"{name}:{plans[1].line}: a second document begins, and a plan is one; leave the others out")
        return [entry for plan in plans if isinstance(plan, Fields) for entry in plan_entries(name, plan)]
    try:
        document = json.loads(text, object_pairs_hook=once)
        of_client = _connector(name, text, document)
        found = list(_Json(name, text).entries(document, None, None)) if of_client is None else of_client
    except json.JSONDecodeError as error:
        raise SpecUnreadable(f"{name}:{error.lineno}: no valid JSON: {error.msg}") from None
    except ValueError:
        raise SpecUnreadable(f"{name} has a number of thousands of digits, as no setting has; correct it") from None
    except RecursionError:
        raise SpecUnreadable(f"{name} is nested too deeply for a {_WHAT}") from None
    said: dict[tuple[Scope | None, str | None, str], SettingEntry] = {}
    for entry in settings_of(found):
        before = said.setdefault((entry.scope, entry.entity, entry.key), entry)
        if before.value != entry.value and entry.key != REPLICATION_FACTOR:
            # JSON has no order that would make the later one count.
            raise SpecUnreadable(
                f"{name} sets {entry.key} to {before.value} at line {before.line} and to {entry.value} at line {entry.line}; "
                "leave one out"
            )
    return kafka_names(found)


def _connector(name: str, text: str, document: object) -> list[Read] | None:
    """What a connector's configuration says, as Connect's REST interface takes it; None for another document."""
    config = document.get("config", document) if isinstance(document, dict) else None
    if not isinstance(config, dict) or "connector.class" not in config:
        return None
    reader = _Json(name, text)
    title = {"name": str(document["name"])} if isinstance(document, dict) and "name" in document else {}
    entries = [entry for key, value in {**title, **config}.items() for entry in reader.entry(key, value)]
    return client_entries(entries)


_CONTAINERS = ("configs", "config", "data", "partitions", "properties")
_NO_SETTINGS = ("topic", "topic_name", "topicName", "version", "partition", "log_dirs", "kind", "metadata")


def _are_ids(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and bool(value) and all(isinstance(item, int) for item in value)


def _setting_within(node: object) -> str | None:
    """A setting that decides, or a name that seems to mean one, anywhere in a part of the document that is not read."""
    for text, is_name in _texts_within(node):
        if (is_name and (text in DECIDING or likely_setting(text) is not None)) or setting_within(text) is not None:
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

    def entries(self, node: object, scope: Scope | None, entity: str | None) -> Iterator[Read]:
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
            found = list(self._member(key, value, scope, entity))
            yield from found
            partition = node.get("partition")
            if key == "replicas" and topic is not None and isinstance(partition, int) and _are_ids(value):
                yield Assigned(topic, partition, tuple(value)).note(self._name, found[0].line)

    def _member(self, key: str, value: object, scope: Scope | None, entity: str | None) -> Iterator[Read]:
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

    def entry(self, key: str, value: object) -> Iterator[SettingEntry]:
        """A single setting of nobody in particular."""
        return self._entry(key, value, None, None)

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


READER = Reader(
    "JSON", (".json",), lambda source: Sign.CERTAIN if is_json(source) and not has_resource(source) else Sign.NONE, _entries
)
