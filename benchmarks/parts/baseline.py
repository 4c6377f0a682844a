"""The successors of states in Arrow batches, for the DataFrame baseline of `spark.py`.

The same kernel as everywhere else, called on what Spark hands over.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from acked.checker.loops import slots
from acked.checker.native.compile import Kernel, ObjectCode
from acked.checker.native.shape import Shape
from acked.checker.question.plan import BATCH
from acked.checker.shards.shard import Shard, address, alone


@cache
def _shard(shape: Shape, code: ObjectCode) -> tuple[Kernel, Shard]:
    kernel = Kernel(code)
    return kernel, alone(shape, kernel, BATCH * 8 * (shape.words + 2))


def fire_batches(shape: Shape, code: ObjectCode, batches: Iterator[Any]) -> Iterator[Any]:
    """For every batch of states (columns w0, w1, … of 64-bit numbers) the batches of their successors."""
    kernel, shard = _shard(shape, code)
    evaluate, fire = kernel.function("evaluate", 3), kernel.function("fire_all", 3)
    context = address(shard.context)
    names = [f"w{w}" for w in range(shape.words)]
    room = np.zeros((BATCH, shape.words), np.int64)
    for batch in batches:
        states = np.stack([batch.column(name).to_numpy() for name in names], axis=1)
        for begin in range(0, len(states), BATCH):
            some = states[begin : begin + BATCH]
            room[: len(some)] = some
            evaluate(context, room.ctypes.data, len(some))
            count = fire(context, room.ctypes.data, len(some)) * shape.words
            memory = (ctypes.c_char * (8 * count)).from_address(shard.context[slots.OUT])
            made = np.frombuffer(memory, np.int64).reshape(-1, shape.words).copy()
            columns = [pa.array(np.ascontiguousarray(made[:, w])) for w in range(shape.words)]
            yield pa.RecordBatch.from_arrays(columns, names=names)
