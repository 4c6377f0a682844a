"""The search over Spark on this machine: the local search's answers, whatever the buckets and tasks, and whoever dies."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.native.compile import PortableCode
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer, Progress
from acked.checker.question.overflow import Overflow
from acked.checker.question.plan import KernelPlan
from acked.checker.question.question import GRAPH_KINDS, Question
from acked.checker.question.result import Result, StopReason
from acked.checker.question.vacuity import vacuity_probes
from acked.checker.search.local import search
from acked.checker.spark.driver import SparkBounds, SparkSearch
from acked.checker.spark.jobs import reason_of
from acked.checker.spark.session import SparkDriver
from acked.checker.spec.spec import Spec
from acked.checker.spec.variants import specs_under
from acked.checker.store.run_directory import RunDirectory
from acked.model.language.quantify import implies
from tests.checker.spark.spark_cluster import kill, kill_python_workers, python_daemons
from tests.checker.toys import always, answer, ask, counters, every_step, overflowing, traveller
from tests.oracle import Space, assert_same_answer
from tests.oracle import explore as explore_plainly
from tests.places import SPECS

pytestmark = pytest.mark.spark

BOUNDS = Bounds(workers=2, memory=1 << 30)
LIMITS = SparkBounds(tasks=2, memory=1 << 28)


_FOLDERS = itertools.count()


def over_spark(
    driver: SparkDriver,
    question: Question,
    folder: Path,
    buckets: int = 7,
    bounds: SparkBounds = LIMITS,
    **options: Any,
) -> Result:
    with RunDirectory.create(folder / str(next(_FOLDERS)), question, buckets) as run:
        return SparkSearch(question, run, driver, bounds=bounds, **options).run()


def spec(name: str, **constants: int) -> Question:
    found = load_spec(name)
    asked = replace(found.asked, constants=tuple({**found.constants, **constants}.items()))
    return replace(found, asked=asked).question()


@pytest.mark.parametrize(("tasks", "buckets"), [(2, 1), (2, 7)])
def test_counts_actions_and_traces_equal_those_of_the_local_search(
    driver: SparkDriver, tmp_path: Path, buckets: int, tasks: int
) -> None:
    for make in (
        lambda: spec("kip320-3221"),
        lambda: spec("kip101"),
        lambda: spec("kafka19446-bug"),
        lambda: ask(counters(3, 5), every_step("Twice", lambda before, after: (before.n1 < 4) | (after.n0 < 3))),
        lambda: ask(traveller(), always("Anywhere", lambda s: s.place == s.place)),
    ):
        expected = search(make(), BOUNDS)
        result = over_spark(driver, make(), tmp_path, buckets, replace(LIMITS, tasks=tasks))
        assert answer(result) == answer(expected)
        assert result.workers == min(tasks, buckets)
        assert result.engine == "spark"


def test_with_symmetry_spark_tells_the_same_run(driver: SparkDriver, tmp_path: Path) -> None:
    for name in ("kip101-names", "kip320-3221"):
        asked = replace(spec(name), is_symmetric=True)
        expected, result = search(asked, BOUNDS), over_spark(driver, asked, tmp_path)
        assert answer(result) == answer(expected)
        assert [item.run.states for item in result.violations] == [item.run.states for item in expected.violations]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("kafka6082-fix", {"max_controller_epoch": 1, "leadership_moves": 0}),
        ("move-single-replica", {"replicas": 2}),
        pytest.param("kafka18991-fix", {}, marks=pytest.mark.long),
    ],
)
def test_controllers_moves_and_late_answers_are_what_the_plain_evaluator_finds(
    driver: SparkDriver, tmp_path: Path, name: str, constants: dict[str, int]
) -> None:
    asked = replace(spec(name, **constants), is_symmetric=False)
    expected = explore_plainly(Space(asked), StopPolicy.EVERY_PROPERTY)
    every = StopPolicy.EVERY_PROPERTY
    for result in (search(asked, BOUNDS, every), over_spark(driver, asked, tmp_path, policy=every)):
        assert_same_answer(result, expected)


KINDS = {
    "kip101-2221-strong": (1, 1),  # A property of states that holds,
    "truncate-to-hw-3221-strong": (7, 1),  # and one that is violated.
    "lead-by-foreign-request": (1, 2),  # A clause is left out, and every violation is looked for,
    "expand-unfenced": (2, 2),  # of steps, too.
    "kip320-states": (7, 1),  # States that must be reached.
    "delivery-transactions": (7, 2),
    "delivery-stable-offsets": (2, 1),  # A long run.
    "quorum-majority-3-keeps": (2, 2),
    "quorum-majority-3-lost-log": (7, 2),
    "kip101-1-fix": (2, 1),
    "kraft": (7, 2),  # A property of steps that holds.
    "two-voter-changes": (2, 2),
    "kafka19975-bug": (2, 2),
    "kip890-no-add-fix": (7, 2),
    "txn-zombie-3-5": (7, 1),  # A violated property of steps.
    "kafka20634-bug": (2, 1),
    "uncommitted-decision-bug": (2, 2),
    "compaction": (7, 2),
    "unmapped-tombstone-bug": (2, 2),
    "share": (2, 2),
    "hidden-refusal-bug": (7, 1),
}
"""Specs that differ in what is asked or of which protocol, each with its buckets and tasks; symmetry has its own test."""


def assert_as_locally(driver: SparkDriver, folder: Path, item: Spec, buckets: int, tasks: int) -> None:
    """Spark's answer of a spec is the local one."""
    expected = answer(search(item.question(), BOUNDS, item.policy))
    result = over_spark(driver, item.question(), folder, buckets, replace(LIMITS, tasks=tasks), policy=item.policy)
    assert answer(result) == expected, (item.name, buckets, tasks)


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_spec_of_each_kind_has_the_local_answer(driver: SparkDriver, tmp_path: Path, name: str) -> None:
    assert_as_locally(driver, tmp_path, load_spec(name), *KINDS[name])


