"""What is not read although a reader of properties would find keys in it: XML, TOML, prose, and what looks like them.

Any line is a line of a properties file to Java, so what a file is has to be asked before its lines are believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import NoReturn

from acked.audit.formats.parts.reader import Reader, Sign, Source
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

_ITEM = r"\s*-(?:\s|$)"
_YAML_ITEM = re.compile(_ITEM)
_LOOKS = re.compile(
    r"(?P<yaml>---(?:\s|$)|%YAML\b|apiVersion:\s)"
    rf"|(?P<list>{_ITEM})"
    r"|(?P<hcl>\s*[A-Za-z_][\w\-]*(?:\s++\"[^\"]*\")*+\s*+=?\s*+\{\s*+(?:#.*|//.*)?$|\s*\}\s*,?\s*$)"
    r"|(?P<section>\s*\[[^\]]*\]\s*$)"
    r"|(?P<markup>\s*<[?!/A-Za-z])"
    r"|(?P<template>\s*(?:\{\{|\{%|<%))"
    r"|(?P<variables>\s*(?:export|set|declare|ENV|ARG)\s+[\"']?[A-Za-z_]\w*=)"
    r"|(?P<block>\s*[\w.\-/\"']+:\s*+(?:[|>][+-]?\d?|&\w+)?\s*+(?:#.*)?$)"
)
_KINDS = {
    "yaml": YAML,
    "list": "a list of YAML",
    "hcl": HCL,
    "section": "an INI or TOML file",
    "markup": "XML",
    "template": "a template that was not filled in",
    "variables": "a file of environment variables",
    "block": YAML,
}


def likely(kind: str) -> Callable[[Source], Sign]:
    """Whether the first line shows a format: what turns into it later on is broken, as is a file of properties that does."""

    def recognises(source: Source) -> Sign:
        is_asked = source.suffix != ".properties" and bool(source.first_lines)
        return Sign.LIKELY if is_asked and _kind(source.first_lines, 0) == kind else Sign.NONE

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
    for index, (at, _) in enumerate(lines):
        kind = _kind(lines, index)
        if kind is not None:
            return at, kind
    return None


def _kind(lines: Sequence[tuple[int, str]], index: int) -> str | None:
    """What a line looks like that is none of properties and does not go on with the one before it."""
    line = lines[index][1]
    found = _LOOKS.match(line)
    if found is None or found.lastgroup is None or (index > 0 and lines[index - 1][1].endswith("\\")):
        return None
    following = lines[index + 1][1] if index + 1 < len(lines) else ""
    is_open = len(_indent(following)) > len(_indent(line)) or _YAML_ITEM.match(following) is not None
    return _KINDS[found.lastgroup] if found.lastgroup != "block" or is_open else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


READER = Reader("another format", tuple(_BY_SUFFIX), _recognises, _refuse)
