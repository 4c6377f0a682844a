"""The tasks of a search over Spark, run as threads of this process, so that what limits them can be made small."""

from __future__ import annotations

import pickle
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from acked.base.bounds import Bounds
from acked.checker.loops import lines
from acked.checker.loops.lines import LineKind
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.overflow import Overflow
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason
from acked.checker.search.local import search
from acked.checker.shards import compact, forgetting
from acked.checker.shards.compact import CompactShard
from acked.checker.shards.forgetting import Forgetting
from acked.checker.shards.shard import Shard, states_for
from acked.checker.spark import driver, task, trace
from acked.checker.spark import part as part_module
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.grid import square
from acked.checker.spark.part import Part
from acked.checker.spark.session import SparkDriver, SparkSettings
from acked.checker.spark.transfer import Transfer
from acked.checker.store.run_directory import RunDirectory
from tests.checker.search.test_delayed import least_memory, on_disk
from tests.checker.toys import always, answer, ask, counters, overflowing

LOOPBACK = "127.0.0.1"


@dataclass
class Threads:
    """What `SparkSearch` asks of a `SparkDriver`; a task is a thread."""

    settings: SparkSettings = field(default_factory=lambda: SparkSettings("local[2]"))
    tasks: int = 2

    def slots(self, *_: object) -> int:
        """How many tasks can run at once."""
        return self.tasks

    slots_now = slots

    log = Path("spark.log")

    addresses = LOOPBACK, LOOPBACK

    def note_failure(self, *_: str) -> None:
        """Nobody reads it."""

    describe = run_nothing = note_failure

    def collect(self, items: Sequence[Any], _: int, function: Callable[..., Any], *, is_barrier: bool = False) -> list[Any]:
        """As `SparkDriver.collect`."""
        if not is_barrier:
            return [found for item in items for found in function(iter([item]))]
        lost: list[Exception] = []

        def attempt(worker: int) -> None:
            try:
                function(iter([worker]))
            except Exception as error:  # whatever ends a task of Spark's
                if not isinstance(error, Lost):
                    warnings.warn(f"a task ended: {traceback.format_exc()}", stacklevel=1)
                lost.append(error)

        threads = [threading.Thread(target=attempt, args=(worker,), daemon=True) for worker in items]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not lost:
            threads[0].join(0.001)
        if lost:  # as Spark does: the job is over at once, and the other tasks find that out
            raise lost[0]
        return list(items)


class Lost(Exception):
    """A task is gone, without a word to anybody."""


def work(payload: bytes, partition: Iterator[int]) -> None:
    """As `task.run`, without Spark's context."""
    task.search(pickle.loads(payload), next(partition), 2, LOOPBACK)


LOCAL, CLUSTER = "local[2]", f"spark://{LOOPBACK}:1"


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "run", work)


def over_threads(question: Question, folder: Path, tasks: int = 2, master: str = LOCAL, memory: int = 1 << 26) -> Result:
    """The answer of so many tasks."""
    with RunDirectory.create(folder, question, 64) as run:
        threads = cast(SparkDriver, Threads(SparkSettings(master), tasks))
        return SparkSearch(question, run, threads, bounds=SparkBounds(memory=memory)).run()


def small() -> Question:
    """A space of 2,401 states in 25 levels, with a violation behind most of them."""
    return ask(counters(4, 6), always("Sum", lambda s: s.n0 + s.n1 + s.n2 + s.n3 <= 16))


