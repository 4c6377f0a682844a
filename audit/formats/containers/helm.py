"""Helm values of the charts that people run Kafka from, at any depth (an umbrella chart has them under the chart's name).

Sources: the values of bitnami/kafka (`overrideConfiguration`, `config`, `extraConfig`, `extraConfigYaml`, `extraEnvVars`,
`provisioning.topics`, sections `controller` and `broker`), of cp-helm-charts and incubator/kafka (`configurationOverrides`,
`topics`), of Confluent's resources (`configOverrides.server`). What a chart sets by itself is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acked.audit.formats.environment import Variable, broker_entries, family_of
from acked.audit.formats.listings import pairs_in
from acked.audit.formats.parts.places import (
    Whose,
    add_suspects,
    factors,
    find_suspects,
    find_suspects_in,
    mappings,
    one_value,
    settings_in,
    topic_entries,
)
from acked.audit.formats.parts.tree import Field, Fields, Items, Text
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Described, Note, Read, settings_of

_SETTINGS = ("configurationOverrides", "overrideConfiguration", "extraConfigYaml", "extraConfig", "serverProperties",
             "server.properties", "config", "brokerConfig")  # fmt: skip
_OWN_IMAGES = {"configurationOverrides": "confluentinc/cp-kafka", "overrideConfiguration": "bitnami/kafka",
               "extraConfig": "bitnami/kafka", "extraConfigYaml": "bitnami/kafka", "config": "bitnami/kafka"}  # fmt: skip
"""What the chart runs that has such a value, where only a tag is given."""
_VARIABLES = ("extraEnvVars", "extraEnv", "customEnv", "envOverrides", "env")
_DIRECT = {
    "defaultReplicationFactor": keys.DEFAULT_FACTOR,
    "logFlushIntervalMessages": keys.FLUSH_MESSAGES,
    "interBrokerProtocolVersion": keys.IBP,
}
"""What bitnami's chart has, or had, a value of its own for."""

_ELSEWHERE = ("existingConfigmap", "existingConfigMap", "existingSecret", "secretConfig", "existingSecretConfig")
_NODE_SECTIONS = ("controller", "broker")
_FACTOR = ("replicationFactor", "replication_factor", "replication-factor", "replicas", "replication")


def values_entries(file: str, values: Fields) -> Iterator[Read]:
    """The settings of a file of values."""
    whose = Whose(file, Scope.BROKER)
    yield from add_suspects(_walk(whose, values, ()), factors(Whose(file), values))


def _walk(whose: Whose, values: Fields, path: tuple[str, ...]) -> Iterator[Read]:
    own: list[Read] = []
    node_fields, left = [], []
    image = _image(values)
    for item in values.fields:
        if _is_settings(item):
            own += list(settings_in(whose, item))
        elif item.key in _VARIABLES:
            own += list(broker_entries(whose, _variables(whose, item), family_of(image)))
        elif item.key in _DIRECT and isinstance(item.node, Text):
            if item.text:
                own.append(whose.entry(_DIRECT[item.key], one_value(whose, item), item.line))
        elif item.key in _ELSEWHERE and item.text:
            own.append(whose.import_note(item.text, item.line))
        elif item.key == "topics" and isinstance(item.node, Items):
            yield from _topics(whose, item, path)
        elif item.key == "provisioning" and isinstance(item.node, Fields) and item.node.field("topics") is not None:
            yield from _provisioned(whose, item.node, (*path, item.key))
        elif item.key in _NODE_SECTIONS and isinstance(item.node, Fields):
            node_fields.append(item)
        elif item.key in ("zookeeper", "kraft") and isinstance(item.node, Fields):
            own += list(_plane(whose, item))
        elif item.key != "image":
            left.append(item)
    if (at := values.field("image", "imageTag")) is not None:
        own += list(whose.image(image, at.line))
    own += list(_tag_alone(whose, values))
    yield from own
    yield from _sections(whose, node_fields, path)
    for item in left:
        if isinstance(item.node, Fields):
            yield from _walk(whose, item.node, (*path, item.key))
        elif _is_plain_setting(item, path):
            yield whose.entry(item.key, one_value(whose, item), item.line, None)
        else:
            yield from find_suspects_in(whose, [item], path)


def _is_settings(item: Field) -> bool:
    """Whether a value has settings in it: of those named `config` only what is a text of properties or names of Kafka's."""
    if item.key not in _SETTINGS:
        return False
    if isinstance(item.node, Text):
        return bool(item.node.value.strip()) and ("=" in item.node.value or item.key != "config")
    if item.key in ("config", "extraConfig", "brokerConfig") and isinstance(item.node, Fields):
        return any("." in field.key for field in item.node.fields)
    return True


def _is_plain_setting(item: Field, path: Sequence[str]) -> bool:
    """A setting by Kafka's own name among the values, at the top: a file of nothing but settings, as YAML."""
    return not path and item.key in KEYS and isinstance(item.node, Text)


def _image(values: Fields) -> str:
    image = values.field("image")
    if image is not None and isinstance(image.node, Fields):
        return f"{image.node.text('repository', 'name')}:{image.node.text('tag')}"
    tag = values.text("imageTag")
    return f"{values.text('image')}:{tag}" if tag else values.text("image")


