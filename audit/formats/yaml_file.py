"""YAML by what it is about: resources of Kubernetes, services of docker-compose, Spring, or values of a Helm chart."""

from __future__ import annotations

from acked.audit.formats.compose import compose_entries
from acked.audit.formats.environment import Variable, application_entries, broker_entries
from acked.audit.formats.helm import values_entries
from acked.audit.formats.kubernetes import is_resource, resource_entries
from acked.audit.formats.librdkafka import as_kafkas
from acked.audit.formats.places import Whose, unread, with_unread
from acked.audit.formats.spring import has_spring, spring_yaml
from acked.audit.formats.tree import Field, Fields, Node, Text, documents
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import Scope, SettingEntry

_SECTIONS = {f"{scope.value}{end}": scope for scope in (Scope.BROKER, Scope.TOPIC, Scope.PRODUCER, Scope.CONSUMER)
             for end in ("", "s")}  # fmt: skip


def yaml_entries(file: str, text: str) -> list[SettingEntry]:
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


def _document(file: str, node: Node) -> list[SettingEntry]:
    if not isinstance(node, Fields):
        return list(unread(Whose(file), node))
    services = node.field("services")
    if services is not None and isinstance(services.node, Fields):
        return compose_entries(file, node)
    plain = [item for item in node.fields if isinstance(item.node, Text)]
    variables = [item for item in plain if item.key.startswith(("KAFKA_", "SPRING_KAFKA_"))]
    if variables:
        return _variables(file, node)
    if any(item.key in _SECTIONS for item in node.fields) and all(_is_section(item) for item in node.fields):
        return [entry for item in node.fields for entry in _section(file, item)]
    if len(plain) == len(node.fields) and any("." in item.key for item in plain):
        return as_kafkas(Whose(file).entry(item.key, item.text.strip(), item.line) for item in plain)
    return list(values_entries(file, node))


def _variables(file: str, node: Fields) -> list[SettingEntry]:
    found = [Variable(item.key, item.text, item.line) for item in node.fields if isinstance(item.node, Text)]
    brokers = [variable for variable in found if variable.name.startswith("KAFKA_")]
    clients = [variable for variable in found if variable not in brokers]
    read = [*broker_entries(Whose(file, Scope.BROKER), brokers, None),
            *application_entries(Whose(file, Scope.PRODUCER), clients)]  # fmt: skip
    return with_unread(read, unread(Whose(file), node))


def _is_section(item: Field) -> bool:
    """A mapping of names of Kafka's to single values."""
    return item.key in _SECTIONS and isinstance(item.node, Fields) and all(
        isinstance(field.node, Text) for field in item.node.fields
    )  # fmt: skip


def _section(file: str, item: Field) -> list[SettingEntry]:
    assert isinstance(item.node, Fields)
    whose = Whose(file, _SECTIONS[item.key])
    return as_kafkas(whose.entry(field.key, field.text.strip(), field.line) for field in item.node.fields)
