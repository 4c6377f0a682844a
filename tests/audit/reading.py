"""The settings of a file, for tests that do not ask what it notes besides."""

from __future__ import annotations

from pathlib import Path

from acked.audit.formats.reading import read_file
from acked.cluster.vocabulary.entry import SettingEntry
from acked.cluster.vocabulary.note import settings_of


def read_settings(path: Path) -> list[SettingEntry]:
    return list(settings_of(read_file(path)))
