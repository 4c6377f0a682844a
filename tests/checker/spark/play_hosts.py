"""A cluster of three hosts that share no folder, as namespaces of this machine: answers, and failures round by round.

    python -m tests.checker.spark.play_hosts answers [SPEC …]       the local answer, field by field; of --all, too
    python -m tests.checker.spark.play_hosts failures --rounds 20   what fails at any moment
    python -m tests.checker.spark.play_hosts cost [--runs 3]        processor seconds and milliseconds a level

A round of `failures` is wrong if the answer is not the local one, hung if it takes longer than `--limit`, and silent if
nothing tells of a failure that cost something. The exit code is 1 if there is any such round. It needs root, but for
`answers --master 'local[2]'`, which asks that Spark instead of the hosts.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from acked.api import load_spec  # noqa: E402
from acked.base.bounds import Bounds  # noqa: E402
from acked.base.errors import AckedError, ConfigurationError  # noqa: E402
from acked.checker.question.observer import Observer, Progress  # noqa: E402
from acked.checker.question.result import Result  # noqa: E402
from acked.checker.search.local import search  # noqa: E402
from acked.checker.spark.driver import SPARK, SparkBounds, SparkSearch  # noqa: E402
from acked.checker.spark.session import SparkDriver, SparkSettings  # noqa: E402
from acked.checker.spec.spec import Spec  # noqa: E402
from acked.checker.store.run_directory import RunDirectory  # noqa: E402
from acked.reports.shell.bundled import all_bundled  # noqa: E402
from tests.checker.spark.hosts import DRIVER, Hosts, enter, hosts, missing  # noqa: E402
from tests.checker.spark.spark_cluster import command_of, kill  # noqa: E402
from tests.checker.toys import always, answer, ask, counters  # noqa: E402

SPECS = (
    "kip101", "kip320-3222", "truncate-to-hw-3221-strong", "partition", "kafka19446-bug", "kafka6082-fix",
    "delivery-transactions", "delivery-stable-offsets", "quorum-majority-3-keeps", "quorum-majority-3-lost-log",
    "kip890-no-add-fix", "txn-zombie-3-5", "kip101-names",
)  # fmt: skip
MEMORY = 1 << 28
DIFFERS = "NOT as locally"
LARGE = "kip320-3222"
LAST = 18
"""The last level of that spec, of 26, at which something fails."""


class At(Observer):
    """Does something once, after a level, in a thread of its own, as what fails asks nobody."""

    def __init__(self, depth: int, act: Callable[[], None]) -> None:
        self.depth, self.act, self.thread = depth, act, threading.Thread(target=act, daemon=True)
        self.phases: list[tuple[float, str]] = []

    def phase(self, name: str) -> None:
        self.phases.append((time.monotonic(), name))

    def progress(self, now: Progress) -> None:
        if now.depth >= self.depth and self.thread.ident is None:
            self.thread.start()


@dataclass
class Round:
    """One round: what fails, on which host, after which level, whether levels are stored; `home` is the driver's folder."""

    number: int
    seed: int
    machines: Hosts
    driver: SparkDriver
    home: Path
    kind: str | None = None

    def __post_init__(self) -> None:
        chance = random.Random(self.seed)
        kinds = sorted(self.KINDS)
        self.kind = self.kind or kinds[self.number % len(kinds)]
        self.host, self.depth = chance.randrange(3), chance.randrange(1, LAST)
        self.seconds = chance.choice([2.0, 12.0])
        self.is_temporary = self.kind != "disk" and chance.random() < 0.5
        self.run = self.home / f"run-{self.number}"

    def play(self) -> tuple[Result, bool]:
        """The answer, and whether the failure was told of, or cost nothing."""
        return self.KINDS[self.kind](self)

    def _search(self, act: Callable[[], None]) -> Result:
        question = load_spec(LARGE).question()
        observer = At(self.depth, act)
        with RunDirectory.create(self.run, question) as stored:
            stored.is_temporary = self.is_temporary
            result = SparkSearch(question, stored, self.driver, observer=observer, bounds=SparkBounds(memory=MEMORY)).run()
        if observer.thread.ident is not None:
            observer.thread.join()
        return result

    def _resume(self) -> Result:
        question = load_spec(LARGE).question()
        with RunDirectory.open(self.run, question) as stored:
            return SparkSearch(question, stored, self.driver, bounds=SparkBounds(memory=MEMORY)).run()

    def _loses(self, act: Callable[[], None]) -> tuple[Result, bool]:
        result = self._search(act)
        return result, any("tasks were lost at level" in note for note in result.notes)

    def executor(self) -> tuple[Result, bool]:
        """An executor is killed."""
        return self._loses(lambda: kill_all(self.machines.executors(self.host)))

    def task(self) -> tuple[Result, bool]:
        """A Python worker is killed."""
        return self._loses(lambda: kill_all(self.machines.tasks(self.host)))

    def network(self) -> tuple[Result, bool]:
        """The network of a host is cut for a while: a short cut may cost nothing."""

        def act() -> None:
            self.machines.cut(self.host)
            time.sleep(self.seconds)
            self.machines.heal(self.host)

        result, is_told = self._loses(act)
        return result, is_told or self.seconds < 8

    def slow(self) -> tuple[Result, bool]:
        """A host stops for a moment again and again, which costs time only."""

        def act() -> None:
            for _ in range(10):
                for sign in (signal.SIGSTOP, signal.SIGCONT):
                    for pid in self.machines.tasks(self.host):
                        os.kill(pid, sign)
                    time.sleep(0.5 if sign == signal.SIGSTOP else 0.05)

        return self._search(act), True

    def disk(self) -> tuple[Result, bool]:
        """The disk of the run directory is full, and has room again when the run is resumed."""
        self.run.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o"]
        subprocess.run([*mount, f"size={64 * self.depth}k", "tmpfs", str(self.run)], check=True)
        try:
            self._search(lambda: None)
            told = "nothing"
        except AckedError as error:
            told = str(error)
        subprocess.run([*mount, "remount,size=1g", "tmpfs", str(self.run)], check=True)
        return self._resume(), "cannot write" in told and "make room" in told

    def full(self) -> tuple[Result, bool]:
        """The disk of a worker is full, on which a search writes nothing."""
        result = self._search(lambda: self.machines.fill(self.host))
        self.machines.empty(self.host)
        return result, not result.notes

    def shipping(self) -> tuple[Result, bool]:
        """The disk of a worker has room for an executor's log, and none for what is brought along."""
        self.driver.stop()
        self.machines.fill(self.host, 8 << 10)
        question, spark = load_spec(LARGE).question(), SparkSettings(self.machines.master, settings(), ship=True)
        try:
            with (
                SparkDriver(spark, self.home / f"shipping-{self.number}.log") as driver,
                RunDirectory.create(self.home / f"shipped-{self.number}", question) as stored,
            ):
                SparkSearch(question, stored, driver, bounds=SparkBounds(memory=MEMORY)).run()
            told = "nothing"
        except AckedError as error:
            told = str(error)
        self.machines.empty(self.host)
        self.driver.__enter__()
        wait_for_all(self.driver)
        return self._search(lambda: None), "no room on its disk" in told and self.machines.address(self.host) in told

    def driver_killed(self) -> tuple[Result, bool]:
        """The driver is killed, and another one resumes its run."""
        command = [sys.executable, "-m", "acked", "check", LARGE, "--quiet", "--engine", "spark", "--no-ship"]
        command += ["--master", self.machines.master, "--run-dir", str(self.run), "--memory", str(MEMORY)]
        for name, value in settings().items():
            command += ["--conf", f"{name}={value}"]
        self.driver.stop()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as child:
            while not (self.run / "commits" / f"{self.depth:05}.json").exists():
                if child.poll() is not None:
                    raise RuntimeError(f"the search ended with {child.returncode} before it could be killed")
                time.sleep(0.002)
            child.kill()
        self.driver.__enter__()
        wait_for_all(self.driver)
        result = self._resume()
        return result, result.stored_levels >= self.depth

    KINDS: ClassVar[dict[str, Callable[[Round], tuple[Result, bool]]]] = {
        "driver": driver_killed, "executor": executor, "network": network, "slow": slow, "task": task, "disk": disk,
        "full": full, "shipping": shipping,
    }  # fmt: skip


