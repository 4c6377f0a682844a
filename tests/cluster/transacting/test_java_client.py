"""Kafka's own producer, unmodified: a record that fails while its transaction is aborted.

Together with unmodified brokers (`TransactionalClient.java`), where one of its requests waits in a proxy: the Produce request
of the first transaction, until the next one is open. By itself: `tests/found/test_epoch_after_abort.py`.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, unique
from pathlib import Path

import pytest

from acked.cluster.nodes.addresses import CLIENT
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.jvm import broker_java
from acked.cluster.nodes.plan import make_plan
from acked.cluster.transacting.protocol import SETTINGS
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.transactional import CoordinatorView, describe_id, describe_partition
from tests.cluster.conftest import real_plan
from tests.found.playing.java import client_jars, compiled
from tests.places import DATA

pytestmark = [pytest.mark.real, pytest.mark.slow]

COORDINATOR, LEADER, LOG = 0, 1, "__transaction_state"
DELIVERY_SECONDS, WAITS_SECONDS = 20, 15
"""delivery.timeout.ms, and how long a record waits in the client before it is sent: so much later comes request.timeout.ms,
at which the client gives up the connection and with it what waits in the proxy."""
CALLBACK_SECONDS = 5
SECONDS = 120.0
FAILED = "failed r0 Expiring"
"""What the client says when delivery.timeout.ms is over, and not when a request is."""


@unique
class Aborts(Enum):
    """When the application aborts."""

    BEFORE = "before the record has failed"
    TOLD = "while the client calls back to say that it has failed"
    AFTER = "after it has failed"


@dataclass(frozen=True)
class Case:
    """A client's release, when its application aborts, and whether the next transaction swallows the late record."""

    clients: str
    aborts: Aborts
    swallows: bool

    @property
    def name(self) -> str:
        """The transactional.id and the topic."""
        return f"{self.clients}-{self.aborts.name.lower()}"


@dataclass(frozen=True)
class Ended:
    """The producer epochs of both transactions, and what consumers in read_committed get in the end."""

    epochs: tuple[int, int]
    readable: tuple[str, ...]


SWALLOWED = Ended((0, 0), ("first", "r0", "r1"))
"""Transaction 0 was aborted, and its record is committed with transaction 1, under the same producer epoch."""
KEPT_APART = Ended((0, 1), ("first", "r1"))


