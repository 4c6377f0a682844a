"""Tries to lose an acknowledged record on unmodified brokers by pauses and moves of leadership alone (`stale-ends-bug`).

    python tools/paused_leaders.py --kafka 4.4.0 --minutes 8 --seed 1 [--pauses rolling|one|any] [--min-isr 3]

Nothing is held back: brokers stand still for a while (SIGSTOP, as in a long collection of garbage or while a virtual machine
is moved), reassignments and elections of the preferred leader move leadership, and producers with acks=all write all the
time. Timers are Kafka's defaults. An attempt is ten to twenty seconds on topics of its own; afterwards all brokers go on,
all replicas are in sync, and every acknowledged record is looked for in their logs. `--keep` leaves, of the first partition
that loses one, what `acked kafka validate` reads. The last line is a row of docs/found/paused_leaders.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum, unique
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.errors import SystemFailure  # noqa: E402
from acked.cluster.lines.configuration import configuration  # noqa: E402
from acked.cluster.nodes.addresses import CONTROLLER  # noqa: E402
from acked.cluster.nodes.archive import add_archive  # noqa: E402
from acked.cluster.nodes.cluster import Cluster  # noqa: E402
from acked.cluster.nodes.leadership import move_leadership  # noqa: E402
from acked.cluster.nodes.plan import make_plan  # noqa: E402
from acked.cluster.observe.acknowledgements import write_acknowledged  # noqa: E402
from acked.cluster.observe.directories import META  # noqa: E402
from acked.cluster.observe.metadata import FOLDER as METADATA  # noqa: E402
from acked.cluster.releases.release import Mode, release  # noqa: E402
from acked.cluster.topics.topic import Topic  # noqa: E402
from acked.cluster.waiting import wait_for  # noqa: E402
from acked.cluster.wire.client import ALL_REPLICAS  # noqa: E402
from tests.found.playing.java import mended_home  # noqa: E402

REPLICAS = (0, 1, 2)
DEFAULTS = {
    "replica.lag.time.max.ms": "30000",
    "replica.socket.timeout.ms": "30000",
    "replica.fetch.wait.max.ms": "500",
    "replica.fetch.backoff.ms": "1000",
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.request.timeout.ms": "2000",
}
"""Kafka's own, where a cluster that is played on has others."""
REQUEST_SECONDS = 30.0
"""request.timeout.ms of a producer, by default."""
SETTLE_SECONDS = 90.0


@unique
class Pauses(StrEnum):
    """Who stands still in an attempt."""

    ROLLING = "rolling"
    """One broker after the other, each less than its session, while leadership moves."""
    ONE = "one"
    """The leader alone."""
    ANY = "any"
    """Each at any time, and leadership moves at any time."""


@dataclass(frozen=True)
class Stall:
    """A broker stands still, in seconds since the attempt began."""

    broker: int
    begins: float
    ends: float


@dataclass(frozen=True)
class Course:
    """An attempt: the first leader, who stands still when, and to whom leadership moves when."""

    leader: int
    stalls: tuple[Stall, ...]
    moves: tuple[tuple[float, int], ...]


def course(seed: int, attempt: int, pauses: Pauses) -> Course:
    """What is done in an attempt, from the seed alone. Leadership moves a, c, a, b, as in the model's trace."""
    chosen = random.Random(f"{seed}/{attempt}/{pauses}")
    a, b, c = chosen.sample(REPLICAS, 3)
    if pauses is Pauses.ANY:
        begins = [chosen.uniform(0, 6) for _ in REPLICAS]
        stalls = tuple(
            Stall(broker, begin, begin + chosen.uniform(0.3, 6)) for broker, begin in zip(REPLICAS, begins, strict=True)
        )
        return Course(a, stalls, tuple(zip(sorted(chosen.uniform(0.5, 9) for _ in range(3)), (c, a, b), strict=True)))
    # a stands still from here on; c, which is to lack records of a's, from a little earlier where brokers stall in turn.
    at = chosen.uniform(0.3, 1.0)
    away = at + chosen.uniform(0.6, 1.5)
    back = away + chosen.uniform(0.5, 2.0)
    wakes = back + chosen.uniform(0.1, 1.0)
    onward = wakes + chosen.uniform(0.0, 4.0)
    if pauses is Pauses.ONE:
        return Course(a, (Stall(a, at, wakes),), ((away, c), (back, a), (onward, b)))
    stalls = (
        Stall(c, at - chosen.uniform(0.1, 0.3), at + chosen.uniform(0.1, 0.4)),
        Stall(a, at, wakes),
        Stall(b, back - chosen.uniform(-0.3, 0.3), onward + chosen.uniform(0.1, 1.0)),
    )
    return Course(a, stalls, ((away, c), (back, a), (onward, b)))