def kill_all(pids: list[int]) -> None:
    """SIGKILL for each."""
    for pid in pids:
        kill(pid)


def settings() -> dict[str, str]:
    """Spark's settings of a driver among the hosts."""
    return {"spark.driver.host": DRIVER, "spark.driver.bindAddress": DRIVER, "spark.executor.memory": "512m"}


def wait_for_all(driver: SparkDriver, wanted: int = 3) -> None:
    """Waits until every host has a slot."""
    if driver.slots(wanted, 120.0) < wanted:
        raise RuntimeError("a host did not come back")


def failures(machines: Hosts, driver: SparkDriver, home: Path, options: argparse.Namespace) -> int:
    """Plays the rounds; how many were wrong, hung or silent."""
    expected = answer(search(load_spec(LARGE).question(), Bounds(workers=2, memory=1 << 30)))
    bad = 0
    print(f"{'round':>5} {'what fails':<10} {'host':>4} {'level':>5} {'seconds':>7}  outcome")
    for number in range(options.rounds):
        wait_for_all(driver)
        now = Round(number, options.seed + number, machines, driver, home, options.only)
        signal.alarm(options.limit)
        begin = time.monotonic()
        notes: Any = ()
        try:
            result, is_told = now.play()
            notes = result.notes
            outcome = "wrong" if answer(result) != expected else "as locally" if is_told else "silent"
        except TimeoutError:
            outcome = "hung"
        except (AckedError, RuntimeError) as error:
            outcome = f"refused: {error}"
        signal.alarm(0)
        bad += outcome != "as locally"
        took = time.monotonic() - begin
        outcome += " (temporary)" * now.is_temporary
        row = f"{number:>5} {now.kind:<10} {now.host:>4} {now.depth:>5} {took:>7.1f}  {outcome}"
        print("; ".join([row, *notes]), flush=True)
    return bad


