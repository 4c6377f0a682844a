"""Requests asked of one given broker: a request is one record, nothing is retried, an answer is read when it is wanted."""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.base.sockets import read_exactly
from acked.cluster.wire.apis import Api
from acked.cluster.wire.codec import Values, frame_length, read_response, response_correlation, write_request
from acked.cluster.wire.records import Record, read_records, write_records

Address = tuple[str, int]
CONSUMER, DEBUGGER = -1, -2
"""Replica ids of those that are no replicas: a consumer reads to the high watermark, a debugger to the log end."""
ALL_REPLICAS = -1
FOLLOWERS_SERVE = (2, 4)
"""Since then followers answer consumers (KIP-392): those that ask in the version that names a rack."""
_FETCH_WITH_RACK = 11


class BrokerGone(SystemFailure):
    """A broker that does not answer: nobody listens, it closed the connection, or the time is over."""


class NoProducerId(SystemFailure):
    """A broker that has no producer id to give, perhaps not yet."""


@frozen
class Dialect:
    """Which versions a broker of a release understands, by its number."""

    number: tuple[int, ...]

    @property
    def has_leader_epochs(self) -> bool:
        """Whether records carry the leader epoch (KIP-101, message format 2)."""
        return self.number >= (0, 11)

    @property
    def has_eligible_leaders(self) -> bool:
        """Whether partitions are described with their eligible leaders (KIP-966)."""
        return self.number >= (4,)

    def version(self, api: Api) -> int:
        """The version in which a request is asked; without flexible encodings, so that Kafka 4 and 0.11 know the same."""
        new = self.has_leader_epochs
        return {
            Api.PRODUCE: 3 if new else 2,
            Api.FETCH: 4 if new else 3,
            Api.LIST_OFFSETS: 1,
            Api.METADATA: 7 if self.number >= (2, 1) else 1,
            Api.CREATE_TOPICS: 2 if new else 1,
            Api.DELETE_TOPICS: 1 if new else 0,
            Api.ELECT_LEADERS: 1,
        }.get(api, 0)


@frozen
class PartitionView:
    """Leader and ISR of a partition as one broker sees them, which may be stale. Leader -1: none.

    `epoch` is None where metadata do not say it (before 2.1); `eligible` are the leaders that KIP-966 would elect beside the
    ISR, None where they were not asked for or there are none such; `last_known` who would be elected where ISR and these are
    empty.
    """

    error: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    epoch: int | None = None
    eligible: tuple[int, ...] | None = None
    last_known: tuple[int, ...] | None = None


@frozen
class ClusterView:
    """The cluster as one broker sees it."""

    brokers: tuple[int, ...]
    controller: int
    topics: Mapping[str, Mapping[int, PartitionView]]


@frozen
class Acknowledgement:
    """A leader's answer to a producer. Offset -1 where there is an error."""

    error: int
    offset: int


@frozen
class Read:
    """A leader's answer to a consumer."""

    error: int
    high_watermark: int
    records: tuple[Record, ...]


