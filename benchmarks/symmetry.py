"""Measures what symmetry reduction is worth: the same spec with and without it, by turns.

Whole commands, each pair one after the other, and the median of the pairs' ratios, so that a machine that is busy for a while
slows both.

    python benchmarks/symmetry.py [--runs N] [--spec NAME] [--workers N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from local import Run, run


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs")
    parser.add_argument("--spec", default="kip320-large", help="the spec to measure with")
    parser.add_argument("--workers", type=int, default=1, help="threads of each search")
    options = parser.parse_args()
    command = ["check", options.spec, "-w", str(options.workers)]
    print(f"$ python benchmarks/symmetry.py --runs {options.runs} --spec {options.spec} --workers {options.workers}")
    run(command)  # compiles, and touches memory once
    run([*command, "--symmetry"])
    pairs = [(run(command), run([*command, "--symmetry"])) for _ in range(options.runs)]
    plain, reduced = (side[0].answer for side in zip(*pairs, strict=True))
    print(f"without: {plain['distinct_states']:,} states, {plain['memory_bytes']:,} bytes, verdict {plain['verdict']}")
    print(f"with:    {reduced['distinct_states']:,} states, {reduced['memory_bytes']:,} bytes, verdict {reduced['verdict']}")
    show("command to verdict", [(a.seconds, b.seconds) for a, b in pairs])
    show("its processor time", [(a.cpu_seconds, b.cpu_seconds) for a, b in pairs])
    show("search alone", [(searching(a), searching(b)) for a, b in pairs])


def searching(item: Run) -> float:
    """Seconds of the search alone."""
    return float(item.answer["seconds"])


def show(what: str, pairs: list[tuple[float, float]]) -> None:
    """One line: both medians, and the median of the ratios with their range."""
    ratios = sorted(a / b for a, b in pairs)
    plain, reduced = (statistics.median(side) for side in zip(*pairs, strict=True))
    gain = f"{statistics.median(ratios):5.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    print(f"{what:<20} {plain:6.2f} s  {reduced:6.2f} s  {gain}")


if __name__ == "__main__":
    main()
