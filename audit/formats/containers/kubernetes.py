"""Kubernetes resources: Strimzi's and Confluent's `Kafka` and `KafkaTopic`, node pools, ConfigMaps, containers with Kafka.

Sources: Strimzi's API reference (`spec.kafka.version`, `metadataVersion`, `config`; `KafkaTopic` with `replicas`, `config`
and `topicName`; the annotation `strimzi.io/kraft`, the label `strimzi.io/cluster`) and releases (0.36 brought node pools
and left Kafka 3.3, 0.49 brought the API v1 after 0.48 had left 3.9), Confluent for Kubernetes (`configOverrides.server`,
`configs`, `kafkaClusterRef`).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from acked.audit.formats.clients import client_entries
from acked.audit.formats.containers.helm import values_entries
from acked.audit.formats.environment import (
    Container,
    Variable,
    application_entries,
    broker_entries,
    container_entries,
)
from acked.audit.formats.parts.places import (
    Whose,
    add_suspects,
    check_fields,
    find_suspects_in,
    mappings,
    one_value,
    quorum_of_controller,
    settings_in,
    topic_entries,
)
from acked.audit.formats.parts.properties import property_entries
from acked.audit.formats.parts.tree import Field, Fields, Items, Node, Text, documents
from acked.audit.formats.spring import spring_properties, spring_yaml
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import OLDEST, Scope, SettingEntry
from acked.cluster.vocabulary.note import Controllers, Nodes, Note, Read

_STRIMZI, _CONFLUENT = "kafka.strimzi.io/", "platform.confluent.io/"


def is_resource(node: Node) -> bool:
    """Whether a document is a resource of Kubernetes, or was one before a line of it was lost."""
    return isinstance(node, Fields) and sum(item.key in _PARTS for item in node.fields) > 1


_PARTS = ("apiVersion", "kind", "metadata", "spec")


def resource_entries(file: str, found: Iterable[Node]) -> list[Read]:
    """The settings of the resources of a file; `SpecUnreadable` where one is there twice."""
    resources = [item for node in found for item in _resources(node)]
    maps = {_name(item): item.within("data") for item in resources if item.text("kind") == "ConfigMap"}
    taken = {name for item in resources for container in _containers(item) for name, _ in _sources(container)}
    seen: dict[tuple[str, str, str | None], int] = {}
    entries: list[Read] = []
    suspects: list[SettingEntry] = []
    for item in resources:
        suspects += find_suspects_in(Whose(file, None, _name(item)), _visible(item), (item.text("kind"),))
        own = list(_resource(file, item, maps, taken))
        kind, name = item.text("kind"), _topic_name(item) if item.text("kind") == "KafkaTopic" else _name(item)
        before = seen.setdefault((kind, name, _cluster_of(item)), item.line)
        if before != item.line and own:
            raise SpecUnreadable(f"{file}:{item.line}: the {kind} {name!r} is there twice, first at line {before}; leave one "
                                 "out or audit one at a time")  # fmt: skip
        entries += own
    return add_suspects(entries, suspects)


def _visible(resource: Fields) -> list[Field]:
    """Without what the cluster keeps of a resource for itself: its state, and what was applied before."""
    found = []
    for item in resource.fields:
        if item.key == "metadata" and isinstance(item.node, Fields):
            fields = [field for field in item.node.fields if field.key != "managedFields"]
            kept = [replace(field, node=_without(field.node, _APPLIED)) for field in fields]
            item = replace(item, node=Fields(tuple(kept), item.line))
        if item.key != "status":
            found.append(item)
    return found


_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def _without(node: Node, key: str) -> Node:
    return Fields(tuple(item for item in node.fields if item.key != key), node.line) if isinstance(node, Fields) else node


def _resources(node: Node) -> Iterator[Fields]:
    if isinstance(node, Fields) and node.text("kind").endswith("List") and isinstance(node.field("items"), Field):
        for item in mappings(node.field("items")):
            yield from _resources(item)
    elif isinstance(node, Fields):
        yield node


def _name(resource: Fields) -> str:
    return resource.within("metadata").text("name")


def _topic_name(resource: Fields) -> str:
    spec = resource.within("spec")
    return spec.text("topicName", "name") or _name(resource)


def _cluster_of(resource: Fields) -> str | None:
    """The cluster that a resource is, or says that it belongs to, `namespace/name` as far as it says so; None of others."""
    version, kind = resource.text("apiVersion"), resource.text("kind")
    metadata = resource.within("metadata")
    space = metadata.text("namespace")
    if kind == "Kafka" and version.startswith((_STRIMZI, _CONFLUENT)):
        watched = resource.within("spec", "entityOperator", "topicOperator").text("watchedNamespace")
        name, space = metadata.text("name"), "" if watched else space
    elif kind in ("KafkaTopic", "KafkaNodePool") and version.startswith(_STRIMZI):
        name = metadata.within("labels").text("strimzi.io/cluster")
    elif kind == "KafkaTopic" and version.startswith(_CONFLUENT):
        reference = resource.within("spec", "kafkaClusterRef")
        name, space = reference.text("name"), reference.text("namespace") or space
    else:
        return None
    return f"{space}/{name}" if space and name else name or None


def _resource(file: str, resource: Fields, maps: Mapping[str, Fields], taken: Collection[str]) -> Iterator[Read]:
    version, kind = resource.text("apiVersion"), resource.text("kind")
    cluster = _cluster_of(resource)
    whose = Whose(file, Scope.BROKER, _name(resource), cluster)
    _check_kind(whose, resource)
    if version.startswith(_STRIMZI) and kind == "Kafka":
        yield from _strimzi(whose, resource)
    elif version.startswith(_STRIMZI) and kind == "KafkaNodePool":
        yield from _pool(Whose(file, Scope.BROKER, None, cluster), resource)
    elif kind == "KafkaTopic" and version.startswith((_STRIMZI, _CONFLUENT)):
        spec = resource.within("spec")
        yield from topic_entries(file, Fields(spec.fields, resource.line), ["replicas"], ["config", "configs"],
                                 _topic_name(resource), cluster)  # fmt: skip
    elif version.startswith(_CONFLUENT) and kind in ("Kafka", "KRaftController"):
        yield from _confluent(whose, resource)
    elif kind in ("KafkaConnect", "KafkaConnector", "Connect") and version.startswith((_STRIMZI, _CONFLUENT)):
        yield from _connect(file, resource)
    elif kind == "ConfigMap":
        yield from _config_map(whose, resource, whose.entity in taken)
    elif kind == "HelmRelease":
        yield from values_entries(file, resource.within("spec", "values"))
    elif kind == "Application" and version.startswith("argoproj.io/"):
        yield from values_entries(file, resource.within("spec", "source", "helm", "valuesObject"))
    else:
        yield from _others(file, resource, maps)


_KINDS = ("Kafka", "KafkaTopic", "KafkaNodePool")
_OTHER_KINDS = ("KafkaUser", "KafkaConnect", "KafkaConnector", "KafkaMirrorMaker", "KafkaMirrorMaker2", "KafkaBridge",
                "KafkaRebalance", "KafkaRestClass", "KafkaRestProxy")  # fmt: skip


def _check_kind(whose: Whose, resource: Fields) -> None:
    """A kind that is nearly one that is read, or of another group, or without its `spec`, is not passed over."""
    version, kind = resource.text("apiVersion"), resource.text("kind")
    if not version or not kind:
        raise whose.wrong(resource.line, f"there is no {'kind' if version else 'apiVersion'}, so nothing says what this is")
    close = difflib.get_close_matches(kind, _KINDS, n=1, cutoff=0.75)
    if kind in _KINDS and not version.startswith((_STRIMZI, _CONFLUENT)):
        raise whose.wrong(resource.line, f"a {kind} of {version} is not known here; Strimzi's are {_STRIMZI}…, Confluent's "
                          f"{_CONFLUENT}…")  # fmt: skip
    if close and kind not in (*_KINDS, *_OTHER_KINDS):
        raise whose.wrong(resource.line, f"there is no kind {kind!r}, and {close[0]} seems to be meant; write that")
    if kind in _KINDS:
        check_fields(whose, resource.fields, ("apiVersion", "kind", "metadata", "spec", "status"))
        if not resource.within("spec").fields:
            raise whose.wrong(resource.line, f"the {kind} has no spec, so nothing is known of it")


def _strimzi(whose: Whose, resource: Fields) -> Iterator[Read]:
    check_fields(whose, resource.within("spec").fields, ("kafka", "zookeeper"))
    spec = resource.within("spec", "kafka")
    check_fields(whose, spec.fields, ("version", "metadataVersion", "config", "image", "replicas"))
    yield whose.description(resource.line)
    yield from _oldest(whose, resource, is_pool=False)
    yield from whose.stated_release(spec.field("version"))
    yield from whose.stated_release(spec.field("metadataVersion"), keys.METADATA_VERSION)
    if (image := spec.field("image")) is not None and spec.field("version") is None:
        yield from whose.image(image.text, image.line)
    mode = resource.within("metadata", "annotations").field("strimzi.io/kraft")
    zookeeper = resource.within("spec").field("zookeeper")
    if mode is not None and mode.text == "enabled":
        yield whose.entry(keys.ROLES, "broker", mode.line)
    elif zookeeper is not None and (mode is None or mode.text == "disabled"):
        yield whose.entry(keys.ZOOKEEPER_CONNECT, "spec.zookeeper", zookeeper.line)
    yield from _nodes(whose, spec)
    yield from settings_in(whose, spec.field("config"))


def _connect(file: str, resource: Fields) -> Iterator[Read]:
    """What workers and connectors of Connect hand on to their clients."""
    spec = resource.within("spec")
    whose = Whose(file)
    found = [*settings_in(whose, spec.field("config")), *settings_in(whose, spec.within("configOverrides").field("server"))]
    if (kind := spec.field("class")) is not None:
        found.append(whose.entry("connector.class", kind.text, kind.line))
    yield from client_entries(found) or ()


def _nodes(whose: Whose, spec: Fields) -> Iterator[Read]:
    replicas = spec.field("replicas")
    if replicas is not None:
        yield whose.note(Nodes(one_value(whose, replicas)), replicas.line)


def _controllers(whose: Whose, spec: Fields) -> Iterator[Note]:
    replicas = spec.field("replicas")
    if replicas is not None:
        yield Note(Controllers(one_value(whose, replicas)), whose.file, replicas.line, cluster=whose.cluster)


def _oldest(whose: Whose, resource: Fields, is_pool: bool) -> Iterator[SettingEntry]:
    """What a resource says of the release by the operator that knows it: the API v1 also that there is no ZooKeeper."""
    version = resource.field("apiVersion")
    if version is not None and version.text == f"{_STRIMZI}v1":
        yield whose.entry(OLDEST, "4.0", version.line)
    elif is_pool:
        yield whose.entry(OLDEST, "3.4", resource.line)


def _pool(whose: Whose, resource: Fields) -> Iterator[Read]:
    spec = resource.within("spec")
    roles = spec.field("roles")
    yield whose.description(resource.line)
    yield from _oldest(whose, resource, is_pool=True)
    listed = roles.node.items if roles is not None and isinstance(roles.node, Items) else ()
    named = [node.value for node in listed if isinstance(node, Text)]
    if roles is not None and "controller" in named:
        yield whose.entry(keys.ROLES, "controller", roles.line)
        yield from _controllers(whose, spec)
    if "broker" in named or not named:
        yield from _nodes(whose, spec)


def _confluent(whose: Whose, resource: Fields) -> Iterator[Read]:
    spec = resource.within("spec")
    overrides = spec.within("configOverrides")
    found = list(settings_in(whose, overrides.field("server")))
    if resource.text("kind") == "KRaftController" and not any(entry.key in _CONTROLLED for entry in found):
        yield from quorum_of_controller(found)
        yield from _controllers(whose, spec)
        return
    yield whose.description(resource.line)
    image = spec.field("image")
    if image is not None and isinstance(image.node, Fields):
        application = image.node.field("application")
        if application is not None:
            yield from whose.image(application.text, application.line)
    controllers = spec.within("dependencies").field("kRaftController")
    if controllers is not None:
        yield whose.entry(keys.ROLES, "broker", controllers.line)
    yield from _nodes(whose, spec)
    yield from found


_CONTROLLED = (keys.UNCLEAN, keys.MIN_ISR, keys.ELR, keys.DEFAULT_FACTOR)
"""What KRaft's controllers have a say in."""