def _tag_alone(whose: Whose, values: Fields) -> Iterator[SettingEntry]:
    """The release that a tag without a repository names: the chart has the repository, and its values tell which chart it is.

    Beside values of other programs a tag is not Kafka's. `SpecUnreadable` of a tag that is no number of that chart's image.
    """
    image = values.field("image")
    nested = image is not None and isinstance(image.node, Fields)
    holder = image.node if image is not None and isinstance(image.node, Fields) else values
    tag = holder.field("tag" if nested else "imageTag")
    given = holder.text("repository", "name") if nested else values.text("image")
    if tag is None or not tag.text or given:
        return
    given_by = (image for key, image in _OWN_IMAGES.items() if (item := values.field(key)) and _is_settings(item))
    chart = next(given_by, None)
    if chart is None:
        return
    named = list(settings_of(whose.image(f"{chart}:{tag.text}", tag.line)))
    if not named and tag.text[:1].isdigit():
        raise whose.wrong(
            tag.line,
            f"the image's tag {tag.text} has no repository, and is no release of {chart}, which the chart seems to run; "
            "write the image's repository beside it",
        )
    yield from named


def _variables(whose: Whose, item: Field) -> Iterator[Variable]:
    if isinstance(item.node, Fields):
        yield from (Variable(field.key, one_value(whose, field), field.line) for field in item.node.fields)
    elif isinstance(item.node, Items):
        for variable in mappings(item):
            name, value = variable.field("name"), variable.field("value")
            if name is not None:
                yield Variable(name.text, None if value is None else one_value(whose, value), name.line)


def _plane(whose: Whose, item: Field) -> Iterator[SettingEntry]:
    assert isinstance(item.node, Fields)
    enabled = item.node.field("enabled")
    if enabled is not None and enabled.text == "true":
        if item.key == "kraft":
            yield whose.entry(keys.ROLES, "broker", enabled.line)
        else:
            yield whose.entry(keys.ZOOKEEPER_CONNECT, "zookeeper.enabled", enabled.line)


def _provisioned(whose: Whose, values: Fields, path: Sequence[str]) -> Iterator[Read]:
    """Topics that bitnami's chart makes, and the number of replicas of those that name none."""
    topics, factor = values.field("topics"), values.field("replicationFactor")
    assert topics is not None
    if isinstance(topics.node, Items):
        listed = (_with_factor(topic, factor) if isinstance(topic, Fields) else topic for topic in topics.node.items)
        yield from _topics(whose, replace(topics, node=Items(tuple(listed), topics.node.line)), path)
    left = [item for item in values.fields if item.key not in ("topics", "replicationFactor", "numPartitions")]
    yield from find_suspects_in(whose, left, path)


def _with_factor(topic: Fields, factor: Field | None) -> Fields:
    return topic if factor is None or topic.field(*_FACTOR) is not None else Fields((*topic.fields, factor), topic.line)


def _topics(whose: Whose, item: Field, path: Sequence[str]) -> Iterator[Read]:
    """Topics that the chart makes: their settings as a mapping, or as `a=1,b=2`."""
    assert isinstance(item.node, Items)
    for topic in item.node.items:
        if not isinstance(topic, Fields) or not topic.text("name"):
            yield from find_suspects(whose, topic, (*path, item.key))
            continue
        given = topic.field("config")
        if given is not None and isinstance(given.node, Text) and not given.node.is_block:
            pairs = pairs_in(given.node.value)
            listed = Fields(tuple(Field(key, given.line, Text(value, given.line)) for key, value in pairs), given.line)
            config = Field("config", given.line, listed)
            topic = Fields((*(field for field in topic.fields if field.key != "config"), config), topic.line)
        found = topic_entries(whose.file, topic, _FACTOR, ["config"], topic.text("name"))
        yield from add_suspects(found, find_suspects(Whose(whose.file, Scope.TOPIC, topic.text("name")), topic, ("kafka",)))


# -- nodes of two kinds -------------------------------------------------------------------------------------------------


def _sections(whose: Whose, sections: Sequence[Field], path: Sequence[str]) -> Iterator[Read]:
    """What is set for one kind of node only, beside the other kind, if the chart has nodes of it."""
    found = {}
    for section in sections:
        assert isinstance(section.node, Fields)
        part = Whose(whose.file, Scope.BROKER, section.key)
        found[section.key] = list(_walk(part, section.node, (*path, section.key)))
    if all(isinstance(one, Note) and one.fact == Described() for read in found.values() for one in read):
        return
    for name in _NODE_SECTIONS:
        own = next((item for item in sections if item.key == name), None)
        if _has_nodes(name, own):
            yield Whose(whose.file, Scope.BROKER, name).description(sections[0].line if own is None else own.line)
            yield from found.get(name, [])


def _has_nodes(name: str, section: Field | None) -> bool:
    """Nodes that hold records: by default bitnami's chart has three controllers that are brokers too, and no others."""
    values = section.node if section is not None and isinstance(section.node, Fields) else Fields((), 0)
    count = values.text("replicaCount")
    if name == "controller":
        return count != "0" and values.text("controllerOnly") != "true"
    return count not in ("", "0")
