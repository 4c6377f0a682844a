"""What a search of 10^9, 10^10 and 10^12 states would need: the simulation behind the table of docs/scale.md.

A model of one run, level by level, from measured rates and sizes and from assumptions about machines, and the table. Change a
number and run it again:

    python benchmarks/scale.py [--cores 16] [--memory 64] [--network 1.25] [--storage 5] [--price 0.8] [--slowest 1.25]
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from acked.checker.spark.grid import Place, columns_for

# Measured, with the commands that docs/scale.md names; two cores, local disk, kip320 at (3, 2, 2, 3).
RATE = 5.9e6
"""Distinct states a second of one task, its exchange included."""
GENERATED = 2.67
"""Generated states for each distinct one."""
PARCEL = 12
"""Bytes of a state on its way to its owner."""
RECORD = 11
"""Bytes of a stored state."""
IN_MEMORY = 15.5
"""Bytes of a state in a task's set, and of the two levels that are at hand."""
HAND_ON = 7e-9
"""Seconds that a task takes to hand on a candidate to another of its column."""
WALK = 5e-8
"""Seconds of a processor for a state of a level in which the source of another is looked for, the reading included."""
LEVEL = 0.0035
"""Seconds that a small level costs with two tasks."""
PROFILE = (
    1, 6, 30, 138, 594, 1854, 5673, 13923, 31362, 64401, 119877, 200070, 305475, 435318, 580302, 733053, 875298, 993060,
    1055667, 1049577, 964737, 824421, 649389, 465660, 300801, 173901, 88686, 36948, 11952, 3000, 390, 6,
)  # fmt: skip
"""States by level of the measured space; a larger space is taken to have this shape, over more levels."""

# Assumed.
SMALL_READ = 0.0005
"""Seconds of one small read from a shared file system: what a task says of a level, which the driver reads."""
SMALL_FRAME = 0.00002
"""Seconds of the least that a task tells another on a level, by a connection that stands: that there is no more."""
USABLE = 0.75
"""Of an executor's memory, what states may take."""
KEPT = 0.023 / 30
"""Dollars for a gigabyte that an object store keeps for a day."""
REQUEST = 0.005 / 1000
"""Dollars for writing one object: a task's part of a level."""


@dataclass(frozen=True)
class Machine:
    """An executor: cores, gigabytes of memory, gigabytes a second of its network; the shared storage; dollars an hour.

    `slowest` is how many times as long the slowest of them takes for the same work.
    """

    cores: int
    memory: float
    network: float
    storage: float
    price: float
    slowest: float


@dataclass(frozen=True)
class Run:
    """What one run takes; seconds by cause are those in which that cause was what the others waited for.

    `trace` is seconds to walk back from a violation of the last level, `kept` dollars to store the run and keep it for a day.
    """

    states: float
    executors: int
    tasks: int
    met: int
    levels: int
    moved: float
    stored: float
    seconds: float
    trace: float
    kept: float
    by_cause: dict[str, float]

    @property
    def saturated(self) -> str:
        """What most of the time was spent on."""
        return max(self.by_cause, key=lambda cause: self.by_cause[cause])


def simulate(states: float, machine: Machine) -> Run:
    """One run on as few executors as hold its states."""
    executors = math.ceil(states * IN_MEMORY / (machine.memory * 1e9 * USABLE))
    tasks = executors * machine.cores
    # From 0.74 to 10 million states, (3, 2, 2, 2) to (3, 2, 2, 3), levels grow from 26 to 32: as the states to the 0.08th.
    stretch = max(1, round((states / 1e7) ** 0.08))
    levels = [share / sum(PROFILE) * states / stretch for share in PROFILE for _ in range(stretch)]
    columns = columns_for(tasks)
    # What leaves the own column goes to a helper first; then what leaves the own row to its owner.
    hops = (1 - 1 / columns) + (1 - 1 / math.ceil(tasks / columns))
    met = max(len({*place.helpers, *place.helped, *place.mates}) for place in places(tasks, columns))
    by_cause = {"processors": 0.0, "network": 0.0, "shared storage": 0.0, "meetings": 0.0}
    moved = stored = trace = 0.0
    for level in levels:
        sent, kept = level * GENERATED * PARCEL * hops, level * RECORD
        handed_on = level * GENERATED * (1 - 1 / columns)
        most = skew(level, tasks)
        seconds = {
            "processors": (level / RATE + handed_on * HAND_ON) / tasks * most * machine.slowest,
            # What is sent goes from task to task; only what is kept goes to the shared folder.
            "network": (sent + kept) / (machine.network * 1e9 * executors) * most if executors > 1 else 0.0,
            "shared storage": kept / (machine.storage * 1e9),
        }
        slowest = max(seconds, key=lambda cause: seconds[cause])
        by_cause[slowest] += seconds[slowest]
        by_cause["meetings"] += LEVEL + SMALL_READ * max(tasks - 2, 0) + SMALL_FRAME * max(met - 1, 0)
        trace += max(level * WALK / tasks * machine.slowest, seconds["shared storage"]) + LEVEL
        moved, stored = moved + sent, stored + kept
    cost = stored / 1e9 * KEPT + tasks * len(levels) * REQUEST
    return Run(states, executors, tasks, met, len(levels), moved, stored, sum(by_cause.values()), trace, cost, by_cause)


def skew(states: float, tasks: int) -> float:
    """What the task with most states of a level has, by the average: a hash deals them out, which is uneven for few."""
    average = states / tasks
    return min(1 + math.sqrt(2 * math.log(tasks) / average), tasks) if tasks > 1 else 1.0


def places(tasks: int, columns: int) -> list[Place]:
    """All tasks in their grid."""
    return [Place(task, tasks, columns) for task in range(tasks)]


def size(number: float) -> str:
    """Bytes in decimal units."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            return f"{number:,.0f} {unit}"
        number /= 1000
    raise AssertionError


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def table(machine: Machine) -> str:
    """The Markdown table."""
    rows = [
        "| states | executors | tasks | a task meets | memory for states | moved | stored "
        "| time | a trace | cost | stored, a day | most of the time |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for exponent in (9, 10, 12):
        run = simulate(10.0**exponent, machine)
        cost = run.executors * run.seconds / 3600 * machine.price
        most = f"{run.saturated} ({run.by_cause[run.saturated] / run.seconds:.0%})"
        rows.append(
            f"| 10^{exponent} | {run.executors:,} | {run.tasks:,} | {run.met:,} | {size(run.states * IN_MEMORY)} | "
            f"{size(run.moved)} | {size(run.stored)} | {duration(run.seconds)} | {duration(run.trace)} | ${cost:,.2f} | "
            f"${run.kept:,.2f} | {most} |"
        )
    return "\n".join(rows)


def main() -> None:
    """Prints the table for the machines that the options describe."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--cores", type=int, default=16, help="cores of an executor")
    parser.add_argument("--memory", type=float, default=64, help="gigabytes of an executor")
    parser.add_argument("--network", type=float, default=1.25, help="gigabytes a second of an executor's network")
    parser.add_argument("--storage", type=float, default=5, help="gigabytes a second of the shared storage, all together")
    parser.add_argument("--price", type=float, default=0.8, help="dollars an hour for an executor")
    parser.add_argument("--slowest", type=float, default=1.25, help="how many times as long the slowest executor takes")
    asked = parser.parse_args()
    print(table(Machine(asked.cores, asked.memory, asked.network, asked.storage, asked.price, asked.slowest)))


if __name__ == "__main__":
    main()
