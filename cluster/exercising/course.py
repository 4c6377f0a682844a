"""Which disturbances come one after the other: drawn from a seed, whatever the cluster makes of them."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum, unique

from acked.base.frozen import frozen


@unique
class Kind(StrEnum):
    """What is done to one broker of the partition."""

    KILL = "kill"
    SHUT_DOWN = "shutdown"
    LOSE_CACHE = "cache"
    PAUSE = "pause"
    SILENCE = "session"
    HOLD_FETCHES = "slow"
    LOSE_ANSWER = "answer"
    HOLD_CHANGE = "isr"
    MOVE = "move"
    ELECT = "elect"
    FALL_BEHIND = "behind"
    REASSIGN = "reassign"
    ROLL = "rolling"
    REPLACE_DISK = "disk"

    # There is one object of each kind; the hash of a str differs from process to process.
    __hash__ = object.__hash__


_FORMS: Mapping[Kind, tuple[int, tuple[float, float], str]] = {
    Kind.KILL: (4, (0.0, 8.0), "the process is killed and starts again"),
    Kind.SHUT_DOWN: (3, (0.0, 4.0), "the process shuts down in an orderly way and starts again"),
    Kind.LOSE_CACHE: (
        2, (0.0, 8.0), "the process is killed, and what the log had not on disk is gone when it starts again",
    ),
    Kind.PAUSE: (4, (0.5, 9.0), "the process stands still, shorter or longer than its session"),
    Kind.SILENCE: (2, (7.0, 10.0), "its heartbeats do not arrive, so that it loses its session while it serves"),
    Kind.HOLD_FETCHES: (5, (0.2, 6.0), "answers to its fetches are late"),
    Kind.LOSE_ANSWER: (5, (0.0, 0.0), "an answer to a fetch of its is lost with the connection"),
    Kind.HOLD_CHANGE: (3, (0.2, 3.0), "its requests to change the ISR are late"),
    Kind.MOVE: (4, (0.0, 0.0), "leadership moves to the preferred replica, which with KRaft is another one each time"),
    Kind.ELECT: (2, (0.0, 0.0), "the preferred replicas are elected again"),
    Kind.FALL_BEHIND: (
        2, (0.0, 5.0), "the process stands still while leadership moves several times, and hears of all moves at once",
    ),
    Kind.REASSIGN: (2, (0.0, 0.0), "the other topic moves to other brokers, the first of which is this one"),
    Kind.ROLL: (
        1, (0.0, 2.0), "each broker in turn, this one first, is shut down, starts again and is awaited in the ISR",
    ),
    Kind.REPLACE_DISK: (
        1, (0.0, 6.0), "the process is shut down while the others are in sync, and starts again with an empty disk",
    ),
}  # fmt: skip
"""How often each comes beside the others, how long it lasts, at least and at most, in seconds, and what it is in words."""
MEANING: Mapping[Kind, str] = {kind: words for kind, (_, _, words) in _FORMS.items()}
_PAUSES = (0.2, 4.0)


@frozen
class Disturbance:
    """One of them: what, to whom, how long it lasts in seconds, how long after it the next one comes.

    `share` is a number from 0 to 1: which part of its log a broker loses, or of which of several partitions leadership moves.
    """

    kind: Kind
    broker: int
    lasts: float
    pause: float
    share: float

    def __str__(self) -> str:
        return f"{self.kind} of broker {self.broker}, {self.lasts:.1f} s"


def course(seed: int, brokers: Collection[int], kinds: Collection[Kind]) -> Iterator[Disturbance]:
    """Disturbances without end; the same for the same seed, brokers and kinds."""
    chosen = random.Random(seed)
    known = [kind for kind in Kind if kind in kinds]
    weights = [_FORMS[kind][0] for kind in known]
    places = sorted(brokers)
    while True:
        [kind] = chosen.choices(known, weights)
        yield Disturbance(
            kind, chosen.choice(places), chosen.uniform(*_FORMS[kind][1]), chosen.uniform(*_PAUSES), chosen.random()
        )
