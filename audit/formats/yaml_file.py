"""YAML by what it is about: resources of Kubernetes, services of docker-compose, Spring, or values of a Helm chart."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from acked.audit.formats.containers.compose import check_services, compose_entries, is_compose
from acked.audit.formats.containers.helm import values_entries
from acked.audit.formats.containers.kubernetes import is_resource, resource_entries
from acked.audit.formats.environment import Variable, application_entries, broker_entries
from acked.audit.formats.foreign import YAML, likely
from acked.audit.formats.json_file import has_resource, is_json
from acked.audit.formats.parts.places import Whose, add_suspects, find_suspects
from acked.audit.formats.parts.reader import Reader, Sign, Source
from acked.audit.formats.parts.tree import Field, Fields, Node, Text, documents
from acked.audit.formats.properties_file import kafka_names
from acked.audit.formats.spring import has_spring, spring_yaml
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import Scope
from acked.cluster.vocabulary.note import Read

_SECTIONS = {f"{scope.value}{end}": scope for scope in (Scope.BROKER, Scope.TOPIC, Scope.PRODUCER, Scope.CONSUMER)
             for end in ("", "s")}  # fmt: skip
_LIKENESS = 0.8


def _entries(file: str, text: str) -> list[Read]:
    """The settings of a YAML file, document by document."""
    found = documents(file, text)
    if has_spring(found):
        return spring_yaml(file, found)
    entries = resource_entries(file, [node for node in found if is_resource(node)])
    others = [node for node in found if not is_resource(node)]
    if len(others) > 1 and sum(bool(_document(file, node)) for node in others) > 1:
        raise SpecUnreadable(f"{file}:{others[1].line}: a second document has settings too, and nothing says which of them "
                             "counts; audit one at a time")  # fmt: skip
    for node in others:
        entries += _document(file, node)
    return entries


def _document(file: str, node: Node) -> list[Read]:
    if not isinstance(node, Fields):
        return list(find_suspects(Whose(file), node))
    if isinstance((broker := node.field("redpanda")) and broker.node, Fields):
        raise SpecUnreadable(f"{file}:{node.line}: this is Redpanda's, which replicates by Raft and not by Kafka's protocol; "
                             "nothing is known of it here")  # fmt: skip
    _check_sections(file, node)
    check_services(file, node)
    read = next(read for recognises, read in _KINDS if recognises(node))
    return list(read(file, node))


def _texts(node: Fields) -> list[Field]:
    return [item for item in node.fields if isinstance(item.node, Text)]


def _has_variables(node: Fields) -> bool:
    return any(item.key.startswith(("KAFKA_", "SPRING_KAFKA_")) for item in _texts(node))


def _variables(file: str, node: Fields) -> list[Read]:
    found = [Variable(item.key, item.text, item.line) for item in _texts(node)]
    brokers = [variable for variable in found if variable.name.startswith("KAFKA_")]
    clients = [variable for variable in found if variable not in brokers]
    read = [*broker_entries(Whose(file, Scope.BROKER), brokers, None),
            *application_entries(Whose(file, Scope.PRODUCER), clients)]  # fmt: skip
    return add_suspects(read, find_suspects(Whose(file), node))


def _has_sections(node: Fields) -> bool:
    """Whether there are mappings of names of Kafka's to single values, and besides only what is empty, by any name."""
    return any(isinstance(item.node, Fields) for item in node.fields) and all(
        (item.key in _SECTIONS and _is_plain(item.node)) or _is_empty(item.node) for item in node.fields
    )


def _check_sections(file: str, node: Fields) -> None:
    """Refuses a name beside sections that seems to mean one: with it the others would not be read as sections either."""
    if any(isinstance(item.node, Fields) and _has_names(item.node) for item in node.fields):
        for item in node.fields:
            meant = difflib.get_close_matches(item.key, _SECTIONS, n=1, cutoff=_LIKENESS)
            if meant and item.key not in _SECTIONS and (_is_plain(item.node) or _is_empty(item.node)):
                raise SpecUnreadable(f"{file}:{item.line}: {item.key} is no section, and {meant[0]} seems to be meant; "
                                     "write that, or leave it out")  # fmt: skip


def _is_plain(node: Node) -> bool:
    return isinstance(node, Fields) and len(_texts(node)) == len(node.fields)


def _is_empty(node: Node) -> bool:
    return isinstance(node, Text) and node.is_null


def _sections(file: str, node: Fields) -> list[Read]:
    found: list[Read] = []
    for item in node.fields:
        if not isinstance(item.node, Fields):
            continue
        found += _plain(Whose(file, _SECTIONS[item.key]), item.node)
    return found


def _has_names(node: Fields) -> bool:
    """Whether there are single values alone, one of them by a name such as Kafka's."""
    texts = _texts(node)
    return len(texts) == len(node.fields) and any("." in item.key for item in texts)


def _plain(whose: Whose, node: Fields) -> list[Read]:
    return kafka_names(whose.entry(item.key, item.text.strip(), item.line) for item in node.fields)


_KINDS: tuple[tuple[Callable[[Fields], bool], Callable[[str, Fields], Iterable[Read]]], ...] = (
    (is_compose, compose_entries),
    (_has_variables, _variables),
    (_has_sections, _sections),
    (_has_names, lambda file, node: _plain(Whose(file), node)),
    (lambda node: True, values_entries),
)
"""What shows a kind of document, and how it is read; of one that is no resource and not Spring's, the first that it shows."""


def _recognises(source: Source) -> Sign:
    return Sign.CERTAIN if is_json(source) and has_resource(source) else likely(YAML)(source)


READER = Reader(YAML, (".yml", ".yaml"), _recognises, _entries)