def compared(driver: SparkDriver, home: Path, spec: Spec, up_to: int) -> tuple[str, Result | None]:
    """The answer to a spec, and how it is to the local one."""
    question = spec.question()
    if spec.expect and (spec.expect.distinct_states or 0) > up_to:
        return "left out", None
    try:
        SPARK.check(question)
    except ConfigurationError:
        return "refused, as it asks of the graph of all states", None
    here = search(question, Bounds(workers=2, memory=1 << 30), spec.policy)
    with RunDirectory.create(home / "answer", question) as stored:
        there = SparkSearch(question, stored, driver, spec.policy, bounds=SparkBounds(memory=MEMORY)).run()
    shutil.rmtree(home / "answer")
    return "as locally" if answer(here) == answer(there) else DIFFERS, there


def answers(driver: SparkDriver, home: Path, options: argparse.Namespace) -> int:
    """Compares specs; how many differ."""
    names = [str(path) for path in all_bundled()] if options.all else options.names or SPECS
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    print(f"{'spec':<36} {'states':>10} {'levels':>6}  fields")
    for name in names:
        spec = load_spec(name)
        outcome, there = compared(driver, home, spec, options.up_to)
        seen = (f"{there.distinct_states:,}", there.depth) if there else ("", "")
        outcomes[spec.protocol.name][outcome] += 1
        outcomes[spec.protocol.name]["states"] += there.distinct_states if there else 0
        print(f"{spec.name:<36} {seen[0]:>10} {seen[1]:>6}  {outcome}", flush=True)
    for protocol, found in sorted(outcomes.items()):
        print(f"{protocol}: " + ", ".join(f"{count:,} {what}" for what, count in sorted(found.items())))
    return sum(found[DIFFERS] for found in outcomes.values())


def processor_seconds() -> Counter[str]:
    """Of all processes within these namespaces, by what they are."""
    ticks: Counter[str] = Counter()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            command = command_of(int(entry.name))
            kind = "Java" if "java" in command else "tasks" if "pyspark.daemon" in command else "the driver"
            ticks[kind] += sum(map(int, fields[11:13]))
    return Counter({kind: count / os.sysconf("SC_CLK_TCK") for kind, count in ticks.items()})


class Within(Observer):
    """Processor seconds from when on tasks search until a level is complete."""

    def __init__(self, last: int) -> None:
        self._last, self.spent = last, Counter[str]()

    def phase(self, name: str) -> None:
        if name == "searching":
            self.spent.subtract(processor_seconds())

    def progress(self, now: Progress) -> None:
        if now.depth == self._last:
            self.spent.update(processor_seconds())


