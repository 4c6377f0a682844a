"""Measures the search over Spark against the local search, in one run, so that ratios survive a noisy machine.

Rates on local[2] and on a real standalone cluster that this starts on loopback, the cost of a small level, the recovery from
a killed executor, where time and bytes go, traces of many steps, and the plain DataFrame way (`dropDuplicates` and an
anti-join) as the honest baseline. Every figure comes with the command that prints it.

    python benchmarks/spark.py [--runs N] [--spec NAME] [--baseline SPEC] [--only PART]
"""

from __future__ import annotations

import argparse
import mmap
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from acked.api import load_spec  # noqa: E402
from acked.base.bounds import Bounds  # noqa: E402
from acked.checker.native.compile import Kernel  # noqa: E402
from acked.checker.native.shape import shape_of  # noqa: E402
from acked.checker.question.observer import Observer, Progress  # noqa: E402
from acked.checker.question.question import Question  # noqa: E402
from acked.checker.question.result import Result  # noqa: E402
from acked.checker.search.local import LocalSearch, search  # noqa: E402
from acked.checker.shards.shard import address  # noqa: E402
from acked.checker.spark.driver import SparkSearch  # noqa: E402
from acked.checker.spark.java import find_java  # noqa: E402
from acked.checker.spark.session import SparkDriver, SparkSettings  # noqa: E402
from acked.checker.spec.spec import Spec  # noqa: E402
from acked.checker.store.level_file import BLOCK_STATES, StateCodec, exchange_code, write_all  # noqa: E402
from acked.checker.store.run_directory import RunDirectory  # noqa: E402
from acked.invariants.property import Kind, Property  # noqa: E402
from acked.model.language.action import require  # noqa: E402
from acked.model.language.protocol import Protocol  # noqa: E402
from acked.model.language.state import Between, Struct, field  # noqa: E402
from acked.model.language.values import Int  # noqa: E402

PARTS = {
    "kernel": ("kernel",),
    "deduplication": ("settling", "growing", "inserting"),
    "exchange": ("routing", "sending", "receiving", "handing_on"),
    "storing": ("storing",),
    "waiting": ("waiting",),
}
"""What the times that tasks book are told as."""

EXECUTOR_MEMORY = {"spark.executor.memory": "1g"}
NARROW = 500
"""Levels of the search whose levels are small."""
TOUCHED = 768 << 20
"""Bytes that are written to and given back before each run that is compared, more than either takes."""


def median(values: Sequence[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}, {len(values)} runs)"


def over_spark(
    spec: Spec, driver: SparkDriver, observer: Observer | None = None, keeps: bool = False
) -> tuple[Result, SparkSearch, int, float]:
    """One run, as with --run-dir if it `keeps` its levels: its result, the search, the bytes it stored, and the seconds with
    the start of its tasks."""
    question = spec.question()
    with tempfile.TemporaryDirectory(prefix="acked-bench-") as folder:
        begin = time.perf_counter()
        with RunDirectory.create(Path(folder) / "run", question) as run:
            run.is_temporary = not keeps
            searching = SparkSearch(question, run, driver, observer=observer)
            result = searching.run()
            return result, searching, run.stored_bytes, time.perf_counter() - begin


def touch_memory() -> None:
    """Has the system find memory for the run that follows.

    A virtual machine may hand what is free back to its host within seconds, and has to ask for it again at the first touch.
    Two megabytes took 0.2 to 8 ms then, so that a run after an idle moment measured the host.
    """
    with mmap.mmap(-1, TOUCHED) as region:
        region.madvise(mmap.MADV_HUGEPAGE)
        for _ in range(TOUCHED >> 20):
            region.write(bytes(1 << 20))


def processor_seconds() -> float:
    """What this process and those below it, which are Spark's, have used so far."""
    from tests.checker.spark.spark_cluster import descendants

    ticks = 0
    for pid in (os.getpid(), *descendants(os.getpid())):
        try:
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        except OSError:
            pass  # It has just ended.
    return ticks / os.sysconf("SC_CLK_TCK")


def locally(spec: Spec) -> Result:
    """One local run with two workers."""
    return search(spec.question(), Bounds(workers=2))


