"""Settings in trees: what stands where settings are read, and what seems to be a setting where they are not."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from acked.audit.formats.parts.images import names_no_release, release_of_image
from acked.audit.formats.parts.properties import property_entries
from acked.audit.formats.parts.tree import Field, Fields, Items, Node, Text
from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import IMAGE, REPLICATION_FACTOR, STATED, Scope, SettingEntry
from acked.cluster.vocabulary.names import likely_setting, likely_setting_elsewhere, setting_within
from acked.cluster.vocabulary.note import Described, Fact, Imported, Note, Read, Unreleased, settings_of


@frozen
class Whose:
    """The file that is read, and whose settings a part of it has: of what, and of which cluster."""

    file: str
    scope: Scope | None = None
    entity: str | None = None
    cluster: str | None = None

    def entry(self, key: str, value: str, line: int, scope: Scope | None = None) -> SettingEntry:
        """A setting of its own."""
        return SettingEntry(key, value, self.file, line, scope or self.scope, self.entity, cluster=self.cluster)

    def note(self, fact: Fact, line: int) -> Note:
        """A fact about it that is no setting."""
        return Note(fact, self.file, line, self.scope, self.entity, cluster=self.cluster)

    def description(self, line: int) -> Note:
        """That it is described."""
        return self.note(Described(), line)

    def import_note(self, other: str, line: int) -> Note:
        """That another file counts as well."""
        return self.note(Imported(other), line)

    def properties(self, text: str, first: int) -> Iterator[SettingEntry]:
        """The settings of a text of properties, whose first line is `first`."""
        found = property_entries(self.file, text, first, self.scope, self.entity)
        return (replace(entry, cluster=self.cluster) for entry in found)

    def image(self, image: str, line: int) -> Iterator[Read]:
        """The release of a container's image, where it is known, or that one of Kafka's names none."""
        if (runs := release_of_image(image)) is not None:
            yield self.entry(IMAGE, runs, line, Scope.BROKER)
        elif names_no_release(image):
            yield self.note(Unreleased(image), line)

    def stated_release(self, item: Field | None, key: str = STATED) -> Iterator[SettingEntry]:
        """The release that a field names."""
        if item is not None and item.text:
            yield self.entry(key, item.text, item.line, Scope.BROKER)

    def suspect(self, key: str, value: str, line: int, means: str) -> SettingEntry:
        """A name that seems to mean a setting, where none is read."""
        return SettingEntry(key, value, self.file, line, self.scope, self.entity, means=means)

    def wrong(self, line: int, why: str) -> SpecUnreadable:
        """The error about a line."""
        return SpecUnreadable(f"{self.file}:{line}: {why}")


def settings_in(whose: Whose, item: Field | None) -> Iterator[SettingEntry]:
    """The settings of a mapping `key: value`, of a list of `key=value`, or of a text that is properties."""
    if item is None:
        return
    node = item.node
    if isinstance(node, Text):
        if node.value.lstrip().startswith(("${", "{{")):
            raise whose.wrong(item.line, f"{item.key} is filled in elsewhere; name a file in which it is")
        first = node.line + 1 if node.is_block else node.line
        yield from whose.properties(node.value, first)
    elif isinstance(node, Items):
        for one in node.items:
            if not isinstance(one, Text):
                raise whose.wrong(one.line, f"{item.key} may have key=value in its list, and nothing else")
            yield from whose.properties(one.value, one.line)
    else:
        yield from (whose.entry(field.key, one_value(whose, field), field.line) for field in node.fields)


def one_value(whose: Whose, field: Field) -> str:
    """The text of a field; `SpecUnreadable` if it is no single value."""
    if not isinstance(field.node, Text):
        kind = "list" if isinstance(field.node, Items) else "mapping"
        raise whose.wrong(field.line, f"{field.key} is a {kind} (or a template that was not filled in); give one value")
    return field.node.value.strip()


def quorum_of_controller(found: Iterable[SettingEntry]) -> Iterator[SettingEntry]:
    """What a node that is only a controller says of the quorum; it holds no records, so nothing is said of its name."""
    return (replace(entry, scope=None, entity=None) for entry in found if entry.key in keys.QUORUM)


_OVERRIDE = re.compile(r"-{2}replication-factor[\s=]")


def find_suspects(whose: Whose, node: Node, path: Sequence[str] = ()) -> Iterator[SettingEntry]:
    """What seems to be a setting that decides, anywhere in a part of a document that is not read."""
    if isinstance(node, Text) and node.is_block:
        for at, line in enumerate(node.value.splitlines(), node.line + 1):
            if not line.lstrip().startswith(("#", "!", "//")):
                yield from find_suspects(whose, Text(line, at), path)
    elif isinstance(node, Text):
        if (named := setting_within(node.value)) is not None:
            yield whose.suspect(".".join(path) or named, node.value, node.line, named)
        elif (means := _swallowed(node.value, path)) is not None:
            yield whose.suspect(node.value, "", node.line, means)
        elif _OVERRIDE.search(node.value):
            yield whose.suspect("--replication-factor", node.value, node.line, "replication.factor")
        elif path and path[-1] in ("name", "key") and (means := likely_setting_elsewhere(node.value, path)) is not None:
            yield whose.suspect(node.value, "", node.line, means)
    elif isinstance(node, Items):
        for item in node.items:
            yield from find_suspects(whose, item, path)
    else:
        yield from find_suspects_in(whose, node.fields, path)


_ITEM = re.compile(r"\s- (?P<name>[\w.\-]+)[=:]")


def _swallowed(text: str, path: Sequence[str]) -> str | None:
    """The setting of a list's item that a text before it goes on with, as a wrong indentation makes it."""
    found = (likely_setting_elsewhere(item["name"], path) for item in _ITEM.finditer(text))
    return next(filter(None, found), None)