def parts(monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    """The parts of all tasks, as they come to be."""
    made: list[Part] = []

    class Seen(Part):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(task, "Part", Seen)
    return made


@pytest.mark.slow
@pytest.mark.timeout(30)
@pytest.mark.parametrize("room", [1 << 20, 100, 0])
def test_however_little_room_a_box_has_the_search_ends_with_the_local_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """A box that is too full for another batch is emptied, however full that is; to go on without would be for ever."""
    monkeypatch.setattr(task, "BOX_ROOM", room)
    sent = 0
    send = Transfer.send

    def counting(*arguments: Any) -> None:
        nonlocal sent
        sent += 1
        send(*arguments)

    monkeypatch.setattr(Transfer, "send", counting)
    question = ask(counters(5, 9), always("Any", lambda s: s.n0 >= 0))
    expected = search(question, Bounds(workers=1, memory=1 << 26))
    with RunDirectory.create(tmp_path / "run", question, 7) as run:
        result = SparkSearch(question, run, cast(SparkDriver, Threads())).run()
    assert answer(result) == answer(expected)
    levels = 2 * len(result.level_sizes)
    assert sent <= levels if room == 1 << 20 else sent > levels


# -- without states -----------------------------------------------------------------------------------------------------


@pytest.mark.timeout(60)
@pytest.mark.parametrize("moment", [300, 0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_task_that_goes_on_without_states_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """From the beginning; from the second level on; and when it has hundreds, of which many are not expanded yet."""
    monkeypatch.setattr(driver, "FORGET_FROM", moment)
    monkeypatch.setattr(Forgetting, "is_ready", lambda _, shards, *__: type(shards[0]) is Shard and shards[0].found >= moment)
    made = parts(monkeypatch)
    result = over_threads(small(), tmp_path / "run")
    assert answer(result) == answer(search(small(), Bounds(1, 1 << 26)))
    # Twice in hundreds of runs of all tests, in new checkouts, a task ended and the search went on from what was stored.
    # Why is open; a warning tells it the next time.
    attempts = 1 + sum("tasks were lost" in note for note in result.notes)
    assert len(made) == 2 * attempts, result.notes
    assert [type(part.shard) for part in made[-2:]] == [CompactShard, CompactShard]


@pytest.mark.timeout(60)
def test_what_a_task_needs_to_go_on_without_states_is_compiled_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "FORGET_FROM", 200)
    made = parts(monkeypatch)
    take = Part.begin_level

    def slow(part: Part) -> None:
        if part._forgetting._code is not None:
            part._forgetting._code.result(30)
        take(part)

    monkeypatch.setattr(Part, "begin_level", slow)
    assert answer(over_threads(small(), tmp_path / "run")) == answer(search(small(), Bounds(1, 1 << 26)))
    assert [type(part.shard) for part in made] == [CompactShard, CompactShard]
    for module in (part_module, forgetting):
        monkeypatch.setattr(module, "address_space_limit", lambda: 1 << 33)
    over_threads(small(), tmp_path / "again")
    assert [type(part.shard) for part in made[2:]] == [Shard, Shard], "where address space is limited, states are kept"


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("share", [0.85, 0.6])
def test_a_task_whose_memory_is_full_goes_on_without_states_or_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(driver, "FORGET_FROM", 1 << 40)
    question = ask(counters(6, 6), always("Any", lambda s: s.n0 >= 0))
    whole = search(question, Bounds(1, 1 << 26))
    memory = 1 << 16
    while states_for(1, 1, memory) < share * whole.distinct_states / 2:
        memory += 1 << 14
    made = parts(monkeypatch)
    result = over_threads(question, tmp_path / "run", memory=memory)
    assert CompactShard in [type(part.shard) for part in made]
    if share > 0.8:
        assert answer(result) == answer(whole)
    else:
        assert result.stopped is StopReason.MEMORY
        assert result.level_sizes == whole.level_sizes[: result.depth]
        assert sum(result.level_sizes) > share * 0.8 * whole.distinct_states


def test_what_is_stored_and_does_not_fit_is_not_counted_in_part(tmp_path: Path) -> None:
    """A level of which only a part was read back was told as a complete one."""
    question = ask(counters(5, 5), always("Any", lambda s: s.n0 >= 0))
    whole = search(question, Bounds(1, 1 << 26))
    threads = cast(SparkDriver, Threads())
    with RunDirectory.create(tmp_path / "run", question) as run:
        SparkSearch(question, run, threads, bounds=SparkBounds(memory=1 << 26, max_depth=11)).run()
    with RunDirectory.open(tmp_path / "run", question) as run:
        again = SparkSearch(question, run, threads, bounds=SparkBounds(memory=40_000)).run()
    assert again.stopped is StopReason.MEMORY
    assert again.level_sizes == whole.level_sizes[: again.depth]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("from_states", [0, 1 << 40])
def test_what_is_stored_is_taken_up_by_tasks_of_either_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_states: int
) -> None:
    threads = cast(SparkDriver, Threads(tasks=3))
    with RunDirectory.create(tmp_path / "run", small()) as run:
        SparkSearch(small(), run, threads, bounds=SparkBounds(memory=1 << 26, max_depth=12)).run()
    monkeypatch.setattr(driver, "FORGET_FROM", from_states)
    made = parts(monkeypatch)
    with RunDirectory.open(tmp_path / "run", small()) as run:
        again = SparkSearch(small(), run, threads, bounds=SparkBounds(memory=1 << 26)).run()
    assert answer(again) == answer(search(small(), Bounds(1, 1 << 26)))
    assert {type(part.shard) for part in made} == {Shard if from_states else CompactShard}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("bits", [15, 13])
def test_a_search_deeper_than_levels_have_bits_gets_a_layout_with_more_or_says_that_it_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    monkeypatch.setattr(driver, "FORGET_FROM", 0)
    kinds = [LineKind(6, 3, bits), LineKind(5, 2, 32)]
    monkeypatch.setattr(lines, "KINDS", kinds[: 2 if bits == 15 else 1])
    question = ask(counters(1, 280), always("Short", lambda s: s.n0 < 270))
    result = over_threads(question, tmp_path / "run", 1)
    if bits == 15:
        [violation] = result.violations
        assert [state[0] for state in violation.run.states] == list(range(271))
    else:
        assert result.stopped is StopReason.MEMORY
        assert result.level_sizes == (1,) * result.depth
        assert 250 < result.depth <= 255


# -- in a run directory that nobody asked for ---------------------------------------------------------------------------


def temporarily(
    folder: Path, act: Callable[[SparkSearch], None] = lambda _: None, memory: int = 1 << 26, max_depth: int | None = None
) -> Result:
    """The answer of two tasks whose run directory is temporary; `act` is called after every level."""

    class Acting(Observer):
        def progress(self, _: Progress) -> None:
            act(searching)

    with RunDirectory.create(folder, small(), 64) as run:
        run.is_temporary = True
        bounds = SparkBounds(memory=memory, max_depth=max_depth)
        searching = SparkSearch(small(), run, cast(SparkDriver, Threads()), observer=Acting(), bounds=bounds)
        return searching.run()


def resumed(folder: Path) -> Result:
    """The answer of a search that goes on from what is stored."""
    with RunDirectory.open(folder, small()) as run:
        return SparkSearch(small(), run, cast(SparkDriver, Threads(tasks=3)), bounds=SparkBounds(memory=1 << 26)).run()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("from_states", [0, 300, 1 << 40])
def test_levels_are_stored_from_when_on_a_search_has_lasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_states: int
) -> None:
    """All of them then, those before as well, by tasks of either kind; of the second kind a few states at a time."""
    monkeypatch.setattr(driver, "FORGET_FROM", from_states)
    monkeypatch.setattr(Forgetting, "is_ready", lambda _, all_, *__: type(all_[0]) is Shard and all_[0].found >= from_states)
    monkeypatch.setattr(compact, "COPIED", 50)
    expected = answer(search(small(), Bounds(1, 1 << 26)))
    assert answer(temporarily(tmp_path / "brief")) == expected
    assert list((tmp_path / "brief" / "commits").iterdir()) == [tmp_path / "brief" / "commits" / "00000.json"]

    def last(searching: SparkSearch) -> None:
        if searching.ledger.depth == 10:
            monkeypatch.setattr(driver, "UNSTORED_SECONDS", -1.0)

    temporarily(tmp_path / "run", last, max_depth=15)
    again = resumed(tmp_path / "run")
    assert (answer(again), again.stored_levels) == (expected, 15)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("from_states", [0, 1 << 40])