@pytest.mark.long
@pytest.mark.parametrize("folder", sorted(path.name for path in SPECS.iterdir() if path.is_dir()))
def test_the_specs_of_every_folder_have_the_local_answer(driver: SparkDriver, tmp_path: Path, folder: str) -> None:
    """Every spec of the family and every twelfth of the others', of which there are many, each with one choice in turn."""
    choices = itertools.cycle(itertools.product((1, 2, 7), (1, 2)))
    for number, path in enumerate(specs_under(SPECS / folder)):
        item = load_spec(path)
        is_left_out = item.protocol.name in ("partition", "transactions") and number % 12
        if is_left_out or item.slow or any(asked.kind in GRAPH_KINDS for asked in item.properties):
            continue  # Spark refuses questions about the graph of states.
        assert_as_locally(driver, tmp_path, item, *next(choices))


def test_bounds_and_overflows_end_the_search_as_they_end_the_local_one(driver: SparkDriver, tmp_path: Path) -> None:
    def make() -> Question:
        return ask(counters(3, 6), always("Any", lambda s: s.n0 >= 0))

    for limits in ({"max_depth": 4}, {"max_states": 100}):
        assert answer(over_spark(driver, make(), tmp_path, bounds=replace(LIMITS, **limits))) == answer(
            search(make(), replace(BOUNDS, **limits))
        )
    with pytest.raises(Overflow) as error:
        over_spark(driver, ask(overflowing(5)), tmp_path)
    with pytest.raises(Overflow) as alone:
        search(ask(overflowing(5)))
    assert (str(error.value), error.value.run.states) == (str(alone.value), alone.value.run.states)


def test_tasks_whose_memory_is_full_leave_an_answer_and_a_run_that_goes_on(driver: SparkDriver, tmp_path: Path) -> None:
    def make() -> Question:
        return ask(counters(5, 5), always("Any", lambda s: s.n0 >= 0))

    with RunDirectory.create(tmp_path / "run", make()) as run:
        small = SparkSearch(make(), run, driver, bounds=SparkBounds(memory=50_000)).run()
    assert small.stopped is StopReason.MEMORY
    assert 1 < small.depth < 26
    with RunDirectory.open(tmp_path / "run", make()) as run:
        large = SparkSearch(make(), run, driver, bounds=SparkBounds(memory=1 << 26)).run()
    assert answer(large) == answer(search(make(), BOUNDS))


