"""Foreign load on unmodified brokers: leadership of a partition of `__consumer_offsets` goes away and comes back meanwhile.

Partitions 0 and 1 have many commits each. Broker 0 loads partition 0 first, in the loader's one thread; behind it waits
partition 1, whose group has a committed offset.
"""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import TracebackType
from typing import Self

import kafka

from acked.base.sockets import read_exactly
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.nodes.plan import ClusterPlan, make_plan
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.client import Client
from acked.cluster.wire.codec import frame_length, read_response, write_request
from acked.cluster.wire.groups import Membership, commit_offsets

OFFSETS, INPUT = "__consumer_offsets", "input"
RECORDS, COMMITTED = 10, 7
"""So many records are in the input, and the group has read the first seven."""
AWAY, BACK = [1, 0], [0, 1]
LOADS, NOT_HERE, NO_OFFSET = "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "offset -1"
HAS_IT = f"offset {COMMITTED}"
SECONDS = 60.0
_SIMPLE = Membership(0)
COMMITS, _IN_ONE_REQUEST = 2_000_000, 10_000
"""In each of the two partitions; two million are replayed in two or three seconds."""
_MANY = {"cleanup.policy": "compact", "segment.bytes": str(100 << 20)}
"""As brokers make this topic."""


def group_of(partition: int, name: str) -> str:
    """A group's name, with a number behind it, such that its offsets are in one of the two partitions."""
    return next(full for full in (f"{name}-{number}" for number in range(99)) if _hash(full) % 2 == partition)


def _hash(text: str) -> int:
    """`Utils.abs(String.hashCode())`."""
    return reduce(lambda code, letter: (31 * code + ord(letter)) & 0xFFFFFFFF, text, 0) & 0x7FFFFFFF


GROUP, BLOCKER = group_of(1, "readers"), group_of(0, "others")


def plan(version: str, home: Path | None = None) -> ClusterPlan:
    """Two brokers, whose logs are not compacted."""
    return make_plan(version, home=home, brokers=(0, 1), settings={"offsets.topic.num.partitions": "2"}, has_witness=True)


class Asker:
    """Asks one broker again and again for a group's offset, as consumers do; keeps each answer that differs from the last."""

    def __init__(self, cluster: Cluster, group: str) -> None:
        self.answers: list[str] = []
        self.times: list[float] = []
        self._cluster, self._group = cluster, group
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def await_last(self, *wanted: str) -> None:
        """Returns when the last answer is one of these."""
        wait_for(lambda: self.answers[-1:] and self.answers[-1] in wanted, " or ".join(wanted), SECONDS, self._cluster.check)

    def lasted(self, answer: str) -> float:
        """For how many seconds an answer was given, the last time that it was."""
        at = len(self.answers) - 1 - self.answers[::-1].index(answer)
        return (self.times[at + 1] if at + 1 < len(self.times) else time.monotonic()) - self.times[at]

    def _run(self) -> None:
        with self._cluster.client(0) as ask:
            while not self._over.wait(0.01):
                answer = fetched(ask, self._group)
                if self.answers[-1:] != [answer]:
                    self.times.append(time.monotonic())
                    self.answers.append(answer)


def fetched(ask: Client, group: str) -> str:
    """What OffsetFetch is answered, in the version and with the wish for stable offsets that Kafka's consumers have."""
    asked = {"group_id": group, "topics": [{"name": INPUT, "partition_indexes": (0,)}], "require_stable": True}
    body = ask.ask(Api.OFFSET_FETCH, asked, 7)
    if body.error_code:
        return error_name(int(body.error_code))
    [found] = body.topics[0].partitions
    return error_name(int(found.error_code)) if found.error_code else f"offset {found.committed_offset}"


def many_commits(group: str, offset: int) -> bytes:
    """A request that commits an offset ten thousand times."""
    one = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    asked = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "",
             "topics": [{"name": INPUT, "partitions": [one] * _IN_ONE_REQUEST}]}  # fmt: skip
    return write_request(Api.OFFSET_COMMIT, 2, 1, asked)


