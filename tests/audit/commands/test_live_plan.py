"""A plan of reassignment is held against a running cluster, before the move, while it is under way, and when it is over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acked.base.errors import ExitCode
from acked.cli import main
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import reassign
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import wait_for
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]


def planned(cluster: Cluster, folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit code, and what the command says as JSON; the topic is to lie on brokers 1 and 2."""
    plan, out = folder / "reassignment.json", folder / "answer.json"
    move = {"topic": "orders", "partition": 0, "replicas": [1, 2]}
    plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
    out.unlink(missing_ok=True)
    asked = ["audit", "plan", str(plan), "--bootstrap-server", cluster.addresses.bootstrap(1), "--format", "json"]
    code = main([*asked, "--out", str(out), "--quiet", *options])
    return code, json.loads(out.read_text()) if out.exists() else {}


@pytest.mark.real
@pytest.mark.slow
def test_a_plan_is_asked_about_a_running_cluster(
    users_cache: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Cluster(real_plan("4.1.0", {}, Mode.KRAFT)) as cluster:
        with cluster.admin() as ask:
            assert ask.create_topic("orders", [0, 1], {"min.insync.replicas": "2"}) == 0
        code, before = planned(cluster, tmp_path, "--faults", "clean")
        assert (code, capsys.readouterr().err) == (0, "")
        cluster.kill(2)
        cluster.notice(2)
        reassign(cluster, "orders", [1, 2])
        refused, _ = planned(cluster, tmp_path)
        why = capsys.readouterr().err
        cluster.restart(2)

        def has_moved() -> bool:
            with cluster.admin() as ask:
                return set(ask.describe("orders").replicas) == {1, 2}

        wait_for(has_moved, "the end of the reassignment", 120)
        ended, after = planned(cluster, tmp_path)
    decides, besides = before["groups"]
    assert decides["move"] == "2 replicas, 1 added and 1 removed"
    assert decides["partitions"] == [{"topic": "orders", "partition": 0, "replicas": [0, 1], "target": [1, 2]}]
    assert [one["in_words"].partition(" (")[0] for one in decides["answers"]] == ["no"] * 4
    assert (besides["producer"], besides["decides"]) == ("producers with acks=1", False)
    assert besides["answers"][0]["answer"] == "yes"
    # The old replicas and the new are all replicas for now; that a move is under way is told by the cluster.
    assert refused == ExitCode.CONFIGURATION
    assert "orders-0 is being moved already; let that end, or cancel it" in why
    assert (ended, after["groups"], after["unchanged"]) == (0, [], ["orders-0"])
