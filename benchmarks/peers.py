"""Measures acked beside other model checkers on the same states: counts that must agree, processor and wall seconds, memory.

Ends with 1 if a count differs. Needs SPIN (`apt-get install spin`) and gcc; says so if one is missing. stateright is measured
where there is Cargo, and TLC where its jar is named. `peers.md` reads the figures.

    python benchmarks/peers.py [--runs N] [--tlc tla2tools.jar] [small] [large] [partition]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from local import acked  # noqa: E402

from acked.base.bounds import Bounds  # noqa: E402
from acked.checker.question.question import Question  # noqa: E402
from acked.checker.search.local import LocalSearch  # noqa: E402
from acked.reports.exports.tla_module import module_of  # noqa: E402
from acked.reports.shell.specs import find_spec  # noqa: E402
from benchmarks.parts import stateright  # noqa: E402
from benchmarks.parts.promela import MODEL, PROTOCOL, twin  # noqa: E402

COMMON = ("-O3", "-march=native", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=16000")
TABLE = ("-DNOCOMP", "-DSFH")
"""States whole in a hash table with SPIN's quickest hash; what is fastest for states as small as these."""
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""acked asks the kernel for huge pages, so SPIN gets them too."""


@dataclass(frozen=True)
class Setting:
    """One way to compile SPIN's verifier, and what it is run with."""

    name: str
    flags: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    is_small: bool = False
    """Whether it is measured on the smaller instance only."""
    slots: int | None = None
    """The binary logarithm of the hash table's size, where the instance's is not the best."""


SETTINGS = (
    Setting("SPIN, depth first", TABLE),
    Setting("SPIN, breadth first", (*TABLE, "-DBFS")),
    Setting("SPIN, depth first, -DCOLLAPSE", ("-DCOLLAPSE",), is_small=True),
    Setting("SPIN, depth first, -DMA", ("-DMA=28",), is_small=True, slots=10),
    Setting("SPIN, depth first, two processes", (*TABLE, "-DNCORE=2")),
    Setting("SPIN, breadth first, two processes", (*TABLE, "-DBFS_PAR"), ("-u2",)),
)


@dataclass(frozen=True)
class Instance:
    """What is searched: a spec whose properties are decided in single states, and sizes for the other checkers.

    `most_enabled` is more actions than are ever enabled at once; SPIN's model stops where it is too low. `slots` is the
    binary logarithm of the size of SPIN's hash table.
    """

    title: str
    spec: str
    most_enabled: int
    slots: int
    is_small: bool = False
    depth: int = 10_000
    """Steps that SPIN's depth-first search may be deep in, which takes memory."""


def kip320(max_leader_epoch: int, slots: int, is_small: bool) -> Instance:
    """kip320 with the two invariants of its in-sync replicas."""
    text = f"""\
title = "kip320"
protocol = "kip320"
[constants]
replicas = 3
log_size = 2
max_records = 2
max_leader_epoch = {max_leader_epoch}
[check]
invariants = ["WeakIsr", "StrongIsr"]
"""
    return Instance(f"kip320 (3, 2, 2, {max_leader_epoch})", text, 16, slots, is_small)


def partition() -> Instance:
    """The bundled spec without its one property of steps."""
    text = (ROOT / "specs" / "partition.toml").read_text().partition("[expect]")[0]
    return Instance("partition, five invariants", text.replace(', "LeaderHwStays"', ""), 64, 25, depth=5_000_000)


INSTANCES = {"small": kip320(2, 22, True), "large": kip320(3, 26, False), "partition": partition()}
TLC_HEAP = "-Xmx3g"
SPEC = "asked.toml"


@dataclass(frozen=True)
class Measured:
    """One run: seconds on the clock and of the processor, bytes at the peak, and what was counted."""

    wall: float
    cpu: float
    peak_bytes: int
    states: int
    generated: int


Ways = Mapping[str, Callable[[], Measured]]
"""Ways to search an instance, by name."""


def finish(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> tuple[str, float, float, int]:
    """Runs a command; its output, wall and processor seconds of all its processes, and its peak bytes."""
    with tempfile.TemporaryFile("w+") as out:
        begin = time.perf_counter()
        child = subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **environment})
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}: {text[-400:]}")
    return text, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


