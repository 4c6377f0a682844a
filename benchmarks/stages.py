"""Where the nanoseconds of a search go: its stages, timed one by one over all states of a space, by one worker.

Every batch of the space is taken through the stages of a search once more, in the order in which the search found its states
and into an empty table, which grows as it did. The clock is read after every stage of a batch of a thousand states, which
costs half a nanosecond a state; no hardware counter is needed, and none may be readable in a virtual machine. It is that of
the thread's own processor time, so that what else the machine does counts no more than by the caches that it takes.

    python benchmarks/stages.py [--runs N] [--small] [SPEC …]
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from unittest.mock import patch

from acked.base.bounds import Bounds
from acked.checker.loops.language import P64, U64, at, call, minimum, p64
from acked.checker.loops.slots import ACTS, BLOCK, COLUMNS, GUARDS, HASHES, OUT, ROWS, UNPACK
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions, compile_optimized
from acked.checker.native.machine import processor
from acked.checker.native.shape import shape_of
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.plan import BATCH
from acked.checker.question.question import Question
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import Shard, address, alone, numbers
from acked.reports.shell.options import AskedSpec

SPECS = ("kip320", "kip320-large", "partition", "transactions")
SMALL = (
    "delivery", "truncate-to-hw", "kip320-2221", "vote-twice", "unclean-loses", "added-while-down", "coordinator-names",
    "kafka19850", "share-accepted-4-3", "txn-offsets-asked-first",
)  # fmt: skip
"""Three that hold, seven with a trace, of which two are found up to renaming."""

W = 1
"""The literal that the loop is compiled with; the value here only names it."""

# What the loop is given: functions of the search, the clock, and nanoseconds by stage.
NOTE_STATES, FIRE_ALL, HASH_ALL, INSERT, CLOCK, WHICH_CLOCK, MOMENT, NOW = range(8)
STAGES = ("unpack the states", "decide guards and invariants", "note violations", "list and fire successors",
          "hash them", "look them up and insert")  # fmt: skip
FIRST = 8
SLOTS = FIRST + len(STAGES)


def book(stages: P64, stage: U64) -> None:
    """Adds the time since the last call to a stage."""
    moment = p64(stages[MOMENT])
    call(stages[CLOCK], stages[WHICH_CLOCK], moment)
    now = moment[0] * 1000000000 + moment[1]
    stages[FIRST + stage] += now - stages[NOW]
    stages[NOW] = now


def in_stages(context: P64, stages: P64, states: P64, n: U64) -> U64:
    """Expands n states at an address stage by stage; returns how many successors they have."""
    moment = p64(stages[MOMENT])
    call(stages[CLOCK], stages[WHICH_CLOCK], moment)
    stages[NOW] = moment[0] * 1000000000 + moment[1]
    total = 0
    i = 0
    while i < n:
        m = minimum(BATCH, n - i)
        here = at(states, i * W)
        call(context[UNPACK], here, p64(context[COLUMNS]), (m + context[BLOCK] - 1) // context[BLOCK])
        book(stages, 0)
        call(context[GUARDS], p64(context[COLUMNS]), p64(context[ROWS]), (m + context[BLOCK] - 1) // context[BLOCK])
        book(stages, 1)
        call(stages[NOTE_STATES], context, here, m)
        book(stages, 2)
        k = call(stages[FIRE_ALL], context, here, m)
        book(stages, 3)
        call(stages[HASH_ALL], p64(context[OUT]), p64(context[HASHES]), k)
        book(stages, 4)
        call(stages[INSERT], context, p64(context[OUT]), p64(context[ACTS]), 0, k)
        book(stages, 5)
        total += k
        i += m
    return total


def expand_all(question: Question, found: Shard, kernel: Kernel, loop: Kernel) -> tuple[list[int], int]:
    """Nanoseconds by stage of expanding all states of a shard into an empty one, and how many were generated."""
    shape = shape_of(question.plan)
    shard = alone(shape, kernel, Bounds().memory)
    shard.insert(question.initial)
    moment = numbers([0, 0])
    stages = numbers([0] * SLOTS)
    for slot, name in ((NOTE_STATES, "note_states"), (FIRE_ALL, "fire_all"), (HASH_ALL, "hash_all"), (INSERT, "insert")):
        stages[slot] = kernel.address(name)
    stages[CLOCK] = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0
    stages[WHICH_CLOCK], stages[MOMENT] = time.CLOCK_THREAD_CPUTIME_ID, address(moment)
    generated = loop.function("in_stages", 4)(
        address(shard.context), address(stages), address(found.states), found.count
    )
    if shard.count != found.count:
        raise SystemExit(f"{shard.count} states were found again of {found.count}")
    return list(stages[FIRST:]), generated


def measure(name: str, runs: int) -> None:
    """Prints a table for a spec: nanoseconds a generated state by stage, medians."""
    question: Question = AskedSpec.from_options(name).load().question()
    searching = LocalSearch(question, Bounds(1), StopPolicy.EVERY_PROPERTY, keeps_states=True)
    result = searching.run()
    kernel = Kernel(compile_optimized(question.plan))
    words = question.instance.schema.words
    loop = Kernel(ObjectCode(processor(), (compile_functions((book, in_stages), {"W": words}),)))
    every = [expand_all(question, searching.shards[0], kernel, loop) for _ in range(runs)]
    generated = every[0][1]
    print(f"\n{name}: {result.distinct_states:,} distinct and {generated:,} generated states, {words} words a state")
    shares: Sequence[float] = [statistics.median(times[k] for times, _ in every) / generated for k in range(len(STAGES))]
    for stage, share in zip(STAGES, shares, strict=True):
        print(f"  {stage:<32} {share:6.2f} ns  {share / sum(shares):4.0%}")
    spent = result.seconds / generated * 1e9
    print(f"  {'all stages':<32} {sum(shares):6.2f} ns a generated state; the search before took {spent:.2f}")


def outside(name: str, runs: int) -> None:
    """Prints how many milliseconds a search of few states spends outside native code, when code is compiled and loaded."""
    native = [0.0]
    taken = Kernel.function

    def timed(kernel: Kernel, function: str, parameters: int) -> Callable[..., int]:
        work = taken(kernel, function, parameters)

        def run(*arguments: int) -> int:
            begin = time.thread_time()
            result = work(*arguments)
            native[0] += time.thread_time() - begin
            return result

        return run

    spent = []
    with patch.object(Kernel, "function", timed):
        for _ in range(runs + 1):
            question: Question = AskedSpec.from_options(name).load().question()
            _ = question.plan  # which is known before the search begins
            searching = LocalSearch(question, Bounds(1))
            native[0], begin = 0.0, time.thread_time()
            result = searching.run()
            spent.append((time.thread_time() - begin - native[0]) * 1e3)
    print(f"\n{name}: {result.distinct_states:,} states, {statistics.median(spent[1:]):.1f} ms outside native code "
          f"({min(spent[1:]):.1f} to {max(spent[1:]):.1f}), {native[0] * 1e3:.1f} in it")  # fmt: skip


def main() -> None:
    """Measures every spec named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="only what small searches spend outside native code")
    parser.add_argument("specs", nargs="*", default=SPECS)
    chosen = parser.parse_args()
    for name in () if chosen.small else chosen.specs:
        measure(name, chosen.runs)
    for name in SMALL:
        outside(name, 4 * chosen.runs)


if __name__ == "__main__":
    main()
