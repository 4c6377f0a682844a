"""A run of a real cluster that is disturbed at random while one producer writes: its logs are recorded for a validation.

Nothing that is done is beyond what a cluster must survive, and everything is undone at the end: all brokers run, all
replicas are in sync, and the disks are compared with what was acknowledged.
"""

from __future__ import annotations

import csv
import os
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from acked.base.errors import ConfigurationError, SystemFailure
from acked.cluster.exercising.course import Disturbance, Kind, course
from acked.cluster.lines.configuration import configuration, is_read
from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.nodes.plan import make_plan
from acked.cluster.observe.acknowledgements import write_acknowledged
from acked.cluster.observe.directories import META
from acked.cluster.observe.metadata import FOLDER as METADATA
from acked.cluster.proxies.frame import Phase
from acked.cluster.proxies.gate import Gate
from acked.cluster.releases.release import Mode, release
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import ALL_REPLICAS, BrokerGone, Client

TOPIC = "exercise"
DATA, ACKNOWLEDGED, COURSE = "data", "acknowledged.csv", "course.csv"
"""What is left beside the nodes' logs: copies of data directories, what the producer was acknowledged, and what was done."""
COURSE_COLUMNS = ("seconds", "disturbance", "broker", "lasts", "done")
REPLICAS = (0, 1, 2)
SETTINGS: Mapping[str, str] = {
    "replica.lag.time.max.ms": "2000",
    "broker.session.timeout.ms": "6000",
    "replica.socket.timeout.ms": "5000",
    "replica.fetch.wait.max.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "unclean.leader.election.enable": "false",
}
"""Timers as short as a run of minutes needs; the lag must be longer than a fetch waits."""
WITH_ZOOKEEPER: Mapping[str, str] = {"zookeeper.session.timeout.ms": "6000"}
_SETTLE_SECONDS = 120.0
_MOVE_SECONDS = 10.0


@dataclass(frozen=True)
class Exercise:
    """What is asked for. `rate` is in requests a second; `home` an unpacked release, None for the cache's."""

    version: str
    minutes: float
    seed: int
    kinds: tuple[Kind, ...] = tuple(Kind)
    rate: float = 30.0
    min_insync_replicas: int = 2
    home: Path | None = None


@dataclass(frozen=True)
class Exercised:
    """What was done. `logs` holds a file for each node, `DATA` and `ACKNOWLEDGED`; `counts` how often each disturbance came,
    `skipped` those for which the moment was not right; `missing` are offsets of acknowledged records that the leader does not
    have at the end.
    """

    asked: Exercise
    logs: Path
    seconds: float
    sent: int
    acknowledged: int
    missing: tuple[int, ...]
    counts: Mapping[Kind, int]
    skipped: int


