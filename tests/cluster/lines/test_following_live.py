"""A real cluster is followed while it runs, over rotation of its files and the restart of a broker."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from acked.cluster.exercising.producing import Brokers, Plain
from acked.cluster.lines.configuration import configuration
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.releases.release import Mode, release
from acked.cluster.validating.judge import Asked, Judged, Live, SoFar, judge
from acked.cluster.waiting import wait_for
from tests.cluster.conftest import real_plan

VERSION, TOPIC, BROKERS = "3.9.1", "live", (0, 1, 2)
TIMES = {"replica.lag.time.max.ms": "2000", "broker.session.timeout.ms": "6000", "replica.socket.timeout.ms": "5000",
         "replica.fetch.wait.max.ms": "500"}  # fmt: skip


def rotated(text: str) -> str:
    """The same configuration with a new file every 20 kB."""
    own = "log4j.appender.A=org.apache.log4j.FileAppender"
    assert own in text
    limits = "\nlog4j.appender.A.MaxFileSize=20KB\nlog4j.appender.A.MaxBackupIndex=1000"
    return text.replace(own, own.replace("FileAppender", "RollingFileAppender") + limits)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_live_cluster_is_followed_over_rotation_and_the_restart_of_a_broker(users_cache: None) -> None:
    logging = rotated(configuration(release(VERSION).number, None, TOPIC))
    with Cluster(replace(real_plan(VERSION, TIMES, Mode.KRAFT), logging=logging)) as cluster:
        told: list[SoFar] = []
        found: list[Judged] = []
        live = Live(told.append, every=1.0)
        asked = Asked((str(cluster.folder),), TOPIC)
        follower = threading.Thread(target=lambda: found.append(judge(asked, live=live)))
        follower.start()
        with cluster.admin() as ask:
            assert ask.create_topic(TOPIC, BROKERS, {"min.insync.replicas": "2"}) == 0
        brokers = Brokers(cluster.client, BROKERS)
        leader = brokers.leaders(TOPIC).get(0, 1)
        with Plain(TOPIC, 1, 60.0, brokers) as load:
            time.sleep(5)
            cluster.kill(leader)
            time.sleep(4)
            cluster.restart(leader)
            time.sleep(8)
            load.stop()
        # Where a broker was away, lines of 20 s are read ahead.
        wait_for(lambda: bool(found) or (told[-1].explained > 1_000 and told[-1].waiting < 100), "that it catches up", 90)
        files = [len(list(Path(node.log).parent.glob("log.[0-9]*"))) for node in cluster.nodes.values()]
        live.stop.set()
        follower.join(60)
        [judged] = found
    assert judged.is_valid, judged.verdict.stuck and judged.verdict.stuck.open[0]
    assert min(files[:3]) >= 10, "files were rotated"
    assert judged.verdict.steps["Restart"] == 1
    assert judged.verdict.explained > 1_000
    assert {held.end for held in judged.verdict.held} == {max(load.written.of(0)) + 1}
    assert not any(one.explained > two.explained for one, two in pairwise(told))
