"""Unmapped tombstone (gallery row 104) on unmodified brokers: a consumer that reads a compacted topic in less than
delete.retention.ms keeps a key that was deleted, where the cleaner's map is full before the tombstone.

The control is a map that holds all keys; nothing else differs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import kafka
import pytest

from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import make_plan
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import wait_for
from tests.cluster.conftest import real_plan, users_cache

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

TABLE, KEY, OLD = "table", b"user", b"address"
SECONDS, RETENTION_MS, SEGMENT_MS = 60.0, 20_000, 60_000
OTHERS = 600
"""Other keys between the value and its tombstone; a map of two MiB has 87,381 places, of which 436 are used here."""
SMALL_MAP = {"log.cleaner.dedupe.buffer.size": str(2 << 20), "log.cleaner.io.buffer.load.factor": "0.005"}
QUICK = {"log.cleaner.enable": "true", "log.cleaner.threads": "1", "log.cleaner.backoff.ms": "200"}
SETTINGS = {"cleanup.policy": "compact", "delete.retention.ms": str(RETENTION_MS), "segment.ms": str(SEGMENT_MS)}


@dataclass(frozen=True)
class Played:
    """Where the first pass ended, what a consumer made of the log, in how many seconds, and what a later one does."""

    first_pass: int
    seconds: float
    table: dict[bytes, bytes]
    later: dict[bytes, bytes]


def checkpoint(node: Path) -> int:
    """How far the cleaner was (`cleaner-offset-checkpoint`)."""
    place = node / "cleaner-offset-checkpoint"
    lines = place.read_text("utf-8").splitlines() if place.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{TABLE} 0 ")), 0)


class Reader:
    """A consumer that reads the topic from its start into a table, one batch at a time."""

    def __init__(self, cluster: Cluster) -> None:
        self.table: dict[bytes, bytes] = {}
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=cluster.bootstrap(), group_id=None, auto_offset_reset="earliest", fetch_max_bytes=1,
            max_partition_fetch_bytes=1, enable_auto_commit=False,
        )  # fmt: skip
        self._place = kafka.TopicPartition(TABLE, 0)
        self._consumer.assign([self._place])

    def read(self, until: int) -> None:
        """Reads on to an offset."""
        while self._consumer.position(self._place) < until:
            for records in self._consumer.poll(timeout_ms=500).values():
                for one in records:
                    if one.value is None:
                        self.table.pop(one.key, None)
                    else:
                        self.table[one.key] = one.value

    def close(self) -> None:
        self._consumer.close()


def play(cluster: Cluster) -> Played:
    Topic(cluster, TABLE).create([0], SETTINGS)
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap(), acks="all")
    now = int(1000 * time.time())

    def write(key: bytes, value: bytes | None, at: int) -> int:
        offset: int = producer.send(TABLE, key=key, value=value, timestamp_ms=at, partition=0).get(SECONDS).offset
        return offset

    def write_many(first: int, count: int, at: int) -> None:
        keys = [b"%d" % number for number in range(first, first + count)]
        sent = [producer.send(TABLE, key=key, value=b"-", timestamp_ms=at, partition=0) for key in keys]
        producer.flush()
        assert all(one.succeeded() for one in sent)

    data = cluster.nodes[0].data
    write(KEY, OLD, now)
    write_many(0, OTHERS, now)
    tombstone = write(KEY, None, now)
    write_many(OTHERS, 3 * OTHERS, now + SEGMENT_MS + 1)
    wait_for(lambda: checkpoint(data) > 0, "the first pass", SECONDS, cluster.check)
    first_pass = checkpoint(data)
    time.sleep(RETENTION_MS / 1000 + 1)
    reader, begin = Reader(cluster), time.monotonic()
    reader.read(1)
    end = write(b"last", b"-", now + 2 * (SEGMENT_MS + 1)) + 1
    wait_for(lambda: checkpoint(data) > tombstone + 1, "a pass behind the tombstone", SECONDS, cluster.check)
    reader.read(end)
    seconds = time.monotonic() - begin
    later = Reader(cluster)
    later.read(end)
    for one in (producer, reader, later):
        one.close()
    return Played(first_pass, seconds, reader.table, later.table)


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "3.9.1"])
def test_a_consumer_keeps_a_deleted_key_where_the_map_is_full_before_its_tombstone_and_not_where_it_holds_all_keys(
    version: str, users_cache: None
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    found = {}
    for name, own in (("small", {**QUICK, **SMALL_MAP}), ("large", QUICK)):
        with Cluster(add_archive(make_plan(version, brokers=(0,), settings=own, has_witness=True))) as cluster:
            played = found[name] = play(cluster)
            print(version, name, played.first_pass, played.seconds, played.table.get(KEY), played.later.get(KEY))
    assert found["small"].first_pass < OTHERS < found["large"].first_pass
    assert all(one.seconds < RETENTION_MS / 1000 and KEY not in one.later for one in found.values())
    assert found["small"].table.get(KEY) == OLD
    assert KEY not in found["large"].table
