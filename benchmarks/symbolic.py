"""Measures what the solver does: induction of KIP-320, and bounded model checking beside the search.

Every figure is printed with the command that reproduces it.

    python benchmarks/symbolic.py [--runs N] [--only TEXT] [--large] [--refutations]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")


@dataclass(frozen=True)
class Run:
    """One finished command: wall and processor seconds, those of its solver processes with them, and the JSON it printed."""

    seconds: float
    processor: float
    answer: dict[str, Any]


def acked() -> list[str]:
    """The command of this checkout's environment."""
    beside = Path(sys.executable).with_name("acked")
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "acked"]


def run(arguments: Sequence[str], codes: Sequence[int]) -> Run:
    """Runs one `acked` command, which must end with one of the codes."""
    command = [*acked(), *arguments, "--format", "json", "--quiet"]
    begin, used = time.perf_counter(), processor_seconds()
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=False)
    seconds, used = time.perf_counter() - begin, processor_seconds() - used
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return Run(seconds, used, json.loads(done.stdout))


def processor_seconds() -> float:
    """What the commands run so far have computed; it does not depend on what else the machine is busy with."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def constants(*numbers: int) -> list[str]:
    """The options that bind the family's constants."""
    return [text for name, number in zip(NAMES, numbers, strict=True) for text in ("-c", f"{name}={number}")]


def show(what: str, runs: Sequence[Run], command: Sequence[str]) -> None:
    """One figure: median, least and greatest of the whole command and of the work alone, and how to get it again."""
    wall = [item.seconds for item in runs]
    work = statistics.median(item.answer["seconds"] for item in runs)
    spread = f"{min(wall):,.2f} to {max(wall):,.2f} of {len(wall)}"
    used = statistics.median(item.processor for item in runs)
    more = f"{spread}; {work:,.2f} s without start-up, {used:,.2f} s computing"
    print(f"{what:<52} {statistics.median(wall):>8,.2f} s  ({more})")
    print(f"{'':<52} $ acked {' '.join(command)}")


def main() -> None:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    parser.add_argument("--only", default="", help="only what has this text in its name")
    parser.add_argument("--large", action="store_true", help="also (5,5,5,5), (7,7,7,7) and (9,8,8,8), once each: minutes")
    parser.add_argument(
        "--refutations",
        action="store_true",
        help="instead: the shortest violation of each older variant by bmc, and by search, once each: minutes",
    )
    options = parser.parse_args()
    print(f"$ python benchmarks/symbolic.py {' '.join(sys.argv[1:])}".rstrip())
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start\n")

    whole = ["--timeout", "7200"]
    if options.refutations:
        refutations(options.runs)
        return
    questions = [
        ("induction of kip320 (3,2,2,2)", ["prove", "induction", "kip320", *whole], [0]),
        ("induction of kip320 (5,3,3,3)", ["prove", "induction", "kip320", *constants(5, 3, 3, 3), *whole], [0]),
        ("(5,3,3,3) without symmetry", ["prove", "kip320", *constants(5, 3, 3, 3), *whole, "--no-symmetry"], [0]),
        ("bmc of kip320 (3,2,2,2), 8 actions, no violation", ["prove", "bmc", "kip320", "--depth", "8"], [152]),
        ("bmc of kip320, 8 actions, without symmetry", ["prove", "bmc", "kip320", "--depth", "8", "--no-symmetry"], [152]),
        ("shortest violation of truncate-to-hw, bmc", ["prove", "bmc", "truncate-to-hw", "--depth", "12"], [12]),
        ("shortest violation of truncate-to-hw, search", ["check", "truncate-to-hw"], [12]),
        ("shortest violation of kip101, bmc", ["prove", "bmc", "kip101", "--depth", "12"], [12]),
        ("shortest violation of kip101, search", ["check", "kip101"], [12]),
    ]
    for what, command, codes in questions:
        if options.only not in what:
            continue
        show(what, [run(command, codes) for _ in range(options.runs)], command)
    if options.large:
        for numbers in ((5, 5, 5, 5), (7, 7, 7, 7), (9, 8, 8, 8)):
            command = ["prove", "induction", "kip320", *constants(*numbers), *whole]
            show(f"induction of kip320 {numbers}", [run(command, [0])], command)


VARIANTS = ("truncate-to-hw", "kip101", "kip279", "kip320-first-try")
LONGEST = 12
"""Actions of the longest of their shortest violations."""


def refutations(runs: int) -> None:
    """A row for each variant, with medians; that the engines' shortest runs differ in length ends it."""
    print(f"{'':<18} {'states of':>13} {'bmc':>20} {'search':>20}")
    print(f"{'variant':<18} {'shortest run':>13} {'wall':>10} {'computing':>9} {'wall':>10} {'computing':>9}")
    for name in VARIANTS:
        times, lengths = "", set()
        for command in (["prove", "bmc", name, "--depth", str(LONGEST), "--timeout", "7200"], ["check", name]):
            done = [run(command, [12]) for _ in range(runs)]
            lengths |= {item.answer["violations"][0]["trace_length"] for item in done}
            wall, used = (statistics.median(values) for values in zip(*((i.seconds, i.processor) for i in done), strict=True))
            times += f" {wall:>8,.2f} s {used:>7,.2f} s"
        if len(lengths) != 1:
            raise SystemExit(f"{name}: the shortest runs differ in length, {sorted(lengths)}; that is a defect")
        print(f"{name:<18} {lengths.pop():>13}{times}", flush=True)
    print(f"medians of {runs}: $ acked prove bmc VARIANT --depth {LONGEST} --timeout 7200, $ acked check VARIANT")


if __name__ == "__main__":
    main()
