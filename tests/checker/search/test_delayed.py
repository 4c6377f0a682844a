"""A search beyond memory says what one in memory says, whenever memory is full and wherever it is stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.loops import delayed as native_delayed
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason
from acked.checker.search import delayed
from acked.checker.search.delayed import DelayedSearch
from acked.checker.search.local import LocalSearch
from acked.checker.shards import candidates
from acked.checker.shards.shard import Visited, reserve
from acked.checker.store import recorder
from acked.checker.store.level_file import DamagedFile
from acked.checker.store.run_directory import RunDirectory
from tests.checker.toys import always, answer, ask, counters, every_step
from tests.random_protocols import Plan, plans, question_of

ENOUGH = 64 << 20
SIDES, TOP = 5, 5
STATES = (TOP + 1) ** SIDES


def wide(limit: int = SIDES * TOP + 1) -> Question:
    """Some 8,000 states in 26 levels, the widest of 780; violated from level `limit + 1` on."""
    return ask(counters(SIDES, TOP), always("Below", lambda s: s.n0 + s.n1 + s.n2 + s.n3 + s.n4 < limit))


def in_memory(question: Question, policy: StopPolicy = StopPolicy.FIRST_VIOLATION) -> dict[str, Any]:
    return answer(LocalSearch(question, Bounds(1, ENOUGH), policy).run())


def on_disk(
    path: Path,
    question: Question,
    memory: int,
    workers: int = 1,
    policy: StopPolicy = StopPolicy.FIRST_VIOLATION,
    observer: Observer | None = None,
    **bounds: int,
) -> Result:
    """Begins a run, or goes on with it."""
    within = Bounds(workers, memory, beyond_memory=True, **bounds)
    is_new = not (path / "run.json").exists()
    with RunDirectory.create(path, question, 5) if is_new else RunDirectory.open(path, question) as run:
        return LocalSearch(question, within, policy, observer, run).run()


def least_memory(workers: int) -> int:
    """Nearly nothing but the padding of the table, of which candidates have three quarters."""
    return (workers * 33_000 + 8_000) * 4 // 3


@pytest.fixture
def _never_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored has no room in memory, however little it is."""
    monkeypatch.setattr(recorder, "load_levels", lambda *_: None)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("spare", [0, 10_000, 30_000])
def test_the_answer_is_that_of_a_search_in_memory(tmp_path: Path, workers: int, spare: int) -> None:
    result = on_disk(tmp_path / "run", wide(), least_memory(workers) + spare, workers)
    assert any("the visited states were on disk" in note for note in result.notes)
    assert answer(result) == in_memory(wide())
    assert result.distinct_states == STATES


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("limit", [3, 13, 25])
def test_a_violation_has_the_same_shortest_trace(tmp_path: Path, workers: int, limit: int) -> None:
    result = on_disk(tmp_path / "run", wide(limit), least_memory(workers), workers)
    assert result.stopped is StopReason.VIOLATION
    assert answer(result) == in_memory(wide(limit))


def test_a_violated_step_has_the_same_shortest_trace(tmp_path: Path) -> None:
    def asked() -> Question:
        return ask(counters(SIDES, TOP), every_step("NotYet", lambda before, after: (before.n1 < 4) | (after.n0 < 3)))

    result = on_disk(tmp_path / "run", asked(), least_memory(2), 2)
    assert result.violations
    assert answer(result) == in_memory(asked())


def cut(path: Path, keep: int) -> None:
    """Leaves a run as if it had been killed after so many commits."""
    for name in sorted(os.listdir(path / "commits"))[keep:]:
        os.unlink(path / "commits" / name)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [1, 7, 14, 20, 26, 27])
def test_a_run_that_was_killed_goes_on_beyond_memory_or_in_it(tmp_path: Path, keep: int) -> None:
    path, expected = tmp_path / "run", in_memory(wide())
    on_disk(path, wide(), least_memory(1))
    cut(path, keep)
    assert answer(on_disk(path, wide(), least_memory(2), 2)) == expected
    cut(path, keep)
    assert answer(on_disk(path, wide(), ENOUGH, 2)) == expected


def test_a_run_that_was_killed_before_it_began_begins(tmp_path: Path) -> None:
    """While it compiled, so that neither `run.json` nor a level was written."""
    path = tmp_path / "run"
    RunDirectory.create(path, wide(), 5).close()
    (path / ".run.json.part").write_text("{")
    assert answer(on_disk(path, wide(), least_memory(1))) == in_memory(wide())


@pytest.mark.parametrize("foreign", ["notes.txt", "levels/notes.txt", "run.json.part"])
def test_a_folder_with_something_else_in_it_is_no_place_for_a_run(tmp_path: Path, foreign: str) -> None:
    RunDirectory.create(tmp_path / "run", wide(), 5).close()
    (tmp_path / "run" / foreign).write_text("mine")
    with pytest.raises(ConfigurationError, match=r"run is not empty; choose a new folder$"):
        on_disk(tmp_path / "run", wide(), least_memory(1))
    assert (tmp_path / "run" / foreign).read_text() == "mine"


