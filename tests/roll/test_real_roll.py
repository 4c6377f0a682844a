"""A rolling restart of a real cluster that `acked roll` drives: what it allows loses nothing, and what it forbids does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import confluent_kafka
import pytest

from acked.cli import main
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import wait_for
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]

TOPICS = {
    **{f"orders-{at}": ([at % 3, (at + 1) % 3, (at + 2) % 3], {"min.insync.replicas": "2"}) for at in range(46)},
    "single-0": ([0], {"min.insync.replicas": "1"}),
    "single-1": ([1], {"min.insync.replicas": "1"}),
    "strict": ([2, 0, 1], {"min.insync.replicas": "3"}),
    "loose": ([0, 1, 2], {"min.insync.replicas": "1"}),
}
"""Fifty topics of one partition each."""

Acked = dict[str, set[bytes]]


def ask(cluster: Cluster, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of `acked roll`, asked of a broker that runs."""
    running = next(broker for broker in cluster.plan.brokers if cluster.nodes[broker].is_running)
    address = cluster.addresses.bootstrap(running)
    capsys.readouterr()
    code = main(["roll", "--bootstrap-server", address, "--timeout", "300", "--format", "json", "-q", *words])
    return code, json.loads(capsys.readouterr().out)


@contextmanager
def producing(cluster: Cluster, acked: Acked) -> Iterator[None]:
    """Producers with acks=all, to every topic all the time; what is acknowledged is noted."""
    over = threading.Event()
    producer = confluent_kafka.Producer({
        "bootstrap.servers": cluster.bootstrap(), "acks": "all", "enable.idempotence": True, "linger.ms": 20,
        "message.timeout.ms": 60_000, "log_level": 0,
    })  # fmt: skip

    def note(error: object, message: Any) -> None:
        if error is None:
            acked.setdefault(message.topic(), set()).add(message.value())

    def run() -> None:
        number = 0
        while not over.is_set():
            for topic in TOPICS:
                producer.produce(topic, str(number).encode(), on_delivery=note)
            number += 1
            producer.poll(0.1)
        producer.flush(120)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(180)


def kept(cluster: Cluster, topics: Iterator[str]) -> Acked:
    """What a consumer reads of the topics, from the beginning to the end that they have now."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "all", "log_level": 0})
    found: Acked = {}
    for topic in topics:
        place = confluent_kafka.TopicPartition(topic, 0, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=120)
        consumer.assign([place])
        read: set[bytes] = set()
        at = 0
        while at < end:
            for message in consumer.consume(min(500, end - at), timeout=10):
                assert message.error() is None
                read.add(message.value() or b"")
                at = (message.offset() or 0) + 1
        found[topic] = read
    consumer.close()
    return found


def await_in_sync(cluster: Cluster) -> None:
    """Returns when every replica is in sync."""

    def look() -> bool:
        with cluster.admin() as client:
            views = [client.partition(topic) for topic in TOPICS]
        return all(view is not None and set(view.isr) == set(view.replicas) for view in views)

    wait_for(look, "that all replicas are in sync", 300)


@pytest.mark.real
@pytest.mark.slow
def test_a_rolling_restart_by_its_answers_loses_nothing_and_what_it_forbids_loses(
    users_cache: None, capsys: pytest.CaptureFixture[str]
) -> None:
    acked: Acked = {}
    with Cluster(real_plan("4.4.0", {"offsets.topic.replication.factor": "3"}, Mode.KRAFT)) as cluster:
        with cluster.admin() as client:
            for topic, (replicas, settings) in TOPICS.items():
                assert client.create_topic(topic, replicas, settings) == 0
        await_in_sync(cluster)
        code, found = ask(cluster, capsys)
        assert code == 12, "single-0, single-1 and strict refuse writes without a replica, whatever is done"
        cases = [case for one in found["brokers"] for case in one["cases"]]
        assert all(case["refuses_by_settings"] for case in cases if case["verdict"] != "may")
        with producing(cluster, acked):
            _roll(cluster, capsys)
        lost = {topic: acked[topic] - read for topic, read in kept(cluster, iter(acked)).items()}
        assert {topic for topic, records in lost.items() if records} == set()
        assert len(acked) == len(TOPICS)
        assert min(map(len, acked.values())) > 10
        _lose(cluster, capsys)


def _roll(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Every broker in the order of the answer, each asked about anew; while it is down, a process more is killed."""
    code, found = ask(cluster, capsys, "--accept-settings")
    assert (code, found["verdict"]) == (0, "may")
    order = found["order"]
    assert sorted(order) == [0, 1, 2]
    for at, broker in enumerate(order):
        code, _ = ask(cluster, capsys, "--accept-settings", "--broker", str(broker))
        assert code == 0
        crashes = at == 1
        cluster.kill(broker) if crashes else cluster.shut_down(broker)
        if crashes:
            cluster.notice(broker)
        other = next(one for one in cluster.plan.brokers if one != broker)
        code, _ = ask(cluster, capsys, "--accept-settings", "--broker", str(other))
        assert code == 12, "one is down already"
        time.sleep(2.0)
        cluster.kill(other)  # The one thing more that its answer allowed for.
        cluster.notice(other)
        cluster.restart(other)
        cluster.restart(broker)
        await_in_sync(cluster)


def _lose(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """An ISR of one: the answer is that it may not go, and with its disk goes what was acknowledged."""
    cluster.shut_down(1)
    cluster.shut_down(2)
    address = cluster.addresses.bootstrap(0)
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "acks": "all", "log_level": 0})
    failed: list[object] = []
    producer.produce("loose", b"the last", on_delivery=lambda error, _: failed.append(error))
    assert producer.flush(120) == 0
    assert failed == [None], "min.insync.replicas=1: it was acknowledged"
    code, found = ask(cluster, capsys, "--accept-settings", "--broker", "0")
    assert code == 12
    [case] = [case for case in found["brokers"][0]["cases"] if {"topic": "loose", "partition": 0} in case["partitions"]]
    assert "disk" in case["loss"]["clean"]["by"]
    assert not case["loss_by_settings"]
    cluster.shut_down(0)
    cluster.replace_disk(0)
    for broker in (0, 1, 2):
        cluster.restart(broker)
    wait_for(lambda: _leads(cluster, "loose"), "a leader of loose", 300)
    assert b"the last" not in kept(cluster, iter(["loose"]))["loose"]


def _leads(cluster: Cluster, topic: str) -> bool:
    with cluster.admin() as client:
        view = client.partition(topic)
    return view is not None and view.leader is not None and view.leader >= 0
