"""A recommended change as copies of the user's own files: one value of one line is another, everything else stays.

Each copy is read again before it is written, and has to say what was wanted and nothing else that is new.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from acked.audit.decision.advice import VERSION_KEY
from acked.audit.decision.gather import Given
from acked.audit.formats.reading import read_file
from acked.base.errors import AckedError, ConfigurationError, SystemFailure
from acked.base.files import read_text, write_text
from acked.base.frozen import frozen
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Read
from acked.reports.shell.output import make_folder

_TOKEN = re.compile(r"[^\s=:,'\"{}\[\]]+")
"""What may be a value, in any of the formats."""

_NEXT = 2
"""Lines in which a value may stand: that of its name, or the one after it."""


@frozen
class Patches:
    """The copies, by the file that each is of, and what has to be done by hand, in words."""

    texts: Mapping[Path, str]
    by_hand: tuple[str, ...]


def make_patches(given: Given, change: Iterable[tuple[str, str]]) -> Patches:
    """The files with the change made, as far as they have the settings that it changes."""
    known = {entry.file: Path(entry.file) for entry in given.entries.values() if entry.line and Path(entry.file).is_file()}
    texts: dict[Path, str] = {}
    by_hand: list[str] = []
    for key, value in change:
        wanted = f"{key}={value}" if value else f"no {key}"
        entry = given.entries.get(key)
        if entry is None or entry.file not in known or not entry.line or not value or key not in KEYS:
            by_hand.append(_why(wanted, given, key, value, known))
            continue
        path = known[entry.file]
        before = texts[path] if path in texts else read_text(path, "file of Kafka settings")
        after = _set_value(path, before, entry, value)
        if after is None:
            by_hand.append(f"{wanted}, at {entry.where}, where it is not written so that it can be changed safely")
        else:
            texts[path] = after
    return Patches(texts, tuple(by_hand))


def write_patches(patches: Patches, folder: Path) -> list[Path]:
    """Writes the copies under the names of their files, all or none; `ConfigurationError` if one would be overwritten."""
    places = {path: folder / path.name for path in patches.texts}
    if len(set(places.values())) < len(places):
        raise ConfigurationError(f"two of the files have one name, and --fix writes both into {folder}; name one at a time")
    for path, place in places.items():
        if place.exists():
            own = "the file itself" if place.resolve() == path.resolve() else "something else"
            raise ConfigurationError(f"{place} is there already ({own}); name a new folder with --fix")
    make_folder(folder)
    try:
        for path, text in patches.texts.items():
            write_text(places[path], text, "changed file")
    except SystemFailure:
        for place in places.values():
            place.unlink(missing_ok=True)
        raise
    return list(places.values())


def _why(wanted: str, given: Given, key: str, value: str, known: Mapping[str, Path]) -> str:
    entry, default = given.entries.get(key), given.entries.get(keys.DEFAULT_FACTOR)
    if key == VERSION_KEY:
        old = [given.entries[spoken] for spoken in (keys.IBP, keys.METADATA_VERSION) if spoken in given.entries]
        after = f", and afterwards raise {' and '.join(f'{one.key} ({one.source})' for one in old)}" if old else ""
        return f"upgrade to Kafka {value}{after}"
    if key == keys.ELR and (entry is None or entry.file not in known):
        return f"{wanted}, a feature of the cluster: kafka-features upgrade --feature {key}={value}"
    if entry is None and key == REPLICATION_FACTOR and default is not None:
        return (
            f"{wanted}, which no file sets for a topic: {default.key}={default.value} ({default.source}) counts when one is "
            "made, and kafka-reassign-partitions gives more replicas to one that there is"
        )
    if entry is None:
        return f"{wanted}, which no file sets: the release's default counts"
    if entry.file not in known or not entry.line:
        return f"{wanted}, which {entry.source} sets"
    return f"{wanted}, at {entry.where}"


def _set_value(path: Path, text: str, entry: SettingEntry, value: str) -> str | None:
    """The text with another value of one setting; None if no single value can be replaced so that only that changes."""
    before = _reading(path, text)
    lines = text.splitlines(keepends=True)
    for at in range(entry.line - 1, min(entry.line - 1 + _NEXT, len(lines))):
        for token in reversed(list(_TOKEN.finditer(lines[at]))):
            if not _is_value(entry, token[0]):
                continue
            line = f"{lines[at][: token.start()]}{value}{lines[at][token.end() :]}"
            changed = "".join([*lines[:at], line, *lines[at + 1 :]])
            if _reading(path, changed) == _expectation(before, entry, value):
                return changed
    return None


def _is_value(entry: SettingEntry, token: str) -> bool:
    try:
        return KEYS[entry.key].read(token) == entry.value
    except ValueError:
        return False


def _expectation(before: list[Read] | None, entry: SettingEntry, value: str) -> list[Read] | None:
    """What the text has to be read as after the change: the same but for that value."""
    if before is None:
        return None
    found = [replace(one, value=value) if isinstance(one, SettingEntry) and (one.line, one.key) == (entry.line, entry.key)
             else one for one in before]  # fmt: skip
    return found if found != before else None


def _reading(path: Path, text: str) -> list[Read] | None:
    """What a text says under the file's name, which decides how it is read; None if it is refused."""
    with tempfile.TemporaryDirectory(prefix="acked-") as folder:
        place = Path(folder) / path.name
        place.write_text(text, "utf-8")
        try:
            return [replace(one, file=path.name) for one in read_file(place)]
        except AckedError:
            return None