@dataclass
class JavaClient:
    """The process of a client, and the lines of it that were not waited for so far."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    _lines: queue.Queue[str] = field(default_factory=queue.Queue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.strip())

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()

    def do(self, command: str) -> None:
        self.tell(command)
        self.wait(f"done {command.split()[0]}")

    def wait(self, expected: str) -> None:
        """Returns when the client has said the line, now or before; a refusal ends the wait."""
        end = time.monotonic() + SECONDS
        while expected not in self.said:
            self.said.append(self._lines.get(timeout=max(end - time.monotonic(), 0.01)))
            assert not self.said[-1].startswith("refused"), self.said
        self.said.remove(expected)


@contextmanager
def java_client(cluster: Cluster, case: Case, folder: Path) -> Iterator[JavaClient]:
    class_path = f"{client_jars(case.clients).class_path}{os.pathsep}{folder}"
    folder.mkdir()
    compiled(class_path, [DATA / "java" / "TransactionalClient.java"], folder)
    settings = {
        "bootstrap.servers": cluster.bootstrap(),
        "transactional.id": case.name,
        "linger.ms": 0,
        "delivery.timeout.ms": DELIVERY_SECONDS * 1000,
        "request.timeout.ms": DELIVERY_SECONDS * 1000,
        "metadata.max.age.ms": 1000,  # Nothing else wakes the sender of an idle client once the record has failed.
    }
    file = folder / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")
    pause = str(CALLBACK_SECONDS * 1000 if case.aborts is Aborts.TOLD else 0)
    command = [broker_java(), "-cp", class_path, "TransactionalClient", file, pause]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield JavaClient(process)
        finally:
            process.kill()


def create(cluster: Cluster, topic: str, broker: int, settings: dict[str, str]) -> None:
    with cluster.admin() as ask:
        error = ask.create_topic(topic, [broker], settings)
    assert not error, error_name(error)

    def leads() -> bool:
        with cluster.client(broker, timeout=5.0) as ask:
            return ask.fetch(topic).error == 0

    wait_for(leads, f"broker {broker} as leader of {topic}", SECONDS)


def described(cluster: Cluster, transactional_id: str) -> tuple[int, CoordinatorView]:
    with cluster.client(COORDINATOR, SECONDS) as ask:
        return describe_id(ask, transactional_id)


def open_epoch(cluster: Cluster, case: Case) -> int:
    """The producer epoch of the open transaction, as soon as one is open."""
    wait_for(lambda: described(cluster, case.name)[1].state == "Ongoing", "an open transaction", SECONDS)
    return described(cluster, case.name)[1].epoch


def abort(client: JavaClient, when: Aborts) -> None:
    """The application aborts, and the record fails, in this order or the other."""
    if when is Aborts.BEFORE:
        client.tell("abort")
        client.wait(FAILED)
        client.wait("done abort")
    else:
        client.wait(FAILED)
        if when is Aborts.AFTER:
            time.sleep(CALLBACK_SECONDS)  # What the client does itself about the failure is done.
        client.do("abort")


def play(cluster: Cluster, case: Case, folder: Path) -> Ended:
    """After one that is committed at once, transaction 0 is aborted and 1 is committed; r0 arrives while 1 is open."""
    create(cluster, case.name, LEADER, {})
    with java_client(cluster, case, folder) as client:
        for command in ("init", "begin", f"send {case.name} first", "commit"):
            client.do(command)
        adding = cluster.network.hold(CLIENT, COORDINATOR, Api.ADD_PARTITIONS_TO_TXN)
        producing = cluster.network.hold(CLIENT, LEADER, Api.PRODUCE)
        try:
            client.do("begin")
            client.do(f"send {case.name} r0")
            adding.wait(SECONDS)
            time.sleep(WAITS_SECONDS)
            adding.lift()
            late = producing.wait(SECONDS)
            first = open_epoch(cluster, case)
            abort(client, case.aborts)
            client.do("begin")
            client.do(f"send {case.name} r1")
            second = open_epoch(cluster, case)
            assert late in producing.held, "the client has given the connection up, and with it the late request"
            producing.lift()
            client.wait("acknowledged r1")
            client.do("commit")
        finally:
            for gate in (adding, producing):
                gate.lift()
    wait_for(lambda: described(cluster, case.name)[1].state == "CompleteCommit", "the end of transaction 1", SECONDS)
    with cluster.client(LEADER, SECONDS) as ask:
        error, ledger = describe_partition(ask, case.name, -1)
    assert not error, error_name(error)
    return Ended((first, second), tuple(entry.text for entry in ledger.readable))


CASES = {
    "3.9.1": (
        Case("3.9.1", Aborts.BEFORE, swallows=True),
        Case("3.9.1", Aborts.TOLD, swallows=True),
        Case("3.9.1", Aborts.AFTER, swallows=False),
        Case("2.5.1", Aborts.BEFORE, swallows=True),
    ),
    "4.3.1": (Case("3.9.1", Aborts.BEFORE, swallows=True),),
}
"""By the brokers' release what is played. From 3.6 on `Sender.failBatch` calls back before the transaction manager hears."""


@pytest.mark.parametrize("brokers", CASES)
def test_a_record_that_fails_once_its_transaction_is_aborted_is_committed_with_the_next(
    brokers: str, users_cache: None, tmp_path: Path
) -> None:
    mode = real_plan(brokers, {}).mode  # Skips where there are none, and fetches the jars.
    for case in CASES[brokers]:
        client_jars(case.clients)
    with Cluster(make_plan(brokers, mode, brokers=(COORDINATOR, LEADER), settings=SETTINGS)) as cluster:
        create(cluster, LOG, COORDINATOR, {"cleanup.policy": "compact"})
        wait_for(lambda: described(cluster, "nobody")[0] == 0, "the transaction coordinator", SECONDS)
        for case in CASES[brokers]:
            ended = play(cluster, case, tmp_path / case.name)
            assert ended == (SWALLOWED if case.swallows else KEPT_APART), case
            print(case, ended)
