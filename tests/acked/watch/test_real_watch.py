"""A running cluster that is watched: a broker that goes down is in the metrics, and so is its return."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from acked.base.errors import SystemFailure
from acked.cluster.nodes.addresses import free_ports
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import wait_for
from tests.acked.watch.clusters import samples
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]

EVERY = 3.0
"""Seconds between two readings."""

SETTINGS = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
"""The second because the controllers are apart, of whose default brokers cannot tell."""

Samples = Mapping[tuple[str, ...], float]


@contextmanager
def watching(*words: str) -> Iterator[Callable[[], Samples]]:
    """What `acked watch` has as metrics, each time that it is called."""
    [port] = free_ports(1)
    line = [sys.executable, "-m", "acked", "watch", f"--listen=127.0.0.1:{port}", f"--every={EVERY}", *words]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)

    def ask() -> Samples:
        assert process.poll() is None
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            return samples(answer.read().decode().rstrip("\n") + "\n# EOF\n")

    assert process.stderr is not None
    try:
        assert process.stderr.readline().startswith("watching ")
        yield ask
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        print(process.stderr.read())


def await_metric(ask: Callable[[], Samples], wanted: Mapping[tuple[str, ...], float], seconds: float) -> float:
    """After how many seconds all of these are so."""
    began = time.monotonic()

    def look() -> bool:
        found = ask()
        if other := {key: found.get(key) for key in wanted if found.get(key) != wanted[key]}:
            raise SystemFailure(f"it has {other}")
        return True

    wait_for(look, "what metrics should be", seconds)
    return time.monotonic() - began


@pytest.mark.real
@pytest.mark.slow
def test_a_broker_that_goes_down_is_seen_and_so_is_its_return_though_another_cluster_is_gone(
    users_cache: None, tmp_path: Path
) -> None:
    with Cluster(real_plan("4.4.0", {"offsets.topic.replication.factor": "3"}, Mode.KRAFT)) as cluster:
        with cluster.admin() as client:
            for at in range(20):
                replicas = [at % 3, (at + 1) % 3, (at + 2) % 3]
                assert client.create_topic(f"orders-{at}", replicas, SETTINGS) == 0
            assert client.create_topic("loose", [0, 1, 2], {"min.insync.replicas": "1"}) == 0
        policy = tmp_path / "acked.toml"
        policy.write_text(f'[clusters."the \\"first\\"\\none"]\nbootstrap = "{cluster.bootstrap()}"\n'
                          '[clusters.gone]\nbootstrap = "127.0.0.1:1"\n')  # fmt: skip
        with watching(f"--policy={policy}", "--timeout=60") as ask:
            well = {
                ("acked_answer", "clean", "loss", "orders-1"): 0, ("acked_roll_verdict", "0"): 0, ("acked_broker_up", "2"): 1,
                ("acked_partitions_refusing_writes_after_stop", "state", "orders-1"): 0,
                ("acked_partitions_losing_after_stop", "state", "loose"): 0, ("acked_controllers_to_spare",): 0,
                ("acked_answer", "one-machine", "loss", "loose"): 2,
            }  # fmt: skip
            await_metric(ask, well, 300)
            cluster.shut_down(2)
            down = {
                ("acked_broker_up", "2"): 0, ("acked_roll_verdict", "0"): 2, ("acked_controllers_to_spare",): 0,
                ("acked_partitions_refusing_writes_after_stop", "state", "orders-1"): 1,
                ("acked_partitions_losing_after_stop", "state", "loose"): 1,
                ("acked_partitions_losing_after_failure", "state", "loose"): 0,
                ("acked_answer", "clean", "loss", "orders-1"): 0,
            }  # fmt: skip
            took = await_metric(ask, down, 120)
            print(f"seen after {took:.1f} s")
            cluster.restart(2)
            took = await_metric(ask, well, 240)
            print(f"well after {took:.1f} s")
            assert ask()["acked_up",] == 0, "the last of them is gone"
