"""Files that are not properties, although a reader of properties would find keys in them: YAML, HCL, environments, prose.

Any line is a line of a properties file to Java, so what a file is has to be asked before its lines are believed.
"""

from __future__ import annotations

import re
from pathlib import PurePath

_BY_SUFFIX = {
    ".yml": "YAML",
    ".yaml": "YAML",
    ".tf": "Terraform (HCL)",
    ".tfvars": "Terraform (HCL)",
    ".hcl": "HCL",
    ".env": "a file of environment variables",
    ".toml": "TOML",
    ".xml": "XML",
    ".sh": "a shell script",
    ".md": "a text",
}
INSTEAD = "write the settings as properties (min.insync.replicas=2), one a line, or as JSON"

_COMMENT = re.compile(r"^\s*[#!]")
_YAML_DOCUMENT = re.compile(r"^(?:---(?:\s|$)|%YAML\b|apiVersion:\s)")
_YAML_ITEM = re.compile(r"^\s*-(?:\s|$)")
_YAML_BLOCK = re.compile(r"^(?P<indent>\s*)[\w.\-/\"']+:\s*(?:[|>][+-]?\d?|&\w+)?\s*(?:#.*)?$")
_HCL_BLOCK = re.compile(r"^\s*[A-Za-z_][\w\-]*(?:\s+\"[^\"]*\")*\s*=?\s*\{\s*(?:#.*|//.*)?$|^\s*\}\s*,?\s*$")
_SECTION = re.compile(r"^\s*\[[^\]]*\]\s*$")
_MARKUP = re.compile(r"^\s*<[?!/A-Za-z]")
_TEMPLATE = re.compile(r"^\s*(?:\{\{|\{%|<%)")
_EXPORT = re.compile(r"^\s*(?:export|set|declare|ENV|ARG)\s+[\"']?[A-Za-z_]\w*=")


def foreign(path: PurePath, text: str) -> str | None:
    """What a text is if it is not properties, and what to do, as the end of a sentence; None if nothing says so."""
    kind = _BY_SUFFIX.get(path.suffix.lower()) or (_BY_SUFFIX[".env"] if path.name.lower().startswith(".env") else None)
    if kind is not None:
        return f"is {kind}, which is not read here; {INSTEAD}"
    numbered = enumerate(re.split(r"\r\n|\r|\n", text), 1)
    lines = [(at, line) for at, line in numbered if line.strip() and not _COMMENT.match(line)]
    for index, (at, line) in enumerate(lines):
        is_continued = index > 0 and lines[index - 1][1].endswith("\\")
        kind = None if is_continued else _kind(line, lines[index + 1][1] if index + 1 < len(lines) else "")
        if kind is not None:
            return f"looks like {kind} at line {at}, which is not read here; {INSTEAD}"
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
