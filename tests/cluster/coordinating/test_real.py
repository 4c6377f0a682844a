"""Losses of committed offsets on real brokers: each is reproduced, and its control goes another way at the fix."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from acked.cluster.commands.playable import playable_run
from acked.cluster.coordinating.protocol import COORDINATORS
from acked.cluster.playing.reproduce import reproduce
from acked.cluster.playing.setting import Brokers, Changed
from acked.cluster.reports.reproductions.verdict import Control, Verdict, control_of, verdict_of
from tests.cluster.conftest import real_plan
from tests.places import CHECKOUT

pytestmark = [pytest.mark.real, pytest.mark.slow]
CASES = tomllib.loads((CHECKOUT / "docs/real_brokers.toml").read_text("utf-8"))["coordinator"]


@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=[pytest.mark.ci] if one.get("ci") else []) for one in CASES],
    ids=lambda one: f"{one['spec']}-{one['kafka']}",
)  # fmt: skip
def test_a_loss_of_committed_offsets_is_played_on_real_brokers(case: dict[str, Any], users_cache: None) -> None:
    real_plan(case["kafka"], {})  # Skips where there are none, and fetches the jars.
    found, _ = playable_run(case["spec"], {}, Brokers(case["kafka"]), True)
    prepared = COORDINATORS.prepare(found.question, found.run, Brokers(case["kafka"]))
    promise = found.question.properties[0].name
    first = reproduce(prepared).played
    assert verdict_of(promise, first) is Verdict.REPRODUCED, (first.reason, first.last)
    control = reproduce(prepared.control(Changed.parse(case["control"]))).played
    assert control.parted is not None, control.last
    assert control.parted.index == case["parts"], control.reason
    assert control_of(promise, control) is Control.KEEPS, control.last
