"""Measures the tasks of a search over Spark without Spark, as processes of this machine, in pairs of runs.

What it is worth that tasks go on without the states of expanded levels; and what a grid of tasks costs and saves beside tasks
that all send to each other. Processor time is that of all tasks together.

    python benchmarks/tasks.py [--runs N] [--only states|grid|handing] [--tasks 16,36]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from acked.api import load_spec  # noqa: E402
from acked.checker.loops import exchange  # noqa: E402
from acked.checker.native.compile import Kernel  # noqa: E402
from acked.checker.native.shape import shape_of  # noqa: E402
from acked.checker.question.result import Result  # noqa: E402
from acked.checker.shards.compact import FORGET_FROM  # noqa: E402
from acked.checker.shards.shard import address, numbers, reserve  # noqa: E402
from acked.checker.spark import task  # noqa: E402
from acked.checker.spark.driver import SparkBounds, SparkSearch  # noqa: E402
from acked.checker.spark.grid import square  # noqa: E402
from acked.checker.spark.session import SparkDriver, SparkSettings  # noqa: E402
from acked.checker.spark.transfer import Transfer  # noqa: E402
from acked.checker.spec.spec import Spec  # noqa: E402
from acked.checker.store.level_file import bytes_address, constants_of, exchange_code  # noqa: E402
from acked.checker.store.run_directory import RunDirectory  # noqa: E402

LOOPBACK = "127.0.0.1"
LOCAL, CLUSTER = "local[2]", f"spark://{LOOPBACK}:1"
MEMORY = 2 << 30
PARCELS, COLUMN = 100_000, 72
DRIVER, TASK = "acked.checker.spark.driver", "acked.checker.spark.task"


class Counted(Transfer):
    """Counts what is sent, piece by piece and levels' ends as well."""

    pieces = 0
    folder = Path(os.devnull)

    def _put(self, other: int, parts: list[bytes | memoryview]) -> None:
        self.pieces += 1
        super()._put(other, parts)

    def close(self) -> None:
        """Also notes what was counted, in the `folder` of the run."""
        told = {"met": len(self.met), "pieces": self.pieces}
        (self.folder / f"told-{self._worker}").write_text(json.dumps(told))
        super().close()


@dataclass
class Processes:
    """What `SparkSearch` asks of a `SparkDriver`; a task is a process."""

    settings: SparkSettings
    tasks: int
    log: Path = field(default=Path(os.devnull))

    def slots(self, *_: object) -> int:
        """How many tasks can run at once."""
        return self.tasks

    slots_now = slots

    addresses = LOOPBACK, LOOPBACK

    def note_failure(self, text: str) -> None:
        """Shows it."""
        print(text, file=sys.stderr)

    def describe(self, *_: str) -> None:
        """There are no pages."""

    run_nothing = describe

    def collect(self, items: Sequence[Any], _: int, function: Callable[..., Any], *, is_barrier: bool) -> list[Any]:
        """As `SparkDriver.collect`, of barrier tasks."""
        assert is_barrier
        begin = multiprocessing.get_context("fork").Process
        started = [begin(target=function, args=(iter([worker]),)) for worker in items]
        for process in started:
            process.start()
        for process in started:
            process.join()
        return list(items)


def work(payload: bytes, partition: Iterator[int]) -> None:
    """As `task.run`, without Spark's context."""
    task.search(pickle.loads(payload), next(partition), 2, LOOPBACK)


