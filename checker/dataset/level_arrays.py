"""The stored states of a run, level by level, as arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acked.base.errors import ConfigurationError
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import shape_of
from acked.checker.question.question import Question
from acked.checker.store.level_file import LevelFile, StateCodec, exchange_code
from acked.checker.store.run_directory import RunDirectory


def chosen_levels(run: RunDirectory, levels: Collection[int] | None) -> list[int]:
    """The levels of a run that have states, or those of them that are asked for; `ConfigurationError` if one is missing."""
    known = levels_of(run)
    if levels is not None and (missing := sorted(set(levels) - set(known))):
        raise ConfigurationError(f"level {missing[0]} is not among the {len(known)} levels of this run")
    return [level for level in known if levels is None or level in levels]


def levels_of(run: RunDirectory) -> list[int]:
    """The levels of a run that have states."""
    return [level for level in range(1, run.known_levels + 1) if run.files_of(level)]


def codec_of(question: Question, buckets: int) -> StateCodec:
    """What reads the level files of a question's run."""
    shape = shape_of(question.plan)
    return StateCodec(shape, buckets, Kernel(exchange_code(shape)))


def states_in(
    codec: StateCodec, path: Path, level: int, file: LevelFile, turns: Iterator[bool] | None = None
) -> Iterator[NDArray[np.uint64]]:
    """The states of a level file, in arrays of shape (states, W); `turns` is as in `StateCodec.read`."""
    for records in codec.read(path, level, file, turns=turns):
        words = np.frombuffer(memoryview(codec.unpack(records)), np.uint64)[: records.count * codec.words]
        yield words.reshape(records.count, codec.words)
