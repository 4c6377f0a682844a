"""Measures the local search: rates, memory per state, start-up, and the distance from the machine's own limit.

Whole commands run several times in turn, with medians, beside what the machine itself can do in the same minutes. Every
figure is printed with the command that reproduces it.

    python benchmarks/local.py [--runs N] [--spec NAME]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SMALL = ("-c", "replicas=1", "-c", "log_size=1", "-c", "max_records=1", "-c", "max_leader_epoch=0")


@dataclass(frozen=True)
class Run:
    """One finished command: wall and processor seconds and peak resident bytes of the process, and the JSON it printed."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    answer: dict[str, Any]


def acked() -> list[str]:
    """The command of this checkout's environment."""
    beside = Path(sys.executable).with_name("acked")
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "acked"]


def run(
    arguments: Sequence[str], environment: Mapping[str, str] | None = None, program: Sequence[str] | None = None
) -> Run:
    """Runs one `acked` command and waits for it, with the operating system's own account of its memory."""
    return run_at_once(1, arguments, environment, program)[0]


def run_at_once(
    copies: int,
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] | None = None,
) -> list[Run]:
    """Runs one command, of this checkout or another program's, several times side by side, and waits for all."""
    command = [*(program or acked()), *arguments, "--format", "json", "--quiet"]
    with ExitStack() as files:
        outs = [files.enter_context(tempfile.TemporaryFile()) for _ in range(copies)]
        begin = time.perf_counter()
        every = {**os.environ, **(environment or {})}
        children = [subprocess.Popen(command, stdout=out, env=every, cwd=ROOT) for out in outs]
        runs = []
        for child, out in zip(children, outs, strict=True):
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.perf_counter() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode != 0:
                raise SystemExit(f"{' '.join(command)} ended with {child.returncode}")
            out.seek(0)
            runs.append(Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, json.load(out)))
        return runs


def show(what: str, values: Sequence[float], unit: str, command: Sequence[str] | None) -> None:
    """One figure: median, least and greatest, and how to get it again if not by this benchmark alone."""
    print(
        f"{what:<44} {statistics.median(values):>10,.2f} {unit:<12} "
        f"({min(values):,.2f} to {max(values):,.2f}, {len(values)} runs)"
        + (f"\n{'':<44} $ acked {' '.join(command)}" if command else "")
    )


def millions(runs: Sequence[Run], key: str, seconds: str | None) -> list[float]:
    """Millions of `key` a second, by the answer's own seconds or (None) by the whole command's."""
    return [item.answer[key] / (item.answer[seconds] if seconds else item.seconds) / 1e6 for item in runs]


def on_provided_memory(spec: str, states: int, workers: int) -> float:
    """Seconds of a search in this process whose memory is there before it begins."""
    from acked.base.bounds import Bounds
    from acked.checker.loops import slots, table
    from acked.checker.search.local import LocalSearch
    from acked.checker.shards.shard import address
    from acked.reports.shell.specs import find_spec

    class Provided(LocalSearch):
        def _set_up(self) -> None:
            super()._set_up()
            share = states // workers * 21 // 20
            for shard in self.shards:
                # A table may just have grown by half.
                entries = share * table.LOAD_DENOMINATOR // table.LOAD_NUMERATOR * 3 // 2
                part = shard.context[slots.TABLE] + shard.context[slots.STRIDE] * shard.context[slots.WORKER]
                for start, size in ((address(shard.states), 8 * shard.words * share), (part, 8 * entries)):
                    ctypes.memset(start, 0, size)

    return Provided(find_spec(spec).question(), Bounds(workers), keeps_states=True).run().seconds


