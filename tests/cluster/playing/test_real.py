"""Counterexamples on real brokers: each is reproduced, and its control goes another way at the step of the fix."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from acked.cluster.commands.playable import playable_run
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.reproduce import Found, reproduce
from acked.cluster.playing.setting import Brokers, Changed
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.reports.reproductions.verdict import Control, Verdict, control_of, verdict_of
from acked.cluster.reports.reproductions.words import AnyReproduction
from tests.cluster.conftest import real_plan
from tests.cluster.playing.runs import question, run
from tests.places import CHECKOUT

pytestmark = [pytest.mark.real, pytest.mark.slow]


@dataclass(frozen=True)
class Case:
    """A spec on a release, and a control with the step at which it goes another way."""

    spec: str
    kafka: str
    control: str = ""
    parts: int = 0
    row: int = 0
    control_plane: str | None = None
    rules: str | None = None
    ci: bool = False
    timed: bool = False
    constants: Mapping[str, int | str] = field(default_factory=dict)
    outcome: str = Verdict.REPRODUCED.value

    def __str__(self) -> str:
        return f"{self.spec}-{self.kafka}"

    def prepared(self) -> PreparedRun:
        mode = None if self.control_plane is None else Mode(self.control_plane)
        brokers = Brokers(self.kafka, mode)
        found, _ = playable_run(self.spec, self.constants, brokers, True, self.rules, self.timed)
        return REPLICATION.prepare(found.question, found.run, brokers)


CASES = [Case(**one) for one in tomllib.loads((CHECKOUT / "docs/real_brokers.toml").read_text("utf-8"))["case"]]


@pytest.mark.parametrize("case", [pytest.param(one, marks=[pytest.mark.ci] if one.ci else []) for one in CASES], ids=str)
def test_a_counterexample_is_played_on_real_brokers(case: Case, users_cache: None) -> None:
    real_plan(case.kafka, {})  # Skips where there are none, and fetches the jars.
    prepared = case.prepared()
    found = reproduce(prepared)
    promise = prepared.question.properties[0].name
    assert verdict_of(promise, found.played).value == case.outcome, told(found)
    assert [step.step.index for step in found.played.steps] == list(range(1, len(prepared.script.steps) + 1))
    assert found.observed is None or found.observed.found is not Found.NOT_EXPLAINED, found.observed
    if case.control:
        control = reproduce(prepared.control(Changed.parse(case.control)))
        assert control.played.parted is not None, told(control)
        assert control.played.parted.index == case.parts, told(control)
        kept = Control.KEEPS if case.outcome == Verdict.REPRODUCED else Control.NOT_SHOWN
        assert control_of(promise, control.played) is kept, told(control)


@pytest.mark.parametrize("spec", ["unclean-loses", "empty-disk-eligible-leaders-4-1"])
def test_what_brokers_log_while_they_play_is_a_behaviour_of_the_model(spec: str, users_cache: None) -> None:
    """An unclean election and its lost record; a new disk, of which the controller learns and forgets eligible leaders."""
    real_plan("4.1.0", {})
    found = reproduce(Case(spec, "4.1.0").prepared())
    assert found.played.parted is None, told(found)
    assert found.observed is not None
    assert (found.observed.found, found.observed.said) == (Found.EXPLAINED, "")
    assert found.observed.events > 10
    shown = [line for step in found.played.steps for line in step.lines]
    assert shown
    assert not any(" DEBUG [" in line or " TRACE [" in line for line in shown), "what is logged for this alone is not shown"


def test_a_consumer_reads_from_a_follower(users_cache: None) -> None:
    real_plan("3.9.1", {})
    asked = question("3.9", "kraft", consumer="followers", acks="1", replicas=2)
    labels = ["Produce(leader=0, record=0, answered=True)", "FetchAtOnce(follower=1, leader=0, end=1)",
              "FetchNothingNew(follower=1, leader=0)", "Read(broker=1, offset=0)"]  # fmt: skip
    found = reproduce(REPLICATION.prepare(asked, run(asked, labels), Brokers("3.9.1", Mode.KRAFT)))
    assert (found.played.parted, found.played.is_broken("ReadsStay")) == (None, False), told(found)


def told(found: AnyReproduction) -> str:
    return f"{found.played.reason}: {found.played.last}"
