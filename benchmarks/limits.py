"""The machine's own limits, to read the search's figures beside: random reads, what a second processor is worth, counters.

Two native loops in the subset of `checker/loops/language.py`, and what they measure; and what a command executes, where the
processor's counters can be read.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from acked.checker.loops.language import P64, U64, prefetch
from acked.checker.loops.table import MIX_0 as SUMMAND
from acked.checker.loops.table import MIX_2 as FACTOR
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions
from acked.checker.native.machine import processor
from acked.checker.shards.shard import address, reserve

PROBES = 1 << 24
CELLS = 256
ROUNDS = 1_000_000


def probe(table: P64, mask: U64, seed: U64, n: U64) -> U64:
    """Reads n independent random slots of a table, prefetched."""
    total = 0
    x = seed
    ahead = seed
    for _k in range(64):
        ahead = ahead * FACTOR + SUMMAND
        prefetch(table, (ahead >> 20) & mask)
    for _k in range(n):
        ahead = ahead * FACTOR + SUMMAND
        prefetch(table, (ahead >> 20) & mask)
        x = x * FACTOR + SUMMAND
        total += table[(x >> 20) & mask]
    return total


def churn(cells: P64, n: U64) -> None:
    """Keeps a processor's arithmetic busy without memory: n rounds over cells that stay in its first cache."""
    for _k in range(n):
        for c in range(CELLS):
            cells[c] = (cells[c] ^ (cells[c] >> 7)) * FACTOR + SUMMAND


@cache  # an engine that is gone takes its code with it
def _loaded() -> Kernel:
    return Kernel(ObjectCode(processor(), (compile_functions((probe, churn), {}),)))


def nanoseconds_a_read(slots: int) -> float:
    """An independent, prefetched random read of 8 bytes in a table of so many slots, a power of two; median of three."""
    table = reserve(slots, huge=True)
    for page in range(0, slots, 512):
        table[page] = 1
    read = _loaded().function("probe", 4)
    times = []
    for seed in range(3):
        begin = time.perf_counter()
        read(address(table), slots - 1, seed, PROBES)
        times.append((time.perf_counter() - begin) / PROBES * 1e9)
    return statistics.median(times)


def worth_of_a_second_processor() -> float:
    """Arithmetic that two threads do at once, over what one does: 2 on two cores, 1 on two threads of one core."""
    work = _loaded().function("churn", 2)
    cells = [reserve(CELLS) for _ in range(2)]

    def seconds(threads: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            begin = time.perf_counter()
            for done in [pool.submit(work, address(cells[k]), ROUNDS) for k in range(threads)]:
                done.result()
            return time.perf_counter() - begin

    return 2 * seconds(1) / seconds(2)


def first_touch(size: int) -> float:
    """Seconds until memory of so many bytes is there: part of every search, and a matter of the machine."""
    region = reserve(size // 8, huge=True)
    begin = time.perf_counter()
    ctypes.memset(region, 1, size)
    return time.perf_counter() - begin


def instructions_and_cycles(command: Sequence[str]) -> tuple[int, int] | None:
    """What a command executes, by Linux's `perf stat`; None where there is none, or a virtual machine shows no counters."""
    try:
        counted = ["perf", "stat", "-x", ",", "-e", "instructions:u,cycles:u", *command]
        told = subprocess.run(counted, capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return None
    counts = [line.partition(",")[0] for line in told.splitlines() if ":u" in line]
    return (int(counts[0]), int(counts[1])) if len(counts) == 2 and all(map(str.isdigit, counts)) else None
