"""What came of playing a loss."""

from __future__ import annotations

from acked.base.frozen import frozen


@frozen
class Played:
    """What came of it: `lost` of `times` plays broke the promise, `apart` of `times_apart` of the run one event apart.

    `change` says what that event is. `reason` says why nothing was played, or where brokers went another way; `steps` are
    those that were played.
    """

    times: int = 0
    lost: int = 0
    times_apart: int = 0
    apart: int = 0
    change: str = ""
    steps: int = 0
    reason: str = ""
