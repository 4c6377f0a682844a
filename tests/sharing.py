"""What a session makes once, whichever of its processes comes first, and what is not shared."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def own_cache(factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache for what is worth nothing to other tests and to later runs, such as kernels of random protocols."""
    place = factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACKED_CACHE_DIR", str(place))
        yield place
