"""This checkout's search against another checkout's, such as the commit before a change, in pairs in the same minutes.

For each question: generated states a second of the search alone, processor time of the command, and bytes a state (what a
search says of its table and its states); ratios are taken pair by pair. The tight setting gives a search so little memory
that its table grows by small steps near the end.

    git worktree add ../before COMMIT && make -C ../before setup
    python benchmarks/against.py ../before [SPEC …] [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from local import Run, millions, run, run_at_once

TIGHT = {"kip320-large": "150MB", "partition": "130MB"}
"""About 15 and 22 bytes a state."""
SPECS = ("kip320", "kip320-large", "partition", "transactions")


def row(what: str, mine: Sequence[Run], others: Sequence[Run]) -> None:
    """Prints one comparison."""
    rates, before = (millions(runs, "generated_states", "seconds") for runs in (mine, others))
    pairs = [a / b for a, b in zip(rates, before, strict=True)]
    processor = [b.cpu_seconds / a.cpu_seconds for a, b in zip(mine, others, strict=True)]
    sizes = [
        statistics.median(one.answer["memory_bytes"] / one.answer["distinct_states"] for one in runs)
        for runs in (mine, others)
    ]
    speed, work = (f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})" for each in (pairs, processor))
    print(
        f"{what:<36} {statistics.median(rates):6.1f} M/s, before {statistics.median(before):6.1f}: {speed} times, "
        f"by the command's processor time {work}; {sizes[0]:.1f} bytes a state, before {sizes[1]:.1f}",
        flush=True,
    )


def main() -> None:
    """Runs and prints everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="a checkout that is set up")
    parser.add_argument("--runs", type=int, default=7, help="pairs of runs")
    parser.add_argument("specs", nargs="*", default=SPECS)
    options = parser.parse_args()
    other = [str(options.other / ".venv" / "bin" / "acked")]
    print(f"$ python benchmarks/against.py {options.other} {' '.join(options.specs)} --runs {options.runs}")
    for spec in options.specs:
        for workers in (1, 2):
            asked = ["check", spec, "-w", str(workers)]
            settings = {"": asked}
            if workers == 1 and spec in TIGHT:
                settings[f", --memory {TIGHT[spec]}"] = [*asked, "--memory", TIGHT[spec]]
            for setting, command in settings.items():
                for program in (None, other):
                    run(command, program=program)  # compiles, and touches memory once: its time is not counted
                mine, others = [], []
                for _ in range(options.runs):
                    mine.append(run(command))
                    others.append(run(command, program=other))
                row(f"{spec} -w {workers}{setting}", mine, others)
    for spec in options.specs:
        one, two = (["check", spec, "-w", str(workers)] for workers in (1, 2))
        gains, apart = [], []
        for _ in range(options.runs):
            single = run(one)
            gains.append(single.answer["seconds"] / run(two).answer["seconds"])
            apart.append(sum(single.answer["seconds"] / each.answer["seconds"] for each in run_at_once(2, one)))
        print(f"{spec}: two workers over one {statistics.median(gains):.2f} ({min(gains):.2f} to {max(gains):.2f}); "
              f"two separate searches {statistics.median(apart):.2f} ({min(apart):.2f} to {max(apart):.2f})")  # fmt: skip


if __name__ == "__main__":
    main()