@pytest.mark.slow
def test_bounds_end_it_and_the_next_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert on_disk(path, wide(), least_memory(1), max_depth=15).stopped is StopReason.MAX_DEPTH
    assert on_disk(path, wide(), least_memory(1), max_states=5_000).stopped is StopReason.MAX_STATES
    assert answer(on_disk(path, wide(), least_memory(1))) == in_memory(wide())


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_level_whose_candidates_have_no_room_together_is_settled_in_parts(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log is counted as so large that memory is full after every call of a few hundred states."""
    settled: list[int] = []
    whole = DelayedSearch._settle
    monkeypatch.setattr(DelayedSearch, "_settle", lambda self, level: (settled.append(level), whole(self, level))[1])
    monkeypatch.setattr(delayed, "LEAST_CALL", 100)
    monkeypatch.setattr(delayed, "CALLS", 1 << 40)
    monkeypatch.setattr(candidates, "LOG_BYTES", 300)
    monkeypatch.setattr(recorder, "load_levels", lambda *_: None)
    on_disk(tmp_path / "run", wide(), ENOUGH, max_depth=3)
    assert answer(on_disk(tmp_path / "run", wide(), 200_000 * workers, workers)) == in_memory(wide())
    assert max(settled.count(level) for level in set(settled)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.usefixtures("_never_loads")
def test_a_worker_whose_own_array_is_full_has_its_candidates_settled(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where there is little address space; the table could grow, and must not in some parts only."""

    class Short(Visited):
        def __init__(self, words: int, workers: int, memory: int) -> None:
            super().__init__(words, workers, memory)
            self.room = min(self.room, 200)

    monkeypatch.setattr(candidates, "Visited", Short)
    on_disk(tmp_path / "run", wide(), ENOUGH, max_depth=1)
    assert answer(on_disk(tmp_path / "run", wide(), 2 << 20, workers)) == in_memory(wide())


@pytest.mark.parametrize("workers", [1, 2])
def test_the_log_has_room_for_what_was_deferred_and_a_call_that_expands_for_all(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing checks its bounds, and the budget is looked at between calls only."""
    logs: list[int] = []
    monkeypatch.setattr(candidates, "reserve", lambda count: (logs.append(8 * count), reserve(count))[1])
    memory = least_memory(workers)
    on_disk(tmp_path / "run", wide(), memory, workers, max_depth=14)
    steps = SIDES * delayed.LEAST_CALL * (workers + 1)
    assert min(logs[:workers]) > memory + 2 * native_delayed.LOG_PARTS * steps - 8


@pytest.mark.slow
@pytest.mark.usefixtures("_never_loads")
@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(plan=plans())
def test_random_protocols_have_the_same_answers(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_same_answers(question_of(plan), tmp_path_factory.mktemp("run"))


@pytest.mark.long
@pytest.mark.usefixtures("_never_loads")
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(plan=plans())
def test_many_random_protocols_have_the_same_answers(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_same_answers(question_of(plan), tmp_path_factory.mktemp("run"))


def assert_same_answers(question: Question, path: Path) -> None:
    policy = StopPolicy.EVERY_PROPERTY
    bounds: dict[str, int] = {"max_depth": 8}
    expected = LocalSearch(question, Bounds(1, ENOUGH, **bounds), policy).run()
    on_disk(path / "run", question, ENOUGH, policy=policy, max_depth=1)
    assert answer(on_disk(path / "run", question, least_memory(2) + 10_000, 2, policy, **bounds)) == answer(expected)


# -- what must be noticed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [1, 9, 17])
def test_a_level_that_is_not_read_again_changes_the_answer(
    tmp_path: Path, missing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps lead back to most earlier levels here, so these are needed to know what is new."""

    def around() -> Question:
        return ask(counters(SIDES, TOP, falls=True), always("Any", lambda s: s.n0 >= 0))

    path = tmp_path / "run"
    monkeypatch.setattr(recorder, "load_levels", lambda *_: None)
    on_disk(path, around(), ENOUGH, max_depth=1)
    expected = in_memory(around())
    assert answer(on_disk(path, around(), ENOUGH)) == expected
    cut(path, 2)
    all_blocks = DelayedSearch._read_visited

    def forgetful(self: DelayedSearch, level: int) -> Iterator[Any]:
        known = self._run.files_of
        monkeypatch.setattr(self._run, "files_of", lambda number: () if number == missing else known(number))
        yield from all_blocks(self, level)
        monkeypatch.setattr(self._run, "files_of", known)

    monkeypatch.setattr(DelayedSearch, "_read_visited", forgetful)
    assert answer(on_disk(path, around(), ENOUGH, max_depth=40)) != expected


def test_a_bit_that_turned_on_the_disk_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    on_disk(path, wide(), least_memory(1), max_depth=20)
    largest = max((path / "levels").iterdir(), key=lambda file: file.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[-1] ^= 4
    largest.write_bytes(data)
    with pytest.raises(DamagedFile, match=f"{largest.name} is damaged"):
        on_disk(path, wide(), least_memory(1))


def test_too_little_memory_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemFailure, match=r"30,000 bytes are too few .*; use more --memory"):
        on_disk(tmp_path / "run", wide(), 30_000)


def test_progress_is_told_beyond_memory_too(tmp_path: Path) -> None:
    class Watching(Observer):
        def __init__(self) -> None:
            self.phases: list[str] = []
            self.seen: list[Progress] = []

        def phase(self, name: str) -> None:
            self.phases.append(name)

        def progress(self, now: Progress) -> None:
            self.seen.append(now)

    watching = Watching()
    on_disk(tmp_path / "run", wide(), least_memory(1), observer=watching)
    assert "going on with the visited states on disk" in watching.phases
    assert [now.distinct_states for now in watching.seen] == sorted(now.distinct_states for now in watching.seen)
    assert watching.seen[-1].depth == SIDES * TOP + 1
    assert watching.seen[-1].distinct_states == STATES
