"""Stories in which the producer is librdkafka, as applications have it: its own retries, its own requests in flight.

The client is `confluent-kafka` (extra `acked[cluster]`). Gates keep single requests and answers of it; nothing else is
decided for it. The sources are KIP-98 for idempotence, and the documentation of `max.in.flight.requests.per.connection`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acked.base.optional import optional_packages
from acked.cluster.nodes.addresses import CLIENT
from acked.cluster.proxies.frame import Phase
from acked.cluster.topics.topic import SECONDS
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from tests.cluster.stories.stage import Stage, StoryOutcome

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

_FLUSH_SECONDS = 0.05


class LibraryProducer:
    """A producer of librdkafka that sends every record in a request of its own, and what it was told of each."""

    def __init__(self, stage: Stage, is_idempotent: bool) -> None:
        with optional_packages():
            from confluent_kafka import Producer

        self._stage = stage
        self._producer = Producer(
            {
                "bootstrap.servers": stage.cluster.bootstrap(),
                "acks": "all",
                "enable.idempotence": is_idempotent,
                "linger.ms": 0,
                "batch.num.messages": 1,
                "logger": _Silent(),
            }
        )
        self.told: dict[str, int | str] = {}
        """By record the offset at which it was acknowledged, or the error."""

    def send(self, value: str) -> None:
        """Gives a record to the library, which sends it when it has found the leader."""
        self._producer.produce(self._stage.name, value.encode(), partition=0, on_delivery=self._hear)
        self._producer.poll(0)
        self._stage.tell(f"librdkafka is given {value}")

    def await_told(self, value: str) -> int | str:
        """What the library says of a record, as soon as it says something."""

        def look() -> bool:
            self._producer.poll(_FLUSH_SECONDS)
            return value in self.told

        wait_for(look, f"what becomes of {value}", SECONDS, self._stage.cluster.check)
        said = self.told[value]
        if isinstance(said, int):
            self._stage.acknowledged.append(value)
        self._stage.tell(f"librdkafka says of {value}: {f'offset {said}' if isinstance(said, int) else said}")
        return said

    def close(self) -> None:
        """Gives up what is still to be sent."""
        self._producer.purge()
        self._producer.flush(SECONDS)

    def _hear(self, error: KafkaError | None, message: Message) -> None:
        value = message.value()
        assert isinstance(value, bytes)
        offset = message.offset()
        self.told[value.decode()] = str(error) if error is not None or offset is None else offset


class _Silent:
    """The library's complaints about connections, which gates break."""

    def log(self, level: int, message: str, *arguments: object) -> None:
        """Says nothing."""


@contextmanager
def library_producer(stage: Stage, is_idempotent: bool) -> Iterator[LibraryProducer]:
    """A producer of librdkafka whose requests go through the proxies from `CLIENT`."""
    producer = LibraryProducer(stage, is_idempotent)
    try:
        yield producer
    finally:
        stage.cluster.network.lift()
        producer.close()


def library_retries(stage: Stage, is_idempotent: bool = False) -> StoryOutcome:
    """The answer to librdkafka is lost with its connection, and it sends the record again by itself."""
    stage.create([0, 1, 2])
    with library_producer(stage, is_idempotent) as producer:
        answers = stage.cluster.network.hold(CLIENT, 0, Api.PRODUCE, Phase.RESPONSE)
        producer.send("r0")
        answers.wait(SECONDS)
        stage.tell(f"broker 0's log is {list(stage.replica(0).values)}; its answer is lost with the connection")
        answers.close(seconds=SECONDS)
        answers.lift()
        producer.await_told("r0")
        return stage.judge(0)


def library_overtakes(stage: Stage, is_idempotent: bool = False) -> StoryOutcome:
    """Two requests of librdkafka are in flight; the first one is lost, and the connection breaks when the second has arrived.

    Without idempotence the second is in the log by then, and the first comes behind it when it is sent again. With it the
    broker refuses a sequence number that skips one, and the library sends both again, in order.
    """
    stage.create([0, 1, 2])
    network = stage.cluster.network
    with library_producer(stage, is_idempotent) as producer:
        producer.send("r0")
        producer.await_told("r0")  # Brokers since 2.5 begin with whatever sequence number comes first (KIP-360).
        requests = network.hold(CLIENT, 0, Api.PRODUCE)
        producer.send("r1")
        requests.drop(seconds=SECONDS)
        answers = network.hold(CLIENT, 0, Api.PRODUCE, Phase.RESPONSE)
        producer.send("r2")
        requests.let(seconds=SECONDS)
        answers.let(seconds=SECONDS)
        stage.tell(f"r1's request is lost, and r2's is answered; broker 0's log is {list(stage.replica(0).values)}")
        if not is_idempotent:
            producer.await_told("r2")
        requests.lift()
        answers.lift()
        network.reset(source=CLIENT)
        for value in ("r1", "r2"):
            if value not in stage.acknowledged:
                producer.await_told(value)
        return stage.judge(0)
