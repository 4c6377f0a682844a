"""By which bits of a state it is dealt to tasks, so that most successors stay where their source is.

`steady_masks`, which chooses them by a sample of all levels.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator, Sequence
from math import log, sqrt

from acked.checker.native.compile import Kernel
from acked.checker.native.shape import Shape
from acked.checker.question.plan import BATCH
from acked.checker.question.question import Question
from acked.checker.shards.shard import address, alone, numbers, reserve
from acked.checker.store.level_file import StateCodec

SAMPLE_BYTES = 8 << 20
WINDOW, WINDOWS, MOST_LEVELS = 32, 16, 64
"""Of so many levels at most so many windows of so many states are expanded, as they were found one after the other."""
PARTS = 1 << 15
"""Into so many parts a sample is dealt to see which of its states have the same bits."""
CHOICES = 16
SENDING = 0.6
"""What a step costs more that leads to another task: packing, sending, unpacking, and a look-up that no other goes with."""


class Sample:
    """States of all levels, and the steps between them, found by one worker that expands a few states of each.

    `states` is where the states stand, and `levels` says of each level which of them each window of the one before has led
    to, as their first and their last number; `edges` are the steps, `source << 32 | target`, and `steps` is how many.
    """

    def __init__(self, question: Question, shape: Shape, kernel: Kernel) -> None:
        self._shard = alone(shape, kernel, SAMPLE_BYTES)
        self._verdicts, self._acts = reserve(shape.properties * (BATCH // 64)), reserve(WINDOW * shape.actions // 4 + 1)
        self._shard.insert(question.initial[: WINDOW * WINDOWS])
        self.states = address(self._shard.states)
        self.edges = reserve(MOST_LEVELS * WINDOWS * WINDOW * shape.actions)
        self.steps = 0
        self.levels = [[(0, self._shard.count)]]
        chance = random.Random(1)
        while len(self.levels) < MOST_LEVELS and (found := self._expand(chance)):
            self.levels.append(found)

    def _expand(self, chance: random.Random) -> list[tuple[int, int]]:
        """Expands windows of the last level; what each has led to, if that is known of all."""
        begin, end = self.levels[-1][0][0], self.levels[-1][-1][1]
        windows, found, known = range(begin, end, WINDOW), [], self.steps
        for at in chance.sample(windows, min(WINDOWS, len(windows))):
            upto, before = min(at + WINDOW, end), self._shard.count
            if self._shard.expand(at, upto) < upto or self._shard.is_full:
                self.steps = known  # Steps into a level that is left out lead to states that nobody counts.
                return []
            edges = address(self.edges) + 8 * self.steps
            self.steps += self._shard.link(at, upto, edges, address(self._acts), address(self._verdicts))
            if self._shard.count > before:
                found.append((before, self._shard.count))
        return found


def steady_masks(question: Question, shape: Shape, kernel: Kernel, codec: StateCodec, tasks: int) -> list[int]:
    """Of every word of a state the bits by which states are best dealt to so many tasks.

    Steps that change none of them stay within a task; but the fewer they are, the more states have the same, and the less
    even are the tasks' parts. Tried are the bits that fewest steps change, and more and more of them.
    """
    sample = Sample(question, shape, kernel)
    changes = numbers([0] * 64 * shape.words)
    codec.native.function("count_changes", 4)(sample.states, address(sample.edges), sample.steps, address(changes))
    bits = [64 * word + bit for word, used in enumerate(shape.word_bits) for bit in range(used)]
    bits.sort(key=lambda bit: changes[bit])
    choices = [_masks(shape, bits[: len(bits) * (choice + 1) // CHOICES]) for choice in range(CHOICES)]
    return min(zip(_costs(sample, codec, tasks, choices), choices, strict=True))[1]


def _masks(shape: Shape, bits: Sequence[int]) -> list[int]:
    return [sum(1 << bit % 64 for bit in bits if bit // 64 == word) for word in range(shape.words)]


def _costs(sample: Sample, codec: StateCodec, tasks: int, choices: Sequence[Sequence[int]]) -> Iterator[float]:
    """What a search takes by each choice, 1 where the parts are even and no step leaves its task.

    Of a level of which two states have the same bits with a chance c, a task's part has a variance of tasks × c times the
    square of the average; the largest of n parts is some √(2 ln n) deviations above that. What one window has led to is more
    alike than a level is, so that only states of two windows are compared.
    """
    deal, leave, alike = (codec.native.function(*item) for item in _NATIVE)
    count = sample.levels[-1][-1][1]
    parts, counts = reserve(count // 4 + 1), reserve(PARTS)
    for masks in choices:
        codec.deal_by(masks)
        deal(sample.states, count, address(codec.steady), PARTS, address(parts), address(counts))
        ctypes.memset(counts, 0, ctypes.sizeof(counts))
        leaving = leave(address(parts), address(sample.edges), sample.steps) / max(sample.steps, 1) * (1 - 1 / tasks)
        largest = 0.0
        for windows in sample.levels:
            (size, same), *within = [
                (end - begin, alike(address(parts) + 2 * begin, end - begin, address(counts)))
                for begin, end in ((windows[0][0], windows[-1][1]), *windows)
            ]
            pairs = size * size - sum(part * part for part, _ in within)
            chance = 2 * (same - sum(found for _, found in within)) / max(pairs, 1)
            largest += size * (1 + sqrt(2 * log(tasks) * tasks * chance))
        yield largest / count * (1 + SENDING * leaving)


_NATIVE = (("count_buckets", 6), ("count_leaving", 3), ("count_alike", 3))
