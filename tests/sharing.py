"""What a session makes once, whichever of its processes comes first."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` fills, for all processes of the session; the others wait for the first."""
    base = factory.getbasetemp()
    place = (base.parent if base.name.startswith("popen-") else base) / f"shared-{name}"
    with open(place.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            making = place.with_suffix(".part")
            making.mkdir()
            make(making)
            making.rename(place)
    return place
