"""Keeps the rewritten assertions of all test modules beside them, as pytest does when it imports one: `make test` runs it once.

In a fresh checkout each of its processes would rewrite them all; to import everything for that takes longer than to rewrite.
What is missing here, or of another pytest, the processes write themselves.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

from _pytest.assertion import AssertionState
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, get_cache_dir
from _pytest.config import _prepareconfig

from tests.places import CHECKOUT


def rewrite(paths: list[Path]) -> None:
    """Reads modules and writes what pytest would run of them, unless that is there."""
    config = _prepareconfig(["--collect-only"])
    state = AssertionState(config, "rewrite")
    for path in paths:
        kept = get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"
        with suppress(SyntaxError, OSError):  # pytest tells of the one, and does without the other.
            if _read_pyc(path, kept) is None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                source, code = _rewrite_test(path, config)
                _write_pyc(state, code, source, kept)


def main() -> None:
    """All test modules of the checkout, on all cores."""
    folder, cores = CHECKOUT / "tests", os.cpu_count() or 1
    paths = sorted([*folder.rglob("test_*.py"), *folder.rglob("conftest.py")], key=lambda path: path.stat().st_size)
    with ProcessPoolExecutor(cores) as pool:
        list(pool.map(rewrite, [paths[at::cores] for at in range(cores)]))


if __name__ == "__main__":
    sys.dont_write_bytecode = False
    main()
