"""Reproductions that were saved: what `reproduce --format json` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from acked.base.errors import SpecUnreadable
from acked.base.files import open_file
from acked.base.optional import optional_packages

if TYPE_CHECKING:
    from acked.cluster.reports.reproductions.words import Answer

_BEGINS = b'"acked-reproduction/'
_ENOUGH = 200


def is_reproduction(target: str) -> bool:
    """Whether a target is a file that calls itself a reproduction in its first line or two; nothing else of it is read."""
    path = Path(target)
    if not path.is_file():
        return False
    try:
        with open_file(path) as file:
            return _BEGINS in file.read(_ENOUGH)
    except (OSError, SpecUnreadable):
        return False


def read_saved(target: str) -> tuple[Answer, dict[str, str]]:
    """What was saved, and the actions that its search left out; `SpecUnreadable` names the part that is wrong."""
    with optional_packages():
        from acked.cluster.reports.reproductions.reading import read_answer

    return read_answer(Path(target))
