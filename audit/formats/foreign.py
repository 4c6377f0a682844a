"""Which format a file is in, and what is not read although a reader of properties would find keys in it: XML, TOML, prose.

Any line is a line of a properties file to Java, so what a file is has to be asked before its lines are believed.
"""

from __future__ import annotations

import re
from enum import Enum, unique
from pathlib import PurePath

from acked.audit.formats.environment import is_environment
from acked.cluster.vocabulary.entry import INSTEAD


@unique
class Format(Enum):
    """A format that has a reader of its own."""

    YAML = "YAML"
    HCL = "HCL (Terraform)"
    ENVIRONMENT = "a file of environment variables"


_READ = {
    ".yml": Format.YAML,
    ".yaml": Format.YAML,
    ".tf": Format.HCL,
    ".env": Format.ENVIRONMENT,
}
_BY_SUFFIX = {
    ".tfvars": "a file of Terraform's variables",
    ".hcl": "HCL",
    ".toml": "TOML",
    ".xml": "XML",
    ".sh": "a shell script",
    ".md": "a text",
}

_COMMENT = re.compile(r"^\s*[#!]")
_YAML_DOCUMENT = re.compile(r"^(?:---(?:\s|$)|%YAML\b|apiVersion:\s)")
_YAML_ITEM = re.compile(r"^\s*-(?:\s|$)")
_YAML_BLOCK = re.compile(r"^(?P<indent>\s*)[\w.\-/\"']+:\s*+(?:[|>][+-]?\d?|&\w+)?\s*+(?:#.*)?$")
_HCL_BLOCK = re.compile(r"^\s*[A-Za-z_][\w\-]*(?:\s++\"[^\"]*\")*+\s*+=?\s*+\{\s*+(?:#.*|//.*)?$|^\s*\}\s*,?\s*$")
_SECTION = re.compile(r"^\s*\[[^\]]*\]\s*$")
_MARKUP = re.compile(r"^\s*<[?!/A-Za-z]")
_TEMPLATE = re.compile(r"^\s*(?:\{\{|\{%|<%)")
_EXPORT = re.compile(r"^\s*(?:export|set|declare|ENV|ARG)\s+[\"']?[A-Za-z_]\w*=")


def foreign(path: PurePath, text: str) -> str | None:
    """What a text is if it is not properties, and what to do, as the end of a sentence; None if nothing says so."""
    kind = _BY_SUFFIX.get(path.suffix.lower())
    if kind is not None:
        return f"is {kind}, which is not read here; {INSTEAD}"
    found = _first_strange(text)
    return None if found is None else f"looks like {found[1]} at line {found[0]}, which is not read here; {INSTEAD}"


def format_of(path: PurePath, text: str) -> Format | None:
    """The format that a name or a text shows; None for properties and what is not read."""
    form = _READ.get(path.suffix.lower())
    if form is not None or path.suffix.lower() in _BY_SUFFIX:
        return form
    if path.name.lower().startswith(".env") or path.name.lower().endswith(".list") or is_environment(text):
        return Format.ENVIRONMENT
    if path.suffix.lower() == ".properties":
        return None
    found = _first_strange(text)
    if found is None or not _is_first(text, found[0]):
        return None
    return {"YAML": Format.YAML, "HCL (Terraform)": Format.HCL}.get(found[1])


def _is_first(text: str, line: int) -> bool:
    """Whether nothing but comments stands before a line: what turns into YAML later on is no YAML, but broken."""
    return all(not item.strip() or _COMMENT.match(item) for item in re.split(r"\r\n|\r|\n", text)[: line - 1])


def _first_strange(text: str) -> tuple[int, str] | None:
    """The first line that is none of properties, and what it looks like."""
    numbered = enumerate(re.split(r"\r\n|\r|\n", text), 1)
    lines = [(at, line) for at, line in numbered if line.strip() and not _COMMENT.match(line)]
    for index, (at, line) in enumerate(lines):
        is_continued = index > 0 and lines[index - 1][1].endswith("\\")
        kind = None if is_continued else _kind(line, lines[index + 1][1] if index + 1 < len(lines) else "")
        if kind is not None:
            return at, kind
    return None


def _kind(line: str, following: str) -> str | None:
    for pattern, kind in (
        (_YAML_DOCUMENT, "YAML"),
        (_YAML_ITEM, "a list of YAML"),
        (_HCL_BLOCK, "HCL (Terraform)"),
        (_SECTION, "an INI or TOML file"),
        (_MARKUP, "XML"),
        (_TEMPLATE, "a template that was not filled in"),
        (_EXPORT, "a file of environment variables"),
    ):
        if pattern.match(line):
            return kind
    block = _YAML_BLOCK.match(line)
    if block is not None and (len(_indent(following)) > len(block["indent"]) or _YAML_ITEM.match(following)):
        return "YAML"
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
