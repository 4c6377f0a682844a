"""Reading what people have as settings with lines: files in the format that they have, folders, the standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from acked.audit.formats.described import DESCRIBED_FORM, described_entries
from acked.audit.formats.environment import environment_file
from acked.audit.formats.foreign import Format, foreign, format_of
from acked.audit.formats.json_file import json_entries
from acked.audit.formats.librdkafka import as_kafkas
from acked.audit.formats.properties import property_entries
from acked.audit.formats.spring import is_spring, spring_properties
from acked.audit.formats.terraform import terraform_entries
from acked.audit.formats.yaml_file import yaml_entries
from acked.base.errors import SpecUnreadable
from acked.base.files import read_bytes
from acked.cluster.vocabulary.entry import INSTEAD, SettingEntry
from acked.cluster.vocabulary.names import is_known, names_setting

MAX_BYTES = 4 << 20
"""No file of settings comes near this; a larger one is something else."""

MAX_FILES = 2000
"""Files that are looked at in one folder."""

STDIN = "-"
_WHAT = "file of Kafka settings"

_JSON = re.compile(r"\s*(?:\{(?!\{|%)|\[(?!\s*[A-Za-z][\w. \-]*\]))")
"""How JSON begins, and no template or section of another format does."""

_RESOURCE = re.compile(r'"apiVersion"\s*:')
_SUFFIXES = frozenset({".properties", ".yml", ".yaml", ".json", ".tf", ".env", ".conf", ".cfg", ".config", ".ini", ".toml",
                       ".tfvars", ".hcl", ".xml", ".j2", ".tpl", ".tmpl", ".template", ".erb"})  # fmt: skip
"""Files of a folder that may have settings, or be made into such; what tools describe is in `.txt`, which may be anything."""


def read_all(paths: Iterable[Path]) -> list[SettingEntry]:
    """The settings of files, of folders, and of the standard input where a path is `-`."""
    entries: list[SettingEntry] = []
    named = list(paths)
    if sum(str(path) == STDIN for path in named) > 1:
        raise SpecUnreadable("the standard input (-) is named twice; it can be read once")
    for path in named:
        if str(path) != STDIN and path.is_dir():
            entries += _folder(path)
        else:
            entries += read_settings(path)
    return entries


def read_settings(path: Path) -> list[SettingEntry]:
    """Every setting of a file, in its order; `SpecUnreadable` says what is wrong with it and where.

    A file in which there is nothing, or which is in another format, is refused: it is not a file that sets nothing.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    data = sys.stdin.buffer.read(MAX_BYTES + 1) if str(path) == STDIN else read_bytes(path, _WHAT, MAX_BYTES)
    if len(data) > MAX_BYTES:
        raise SpecUnreadable(f"the {name} has more than {MAX_BYTES >> 20} MB and cannot be a {_WHAT}")
    text = _text(name, data)
    if (path.suffix.lower() == ".json" or _JSON.match(text)) and not _RESOURCE.search(text):
        return _some(name, as_kafkas(json_entries(name, text)))
    if DESCRIBED_FORM.search(text):
        return list(described_entries(name, text))  # Where a topic sets nothing, that has been said.
    return _some(name, _in_format(path, name, text))


def _in_format(path: Path, name: str, text: str) -> list[SettingEntry]:
    form = Format.YAML if _JSON.match(text) else format_of(path, text)
    if form is Format.YAML:
        return yaml_entries(name, text)
    if form is Format.HCL:
        return terraform_entries(name, text)
    if form is Format.ENVIRONMENT:
        return environment_file(name, text)
    if (kind := foreign(path, text)) is not None:
        raise SpecUnreadable(f"{name} {kind}")
    found = list(property_entries(name, text))
    if any(is_spring(entry.key) for entry in found):
        return spring_properties(name, text)
    return as_kafkas(found)


def _some(name: str, entries: list[SettingEntry]) -> list[SettingEntry]:
    if not entries:
        raise SpecUnreadable(f"{name} has no setting in it; {INSTEAD}")
    return entries


def _text(name: str, data: bytes) -> str:
    """The file's text as Java reads properties: ISO-8859-1, unless it is UTF-8 throughout."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SpecUnreadable(f"{name} is UTF-16 text, which Kafka cannot read; save it as UTF-8")
    if data.startswith(b"\xef\xbb\xbf"):
        raise SpecUnreadable(
            f"{name} begins with a byte order mark, which Kafka takes for a part of the first key; save it without"
        )
    strange = re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", data)
    if strange:
        raise SpecUnreadable(f"{name} is binary and no {_WHAT}: byte {strange.start()} is {strange[0][0]:#04x}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


# -- folders ------------------------------------------------------------------------------------------------------------


def _folder(folder: Path) -> list[SettingEntry]:
    """The settings of all files below; what has none is passed over, unless it seems to have one that decides."""
    entries: list[SettingEntry] = []
    has_read = False
    for path in _files(folder):
        found = _of_folder(path)
        has_read = has_read or bool(found)
        entries += found
    if not has_read:
        raise SpecUnreadable(f"no file in {folder} has a setting of Kafka's; {INSTEAD}")
    return entries


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those below that are not hidden, by name; links to folders are not followed."""
    count = 0
    open_ = [folder]
    while open_:
        try:
            here = sorted(open_.pop(0).iterdir())
        except OSError as error:
            raise SpecUnreadable(f"cannot read the folder {folder}: {error.strerror}") from None
        for path in here:
            if path.is_dir():
                if not path.name.startswith(".") and not path.is_symlink():
                    open_.append(path)
            elif path.is_file() and (path.suffix.lower() in {*_SUFFIXES, ".txt"} or path.name.lower().startswith(".env")):
                count += 1
                if count > MAX_FILES:
                    raise SpecUnreadable(f"{folder} has more than {MAX_FILES:,} files; name those that count")
                yield path


def _of_folder(path: Path) -> list[SettingEntry]:
    try:
        found = read_settings(path)
    except SpecUnreadable:
        if _may_decide(path):
            raise
        return []
    return found if any(is_known(entry.key) or entry.means for entry in found) or _may_decide(path) else []


def _may_decide(path: Path) -> bool:
    """Whether a file that is not understood has the name of a setting in it; a text may have, for it is no setting."""
    if path.suffix.lower() == ".txt":
        return False
    try:
        return names_setting(read_bytes(path, _WHAT, MAX_BYTES).decode("utf-8", "replace"))
    except SpecUnreadable:
        return False
