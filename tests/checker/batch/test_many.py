"""Many questions as Spark tasks: the answers of processes here, for the gate and for tables, also when a search is killed."""

from __future__ import annotations

import os
import threading
from contextlib import nullcontext
from dataclasses import replace

import pytest

from acked.api import load_spec
from acked.audit.decision.durability import Axes, DurabilityTable, fill
from acked.audit.decision.faults import CrashKind
from acked.checker.batch.local import Answered, BatchLimits, Runner, answer_all
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.batch.spark import SparkBatch
from acked.checker.gate.gate import Selection, choose, run_gate
from acked.checker.spark.session import SparkDriver
from tests.checker.spark.spark_cluster import command_of, descendants, kill
from tests.places import SPECS

pytestmark = pytest.mark.spark

HERE = BatchLimits(2, 1 << 28)


def batch(driver: SparkDriver, memory: int = 1 << 28) -> SparkBatch:
    return SparkBatch(lambda: nullcontext(driver), memory)


def without_time(outcome: Outcome | None) -> Outcome | None:
    return None if outcome is None else replace(outcome, seconds=0.0)


def answers(tasks: list[Task], runner: Runner) -> list[Answered]:
    found = sorted(answer_all(tasks, runner), key=lambda answered: answered.task)
    return [replace(answered, outcome=without_time(answered.outcome)) for answered in found]


def task(name: str) -> Task:
    return Task.of(load_spec(name), Probing.VACUITY)


def test_every_task_has_the_answer_of_a_process_here(driver: SparkDriver) -> None:
    first = task("kip101-2221")
    tasks = [first, task("truncate-to-hw-2221-weak"), replace(first, asked=replace(first.asked, properties=("Nothing",)))]
    found = answers(tasks, batch(driver))
    assert found == answers(tasks, HERE)
    assert [answered.outcome is None for answered in found] == [False, False, True]
    assert "Nothing" in found[2].failure


def test_the_memory_of_each_search_is_bounded(driver: SparkDriver) -> None:
    [found] = answers([task("kip320-3221")], batch(driver, 50_000))
    assert found == answers([task("kip320-3221")], BatchLimits(1, 50_000))[0]
    assert found.outcome is not None
    assert found.outcome.stopped.name == "MEMORY"


def test_a_search_that_is_killed_costs_its_own_answer_alone(driver: SparkDriver) -> None:
    is_over = threading.Event()
    killed: list[int] = []

    def processes() -> set[int]:
        return {pid for pid in descendants(os.getpid()) if "acked.base.processes" in command_of(pid)}

    before = processes()  # Other tests may keep some.

    def kill_one() -> None:
        while not killed and not is_over.wait(0.01):
            killed.extend(sorted(processes() - before)[:1])
        for pid in killed:
            kill(pid)

    thread = threading.Thread(target=kill_one)
    thread.start()
    try:
        found = answers([task("kip101-2221"), task("kip320-2221")], batch(driver))
    finally:
        is_over.set()
        thread.join()
    [lost] = [answered for answered in found if answered.outcome is None]
    assert lost.failure.startswith("the search process was killed by SIGKILL")
    assert answers([task("kip101-2221"), task("kip320-2221")], HERE)[1 - lost.task] == found[1 - lost.task]


@pytest.mark.long
def test_gates_and_tables_over_spark_are_those_of_this_machine(driver: SparkDriver) -> None:
    chosen = choose([str(SPECS / "counts")], Selection(("kip101-2221", "kip320-2221")))
    reports = [run_gate(chosen, runner) for runner in (HERE, batch(driver))]
    here, over = [[replace(entry, outcome=without_time(entry.outcome)) for entry in report.entries] for report in reports]
    assert over == here
    assert len(over) == 2
    table = DurabilityTable(Axes(("4.1",), ("1", "all"), (1,), (2,), (False,), (CrashKind.CLEAN,)))
    tables = [fill(table, runner) for runner in (HERE, batch(driver))]
    cells = [[replace(cell, outcome=without_time(cell.outcome)) for cell in filled.cells] for filled in tables]
    assert cells[0] == cells[1]
    assert len({cell.state for cell in cells[0]}) == 2
