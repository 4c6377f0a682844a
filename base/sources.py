"""What our own files say, as a hash: what is kept between runs goes by it, so that nothing outlives the code that made it.

Reading them all takes longer than many a command. So the cache has the hash of their texts beside what the system says of the
files: their names and sizes, when they were written, and when the system last changed anything about them, which no copying
and no unpacking sets.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from functools import cache

from acked.base.cache import store_in
from acked.base.files import PACKAGE

_SETTLED = 2.0
"""Seconds since a file was changed after which another change gets another time."""


@cache
def sources_hash(folders: Iterable[str]) -> str:
    """A hash of the names and the text of all files of some folders of the package, the data beside the modules too."""
    paths = [*_paths(folders)]
    looks, changed = _looks(paths)
    name = f"{looks}.sources"
    store = store_in("sources")
    known = None if store is None else store.known(name)
    if known is not None:
        return known.decode()
    digest = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            digest.update(f"{os.path.relpath(path, PACKAGE)}\0".encode("utf-8", "surrogateescape"))
            digest.update(hashlib.sha256(file.read()).digest())
    if store is not None and time.time() - changed > _SETTLED:
        store.write(name, digest.hexdigest().encode())
    return digest.hexdigest()


def _paths(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        for place, inner, names in os.walk(PACKAGE / folder):
            inner[:] = sorted(name for name in inner if name != "__pycache__")
            for name in sorted(names):
                yield os.path.join(place, name)


def _looks(paths: Iterable[str]) -> tuple[str, float]:
    """A hash of what the system says of files, and when one of them was changed last."""
    digest, changed = hashlib.sha256(), 0.0
    for path in paths:
        found = os.stat(path)
        told = (path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        digest.update(repr(told).encode("utf-8", "surrogateescape"))
        changed = max(changed, found.st_ctime)
    return digest.hexdigest(), changed
