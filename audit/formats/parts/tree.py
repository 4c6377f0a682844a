"""YAML as a tree of texts with lines: no object is made, anchors and merge keys are filled in, and all of it is bounded.

Values stay as they are written. What a reader of YAML 1.1 and one of 1.2 take for different values is left in a form that no
setting takes, so that it is refused where it decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen

if TYPE_CHECKING:
    from yaml import MappingNode
    from yaml import Node as YamlNode

MAX_NODES = 100_000
"""Nodes of one file."""
ALIASED = 5_000
"""So many nodes may come of aliases; in a file of more characters than that, as many as it has characters."""

MAX_DEPTH = 64

_CORE = "tag:yaml.org,2002:"
_KINDS = ("str", "int", "float", "bool", "null", "map", "seq", "merge", "timestamp", "value", "binary")
_KNOWN_TAGS = frozenset(f"{_CORE}{kind}" for kind in _KINDS)
_OCTAL = re.compile(r"[+-]?0\d+")
_OPENING = re.compile(r"\{\{|\{%|<%")
_TEMPLATE = re.compile(rf"^(?!\s*#).*?(?:{_OPENING.pattern})")


@frozen
class Text:
    """A scalar as it is written; `is_block` if its lines are those of the file, from the one after `line`."""

    value: str
    line: int
    is_null: bool = False
    is_block: bool = False


@frozen
class Items:
    """A list."""

    items: tuple[Node, ...]
    line: int


@frozen
class Field:
    """A key of a mapping, the line on which it stands, and its value."""

    key: str
    line: int
    node: Node

    @property
    def text(self) -> str:
        """The value, if it is a text; of another the empty text."""
        return self.node.value if isinstance(self.node, Text) else ""


@frozen
class Fields:
    """A mapping; no key twice."""

    fields: tuple[Field, ...]
    line: int

    def field(self, *names: str) -> Field | None:
        """The first of the keys that is there, with a value."""
        for name in names:
            for item in self.fields:
                if item.key == name and not (isinstance(item.node, Text) and item.node.is_null):
                    return item
        return None

    def text(self, *names: str) -> str:
        """The text of the first of the keys that is there; empty if none is."""
        item = self.field(*names)
        return "" if item is None else item.text

    def within(self, *path: str) -> Fields:
        """The mapping under a path of keys; empty if there is none."""
        here = self
        for name in path:
            item = here.field(name)
            if item is None or not isinstance(item.node, Fields):
                return Fields((), self.line)
            here = item.node
        return here


Node = Text | Items | Fields


def documents(name: str, text: str) -> list[Node]:
    """The documents of a file that are not empty; `SpecUnreadable` names the line at which it is no YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        reading = _Reading(name, min(MAX_NODES, max(ALIASED, len(text))))
        if len(text) > MAX_NODES:  # Nodes take ten times as long to make as to count.
            nodes = (event for event in yaml.parse(text, Loader=loader) if isinstance(event, yaml.NodeEvent))
            if (event := next(islice(nodes, MAX_NODES, None), None)) is not None:
                raise SpecUnreadable(_beyond(name, event.start_mark.line + 1, MAX_NODES))
        found = [reading.node(node, 0) for node in yaml.compose_all(text, Loader=loader) if node is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = 1 if mark is None else mark.line + 1
        raise SpecUnreadable(_why(name, text, line, getattr(error, "problem", None))) from None
    except RecursionError:
        raise SpecUnreadable(f"{name} is nested too deeply for a file of settings") from None
    return [node for node in found if not (isinstance(node, Text) and node.is_null)]


def _why(name: str, text: str, line: int, problem: str | None) -> str:
    for at, item in enumerate(text.splitlines() if _OPENING.search(text) else (), 1):
        if _TEMPLATE.match(item):
            return (f"{name} looks like a template that was not filled in at line {at}; render it first (helm template, "
                    "docker compose config) and name what that prints")  # fmt: skip
    return f"{name}:{line}: no valid YAML: {problem or 'it cannot be read'}"


def _beyond(name: str, line: int, most: int, is_deep: bool = False) -> str:
    what = "is nested too deeply" if is_deep else f"has more than {most:,} values"
    return f"{name}:{line}: the file {what}, aliases filled in; no file of settings does"


class _Reading:
    def __init__(self, name: str, most: int) -> None:
        self._name, self._most, self._count = name, most, 0

    def node(self, node: YamlNode, depth: int) -> Node:
        import yaml

        line = node.start_mark.line + 1
        self._count += 1
        if self._count > self._most or depth > MAX_DEPTH:
            raise SpecUnreadable(_beyond(self._name, line, self._most, is_deep=self._count <= self._most))
        if node.tag not in _KNOWN_TAGS:
            return Text(f"{node.tag.replace(_CORE, '!!')} …", line)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node, line)
        if isinstance(node, yaml.SequenceNode):
            return Items(tuple(self.node(item, depth + 1) for item in node.value), line)
        return Fields(tuple(self._fields(node, depth)), line)

    def _fields(self, node: MappingNode, depth: int) -> Iterator[Field]:
        import yaml

        own: dict[str, Field] = {}
        merged: dict[str, Field] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag == f"{_CORE}merge":
                parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for part in parts:
                    tree = self.node(part, depth + 1)
                    if not isinstance(tree, Fields):
                        raise SpecUnreadable(f"{self._name}:{line}: << must name a mapping")
                    for item in tree.fields:  # The first of several counts.
                        merged.setdefault(item.key, item)
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise SpecUnreadable(f"{self._name}:{line}: a key is no text, or a template that is not filled in; render "
                                     "it first (helm template) and name what that prints")  # fmt: skip
            name = str(key.value)
            if name in own:
                raise SpecUnreadable(f"{self._name}:{line}: {name!r} stands twice in one mapping, first at line "
                                     f"{own[name].line}; leave one out")  # fmt: skip
            own[name] = Field(name, line, self.node(value, depth + 1))
        yield from own.values()
        yield from (item for key, item in merged.items() if key not in own)


def _scalar(node: YamlNode, line: int) -> Text:
    value = str(node.value)
    is_plain = not node.style  # None to one of PyYAML's two readers, and empty to the other.
    if node.tag == f"{_CORE}null" and is_plain:
        return Text("", line, is_null=True)
    if is_plain and node.tag == f"{_CORE}int" and _OCTAL.fullmatch(value):
        value = f"{value} (octal to some)"
    return Text(value, line, is_block=node.style == "|")