def test_the_way_back_from_a_violation_is_asked_of_tasks_that_stored_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_states: int
) -> None:
    monkeypatch.setattr(driver, "FORGET_FROM", from_states)
    monkeypatch.setattr(trace, "FIRST_LEVELS_BYTES", 100)
    # Tasks are threads here, so that the driver looks into files itself.
    monkeypatch.setattr(SparkSearch, "_shares_levels", property(lambda _: False, lambda *_: None), raising=False)
    assert answer(temporarily(tmp_path / "run")) == answer(search(small(), Bounds(1, 1 << 26)))
    with RunDirectory.create(tmp_path / "leaving", ask(overflowing(5)), 64) as run:
        run.is_temporary = True
        searching = SparkSearch(ask(overflowing(5)), run, cast(SparkDriver, Threads()))
        with pytest.raises(Overflow) as there:
            searching.run()
    with pytest.raises(Overflow) as here:
        search(ask(overflowing(5)))
    assert there.value.run.states == here.value.run.states


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("seconds", "again"), [(10.0, "begun again"), (-1.0, "resumed from it")])
def test_a_task_lost_before_anything_is_stored_has_the_search_begin_again_and_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, again: str
) -> None:
    monkeypatch.setattr(driver, "UNSTORED_SECONDS", seconds)
    finish, lost = task.Worker._finish, list[int]()

    def deadly(worker: task.Worker, level: int) -> None:
        if level == 12 and worker.worker == 1 and not lost:
            lost.append(level)
            raise Lost("ExecutorLostFailure")
        finish(worker, level)

    monkeypatch.setattr(task.Worker, "_finish", deadly)
    result = temporarily(tmp_path / "run")
    assert answer(result) == answer(search(small(), Bounds(1, 1 << 26)))
    assert result.notes == (f"tasks were lost at level 12 (an executor was lost: task 1 on 127.0.0.1); {again}",)
    assert len(list((tmp_path / "run" / "commits").iterdir())) == result.depth + 1