def find_suspects_in(whose: Whose, fields: Iterable[Field], path: Sequence[str] = ()) -> Iterator[SettingEntry]:
    """What seems to be a setting in one of these fields, which are not read."""
    for item in fields:
        here = (*path, item.key)
        if (means := likely_setting_elsewhere(item.key, path)) is not None:
            yield whose.suspect(".".join(here), item.text, item.line, means)
        else:
            yield from find_suspects(whose, item.node, here)


def add_suspects(read: Iterable[Read], suspects: Iterable[SettingEntry]) -> list[Read]:
    """What was read, and what seems to be a setting in the whole of it and was not read there."""
    found, beside = list(read), list(suspects)
    lines = {entry.line for entry in beside}
    said = {(one.line, one.means or likely_setting(one.key) or one.key) for one in settings_of(found) if one.line in lines}
    return found + [entry for entry in beside if (entry.line, entry.means) not in said]


def check_fields(whose: Whose, fields: Iterable[Field], known: Sequence[str]) -> None:
    """Refuses a field that is nearly one of those that are read: passed over, it would count as left out."""
    for item in fields:
        close = [] if item.key in known else difflib.get_close_matches(item.key, known, n=1, cutoff=_LIKENESS)
        if close:
            raise whose.wrong(item.line, f"there is no field {item.key!r} here, and {close[0]} seems to be meant; write that")


_LIKENESS = 0.8


def factors(whose: Whose, node: Node, is_topic: bool = False) -> Iterator[SettingEntry]:
    """What may be a topic's number of replicas, by the name that nodes' number has too: in a list, or below `topics`."""
    if isinstance(node, Items):
        for one in node.items:
            yield from factors(whose, one, True)
    elif isinstance(node, Fields):
        for item in node.fields:
            if is_topic and item.key in ("replicas", "replication") and isinstance(item.node, Text):
                yield whose.suspect(item.key, item.text, item.line, REPLICATION_FACTOR)
            yield from factors(whose, item.node, is_topic or "topic" in item.key.lower())


def mappings(field: Field | None) -> list[Fields]:
    """The mappings of the list that a field is; of anything else none."""
    node = None if field is None else field.node
    return [item for item in node.items if isinstance(item, Fields)] if isinstance(node, Items) else []


_OF_TOPICS = ("name", "topicName", "topic_name", "partitions", "partitionCount", "partitions_count")


def topic_entries(
    file: str, topic: Fields, factor: Sequence[str], config: Sequence[str], name: str, cluster: str | None = None
) -> Iterator[Read]:
    """A topic of a list of them: its number of replicas and its settings, under these keys."""
    whose = Whose(file, Scope.TOPIC, name, cluster)
    yield whose.description(topic.line)
    check_fields(whose, topic.fields, (*factor, *config, *_OF_TOPICS))
    replicas = topic.field(*factor)
    if replicas is not None and replicas.text.strip() != "-1":  # The brokers' default.
        yield whose.entry(REPLICATION_FACTOR, one_value(whose, replicas), replicas.line)
    yield from settings_in(whose, topic.field(*config))
