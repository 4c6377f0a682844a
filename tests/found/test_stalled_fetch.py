"""A fetch that is checked in one leader epoch and counted in the next, on Kafka's own `Partition`, also mended for row 36."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import users_cache
from tests.found.java import SOURCES, compiled, kafka, mended, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

COMMITS = """\
counted in epoch 2: log end of 1 1, high watermark 0
2 has the record: log end of 1 1, high watermark 1
"""
ASKED = "isrWithBrokerEpoch=[BrokerState(brokerId=0, brokerEpoch=1), BrokerState(brokerId=1, brokerEpoch=1), BrokerState("
ADMITS = "counted in epoch 2: log end of 1 0, high watermark 1\n"


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
def test_a_leader_counts_a_fetch_of_a_former_epoch_with_the_class_that_forgets_log_ends_too(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars, classes = kafka(version), tmp_path / "classes"
    classes.mkdir()
    sources = (SOURCES / "Filled.java", SOURCES / "StalledFetch.java", SOURCES / "4.3" / "Registered.java")
    compiled(jars.class_path, sources, classes)
    for first in ((), (mended("Partition", jars, tmp_path),)):
        commits = ran((classes, *first, jars.class_path), "StalledFetch", "commits")
        assert commits.stdout == COMMITS, commits.stderr
        admits = ran((classes, *first, jars.class_path), "StalledFetch", "admits")
        assert ASKED in admits.stdout, admits.stderr  # Broker 1 is to join the ISR; of its log end 0 is known.
        assert admits.stdout.endswith(ADMITS), admits.stderr