# -- what is not Kafka's own --------------------------------------------------------------------------------------------


def _config_map(whose: Whose, resource: Fields, is_taken: bool) -> Iterator[Read]:
    """Files within it by their names, and variables, unless a container of this file takes them over."""
    variables = []
    if resource.within("data").field("server.properties") is not None:
        yield whose.description(resource.line)
    for item in resource.within("data").fields:
        text = item.node
        if not isinstance(text, Text):
            continue
        if item.key.endswith(".properties"):
            yield from _inner_properties(whose, item, text)
        elif item.key.endswith((".yml", ".yaml")):
            yield from _inner_yaml(whose, item, text)
        elif item.key.startswith(("KAFKA_", "SPRING_KAFKA_")) and not is_taken:
            variables.append(Variable(item.key, text.value, item.line))
    brokers = [variable for variable in variables if variable.name.startswith("KAFKA_")]
    yield from broker_entries(whose, brokers, None)
    clients = [variable for variable in variables if variable not in brokers]
    yield from application_entries(Whose(whose.file, Scope.PRODUCER, whose.entity), clients)


def _inner_properties(whose: Whose, item: Field, text: Text) -> Iterator[Read]:
    first = text.line + 1 if text.is_block else text.line
    if any(line.lstrip().startswith("spring.") for line in text.value.splitlines()):
        yield from spring_properties(whose.file, "\n" * (first - 1) + text.value)
    else:
        scope = next((one for one in (Scope.PRODUCER, Scope.CONSUMER) if one.value in item.key), None)
        yield from property_entries(whose.file, text.value, first, scope, whose.entity if scope is None else None)