class Client:
    """One connection to one broker. Every method may raise `BrokerGone`."""

    def __init__(self, address: Address, dialect: Dialect, timeout: float = 20.0) -> None:
        self.address, self.dialect = address, dialect
        self._correlation = 0
        try:
            self._socket = socket.create_connection(address, timeout=timeout)
        except OSError as error:
            raise BrokerGone(f"nobody answers at {address[0]}:{address[1]}: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    # -- any request ------------------------------------------------------------------------------------------------------

    def send(self, api: Api, values: Values, version: int | None = None) -> int:
        """Sends a request and returns its version; the answer is read by `receive`."""
        chosen = self.dialect.version(api) if version is None else version
        self._correlation += 1
        frame = write_request(api, chosen, self._correlation, values)
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise BrokerGone(f"{self.address[0]}:{self.address[1]} does not take a request: {error}") from None
        return chosen

    def receive(self, api: Api, version: int) -> Any:
        """The next answer's body, in kio's form."""
        try:
            payload = read_exactly(self._socket, frame_length(read_exactly(self._socket, 4)))
        except OSError as error:
            raise BrokerGone(f"{self.address[0]}:{self.address[1]} does not answer: {error}") from None
        if response_correlation(payload) != self._correlation:
            raise BrokerGone(f"{self.address[0]}:{self.address[1]} answers another request than the last")
        return read_response(api, version, payload)

    def ask(self, api: Api, values: Values, version: int | None = None) -> Any:
        """A request and its answer."""
        return self.receive(api, self.send(api, values, version))

    # -- producing --------------------------------------------------------------------------------------------------------

    def send_record(self, topic: str, value: bytes, acks: int = ALL_REPLICAS, timeout_ms: int = 60_000,
                    batch: bytes | None = None, partition: int = 0) -> None:  # fmt: skip
        """Sends a record, or a whole batch; the answer is read by `acknowledgement`."""
        records = write_records([value], self.dialect.has_leader_epochs) if batch is None else batch
        data = {"index": partition, "records": records}
        body = {"acks": acks, "timeout": timeout_ms, "topic_data": [{"name": topic, "partition_data": [data]}]}
        self.send(Api.PRODUCE, body)

    def acknowledgement(self) -> Acknowledgement:
        """The answer to the record that was sent last."""
        body = self.receive(Api.PRODUCE, self.dialect.version(Api.PRODUCE))
        [partition] = body.responses[0].partition_responses
        return Acknowledgement(int(partition.error_code), partition.base_offset)

    def is_answered(self) -> bool:
        """Whether there is something to read by now: an answer, or the end of the connection."""
        readable, _, _ = select.select([self._socket], [], [], 0)
        return bool(readable)

    def produce(self, topic: str, value: bytes, acks: int = ALL_REPLICAS, timeout_ms: int = 60_000) -> Acknowledgement:
        """Sends a record and waits for the answer."""
        self.send_record(topic, value, acks, timeout_ms)
        return self.acknowledgement()

    def new_producer(self) -> tuple[int, int]:
        """A producer id and its epoch, for idempotence (since 0.11); `NoProducerId`."""
        body = self.ask(Api.INIT_PRODUCER_ID, {"transactional_id": None, "transaction_timeout": 60_000})
        if body.error_code:
            raise NoProducerId(f"{self.address[0]}:{self.address[1]} gives no producer id: error {int(body.error_code)}")
        return body.producer_id, body.producer_epoch

    # -- looking ----------------------------------------------------------------------------------------------------------

    def fetch(self, topic: str, offset: int = 0, from_any: bool = False) -> Read:
        """What the broker serves from an offset; a consumer is served by leaders only, or `from_any` replica (since 2.4)."""
        found = self.fetch_partition(topic, offset, version=_FETCH_WITH_RACK if from_any else None)
        return Read(int(found.error_code), found.high_watermark, read_records(found.records or b""))

    def fetch_partition(self, topic: str, offset: int = 0, isolation: int = 0, version: int | None = None,
                        partition: int = 0) -> Any:  # fmt: skip
        """What a consumer is served from an offset, in kio's form; `isolation` 1: of a consumer in read_committed."""
        position = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
        asked = {"replica_id": CONSUMER, "max_wait": 100, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": isolation,
                 "topics": [{"topic": topic, "partitions": [position]}]}  # fmt: skip
        [found] = self.ask(Api.FETCH, asked, version).responses[0].partitions
        return found

    def latest_offset(self, topic: str, replica: int = CONSUMER) -> tuple[int, int]:
        """Error and the latest offset: for a consumer the high watermark, for a debugger the log end, by followers too."""
        body = {"replica_id": replica, "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
        [found] = self.ask(Api.LIST_OFFSETS, body).topics[0].partitions
        return int(found.error_code), found.offset

    def earliest_offset(self, topic: str, partition: int = 0) -> int:
        """Where the leader's log begins, 0 if it does not say so; retention moves that."""
        asked = [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": -2}]}]
        [found] = self.ask(Api.LIST_OFFSETS, {"replica_id": CONSUMER, "topics": asked}).topics[0].partitions
        return max(int(found.offset), 0)

    def metadata(self, topics: Sequence[str] | None = None) -> ClusterView:
        """The cluster, and all topics or some, as this broker sees them."""
        asked = None if topics is None else [{"name": name} for name in topics]
        body = self.ask(Api.METADATA, {"topics": asked, "allow_auto_topic_creation": False})
        seen = {
            str(topic.name): {one.partition_index: _view(one) for one in topic.partitions}
            for topic in body.topics if not topic.error_code
        }  # fmt: skip
        return ClusterView(tuple(sorted(one.node_id for one in body.brokers)), body.controller_id, seen)

    def partition(self, topic: str, partition: int = 0) -> PartitionView | None:
        """A partition of a topic as this broker sees it; None if it does not know the topic."""
        return self.metadata([topic]).topics.get(topic, {}).get(partition)

    def describe(self, topic: str) -> PartitionView:
        """A partition with its eligible leaders (since 4.0)."""
        body = self.ask(Api.DESCRIBE_TOPIC_PARTITIONS, {"topics": [{"name": topic}]}, 0)
        [one] = body.topics[0].partitions
        return _view(one)

    # -- topics -----------------------------------------------------------------------------------------------------------

    def create_topic(self, name: str, replicas: Sequence[int], settings: Mapping[str, str], partitions: int = 1) -> int:
        """Asks for a topic whose partitions have these replicas, the preferred leader of the first one first, of the next
        the next one, and so on; returns the error.
        """
        orders = [(*replicas[first:], *replicas[:first]) for first in (n % len(replicas) for n in range(partitions))]
        topic = {
            "name": name,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": [{"partition_index": number, "broker_ids": order} for number, order in enumerate(orders)],
            "configs": [{"name": key, "value": value} for key, value in settings.items()],
        }
        return int(self.ask(Api.CREATE_TOPICS, {"topics": [topic], "timeout": 20_000}).topics[0].error_code)

    def delete_topic(self, name: str) -> int:
        """Asks the controller to delete a topic; returns the error."""
        return int(self.ask(Api.DELETE_TOPICS, {"topic_names": (name,), "timeout": 20_000}).responses[0].error_code)

    def reassign(self, topic: str, replicas: Sequence[int], partition: int = 0) -> int:
        """Asks the controller for another order of replicas, or others (since 2.4); returns the error."""
        wanted = {"partition_index": partition, "replicas": tuple(replicas)}
        body = self.ask(
            Api.ALTER_PARTITION_REASSIGNMENTS, {"topics": [{"name": topic, "partitions": [wanted]}], "timeout": 20_000}
        )
        return int(body.error_code or body.responses[0].partitions[0].error_code)

    def elect_preferred(self, topic: str, partition: int = 0) -> int:
        """Asks the controller to elect the first replica (since 2.4); returns the error."""
        asked = {"election_type": 0, "topic_partitions": [{"topic": topic, "partitions": (partition,)}], "timeout": 20_000}
        body = self.ask(Api.ELECT_LEADERS, asked)
        results = [one for topic_result in body.replica_election_results for one in topic_result.partition_result]
        return int(body.error_code or next((one.error_code for one in results), 0))


def _view(partition: Any) -> PartitionView:
    """A partition as metadata, or its description, have it."""
    isr, eligible = tuple(partition.isr_nodes), getattr(partition, "eligible_leader_replicas", None)
    last_known = getattr(partition, "last_known_elr", None)
    return PartitionView(
        int(partition.error_code), partition.leader_id, tuple(partition.replica_nodes), isr,
        getattr(partition, "leader_epoch", None), None if eligible is None else tuple(eligible),
        None if last_known is None else tuple(last_known),
    )  # fmt: skip
