"""The reachable states of a question in a folder that is gone afterwards, for those who make data of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acked.base.errors import SystemFailure
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason
from acked.checker.search.local import search
from acked.checker.store.run_directory import RunDirectory


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new folder, which is removed at the end."""
    try:
        place = Path(tempfile.mkdtemp(prefix=prefix))
    except OSError as error:
        raise SystemFailure(f"cannot create a temporary folder ({error.strerror}); set TMPDIR to another place") from None
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def searched(question: Question, observer: Observer | None = None) -> Iterator[RunDirectory]:
    """A run directory with every reachable state; `SystemFailure` where memory has no room for them all."""
    with temporary_folder("acked-run-") as place, RunDirectory.create(place, question) as run:
        result = search(question, None, StopPolicy.EVERY_PROPERTY, observer, run)
        if result.stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        if result.stopped is StopReason.MEMORY:
            raise SystemFailure(
                "memory was full before all states were found; search with `acked check --engine spark --run-dir DIR`, "
                "then use `acked states --run-dir DIR`"
            )
        yield run
