"""The last known leader is elected where nobody is eligible, and lacks what another replica has (`docs/kills.md`).

The control is a controller that does not elect it: `canElectLastKnownLeader` returns false, and nothing else is changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.cluster.reports.reproductions.verdict import Control, control_of
from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.plays import play_mended

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

VERSION, SPEC = "4.4.0", "empty-disk-and-kills-4-4"
"""Of the spec with a lost page cache the election is no step that is compared, so that a control does not part there."""


def test_brokers_lose_a_record_to_the_last_known_leader_and_with_the_mended_class_wait_without_a_leader(
    users_cache: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real_plan(VERSION, {})  # Skips where there are none, and fetches the jars.
    promise, kept = play_mended(SPEC, "LastKnownLeader", VERSION, monkeypatch, tmp_path)
    print(kept.parted, kept.reason)
    assert kept.parted is not None, kept.last
    assert kept.parted.action == "ElectLeader", kept.reason
    assert control_of(promise, kept) is Control.KEEPS, kept.last
