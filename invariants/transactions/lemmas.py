"""The lemmas by which the promises of `transactions` are inductive with transaction_version 2 and the rules of 4.2 and later.

The argument in one paragraph. Every transaction has a producer epoch of its own: `current` is the one transaction whose
owner holds the coordinator's epoch. Whatever is open in a partition was sent under that epoch (*OpenIsCurrent*), since a
leader asks the coordinator before it opens anything, and late requests of other transactions name an older epoch
(*LateIsCurrent*). Its end takes the next epoch, and that decides it once: from then on nothing can be added, and every
marker that a partition takes says the same (*OpenIsKnown*, *LateIsCurrent*). So no record of another transaction is
committed with it (NoRecordOfAnother), no part is readable where another is aborted (*OneOutcome*), and what is told to the
application is what was decided (*CommitRepeated*, *CommittedStays*). An instance that starts is given its epoch only when
nothing is open, so no record of one before is still to be committed (ZombieFenced, with *OneHolder* and *LastOwner*).
*EpochBudget* bounds the producer epochs that are taken, by which none runs out; the others are about how the fields hang
together.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.invariants.property import Kind, Property
from acked.invariants.quantifiers import every_two
from acked.model.language.quantify import each, every, implies, ite, some
from acked.model.language.values import Bool
from acked.model.transactions.common import (
    is_complete,
    is_hidden,
    is_in_log,
    is_open,
    is_preparing,
    is_readable,
    is_record,
    is_state,
)
from acked.model.transactions.settings import log_size
from acked.model.transactions.state import Fate, Offset, Partition, Phase, Producer, State, Txn, TxnState, epoch

# -- the words of the argument ------------------------------------------------------------------------------------------


def _everywhere(body: Callable[[Partition, Txn], Bool]) -> Bool:
    return every_two(Partition, Txn, body)


def is_in_open(s: State, p: Partition, n: Txn) -> Bool:
    """The record of that transaction belongs to what is open in the partition."""
    return some(Offset, lambda o: (s.partition[p].lso <= o) & is_record(s, p, o, n))


def is_in(s: State, i: Producer, n: Txn) -> Bool:
    """The instance is in that transaction, and was told nothing of its end."""
    return (s.producer[i].phase == Phase.IN_TXN) & (s.producer[i].txn == n)


def is_held(s: State) -> Bool:
    """Some instance has the coordinator's producer epoch."""
    return some(Producer, lambda i: (s.producer[i].phase != Phase.NEW) & (s.producer[i].epoch == s.coordinator.epoch))


def is_current(s: State, n: Txn) -> Bool:
    """It is the transaction of the instance that has the coordinator's producer epoch."""
    return some(Producer, lambda i: is_in(s, i, n) & (s.producer[i].epoch == s.coordinator.epoch))


def _is_asked(s: State, n: Txn) -> Bool:
    return (s.txn[n].fate == Fate.COMMITTING) | (s.txn[n].fate == Fate.COMMITTED)


def _is_hidden_somewhere(s: State, n: Txn) -> Bool:
    return some(Partition, lambda p: is_hidden(s, p, n))


# -- how the fields hang together ---------------------------------------------------------------------------------------


def epochs_are_given(s: State) -> Bool:
    """Nobody knows a newer producer epoch than the coordinator."""
    newest, late = s.coordinator.epoch, s.late
    producers = every(Producer, lambda i: s.producer[i].epoch <= newest)
    partitions = every(Partition, lambda p: s.partition[p].epoch <= newest)
    messages = (late.end.epoch <= newest) & (late.produce.epoch <= newest) & (late.marker.epoch <= newest)
    return producers & partitions & messages


def requests_name_epochs(s: State) -> Bool:
    """Who was initialised has a producer epoch, who was not has none, and a request that is late names one."""
    late = s.late
    producers = every(Producer, lambda i: (s.producer[i].phase == Phase.NEW) | (s.producer[i].epoch != -1))
    none = every(Producer, lambda i: (s.producer[i].phase != Phase.NEW) | (s.producer[i].epoch == -1))
    produce = implies(late.produce.txn.is_some, (late.produce.epoch != -1) & (late.produce.sequence == 0))
    end = implies(late.end.txn.is_some, late.end.epoch != -1)
    init = implies(late.init.sender.is_some, late.init.is_spent)
    return producers & none & produce & (late.produce.sequence <= 0) & end & init


