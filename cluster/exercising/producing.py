"""Who writes to a topic that is exercised: a producer without idempotence, an idempotent one, and a transactional one.

Each is a thread that sends records one a request with acks=all, and keeps what it was acknowledged. What a broker has not
answered is sent again by those that are idempotent, and by no other.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.cluster.wire.client import ALL_REPLICAS, BrokerGone, Client
from acked.cluster.wire.groups import Coordinates, find_coordinator
from acked.cluster.wire.records import write_records
from acked.cluster.wire.transactional import (
    CONCURRENT,
    COORDINATOR_AWAY,
    Asked,
    Identity,
    add_request,
    end_request,
    init_request,
    produce_request,
)

ANSWER_SECONDS = 5.0
"""After so long a producer takes a request for lost and asks who leads."""
PADDING = b"." * 400
"""What follows a record's number, so that segments are soon full."""
_TRANSACTION_MS = 10_000
_DUPLICATE, _IDENTITY_ERRORS = 46, frozenset({45, 47, 59, 90})
"""DUPLICATE_SEQUENCE_NUMBER; those after which a producer asks for another id: OUT_OF_ORDER_SEQUENCE_NUMBER,
INVALID_PRODUCER_EPOCH, UNKNOWN_PRODUCER_ID, PRODUCER_FENCED."""
_MOST_RECORDS = 4
_ABORTS_EACH = 4
"""Records of a transaction at most, and of how many transactions one is aborted."""
_TRIES = 40


@frozen
class Brokers:
    """How brokers are reached: `connect` opens a connection with a timeout in seconds; `numbers` are those to be asked."""

    connect: Callable[[int, float], Client]
    numbers: tuple[int, ...]

    def leaders(self, topic: str) -> dict[int, int]:
        """Who leads each partition that has a leader, as the first broker says that answers."""
        for broker in self.numbers:
            try:
                with self.connect(broker, 2.0) as client:
                    views = client.metadata([topic]).topics.get(topic, {})
            except BrokerGone:
                continue
            found = {number: view.leader for number, view in views.items() if view.leader in self.numbers}
            if found:
                return found
        return {}

    def coordinator(self, key: str, of: Coordinates) -> Client:
        """A connection to who coordinates a group or a transactional id; `BrokerGone` if nobody says."""
        for broker in self.numbers:
            try:
                with self.connect(broker, 2.0) as client:
                    error, found = find_coordinator(client, key, of)
            except BrokerGone:
                continue
            if not error:
                return self.connect(found, ANSWER_SECONDS)
        raise BrokerGone(f"no broker says who coordinates {key}")


@dataclass
class Written:
    """What producers have written to one topic, by partition and offset, each with the record's value.

    `fates` says of a transaction's record whether it is to be read in read_committed; None where the producer does not know.
    """

    sent: int = 0
    acknowledged: dict[tuple[int, int], bytes] = field(default_factory=dict)
    fates: dict[tuple[int, int], bool | None] = field(default_factory=dict)

    def of(self, partition: int) -> dict[int, bytes]:
        """What was acknowledged of one partition, by offset."""
        return {offset: value for (number, offset), value in sorted(self.acknowledged.items()) if number == partition}