@dataclass
class Producers:
    """Threads that write one record a request with acks=all, and what each was acknowledged, by its value."""

    cluster: Cluster
    topic: str
    number: int
    acknowledged: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """They write while it is entered; when it is left, every request is answered."""
        threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(self.number)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(2 * REQUEST_SECONDS)

    def _run(self, number: int) -> None:
        count = 0
        while not self._over.is_set():
            try:
                with self.cluster.admin() as ask:
                    view = ask.metadata([self.topic]).topics.get(self.topic, {}).get(0)
                if view is None or view.leader not in REPLICAS:
                    continue
                with self.cluster.client(view.leader, REQUEST_SECONDS) as client:
                    while not self._over.is_set():
                        value, count = f"{number}-{count}", count + 1
                        self.sent += 1
                        answer = client.produce(self.topic, value.encode(), ALL_REPLICAS, int(1000 * REQUEST_SECONDS))
                        if answer.error:
                            break
                        self.acknowledged[value] = answer.offset
            except SystemFailure:
                pass  # A request that was not answered in time; the broker stands still.
            self._over.wait(0.05)


class Attempts:
    """Attempts on one cluster, and what came of them."""

    def __init__(self, cluster: Cluster, min_isr: int, partitions: int, producers: int) -> None:
        """`producers` are those of each partition; a partition is a topic."""
        self._cluster, self._settings = cluster, {"min.insync.replicas": str(min_isr)}
        self._partitions, self._producers = partitions, producers
        self.made = 0
        self.sent = 0
        self.acknowledged: dict[str, dict[str, int]] = {}
        """By topic what was acknowledged, and at which offset."""
        self.lost: dict[str, tuple[str, ...]] = {}
        """By topic what of it is in no log; only topics that lost something."""

    def make(self, asked: Course) -> int:
        """One attempt; how many partitions lost a record."""
        self.made += 1
        others = [broker for broker in REPLICAS if broker != asked.leader]
        topics = [f"attempt-{self.made}-{number}" for number in range(self._partitions)]
        for topic in topics:
            Topic(self._cluster, topic).create([asked.leader, *others], self._settings)
        load = [Producers(self._cluster, topic, self._producers) for topic in topics]
        with ExitStack() as writing:
            for producers in load:
                writing.enter_context(producers.running())
            time.sleep(1.0)
            self._go(asked, topics)
        return sum(self._lost_of(producers) for producers in load)

    def _go(self, asked: Course, topics: list[str]) -> None:
        steps: list[tuple[float, Callable[[], None]]] = []
        for stall in asked.stalls:
            steps.append((stall.begins, partial(self._signal, stall.broker, signal.SIGSTOP)))
            steps.append((stall.ends, partial(self._signal, stall.broker, signal.SIGCONT)))
        steps += [(at, partial(self._move, broker, topics)) for at, broker in asked.moves]
        begun = time.monotonic()
        try:
            for at, step in sorted(steps, key=lambda one: one[0]):
                time.sleep(max(0.0, begun + at - time.monotonic()))
                step()
        finally:
            for broker in REPLICAS:
                self._signal(broker, signal.SIGCONT)

    def _signal(self, broker: int, number: signal.Signals) -> None:
        jvm = self._cluster.nodes[broker].jvm
        assert jvm is not None
        os.kill(jvm.pid, number)

    def _move(self, broker: int, topics: list[str]) -> None:
        order = [broker, *(other for other in REPLICAS if other != broker)]
        for topic in topics:
            with suppress(SystemFailure):  # The preferred leader may not be there; then leadership does not move.
                move_leadership(self._cluster, topic, order, 5.0)

    def _lost_of(self, producers: Producers) -> bool:
        topic, cluster = producers.topic, self._cluster
        Topic(cluster, topic).await_isr(REPLICAS)

        def are_equal() -> bool:
            return len({cluster.replica(broker, topic).log for broker in REPLICAS}) == 1

        wait_for(are_equal, f"that all replicas of {topic} have the same records", SETTLE_SECONDS)
        held = {record.value for record in cluster.replica(REPLICAS[0], topic).log}
        self.sent += producers.sent
        self.acknowledged[topic] = producers.acknowledged
        lost = tuple(value for value in producers.acknowledged if value.encode() not in held)
        if lost:
            self.lost[topic] = lost
        return bool(lost)

    def keep(self, topic: str, folder: Path) -> None:
        """What a validation of a topic reads: every node's log, its metadata and its copy of the partition, and what was
        acknowledged. The nodes are ended.
        """
        self._cluster.end_nodes()
        for number in (*REPLICAS, CONTROLLER):
            node, name = self._cluster.nodes[number], "controller" if number == CONTROLLER else str(number)
            (folder / "data" / name).mkdir(parents=True)
            shutil.copy(node.log, folder / f"{name}.log")
            shutil.copy(node.data / META, folder / "data" / name / META)
            for inside in (f"{topic}-0", METADATA):
                if (node.data / inside).is_dir():
                    shutil.copytree(node.data / inside, folder / "data" / name / inside)
        write_acknowledged(
            folder / "acknowledged.csv", {offset: value.encode() for value, offset in self.acknowledged[topic].items()}
        )