class Spin:
    """The twin's verifiers, compiled once for every setting."""

    def __init__(self, asked: Question, instance: Instance, settings: Sequence[Setting], folder: Path) -> None:
        self._slots, self._depth = instance.slots, instance.depth
        self._folder = folder
        for name, text in twin(asked, instance.most_enabled).items():
            (folder / name).write_text(text)
        self.compiled = folder / "protocol.o"
        self.build_cpu = finish(["spin", "-a", MODEL], folder, {})[2]
        self.build_cpu += finish(["gcc", *COMMON, "-c", "-o", self.compiled.name, PROTOCOL], folder, {})[2]
        for number, setting in enumerate(settings):
            command = ["gcc", *COMMON, *setting.flags, "-o", f"pan{number}", "pan.c", self.compiled.name]
            cpu = finish(command, folder, {})[2]
            if number == 0:
                self.build_cpu += cpu

    def run(self, number: int, setting: Setting) -> Measured:
        """One verification."""
        arguments = ["-E", "-n", f"-m{self._depth}", f"-w{setting.slots or self._slots}", *setting.arguments]
        text, wall, cpu, _ = finish([f"./pan{number}", *arguments], self._folder, HUGE_PAGES)
        if "errors: 0" not in text or "Search not completed" in text or "depth too small" in text:
            raise SystemExit(f"{setting.name} did not complete without an error: {text[-400:]}")
        states, generated = (
            int(_found(pattern, text)) for pattern in (r"([\d]+) states, stored", r"([\d]+) transitions \(= stored")
        )
        # By SPIN's own account: where several processes share their memory, the system's speaks of none of them rightly.
        told = max(float(item) for item in re.findall(r"([\d.]+)\s+(?:total \S+ memory usage|memory usage \(Mbyte\))", text))
        return Measured(wall, cpu, int(told * (1 << 20)), states, generated)


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise SystemExit(f"SPIN's output has no {pattern}: {text[-400:]}")
    return match[1]


def checked_by_stateright(folder: Path, *arguments: str) -> Measured:
    """One run of stateright, which keeps fingerprints of states."""
    text, wall, cpu, peak = finish([f"./{stateright.PROGRAM}", *arguments], folder, HUGE_PAGES)
    found = re.search(r"(\d+) states, (\d+) generated, errors: 0", text)
    if found is None:
        raise SystemExit(f"stateright did not complete without an error: {text[-400:]}")
    return Measured(wall, cpu, peak, int(found[1]), int(found[2]))


def checked_by_tlc(folder: Path, jar: str, workers: int) -> Measured:
    """One run of TLC, which keeps fingerprints of states."""
    command = ["java", TLC_HEAP, "-XX:+UseParallelGC", "-cp", jar, "tlc2.TLC", "-noGenerateSpecTE"]
    module = next(folder.glob("*.tla")).stem
    text, wall, cpu, peak = finish([*command, "-workers", str(workers), module], folder, {})
    found = re.search(r"^(\d+) states generated, (\d+) distinct states found", text, re.MULTILINE)
    if found is None or "No error has been found" not in text:
        raise SystemExit(f"TLC did not complete without an error: {text[-400:]}")
    return Measured(wall, cpu, peak, int(found[2]), int(found[1]))


def command(spec: Path, workers: int) -> Measured:
    """One whole `acked check`."""
    arguments = [*acked(), "check", str(spec), "-w", str(workers), "--format", "json", "--quiet"]
    text, wall, cpu, peak = finish(arguments, ROOT, {})
    answer = json.loads(text)
    if answer["verdict"] != "holds":
        raise SystemExit(f"acked says {answer['verdict']} of {spec}")
    return Measured(wall, cpu, peak, answer["distinct_states"], answer["generated_states"])


def search(spec: Path, workers: int) -> Measured:
    """One search of acked's in a process of its own, from the first state on; its memory is that of states and table."""
    text, _, _, _ = finish([sys.executable, __file__, "--search", str(workers), "--spec", str(spec)], ROOT, {})
    return Measured(**json.loads(text.splitlines()[-1]))


def search_here(spec: Path, workers: int) -> None:
    """What `search` runs."""
    engine = LocalSearch(find_spec(str(spec)).question(), Bounds(workers))
    wall, cpu = time.perf_counter(), time.process_time()
    result = engine.run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({
        "wall": wall, "cpu": cpu, "peak_bytes": result.memory_bytes,
        "states": result.distinct_states, "generated": result.generated_states,
    }))  # fmt: skip


