"""The estimate of how many different states were seen is as near as its interval says, whatever the hashes look like."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from acked.checker.explore.distinct import DistinctCount

Hashes = NDArray[np.uint64]


def random(count: int) -> Hashes:
    return np.random.default_rng(count).integers(0, 1 << 64, count, np.uint64)


def odd(count: int) -> Hashes:
    return random(count) | np.uint64(1)


def counting(count: int) -> Hashes:
    """Hashes that are none: the sketch mixes for itself."""
    return np.arange(count, dtype=np.uint64) << np.uint64(8)


def estimate(hashes: Hashes) -> DistinctCount:
    seen = DistinctCount()
    seen.update(hashes)
    return seen


@pytest.mark.parametrize("make", [random, odd, counting])
@pytest.mark.parametrize("count", [1, 10, 1000, 20_000, 50_000, 300_000, 2_000_000])
def test_the_estimate_is_within_four_standard_errors(make: Callable[[int], Hashes], count: int) -> None:
    assert abs(estimate(make(count)).estimate - count) <= 4 * 0.0041 * count + 0.01


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    numbers = np.random.default_rng(7)
    held = 0
    for _ in range(200):
        least, most = estimate(numbers.integers(0, 1 << 64, 60_000, np.uint64)).interval[1:]
        held += least <= 60_000 <= most
    assert 180 <= held <= 199


def test_nothing_was_seen_at_first_and_what_comes_again_is_not_counted() -> None:
    assert DistinctCount().interval == (0, 0, 0)
    hashes = random(5000)
    once, again = estimate(hashes), estimate(hashes)
    again.update(np.repeat(hashes[::-1], 3).reshape(-1, 3))
    again.update(np.empty(0, np.uint64))
    assert once.interval == again.interval