def _inner_yaml(whose: Whose, item: Field, text: Text) -> Iterator[Read]:
    first = text.line + 1 if text.is_block else text.line
    found = documents(whose.file, "\n" * (first - 1) + text.value)
    if item.key.startswith("application"):
        yield from spring_yaml(whose.file, found)


def _containers(resource: Fields) -> list[Fields]:
    """The containers of a workload; of any other resource none."""
    spec = resource.within("spec")
    pod = spec if resource.text("kind") == "Pod" else spec.within("template", "spec")
    if resource.text("kind") == "CronJob":
        pod = spec.within("jobTemplate", "spec", "template", "spec")
    containers = pod.field("containers")
    return mappings(containers)


def _sources(container: Fields) -> Iterator[tuple[str, int]]:
    """The maps from which a container takes variables."""
    source = container.field("envFrom")
    for item in mappings(source):
        for kind in ("configMapRef", "secretRef"):
            if name := item.within(kind).text("name"):
                yield name, item.line


def _others(file: str, resource: Fields, maps: Mapping[str, Fields]) -> Iterator[Read]:
    """Workloads: their containers."""
    for container in _containers(resource):
        yield from _container(file, f"{_name(resource)}/{container.text('name')}", container, maps)


def _container(file: str, name: str, container: Fields, maps: Mapping[str, Fields]) -> Iterator[Read]:
    whose = Whose(file, None, name)
    own = list(variables_of(whose, container.field("env"), maps))
    said = {variable.name for variable in own}
    for source, _ in _sources(container):
        fields = maps[source].fields if source in maps else ()
        own += [Variable(field.key, one_value(whose, field), field.line) for field in fields if field.key not in said]
        said |= {field.key for field in fields}
    found = container_entries(file, Container(name, container.line, container.field("image"), tuple(own)))
    yield from found
    if any(entry.scope is Scope.BROKER for entry in found):
        yield from (whose.import_note(other, line) for other, line in _sources(container) if other not in maps)


def variables_of(whose: Whose, item: Field | None, maps: Mapping[str, Fields]) -> Iterator[Variable]:
    """The variables of `env: [{name: …, value: …}]`, some of which are in the maps of the same file."""
    for variable in mappings(item):
        reference = variable.within("valueFrom", "configMapKeyRef")
        there = maps.get(reference.text("name"), reference).field(reference.text("key")) if reference.fields else None
        name, value = variable.field("name"), variable.field("value") or there
        if name is not None:
            yield Variable(name.text, None if value is None else one_value(whose, value), name.line)