def compare(name: str, spec: Spec, small: Spec, driver: SparkDriver, runs: int) -> None:
    """Rates side by side, run by run, and the cost of small levels."""
    over_spark(small, driver)
    over_spark(spec, driver)  # imports, compiles and loads: its time is not counted
    ratios, used, rates, local_rates, levels, starts = [], [], [], [], [], []
    last: tuple[Result, SparkSearch, int, float] | None = None
    for _ in range(runs):
        touch_memory()
        before = processor_seconds()
        here = locally(spec)
        local_seconds = processor_seconds() - before
        touch_memory()
        before = processor_seconds()
        last = over_spark(spec, driver)
        used.append((processor_seconds() - before) / local_seconds)
        result = last[0]
        assert (result.distinct_states, result.generated_states, result.depth, result.actions) == (
            here.distinct_states, here.generated_states, here.depth, here.actions,
        ), "the engines disagree"  # fmt: skip
        ratios.append(here.seconds / result.seconds)
        rates.append(result.distinct_states / result.seconds / 1e6)
        local_rates.append(here.distinct_states / here.seconds / 1e6)
        starts.append(last[3] - result.seconds)
        tiny = over_spark(small, driver)[0]
        levels.append(tiny.seconds / tiny.depth * 1000)
    assert last is not None
    result, searching, stored, _ = last
    print(f"\n{name}: {result.distinct_states:,} distinct states, {result.depth} levels, {result.workers} tasks")
    print(f"  million distinct states a second            {median(rates)}")
    print(f"  the local search with two workers           {median(local_rates)}")
    print(f"  ratio, pair by pair                         {median(ratios)}")
    print(f"  processor seconds, times the local ones     {median(used)}")
    print(f"  milliseconds a level of a small space       {median(levels)}")
    print(f"  seconds to start tasks and end them         {median(starts)}")
    print("  where a task's time went, last run, seconds of each task:")
    for part, names in PARTS.items():
        print(f"    {part:<14}" + "  ".join(f"{sum(timing[name] for name in names):6.2f}" for timing in searching.timings))
    sent = sum(timing["bytes_sent"] for timing in searching.timings)
    print(f"  bytes moved per generated state {sent / result.generated_states:.1f}")
    print(f"  bytes moved per distinct state {sent / result.distinct_states:.1f}")
    print(f"  bytes stored per distinct state {stored / result.distinct_states:.1f}")
    print(f"  bytes in memory per distinct state {result.memory_bytes / result.distinct_states:.1f}")


def checkpoints(spec: Spec, runs: int) -> None:
    """What `--run-dir` costs the local search: pairs of runs with and without it, first the one, then the other.

    What a run stored is emptied when its time has been taken, and deleted only after the last run: file systems that keep a
    journal look at every file deleted lately before they create one, and no user's run begins with that.
    """
    walls, processors, extra = [], [], []
    stored = 0
    locally(spec)
    with tempfile.TemporaryDirectory(prefix="acked-bench-") as folder:
        for number in range(runs):
            seconds: dict[bool, tuple[float, float]] = {}
            for keeps in (number % 2 == 0, number % 2 == 1):
                question, used = spec.question(), time.process_time()
                if keeps:
                    with RunDirectory.create(Path(folder) / f"run-{number}", question) as run:
                        result = search(question, Bounds(workers=2), stored=run)
                        stored = run.stored_bytes
                else:
                    result = search(question, Bounds(workers=2))
                seconds[keeps] = result.seconds, time.process_time() - used
                for path in Path(folder).glob("run-*/**/*"):
                    if path.is_file():
                        os.truncate(path, 0)
            walls.append(seconds[True][0] / seconds[False][0])
            processors.append(seconds[True][1] / seconds[False][1])
            extra.append((seconds[True][1] - seconds[False][1]) / result.distinct_states * 1e9)
    print(f"\nthe local search with two workers, with --run-dir against without, {result.distinct_states:,} states:")
    print(f"  ratio of seconds, pair by pair              {median(walls)}")
    print(f"  ratio of processor time, pair by pair       {median(processors)}")
    print(f"  nanoseconds of a processor for a state      {median(extra)}")
    print(f"  bytes stored for a state                    {stored / result.distinct_states:.1f}")
    narrow = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="acked-bench-") as folder:
            question = counting(NARROW - 1, NARROW)
            with RunDirectory.create(Path(folder) / "run", question) as run:
                narrow.append(search(question, Bounds(workers=1), stored=run).seconds)
    print(f"  seconds of {NARROW} levels of one state         {median(narrow)}")


