"""Who plays what a hunt finds: once each loss, and what came of it is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from acked.base.plain import from_plain, to_plain
from acked.checker.batch.cache import ResultCache
from acked.cluster.playing.setting import Brokers
from acked.hunt.playing.play import Played, play_loss
from acked.hunt.search.hunt import Sighting, key_of

_KEPT = "hunt-played"


@dataclass
class Player:
    """Plays on these brokers; None: on none, for the reason that is given. `played` has what came of each sighting."""

    brokers: Brokers | None
    reason: str
    cache: ResultCache | None = None
    tell: Callable[[str], None] = lambda text: None
    played: dict[tuple[str, ...], Played] = field(default_factory=dict)

    def play(self, sighting: Sighting) -> None:
        """Plays a sighting, unless that was done before."""
        self.played[key_of(sighting)] = self._play(sighting)

    def _play(self, sighting: Sighting) -> Played:
        if self.brokers is None:
            return Played(reason=self.reason)
        name = json.dumps([self.brokers.version, to_plain(sighting.loss)], sort_keys=True)
        kept = None if self.cache is None else self.cache.recall(_KEPT, name)
        if kept is not None:
            return from_plain(Played, kept)
        made = play_loss(sighting.question.protocol, sighting.loss, self.brokers, self.tell)
        if self.cache is not None and made.times:
            self.cache.keep(_KEPT, to_plain(made), name)
        return made