def partitions_of_txn(s: State) -> Bool:
    """There are partitions where a transaction is open or in its markers, and awaited markers only in the latter."""
    coordinator = s.coordinator
    none = implies(is_complete(s), coordinator.partitions.is_empty)
    some_while_open = implies(is_state(s, TxnState.ONGOING), ~coordinator.partitions.is_empty)
    waits = ite(is_preparing(s), ~coordinator.awaiting.is_empty, coordinator.awaiting.is_empty)
    own = every(Partition, lambda p: implies(coordinator.awaiting.contains(p), coordinator.partitions.contains(p)))
    return none & some_while_open & waits & own


def lso_is_stable(s: State) -> Bool:
    """The last stable offset comes after the last marker; what is open is one record, and there is room for its marker."""

    def stable(p: Partition) -> Bool:
        log, mine = s.log[p], s.partition[p]
        above = every(Offset, lambda o: implies((mine.lso <= o) & log.has(o), log.at(o).txn.is_some))
        below = every(Offset, lambda o: implies(log.has(o) & (mine.lso == o + 1), log.at(o).txn.is_none))
        one = (log.end == mine.lso + 1) & (log.end < log_size) & (mine.last_seq == 0) & (mine.epoch != -1)
        return (mine.lso <= log.end) & above & below & implies(is_open(s, p), one)

    return every(Partition, stable)


def fates_are_told(s: State) -> Bool:
    """Who is in a transaction began it, and was not told how it ended."""

    def live(n: Txn, i: Producer) -> Bool:
        fate = s.txn[n].fate
        undecided = (fate == Fate.OPEN) | (fate == Fate.COMMITTING) | (fate == Fate.ABORTING)
        return implies(is_in(s, i, n), undecided & (s.txn[n].owner == i))

    begun = every(Txn, lambda n: implies(s.txn[n].fate == Fate.UNBEGUN, s.txn[n].owner.is_none))
    rest = every(Producer, lambda i: implies(s.producer[i].phase != Phase.IN_TXN, s.producer[i].txn == 0))
    return every_two(Txn, Producer, live) & begun & rest


def records_were_sent(s: State) -> Bool:
    """Only records of transactions that were begun are in a log or on their way, and none is in a log twice."""

    def was_sent(p: Partition, n: Txn) -> Bool:
        return implies(is_in_log(s, p, n) | (s.late.produce.txn == n), s.txn[n].fate != Fate.UNBEGUN)

    def once(p: Partition, n: Txn, o: Offset) -> Bool:
        again = some(Offset, lambda later: (o < later) & is_record(s, p, later, n))
        return implies(is_record(s, p, o, n), ~again)

    return _everywhere(was_sent) & _everywhere(lambda p, n: every(Offset, lambda o: once(p, n, o)))


def acked_records_are_there(s: State) -> Bool:
    """What was acknowledged is in the log, and all records are before the application asks to commit."""

    def there(i: Producer, p: Partition) -> Bool:
        mine = s.producer[i]
        return implies(mine.acked.contains(p), (mine.phase == Phase.IN_TXN) & is_in_log(s, p, mine.txn))

    acked = every_two(Producer, Partition, there)
    return acked & _everywhere(lambda p, n: implies(_is_asked(s, n), is_in_log(s, p, n)))


def known_sequences(s: State) -> Bool:
    """A leader that knows a record under an instance's producer epoch has that of its transaction."""

    def there(i: Producer, p: Partition) -> Bool:
        mine, leader = s.producer[i], s.partition[p]
        knows = (mine.phase != Phase.NEW) & (leader.epoch == mine.epoch) & (leader.last_seq >= 0)
        return implies(knows, (mine.phase == Phase.IN_TXN) & is_in_log(s, p, mine.txn))

    def newest(p: Partition) -> Bool:
        mine = s.partition[p]
        is_newest = (mine.last_seq >= 0) & (mine.epoch == s.coordinator.epoch)
        return implies(is_newest, is_state(s, TxnState.ONGOING)) & (mine.last_seq <= 0)

    return every(Partition, newest) & every_two(Producer, Partition, there)