def test_a_run_changes_engines_at_any_level(driver: SparkDriver, tmp_path: Path) -> None:
    def make() -> Question:
        return spec("kip101")

    expected = answer(search(make(), BOUNDS))
    with RunDirectory.create(tmp_path / "run", make(), 7) as run:
        assert search(make(), replace(BOUNDS, max_depth=3), stored=run).stopped is StopReason.MAX_DEPTH
    with RunDirectory.open(tmp_path / "run", make()) as run:
        assert SparkSearch(make(), run, driver, bounds=SparkBounds(max_depth=6)).run().stored_levels == 3
    with RunDirectory.open(tmp_path / "run", make()) as run:
        assert search(make(), replace(BOUNDS, max_depth=9), stored=run).stored_levels == 6
    with RunDirectory.open(tmp_path / "run", make()) as run:
        assert answer(SparkSearch(make(), run, driver, bounds=SparkBounds(tasks=1)).run()) == expected
    with RunDirectory.open(tmp_path / "run", make()) as run:
        assert answer(search(make(), BOUNDS, stored=run)) == expected
    with RunDirectory.open(tmp_path / "run", make()) as run:
        assert answer(SparkSearch(make(), run, driver).run()) == expected


def test_probes_are_met_at_the_same_levels_as_locally(driver: SparkDriver, tmp_path: Path) -> None:
    """Those of vacuity, of states and of steps, and one that nothing meets; also when the run changes engines."""

    def make() -> Question:
        return with_probes(
            ask(
                counters(2, 4),
                always("Late", lambda s: implies(s.n0 + s.n1 >= 5, s.n0 + s.n1 >= 1)),
                always("Never", lambda s: implies((s.n0 + s.n1 >= 8) & (s.n0 < 4), s.n0 + s.n1 >= 1)),
                every_step("Step", lambda before, after: implies(before.n0 == 3, after.n0 >= 3)),
            )
        )

    expected = search(make(), BOUNDS)
    assert list(expected.probes.values()) == [6, None, 4]
    assert over_spark(driver, make(), tmp_path).probes == expected.probes
    with RunDirectory.create(tmp_path / "run", make(), 7) as run:
        SparkSearch(make(), run, driver, bounds=SparkBounds(max_depth=5)).run()
    with RunDirectory.open(tmp_path / "run", make()) as run:
        assert search(make(), BOUNDS, stored=run).probes == expected.probes
    with pytest.raises(ConfigurationError, match="no probes"):
        RunDirectory.open(tmp_path / "run", replace(make(), probes=()))


def with_probes(question: Question) -> Question:
    return replace(question, probes=vacuity_probes(question.properties))


class At(Observer):
    """Does something once, when a level has been committed and the next is under way."""

    def __init__(self, depth: int, act: Callable[[], None]) -> None:
        self.depth, self.act, self.done = depth, act, False

    def progress(self, now: Progress) -> None:
        if now.depth == self.depth and not self.done:
            self.done = True
            self.act()


@pytest.mark.parametrize("depth", [1, 9])
def test_python_workers_killed_in_the_middle_of_a_level_change_no_answer(
    driver: SparkDriver, tmp_path: Path, depth: int
) -> None:
    killed: list[int] = []

    def act() -> None:
        killed.extend(kill_python_workers(os.getpid()))

    result = over_spark(driver, spec("kip320-3222"), tmp_path, observer=At(depth, act))
    assert answer(result) == answer(search(spec("kip320-3222"), BOUNDS))
    assert killed
    assert any("tasks were lost at level" in note for note in result.notes), result.notes


