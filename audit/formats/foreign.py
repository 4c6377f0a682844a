"""What is not read although a reader of properties would find keys in it: XML, TOML, prose, and what looks like them.

Any line is a line of a properties file to Java, so what a file is has to be asked before its lines are believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import NoReturn

from acked.audit.formats.reader import Reader, Sign, Source
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import INSTEAD

YAML, HCL = "YAML", "HCL (Terraform)"

_BY_SUFFIX = {
    ".tfvars": "a file of Terraform's variables",
    ".hcl": "HCL",
    ".toml": "TOML",
    ".xml": "XML",
}
_NEVER_SETTINGS = {
    ".sh": "a shell script",
    ".md": "a text",
}
"""What is not looked at in a folder."""

_YAML_ITEM = re.compile(r"^\s*-(?:\s|$)")
_YAML_BLOCK = re.compile(r"^(?P<indent>\s*)[\w.\-/\"']+:\s*+(?:[|>][+-]?\d?|&\w+)?\s*+(?:#.*)?$")
_LOOKS = (
    (re.compile(r"^(?:---(?:\s|$)|%YAML\b|apiVersion:\s)"), YAML),
    (_YAML_ITEM, "a list of YAML"),
    (re.compile(r"^\s*[A-Za-z_][\w\-]*(?:\s++\"[^\"]*\")*+\s*+=?\s*+\{\s*+(?:#.*|//.*)?$|^\s*\}\s*,?\s*$"), HCL),
    (re.compile(r"^\s*\[[^\]]*\]\s*$"), "an INI or TOML file"),
    (re.compile(r"^\s*<[?!/A-Za-z]"), "XML"),
    (re.compile(r"^\s*(?:\{\{|\{%|<%)"), "a template that was not filled in"),
    (re.compile(r"^\s*(?:export|set|declare|ENV|ARG)\s+[\"']?[A-Za-z_]\w*="), "a file of environment variables"),
)


def likely(kind: str) -> Callable[[Source], Sign]:
    """Whether the first line shows a format: what turns into it later on is broken, as is a file of properties that does."""

    def recognises(source: Source) -> Sign:
        found = None if source.suffix == ".properties" else _first_strange(source)
        return Sign.LIKELY if found == (source.lines[0][0] if source.lines else 0, kind) else Sign.NONE

    return recognises


def _recognises(source: Source) -> Sign:
    if source.suffix in _NEVER_SETTINGS:
        return Sign.NAMED
    return Sign.NONE if _first_strange(source) is None else Sign.LIKELY


def _refuse(name: str, text: str) -> NoReturn:
    kind = (_BY_SUFFIX | _NEVER_SETTINGS).get(PurePath(name).suffix.lower())
    found = _first_strange(Source(name, text))
    assert kind is not None or found is not None
    what = f"is {kind}" if kind is not None or found is None else f"looks like {found[1]} at line {found[0]}"
    raise SpecUnreadable(f"{name} {what}, which is not read here; {INSTEAD}")


def _first_strange(source: Source) -> tuple[int, str] | None:
    """The first line that is none of properties, and what it looks like."""
    lines = source.lines
    for index, (at, line) in enumerate(lines):
        is_continued = index > 0 and lines[index - 1][1].endswith("\\")
        kind = None if is_continued else _kind(line, lines[index + 1][1] if index + 1 < len(lines) else "")
        if kind is not None:
            return at, kind
    return None


def _kind(line: str, following: str) -> str | None:
    kind = next((kind for pattern, kind in _LOOKS if pattern.match(line)), None)
    block = _YAML_BLOCK.match(line) if kind is None else None
    if block is not None and (len(_indent(following)) > len(block["indent"]) or _YAML_ITEM.match(following)):
        return YAML
    return kind


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


READER = Reader("another format", tuple(_BY_SUFFIX), _recognises, _refuse)
