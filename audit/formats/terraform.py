"""Terraform: `kafka_topic` and its like, and Amazon MSK's configurations, as far as they are written out.

Variables with a default, locals and `for_each` are filled in as far as the file itself says them; what else a plan would fill
in stays as it is written. `terraform show -json` has all of it.
Sources: the resources of the providers Mongey/kafka, confluentinc/confluent, aiven/aiven and hashicorp/aws.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from acked.audit.formats.foreign import HCL, likely
from acked.audit.formats.parts.places import Whose, check_fields, find_suspects_in, mappings, one_value, topic_entries
from acked.audit.formats.parts.reader import Reader
from acked.audit.formats.parts.tree import Field, Fields, Items, Node, Text
from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.note import Nodes, Read

if TYPE_CHECKING:
    from lark import Token, Tree

    Branch = Tree[Token]

_TOPICS = ("kafka_topic", "confluent_kafka_topic", "aiven_kafka_topic")
_FACTOR = ("replication_factor", "replication")
_NAME = ("name", "topic_name")


@frozen
class Block:
    """`resource "kafka_topic" "orders" { … }`; `filled_in` are the variables whose defaults stand in its lines."""

    labels: tuple[str, ...]
    body: Fields
    filled_in: Mapping[int, str] = field(default_factory=dict)


def _entries(file: str, text: str) -> list[Read]:
    """The settings of a file of resources."""
    with optional_packages():
        import hcl2
        from lark.exceptions import LarkError, UnexpectedInput

    try:
        tree = hcl2.parses_to_tree(text)
    except UnexpectedInput as error:
        raise SpecUnreadable(f"{file}:{max(error.line, 1)}: no valid HCL at column {max(error.column, 1)}") from None
    except (LarkError, RecursionError) as error:
        raise SpecUnreadable(f"{file}: no valid HCL: {str(error).splitlines()[0][:200]}") from None
    try:
        return list(resource_entries(file, _filled_in(list(_Reading(text).blocks(tree)))))
    except RecursionError:
        raise SpecUnreadable(f"{file} is nested too deeply for a file of settings") from None


def resource_entries(file: str, blocks: Sequence[Block]) -> Iterator[Read]:
    """The settings of the resources of a file, each of the cluster that it names."""
    clusters = _clusters(blocks)
    for block in blocks:
        for entry in _block(file, block, clusters):
            default_of = block.filled_in.get(entry.line, "")
            if default_of and isinstance(entry, SettingEntry) and not entry.means:
                entry = replace(entry, default_of=default_of)
            yield entry


def plan_entries(file: str, document: Fields) -> list[Read]:
    """The settings of a plan or a state, as `terraform show -json` prints them, and what stands where none is read."""
    whose = Whose(file)
    modules = [document.within("planned_values", "root_module"), document.within("values", "root_module")]
    beside = [item for item in document.fields if item.key not in _OF_PLANS]
    for part in ("planned_values", "values"):
        beside += [item for item in document.within(part).fields if item.key not in ("root_module", "outputs")]
    blocks, suspects = [], list(find_suspects_in(whose, beside))
    while modules:
        module = modules.pop()
        check_fields(whose, module.fields, _OF_MODULES)
        suspects += find_suspects_in(whose, (item for item in module.fields if item.key not in _OF_MODULES))
        children, resources = module.field("child_modules"), module.field("resources")
        modules += mappings(children)
        for one in mappings(resources):
            check_fields(whose, one.fields, _OF_RESOURCES)
            suspects += find_suspects_in(whose, (item for item in one.fields if item.key not in _OF_RESOURCES))
            blocks.append(Block(("resource", one.text("type"), one.text("name")), one.within("values")))
    return [*resource_entries(file, blocks), *suspects]


_OF_PLANS = ("planned_values", "values", "resource_changes", "resource_drift", "prior_state", "configuration")
_OF_MODULES = ("address", "child_modules", "resources")
_OF_RESOURCES = ("address", "index", "mode", "name", "provider_name", "schema_version", "sensitive_values", "type", "values")
"""What a plan has, and each part of it: what decides stands in `values` of resources alone."""


def _block(file: str, block: Block, clusters: Mapping[tuple[str, str], str]) -> Iterator[Read]:
    kind, name = (*block.labels, "", "")[1:3]
    cluster = _cluster_of(block, clusters)
    whose = Whose(file, Scope.BROKER, name, cluster)
    if block.labels[0] == "resource" and kind in _TOPICS:
        found = topic_entries(file, block.body, _FACTOR, ["config"], block.body.text(*_NAME) or name, cluster)
        # Aiven's has a block of names with underscores.
        yield from (replace(one, key=one.key.replace("_", ".")) if isinstance(one, SettingEntry) else one for one in found)
        nested = block.body.field("config")
        left = [item for item in block.body.fields if item is not nested and item.key not in (*_FACTOR, *_NAME, "for_each")]
        yield from find_suspects_in(Whose(file, Scope.TOPIC, name), left, ("kafka_topic",))
    elif block.labels[0] == "resource" and kind == "aws_msk_configuration":
        yield whose.description(block.body.line)
        check_fields(whose, block.body.fields, ("server_properties", "kafka_versions"))
        yield from _heredoc(whose, block.body.field("server_properties"))
        versions = block.body.field("kafka_versions")
        if versions is not None and isinstance(versions.node, Items) and len(versions.node.items) == 1:
            only = versions.node.items[0]
            if isinstance(only, Text) and not only.value.startswith("${"):
                yield from whose.stated_release(Field("kafka_versions", versions.line, only))
    elif block.labels[0] == "resource" and kind == "aws_msk_cluster":
        whose = Whose(file, Scope.BROKER, None, cluster)
        if not (stated := block.body.text("kafka_version")).startswith("${"):
            yield from whose.stated_release(block.body.field("kafka_version") if stated else None)
        if (nodes := block.body.field("number_of_broker_nodes")) is not None and nodes.text:
            yield whose.note(Nodes(nodes.text), nodes.line)
    elif block.labels[0] == "resource" and kind == "aiven_kafka":
        yield whose.description(block.body.line)
        config = block.body.within("kafka_user_config")
        check_fields(whose, block.body.fields, ("kafka_user_config",))
        check_fields(whose, config.fields, ("kafka", "kafka_version"))
        yield from whose.stated_release(config.field("kafka_version"))
        for item in config.within("kafka").fields:
            yield whose.entry(item.key.replace("_", "."), one_value(whose, item), item.line)
    elif block.labels[0] not in ("variable", "locals"):
        yield from find_suspects_in(Whose(file), block.body.fields, block.labels)
        # Whatever has partitions is a topic, and only Aiven's name for its replicas is not told from others'.
        if (replicas := block.body.field("replication")) is not None and block.body.field("partitions") is not None:
            yield Whose(file).suspect("replication", replicas.text, replicas.line, REPLICATION_FACTOR)


# -- clusters -----------------------------------------------------------------------------------------------------------


def _clusters(blocks: Sequence[Block]) -> dict[tuple[str, str], str]:
    """The cluster that a provider's alias or a configuration of MSK is of, by what names it."""
    found: dict[tuple[str, str], str] = {}
    shared: set[tuple[str, str]] = set()
    for block in blocks:
        if block.labels[0] == "provider" and (alias := block.body.text("alias")):
            servers = block.body.field("bootstrap_servers")
            named = _CLUSTER.search(str(servers.node)) if servers is not None else None
            found["provider", f"{block.labels[1]}.{alias}"] = named["name"] if named else alias
        elif block.labels[:2] == ("resource", "aws_msk_cluster"):
            configuration = _CONFIGURATION.search(block.body.within("configuration_info").text("arn"))
            if configuration is not None:
                key = "aws_msk_configuration", configuration["name"]
                shared |= {key} if key in found else set()
                found[key] = block.labels[2]
    return {key: name for key, name in found.items() if key not in shared}


