"""Several specs in one file: what they share at its top, and for each variant a section of its name with what differs.

A variant is asked as if it were a file of its own. Its path is the file's with `#` and its name (`kip966.toml#bug`), the name
of its spec the file's with `-` and its name (`kip966-bug`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from acked.base.errors import AckedError, ConfigurationError
from acked.base.files import read_text
from acked.base.names import choices, is_name, near, repeats

KEY = "variants"
"""The key that names them."""

_PATH = re.compile(r"(.+\.toml)#(\w+)", re.ASCII)
_NAMES_SOME = re.compile(rf"""^\s*["']?{KEY}["']?\s*=""", re.MULTILINE)
_LEVELS = 3
"""How deep the tables of a spec lie: the document, `[liveness]`, `[liveness.NAME]`."""


def file_and_variant(path: Path) -> tuple[Path, str | None]:
    """The file of a spec, and which of its variants is meant."""
    match = _PATH.fullmatch(path.name)
    return (path.with_name(match[1]), match[2]) if match else (path, None)


def name_of(path: Path) -> str:
    """The name of a spec: its file's without the ending, and its variant's."""
    file, variant = file_and_variant(path)
    return file.stem if variant is None else f"{file.stem}-{variant}"


def as_own_file(path: Path) -> Path:
    """The path that a variant would have as a file of its own; in this order specs are listed."""
    return path.with_name(f"{name_of(path)}.toml")


def place_of(path: Path, line: int | None) -> str:
    """`specs/kip320.toml:7: ` for error messages; of a variant `specs/gallery/kip966.toml:7: bug: `."""
    file, variant = file_and_variant(path)
    return (f"{file}:{line}: " if line else f"{file}: ") + (f"{variant}: " if variant else "")


def specs_in(path: Path) -> list[Path]:
    """The paths of all specs in a file: of its variants, or its own. That of one that cannot be read is its own."""
    if path.suffix != ".toml":
        return [path]
    try:
        text = read_text(path, "spec file")
        named = tomllib.loads(text).get(KEY) if _NAMES_SOME.search(text) else None  # Most need not be parsed for it.
    except (AckedError, ValueError, RecursionError):
        return [path]
    return [path.with_name(f"{path.name}#{name}") for name in dict.fromkeys(named)] if _are_names(named) else [path]


def specs_under(folder: Path, begun: str = "") -> list[Path]:
    """The paths of all specs in the files of a folder and those below it, in order.

    Files of which no spec has a name that begins so are not read.
    """
    meant = (file for file in folder.rglob("*.toml") if file.stem.startswith(begun) or begun.startswith(f"{file.stem}-"))
    return sorted((path for file in meant for path in specs_in(file)), key=as_own_file)


def document_of(document: Mapping[str, Any], path: Path, known: Collection[str]) -> dict[str, Any]:
    """The document of the spec that a path names; `known` are a spec's keys at the top, which cannot name variants.

    `ConfigurationError`, with the key, if the file has no such spec, or its variants are not written as they must be.
    """
    file, variant = file_and_variant(path)
    named = document.get(KEY)
    if named is None:
        if variant is not None:
            raise ConfigurationError(f"the file has no {KEY}, but one question; write {file}")
        return dict(document)
    if not _are_names(named) or set(named) & set(known) or repeats(named):
        hint = f'of letters, digits and _, none of them a key of a spec: {KEY} = ["bug", "fix"]'
        raise ConfigurationError(f"{KEY} must be a list of different names, {hint}", KEY)
    for name in named:
        if not isinstance(document.get(name), dict):
            raise ConfigurationError(f"variant {name} has no section; write [{name}] and what is its own under it", KEY)
        if "protocol" in document[name]:
            hint = "variants of one file are about one protocol; name it at the top of the file alone"
            raise ConfigurationError(hint, f"{name}.protocol")
    if "expect" in document:
        raise ConfigurationError(f"each variant has its own answer: write [{named[0]}.expect]", "expect")
    if variant is None:
        meant = choices(f"{file.name}#{name}" for name in named)
        raise ConfigurationError(f"the file asks a question for each variant; name the one that is meant: {meant}", KEY)
    if variant not in named:
        raise ConfigurationError(f"the file has no such variant{near(variant, named)}; it has {choices(named)}", KEY)
    shared = {key: value for key, value in document.items() if key != KEY and key not in named}
    return _merge(shared, document[variant])


def _are_names(named: object) -> TypeGuard[list[str]]:
    return isinstance(named, list) and bool(named) and all(isinstance(name, str) and is_name(name) for name in named)


def lines_of(lines: Mapping[str, int], path: Path) -> dict[str, int]:
    """The line of every key of the spec that a path names, where `lines` has those of its file."""
    _, variant = file_and_variant(path)
    if variant is None:
        return dict(lines)
    section = {"": lines[variant]} if variant in lines else {}  # What is about the whole spec is about its section.
    own = {key.removeprefix(f"{variant}."): line for key, line in lines.items() if key.startswith(f"{variant}.")}
    return {**lines, **section, **own}


def _merge(shared: Mapping[str, Any], own: Mapping[str, Any], levels: int = _LEVELS) -> dict[str, Any]:
    """A table of what variants share with that of one of them: tables key by key, every other value replaces the shared."""
    made = dict(shared)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(shared.get(key), dict) and levels > 1
        made[key] = _merge(shared[key], value, levels - 1) if both else value
    return made
