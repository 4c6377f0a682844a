"""A running cluster of 200 topics in ten groups, as it describes itself: told on a screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from acked.audit.clusters.live import LiveBroker, LiveCluster, LivePartition, LiveTopic, LiveValue
from acked.audit.commands import options
from acked.audit.commands.audit import audit
from acked.audit.commands.summary import MOST_LINES
from acked.audit.reports import build


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


@pytest.mark.slow
def test_200_topics_are_told_in_25_lines_cold_and_again_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(options, "ask_apart", lambda *_, **__: cluster(200))
    monkeypatch.setattr(build, "told", lambda *_: pytest.fail("a summary of several groups tells no steps"))
    wanted = ["--bootstrap-server", "kafka:9092", "--ask", "loss", "--faults", "none", "-q", "-j", "1"]
    cold, warm = (CliRunner().invoke(audit, wanted, standalone_mode=False) for _ in range(2))
    assert (cold.exception, warm.exception) == (None, None)
    lines = cold.output.splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].endswith("200 topics in 20 groups")
    assert any(line.startswith("  and ") and "groups more" in line for line in lines)
    assert lines[-1] == warm.output.splitlines()[-1]
    assert warm.output == cold.output
