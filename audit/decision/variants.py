"""Which of several topics, clusters, services or profiles is meant, where files describe more than one.

What all of them share counts for each. Those that are alike need no name.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence

from acked.base.errors import ConfigurationError
from acked.base.names import near
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.note import Described, Note, Read

_BY_PRESENCE = frozenset({keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.TRANSACTIONAL_ID, keys.GROUP_INSTANCE, keys.CLIENT_RACK})
"""Settings of which only counts whether they have a value: nodes differ in it as they should."""

_KINDS = (Scope.BROKER, Scope.DYNAMIC_BROKER, Scope.PRODUCER, Scope.CONSUMER)


def stays_the_same(first: SettingEntry, second: SettingEntry) -> bool:
    """Whether two values of one setting say the same here."""
    return first.key in _BY_PRESENCE and bool(first.value) == bool(second.value)


def of_one_topic(
    known: Sequence[SettingEntry], read: Iterable[Read], topic: str | None, hidden: Container[str]
) -> list[SettingEntry]:
    """Without the settings of other topics than the one that is meant; those that differ in `hidden` keys only are alike."""
    both = [*read, *known]  # Of those that are only described nothing is known.
    topics = list(dict.fromkeys(e.entity for e in both if e.scope is Scope.TOPIC and e.entity is not None))
    if topic is not None and topic not in topics:
        raise ConfigurationError(f"no file describes a topic {topic!r}{near(topic, topics)}; they describe {_list(topics)}")
    if topic is None and len(topics) > 1:
        shown = [entry for entry in known if entry.key not in hidden and entry.scope is Scope.TOPIC]
        settings = [frozenset((e.key, e.value) for e in shown if e.entity == name) for name in topics]
        if len(set(settings)) > 1:
            raise ConfigurationError(f"the files describe several topics; name one with --topic: {_list(topics)}")
    if topic is None and topics:
        topic = topics[0]
    if topic is not None:
        notes = [one for one in both if isinstance(one, Note) and one.fact == Described() and one.scope is Scope.TOPIC]
        _check_one_definition([e for e in known if e.key not in hidden], notes, topic)
    return [e for e in known if e.scope is not Scope.TOPIC or e.entity is None or topic is None or e.entity == topic]


def _check_one_definition(known: Sequence[SettingEntry], described: Iterable[Note], topic: str) -> None:
    """Two resources of one name are two topics (of two clusters), unless they say the same."""
    where = {note.file: note.where for note in described if note.entity == topic}
    own = [entry for entry in known if entry.scope is Scope.TOPIC and entry.entity == topic]
    found = {file: frozenset((entry.key, entry.value) for entry in own if entry.file == file) for file in where}
    if len(set(found.values())) > 1:
        first, second = list(where.values())[:2]
        raise ConfigurationError(f"{first} and {second} both describe the topic {topic}, and differ; audit one at a time")


def of_one_variant(
    known: Sequence[SettingEntry], read: Iterable[Read], wanted: Collection[str], hidden: Container[str]
) -> list[SettingEntry]:
    """Without the settings of other clusters, services and profiles than those that are meant, unless all are alike.

    What differs between them and is not said here would count for all: a setting of one of them only.
    """
    both = [*read, *known]
    names = {scope: list(dict.fromkeys((e.file, e.entity) for e in both if e.scope is scope and e.entity is not None))
             for scope in _KINDS}  # fmt: skip
    every = list(dict.fromkeys(str(entity) for found in names.values() for _, entity in found))
    for name in wanted:
        if name not in every:
            raise ConfigurationError(f"no file describes {name!r}{near(name, every)}; they describe {_list(every)}")
    left = list(known)
    for scope, found in names.items():
        meant = [name for name in found if name[1] in wanted] or found
        settings = {name: _settings(known, scope, name, hidden) for name in meant}
        if len(set(settings.values())) > 1:
            differing = sorted({key for one in settings.values() for key, _ in one ^ settings[meant[0]]})
            raise ConfigurationError(
                f"the files describe several {_noun(scope)}, which differ in {', '.join(differing[:3])}; name one with "
                f"--entity: {_list(str(entity) for _, entity in meant)}"
            )
        left = [e for e in left if e.scope is not scope or e.entity is None or (e.file, e.entity) in meant]
    return left


def _settings(
    known: Iterable[SettingEntry], scope: Scope, name: tuple[str, str | None], hidden: Container[str]
) -> frozenset[tuple[str, str]]:
    """What one of them sets; the later of two in one file counts."""
    found = {}
    for entry in known:
        if entry.scope is scope and (entry.file, entry.entity) == name and entry.key not in hidden:
            found[entry.key] = str(bool(entry.value)) if entry.key in _BY_PRESENCE else entry.value
    if scope is Scope.BROKER:
        found.pop(keys.ROLES, None)  # Nodes of one cluster have different roles.
    return frozenset(found.items())


def _noun(scope: Scope) -> str:
    return "clusters or nodes" if scope in (Scope.BROKER, Scope.DYNAMIC_BROKER) else f"{scope.value}s"


def _list(names: Iterable[str]) -> str:
    shown = list(dict.fromkeys(names))
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "") if shown else "none"
