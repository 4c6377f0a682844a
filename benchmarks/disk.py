"""Measures a search that goes on when memory is full, beside one that has ten times as much.

Every run in memory is followed by one of the same question with `--disk` and a tenth of the memory that the first took; both
must say the same. The figures are medians, with the range, of the ratios pair by pair. What the disk itself costs depends on
the machine: files that were just written are read back from memory that the system has left.

    python benchmarks/disk.py [--runs N] [--spec NAME] [--share N]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from acked.base.bounds import Bounds
from acked.checker.question.question import Question
from acked.checker.question.result import Result
from acked.checker.search.local import search
from acked.checker.store.run_directory import RunDirectory
from acked.reports.shell.options import AskedSpec

SPECS = ("kip320-large", "partition")


def timed(question: Question, bounds: Bounds, folder: Path | None = None) -> tuple[Result, float]:
    """A search and the processor seconds that it took; with a folder, one that goes on there."""
    begin = time.process_time()
    if folder is None:
        return search(question, bounds), time.process_time() - begin
    with RunDirectory.create(folder, question) as run:
        return search(question, bounds, stored=run), time.process_time() - begin


def told(values: Sequence[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def compare(name: str, runs: int, share: int, workers: int) -> None:
    """Pairs of runs of a spec."""
    question = AskedSpec.from_options(name).load().question()
    whole, _ = timed(question, Bounds(workers))  # compiles: its time is not counted
    memory = whole.memory_bytes // share
    wall, processor = [], []
    stored = 0
    for _ in range(runs):
        here, here_seconds = timed(question, Bounds(workers))
        with tempfile.TemporaryDirectory(prefix="acked-bench-") as folder:
            there, there_seconds = timed(question, Bounds(workers, memory, beyond_memory=True), Path(folder) / "run")
            stored = sum(path.stat().st_size for path in (Path(folder) / "run" / "levels").iterdir())
        assert (here.level_sizes, here.generated_states, here.actions, here.verdict) == (
            there.level_sizes, there.generated_states, there.actions, there.verdict,
        ), "the searches disagree"  # fmt: skip
        wall.append(here.seconds / there.seconds)
        processor.append(here_seconds / there_seconds)
    print(f"\n{name}, {workers} workers: {whole.distinct_states:,} states, {whole.depth} levels")
    print(f"  MB of memory, and with --disk           {whole.memory_bytes / 1e6:,.0f} and {memory / 1e6:,.0f}")
    print(f"  stored                                  {stored / 1e6:,.0f} MB")
    print(f"  speed, in memory = 1                    {told(wall)}")
    print(f"  the same by processor time              {told(processor)}")


def main() -> None:
    """Measures every spec with one and two workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--share", type=int, default=10, help="how many times less memory than in memory")
    parser.add_argument("--spec", action="append", choices=SPECS)
    chosen = parser.parse_args()
    for name in chosen.spec or SPECS:
        for workers in (1, 2):
            compare(name, chosen.runs, chosen.share, workers)


if __name__ == "__main__":
    main()
