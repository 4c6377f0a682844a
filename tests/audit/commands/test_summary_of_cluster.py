"""A running cluster of 200 topics in ten groups, as it describes itself: asked in bounded time, told on a screen."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from click.testing import CliRunner

from acked.audit.clusters.live import LiveBroker, LiveCluster, LivePartition, LiveTopic, LiveValue
from acked.audit.commands import options
from acked.audit.commands.audit import audit
from acked.audit.reports.summary import MOST_LINES

COLD, WARM = 40.0, 1.0
"""Seconds of processor time."""


def cluster(topics: int) -> LiveCluster:
    """Three brokers of 4.1 with KRaft, and topics in ten groups: by min.insync.replicas, replicas, unclean elections."""
    values = (LiveValue("min.insync.replicas", "1", "static"), LiveValue("process.roles", "broker,controller", "static"))
    brokers = tuple(LiveBroker(number, rack, values, newest_level=27) for number, rack in ((1, "a"), (2, "b"), (3, "a")))
    kinds = [(least, factor, unclean) for factor in (2, 3) for least in range(1, factor + 1) for unclean in (False, True)]
    found = []
    for at in range(topics):
        least, factor, unclean = kinds[at % 10]
        own = [LiveValue("min.insync.replicas", str(least), "dynamic")]
        own += [LiveValue("unclean.leader.election.enable", "true", "dynamic")] if unclean else []
        replicas = (1, 2, 3)[:factor]
        found.append(LiveTopic(f"topic-{at}", (LivePartition(0, replicas, replicas),), tuple(own)))
    features = {"metadata.version": 27, "eligible.leader.replicas.version": 1}
    return LiveCluster("kafka:9092", brokers, tuple(found), features)


def seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.mark.long
@pytest.mark.slow
def test_200_topics_are_audited_in_bounded_time_and_told_in_25_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(options, "ask_apart", lambda *_, **__: cluster(200))
    told = []
    for bound in (COLD, WARM):
        before = seconds()
        done = CliRunner().invoke(audit, ["--bootstrap-server", "kafka:9092", "-q"], standalone_mode=False)
        used = seconds() - before
        print(f"{used:.1f} s of processor time, {len(done.output.splitlines())} lines\n{done.output}")
        assert done.exception is None
        assert done.return_value == 12
        assert len(done.output.splitlines()) <= MOST_LINES
        assert done.output.splitlines()[0].endswith("200 topics in 20 groups")
        assert used <= bound
        told.append(done.output)
    assert told[0] == told[1]
