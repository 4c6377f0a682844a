"""Random protocols beyond 262,144 states, where a search gives up its states: every way through them, level by level.

Each is searched with one and two workers, with little memory, with the visited states on disk, over Spark, and from a run
directory whose process was killed; each answer is that of a plain search in numpy, which shares nothing with acked.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import SystemFailure
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.result import Result, StopReason
from acked.checker.search.local import search
from acked.checker.shards import compact
from acked.checker.shards.shard import states_for
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.session import SparkDriver
from acked.checker.store.run_directory import RunDirectory
from tests.checker.search.large_protocols import FEWEST, Large, drawn
from tests.places import CHECKOUT

POLICY = StopPolicy.EVERY_PROPERTY
AMPLE = 2 << 30
GROUPS, EACH = 25, 8
"""So many tests of so many protocols."""


def assert_plain(large: Large, result: Result, way: str) -> None:
    """The answer is that of the plain search, level by level."""
    plain = large.plain
    assert plain is not None
    where = f"seed {large.seed}, {way}"
    assert result.stopped is StopReason.COMPLETE, where
    assert result.level_sizes == plain.level_sizes, where
    assert [count.enabled for count in result.actions.values()] == list(plain.enabled), where
    assert dict(result.violated) == plain.violated, where


def assert_begins_plain(large: Large, result: Result, way: str) -> None:
    """What is known of a search that memory ended is a beginning of the plain one, and no more is said of it."""
    plain = large.plain
    assert plain is not None
    complete = list(result.level_sizes)[:-1]
    assert complete == list(plain.level_sizes[: len(complete)]), f"seed {large.seed}, {way}"
    assert result.verdict.name != "HOLDS", f"seed {large.seed}, {way}"
    assert dict(result.violated).items() <= plain.violated.items(), f"seed {large.seed}, {way}"


def in_little_memory(large: Large, chance: random.Random) -> Result:
    """A search with so little memory that it gives up its states, or ends."""
    plain = large.plain
    assert plain is not None
    words = large.question.instance.schema.words
    memory = plain.states * chance.choice((10, 14, 20, 28)) * words // 2 + (1 << 20)
    return search(large.question, Bounds(chance.choice((1, 2)), memory), POLICY)


def on_disk(large: Large, chance: random.Random, folder: Path) -> Result:
    """A search whose visited states go to disk when memory is full."""
    plain = large.plain
    assert plain is not None
    memory = plain.states * chance.choice((2, 4, 8)) + (3 << 18)
    with RunDirectory.create(folder, large.question, chance.choice((1, 7, 64))) as run:
        result = search(large.question, Bounds(2, memory, beyond_memory=True), POLICY, None, run)
    assert "the visited states were on disk" in " ".join(result.notes), f"seed {large.seed}: memory was ample"
    return result


@dataclass
class Killing(Observer):
    """Kills its own process once so many levels are complete, and two written; what else it was writing may be half there."""

    levels: int
    folder: Path

    def progress(self, now: Progress) -> None:
        if now.depth >= self.levels:
            while len(list(self.folder.glob("commits/*.json"))) < 3:
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGKILL)


def search_in(drawn_before: str, folder: str, levels: int) -> None:
    """What the process does that is killed: it searches the protocol of a file, and writes levels into a folder."""
    question = pickle.loads(Path(drawn_before).read_bytes()).question
    with RunDirectory.create(Path(folder), question) as run:
        search(question, Bounds(2, AMPLE), POLICY, Killing(levels, Path(folder)), run)


def killed_and_resumed(large: Large, chance: random.Random, folder: Path) -> Result:
    """A search in a process that is killed on its way, and gone on with in this one."""
    plain = large.plain
    assert plain is not None
    data = folder.with_suffix(".pickle")
    data.write_bytes(pickle.dumps(Large(large.seed, large.ranges, large.pads, large.actions, large.forbidden)))
    levels = chance.randint(3, len(plain.level_sizes) - 1)
    program = f"from {__name__} import search_in; search_in({str(data)!r}, {str(folder)!r}, {levels})"
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, check=False)
    assert done.returncode == -signal.SIGKILL, f"seed {large.seed}: it ended by itself"
    with RunDirectory.open(folder, large.question) as run:
        result = search(large.question, Bounds(chance.choice((1, 2)), AMPLE), POLICY, None, run)
    assert 0 < result.stored_levels < result.depth, f"seed {large.seed}: nothing to go on from, or nothing to do"
    return result


def over_spark(large: Large, driver: SparkDriver, folder: Path, memory: int) -> Result:
    with RunDirectory.create(folder, large.question, 64) as run:
        bounds = SparkBounds(tasks=2, memory=memory)
        return SparkSearch(large.question, run, driver, policy=POLICY, bounds=bounds).run()


def too_little_for_states(large: Large) -> int:
    """Bytes in which a task has no room for the states of its part, but may have for what is left when it gives them up."""
    plain = large.plain
    assert plain is not None
    memory = 1 << 20
    while states_for(large.question.instance.schema.words, 1, memory) < 0.85 * plain.states / 2:
        memory += 1 << 18
    return memory


def unless_memory_ends_it(search_it: Callable[[], Result]) -> Result | None:
    """The answer, or None where giving up the states took more than there was, which is said."""
    try:
        return search_it()
    except SystemFailure as error:
        if "memory is full, and going on without states takes more than there is" not in str(error):
            raise
        return None


def every_way(large: Large, driver: SparkDriver, folder: Path) -> dict[str, Result | None]:
    """By the way's name, the answer of a search that took it; of those that memory may end, any answer or none."""
    chance = random.Random(large.seed)
    return {
        "one worker": search(large.question, Bounds(1, AMPLE), POLICY),
        "two workers": search(large.question, Bounds(2, AMPLE), POLICY),
        "little memory": unless_memory_ends_it(lambda: in_little_memory(large, chance)),
        "on disk": on_disk(large, chance, folder / "disk"),
        "killed and resumed": killed_and_resumed(large, chance, folder / "killed"),
        "over Spark": over_spark(large, driver, folder / "spark", 1 << 29),
        "over Spark in little memory": unless_memory_ends_it(
            lambda: over_spark(large, driver, folder / "little", too_little_for_states(large))
        ),
    }