def main() -> None:
    """Runs and prints everything."""
    sys.path.insert(0, str(ROOT))
    import limits

    from acked.checker.loops import table

    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    parser.add_argument("--spec", default="kip320-large", help="the spec to measure with")
    options = parser.parse_args()
    print(f"$ python benchmarks/local.py --runs {options.runs} --spec {options.spec}")
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.2f} at the start\n")

    one, two, small = ["check", options.spec, "-w", "1"], ["check", options.spec, "-w", "2"], ["check", "kip320", *SMALL]
    wide = ["check", "partition", "-w", "1"]
    run(one)  # compiles, and touches memory once: its time is not counted
    run(wide)
    singles, doubles, pairs, smalls, wides, worths = [], [], [], [], [], []
    for _ in range(options.runs):
        singles.append(run(one))
        wides.append(run(wide))
        doubles.append(run(two))
        worths.append(limits.worth_of_a_second_processor())
        pairs.append(run_at_once(2, one))
        smalls.append(run(small))
    first = singles[0].answer
    states, generated = first["distinct_states"], first["generated_states"]
    print(f"{options.spec}: {states:,} distinct and {generated:,} generated states, verdict {first['verdict']}")
    show("one worker, search alone", millions(singles, "generated_states", "seconds"), "M gen/s", one)
    show("one worker, command to verdict", millions(singles, "generated_states", None), "M gen/s", one)
    show("two workers, search alone", millions(doubles, "generated_states", "seconds"), "M gen/s", two)
    show("partition, one worker, search alone", millions(wides, "generated_states", "seconds"), "M gen/s", wide)
    rates = [millions(runs, "generated_states", "seconds") for runs in (wides, singles)]
    show(f"... over {options.spec}'s, pair by pair", [a / b for a, b in zip(*rates, strict=True)], "times", None)
    gains = [a.answer["seconds"] / b.answer["seconds"] for a, b in zip(singles, doubles, strict=True)]
    show("two workers over one, pair by pair", gains, "times", two)
    # What two processors of this machine give to arithmetic, and to searches that share nothing but its memory.
    show("two threads of arithmetic over one", worths, "times", None)
    apart = [sum(a.answer["seconds"] / b.answer["seconds"] for b in pair) for a, pair in zip(singles, pairs, strict=True)]
    show("two separate searches at once, over one", apart, "times", one)
    there = [[on_provided_memory(options.spec, states, w) for w in (1, 2)] for _ in range(options.runs)]
    show("... states kept, memory there before", [a / b for a, b in there], "times", None)
    start = statistics.median(item.peak_bytes for item in smalls)
    for name, runs, command in (("one worker", singles, one), ("two workers", doubles, two), ("partition", wides, wide)):
        per_state = [(r.peak_bytes - start) / r.answer["distinct_states"] for r in runs]
        show(f"{name}, peak memory less start-up's", per_state, "bytes/state", command)
    show("smallest spec, caches warm", [item.seconds for item in smalls], "s", small)
    colds = []
    for _ in range(options.runs):
        fresh = tempfile.mkdtemp()
        colds.append(run(small, {"ACKED_CACHE_DIR": fresh}).seconds)
        shutil.rmtree(fresh)
    show("smallest spec, nothing compiled yet", colds, "s", small)

    limit = limits.nanoseconds_a_read(
        1 << (states * table.LOAD_DENOMINATOR // table.LOAD_NUMERATOR - 1).bit_length()
    )
    spent = statistics.median(item.answer["seconds"] for item in singles) / generated * 1e9
    print(f"\n{'random prefetched reads of such a table':<44} {limit:>10,.2f} ns each")
    print(f"{'one worker, per generated state':<44} {spent:>10,.2f} ns, {spent / limit:.1f} times that limit")
    counts, start_up = (limits.instructions_and_cycles([*acked(), *command, "--quiet"]) for command in (one, small))
    if counts is None or start_up is None:
        print("instructions and cycles a generated state cannot be read here (perf stat)")
    else:
        for what, whole, begun in zip(("instructions", "cycles"), counts, start_up, strict=True):
            print(f"{f'{what} a generated state, less start-up':<44} {(whole - begun) / generated:>10,.1f}")
    size = int(statistics.median(item.peak_bytes for item in singles) - start)
    touched = limits.first_touch(size)
    print(f"{'first touch of as much memory':<44} {touched:>10,.2f} s for {size / 1e6:,.0f} MB, by one thread")


if __name__ == "__main__":
    main()