def ways_of(instance: Instance, spin: Spin, settings: Sequence[Setting], folder: Path, tlc: str | None) -> Ways:
    """Every way to search the instance whose spec is in the folder, by name."""
    spec, found = folder / SPEC, dict[str, Callable[[], Measured]]()
    asked = find_spec(str(spec)).question()
    for workers, many in ((1, "one thread"), (2, "two threads")):
        found[f"acked, search alone, {many}"] = partial(search, spec, workers)
    for workers, many in ((1, "one thread"), (2, "two threads")):
        found[f"acked check, command to verdict, {many}"] = partial(command, spec, workers)
    for number, setting in enumerate(settings):
        found[setting.name] = partial(spin.run, number, setting)
    place = folder / "stateright"
    place.mkdir()
    if stateright.build(asked, instance.most_enabled, spin.compiled, place, ROOT / "build" / "stateright"):
        for way, name in (("bfs", "breadth first"), ("dfs", "depth first")):
            found[f"stateright, {name}, one thread"] = partial(checked_by_stateright, place, way, "1")
        found["stateright, breadth first, two threads"] = partial(checked_by_stateright, place, "bfs", "2")
    else:
        print("stateright is left out: Cargo is not here, or does not get it")
    if tlc is not None and instance.is_small:
        made = module_of(asked, instance.title)
        (folder / f"{made.name}.tla").write_text(made.text)
        (folder / f"{made.name}.cfg").write_text(made.configuration)
        found["TLC, one worker"] = partial(checked_by_tlc, folder, tlc, 1)
    return found


def compare(instance: Instance, runs: int, tlc: str | None) -> bool:
    """Measures one instance by turns and prints its table; whether all counts agree."""
    settings = [setting for setting in SETTINGS if instance.is_small or not setting.is_small]
    folder = Path(tempfile.mkdtemp(prefix="peers-"))
    try:
        (folder / SPEC).write_text(instance.spec)
        spin = Spin(find_spec(str(folder / SPEC)).question(), instance, settings, folder)
        ways = ways_of(instance, spin, settings, folder, tlc)
        for workers in (1, 2):
            search(folder / SPEC, workers)  # The first compiles for those that follow, as gcc did for SPIN.
        table: dict[str, list[Measured]] = {name: [] for name in ways}
        for _ in range(runs):
            for name, measure in ways.items():
                table[name].append(measure())
                print(f"{name}: {table[name][-1].wall:.1f} s", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder)
    first = next(iter(table.values()))[0]
    print(f"\n{instance.title}: {first.states:,} states, {first.generated:,} generated; medians of {runs} runs by turns\n")
    print(f"| {'':<44} | CPU s (least)  | wall s |  MB |\n|---|--:|--:|--:|")
    agree = True
    for name, taken in table.items():
        cpu, wall, peak = (
            statistics.median(values)
            for values in zip(*((one.cpu, one.wall, one.peak_bytes / 1e6) for one in taken), strict=True)
        )
        print(f"| {name:<44} | {cpu:6.2f} ({min(one.cpu for one in taken):.2f}) | {wall:6.2f} | {peak:5.0f} |")
        for one in taken:
            if (one.states, one.generated) != (first.states, first.generated):
                print(f"{name} counts {one.states:,} states and {one.generated:,} generated", file=sys.stderr)
                agree = False
                break
    print(f"\nspin -a and gcc for one setting: {spin.build_cpu:.1f} s of processor time, not counted above.")
    best = min(
        (statistics.median(one.cpu for one in taken), name) for name, taken in table.items() if not name.startswith("acked")
    )
    mine = statistics.median(one.cpu for one in table["acked, search alone, one thread"])
    print(f"Processor time of acked's search on one thread: {mine / best[0]:.2f} of the others' least ({best[1]}).")
    return agree


def main() -> int:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each")
    parser.add_argument("--tlc", help="the jar of TLC, and of what it needs, as a class path; for the smallest instance")
    parser.add_argument("instances", nargs="*", metavar="INSTANCE", help=f"what is searched: {', '.join(INSTANCES)}")
    parser.add_argument("--search", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--spec", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        search_here(options.spec, options.search)
        return 0
    for program, remedy in (("spin", "apt-get install spin"), ("gcc", "apt-get install gcc")):
        if shutil.which(program) is None:
            print(f"{program} is not on this machine, and this benchmark runs it; try {remedy}", file=sys.stderr)
            return 2
    version = subprocess.run(["spin", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"$ python benchmarks/peers.py {' '.join(sys.argv[1:])}")
    print(f"{version}; {os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start")
    agree = [compare(INSTANCES[name], options.runs, options.tlc) for name in options.instances or ["small"]]
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
