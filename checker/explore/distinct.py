"""How many different 64-bit hashes were seen, estimated in little memory: a HyperLogLog sketch.

Flajolet, Fusy, Gandouet and Meunier 2007; the estimator is that of Ertl, "New cardinality estimation algorithms for
HyperLogLog sketches" (2017), algorithm 6, which needs no corrections for few or many values.
"""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

PRECISION = 16
"""The sketch has 2^16 registers of a byte: its standard error is 1.04 / 2^8, or 0.4 %."""

_REGISTERS = 1 << PRECISION
_REST = 64 - PRECISION
"""Bits of a hash that do not choose its register; they are fewer than the 53 that a float holds exactly."""


class DistinctCount:
    """The sketch: what it estimates depends on the set of hashes alone, not on their order or how often each came."""

    def __init__(self) -> None:
        self._registers = np.zeros(_REGISTERS, np.uint8)

    def update(self, hashes: NDArray[np.uint64]) -> None:
        """Adds hashes, of any shape."""
        mixed = _mix(hashes.ravel())
        rest = (mixed & np.uint64((1 << _REST) - 1)).astype(np.float64)
        # frexp's exponent is the number of binary digits; the rank is the position of the first one bit of the rest.
        ranks = (_REST + 1 - np.frexp(rest)[1]).astype(np.uint8)
        np.maximum.at(self._registers, mixed >> np.uint64(_REST), ranks)

    @property
    def estimate(self) -> float:
        """How many different hashes there were."""
        counts = np.bincount(self._registers, minlength=_REST + 2).tolist()
        total = _REGISTERS * _tau(1 - counts[_REST + 1] / _REGISTERS)
        for count in reversed(counts[1 : _REST + 1]):
            total = (total + count) / 2
        total += _REGISTERS * _sigma(counts[0] / _REGISTERS)
        return _REGISTERS**2 / (2 * log(2) * total)

    @property
    def interval(self) -> tuple[float, float, float]:
        """The estimate with the bounds of its 95 % interval."""
        value, error = self.estimate, 1.96 * 1.04 / sqrt(_REGISTERS)
        return value, value * (1 - error), value * (1 + error)


def _mix(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64-bit numbers after which every bit depends on all of them (SplitMix64's finalizer)."""
    x = hashes + np.uint64(0x9E3779B97F4A7C15)  # modulo 2^64
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def _sigma(x: float) -> float:
    """x + sum of 2^(k-1) x^(2^k): what the registers that nothing has met amount to."""
    if x == 1:
        return inf
    power, factor, total = x, 1.0, x
    while True:
        power *= power
        before, total = total, total + power * factor
        factor *= 2
        if total == before:
            return total


def _tau(x: float) -> float:
    """What the registers whose rest was all zeros amount to; nearly always 0."""
    if x in (0, 1):
        return 0
    factor, total = 1.0, 1 - x
    while True:
        x = sqrt(x)
        before = total
        factor /= 2
        total -= (1 - x) ** 2 * factor
        if total == before:
            return total / 3
