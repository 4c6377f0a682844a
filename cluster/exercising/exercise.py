"""A run of a real cluster that is disturbed at random while clients write and read: its logs are recorded for a validation.

Nothing that is done is beyond what a cluster must survive, and everything is undone at the end: all brokers run, all
replicas are in sync, and the disks are compared with what was acknowledged. A run of hours is one of rounds, each with a
topic of its own on the same cluster, whose logs are kept no longer than their validation takes.
"""

from __future__ import annotations

import csv
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.frozen import frozen
from acked.cluster.exercising.consuming import Group
from acked.cluster.exercising.course import Disturbance, Kind, course
from acked.cluster.exercising.disturbing import Disturber
from acked.cluster.exercising.producing import Brokers, Idempotent, Plain, Producer, Transactional, Written
from acked.cluster.lines.configuration import configuration, is_read
from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import make_plan
from acked.cluster.observe.acknowledgements import write_acknowledged
from acked.cluster.observe.directories import META
from acked.cluster.observe.disk import partition_folder
from acked.cluster.observe.metadata import FOLDER as METADATA
from acked.cluster.releases.release import Mode, release
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.records import Record

TOPIC, BESIDE = "exercise", "beside"
"""The topic whose lines are validated, and another one, whose replicas are moved to other brokers."""
DATA, COURSE = "data", "course.csv"
"""What is left beside the nodes' logs: copies of data directories, and what was done."""
COURSE_COLUMNS = ("seconds", "disturbance", "broker", "lasts", "share", "done")
REPLICAS = (0, 1, 2)
SETTINGS: Mapping[str, str] = {
    "replica.lag.time.max.ms": "2000",
    "broker.session.timeout.ms": "6000",
    "replica.socket.timeout.ms": "5000",
    "replica.fetch.wait.max.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "unclean.leader.election.enable": "false",
    "log.retention.check.interval.ms": "5000",
    "log.initial.task.delay.ms": "2000",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
}
"""Timers as short as a run of minutes needs; the lag must be longer than a fetch waits. Internal topics have replicas."""
WITH_ZOOKEEPER: Mapping[str, str] = {"zookeeper.session.timeout.ms": "6000"}
TOPIC_SETTINGS: Mapping[str, str] = {"segment.bytes": str(1 << 20), "retention.bytes": str(2 << 20)}
"""Segments as small as a broker of 4.0 lets them be (KIP-1030), and some of them."""
_SETTLE_SECONDS = 120.0
_BESIDE_SHARE = 0.1
"""Which part of all records the other topic gets."""


def acknowledged_file(partition: int) -> str:
    """The name of the file of what producers were acknowledged in one partition."""
    return "acknowledged.csv" if partition == 0 else f"acknowledged-{partition}.csv"


@frozen
class Exercise:
    """What is asked for. `rate` is in records a second; `home` an unpacked release, None for the cache's.

    With `hours` the cluster is exercised so long, in rounds of so many minutes, with the seeds that follow.
    """

    version: str
    minutes: float
    seed: int
    kinds: tuple[Kind, ...] = tuple(Kind)
    rate: float = 30.0
    min_insync_replicas: int = 2
    home: Path | None = None
    partitions: int = 1
    hours: float | None = None


@frozen
class Exercised:
    """What was done in one round. `logs` holds a file for each node, `DATA`, and what was acknowledged; `counts` how often
    each disturbance came, `skipped` those for which the moment was not right; `missing` are partition and offset of
    acknowledged records that the leader does not have at the end, without those that retention has deleted; `misread` says
    what the group of consumers was given wrongly, of `read` records.
    """

    asked: Exercise
    topic: str
    seed: int
    logs: Path
    seconds: float
    sent: int
    acknowledged: int
    missing: tuple[tuple[int, int], ...]
    misread: tuple[str, ...]
    read: int
    counts: Mapping[Kind, int]
    skipped: int


def exercise(asked: Exercise, logs: Path, show: Callable[[str], None] = lambda line: None) -> Iterator[Exercised]:
    """Runs it, round by round, and leaves what nodes and clients wrote in a folder, which must be there.

    What is there of a round may be removed when the next one is asked for; a round of several has a folder of its own. `show`
    is told how it goes: lines while brokers start, and every disturbance with the seconds since the beginning.
    `SystemFailure` if the cluster does not start, or does not come back: it names what there is up to then in the folder.
    """
    chosen = release(asked.version)
    mode = Mode.KRAFT if Mode.KRAFT in chosen.modes else Mode.ZOOKEEPER
    if not is_read(chosen.number, mode is Mode.KRAFT):
        raise ConfigurationError(
            f"the lines of Kafka {asked.version} with ZooKeeper are not read; choose 2.8, or 3.3 or later, which have KRaft"
        )
    settings = SETTINGS if mode is Mode.KRAFT else {**SETTINGS, **WITH_ZOOKEEPER}
    plan = make_plan(
        asked.version, mode, asked.home, REPLICAS, settings, {}, False, show,
        has_witness=True, logging=configuration(chosen.number, None, TOPIC),
    )  # fmt: skip
    with ExitStack() as left:
        cluster = Cluster(add_archive(plan, show), show)
        left.push(cluster)
        if asked.hours is not None:
            yield from _rounds(asked, cluster, logs, show)
            return
        one = _Round(asked, cluster, TOPIC, asked.seed, logs, show)
        with _kept(one, logs):
            cluster.start()
            one.run()
            for broker in REPLICAS:
                cluster.shut_down(broker)
        one.keep()
    yield one.outcome()


