"""Measures acked beside SPIN on the same state space: counts that must agree, processor seconds, wall seconds, memory.

Ends with 1 if a count differs. Needs SPIN (`apt-get install spin`) and gcc; says so if one is missing. `peers.md` reads the
figures.

    python benchmarks/peers.py [--runs N] [--large]
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks"))

from local import acked  # noqa: E402

from acked.base.bounds import Bounds  # noqa: E402
from acked.checker.question.question import Question  # noqa: E402
from acked.checker.search.local import LocalSearch  # noqa: E402
from acked.checker.spec.resolve import property_named, protocol_named  # noqa: E402
from benchmarks.parts.promela import MODEL, twin  # noqa: E402

INVARIANTS = ("WeakIsr", "StrongIsr")
MOST_ENABLED = 16
"""More actions than are ever enabled at once in the states measured here; SPIN's model stops where it is too low."""

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
class Measured:
    """One run: seconds on the clock and of the processor, bytes at the peak, and what was counted."""

    wall: float
    cpu: float
    peak_bytes: int
    states: int
    generated: int


def question(constants: Mapping[str, int]) -> Question:
    """kip320 with the two invariants of its in-sync replicas."""
    protocol = protocol_named("kip320")
    return Question(protocol.instantiate(constants), tuple(property_named(protocol, name) for name in INVARIANTS))


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

    def __init__(self, asked: Question, settings: Sequence[Setting], slots: int, folder: Path) -> None:
        self._slots = slots
        self._folder = folder
        for name, text in twin(asked, MOST_ENABLED).items():
            (folder / name).write_text(text)
        self.build_cpu = finish(["spin", "-a", MODEL], folder, {})[2]
        for number, setting in enumerate(settings):
            command = ["gcc", *COMMON, *setting.flags, "-o", f"pan{number}", "pan.c"]
            cpu = finish(command, folder, {})[2]
            if number == 0:
                self.build_cpu += cpu

    def run(self, number: int, setting: Setting) -> Measured:
        """One verification."""
        arguments = ["-E", "-n", "-m10000", f"-w{setting.slots or self._slots}", *setting.arguments]
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


def command(constants: Mapping[str, int], workers: int, folder: Path) -> Measured:
    """One whole `acked check`."""
    spec = folder / "kip320.toml"
    if not spec.exists():
        lines = [*(f"{name} = {value}" for name, value in constants.items()), "[check]", f"invariants = {list(INVARIANTS)}"]
        spec.write_text("\n".join(['title = "kip320"', 'protocol = "kip320"', "[constants]", *lines, ""]))
    arguments = [*acked(), "check", str(spec), "-w", str(workers), "--format", "json", "--quiet"]
    text, wall, cpu, peak = finish(arguments, ROOT, {})
    answer = json.loads(text)
    if answer["verdict"] != "holds":
        raise SystemExit(f"acked says {answer['verdict']} of kip320")
    return Measured(wall, cpu, peak, answer["distinct_states"], answer["generated_states"])


def search(constants: Mapping[str, int], workers: int) -> Measured:
    """One search of acked's in a process of its own, from the first state on; its memory is that of states and table."""
    given = json.dumps(dict(constants))
    text, _, _, _ = finish([sys.executable, __file__, "--search", str(workers), "--constants", given], ROOT, {})
    return Measured(**json.loads(text.splitlines()[-1]))


def search_here(constants: Mapping[str, int], workers: int) -> None:
    """What `search` runs."""
    asked = question(constants)
    engine = LocalSearch(asked, Bounds(workers))
    wall, cpu = time.perf_counter(), time.process_time()
    result = engine.run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({
        "wall": wall, "cpu": cpu, "peak_bytes": result.memory_bytes,
        "states": result.distinct_states, "generated": result.generated_states,
    }))  # fmt: skip


def compare(title: str, constants: Mapping[str, int], settings: Sequence[Setting], slots: int, runs: int) -> bool:
    """Measures one instance by turns and prints its table; whether all counts agree."""
    folder = Path(tempfile.mkdtemp(prefix="peers-"))
    try:
        spin = Spin(question(constants), settings, slots, folder)
        ways: list[tuple[str, Callable[[], Measured]]] = [
            (f"acked, search alone, {many}", lambda w=w: search(constants, w))  # type: ignore[misc]
            for w, many in ((1, "one thread"), (2, "two threads"))
        ]
        ways += [
            (f"acked check, command to verdict, {many}", lambda w=w: command(constants, w, folder))  # type: ignore[misc]
            for w, many in ((1, "one thread"), (2, "two threads"))
        ]
        ways += [(setting.name, lambda n=n, s=setting: spin.run(n, s)) for n, setting in enumerate(settings)]  # type: ignore[misc]
        ways[2][1]()  # compiles what is not in the cache yet
        table: dict[str, list[Measured]] = {name: [] for name, _ in ways}
        for _ in range(runs):
            for name, measure in ways:
                table[name].append(measure())
    finally:
        shutil.rmtree(folder)
    first = next(iter(table.values()))[0]
    print(f"\n{title}: {first.states:,} states, {first.generated:,} generated; medians of {runs} runs by turns\n")
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
        (statistics.median(one.cpu for one in taken), name) for name, taken in table.items() if name.startswith("SPIN")
    )
    mine = statistics.median(one.cpu for one in table["acked, search alone, one thread"])
    print(f"Processor time of acked's search on one thread: {mine / best[0]:.2f} of the least of SPIN's ({best[1]}).")
    return agree


def main() -> int:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each")
    parser.add_argument("--large", action="store_true", help="also the instance with ten million states")
    parser.add_argument("--search", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--constants", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        search_here(options.constants, options.search)
        return 0
    for program, remedy in (("spin", "apt-get install spin"), ("gcc", "apt-get install gcc")):
        if shutil.which(program) is None:
            print(f"{program} is not on this machine, and this benchmark runs it; try {remedy}", file=sys.stderr)
            return 2
    version = subprocess.run(["spin", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"$ python benchmarks/peers.py --runs {options.runs}{' --large' if options.large else ''}")
    print(f"{version}; {os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start")
    small = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
    agree = compare("kip320 (3, 2, 2, 2)", small, SETTINGS, 22, options.runs)
    if options.large:
        rest = [setting for setting in SETTINGS if not setting.is_small]
        agree &= compare("kip320 (3, 2, 2, 3)", {**small, "max_leader_epoch": 3}, rest, 26, options.runs)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