def writing(spec: Spec, runs: int) -> None:
    """What it takes a processor to pack a state, to sum it up, and to hand it to the system."""
    question = spec.question()
    found = LocalSearch(question, Bounds(1), keeps_states=True)
    found.run()
    (shard,), shape = found.shards, shape_of(question.plan)
    codec = StateCodec(shape, 1, Kernel(exchange_code(shape)))
    spent: dict[str, list[float]] = {"packed": [], "summed": [], "written": []}
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(runs):
            file.seek(0)
            taken = dict.fromkeys(spent, 0.0)
            for begin in range(0, shard.count, BLOCK_STATES):
                moments = [time.thread_time()]
                states = address(shard.states) + 8 * shard.words * begin
                _, body = codec.pack(1, states, min(BLOCK_STATES, shard.count - begin))
                moments.append(time.thread_time())
                zlib.crc32(body)
                moments.append(time.thread_time())
                write_all(file, [body])
                moments.append(time.thread_time())
                for what, (before, after) in zip(spent, pairwise(moments), strict=True):
                    taken[what] += after - before
            taken["packed"] -= taken["summed"]  # as a part of packing
            for what, seconds in taken.items():
                spent[what].append(seconds / shard.count * 1e9)
    for what, values in spent.items():
        print(f"  nanoseconds until a state is {what:<15}{median(values)}")


class KillAt(Observer):
    """Kills a process once, at a level; `spent` is how long it then took until tasks searched again, all levels read back."""

    def __init__(self, depth: int, victims: Any) -> None:
        self.depth, self.victims, self.at, self.spent = depth, victims, 0.0, 0.0

    def progress(self, now: Progress) -> None:
        if now.depth == self.depth and not self.at:
            self.at = time.perf_counter()
            os.kill(self.victims()[0], 9)

    def phase(self, name: str) -> None:
        if self.at and name == "searching":
            self.spent = time.perf_counter() - self.at


def recovery(spec: Spec, driver: SparkDriver, processes: Sequence[subprocess.Popen[bytes]], runs: int) -> None:
    """What a killed executor costs."""
    from tests.checker.spark.spark_cluster import command_of, descendants

    def executors() -> list[int]:
        below = [pid for process in processes for pid in descendants(process.pid)]
        return [pid for pid in below if "CoarseGrainedExecutorBackend" in command_of(pid)]

    spent, extra = [], []
    for number in range(runs):
        assert driver.slots(2, 60.0) == 2
        undisturbed = over_spark(spec, driver, keeps=True)[3]
        killer = KillAt(16, executors)
        disturbed = over_spark(spec, driver, killer, keeps=True)
        spent.append(killer.spent)
        extra.append(disturbed[3] - undisturbed)
        if not number:
            print("\nan executor killed at level 16:")
            for note in disturbed[0].notes:
                print(f"  {note}")
    print(f"  seconds until tasks search again            {median(spent)}")
    print(f"  seconds more than undisturbed, pair by pair {median(extra)}")


def dataframes(spec: Spec, driver: SparkDriver) -> None:
    """The plain way: a DataFrame of states, successors by the same kernel, dropDuplicates and an anti-join for each level."""
    from importlib.util import find_spec

    if find_spec("pandas") is None:
        print("\nplain DataFrames: not measured, because Spark's mapInArrow needs pandas: pip install -e '.[bench]'")
        return
    from pyspark.sql import SparkSession
    from pyspark.sql.types import LongType, StructField, StructType

    from acked.checker.native.compile import compile_kernel
    from acked.checker.native.shape import shape_of

    question = spec.question()
    shape, code = shape_of(question.plan), compile_kernel(question.plan)
    home, words = str(ROOT), shape.words
    session = SparkSession(driver.context)
    session.conf.set("spark.sql.shuffle.partitions", "4")  # 200 would be slower still
    schema = StructType([StructField(f"w{w}", LongType()) for w in range(words)])

    def successors(batches: Iterator[Any]) -> Iterator[Any]:
        import sys

        if home not in sys.path:
            sys.path.insert(0, home)
        from benchmarks.parts.baseline import fire_batches

        yield from fire_batches(shape, code, batches)

    signed = [tuple(w - (1 << 64) if w >> 63 else w for w in state) for state in question.initial]
    seen = frontier = session.createDataFrame(signed, schema).cache()
    begin, states, level = time.perf_counter(), frontier.count(), 1
    while True:
        made = frontier.mapInArrow(successors, schema).dropDuplicates()
        fresh = made.join(seen, on=schema.fieldNames(), how="left_anti").localCheckpoint()
        found = fresh.count()
        if not found:
            break
        states, level = states + found, level + 1
        seen, frontier = seen.union(fresh), fresh
    seconds = time.perf_counter() - begin
    ours = over_spark(spec, driver)[0]
    assert (states, level) == (ours.distinct_states, ours.depth), "the DataFrames disagree"
    print(f"\n{states:,} states in {level} levels on the same Spark, one run of each:")
    for name, spent in (("plain DataFrames", seconds), ("acked", ours.seconds)):
        rate = states / spent / 1e6
        print(f"  {name:<18}{spent:7.2f} s, {rate:.3f} million distinct states a second, {spent / level:.3f} s a level")


