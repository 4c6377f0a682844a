"""Who plays what a hunt finds: once each loss, and what came of it is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from acked.base.plain import from_plain, to_plain
from acked.checker.batch.cache import ResultCache
from acked.hunt.playing.outcome import Played
from acked.hunt.search.hunt import Sighting, key_of
from acked.hunt.search.task import Loss

_KEPT = "hunt-played"


Play = Callable[[str, Loss], Played]
"""Plays a loss of a protocol."""


@dataclass
class Player:
    """Plays with `play` on brokers of a release; None: on none, for the reason that is given.

    `played` has what came of each sighting.
    """

    version: str
    play_loss: Play | None = None
    reason: str = ""
    cache: ResultCache | None = None
    played: dict[tuple[str, ...], Played] = field(default_factory=dict)

    def play(self, sighting: Sighting) -> None:
        """Plays a sighting, unless that was done before."""
        self.played[key_of(sighting)] = self._play(sighting)

    def _play(self, sighting: Sighting) -> Played:
        if self.play_loss is None:
            return Played(reason=self.reason)
        name = json.dumps([self.version, to_plain(sighting.loss)], sort_keys=True)
        kept = None if self.cache is None else self.cache.recall(_KEPT, name)
        if kept is not None:
            return from_plain(Played, kept)
        made = self.play_loss(sighting.question.protocol, sighting.loss)
        if self.cache is not None and made.times:
            self.cache.keep(_KEPT, to_plain(made), name)
        return made
