"""The last known leader is elected where nobody is eligible, and lacks what another replica has (`docs/kills.md`).

The control is a controller that does not elect it: `canElectLastKnownLeader` returns false, and nothing else is changed.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acked.cluster.commands.playable import playable_run
from acked.cluster.playing.reproduce import reproduce
from acked.cluster.playing.setting import Brokers
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.reports.reproductions.verdict import Control, Verdict, control_of, verdict_of
from tests.cluster.conftest import real_plan, users_cache
from tests.found.java import home_with, kafka, mended

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

VERSION, SPEC = "4.4.0", "empty-disk-and-kills-4-4"
"""Of the spec with a lost page cache the election is no step that is compared, so that a control does not part there."""


def test_brokers_lose_a_record_to_the_last_known_leader_and_with_the_mended_class_wait_without_a_leader(
    users_cache: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real_plan(VERSION, {})  # Skips where there are none, and fetches the jars.
    found, _ = playable_run(SPEC, {}, Brokers(VERSION), True)
    prepared, promise = REPLICATION.prepare(found.question, found.run, Brokers(VERSION)), found.question.properties[0].name
    lost = reproduce(prepared).played
    assert verdict_of(promise, lost) is Verdict.REPRODUCED, (lost.reason, lost.last)
    home = home_with(kafka(VERSION), mended("LastKnownLeader", kafka(VERSION), tmp_path), tmp_path / "home")
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))  # A class archive of these jars is of no use later.
    kept = reproduce(replace(prepared, brokers=replace(prepared.brokers, home=home))).played
    print(kept.parted, kept.reason)
    assert kept.parted is not None, kept.last
    assert kept.parted.action == "ElectLeader", kept.reason
    assert control_of(promise, kept) is Control.KEEPS, kept.last