def spent() -> float:
    """Seconds of processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(spec: Spec, tasks: int, master: str) -> tuple[Result, float, list[dict[str, int]], float]:
    """One run: its result, seconds of processor time, what each task told, and bytes sent."""
    question, begin = spec.question(), spent()
    with (
        tempfile.TemporaryDirectory(prefix="acked-bench-") as folder,
        RunDirectory.create(Path(folder) / "run", question, max(64, tasks)) as run,
        patch.object(Counted, "folder", run.path),
    ):
        searching = SparkSearch(
            question, run, cast(SparkDriver, Processes(SparkSettings(master), tasks)), bounds=SparkBounds(memory=MEMORY)
        )
        result = searching.run()
        told = [json.loads(path.read_text()) for path in sorted(run.path.glob("told-*"))]
    return result, spent() - begin, told, sum(timing["bytes_sent"] for timing in searching.timings)


def states(spec: Spec, runs: int) -> None:
    """Two tasks with the states of all levels, and without those of expanded ones."""
    ratios = []
    bytes_a_state: dict[bool, float] = {}
    measured(spec, 2, LOCAL)  # compiles and loads: its time is not counted
    for number in range(runs):
        seconds: dict[bool, float] = {}
        for forgets in (number % 2 == 0, number % 2 == 1):
            with patch(f"{DRIVER}.FORGET_FROM", FORGET_FROM if forgets else 1 << 62):
                result, seconds[forgets], _, _ = measured(spec, 2, LOCAL)
            bytes_a_state[forgets] = result.memory_bytes / result.distinct_states
        ratios.append(seconds[False] / seconds[True])
    print(f"\n{spec.name}, {result.distinct_states:,} states, two tasks, without the states of expanded levels or with them:")
    print(f"  bytes of memory a state   {bytes_a_state[True]:.1f} and {bytes_a_state[False]:.1f}")
    print(f"  processor time, times     {spread(ratios)}")


def grid(spec: Spec, runs: int, tasks: int) -> None:
    """So many tasks that send to each other directly, and in a grid."""
    used: dict[str, list[float]] = {}
    rows: dict[str, str] = {}
    for name, columns in [("directly", lambda _: 1), ("in a grid", square)] * runs:
        with patch(f"{DRIVER}.columns_for", columns):
            result, seconds, told, sent = measured(spec, tasks, CLUSTER)
        used.setdefault(name, []).append(seconds)
        met = max(item["met"] for item in told)
        pieces = sum(item["pieces"] for item in told) / tasks / result.depth
        rows[name] = f"meets {met:>3}, {pieces:6.1f} messages a level, {sent / result.distinct_states:5.1f} bytes a state"
    print(f"\n{tasks} tasks, {result.distinct_states:,} states in {result.depth} levels; a task:")
    for name, row in rows.items():
        print(f"  {name:<10} {row}")
    print(f"  processor time, times {spread([a / b for a, b in zip(*used.values(), strict=True)])}")


def handing(spec: Spec) -> None:
    """Handing parcels on, to the tasks of a column of 72."""
    shape = shape_of(spec.question().plan)
    literals = constants_of(shape)
    size = literals["RECORD"] + literals["ACTION_BYTES"]
    boxes = reserve(PARCELS * size * COLUMN // 8)
    filled = numbers([0] * COLUMN)
    following = numbers(task.pack_numbers([bucket % COLUMN for bucket in range(COLUMN * COLUMN)]))
    values = {
        exchange.BUCKETS: COLUMN * COLUMN,
        exchange.NEXT: address(following),
        exchange.BOXES: address(boxes),
        exchange.FILLED: address(filled),
        exchange.BOX_BYTES: PARCELS * size,
    }
    slots = numbers(values.get(slot, 0) for slot in range(exchange.EXCHANGE_SLOTS))
    kernel = Kernel(exchange_code(shape))  # kept in a variable: a function does not keep its code alive
    hand_on = kernel.function("hand_on", 5)
    data = random.Random(7).randbytes(PARCELS * size)
    states, acts = reserve((PARCELS + 1) * shape.words), reserve(PARCELS // 4 + 1)
    spent_on = []
    for _ in range(20):
        filled[:] = [0] * COLUMN
        begin = time.process_time()
        hand_on(address(slots), bytes_address(data), PARCELS, address(states), address(acts))
        spent_on.append((time.process_time() - begin) / PARCELS * 1e9)
    print(f"\n{spec.name}: a candidate is handed on in {statistics.median(spent_on):.1f} ns (least {min(spent_on):.1f})")


def spread(values: Sequence[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}, {len(values)} pairs)"


def main() -> None:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="pairs of each comparison")
    parser.add_argument("--only", choices=["states", "grid", "handing"], help="only one part")
    parser.add_argument("--tasks", default="16,36", help="how many tasks stand in a grid")
    options = parser.parse_args()

    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start")
    with patch(f"{TASK}.run", work), patch(f"{TASK}.Transfer", Counted):
        if options.only in (None, "states"):
            for name in ("kip320-large", "partition"):
                states(load_spec(name), options.runs)
        if options.only in (None, "handing"):
            handing(load_spec("kip320-large"))
        if options.only in (None, "grid"):
            for tasks in map(int, options.tasks.split(",")):
                grid(load_spec("kip320-3222"), min(options.runs, 3), tasks)


if __name__ == "__main__":
    main()
