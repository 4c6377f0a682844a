"""The promises of `transactions`: what applications that use a transactional id, and their consumers, rely on.

A record is *readable* where a consumer in read_committed gets it: it stands below the last stable offset, and the next marker
after it is a COMMIT. It is *hidden* where that marker is an ABORT.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.invariants.property import Property, promise
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import every, implies, some, truth
from acked.model.language.values import Bool
from acked.model.transactions.common import (
    committed_offset,
    holds_offsets,
    is_decided,
    is_hidden,
    is_in_log,
    is_open,
    is_readable,
    is_record,
)
from acked.model.transactions.settings import offsets
from acked.model.transactions.state import Fate, Offset, Partition, Phase, Position, Producer, State, Txn


def _lacks_offsets(constants: Mapping[str, int]) -> str:
    return "" if constants["offsets"] else "input; set offsets = true"

_KIP_98 = "KIP-98"


@promise(
    "if an application was told that its transaction is committed, consumers in read_committed get all of its records, "
    "in every partition, as soon as the last stable offset passes them",
    _KIP_98,
    "0.11.0.2 where no request is late; transaction.version=2 of 4.2 in any case",
)
def atomic_transactions(s: State) -> Bool:
    """Of a transaction that the application was told is committed every record is in its partition, and none is hidden."""

    def is_kept(txn: Txn, p: Partition) -> Bool:
        return is_in_log(s, p, txn) & ~is_hidden(s, p, txn)

    return every(Txn, lambda n: implies(s.txn[n].fate == Fate.COMMITTED, every(Partition, lambda p: is_kept(n, p))))


@promise(
    "if an application was told that its transaction is aborted, no consumer in read_committed gets a record of it",
    _KIP_98,
    "as for AtomicTransactions",
)
def no_aborted_read(s: State) -> Bool:
    """Of a transaction that the application was told is aborted no record is readable."""
    return every(
        Txn, lambda n: implies(s.txn[n].fate == Fate.ABORTED, every(Partition, lambda p: ~is_readable(s, p, n)))
    )


@promise("a transaction is never readable in one partition and aborted in another", _KIP_98, "as for AtomicTransactions")
def no_torn_transaction(s: State) -> Bool:
    """Where one record of a transaction is readable, no other is hidden."""

    def readable(txn: Txn) -> Bool:
        return some(Partition, lambda p: is_readable(s, p, txn))

    def hidden(txn: Txn) -> Bool:
        return some(Partition, lambda p: is_hidden(s, p, txn))

    return every(Txn, lambda n: implies(readable(n), ~hidden(n)))


@promise(
    "consumers in read_committed get only records of transactions that their application asked to commit: none that went "
    "into another one, and none of a transaction that is still open",
    "KIP-890",
    "as for AtomicTransactions",
)
def no_record_of_another(s: State) -> Bool:
    """A readable record is of a transaction that its application asked to commit."""

    def was_asked(txn: Txn) -> Bool:
        return (s.txn[txn].fate == Fate.COMMITTING) | (s.txn[txn].fate == Fate.COMMITTED)

    return every_two(Partition, Txn, lambda p, n: implies(is_readable(s, p, n), was_asked(n)))


@promise("a record that was sent once is readable once", _KIP_98, "2.4.1 (KAFKA-9144)")
def no_duplicates(s: State) -> Bool:
    """No partition shows a record twice; an offset may be there twice."""

    def is_shown(p: Partition, o: Offset) -> Bool:
        return s.log[p].at(o).txn.is_some & is_decided(s, p, o, True)

    def once(p: Partition, o: Offset) -> Bool:
        again = some(
            Offset, lambda other: (o < other) & is_record(s, p, other, s.log[p].at(o).txn.value) & is_shown(p, other)
        )
        return implies(s.log[p].has(o) & is_shown(p, o), ~again)

    return every(Partition, lambda p: holds_offsets(p) | every(Offset, lambda o: once(p, o)))


@promise(
    "once a restarted application is initialised, no further record of the instance before it becomes readable",
    _KIP_98,
    "2.4.1 (KAFKA-9144)",
)
def zombie_fenced(before: State, after: State) -> Bool:
    """After an instance was initialised, no further record of one before it becomes readable."""

    def is_old(i: Producer) -> Bool:
        mine = before.producer[i]
        newer = some(
            Producer, lambda j: (before.producer[j].phase != Phase.NEW) & (mine.epoch < before.producer[j].epoch)
        )
        return (mine.phase != Phase.NEW) & newer

    def appears(txn: Txn) -> Bool:
        return some(Partition, lambda p: ~is_readable(before, p, txn) & is_readable(after, p, txn))

    def is_of_old(txn: Txn) -> Bool:
        return some(Producer, lambda i: (before.txn[txn].owner == i) & is_old(i))

    return every(Txn, lambda n: implies(is_of_old(n), ~appears(n)))


@promise(
    "a transaction that is open in a partition is known to the coordinator, which will end it; one that is not hangs, "
    "and consumers in read_committed get nothing beyond it",
    "KIP-664, KIP-890",
    "3.6 (KIP-890 part 1)",
)
def no_hanging_transaction(s: State) -> Bool:
    """A transaction that is open in a partition is one whose partitions the coordinator will have write a marker."""
    return every(Partition, lambda p: implies(is_open(s, p), s.coordinator.partitions.contains(p)))


@promise(
    "an input record whose offset goes into the transaction is processed once: consumers in read_committed never get "
    "what two transactions made of it",
    "KIP-98, KIP-447",
    "transaction.version=2 of 4.2; before where no request is late",
    lacks=_lacks_offsets,
)
def no_input_twice(s: State) -> Bool:
    """No two transactions whose records are readable read the same input record."""
    if not offsets.on:
        return truth(True)  # Specs are refused that ask this without offsets.

    def both(n: Txn, m: Txn) -> Bool:
        return some(Partition, lambda p: is_readable(s, p, n) & is_readable(s, p, m) & ~holds_offsets(p))

    def differ(n: Txn, m: Txn) -> Bool:
        return implies((n < m) & both(n, m), s.txn[n].input != s.txn[m].input)

    return every_two(Txn, Txn, differ)


@promise(
    "an input record is not passed over: if the group's committed offset is beyond it, what a transaction made of it is "
    "readable, or will be",
    "KIP-98, KIP-447",
    "as for NoInputTwice",
    lacks=_lacks_offsets,
)
def no_input_lost(s: State) -> Bool:
    """Of every input record before the group's committed offset there is a transaction whose records are not aborted."""
    if not offsets.on:
        return truth(True)

    def there(txn: Txn, p: Partition) -> Bool:
        return holds_offsets(p) | (is_in_log(s, p, txn) & ~is_hidden(s, p, txn))

    def was_processed(k: Position) -> Bool:
        return some(Txn, lambda n: (s.txn[n].input == k) & every(Partition, lambda p: there(n, p)))

    return every(Position, lambda k: implies(k < committed_offset(s), was_processed(k)))


PROPERTIES: tuple[Property, ...] = (
    atomic_transactions, no_aborted_read, no_torn_transaction, no_record_of_another, no_duplicates, zombie_fenced,
    no_hanging_transaction, no_input_twice, no_input_lost,
)  # fmt: skip
"""Every promise of the protocol."""