class Producer(ABC):
    """A thread that writes until it is stopped; a context manager."""

    def __init__(self, topic: str, partitions: int, rate: float, brokers: Brokers) -> None:
        """`rate` in requests a second."""
        self.topic, self._partitions, self._brokers = topic, partitions, brokers
        self.written = Written()
        self._pause = 1.0 / rate
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__, daemon=True)
        self._clients: dict[int, Client] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Returns when nothing more is sent."""
        self._over.set()
        self._thread.join(3 * ANSWER_SECONDS)

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._write()
            except SystemFailure:
                self._forget_connections()  # The broker has gone; another one leads soon.
            self._over.wait(0.1)
        self._forget_connections()

    @abstractmethod
    def _write(self) -> None:
        """Sends records until something fails, which it does when a broker does not lead any more."""

    def _goes_on(self) -> bool:
        return not self._over.wait(self._pause)

    def _next_value(self) -> tuple[int, bytes]:
        """The next record's partition and its value."""
        written = self.written
        number, written.sent = written.sent, written.sent + 1
        return number % self._partitions, b"%s %d %s" % (type(self).__name__.encode(), number, PADDING)

    def _leader_of(self, partition: int) -> Client:
        """A connection to who leads a partition, opened once; `BrokerGone` where nobody does."""
        if partition not in self._clients:
            leader = self._brokers.leaders(self.topic).get(partition)
            if leader is None:
                raise BrokerGone(f"nobody leads partition {partition} of {self.topic}")
            self._clients[partition] = self._brokers.connect(leader, ANSWER_SECONDS)
        return self._clients[partition]

    def _forget_connections(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _send(self, partition: int, value: bytes, batch: bytes | None = None) -> int:
        """Sends one record and keeps what it is acknowledged; returns the error."""
        client = self._leader_of(partition)
        client.send_record(self.topic, value, ALL_REPLICAS, int(1000 * ANSWER_SECONDS), batch, partition)
        answer = client.acknowledgement()
        if not answer.error and answer.offset >= 0:
            self.written.acknowledged[partition, answer.offset] = value
        return answer.error


class Plain(Producer):
    """Without idempotence and without retries."""

    def _write(self) -> None:
        while self._goes_on():
            if self._send(*self._next_value()):
                raise BrokerGone("the broker refuses, which it does when it does not lead any more")


class Idempotent(Producer):
    """With a producer id, and with retries until there is an answer that ends them."""

    def _write(self) -> None:
        with self._leader_of(0) as client:
            identity = Identity(*client.new_producer())
        self._forget_connections()
        sequences = dict.fromkeys(range(self._partitions), 0)
        while self._goes_on():
            partition, value = self._next_value()
            batch = write_records([value], True, identity.producer, identity.epoch, sequences[partition])
            if not self._retry(partition, value, batch):
                return
            sequences[partition] += 1

    def _retry(self, partition: int, value: bytes, batch: bytes) -> bool:
        """Sends one batch again until it is acknowledged; False if it needs another identity, or the time is over."""
        while not self._over.is_set():
            try:
                error = self._send(partition, value, batch)
            except SystemFailure:
                error = -1
            if error in (0, _DUPLICATE):
                return True
            if error in _IDENTITY_ERRORS:
                return False
            self._forget_connections()
            self._over.wait(0.2)
        return False


class Transactional(Producer):
    """With a transactional id: some records a transaction, of which one in some is aborted."""

    def _write(self) -> None:
        self._identity = self._asked(init_request(self._name, _TRANSACTION_MS))
        self._sequences = dict.fromkeys(range(self._partitions), 0)
        number = 0
        while self._goes_on():
            number += 1
            self._transact(1 + number % _MOST_RECORDS, commits=bool(number % _ABORTS_EACH))

    @property
    def _name(self) -> str:
        return f"{self.topic}-writer"

    def _transact(self, records: int, commits: bool) -> None:
        placed: list[tuple[int, int]] = []
        fate: bool | None = False
        try:
            for _ in range(records):
                partition, value = self._next_value()
                self._asked(add_request(self._name, self._identity, self.topic, partition))
                placed.append((partition, self._send_in_transaction(partition, value)))
                self._goes_on()
            fate = None if commits else False
            self._asked(end_request(self._name, self._identity, commits, is_v2=False))
            fate = commits
        finally:
            self.written.fates.update(dict.fromkeys(placed, fate))

    def _send_in_transaction(self, partition: int, value: bytes) -> int:
        client = self._leader_of(partition)
        sequence = self._sequences[partition]
        asked = produce_request(self._name, self._identity, self.topic, value.decode(), sequence, False, partition)
        asked.send(client)
        [answer] = client.receive(asked.api, asked.version).responses[0].partition_responses
        if answer.error_code:
            raise BrokerGone(f"the leader does not take a record of the transaction: error {int(answer.error_code)}")
        self._sequences[partition] += 1
        self.written.acknowledged[partition, answer.base_offset] = value
        return int(answer.base_offset)

    def _asked(self, asked: Asked) -> Identity:
        """Asks the coordinator, again while it is not ready; `BrokerGone` if it refuses, or the time is over."""
        error = -1
        for _ in range(_TRIES):
            with suppress(BrokerGone), self._brokers.coordinator(self._name, Coordinates.TRANSACTION) as client:
                asked.send(client)
                error, given = asked.receive(client)
                if not error:
                    return given
                if error not in COORDINATOR_AWAY and error != CONCURRENT:
                    break
            if self._over.wait(0.2):
                break
        raise BrokerGone(f"the coordinator of {self._name} does not answer: error {error}")