def main() -> int:
    """Makes attempts until the time is over."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--kafka", default="4.4.0")
    options.add_argument("--mended", action="store_true", help="with the class that tests/found mends before the jars")
    options.add_argument("--minutes", type=float, default=8.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--pauses", type=Pauses, choices=list(Pauses), default=Pauses.ROLLING)
    options.add_argument("--min-isr", type=int, default=3)
    options.add_argument("--partitions", type=int, default=4)
    options.add_argument("--producers", type=int, default=3, help="of each partition; each has one request in flight")
    options.add_argument("--keep", type=Path, help="where the logs go of the first partition that loses a record; ends there")
    asked = options.parse_args()
    chosen, begun = release(asked.kafka), time.monotonic()
    logging = configuration(chosen.number, None, "attempt") if asked.keep else None
    with ExitStack() as left:
        work = Path(left.enter_context(tempfile.TemporaryDirectory()))
        home = mended_home("Partition", asked.kafka, work) if asked.mended else None
        plan = make_plan(asked.kafka, Mode.KRAFT, home, REPLICAS, DEFAULTS, has_witness=True, logging=logging)
        cluster = left.enter_context(Cluster(plan if asked.mended else add_archive(plan)))
        attempts, lossy = Attempts(cluster, asked.min_isr, asked.partitions, asked.producers), 0
        while time.monotonic() < begun + 60 * asked.minutes:
            one = course(asked.seed, attempts.made + 1, asked.pauses)
            lost = attempts.make(one)
            lossy += lost > 0
            print(f"attempt {attempts.made}: {lost} of {asked.partitions} partitions lost a record; {one}", flush=True)
            if asked.keep and attempts.lost:
                attempts.keep(next(iter(attempts.lost)), asked.keep)
                break
    row = {
        "kafka": asked.kafka, "pauses": asked.pauses.value, "min_isr": asked.min_isr, "seed": asked.seed,
        "producers": asked.producers, "mended": asked.mended,
        "attempts": attempts.made, "lossy_attempts": lossy,
        "partitions": attempts.made * asked.partitions, "lossy_partitions": len(attempts.lost), "sent": attempts.sent,
        "acknowledged": sum(map(len, attempts.acknowledged.values())), "lost": sum(map(len, attempts.lost.values())),
        "seconds": round(time.monotonic() - begun),
    }  # fmt: skip
    for topic, values in attempts.lost.items():
        print(topic, [(value, attempts.acknowledged[topic][value]) for value in values][:10])
    print(json.dumps(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