def _rounds(asked: Exercise, cluster: Cluster, logs: Path, show: Callable[[str], None]) -> Iterator[Exercised]:
    """Rounds on one cluster until the hours are over, each with a topic and a folder of its own."""
    assert asked.hours is not None
    end = time.monotonic() + 3600 * asked.hours
    for number in count():
        folder = logs / f"round-{number}"
        folder.mkdir()
        one = _Round(asked, cluster, f"{TOPIC}{number}", asked.seed + number, folder, show)
        with _kept(one, folder):
            if number == 0:
                cluster.start()
            one.run()
        one.keep_and_forget()
        yield one.outcome()
        if time.monotonic() >= end:
            return


@contextmanager
def _kept(one: _Round, folder: Path) -> Iterator[None]:
    """What there is of a round that ends otherwise is kept, and named."""
    try:
        yield
    except BaseException as error:
        one.keep()
        if not isinstance(error, SystemFailure):
            raise
        found = ", ".join(sorted(path.name for path in folder.iterdir()))
        raise SystemFailure(f"{error}; what there is up to then is in {folder}: {found or 'nothing'}") from None


class _Round:
    """One topic's life: it is made, written to and read while its brokers are disturbed, and looked at."""

    def __init__(
        self, asked: Exercise, cluster: Cluster, topic: str, seed: int, folder: Path, show: Callable[[str], None]
    ) -> None:
        self._asked, self._cluster, self._topic, self._seed = asked, cluster, topic, seed
        self._folder, self._show = folder, show
        self._course: list[tuple[float, Disturbance, bool]] = []
        """What was done, and what could not be, each with the seconds since the beginning."""
        self._begun = 0.0
        self._seconds = 0.0
        self._missing: tuple[tuple[int, int], ...] = ()
        self._misread: tuple[str, ...] = ()
        self._first: dict[int, int] = {}
        """Where each partition's log begins at the end: retention deleted what was before."""
        brokers = Brokers(cluster.client, REPLICAS)
        each = asked.rate * (1 - _BESIDE_SHARE) / 3
        self._writers: tuple[Producer, ...] = tuple(
            kind(topic, asked.partitions, each, brokers) for kind in (Plain, Idempotent, Transactional)
        )
        self._beside = Plain(BESIDE, 1, asked.rate * _BESIDE_SHARE, brokers)
        self._group = Group(topic, asked.partitions, brokers)
        self._disturber = Disturber(cluster, topic, BESIDE, asked.partitions, REPLICAS, self._sleep)

    def outcome(self) -> Exercised:
        """What was done."""
        written, consumed = self._written(), self._group.consumed
        counts = Counter(one.kind for _, one, is_done in self._course if is_done)
        return Exercised(
            self._asked, self._topic, self._seed, self._folder, self._seconds, written.sent, len(written.acknowledged),
            self._missing, self._misread, len(consumed.records), counts,
            len(self._course) - counts.total(),
        )  # fmt: skip

    def _written(self) -> Written:
        whole = Written(sum(one.written.sent for one in self._writers))
        for one in self._writers:
            whole.acknowledged |= one.written.acknowledged
            whole.fates |= one.written.fates
        return whole

    # -- what is left -----------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Copies the nodes' logs, what they have on disk of the topic and of their metadata, what was acknowledged, and the
        course. The nodes are ended first, where they still run: one that failed may leave others.
        """
        self._cluster.end_nodes()
        self._copy(METADATA)

    def keep_and_forget(self) -> None:
        """The same of nodes that run on and have nothing to do; the topic is deleted, and their logs begin anew."""
        self._copy()
        with self._cluster.admin() as ask:
            ask.delete_topic(self._topic)
        for node in self._cluster.nodes.values():
            if node.log.is_file():
                os.truncate(node.log, 0)  # Nodes append to it.

    def _copy(self, *besides: str) -> None:
        folders = [partition_folder(Path(), self._topic, number).name for number in range(self._asked.partitions)]
        for number in (*REPLICAS, CONTROLLER):
            node, name = self._cluster.nodes[number], "controller" if number == CONTROLLER else str(number)
            if node.log.is_file():
                shutil.copy(node.log, self._folder / f"{name}.log")
            for inside in (*folders, *besides):
                if (node.data / inside).is_dir():
                    shutil.copytree(node.data / inside, self._folder / DATA / name / inside)
            if (node.data / META).is_file():
                (self._folder / DATA / name).mkdir(parents=True, exist_ok=True)
                shutil.copy(node.data / META, self._folder / DATA / name / META)
        written = self._written()
        for number in range(self._asked.partitions):
            first = self._first.get(number, 0)
            records = {offset: value for offset, value in written.of(number).items() if offset >= first}
            write_acknowledged(self._folder / acknowledged_file(number), records)
        with (self._folder / COURSE).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COURSE_COLUMNS)
            for at, one, is_done in self._course:
                rows.writerow((f"{at:.1f}", one.kind.value, one.broker, f"{one.lasts:.1f}", f"{one.share:.2f}",
                               "yes" if is_done else "no"))  # fmt: skip

    # -- the course -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Makes the topic, disturbs its brokers until the time is over, and looks at what is there then."""
        self._make_topics()
        self._begun = time.monotonic()
        with ExitStack() as clients:
            for one in (*self._writers, self._beside):
                clients.enter_context(one)
            clients.enter_context(self._group)
            for disturbance in course(self._seed, REPLICAS, self._asked.kinds):
                if not self._sleep(disturbance.pause):
                    break
                at = time.monotonic() - self._begun
                self._show(f"{self._topic}, {at:.0f} s of {60 * self._asked.minutes:.0f} s: {disturbance}")
                self._course.append((at, disturbance, self._disturber.disturb(disturbance)))
            self._show(f"{self._topic}: all brokers are awaited in sync")
            self._disturber.mend()
            for writer in (*self._writers, self._beside):
                writer.stop()
            self._seconds = time.monotonic() - self._begun
            self._settle()
            self._show(f"{self._topic}: consumers read to the end")
            self._read_to_the_end()
        self._misread += self._group.consumed.wrong(self._written())

    def _make_topics(self) -> None:
        settings = {"min.insync.replicas": str(self._asked.min_insync_replicas), **TOPIC_SETTINGS}
        with self._cluster.admin() as ask:
            if BESIDE not in ask.metadata().topics:
                ask.create_topic(BESIDE, REPLICAS[:2], TOPIC_SETTINGS)
            error = ask.create_topic(self._topic, REPLICAS, settings, self._asked.partitions)
        if error:
            raise SystemFailure(f"the topic {self._topic} was not created: error {error}")
        wait_for(self._disturber.is_whole, f"that all replicas of {self._topic} are in sync", _SETTLE_SECONDS)

    def _sleep(self, seconds: float) -> bool:
        """Waits, at most until the time is over; whether there is time left."""
        left = self._begun + 60 * self._asked.minutes - time.monotonic()
        time.sleep(max(0.0, min(seconds, left)))
        return left > seconds

    # -- at the end -------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Waits until all replicas are in sync and have the same records, and looks for the acknowledged ones."""
        wait_for(self._disturber.is_whole, f"that all replicas of {self._topic} are in sync again", _SETTLE_SECONDS)
        written, missing = self._written(), []
        for partition in range(self._asked.partitions):
            held = self._records(partition)
            self._first[partition] = first = min(held, default=0)
            for offset, value in written.of(partition).items():
                if offset >= first and held.get(offset) != value:
                    missing.append((partition, offset))
        self._missing = tuple(missing)

    def _records(self, partition: int) -> dict[int, bytes | None]:
        """The records that all replicas have, by offset, as soon as they have the same from the last one's beginning on."""
        tails: set[tuple[Record, ...]] = set()

        def are_equal() -> bool:
            logs = [self._cluster.replica(broker, self._topic, partition).log for broker in REPLICAS]
            first = max(log[0].offset if log else 0 for log in logs)
            tails.clear()
            tails.update(tuple(record for record in log if record.offset >= first) for log in logs)
            return len(tails) == 1

        what = f"that all replicas of partition {partition} of {self._topic} have the same records"
        wait_for(are_equal, what, _SETTLE_SECONDS)
        return {record.offset: record.value for record in tails.pop()}

    def _read_to_the_end(self) -> None:
        """Waits until the group has read all that is committed: a transaction that nobody ends is aborted by then."""
        written = self._written()
        ends = {number: max(written.of(number), default=-1) + 1 for number in range(self._asked.partitions)}
        try:
            wait_for(lambda: self._group.has_read(ends), "that consumers have read to the end", _SETTLE_SECONDS)
        except NotSeen:
            positions = self._group.consumed.positions
            self._misread = tuple(
                f"partition {number} was read up to offset {positions.get(number, 0)} only, of {end}"
                for number, end in ends.items() if positions.get(number, 0) < end
            )  # fmt: skip