def test_a_slot_that_goes_before_its_task_has_begun_is_not_waited_for(
    driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark may still count a slot that is gone, and lets a barrier stage wait for it without an end."""
    counted = iter([3])
    slots = driver.slots
    monkeypatch.setattr(driver, "slots", lambda *wanted: next(counted, 0) or slots(*wanted))
    monkeypatch.setattr("acked.checker.spark.driver.SLOT_WAIT", (0.2, 0.2))
    question = spec("kip101")
    with RunDirectory.create(tmp_path / "run", question) as run:
        result = SparkSearch(question, run, driver, bounds=SparkBounds(memory=1 << 28)).run()
    assert answer(result) == answer(search(spec("kip101"), BOUNDS))
    assert result.notes == ("tasks were lost at level 1 (an executor was lost); resumed from it with 2 instead of 3 tasks",)


def test_a_python_daemon_killed_in_the_middle_of_a_level_changes_no_answer(driver: SparkDriver, tmp_path: Path) -> None:
    """Its worker finds itself alone, and must not leave the other waiting for what it will never send."""
    killed: list[int] = []

    def act() -> None:
        killed.extend(python_daemons(os.getpid())[:1])
        kill(killed[0])

    result = over_spark(driver, spec("kip320-3222"), tmp_path, observer=At(9, act))
    assert answer(result) == answer(search(spec("kip320-3222"), BOUNDS))
    assert killed
    # Spark may have noticed the lost task before the daemon's end is known.
    assert any("resumed from it" in note for note in result.notes), result.notes


def test_a_task_killed_again_and_again_ends_in_one_sentence_and_a_run_that_goes_on(
    driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deadly(entry: str, payload: bytes) -> Callable[[Any], Any]:
        def call(_: Any) -> Any:
            import os

            os.kill(os.getpid(), 9)

        return call

    question = spec("kip101")
    with RunDirectory.create(tmp_path / "run", question) as run:
        SparkSearch(question, run, driver, bounds=SparkBounds(max_depth=4)).run()
        monkeypatch.setattr("acked.checker.spark.jobs.remote", deadly)
        with pytest.raises(SystemFailure, match=r"failed 3 times in a row at level 5: a Python worker died; .*--resume"):
            SparkSearch(question, run, driver).run()
    monkeypatch.undo()
    with RunDirectory.open(tmp_path / "run", spec("kip101")) as run:
        assert answer(SparkSearch(spec("kip101"), run, driver).run()) == answer(search(spec("kip101"), BOUNDS))


def test_a_run_directory_that_becomes_unwritable_is_one_sentence(driver: SparkDriver, tmp_path: Path) -> None:
    question = spec("kip320-3222")
    with RunDirectory.create(tmp_path / "run", question) as run:

        def act() -> None:
            folder = run.path / "levels"
            folder.rename(run.path / "moved")
            folder.write_text("in the way")

        with pytest.raises(SystemFailure, match=r"cannot write .*levels.*: .*; make room, or choose another folder"):
            SparkSearch(question, run, driver, observer=At(5, act)).run()


def test_a_damaged_level_file_is_refused_by_the_task_that_reads_it(driver: SparkDriver, tmp_path: Path) -> None:
    question = spec("kip320-3221")
    with RunDirectory.create(tmp_path / "run", question) as run:
        SparkSearch(question, run, driver, bounds=SparkBounds(max_depth=8)).run()
        damaged = run.level_path(run.files_of(6)[0])
    data = bytearray(damaged.read_bytes())
    data[-3] ^= 1
    damaged.write_bytes(data)
    question = spec("kip320-3221")
    with RunDirectory.open(tmp_path / "run", question) as run, pytest.raises(SystemFailure, match=damaged.name):
        SparkSearch(question, run, driver).run()


def test_code_for_another_processor_is_compiled_anew_from_its_text(
    driver: SparkDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the driver makes when the first task asks for it."""
    from acked.checker.spark import driver as spark
    from acked.checker.spark import meeting

    portable_code, compile_optimized = meeting.portable_code, spark.compile_optimized
    made: list[PortableCode] = []

    def counting(plan: KernelPlan) -> PortableCode:
        made.append(portable_code(plan))
        return made[-1]

    monkeypatch.setattr(meeting, "portable_code", counting)
    expected = answer(search(spec("kip101"), BOUNDS))
    assert answer(over_spark(driver, spec("kip101"), tmp_path / "here")) == expected
    assert not made
    monkeypatch.setattr(spark, "compile_optimized", lambda plan: replace(compile_optimized(plan), processor="another"))
    assert answer(over_spark(driver, spec("kip101"), tmp_path / "there")) == expected
    assert len(made) == 1


def test_what_a_failed_job_says_is_told_in_a_few_words() -> None:
    assert reason_of("x\nCaused by: java.io.EOFException\n at y") == "a Python worker died"
    assert reason_of("... ExecutorLostFailure (executor 1 exited)") == "an executor was lost"
    assert reason_of("  File x\nRuntimeError: acked is not installed\n") == "acked is not installed"
    assert reason_of("") == "no reason given"
