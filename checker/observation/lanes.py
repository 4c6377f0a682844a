"""Events in an order that is certain: those of one broker, or a leader's lines about one follower."""

from __future__ import annotations

from dataclasses import dataclass, field

from acked.checker.observation.events import Event


@dataclass(slots=True)
class Lane:
    """Events in an order that is certain; `taken` is the place of the next one, those before `settled` are not needed."""

    events: list[Event] = field(default_factory=list)
    taken: int = 0
    settled: int = 0

    def settle(self) -> None:
        """The earliest event stays; what is not needed is dropped now and then."""
        self.settled += 1
        if self.settled > KEPT:
            del self.events[: self.settled]
            self.taken -= self.settled
            self.settled = 0

    def head(self) -> Event | None:
        """The next event, if it has been read."""
        return self.events[self.taken] if self.taken < len(self.events) else None


KEPT = 1_000
"""Events that a lane may keep beyond what is needed."""