def counting(top: int, violated_at: int) -> Question:
    """A space of one state a level, with a violation at a level."""

    class Number(Int, lo=0, hi=1 << 16):
        """What is counted."""

    class Counter(Struct):
        """The only field."""

        n = field(Between(Number, 0, top))

    protocol = Protocol("counter", Counter, title="", source="", constants=(), initial=lambda s: None)

    @protocol.action()
    def count(s: Counter) -> None:
        require("below the top", s.n < top)
        s.n = s.n + 1

    bound = Property("Below", Kind.STATE, lambda s: s.n < violated_at, "", "", "")
    return Question(protocol.instantiate({}), (bound,))


def traces(driver: SparkDriver) -> None:
    """How long a violation and the way to it take, one state a level, by search, trace and in all; here and over Spark."""
    from acked.checker.spark import trace

    print("\na violation behind levels of one state: seconds of the search, of all, and of the local search in all")
    usual = trace.FIRST_LEVELS_BYTES
    cases = ((5, usual, "the first question"), (200, usual, "walked back by the driver"), (200, 100, "by executors"),
             (5000, usual, "by the driver"))  # fmt: skip
    for steps, first_levels, how in cases:
        trace.FIRST_LEVELS_BYTES = first_levels
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="acked-bench-") as folder:
            question = counting(steps, steps)
            with RunDirectory.create(Path(folder) / "run", question) as run:
                run.is_temporary = True
                result = SparkSearch(question, run, driver).run()
            spent = time.perf_counter() - begin
        begin = time.perf_counter()
        here = search(counting(steps, steps), Bounds(workers=2))
        locally = time.perf_counter() - begin
        assert result.violations[0].run.states == here.violations[0].run.states, "the traces differ"
        print(f"  {steps:>5} steps, {how:<26}{result.seconds:8.2f}{spent:8.2f}{locally:8.2f}")
    trace.FIRST_LEVELS_BYTES = usual


@contextmanager
def standalone() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers of one core on loopback."""
    from tests.checker.spark.spark_cluster import cluster

    with tempfile.TemporaryDirectory(prefix="acked-bench-cluster-") as folder, cluster(Path(folder)) as machines:
        yield machines.master, machines.processes


def main() -> None:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each comparison")
    parser.add_argument("--spec", default="kip320-large", help="the spec to measure with")
    parser.add_argument("--baseline", default="kip320", help="the spec of the DataFrame baseline; none leaves it out")
    parser.add_argument("--only", choices=["local", "cluster", "checkpoints", "traces"], help="only one part")
    options = parser.parse_args()
    # So that whoever ends this ends the cluster with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    arguments = " ".join(sys.argv[1:])
    print(f"$ python benchmarks/spark.py {arguments}".rstrip())
    java = re.sub(r".*/", "", str(find_java()))
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start, Java {java}")
    spec = load_spec(options.spec)
    small = load_spec("kip320-2222")
    if options.only in (None, "checkpoints"):
        checkpoints(spec, 2 * options.runs)
        writing(small, options.runs)
    if options.only in (None, "local", "traces"):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            with SparkDriver(SparkSettings("local[2]"), Path(folder) / "spark.log") as driver:
                print(f"\nsession start {time.perf_counter() - begin:.1f} s")
                traces(driver)
                if options.only != "traces":
                    compare("local[2]", spec, small, driver, options.runs)
                    if options.baseline != "none":
                        dataframes(load_spec(options.baseline), driver)
    if options.only in (None, "cluster"):
        with (
            standalone() as (master, processes),
            tempfile.TemporaryDirectory() as folder,
            SparkDriver(SparkSettings(master, EXECUTOR_MEMORY), Path(folder) / "spark.log") as driver,
        ):
            assert driver.slots(2, 60.0) == 2
            compare("standalone, two workers of one core", spec, small, driver, options.runs)
            recovery(spec, driver, processes, options.runs)


if __name__ == "__main__":
    main()
