"""The producers of a script: one connection for each record that waits for an answer.

With idempotence (KIP-98) each record has its sequence number under the producer's id: a retry has the same, and a record
behind one that was given up begins anew under the next epoch (KIP-360), or, to 2.4, under another id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from acked.base.frozen import frozen
from acked.cluster.replicating.compare import value_of
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import error_name
from acked.cluster.wire.client import Acknowledgement, BrokerGone, Client, NoProducerId
from acked.cluster.wire.records import write_records
from acked.model.partition.state import ACKED, FAILED

_BUMPS_EPOCHS = (2, 5)
"""Since then a producer goes on after a failure under the next epoch (KIP-360)."""
NO_OFFSET = -1
"""The offset of a record that was only taken for written."""


@frozen
class Answers:
    """What producers have been answered: by record the offset at which it was acknowledged, and the error."""

    acknowledged: Mapping[int, int] = field(default_factory=dict)
    refused: Mapping[int, int] = field(default_factory=dict)


@frozen
class Identity:
    """How a record is numbered: producer id, its epoch, and the sequence number."""

    producer: int
    epoch: int
    sequence: int


class Numbering:
    """The producer ids of an idempotent producer, and what each of its records is numbered as.

    `ask` gets a producer id and its epoch from a broker; `bumps`: after a failure the next epoch is taken, not another id.
    """

    def __init__(self, ask: Callable[[], tuple[int, int]], bumps: bool) -> None:
        self._ask, self._bumps = ask, bumps
        self._id: tuple[int, int] | None = None
        self._first = 0
        self._given: dict[int, Identity] = {}

    def restart(self, statuses: Sequence[int]) -> None:
        """A new producer sends again what was not acknowledged, from sequence number 0 on, under an id of its own."""
        self._id, self._given = None, {}
        self._first = next((record for record, status in enumerate(statuses) if status < ACKED), len(statuses) - 1)

    def identify(self, record: int, statuses: Sequence[int]) -> Identity:
        """What a record is sent as, the first time and again; `statuses` are those before it is sent."""
        if record not in self._given:
            if self._id is None:
                self._id = self._ask()
            elif record > self._first and statuses[record - 1] == FAILED:
                self._first = record
                self._id = (self._id[0], self._id[1] + 1) if self._bumps else self._ask()
            self._given[record] = Identity(*self._id, record - self._first)
        return self._given[record]


class NotAppended(Exception):
    """A broker does not append what it is sent: a sentence."""


class Producers:
    """What was sent and what was answered. `acks` as Kafka counts it: 0, 1, or -1 for all."""

    def __init__(self, topic: Topic, acks: int, seconds: float, is_idempotent: bool = False) -> None:
        self._topic, self._acks, self.seconds = topic, acks, seconds
        bumps = topic.cluster.plan.release.number >= _BUMPS_EPOCHS
        self._numbering = Numbering(self._new_id, bumps) if is_idempotent else None
        self._waiting: dict[int, Client] = {}
        self.acknowledged: dict[int, Acknowledgement] = {}
        self.refused: dict[int, int] = {}
        """By record the error that its producer was answered."""

    def answers(self) -> Answers:
        """What has been heard so far."""
        return Answers({record: answer.offset for record, answer in self.acknowledged.items()}, dict(self.refused))

    def _new_id(self) -> tuple[int, int]:
        def look() -> tuple[int, int] | None:
            try:
                with self._topic.cluster.client(self._topic.running[0], self.seconds) as ask:
                    return ask.new_producer()
            except NoProducerId:
                return None

        return wait_for(look, "a producer id", self.seconds, self._topic.cluster.check)

    def restart(self, statuses: Sequence[int]) -> None:
        """The producer restarts; nobody waits for the answers to its former self."""
        for record in list(self._waiting):
            self.forget(record)
        if self._numbering is not None:
            self._numbering.restart(statuses)

    def send_again(self, record: int, broker: int, statuses: Sequence[int]) -> None:
        """Sends a record that the broker knows, which therefore does not append it."""
        self._send(record, broker, statuses)

    def _send(self, record: int, broker: int, statuses: Sequence[int]) -> Client:
        self.forget(record)
        batch = None
        if self._numbering is not None:
            given = self._numbering.identify(record, statuses)
            batch = write_records([value_of(record).encode()], True, given.producer, given.epoch, given.sequence)
        client = self._topic.cluster.client(broker, self.seconds, gated=True)
        self._waiting[record] = client
        client.send_record(self._topic.name, value_of(record).encode(), self._acks, batch=batch)
        return client

    def send(
        self, record: int, broker: int, statuses: Sequence[int] = (), is_held: Callable[[], bool] = lambda: False
    ) -> None:
        """Sends a record; returns when it is in the broker's log, as often as it was sent there. `statuses` as before.

        `NotAppended` where the broker answers without having appended it; `is_held` says whether a gate holds its answer.
        """
        value = value_of(record)
        before = self._topic.replica(broker).values.count(value)
        client = self._send(record, broker, statuses)

        def look() -> bool:
            # A broker answers after it has written.
            was_held, is_answered = is_held(), self._acks != 0 and client.is_answered()
            if self._topic.replica(broker).values.count(value) > before:
                return True
            if was_held:
                raise NotAppended(f"broker {broker} answers {value} without appending it, and in the model it appends it")
            if is_answered:
                raise NotAppended(self._why_not(record, broker))
            return False

        wait_for(look, f"{value} in broker {broker}'s log", self.seconds, self._topic.cluster.check)
        if self._acks == 0:
            self.take_for_sent(record)

    def _why_not(self, record: int, broker: int) -> str:
        """Takes in the answer to a record that is not in the log."""
        self._read(record)
        value = value_of(record)
        if record in self.refused:
            return f"broker {broker} refuses {value} with {error_name(self.refused[record])}, and in the model it appends it"
        if record in self.acknowledged:
            return f"broker {broker} acknowledges {value} without appending it, and in the model it appends it"
        return f"broker {broker} ends the connection on which it was sent {value}, and in the model it appends it"

    def take_for_sent(self, record: int) -> None:
        """With acks=0 nobody answers, and the producer takes what it has sent for written; otherwise it waits."""
        if self._acks != 0:
            return
        self.forget(record)
        self.acknowledged[record] = Acknowledgement(0, NO_OFFSET)

    def forget(self, record: int) -> None:
        """Nobody waits for the answer any more."""
        client = self._waiting.pop(record, None)
        if client is not None:
            client.close()

    def hear(self) -> None:
        """Takes in what has been answered by now."""
        for record, client in list(self._waiting.items()):
            if client.is_answered():
                self._read(record)

    def await_acknowledgement(self, record: int, seconds: float) -> bool:
        """Whether a record is acknowledged, waiting for it if need be."""

        def look() -> bool:
            self.hear()
            return record in self.acknowledged or record not in self._waiting

        try:
            wait_for(look, "an answer", seconds, self._topic.cluster.check)
        except NotSeen:
            return False
        return record in self.acknowledged

    def close(self) -> None:
        """Closes all connections."""
        for record in list(self._waiting):
            self.forget(record)

    def _read(self, record: int) -> None:
        client = self._waiting.pop(record)
        try:
            answer = self._acknowledgement(client, record)
        except BrokerGone:
            return
        finally:
            client.close()
        if answer.error:
            self.refused[record] = answer.error
        else:
            self.acknowledged[record] = answer

    def _acknowledgement(self, client: Client, record: int) -> Acknowledgement:
        return client.acknowledgement()