def exercise(asked: Exercise, logs: Path, show: Callable[[str], None] = lambda line: None) -> Exercised:
    """Runs it and leaves what the nodes and the producer wrote in a folder, which must be there.

    `show` is told how it goes: lines while brokers start, and every disturbance with the seconds since the beginning.
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
    try:
        with ExitStack() as left:
            cluster = Cluster(add_archive(plan, show), show)
            runner = _Runner(asked, cluster, show)
            left.push(cluster)
            left.callback(runner.keep, logs)
            cluster.start()
            runner.run()
    except SystemFailure as error:
        found = ", ".join(sorted(path.name for path in logs.iterdir()))
        raise SystemFailure(f"{error}; what there is up to then is in {logs}: {found or 'nothing'}") from None
    return runner.outcome(logs)


class _Runner:
    def __init__(self, asked: Exercise, cluster: Cluster, show: Callable[[str], None]) -> None:
        self._asked, self._cluster, self._show = asked, cluster, show
        self._course: list[tuple[float, Disturbance, bool]] = []
        """What was done, and what could not be, each with the seconds since the beginning."""
        self._order = list(REPLICAS)
        self._begun = 0.0
        self._seconds = 0.0
        self._missing: tuple[int, ...] = ()
        self._load = Load(TOPIC, asked.rate, self._connect, self._leader)

    def outcome(self, logs: Path) -> Exercised:
        load, counts = self._load, Counter(one.kind for _, one, is_done in self._course if is_done)
        return Exercised(self._asked, logs, self._seconds, load.sent, len(load.acknowledged), self._missing, counts,
                         len(self._course) - counts.total())  # fmt: skip

    def keep(self, folder: Path) -> None:
        """Copies the nodes' logs, what they have on disk of the topic and of their metadata, what was acknowledged, and the
        course. The nodes are ended first, where they still run: one that failed may leave others.
        """
        self._cluster.end_nodes()
        for number in (*REPLICAS, CONTROLLER):
            node, name = self._cluster.nodes[number], "controller" if number == CONTROLLER else str(number)
            if node.log.is_file():
                shutil.copy(node.log, folder / f"{name}.log")
            for inside in (f"{TOPIC}-0", METADATA):
                if (node.data / inside).is_dir():
                    shutil.copytree(node.data / inside, folder / DATA / name / inside)
            if (node.data / META).is_file():
                (folder / DATA / name).mkdir(parents=True, exist_ok=True)
                shutil.copy(node.data / META, folder / DATA / name / META)
        write_acknowledged(folder / ACKNOWLEDGED, dict(self._load.acknowledged))
        with (folder / COURSE).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COURSE_COLUMNS)
            for at, one, is_done in self._course:
                rows.writerow((f"{at:.1f}", one.kind.value, one.broker, f"{one.lasts:.1f}", "yes" if is_done else "no"))

    def run(self) -> None:
        settings = {"min.insync.replicas": str(self._asked.min_insync_replicas)}
        with self._cluster.admin() as ask:
            error = ask.create_topic(TOPIC, REPLICAS, settings)
        if error:
            raise SystemFailure(f"the topic {TOPIC} was not created: error {error}")
        wait_for(lambda: self._leader() is not None, f"a leader of {TOPIC}", _SETTLE_SECONDS)
        self._begun = time.monotonic()
        with self._load:
            for disturbance in course(self._asked.seed, REPLICAS, self._asked.kinds):
                if not self._sleep(disturbance.pause):
                    break
                at = time.monotonic() - self._begun
                self._show(f"{at:.0f} s of {60 * self._asked.minutes:.0f} s: {disturbance}")
                try:
                    is_done = self._disturb(disturbance)
                except (NotSeen, SystemFailure):
                    is_done = False  # Such as a connection that was gone at that moment.
                self._course.append((at, disturbance, is_done))
            self._mend()
            self._load.stop()
        self._seconds = time.monotonic() - self._begun
        self._settle()

    # -- disturbing -------------------------------------------------------------------------------------------------------

    def _disturb(self, one: Disturbance) -> bool:
        """Does it and undoes it; False if the moment is not right for it."""
        cluster, node = self._cluster, self._cluster.nodes[one.broker]
        if not node.is_running:
            return False
        match one.kind:
            case Kind.KILL | Kind.LOSE_CACHE:
                cluster.kill(one.broker)
                if one.kind is Kind.LOSE_CACHE:
                    self._lose_cache(one)
                self._sleep(one.lasts)
                cluster.restart(one.broker)
            case Kind.SHUT_DOWN:
                cluster.shut_down(one.broker)
                self._sleep(one.lasts)
                cluster.restart(one.broker)
            case Kind.PAUSE:
                assert node.jvm is not None
                os.kill(node.jvm.pid, signal.SIGSTOP)
                try:
                    self._sleep(one.lasts)
                finally:
                    os.kill(node.jvm.pid, signal.SIGCONT)
            case Kind.SILENCE if cluster.plan.mode is Mode.ZOOKEEPER:
                cluster.network.end_sessions(one.broker)  # It finds so when it pings next, and opens another.
                self._sleep(one.lasts)
            case Kind.SILENCE:
                self._hold(one, Api.BROKER_HEARTBEAT, Phase.REQUEST)
            case Kind.HOLD_FETCHES:
                self._hold(one, Api.FETCH, Phase.RESPONSE)
            case Kind.HOLD_CHANGE:
                self._hold(one, Api.ALTER_PARTITION, Phase.REQUEST)
            case Kind.LOSE_ANSWER:
                gate = self._gate(one, Api.FETCH, Phase.RESPONSE)
                try:
                    gate.close(seconds=2.0)
                finally:
                    gate.lift()
            case Kind.MOVE if cluster.plan.mode is Mode.ZOOKEEPER:
                # Another order of the replicas is a reassignment, which takes a leader epoch of its own there.
                with cluster.admin() as ask:
                    return ask.elect_preferred(TOPIC) == 0
            case Kind.MOVE:
                self._order = self._order[1:] + self._order[:1]
                move_leadership(cluster, TOPIC, self._order, _MOVE_SECONDS)
        return True

    def _hold(self, one: Disturbance, api: Api, phase: Phase) -> None:
        gate = self._gate(one, api, phase)
        try:
            self._sleep(one.lasts)
        finally:
            gate.lift()

    def _gate(self, one: Disturbance, api: Api, phase: Phase) -> Gate:
        # Brokers fetch the controllers' own log, too, which is no partition's.
        among = (lambda frame: frame.target != CONTROLLER) if api is Api.FETCH else None
        return self._cluster.network.hold(source=one.broker, api=api, phase=phase, predicate=among)

    def _lose_cache(self, one: Disturbance) -> None:
        records = self._cluster.replica(one.broker, TOPIC).log
        first = records[0].offset if records else 0
        end = records[-1].offset + 1 if records else 0
        self._cluster.lose_page_cache(one.broker, TOPIC, first + int(one.share * (end - first + 1)))

    def _sleep(self, seconds: float) -> bool:
        """Waits, at most until the time is over; whether there is time left."""
        left = self._begun + 60 * self._asked.minutes - time.monotonic()
        time.sleep(max(0.0, min(seconds, left)))
        return left > seconds

    # -- at the end -------------------------------------------------------------------------------------------------------

    def _mend(self) -> None:
        self._cluster.network.lift()
        for broker in REPLICAS:
            if not self._cluster.nodes[broker].is_running:
                self._cluster.restart(broker)

    def _settle(self) -> None:
        """Waits until all replicas are in sync and have the same records, and looks for the acknowledged ones."""

        def is_whole() -> bool:
            with self._cluster.admin() as ask:
                view = ask.partition(TOPIC)
            return view is not None and view.leader in REPLICAS and set(view.isr) == set(REPLICAS)

        wait_for(is_whole, f"that all replicas of {TOPIC} are in sync again", _SETTLE_SECONDS)

        def are_equal() -> bool:
            return len({self._cluster.replica(broker, TOPIC).log for broker in REPLICAS}) == 1

        wait_for(are_equal, "that all replicas have the same records", _SETTLE_SECONDS)
        held = {record.offset: record.value for record in self._cluster.replica(REPLICAS[0], TOPIC).log}
        self._missing = tuple(
            offset for offset, value in sorted(self._load.acknowledged.items()) if held.get(offset) != value
        )
        for broker in REPLICAS:
            self._cluster.shut_down(broker)

    def _connect(self, broker: int, timeout: float) -> Client:
        return self._cluster.client(broker, timeout)

    def _leader(self) -> int | None:
        return first_leader(self._connect, REPLICAS, TOPIC)


_ANSWER_SECONDS = 5.0
"""After so long the producer takes a request for lost and asks who leads."""


class Load:
    """A thread that sends records one a request, with acks=all; a context manager."""

    def __init__(
        self, topic: str, rate: float, connect: Callable[[int, float], Client], leader: Callable[[], int | None]
    ) -> None:
        """`rate` in requests a second; `connect` opens a connection to a broker with a timeout, `leader` looks who leads."""
        self.topic, self._pause = topic, 1.0 / rate
        self._connect, self._leader = connect, leader
        self.sent = 0
        """Requests that were sent."""
        self.acknowledged: dict[int, bytes] = {}
        """What was acknowledged, by its offset."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Returns when nothing more is sent."""
        self._over.set()
        self._thread.join(3 * _ANSWER_SECONDS)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                leader = self._leader()
                if leader is not None:
                    with self._connect(leader, _ANSWER_SECONDS) as client:
                        self._send_to(client)
            except SystemFailure:
                pass  # The broker has gone; another one leads soon.
            self._over.wait(0.1)

    def _send_to(self, client: Client) -> None:
        """Sends until the broker refuses, which it does when it does not lead any more."""
        while not self._over.wait(self._pause):
            value = b"record %d" % self.sent
            self.sent += 1
            answer = client.produce(self.topic, value, ALL_REPLICAS, int(1000 * _ANSWER_SECONDS))
            if answer.error:
                return
            self.acknowledged[answer.offset] = value


def first_leader(clients: Callable[[int, float], Client], brokers: tuple[int, ...], topic: str) -> int | None:
    """Who leads the topic's partition, as the first broker says that answers; None if nobody does."""
    for broker in brokers:
        try:
            with clients(broker, 2.0) as client:
                view = client.partition(topic)
        except BrokerGone:
            continue
        if view is not None and view.leader in brokers:
            return view.leader
    return None
