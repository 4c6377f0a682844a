"""A loss that is played on unmodified brokers, and once more on those with the mended class."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acked.cluster.commands.playable import playable_run
from acked.cluster.playing.play import PlayedRun
from acked.cluster.playing.reproduce import reproduce
from acked.cluster.playing.setting import Brokers
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.reports.reproductions.verdict import Verdict, verdict_of
from tests.found.playing.java import mended_home


def play_mended(
    spec: str, rule: str, version: str, monkeypatch: pytest.MonkeyPatch, work: Path
) -> tuple[str, PlayedRun[Any, Any]]:
    """The promise that unmodified brokers break, which is asserted, and what those do whose class `Mend.java` changed."""
    found, _ = playable_run(spec, {}, Brokers(version), True)
    prepared, promise = REPLICATION.prepare(found.question, found.run, Brokers(version)), found.question.properties[0].name
    lost = reproduce(prepared).played
    assert verdict_of(promise, lost) is Verdict.REPRODUCED, (lost.reason, lost.last)
    home = mended_home(rule, version, work)
    monkeypatch.setenv("ACKED_CACHE_DIR", str(work / "cache"))  # A class archive of these jars is of no use later.
    return promise, reproduce(replace(prepared, brokers=replace(prepared.brokers, home=home))).played
