"""Measures what the solver does: induction of KIP-320, and bounded model checking beside the search.

What lives here: whole commands run several times in turn, with medians. What does not: pass or fail; machines differ and are
noisy. Every figure is printed with the command that reproduces it.

    python benchmarks/symbolic.py [--runs N] [--only TEXT] [--large] [--refutations]
"""

from __future__ import annotations

import argparse
import json
import os
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
    """One finished command: wall seconds of the process, and the JSON it printed."""

    seconds: float
    answer: dict[str, Any]


def acked() -> list[str]:
    """The command of this checkout's environment."""
    beside = Path(sys.executable).with_name("acked")
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "acked"]


def run(arguments: Sequence[str], codes: Sequence[int]) -> Run:
    """Runs one `acked` command, which must end with one of the codes."""
    command = [*acked(), *arguments, "--format", "json", "--quiet"]
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return Run(seconds, json.loads(done.stdout))


def constants(*numbers: int) -> list[str]:
    """The options that bind the family's constants."""
    return [text for name, number in zip(NAMES, numbers, strict=True) for text in ("-c", f"{name}={number}")]


def show(what: str, runs: Sequence[Run], command: Sequence[str]) -> None:
    """One figure: median, least and greatest of the whole command and of the work alone, and how to get it again."""
    wall = [item.seconds for item in runs]
    work = statistics.median(item.answer["seconds"] for item in runs)
    spread = f"{min(wall):,.2f} to {max(wall):,.2f}, {len(wall)} runs"
    print(f"{what:<52} {statistics.median(wall):>8,.2f} s  ({spread}; {work:,.2f} s without start-up)")
    print(f"{'':<52} $ acked {' '.join(command)}")


def main() -> None:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    parser.add_argument("--only", default="", help="only what has this text in its name")
    parser.add_argument("--large", action="store_true", help="also (5,5,5,5) and (7,7,7,7), once each: minutes")
    parser.add_argument(
        "--refutations", action="store_true", help="also the shortest violations that take bmc longest, once each: minutes"
    )
    options = parser.parse_args()
    print(f"$ python benchmarks/symbolic.py --runs {options.runs}{' --large' if options.large else ''}")
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start\n")

    whole = ["--method", "induction", "--timeout", "7200"]
    questions = [
        ("induction of kip320 (3,2,2,2)", ["prove", "kip320", *whole], [0]),
        ("induction of kip320 (5,3,3,3)", ["prove", "kip320", *constants(5, 3, 3, 3), *whole], [0]),
        ("(5,3,3,3) without symmetry", ["prove", "kip320", *constants(5, 3, 3, 3), *whole, "--no-symmetry"], [0]),
        ("bmc of kip320 (3,2,2,2), 8 actions, no violation", ["prove", "kip320", "--depth", "8"], [152]),
        ("bmc of kip320, 8 actions, without symmetry", ["prove", "kip320", "--depth", "8", "--no-symmetry"], [152]),
        ("shortest violation of truncate-to-hw, bmc", ["prove", "truncate-to-hw", "--depth", "12"], [12]),
        ("shortest violation of truncate-to-hw, search", ["check", "truncate-to-hw"], [12]),
        ("shortest violation of kip101, bmc", ["prove", "kip101", "--depth", "12"], [12]),
        ("shortest violation of kip101, search", ["check", "kip101"], [12]),
    ]
    for what, command, codes in questions:
        if options.only not in what:
            continue
        show(what, [run(command, codes) for _ in range(options.runs)], command)
    if options.large:
        for numbers in ((5, 5, 5, 5), (7, 7, 7, 7)):
            command = ["prove", "kip320", *constants(*numbers), *whole]
            show(f"induction of kip320 {numbers}".replace(" ", " "), [run(command, [0])], command)
    if options.refutations:
        for name in ("kip101", "kip279", "kip320-first-try"):
            for engine in (["prove", name, "--depth", "12", "--timeout", "7200"], ["check", name]):
                done = run(engine, [12])
                length = done.answer["violations"][0]["trace_length"]
                show(f"shortest violation of {name}, {length} states", [done], engine)


if __name__ == "__main__":
    main()
