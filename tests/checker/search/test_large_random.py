"""Random protocols beyond 262,144 states, where a search gives up its states: every way through them, level by level.

Each is searched with one and two workers, with little memory, with the visited states on disk, over Spark, and from a run
directory whose process was killed; each answer is that of a plain search in numpy, which shares nothing with acked.
"""

from __future__ import annotations

import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.result import Result, StopReason
from acked.checker.search.local import search
from acked.checker.shards import compact
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.session import SparkDriver, SparkSettings
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
        return search(large.question, Bounds(2, memory, beyond_memory=True), POLICY, None, run)


def search_in(drawn_before: str, folder: str) -> None:
    """What the process does that is killed: it searches the protocol of a file, and writes levels into a folder."""
    question = pickle.loads(Path(drawn_before).read_bytes()).question
    with RunDirectory.create(Path(folder), question) as run:
        search(question, Bounds(2, AMPLE), POLICY, None, run)


def killed_and_resumed(large: Large, chance: random.Random, folder: Path) -> Result:
    """A search in a process that is killed once it has committed some levels, and gone on with in this one."""
    data = folder.with_suffix(".pickle")
    data.write_bytes(pickle.dumps(Large(large.seed, large.ranges, large.pads, large.actions, large.forbidden)))
    program = f"from tests.checker.search.test_large_random import search_in; search_in({str(data)!r}, {str(folder)!r})"
    wanted = chance.randint(2, max(2, len(large.question.properties) + 9))
    with subprocess.Popen([sys.executable, "-c", program], cwd=CHECKOUT) as process:
        while process.poll() is None and len(list(folder.glob("commits/*"))) < wanted:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    with RunDirectory.open(folder, large.question) as run:
        return search(large.question, Bounds(chance.choice((1, 2)), AMPLE), POLICY, None, run)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkDriver]:
    with SparkDriver(SparkSettings("local[2]"), tmp_path_factory.mktemp("spark") / "spark.log") as started:
        yield started


def over_spark(large: Large, driver: SparkDriver, folder: Path) -> Result:
    with RunDirectory.create(folder, large.question, 7) as run:
        bounds = SparkBounds(tasks=2, memory=1 << 29)
        return SparkSearch(large.question, run, driver, policy=POLICY, bounds=bounds).run()


def assert_every_way_is_plain(large: Large, driver: SparkDriver, folder: Path) -> None:
    chance = random.Random(large.seed)
    for workers in (1, 2):
        assert_plain(large, search(large.question, Bounds(workers, AMPLE), POLICY), f"{workers} workers")
    little = in_little_memory(large, chance)
    (assert_plain if little.stopped is StopReason.COMPLETE else assert_begins_plain)(large, little, "little memory")
    assert_plain(large, on_disk(large, chance, folder / "disk"), "on disk")
    assert_plain(large, killed_and_resumed(large, chance, folder / "killed"), "killed and resumed")
    assert_plain(large, over_spark(large, driver, folder / "spark"), "over Spark")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_way_through_a_large_random_protocol_finds_the_same_levels(
    group: int, driver: SparkDriver, tmp_path: Path
) -> None:
    for seed in range(EACH * group, EACH * (group + 1)):
        (tmp_path / str(seed)).mkdir()
        assert_every_way_is_plain(drawn(seed), driver, tmp_path / str(seed))


@pytest.mark.slow
def test_a_large_random_protocol_is_searched_as_plainly_with_and_without_its_states(monkeypatch: pytest.MonkeyPatch) -> None:
    large = drawn(7)
    assert large.plain is not None
    assert large.plain.states >= FEWEST == compact.FORGET_FROM + 1
    assert_plain(large, search(large.question, Bounds(1, AMPLE), POLICY), "one worker")
    broken = Large(large.seed, large.ranges, large.pads, large.actions[:-1], large.forbidden)
    with pytest.raises(AssertionError, match="seed 7"):
        assert_plain(large, search(broken.question, Bounds(1, AMPLE), POLICY), "a clause less")
