"""First start (gallery row 111) on unmodified brokers: leadership moves while a share group's consumer has its first records.

The control is that the consumer releases what it is given once, which is written down with where the group began.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import make_plan
from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.java import SOURCES, compiled, kafka, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

ONE_COPY = {
    "offsets.topic.replication.factor": "1", "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1", "share.coordinator.state.topic.num.partitions": "1",
}  # fmt: skip


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "4.2.1"])
@pytest.mark.parametrize("says", ["nothing", "release"])
def test_the_next_leader_skips_what_was_given_to_a_consumer_unless_something_was_said_of_it(
    version: str, says: str, users_cache: None, tmp_path: Path
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    jars = kafka(version)
    compiled(jars.class_path, [SOURCES / "FirstStart.java"], tmp_path)
    with Cluster(add_archive(make_plan(version, brokers=(0, 1), settings=ONE_COPY))) as cluster:
        done = ran((tmp_path, jars.class_path), "FirstStart", cluster.bootstrap(), says)
    print(version, says, done.stdout, done.stderr[-2000:])
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    given, since = said["given"].strip("[]").split(", "), said["given since"].strip("[]").split(", ")
    assert said["accepted"] != "[taken]"
    assert since[-1] == "last"
    assert (set(given) <= set(since)) is (says == "release")