# -- producer epochs ----------------------------------------------------------------------------------------------------


def open_is_held(s: State) -> Bool:
    """While a transaction is open, or a late request names the newest producer epoch, some instance has that epoch."""

    def needs_holder(named: Bool) -> Bool:
        return implies(named, is_held(s))

    late, newest = s.late, s.coordinator.epoch
    produce = (late.produce.epoch == newest) & (late.produce.epoch != -1)
    end = (late.end.epoch == newest) & (late.end.epoch != -1)
    return needs_holder(is_state(s, TxnState.ONGOING)) & needs_holder(produce) & needs_holder(end)


def epoch_budget(s: State) -> Bool:
    """Two producer epochs are taken for each instance and each transaction that ended, and one for a late InitProducerId.

    The second of each two is for a fence, and is left as long as some instance has the newest epoch.
    """
    most = epoch(0)
    for i in each(Producer):
        most = most + ite(s.producer[i].phase != Phase.NEW, epoch(2), epoch(0))
    for n in each(Txn):
        most = most + ite((s.txn[n].fate == Fate.COMMITTED) | (s.txn[n].fate == Fate.ABORTED), epoch(2), epoch(0))
    most = most + ite(s.late.init.is_spent & s.late.init.sender.is_none, epoch(1), epoch(0))
    return s.coordinator.epoch + 1 <= ite(is_held(s), most - 1, most)


def one_holder(s: State) -> Bool:
    """No two instances have one producer epoch, nor could get one by asking again for the end of a transaction."""
    decided = is_preparing(s) | is_state(s, TxnState.COMPLETE_COMMIT) | is_state(s, TxnState.COMPLETE_ABORT)

    def apart(i: Producer, j: Producer) -> Bool:
        mine, other = s.producer[i], s.producer[j]
        may_get = decided & (mine.epoch + 1 == s.coordinator.epoch)
        both = (mine.phase != Phase.NEW) & (other.phase != Phase.NEW) & (i != j)
        return implies(both, (mine.epoch != other.epoch) & implies(may_get, other.epoch != s.coordinator.epoch))

    return every_two(Producer, Producer, apart)


# -- what is open, and how it ends --------------------------------------------------------------------------------------


def open_is_known(s: State) -> Bool:
    """What is open in a partition is of the coordinator's epoch, or of the one before and waits for its marker."""
    coordinator = s.coordinator

    def is_known(p: Partition) -> Bool:
        of = s.partition[p].epoch
        ongoing = is_state(s, TxnState.ONGOING) & coordinator.partitions.contains(p) & (of == coordinator.epoch)
        waits = is_preparing(s) & coordinator.awaiting.contains(p) & (of + 1 == coordinator.epoch)
        return implies(is_open(s, p), ongoing | waits)

    return every(Partition, is_known)


def open_is_current(s: State) -> Bool:
    """What is open belongs to the current transaction, or was asked to be committed if it is to be."""

    def current(p: Partition, n: Txn) -> Bool:
        while_open = implies(is_state(s, TxnState.ONGOING), is_current(s, n))
        return implies(is_in_open(s, p, n), while_open & implies(is_state(s, TxnState.PREPARE_COMMIT), _is_asked(s, n)))

    def there(p: Partition, n: Txn) -> Bool:
        newest = s.partition[p].epoch == s.coordinator.epoch
        return implies(is_current(s, n) & is_in_log(s, p, n), is_in_open(s, p, n) & newest)

    return _everywhere(current) & _everywhere(there)


