"""The settings of a file, for tests that do not ask what it notes besides; and those of it that count, in one step."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from acked.audit.decision.gather import Given, recognise, settle
from acked.audit.formats.reading import read_file
from acked.cluster.vocabulary.entry import SettingEntry
from acked.cluster.vocabulary.note import Read, settings_of


def read_settings(path: Path) -> list[SettingEntry]:
    return list(settings_of(read_file(path)))


def gather(
    read: Iterable[Read],
    topic: str | None = None,
    overrides: Iterable[SettingEntry] = (),
    is_lenient: bool = False,
    entities: Collection[str] = (),
) -> Given:
    return settle(recognise(read, overrides, is_lenient), topic, entities)
