"""Gates: from the moment when one is made, what it matches waits until the driver decides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from enum import Enum, auto, unique

from acked.base.frozen import frozen
from acked.cluster.proxies.frame import Frame, Phase
from acked.cluster.waiting import NotSeen
from acked.cluster.wire.apis import api_name

Predicate = Callable[[Frame], bool]


@unique
class FrameVerdict(Enum):
    """What becomes of a held frame."""

    PASS = auto()
    DROP = auto()
    CLOSE = auto()
    ANSWER = auto()


Decide = Callable[[Frame, FrameVerdict, bytes], None]
"""Tells the network what becomes of a frame; the bytes are what answers a request in its place."""


@frozen
class Match:
    """Which frames a gate holds; None is any. `api` may be several keys."""

    source: int | None = None
    target: int | None = None
    api: Collection[int] | None = None
    phase: Phase | None = None
    predicate: Predicate | None = None

    def __call__(self, frame: Frame) -> bool:
        return (
            self.source in (None, frame.source)
            and self.target in (None, frame.target)
            and self.phase in (None, frame.phase)
            and (self.api is None or frame.api in self.api)
            and (self.predicate is None or self.predicate(frame))
        )

    def __str__(self) -> str:
        names = "any" if self.api is None else " or ".join(api_name(key) for key in sorted(self.api))
        source, target = ("any" if node is None else node for node in (self.source, self.target))
        return f"{names} {self.phase or 'request or response'} from {source} to {target}"


class Gate:
    """Holds frames. Made by `Network.hold`; used by the driver's thread, fed by the network's."""

    def __init__(self, match: Match, decide: Decide, forget: Callable[[Gate], None]) -> None:
        self.match = match
        self._decide, self._forget = decide, forget
        self._changed = threading.Condition()
        self._held: list[Frame] = []
        self._is_open = False

    @property
    def held(self) -> tuple[Frame, ...]:
        """The frames that wait, the oldest first."""
        with self._changed:
            return tuple(self._held)

    def wait(self, seconds: float = 30.0) -> Frame:
        """The oldest held frame as soon as there is one; `NotSeen`."""
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._held), seconds):
                raise NotSeen(f"no {self.match} was seen within {seconds:g} seconds")
            return self._held[0]

    def let(self, frame: Frame | None = None, seconds: float = 30.0) -> Frame:
        """Lets a frame go on, the oldest one if none is given, waiting for it if need be."""
        return self._conclude(frame, FrameVerdict.PASS, seconds)

    def drop(self, frame: Frame | None = None, seconds: float = 30.0) -> Frame:
        """Makes a frame disappear; the connection stays."""
        return self._conclude(frame, FrameVerdict.DROP, seconds)

    def close(self, frame: Frame | None = None, seconds: float = 30.0) -> Frame:
        """Makes a frame disappear and breaks its connection, at both ends."""
        return self._conclude(frame, FrameVerdict.CLOSE, seconds)

    def answer(self, payload: bytes, frame: Frame | None = None, seconds: float = 30.0) -> Frame:
        """Makes a request disappear and answers it in its target's name."""
        return self._conclude(frame, FrameVerdict.ANSWER, seconds, payload)

    def lift(self) -> None:
        """Lets all go on, and holds nothing more."""
        with self._changed:
            self._is_open = True
            frames, self._held = self._held, []
        self._forget(self)
        for frame in frames:
            self._decide(frame, FrameVerdict.PASS, b"")

    def _conclude(self, frame: Frame | None, verdict: FrameVerdict, seconds: float, payload: bytes = b"") -> Frame:
        chosen = frame or self.wait(seconds)
        with self._changed:
            if chosen not in self._held:
                raise NotSeen(f"{chosen} is not held any more; its connection has gone")
            self._held.remove(chosen)
        self._decide(chosen, verdict, payload)
        return chosen

    # -- called by the network's thread -----------------------------------------------------------------------------------

    def offer(self, frame: Frame) -> bool:
        """Whether the gate takes a frame, which then waits."""
        with self._changed:
            if self._is_open or not self.match(frame):
                return False
            self._held.append(frame)
            self._changed.notify_all()
            return True

    def withdraw(self, frame: Frame) -> None:
        """The frame's connection has gone, and the frame with it."""
        with self._changed:
            if frame in self._held:
                self._held.remove(frame)
                self._changed.notify_all()
