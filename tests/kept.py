"""Compiled kernels and WebAssembly that stay between runs of the tests, in build/, and that the gate after them has, too.

To compile a small question takes ten times as long as to search it, and most tests ask what they asked the last time. What
was compiled is found again only under the same expressions, engine, LLVM and processor, and is believed only with its seal;
answers do not stay, for a test is there to find them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tests.places import CHECKOUT

KEPT = CHECKOUT / "build" / "tests" / "acked"
KEYS = KEPT.with_name("state")
"""Where the key is with which they are sealed."""

MOST_BYTES = 1 << 30
"""What was compiled for rules of the past is never asked for again; from so much on all is compiled anew."""


def compiled(folder: Path) -> list[Path]:
    """What was compiled, in a folder."""
    return [path for path in folder.iterdir() if path.suffix in (".o", ".wasm")]


def lend(folder: Path) -> None:
    """Puts what is kept into the cache of a session."""
    KEPT.mkdir(parents=True, exist_ok=True)
    if sum(path.stat().st_size for path in compiled(KEPT)) > MOST_BYTES:
        for path in compiled(KEPT):
            path.unlink(missing_ok=True)
    for path in compiled(KEPT):
        shutil.copyfile(path, folder / path.name)


def take_back(folder: Path) -> None:
    """Keeps what a session has compiled."""
    for path in compiled(folder):
        if path.is_file() and not (KEPT / path.name).exists():
            with tempfile.NamedTemporaryFile(dir=KEPT, delete=False) as file:
                file.write(path.read_bytes())
            os.replace(file.name, KEPT / path.name)
