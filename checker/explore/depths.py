"""How deep states lie: their distance from the initial state, the length of the shortest way there.

`Depths`, which explores once, up to a bound, when first asked, and then only looks states up.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from acked.base.bounds import Bounds
from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Words
from acked.checker.search.local import LocalSearch
from acked.checker.shards.arrays import states_of
from acked.model.language.protocol import Instance

MAX_STATES = 1_000_000
"""States that are looked at: a second, and some fifty megabytes."""

_MEMORY = 1 << 30


@frozen
class Depth:
    """Steps from the initial state: `least` is proved, and `is_exact` tells that no fewer and no more are needed."""

    least: int
    is_exact: bool


class Depths:
    """The depths of an instance's states; safe to use from several threads."""

    def __init__(self, instance: Instance, most_states: int = MAX_STATES) -> None:
        self._instance = instance
        self._most = most_states
        self._lock = threading.Lock()
        self._states: NDArray[np.uint64] | None = None  # shape (states, W)
        self._ends = np.zeros(0, np.int64)

    @property
    def states(self) -> int:
        """How many states are known; 0 before the first question."""
        return 0 if self._states is None else len(self._states)

    def depth_of(self, state: Words) -> Depth:
        """How deep a packed reachable state lies; exact if it is among the nearest states, which are as many as the bound."""
        with self._lock:
            if self._states is None:
                self._states = self._explore()
            found = np.flatnonzero((self._states == np.array(state, np.uint64)).all(axis=1))
        if len(found):
            # A state that is known but in no finished level is in the one after them.
            return Depth(int(np.searchsorted(self._ends, found[0], side="right")), True)
        return Depth(len(self._ends), False)

    def _explore(self) -> NDArray[np.uint64]:
        # An instance of its own: making expressions is not for several threads.
        fresh = self._instance.protocol.instantiate(self._instance.constants, self._instance.dropped)
        search = LocalSearch(
            Question(fresh, ()), Bounds(workers=1, memory=_MEMORY, max_states=self._most), keeps_states=True
        )
        result = search.run()
        (shard,) = search.shards
        self._ends = np.cumsum(result.level_sizes)
        return states_of(shard).copy()
