"""A removed replica stays an eligible leader (`specs/recoverable/eligible-leader-removed.toml`), on Kafka's own class.

The mended class is made from the release's own: `maybePopulateTargetElr` keeps target replicas only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import users_cache
from tests.found.java import SOURCES, compiled, kafka, mended, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

RED = """\
moved: replicas [0], ISR [0], ELR [1], last known leader [], leader 0
killed: replicas [0], ISR [], ELR [1], last known leader [0], leader -1
back: replicas [0], ISR [], ELR [1], last known leader [0], leader -1
"""
GREEN = """\
moved: replicas [0], ISR [0], ELR [], last known leader [], leader 0
killed: replicas [0], ISR [], ELR [], last known leader [0], leader -1
back: replicas [0], ISR [0], ELR [], last known leader [], leader 0
"""


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
def test_a_removed_replica_keeps_the_last_known_leader_from_being_elected_and_with_the_mended_class_does_not(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars, classes = kafka(version), tmp_path / "classes"
    classes.mkdir()
    compiled(jars.class_path, [SOURCES / "RemovedStaysEligible.java"], classes)
    red = ran((classes, jars.class_path), "RemovedStaysEligible")
    assert red.stdout == RED
    assert "AssertionError: the ELR has a broker that is no replica" in red.stderr
    green = ran((classes, mended("PartitionChangeBuilder", jars, tmp_path), jars.class_path), "RemovedStaysEligible")
    assert green.stdout == GREEN
    assert green.returncode == 0, green.stderr
