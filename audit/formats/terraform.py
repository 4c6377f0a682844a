"""Terraform: `kafka_topic` and its like, and Amazon MSK's configurations, as far as they are written out.

What a plan would fill in (`var.…`, `local.…`, `each.value`) is not known here, and stays as it is written.
Sources: the resources of the providers Mongey/kafka, confluentinc/confluent and hashicorp/aws.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from acked.audit.formats.foreign import HCL, likely
from acked.audit.formats.parts.places import Whose, find_suspects_in, topic_entries
from acked.audit.formats.parts.properties import property_entries
from acked.audit.formats.parts.reader import Reader
from acked.audit.formats.parts.tree import Field, Fields, Items, Node, Text
from acked.base.errors import SpecUnreadable
from acked.base.optional import optional_packages
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.note import Nodes, Read

if TYPE_CHECKING:
    from lark import Token, Tree

    Branch = Tree[Token]

_TOPICS = ("kafka_topic", "confluent_kafka_topic", "aiven_kafka_topic")
_FACTOR = ("replication_factor", "replication")
_NAME = ("name", "topic_name")


@dataclass(frozen=True)
class _Block:
    """`resource "kafka_topic" "orders" { … }`."""

    labels: tuple[str, ...]
    body: Fields


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
        return [entry for block in _Reading(text).blocks(tree) for entry in _block(file, block)]
    except RecursionError:
        raise SpecUnreadable(f"{file} is nested too deeply for a file of settings") from None


def _block(file: str, block: _Block) -> Iterator[Read]:
    kind, name = (*block.labels, "", "")[1:3]
    whose = Whose(file, Scope.BROKER, name)
    if block.labels[0] == "resource" and kind in _TOPICS:
        found = topic_entries(file, block.body, _FACTOR, ["config"], block.body.text(*_NAME) or name)
        # Aiven's has a block of names with underscores.
        yield from (replace(one, key=one.key.replace("_", ".")) if isinstance(one, SettingEntry) else one for one in found)
        nested = block.body.field("config")
        left = [item for item in block.body.fields if item is not nested and item.key not in (*_FACTOR, *_NAME)]
        yield from find_suspects_in(Whose(file, Scope.TOPIC, name), left, ("kafka_topic",))
    elif block.labels[0] == "resource" and kind == "aws_msk_configuration":
        yield whose.description(block.body.line)
        yield from _heredoc(whose, block.body.field("server_properties"))
    elif block.labels[0] == "resource" and kind == "aws_msk_cluster":
        whose = Whose(file, Scope.BROKER)
        yield from whose.stated_release(block.body.field("kafka_version"))
        if (nodes := block.body.field("number_of_broker_nodes")) is not None and nodes.text:
            yield whose.note(Nodes(nodes.text), nodes.line)
    else:
        yield from find_suspects_in(Whose(file), block.body.fields, block.labels)


def _heredoc(whose: Whose, item: Field | None) -> Iterator[SettingEntry]:
    if item is None:
        return
    if not isinstance(item.node, Text):
        raise whose.wrong(item.line, f"{item.key} is no single text")
    if not item.node.is_block and "=" not in item.node.value.partition("${")[0]:
        raise whose.wrong(item.line, f"{item.key} is filled in by Terraform; write the settings to a file and name that")
    first = item.line + 1 if item.node.is_block else item.line
    yield from property_entries(whose.file, item.node.value, first, whose.scope, whose.entity)


class _Reading:
    """One reading of a parse tree; expressions that are not written out keep their text, as `${…}`."""

    def __init__(self, text: str) -> None:
        self._text = text

    def blocks(self, tree: Branch) -> Iterator[_Block]:
        """The outermost blocks; what is set outside of them is an attribute without a meaning here."""
        for body in _branches(tree):
            for child in _branches(body):
                if child.data == "block":
                    yield _Block(tuple(self._labels(child)), self._body(child))

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
