"""A run that ends for want of what the machine lacks is no run in which brokers went another way."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from acked.checker.errors import SystemFailure
from acked.cluster.nodes.jvm import Exited
from acked.cluster.playing.play import play
from tests.reports.reproductions.made import prepared, seen


@dataclass
class Fakes:
    """A driver and a stage in the place of brokers: the first step fails so."""

    error: Exception
    ended: Exited | None = None
    closed: list[str] = field(default_factory=list)

    def driver(self, *_: object) -> Any:
        def perform(step: object) -> None:
            raise self.error

        producers = SimpleNamespace(
            acknowledged={}, refused={}, seconds=0.0, hear=lambda: None, close=lambda: self.closed.append("producers")
        )
        gates = SimpleNamespace(lift=lambda: self.closed.append("gates"))
        return SimpleNamespace(
            begin=lambda settings: None, perform=perform, producers=producers, gates=gates, reads=[], latest=[], seconds=0.0,
            rivals=None, sessions=SimpleNamespace(lost=set()),
        )  # fmt: skip

    def stage(self, *_: object) -> Any:
        def check() -> None:
            if self.ended is not None:
                raise self.ended

        return SimpleNamespace(seen=lambda: seen(0, False), check=check, new_lines=lambda: (), words=lambda: ())


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(fakes: Fakes) -> Any:
        monkeypatch.setattr("acked.cluster.playing.play.Driver", fakes.driver)
        monkeypatch.setattr("acked.cluster.playing.play.Stage", fakes.stage)
        made = prepared()
        cluster: Any = SimpleNamespace(seconds=1.0)
        return play(made.script, cluster, "t", made.setting)

    return run


FULL = Exited("broker 0 exited with code 1: the disk is full (“…”)", is_of_machine=True)


@pytest.mark.parametrize("fakes", [Fakes(FULL), Fakes(SystemFailure("nobody answers"), FULL)])
def test_a_broker_that_ends_because_the_disk_is_full_ends_the_run_with_its_sentence(fakes: Fakes, played: Any) -> None:
    with pytest.raises(SystemFailure) as caught:
        played(fakes)
    assert fakes.closed == ["producers", "gates"]
    assert str(caught.value) == str(fakes.error)


def test_a_broker_that_ends_by_itself_goes_another_way_than_the_model(played: Any) -> None:
    fakes = Fakes(Exited("broker 0 exited with code 1: “Exiting because log truncation is not allowed”"))
    found = played(fakes)
    assert (found.parted.index, found.reason) == (1, str(fakes.error))
    assert [one.step.index for one in found.beyond] == [1, 2, 3, 4], "what follows is seen, and not compared"
    read = {name: found.is_broken(name) for name in ("ReadsStay", "LatestOffsetStays", "LeaderWithOneDown", "MovesEndInSync")}
    assert read == {
        "ReadsStay": False, "LatestOffsetStays": False, "LeaderWithOneDown": None, "MovesEndInSync": None,
    }, "what nobody has read is not gone, and what brokers do not show is not decided"  # fmt: skip
    assert fakes.closed == ["producers", "gates"]
