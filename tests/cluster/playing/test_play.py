"""A run that ends for want of what the machine lacks is no run in which brokers went another way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from acked.base.errors import SystemFailure
from acked.cluster.nodes.jvm import Exited
from acked.cluster.playing.driver import Driver
from acked.cluster.playing.play import PlayedRun, play
from acked.cluster.playing.script import ScriptStep
from acked.cluster.replicating.producers import Answers
from acked.cluster.replicating.promises import Judge
from acked.cluster.topics.topic import TopicView
from tests.cluster.reports.made import prepared, seen


@dataclass
class Fakes:
    """A driver in the place of brokers: the first step fails so."""

    error: Exception | None
    ended: Exited | None = None
    closed: list[str] = field(default_factory=list)

    def check(self) -> None:
        if self.ended is not None:
            raise self.ended

    def driver(self, *_: object) -> Driver[TopicView, Answers]:
        return FakeDriver(self)


class FakeDriver(Driver[TopicView, Answers]):
    """The driver of these."""

    def __init__(self, fakes: Fakes) -> None:
        self.fakes, self.seconds = fakes, 0.0

    def begin(self) -> None:
        pass

    def perform(self, step: ScriptStep) -> None:
        if self.fakes.error is not None:
            raise self.fakes.error

    def observe(self) -> TopicView:
        return seen(0, False)

    def answers(self) -> Answers:
        return Answers()

    def broken_promises(self, moments: Sequence[TopicView]) -> Mapping[str, bool]:
        return Judge(prepared().script, self.answers(), moments, {0, 1}, [], []).broken_promises()

    def close(self) -> None:
        self.fakes.closed.append("everything")


def played(fakes: Fakes) -> PlayedRun[TopicView, Answers]:
    made = prepared()
    cluster: Any = SimpleNamespace(seconds=1.0, check=fakes.check)
    return play(replace(made, protocol=replace(made.protocol, driver=fakes.driver)), cluster, "t")


FULL = Exited("broker 0 exited with code 1: the disk is full (“…”)", is_of_machine=True)


@pytest.mark.parametrize("fakes", [Fakes(FULL), Fakes(SystemFailure("nobody answers"), FULL)])
def test_a_broker_that_ends_because_the_disk_is_full_ends_the_run_with_its_sentence(fakes: Fakes) -> None:
    with pytest.raises(SystemFailure) as caught:
        played(fakes)
    assert fakes.closed == ["everything"]
    assert str(caught.value) == str(fakes.error)


def test_a_broker_that_ends_by_itself_goes_another_way_than_the_model() -> None:
    fakes = Fakes(Exited("broker 0 exited with code 1: “Exiting because log truncation is not allowed”"))
    found = played(fakes)
    assert (found.parted and found.parted.index, found.reason) == (1, str(fakes.error))
    assert [one.step.index for one in found.beyond] == [1, 2, 3, 4], "what follows is seen, and not compared"
    read = {name: found.is_broken(name) for name in ("ReadsStay", "LatestOffsetStays", "LeaderWithOneDown", "MovesEndInSync")}
    assert read == {
        "ReadsStay": False, "LatestOffsetStays": False, "LeaderWithOneDown": None, "MovesEndInSync": None,
    }, "what nobody has read is not gone, and what brokers do not show is not decided"  # fmt: skip
    assert fakes.closed == ["everything"]


def test_a_broker_that_ends_while_it_is_compared_is_named_at_once_and_so_is_what_differed() -> None:
    fakes = Fakes(None, Exited("broker 0 exited with code 1: “Exiting because log truncation is not allowed”"))
    found = played(fakes)
    assert (found.parted and found.parted.index, found.reason) == (1, str(fakes.ended))
    assert [str(one) for one in found.differences] == ["broker 0's log is [], and in the model [r0]"]
