"""One step back from a state, on stored levels.

What lives here: `Walker`, which finds the least (state, action) of a level that leads to a given state, file by file,
with memory for one block. What does not: the same in a shard's memory (`loops.find_source`), the walk from step to step
(`search.py`, `spark.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from pathlib import Path

from checker.levelfile import BLOCK_STATES, LevelFile, StateCodec
from checker.native import Kernel
from checker.shape import Shape
from checker.shard import Shard, Words, address

Edge = tuple[Words, int]
"""A state and the number of an action instance."""


class Walker:
    """Looks for sources in level files; not for two threads at once."""

    def __init__(self, shape: Shape, kernel: Kernel, codec: StateCodec) -> None:
        self.codec = codec
        # Memory for a block and a table that stays empty.
        self._shard = Shard(shape, kernel, 0, 1, BLOCK_STATES * 8 * (shape.words + 2))

    def source_in(self, folder: Path, level: int, files: Iterable[LevelFile], target: Words) -> Edge | None:
        """The least (state, action) among the states of these files of a level that leads to `target`."""
        best: Edge | None = None
        words = self.codec.words
        for file in files:
            for records in self.codec.read(folder / file.name, level, file):
                states = self.codec.unpack(records)
                ctypes.memmove(address(self._shard.states), address(states), records.count * words * 8)
                found = self._shard.find_source(0, records.count, target)
                if found is not None and (best is None or found < best):
                    best = found
        return best