@pytest.mark.timeout(60)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_goes_on_from_tasks_to_a_disk_and_back(tmp_path: Path, workers: int) -> None:
    falling = ask(counters(5, 5, falls=True), always("Any", lambda s: s.n0 >= 0))  # Its steps lead back to earlier levels.

    def go_on(run: RunDirectory, tasks: int, **bounds: int) -> Result:
        within = SparkBounds(memory=1 << 26, **bounds)
        return SparkSearch(falling, run, cast(SparkDriver, Threads(tasks=tasks)), bounds=within).run()

    with RunDirectory.create(tmp_path / "run", falling, 64) as run:
        go_on(run, 2, max_depth=6)
        assert run.layout is not None
        assert len(run.layout.split()) > 3, "dealt by some bits"
    there = on_disk(tmp_path / "run", falling, least_memory(workers), workers, max_depth=17)
    assert any("the visited states were on disk" in note for note in there.notes)
    with RunDirectory.open(tmp_path / "run", falling) as run:
        assert answer(go_on(run, 3)) == answer(search(falling, Bounds(1, 1 << 26)))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("begins", [10, 11, 12])
def test_where_one_tasks_memory_is_full_at_the_level_that_another_stores_first_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: int
) -> None:
    finish = task.Worker._finish

    def full(worker: task.Worker, level: int) -> None:
        worker.part.is_full = worker.part.is_full or (level == 12 and worker.worker == 0)
        finish(worker, level)

    def begin_to_store(searching: SparkSearch) -> None:
        if searching.ledger.depth == begins:
            monkeypatch.setattr(driver, "UNSTORED_SECONDS", -1.0)

    with monkeypatch.context() as patched:
        patched.setattr(task.Worker, "_finish", full)
        assert temporarily(tmp_path / "run", begin_to_store).stopped is StopReason.MEMORY
    again = resumed(tmp_path / "run")
    assert answer(again) == answer(search(small(), Bounds(1, 1 << 26)))
    assert again.stored_levels > 10