def cost(driver: SparkDriver, home: Path, options: argparse.Namespace) -> int:
    """Processor seconds of three hosts beside the local ones, within the search and in all; and of a level of one state."""
    constants = dict(item.split("=") for item in options.constant)
    spec = load_spec(options.spec, **{name: int(value) for name, value in constants.items()})
    for number in range(options.runs + 1):
        started = time.process_time()
        here = search(spec.question(), Bounds(workers=2))
        local = time.process_time() - started
        begin = processor_seconds()
        question = spec.question()
        within = Within(here.depth)
        with RunDirectory.create(home / f"cost-{number}", question) as stored:
            stored.is_temporary = not options.keep
            there = SparkSearch(question, stored, driver, observer=within).run()
        spent = processor_seconds()
        spent.subtract(begin)
        assert answer(here) == answer(there), "the engines disagree"
        question = ask(counters(1, 5000), always("Any", lambda s: s.n0 >= 0))
        with RunDirectory.create(home / f"line-{number}", question) as stored:
            stored.is_temporary = not options.keep
            line = SparkSearch(question, stored, driver).run()
        if number:  # The first compiles and loads.
            parts = ", ".join(f"{kind} {seconds:.2f}" for kind, seconds in within.spent.most_common())
            times, level = (spent.total() / local for spent in (within.spent, spent)), line.seconds / line.depth * 1000
            print(
                f"{spec.name}: {there.distinct_states:,} states; processor seconds {local:.2f} locally and "
                f"{within.spent.total():.2f} on three hosts ({parts}), with start and end {spent.total():.2f}; "
                f"{' and '.join(f'{ratio:.2f}' for ratio in times)} times; {level:.2f} ms a level of one state",
                flush=True,
            )
    return 0


def raise_alarm(*_: object) -> None:
    """Ends a round that hangs."""
    raise TimeoutError


def main() -> int:
    """Enters the namespaces, begins the cluster, and does what is asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("what", choices=["answers", "failures", "cost"])
    parser.add_argument("names", nargs="*", help="specs of `answers`")
    parser.add_argument("--all", action="store_true", help="all bundled specs in `answers`")
    parser.add_argument("--up-to", type=int, default=20_000_000, help="but for those that expect more states")
    parser.add_argument("--master", help="a Spark that `answers` asks instead of the hosts, e.g. local[2]")
    parser.add_argument("--hosts", type=int, default=3, help="of `answers` and `cost`; of those that fail there are three")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of `failures`")
    parser.add_argument("--only", help="what fails in all of them, e.g. full")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--limit", type=int, default=300, help="seconds after which a round hangs")
    parser.add_argument("--runs", type=int, default=3, help="runs of `cost`")
    parser.add_argument("--keep", action="store_true", help="of `cost`: store all levels, as with --run-dir")
    parser.add_argument("--spec", default="kip320-large", help="the spec of `cost`")
    parser.add_argument("-c", "--constant", action="append", default=[], help="of that spec, e.g. max_leader_epoch=4")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.master:
        with tempfile.TemporaryDirectory(prefix="acked-answers-") as folder:
            home = Path(folder)
            with SparkDriver(SparkSettings(options.master, {"spark.executor.memory": "512m"}), home / "spark.log") as driver:
                return min(answers(driver, home, options), 1)
    if not options.inside:
        if reason := missing():
            print(reason, file=sys.stderr)
            return 2
        return enter([*sys.argv, "--inside"])
    signal.signal(signal.SIGALRM, raise_alarm)
    with tempfile.TemporaryDirectory(prefix="acked-hosts-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        with (
            hosts(home, options.hosts) as machines,
            SparkDriver(SparkSettings(machines.master, settings(), ship=False), home / "spark.log") as driver,
        ):
            wait_for_all(driver, options.hosts)
            if options.what == "answers":
                return min(answers(driver, home, options), 1)
            if options.what == "cost":
                return cost(driver, home, options)
            return min(failures(machines, driver, home, options), 1)


if __name__ == "__main__":
    sys.exit(main())