def late_is_current(s: State) -> Bool:
    """A late request with the newest epoch is of the current transaction, and a late marker says what was decided."""
    late, newest = s.late, s.coordinator.epoch

    def was_asked(n: Txn) -> Bool:
        fate = s.txn[n].fate
        # Where no request to end a transaction is ever late there is no number to look the transaction up by.
        named = (late.end.txn == n) & (late.end.epoch == newest)
        return implies(named, is_current(s, n) & ite(late.end.commits, fate == Fate.COMMITTING, fate == Fate.ABORTING))

    produce = implies(late.produce.txn.is_some & (late.produce.epoch == newest), is_current(s, late.produce.txn.value))
    of_now = late.marker.partition.is_some & (late.marker.epoch == newest) & is_preparing(s)
    return produce & every(Txn, was_asked) & implies(of_now, late.marker.commits == is_state(s, TxnState.PREPARE_COMMIT))


def last_owner(s: State) -> Bool:
    """Who owns what is to be committed has the newest epoch of all instances."""

    def newest(i: Producer, n: Txn) -> Bool:
        mine = s.producer[i]
        others = every(Producer, lambda j: (j == i) | (s.producer[j].phase == Phase.NEW) | (s.producer[j].epoch < mine.epoch))
        return (s.txn[n].owner == i) & (mine.phase != Phase.NEW) & (mine.epoch + 1 >= s.coordinator.epoch) & others

    def has_owner(p: Partition, n: Txn) -> Bool:
        return implies(is_state(s, TxnState.PREPARE_COMMIT) & is_in_open(s, p, n), some(Producer, lambda i: newest(i, n)))

    return _everywhere(has_owner)


def one_outcome(s: State) -> Bool:
    """Of what is open and to be committed no record is aborted so far; of what is to be aborted none is readable."""

    def one(p: Partition, n: Txn) -> Bool:
        readable = some(Partition, lambda q: is_readable(s, q, n))
        commits = implies(is_state(s, TxnState.PREPARE_COMMIT), ~_is_hidden_somewhere(s, n))
        return implies(is_in_open(s, p, n), commits & implies(is_state(s, TxnState.PREPARE_ABORT), ~readable))

    return _everywhere(one)


def commit_repeated(s: State) -> Bool:
    """Where asking again for a COMMIT would be answered with yes, no record of the transaction is aborted."""
    committed = is_state(s, TxnState.PREPARE_COMMIT) | is_state(s, TxnState.COMPLETE_COMMIT)

    def is_kept(i: Producer, n: Txn) -> Bool:
        of_last = is_in(s, i, n) & (s.producer[i].epoch + 1 == s.coordinator.epoch)
        return implies(of_last & committed, ~_is_hidden_somewhere(s, n))

    return every_two(Producer, Txn, is_kept)


def committed_stays(s: State) -> Bool:
    """What is open of a transaction whose application was told that it is committed waits for a COMMIT."""
    return _everywhere(
        lambda p, n: implies((s.txn[n].fate == Fate.COMMITTED) & is_in_open(s, p, n), is_state(s, TxnState.PREPARE_COMMIT))
    )


def _lemma(predicate: Callable[[State], Bool], source: str = "KIP-98, KIP-890") -> Property:
    name = "".join(part.capitalize() for part in predicate.__name__.split("_"))
    doc = (predicate.__doc__ or "").split("\n")[0].rstrip(".")
    return Property(name, Kind.STATE, predicate, doc[:1].lower() + doc[1:], source, "transaction_version 2, from 4.2 on")


_TAKEN = _lemma(epoch_budget, "docs/transactions.md")
_FIELDS = (
    epochs_are_given, requests_name_epochs, partitions_of_txn, lso_is_stable, fates_are_told, open_is_held,
)  # fmt: skip
_OUTCOMES = (
    open_is_known, one_holder, open_is_current, late_is_current, last_owner, records_were_sent, acked_records_are_there,
    known_sequences, one_outcome, commit_repeated, committed_stays,
)  # fmt: skip

TRANSACTIONS_LEMMAS: tuple[Property, ...] = (*map(_lemma, _FIELDS), _TAKEN, *map(_lemma, _OUTCOMES))
"""Every lemma, those at the bottom first."""
