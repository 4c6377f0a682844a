"""Properties of what clients of `partition` see: reads, offsets, duplicates, order, and refusals."""

from __future__ import annotations

from collections.abc import Mapping

from acked.invariants.property import promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import is_true_leader
from acked.model.partition.rules.settings import ACKS_0, consumer, offset_queries
from acked.model.partition.state import FAILED, Offset, RecordId, Replica, State


def lacks_consumer(constants: Mapping[str, int]) -> str:
    return "" if constants["consumer"] else 'consumer; set consumer = "leader" or "followers"'


def lacks_queries(constants: Mapping[str, int]) -> str:
    return "" if constants["offset_queries"] else "client that asks for offsets; set offset_queries = true"


def lacks_answers(constants: Mapping[str, int]) -> str:
    return "answer with acks=0, so nothing is refused; set acks = \"1\" or \"all\"" if constants["acks"] == ACKS_0 else ""


@promise(
    "a record that a consumer has read stays at its offset, across changes of leader",
    "the definition of the high watermark; KAFKA-15583",
    "3.7, clean elections",
    lacks=lacks_consumer,
)
def reads_stay(s: State) -> Bool:
    """The current leader has, where the consumer read, what the consumer read."""
    if not consumer.value:
        return truth(True)  # Specs are refused that ask this without a consumer.

    def there(r: Replica) -> Bool:
        return some(
            Offset,
            lambda o: (s.consumer.offset == o) & s.log[r].has(o) & (s.log[r].at(o).id == s.consumer.record),
        )

    return every(Replica, lambda r: implies(is_true_leader(s, r) & s.consumer.offset.is_some, there(r)))


@promise(
    "a client that asks for the latest offset twice does not get a lower one the second time",
    "KIP-207, KAFKA-2334, KIP-320",
    "2.2 with clients of 2.1, clean elections",
    lacks=lacks_queries,
)
def latest_offset_stays(before: State, after: State) -> Bool:
    """A client that asks for the latest offset again does not get a lower one."""
    if not offset_queries.on:
        return truth(True)
    return before.consumer.latest <= after.consumer.latest


# -- each record once, in order ----------------------------------------------------------------------------------------


def _is_committed(s: State, leader: Replica, o: Offset) -> Bool:
    return is_true_leader(s, leader) & (o < s.broker[leader].hw) & s.log[leader].has(o)


@promise("consumers get each record once", "KIP-98", "idempotence, and no restart of the producer")
def no_duplicates(s: State) -> Bool:
    """Consumers get no record twice from the current leader."""

    def once(leader: Replica) -> Bool:
        log = s.log[leader]
        return every_two(
            Offset, Offset, lambda o, p: implies(_is_committed(s, leader, o) & (p < o), log.at(p).id != log.at(o).id)
        )

    return every(Replica, once)


@promise(
    "consumers get the records of a producer in the order in which it sent them",
    "max.in.flight.requests.per.connection; KIP-98, KAFKA-5494",
    "one request in flight, or idempotence",
)
def no_reordering(s: State) -> Bool:
    """Consumers get the records of one producer in the order in which it was given them, repetitions aside."""

    def earlier(leader: Replica, o: Offset) -> Bool:
        log = s.log[leader]
        return some(Offset, lambda p: (p < o) & (log.at(p).id == log.at(o).id))

    def is_ordered(leader: Replica) -> Bool:
        log = s.log[leader]
        return every_two(
            Offset, Offset,
            lambda o, p: implies(_is_committed(s, leader, o) & (p < o), (log.at(p).id <= log.at(o).id) | earlier(leader, o)),
        )

    return every(Replica, is_ordered)


@promise(
    "consumers get a record only after every record that its producer was given before it",
    "KIP-98, KIP-360, KAFKA-15591",
    "with one request in flight and retries",
)
def no_gaps(s: State) -> Bool:
    """Consumers get a record only after the one that its producer was given before it."""

    def after_the_one_before(leader: Replica, o: Offset) -> Bool:
        log = s.log[leader]
        return (log.at(o).id == 0) | some(Offset, lambda p: (p < o) & (log.at(p).id + 1 == log.at(o).id))

    return every_two(Replica, Offset, lambda leader, o: implies(_is_committed(s, leader, o), after_the_one_before(leader, o)))


@promise(
    "a record that was reported to the application as failed is not delivered to consumers",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND and time-outs in the producer's documentation",
    "never promised",
    lacks=lacks_answers,
)
def refusals_are_true(s: State) -> Bool:
    """A record that was reported to the application as failed is not delivered to consumers."""

    def is_present(record: RecordId) -> Bool:
        return some(
            Replica,
            lambda r: some(Offset, lambda o: _is_committed(s, r, o) & (s.log[r].at(o).id == record)),
        )

    return every(RecordId, lambda record: implies(s.producer.status[record] == FAILED, ~is_present(record)))
