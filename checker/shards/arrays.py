"""What a shard holds as an array; apart, because importing numpy takes longer than most searches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acked.checker.shards.shard import Shard


def states_of(shard: Shard) -> NDArray[np.uint64]:
    """The packed states of a shard in order of discovery, shape (count, W); they are the shard's own memory."""
    held = np.frombuffer(memoryview(shard.states).cast("B"), np.uint64, shard.count * shard.words)
    return held.reshape(shard.count, shard.words)