_CLUSTER = re.compile(r"aws_msk_cluster\.(?P<name>[\w\-]+)")
_CONFIGURATION = re.compile(r"aws_msk_configuration\.(?P<name>[\w\-]+)")
_SERVICE = re.compile(r"(?:aiven_kafka|confluent_kafka_cluster)\.(?P<name>[\w\-]+)")


def _cluster_of(block: Block, clusters: Mapping[tuple[str, str], str]) -> str | None:
    """The cluster that a resource is, or that it names; None where it names none."""
    kind, name = (*block.labels, "", "")[1:3]
    if kind == "aws_msk_configuration":
        return clusters.get((kind, name))
    if kind in ("aws_msk_cluster", "aiven_kafka"):
        return name
    body = block.body
    service = _SERVICE.search(f"{body.text('service_name')} {body.within('kafka_cluster').text('id')}")
    if service is not None:
        return service["name"]
    provider = body.text("provider").strip("${}")
    return clusters.get(("provider", provider), provider.partition(".")[2] or None)


# -- what the file itself fills in --------------------------------------------------------------------------------------


_PATH = re.compile(r"\$\{\s*(?P<path>(?:var|local|each)(?:\.[\w\-]+)+)\s*\}")


class _Scope:
    """The values that a name may stand for in a block, and the variables whose defaults were taken, by line."""

    def __init__(self, variables: Mapping[str, Node], own: Mapping[str, Node], each: Mapping[str, Node]) -> None:
        self._values: Mapping[str, Mapping[str, Node]] = {"var": variables, "local": own, "each": each}
        self.taken: dict[int, str] = {}

    def fill(self, node: Node, line: int, depth: int = 0) -> Node:
        """The node with every name that is known replaced by its value, in the line in which it stands."""
        if isinstance(node, Fields):
            items = tuple(replace(one, node=self.fill(one.node, one.line, depth)) for one in node.fields)
            return Fields(items, node.line)
        if isinstance(node, Items):
            return Items(tuple(self.fill(one, line, depth) for one in node.items), node.line)
        whole = _PATH.fullmatch(node.value)
        if whole is not None and depth < _DEEPEST:
            value = self._value(whole["path"], node.line)
            return node if value is None else self.fill(_moved(value, node.line), line, depth + 1)

        def text(found: re.Match[str]) -> str:
            value = self._value(found["path"], node.line)
            return value.value if isinstance(value, Text) and not value.value.startswith("${") else found[0]

        return replace(node, value=_PATH.sub(text, node.value))

    def _value(self, path: str, line: int) -> Node | None:
        kind, first, *rest = path.split(".")
        value = self._values[kind].get(first)
        for part in rest:
            at = value.field(part) if isinstance(value, Fields) else None
            value = None if at is None else at.node
        if kind == "var" and value is not None:
            self.taken[line] = f"var.{first}"
        return value