def fill(cluster: Cluster, partition: int) -> None:
    """Commits of another group of that partition, by broker 1."""
    frame, good = many_commits(group_of(partition, "filler"), 1), b""
    with socket.create_connection(("127.0.0.1", cluster.addresses.client[1]), 60.0) as to_broker:
        for _ in range(COMMITS // _IN_ONE_REQUEST):
            to_broker.sendall(frame)
            answer = read_exactly(to_broker, frame_length(read_exactly(to_broker, 4)))
            if answer != good:
                [topic] = read_response(Api.OFFSET_COMMIT, 2, answer).topics
                assert {int(found.error_code) for found in topic.partitions} == {0}
                good = answer


def begin(cluster: Cluster) -> None:
    """The topics, and what is committed: all by broker 1, which leads both partitions."""
    Topic(cluster, INPUT).create([1, 0])
    with cluster.admin() as ask:
        assert ask.create_topic(OFFSETS, AWAY, _MANY, 2) == 0
    with cluster.client(1) as ask:
        for number in range(RECORDS):
            assert ask.produce(INPUT, f"r{number}".encode()).error == 0
    both_away(cluster)
    for partition in (0, 1):
        fill(cluster, partition)
    with cluster.client(1) as ask:
        for group in (BLOCKER, GROUP):
            assert commit_offsets(ask, group, _SIMPLE, INPUT, {0: COMMITTED}) == 0


def both_away(cluster: Cluster) -> None:
    """Broker 1 leads both partitions and has loaded them."""
    for partition in (0, 1):
        move_leadership(cluster, OFFSETS, AWAY, SECONDS, partition)

    def has_loaded() -> bool:
        with cluster.client(1) as ask:
            return all(fetched(ask, group).startswith("offset") for group in (BLOCKER, GROUP))

    wait_for(has_loaded, "that broker 1 has loaded", SECONDS, cluster.check)


@dataclass(frozen=True)
class Played:
    """What broker 0 answered, one after the other, how long it had no offset, what a consumer read, and its own log."""

    answers: tuple[str, ...]
    without: float
    read: tuple[str, ...]
    lines: tuple[str, ...]


def play(cluster: Cluster, moves_back_and_forth: bool) -> Played:
    """Broker 0 is to load both partitions, 0 first; the other one's leadership moves away and back meanwhile, or not."""
    both_away(cluster)
    before = cluster.nodes[0].log.stat().st_size
    with Asker(cluster, GROUP) as asker, Consumer(cluster) as consumer:
        asker.await_last(NOT_HERE)
        move_leadership(cluster, OFFSETS, BACK, SECONDS, 0)
        move_leadership(cluster, OFFSETS, BACK, SECONDS, 1)
        asker.await_last(LOADS)
        if moves_back_and_forth:
            move_leadership(cluster, OFFSETS, AWAY, SECONDS, 1)
            asker.await_last(NOT_HERE)
            move_leadership(cluster, OFFSETS, BACK, SECONDS, 1)
            asker.await_last(LOADS, NO_OFFSET)
        consumer.begin()
        asker.await_last(HAS_IT)
        read = consumer.read()
        without = asker.lasted(NO_OFFSET) if NO_OFFSET in asker.answers else 0.0
    with cluster.nodes[0].log.open("rb") as log:
        log.seek(before)
        said = log.read().decode().splitlines()
    lines = [line for line in said if f"{OFFSETS}-1" in line and "load" in line.lower()]
    return Played(tuple(asker.answers), without, read, tuple(lines))


class Consumer:
    """kafka-python's consumer, assigned the input's partition: it begins at the group's offset, or else at the end."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=cluster.bootstrap(), group_id=GROUP, auto_offset_reset="latest", enable_auto_commit=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._consumer.close()

    def begin(self) -> None:
        """It is assigned its partition; returns when it knows where to begin, which it asks while offsets are loaded."""
        place = kafka.TopicPartition(INPUT, 0)
        self._consumer.assign([place])
        assert self._consumer.position(place, timeout_ms=1000 * SECONDS) is not None

    def read(self) -> tuple[str, ...]:
        """What it is given, up to a record that is written now."""
        with self._cluster.client(1) as ask:
            last = f"r{ask.latest_offset(INPUT)[1]}"
            assert ask.produce(INPUT, last.encode()).error == 0
        found: list[str] = []

        def is_given() -> bool:
            given = self._consumer.poll(timeout_ms=500)
            found.extend(one.value.decode() for records in given.values() for one in records)
            return last in found

        wait_for(is_given, f"that the consumer is given {last}", SECONDS, self._cluster.check)
        return tuple(found)


# -- commits that wait ------------------------------------------------------------------------------------------------

EARLIER, LATER = 5, 9
_WAITING = 200
"""So many requests, each on a connection of its own, keep a coordinator busy for ten seconds."""


def begin_waiting(cluster: Cluster) -> None:
    """The topics, and a first commit by broker 0, which leads."""
    Topic(cluster, INPUT).create([1, 0])
    with cluster.admin() as ask:
        assert ask.create_topic(OFFSETS, BACK, _MANY, 2) == 0
    commit(cluster, 0, 1)


def commit(cluster: Cluster, broker: int, offset: int) -> None:
    """Returns when the broker has acknowledged it."""

    def is_taken() -> bool:
        with cluster.client(broker) as ask:
            return commit_offsets(ask, GROUP, _SIMPLE, INPUT, {0: offset}) == 0

    wait_for(is_taken, f"that broker {broker} takes offset {offset}", SECONDS, cluster.check)


def play_waiting(cluster: Cluster, waits_for_all: bool) -> str:
    """Broker 0 is asked for many commits; leadership goes away, the next leader takes a later one, and it comes back.

    Returns what broker 0 says in the end. With `waits_for_all` leadership moves when all were answered.
    """
    frame = many_commits(GROUP, EARLIER)
    with ExitStack() as stack:
        address = ("127.0.0.1", cluster.addresses.client[0])
        asking = [stack.enter_context(socket.create_connection(address, SECONDS)) for _ in range(_WAITING)]
        with ThreadPoolExecutor(_WAITING) as pool:
            asked = [pool.submit(_answer, one, frame) for one in asking]
            wait(asked, SECONDS, ALL_COMPLETED if waits_for_all else FIRST_COMPLETED)
            move_leadership(cluster, OFFSETS, AWAY, SECONDS)
            commit(cluster, 1, LATER)
            assert waits_for_all or len([one for one in asked if not one.done()]) > _WAITING // 2
            move_leadership(cluster, OFFSETS, BACK, SECONDS)
            wait(asked)
    with Asker(cluster, GROUP) as asker:
        asker.await_last(f"offset {EARLIER}", f"offset {LATER}")
        time.sleep(5.0)
        return asker.answers[-1]


def _answer(to_broker: socket.socket, frame: bytes) -> str:
    to_broker.sendall(frame)
    [topic] = read_response(Api.OFFSET_COMMIT, 2, read_exactly(to_broker, frame_length(read_exactly(to_broker, 4)))).topics
    return error_name(int(topic.partitions[0].error_code))
