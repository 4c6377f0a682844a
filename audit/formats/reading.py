"""Reading what people have as settings with lines: files in the format that they have, folders, the standard input."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from acked.audit.formats import environment, foreign, json_file, listings, properties_file, terraform, yaml_file
from acked.audit.formats.parts.reader import Reader, Source
from acked.base.errors import SpecUnreadable
from acked.base.files import read_bytes
from acked.cluster.vocabulary.entry import INSTEAD
from acked.cluster.vocabulary.names import is_known, likely_setting_elsewhere, names_setting
from acked.cluster.vocabulary.note import Note, Read

MAX_BYTES = 4 << 20
"""No file of settings comes near this; a larger one is something else."""

MAX_FILES = 2000
"""Files that are looked at in one folder."""

STDIN = "-"
_WHAT = "file of Kafka settings"

READERS: tuple[Reader, ...] = (
    json_file.READER,
    listings.READER,
    environment.READER,
    yaml_file.READER,
    terraform.READER,
    foreign.READER,
    properties_file.READER,
)
"""Every format, in the order in which they are asked: of those that are equally sure the first has a file."""

_MAYBE = (".properties", ".conf", ".cfg", ".config", ".ini", ".j2", ".tpl", ".tmpl", ".template", ".erb", ".txt")
"""Suffixes of other files of a folder that may have settings, or be made into such; `.txt` may be anything."""


def read_all(paths: Iterable[Path]) -> list[Read]:
    """What files say, of folders, and of the standard input where a path is `-`."""
    found: list[Read] = []
    named = list(paths)
    if sum(str(path) == STDIN for path in named) > 1:
        raise SpecUnreadable("the standard input (-) is named twice; it can be read once")
    for path in named:
        if str(path) != STDIN and path.is_dir():
            found += _folder(path)
        else:
            found += read_file(path)
    return found


def read_each(paths: Iterable[Path]) -> list[tuple[Path, list[Read]]]:
    """What each file says for itself, of those that say anything of Kafka's, as in a folder."""
    named = list(paths)
    for path in named:
        if str(path) != STDIN and not os.access(path, os.R_OK):
            raise SpecUnreadable(f"{path} is not there or may not be read; name files that can be")
    every = (file for path in named for file in (_files(path) if path.is_dir() else (path,)))
    return [(file, found) for file in every if (found := _read_member(file))]


def read_file(path: Path) -> list[Read]:
    """All that a file says, in its order; `SpecUnreadable` says what is wrong with it and where.

    A file in which there is nothing, or which is in a format that is not read, is refused: it is not one that sets nothing.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    data = sys.stdin.buffer.read(MAX_BYTES + 1) if str(path) == STDIN else read_bytes(path, _WHAT, MAX_BYTES)
    if len(data) > MAX_BYTES:
        raise SpecUnreadable(f"the {name} has more than {MAX_BYTES >> 20} MB and cannot be a {_WHAT}")
    source = Source(name, _text(name, data))
    reader = format_of(source)
    found = list(reader.read(source.name, source.text))
    if not found and not reader.is_complete:
        raise SpecUnreadable(f"{name} has no setting in it; {INSTEAD}")
    return found


def format_of(source: Source) -> Reader:
    """The format that is surest of a text, of equals the first."""
    return max(READERS, key=lambda one: one.sign(source))


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


def _folder(folder: Path) -> list[Read]:
    """What all files below say; one without settings is passed over, unless it seems to have one that decides."""
    found = [one for path in _files(folder) for one in _read_member(path)]
    if not found:
        raise SpecUnreadable(f"no file in {folder} has a setting of Kafka's; {INSTEAD}")
    return found


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those below that are not hidden, by name; links to folders are not followed."""
    suffixes = {*_MAYBE, *(suffix for reader in READERS for suffix in reader.suffixes)}
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
            elif path.is_file() and (path.suffix.lower() in suffixes or path.name.lower().startswith(".env")):
                count += 1
                if count > MAX_FILES:
                    raise SpecUnreadable(f"{folder} has more than {MAX_FILES:,} files; name those that count")
                yield path


def _read_member(path: Path) -> list[Read]:
    try:
        found = read_file(path)
    except SpecUnreadable:
        if str(path) == STDIN or _may_decide(path):
            raise
        return []
    return found if any(map(_is_kafkas, found)) or _may_decide(path) else []


def _is_kafkas(one: Read) -> bool:
    """Whether something is Kafka's, or has a name that is so only with a slip."""
    return isinstance(one, Note) or is_known(one.key) or bool(one.means or likely_setting_elsewhere(one.key, ()))


def _may_decide(path: Path) -> bool:
    """Whether a file that is not understood has the name of a setting in it; a text may have, for it is no setting."""
    if path.suffix.lower() == ".txt":
        return False
    try:
        return names_setting(read_bytes(path, _WHAT, MAX_BYTES).decode("utf-8", "replace"))
    except SpecUnreadable:
        return False
