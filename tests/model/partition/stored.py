"""Every reachable state, field by field, as the native search stores it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from acked.base.bounds import Bounds
from acked.checker.native.compile import Kernel
from acked.checker.native.shape import shape_of
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason
from acked.checker.search.local import search
from acked.checker.store.level_file import StateCodec, exchange_code
from acked.checker.store.run_directory import RunDirectory


def columns_of(question: Question, folder: Path, leaves: Sequence[Any]) -> Iterator[dict[str, np.ndarray]]:
    """Batch by batch the values of these fields, of at most 256 each: by the field's name, one for each state."""
    with RunDirectory.create(folder, question, 1) as run:
        assert search(question, Bounds(workers=1), stored=run).stopped is StopReason.COMPLETE
        codec = StateCodec(shape_of(question.plan), run.buckets, Kernel(exchange_code(shape_of(question.plan))))
        for level in range(1, run.known_levels + 1):
            for file in run.files_of(level):
                for records in codec.read(run.level_path(file), level, file):
                    flat = np.frombuffer(memoryview(codec.unpack(records)), np.uint64)[: records.count * codec.words]
                    words = flat.reshape(records.count, codec.words)
                    parts = [words[:, leaf.word] >> np.uint64(leaf.shift % 64) for leaf in leaves]
                    yield {
                        leaf.name: part.astype(np.uint8) & ((1 << leaf.bits) - 1)
                        for leaf, part in zip(leaves, parts, strict=True)
                    }