MAY_END = ("little memory", "over Spark in little memory")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_way_through_a_large_random_protocol_finds_the_same_levels(
    group: int, driver: SparkDriver, tmp_path: Path
) -> None:
    complete = Counter[str]()
    for seed in range(EACH * group, EACH * (group + 1)):
        large, folder = drawn(seed), tmp_path / str(seed)
        folder.mkdir()
        for way, result in every_way(large, driver, folder).items():
            if way not in MAY_END or (result is not None and result.stopped is StopReason.COMPLETE):
                assert result is not None
                assert_plain(large, result, way)
                complete[way] += 1
            elif result is not None:
                assert_begins_plain(large, result, way)
        shutil.rmtree(folder)
    assert min(complete[way] for way in MAY_END) > 0, "no search went on without its states where memory was full"


@pytest.mark.slow
def test_a_large_random_protocol_is_searched_as_plainly_with_and_without_its_states(monkeypatch: pytest.MonkeyPatch) -> None:
    large = drawn(7)
    assert large.plain is not None
    assert large.plain.states >= FEWEST == compact.FORGET_FROM + 1
    assert_plain(large, search(large.question, Bounds(1, AMPLE), POLICY), "one worker")
    broken = Large(large.seed, large.ranges, large.pads, large.actions[:-1], large.forbidden)
    with pytest.raises(AssertionError, match="seed 7"):
        assert_plain(large, search(broken.question, Bounds(1, AMPLE), POLICY), "a clause less")
