"""The tasks of a search over Spark, run as threads of this process, so that what limits them can be made small."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from acked.checker.bounds import Bounds
from acked.checker.search.local import search
from acked.checker.spark import task
from acked.checker.spark.driver import SparkSearch
from acked.checker.spark.session import SparkDriver, SparkSettings
from acked.checker.store.run_directory import RunDirectory
from tests.checker.toys import always, answer, ask, counters

LOOPBACK = "127.0.0.1"


@dataclass
class Threads:
    """What `SparkSearch` asks of a `SparkDriver`; a task is a thread."""

    settings: SparkSettings = field(default_factory=lambda: SparkSettings("local[2]"))

    def slots(self, *_: object) -> int:
        """Two tasks can run at once."""
        return 2

    slots_now = slots

    def collect(
        self, items: Sequence[Any], _: int, function: Callable[..., Any], *, is_barrier: bool = False
    ) -> list[Any]:
        """As `SparkDriver.collect`."""
        if not is_barrier:
            return [found for item in items for found in function(iter([item]))]
        threads = [threading.Thread(target=function, args=(iter([worker]),), daemon=True) for worker in items]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return list(items)


def work(payload: bytes, partition: Iterator[int]) -> None:
    """As `task.run`, without Spark's context."""
    try:
        task.search(pickle.loads(payload), next(partition), 2, LOOPBACK)
    except task.Abandoned:
        pass


MASTERS = ["local[2]", f"spark://{LOOPBACK}:1"]
"""One whose tasks meet through files, and one whose tasks meet through sockets."""


@pytest.mark.timeout(30)
@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("room", [1 << 20, 100, 0])
def test_however_little_room_a_box_has_the_search_ends_with_the_local_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, master: str
) -> None:
    """A box that is too full for another batch is emptied, however full that is; to go on without would be for ever."""
    monkeypatch.setattr(task, "BOX_ROOM", room)
    monkeypatch.setattr(task, "run", work)
    flushed = 0
    flush = task.Worker._flush

    def counting(*arguments: Any) -> None:
        nonlocal flushed
        flushed += 1
        flush(*arguments)

    monkeypatch.setattr(task.Worker, "_flush", counting)
    question = ask(counters(5, 9), always("Any", lambda s: s.n0 >= 0))
    expected = search(question, Bounds(workers=1, memory=1 << 26))
    with RunDirectory.create(tmp_path / "run", question, 7) as run:
        result = SparkSearch(question, run, cast(SparkDriver, Threads(SparkSettings(master)))).run()
    assert answer(result) == answer(expected)
    levels = 2 * len(result.level_sizes)
    assert flushed == levels if room == 1 << 20 else flushed > levels
