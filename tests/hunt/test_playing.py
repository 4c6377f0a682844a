"""What is new in a hunt is played at once, on unmodified brokers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acked.base.release import release
from acked.checker.batch.local import BatchLimits
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.hunt.known.losses import known_losses
from acked.hunt.playing.play import play_loss
from acked.hunt.playing.player import Player
from acked.hunt.questions.spaces import HuntedRelease, questions_of
from acked.hunt.reports.rows import State, rows_of
from acked.hunt.search.hunt import Hunt, Listener, Sighting
from acked.hunt.search.task import Effort
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]


@pytest.mark.real
@pytest.mark.slow
def test_a_loss_that_is_not_known_is_played_from_inside_the_hunt_beside_the_run_one_event_apart(users_cache: None) -> None:
    version = "4.4.0"
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    asked = next(
        question for question in questions_of(HuntedRelease.of(release(version)), ["partition"], ["one-lossy"])
        if dict(question.settings)["acks"] == "1" and question.cost == 0
    )  # fmt: skip
    brokers = Brokers(version, Mode.KRAFT)
    player = Player(version, lambda protocol, loss: play_loss(protocol, loss, brokers, print, times=1))
    hunt = Hunt(
        [replace(asked, promises=("AckedRecordsSurvive",))], known_losses(["acks=1"]), known_losses(),
        efforts=(Effort(20_000),), brokers=(version, "kraft"),
    )  # fmt: skip

    def see(sighting: Sighting) -> None:
        assert sighting.known is None
        player.play(sighting)

    hunt.run(BatchLimits(1, 256 << 20), listener=Listener(seen=see))
    [row] = rows_of(hunt, player.played)
    assert (row.state, row.promises) == (State.NEW, ("AckedRecordsSurvive",))
    assert row.played == "lost 1 of 1; one event apart 0 of 1"
