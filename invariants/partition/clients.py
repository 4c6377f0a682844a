"""Properties of what clients of `partition` see: reads, offsets, duplicates, order, and refusals."""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.partition.common import is_true_leader
from acked.model.partition.rules.settings import ACKS_0, consumer, offset_queries
from acked.model.partition.state import FAILED, Offset, RecordId, Replica, State


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


def latest_offset_stays(before: State, after: State) -> Bool:
    """A client that asks for the latest offset again does not get a lower one."""
    if not offset_queries.on:
        return truth(True)
    return before.consumer.latest <= after.consumer.latest


# -- each record once, in order ----------------------------------------------------------------------------------------


def _committed(s: State, leader: Replica, o: Offset) -> Bool:
    return is_true_leader(s, leader) & (o < s.broker[leader].hw) & s.log[leader].has(o)


def no_duplicates(s: State) -> Bool:
    """Consumers get no record twice from the current leader."""

    def once(leader: Replica) -> Bool:
        log = s.log[leader]
        return every(
            Offset,
            lambda o: every(
                Offset,
                lambda p: implies(_committed(s, leader, o) & (p < o), log.at(p).id != log.at(o).id),
            ),
        )

    return every(Replica, once)


def no_reordering(s: State) -> Bool:
    """Consumers get the records of one producer in the order in which it was given them, repetitions aside."""

    def earlier(leader: Replica, o: Offset) -> Bool:
        log = s.log[leader]
        return some(Offset, lambda p: (p < o) & (log.at(p).id == log.at(o).id))

    def in_order(leader: Replica) -> Bool:
        log = s.log[leader]
        return every(
            Offset,
            lambda o: every(
                Offset,
                lambda p: implies(
                    _committed(s, leader, o) & (p < o), (log.at(p).id <= log.at(o).id) | earlier(leader, o)
                ),
            ),
        )

    return every(Replica, in_order)


def no_gaps(s: State) -> Bool:
    """Consumers get a record only after the one that its producer was given before it."""

    def after_the_one_before(leader: Replica, o: Offset) -> Bool:
        log = s.log[leader]
        return (log.at(o).id == 0) | some(Offset, lambda p: (p < o) & (log.at(p).id + 1 == log.at(o).id))

    return every(
        Replica,
        lambda leader: every(Offset, lambda o: implies(_committed(s, leader, o), after_the_one_before(leader, o))),
    )


def refusals_are_true(s: State) -> Bool:
    """A record that was reported to the application as failed is not delivered to consumers."""

    def present(record: RecordId) -> Bool:
        return some(
            Replica,
            lambda r: some(Offset, lambda o: _committed(s, r, o) & (s.log[r].at(o).id == record)),
        )

    return every(RecordId, lambda record: implies(s.producer.status[record] == FAILED, ~present(record)))


def lacks_consumer(constants: Mapping[str, int]) -> str:
    return "" if constants["consumer"] else 'consumer; set consumer = "leader" or "followers"'


def lacks_queries(constants: Mapping[str, int]) -> str:
    return "" if constants["offset_queries"] else "client that asks for offsets; set offset_queries = true"


def lacks_answers(constants: Mapping[str, int]) -> str:
    return "answer with acks=0, so nothing is refused; set acks = \"1\" or \"all\"" if constants["acks"] == ACKS_0 else ""