_DEEPEST = 8
"""Names that stand for names."""


def _moved(node: Node, line: int) -> Node:
    return replace(node, line=line) if isinstance(node, Text) else node


def _filled_in(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with variables' defaults and locals in their places, and one for each that `for_each` makes."""
    variables = {block.labels[1]: item.node for block in blocks if block.labels[0] == "variable" and len(block.labels) > 1
                 for item in block.body.fields if item.key == "default"}  # fmt: skip
    own = {item.key: item.node for block in blocks if block.labels[0] == "locals" for item in block.body.fields}
    found = []
    for block in blocks:
        if block.labels[0] in ("variable", "locals"):
            continue
        for each in _instances(block, _Scope(variables, own, {})):
            scope = _Scope(variables, own, each)
            body = scope.fill(block.body, block.body.line)
            assert isinstance(body, Fields)
            found.append(Block(block.labels, body, scope.taken))
    return found


def _instances(block: Block, scope: _Scope) -> list[dict[str, Node]]:
    """What `each.key` and `each.value` are in every instance of a block."""
    item = block.body.field("for_each")
    if item is None:
        return [{}]
    wanted = item.node
    if isinstance(wanted, Text) and (listed := _TO_SET.fullmatch(wanted.value)) is not None:
        names = re.findall(r'"([^"]*)"', listed["items"])
        return [{"key": Text(name, item.line), "value": Text(name, item.line)} for name in names] or [{}]
    whole = scope.fill(wanted, item.line)
    if not isinstance(whole, Fields):
        return [{}]
    return [{"key": Text(one.key, item.line), "value": one.node} for one in whole.fields]


_TO_SET = re.compile(r"\$\{toset\(\[(?P<items>[^\]]*)\]\)\}")


def _heredoc(whose: Whose, item: Field | None) -> Iterator[SettingEntry]:
    if item is None:
        return
    if not isinstance(item.node, Text):
        raise whose.wrong(item.line, f"{item.key} is no single text")
    if not item.node.is_block and "=" not in item.node.value.partition("${")[0]:
        raise whose.wrong(item.line, f"{item.key} is filled in by Terraform; write the settings to a file and name that")
    if item.node.is_block:
        yield from whose.properties(item.node.value, item.line + 1)
    else:
        yield from (replace(entry, line=item.line) for entry in whose.properties(item.node.value, item.line))


class _Reading:
    """One reading of a parse tree; expressions that are not written out keep their text, as `${…}`."""

    def __init__(self, text: str) -> None:
        self._text = text

    def blocks(self, tree: Branch) -> Iterator[Block]:
        """The outermost blocks; what is set outside of them is an attribute without a meaning here."""
        for body in _branches(tree):
            for child in _branches(body):
                if child.data == "block":
                    yield Block(tuple(self._labels(child)), self._body(child))

    def _labels(self, block: Branch) -> Iterator[str]:
        for child in _branches(block):
            if child.data in ("identifier", "string"):
                yield self._source(child).strip('"')

    def _body(self, block: Branch) -> Fields:
        """The attributes of a block; a block within it is an attribute that is a mapping."""
        fields = []
        for body in (child for child in _branches(block) if child.data == "body"):
            for child in _branches(body):
                if child.data == "attribute":
                    key, value = _branches(child)[0], _branches(child)[-1]
                    fields.append(Field(self._source(key), key.meta.line, self._value(value)))
                elif child.data == "block":
                    labels = tuple(self._labels(child))
                    # `dynamic "config" {}` is no value of `config`; any other block without a label is.
                    fields.append(Field(".".join(labels), child.meta.line, self._body(child)))
        return Fields(tuple(fields), block.meta.line)

    def _value(self, node: Branch) -> Node:
        while node.data == "expr_term" and len(_branches(node)) == 1 and not _tokens(node):
            node = _branches(node)[0]
        line = node.meta.line
        if node.data == "object":
            pairs = (_branches(item) for item in _branches(node) if item.data == "object_elem")
            return Fields(tuple(self._element(pair[0], pair[-1]) for pair in pairs), line)
        if node.data == "tuple":
            return Items(tuple(self._value(item) for item in _branches(node) if item.data != "new_line_or_comment"), line)
        source = self._source(node)
        if node.data == "string" and not any(child.data == "interpolation" for child in node.iter_subtrees()):
            return Text(source[1:-1].replace('\\"', '"').replace("\\n", "\n"), line)
        if node.data.startswith("heredoc"):
            return _heredoc_text(source, line)
        if node.data == "literal_value" and source == "null":
            return Text("", line, is_null=True)
        if node.data in ("int_lit", "float_lit", "literal_value", "unary_op"):
            return Text(source, line)
        return Text(source.strip('"') if "${" in source else f"${{{source}}}", line)

    def _element(self, key: Branch, value: Branch) -> Field:
        name = self._source(key).strip('"')
        return Field(name, key.meta.line, self._value(value))

    def _source(self, node: Branch) -> str:
        return self._text[node.meta.start_pos : node.meta.end_pos].strip()


def _heredoc_text(source: str, line: int) -> Text:
    lines = source.splitlines()
    body = "\n".join(lines[1:-1]) + "\n"
    return Text(textwrap.dedent(body) if source.startswith("<<-") else body, line, is_block=True)


def _branches(node: Branch) -> list[Branch]:
    return [child for child in node.children if hasattr(child, "data") and child.data != "new_line_or_comment"]  # type: ignore[misc]


def _tokens(node: Branch) -> bool:
    return any(not hasattr(child, "data") for child in node.children)


READER = Reader(HCL, (".tf",), likely(HCL), _entries)