@pytest.mark.timeout(60)
def test_what_was_found_when_memory_is_full_can_be_gone_on_with(tmp_path: Path) -> None:
    result = temporarily(tmp_path / "run", memory=45_000)
    assert result.stopped is StopReason.MEMORY
    assert result.depth > 5
    again = resumed(tmp_path / "run")
    assert answer(again) == answer(search(small(), Bounds(1, 1 << 26)))
    assert again.stored_levels == result.depth - 1


# -- in a grid ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def met(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[int]]:
    """Tasks stand in a grid however few they are; for every task, those to which or from which it has a connection."""
    monkeypatch.setattr(driver, "columns_for", square)
    seen: list[frozenset[int]] = []

    class Seen(Transfer):
        def close(self) -> None:
            seen.append(self.met)
            super().close()

    monkeypatch.setattr(task, "Transfer", Seen)
    return seen


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("tasks", [3, 6, 7])
def test_tasks_in_a_grid_have_the_local_answer_and_meet_few_others(
    tmp_path: Path, met: list[frozenset[int]], tasks: int
) -> None:
    result = over_threads(small(), tmp_path / "run", tasks, CLUSTER)
    assert answer(result) == answer(search(small(), Bounds(1, 1 << 26)))
    assert result.workers == len(met) == tasks
    assert max(map(len, met)) <= 2 * square(tasks) - 2
    assert tasks < 6 or max(map(len, met)) < tasks - 1


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_what_a_helper_has_no_room_for_in_a_box_is_sent_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, met: list[frozenset[int]]
) -> None:
    """A level's candidates for a mate are twice as many as a box holds."""
    monkeypatch.setattr(task, "BOX_ROOM", 0)
    question = ask(counters(5, 15), always("Any", lambda s: s.n0 >= 0))
    assert answer(over_threads(question, tmp_path / "run", 4, CLUSTER)) == answer(search(question, Bounds(1, 1 << 27)))
    assert list(map(len, met)) == [2] * 4


SLOWLY = [
    pytest.param(*which, marks=pytest.mark.slow) for which in ((0, "_insert"), (0, "_flush"), (1, "_flush"), (6, "_insert"))
]


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(("victim", "moment"), [(1, "_insert"), (6, "_flush"), *SLOWLY])
def test_a_task_lost_on_the_way_changes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, met: list[frozenset[int]], victim: int, moment: str
) -> None:
    """While it sends, or while it hands on: in the corner, one that helps the last row, and the last, alone in its row."""
    calls = 0
    done = getattr(task.Worker, moment)

    def deadly(worker: task.Worker, *arguments: Any) -> None:
        nonlocal calls
        calls += worker.worker == victim
        if calls == 20 and worker.worker == victim:
            raise Lost("ExecutorLostFailure")
        done(worker, *arguments)

    monkeypatch.setattr(task.Worker, moment, deadly)
    result = over_threads(small(), tmp_path / "run", 7, CLUSTER)
    assert answer(result) == answer(search(small(), Bounds(1, 1 << 26)))
    assert any("tasks were lost at level" in note for note in result.notes), result.notes


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_task_in_a_grid_whose_memory_is_full_still_hands_on(tmp_path: Path, met: list[frozenset[int]]) -> None:
    question = ask(counters(6, 6), always("Any", lambda s: s.n0 >= 0))
    result = over_threads(question, tmp_path / "run", 6, CLUSTER, memory=150_000)
    assert result.stopped is StopReason.MEMORY
    assert result.level_sizes == search(question, Bounds(1, 1 << 26)).level_sizes[: result.depth]
    assert result.depth > 5
