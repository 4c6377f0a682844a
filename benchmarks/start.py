"""What commands take before anything is searched: help, completion, lists, reading a protocol, and the first compilation.

Wall and processor seconds of whole commands, medians; beside another checkout's, such as the commit before a change, in turn.

With --audits whole audits instead, by what ships and by search; with --long 200 topics are searched, too; with --brokers
those of three real brokers, which this machine starts. With --gate the gate of a folder, with nothing in the cache, then with
what was compiled.

    python benchmarks/start.py [--runs N] [--only TEXT] [--audits] [--long] [--brokers] [--gate FOLDER] [--other ../before]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from local import ROOT, SMALL, acked
from parts.audits import print_audits, print_of_brokers

COMPLETING = {"_ACKED_COMPLETE": "bash_complete"}

COMMANDS: tuple[tuple[str, tuple[str, ...], Mapping[str, str]], ...] = (
    ("acked --help", ("--help",), {}),
    ("acked --version", ("--version",), {}),
    ("acked <TAB>", (), {**COMPLETING, "COMP_WORDS": "acked ", "COMP_CWORD": "1"}),
    ("acked check kip<TAB>", (), {**COMPLETING, "COMP_WORDS": "acked check kip", "COMP_CWORD": "2"}),
    ("acked list", ("list",), {}),
    ("acked list specs acks", ("list", "specs", "acks"), {}),
    ("acked check kip320, smallest", ("check", "kip320", *SMALL), {}),
    ("acked check delivery", ("check", "delivery"), {}),
    ("acked check truncate-to-hw", ("check", "truncate-to-hw"), {}),
    ("acked check kafka13727-bug", ("check", "kafka13727-bug"), {}),
    ("acked check transactions", ("check", "transactions"), {}),
    ("acked check partition", ("check", "partition"), {}),
)
"""Each with what it is called here, its arguments and its environment."""


def timed(program: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Wall and processor seconds of one command."""
    begin = time.perf_counter()
    every = {**os.environ, **environment}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    child = subprocess.Popen([*program, *arguments], **quiet, env=every, cwd=ROOT)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def print_gate(programs: Sequence[Sequence[str]], folder: Path) -> None:
    """The gate of a folder by two processes, of each program in turn."""
    with tempfile.TemporaryDirectory() as kept:
        for again in ("nothing compiled", "compiled"):
            for at, program in enumerate(programs):
                cache = Path(kept, str(at))
                cache.mkdir(mode=0o700, exist_ok=True)
                arguments = ("gate", str(folder.resolve()), "--no-cache", "-j", "2")
                wall, processor = timed(program, arguments, {"ACKED_CACHE_DIR": str(cache)})
                print(f"gate{', before' if at else ''}: {again:<20} {wall:7.2f} /{processor:7.2f}", flush=True)


def main() -> None:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    parser.add_argument("--only", default="", metavar="TEXT", help="only commands with this in their names")
    parser.add_argument("--audits", action="store_true", help="time audits")
    parser.add_argument("--long", action="store_true", help="time a search for 200 topics, too")
    parser.add_argument("--brokers", action="store_true", help="time audits of three real brokers")
    parser.add_argument("--gate", type=Path, metavar="FOLDER", help="time the gate of a folder")
    parser.add_argument("--other", type=Path, help="a checkout that is set up")
    options = parser.parse_args()
    programs = [acked()] if options.other is None else [acked(), [str(options.other / ".venv" / "bin" / "acked")]]
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start; wall / processor seconds")
    if options.audits:
        print_audits(programs, options.long)
        return
    if options.brokers:
        print_of_brokers(programs, options.runs)
        return
    if options.gate is not None:
        print_gate(programs, options.gate)
        return
    for is_first in (False, True):
        print("\nwith nothing in the cache" if is_first else "\nas it was asked before")
        for name, arguments, environment in (command for command in COMMANDS if options.only in command[0]):
            runs: list[list[tuple[float, float]]] = [[] for _ in programs]
            caches = [tempfile.mkdtemp() for _ in programs]
            for at in range(options.runs + 1):
                for program, cache, found in zip(programs, caches, runs, strict=True):
                    if is_first:
                        shutil.rmtree(cache)
                        os.mkdir(cache, 0o700)
                    taken = timed(program, arguments, {**environment, "ACKED_CACHE_DIR": cache})
                    if at:  # The first compiles, and reads what is not in memory.
                        found.append(taken)
            for cache in caches:
                shutil.rmtree(cache)
            figures = [tuple(map(statistics.median, zip(*found, strict=True))) for found in runs]
            shown = [f"{wall:5.2f} /{processor:5.2f}" for wall, processor in figures]
            print(f"{name:<28} {', before '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
