"""Moving: another broker leads the id's partition of `__transaction_state`, reads it, and is the coordinator.

It reads to its log's end, and so has what its predecessor wrote and did not see committed, or has it not. A replica in sync
that lacks it may be the next again. What a coordinator answers after it has written something is committed, and with that all
that it had loaded. But it sends markers for what it has loaded at once, and says of a partition that it finds there that it
was added. A write that fails, and stays in the log where the next one finds it (`appendTransactionToLog`), is there as two
moves.

Sources: `TransactionStateManager.loadTransactionMetadata` (reads to `FetchIsolation.LOG_END`),
`loadTransactionsForTxnTopicPartition`, `appendTransactionToLog`; `TransactionCoordinator.handleAddPartitionsToTransaction`,
which answers at once for partitions that are there already: 0.11.0.0 to 4.3.1, and the class file of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Callable

from acked.model.language.action import action, require
from acked.model.language.quantify import ite, truth
from acked.model.language.state import none_of
from acked.model.language.telling import Fault, Message, Telling, Tells
from acked.model.transactions import settings
from acked.model.transactions.common import (
    add_partition,
    fence,
    is_ongoing,
    is_preparing,
    is_state,
    may_add,
    prepare,
    renumber_coordinators,
    settle,
)
from acked.model.transactions.ending import end_text, ends_open, require_wish, take
from acked.model.transactions.marking import is_marking
from acked.model.transactions.producing import add_text, is_in_open_txn
from acked.model.transactions.state import Fate, Partition, Producer, State, TxnState
from acked.model.transactions.words import COORDINATOR, result, txn_of

_REGISTER = ("state", "epoch", "last_epoch", "partitions", "rotates")
"""What a record of the id says."""


def _move(s: State) -> None:
    coordinator = s.coordinator
    if settings.max_coordinator_epoch.value:
        require("a move is left", coordinator.coordinator_epoch < settings.max_coordinator_epoch)
    coordinator.coordinator_epoch = coordinator.coordinator_epoch + 1
    coordinator.awaiting = ite(is_preparing(s), coordinator.partitions, none_of(Partition))
    renumber_coordinators(s)


def _says_markers(t: Telling) -> str:
    return "; it sends all markers again" if is_marking(t.after.coordinator) else ""


@action(
    says=lambda t: (
        f"another broker becomes the coordinator, with coordinator epoch {t.after.coordinator.coordinator_epoch}"
        + _says_markers(t)
    ),
    when=lambda: settings.coordinator_moves.on,
    actor=COORDINATOR, fault=Fault.RESTARTS,
)
def move_coordinator(s: State) -> None:
    """Another broker leads the id's partition of `__transaction_state`: it reads the state and sends all markers again."""
    _move(s)


# -- with a transition that is not committed ---------------------------------------------------------------------------


def _lose(s: State, transition: Callable[[], None]) -> None:
    """A transition is written, and before it is committed the coordinator moves to a broker that has it in its log."""
    coordinator = s.coordinator
    require("the log is the same in sync", ~coordinator.differs)
    before = [getattr(coordinator, name) for name in _REGISTER]
    transition()
    coordinator.differs = True
    for name, value in zip(_REGISTER, before, strict=True):
        setattr(coordinator.other, name, value)
    _move(s)


def _says_lost(what: str) -> str:
    return f"{what}; before all replicas in sync have that, a broker that has it becomes the coordinator"


def _says_end(t: Telling, commits: bool) -> str:
    what = "commits" if commits else "aborts"
    wrote = f"the coordinator writes that it prepares the {result(commits)}"
    return _says_lost(f"producer {t.producer} {what} its transaction {txn_of(t)}, and {wrote}")


def _asks(commits: bool) -> tuple[Message, ...]:
    """The request, which is not answered."""
    return (Tells("producer", COORDINATOR, lambda t: end_text(t.before.producer[t.producer].epoch, commits)),)


def _end(s: State, i: Producer, commits: bool) -> None:
    mine = s.producer[i]
    require_wish(s, i, commits)
    require("it ends the open transaction", ends_open(s, mine.epoch))
    _lose(s, lambda: take(s, mine.epoch, commits))
    s.txn[mine.txn].fate = Fate.COMMITTING if commits else Fate.ABORTING


@action(
    says=lambda t: _says_end(t, True), when=lambda: settings.fails.on, actor="producer", fault=Fault.RESTARTS,
    messages=_asks(True),
)
def commit_then_move(s: State, producer: Producer) -> None:
    """An EndTxn with COMMIT is not answered, since the coordinator moves; the instance asks again."""
    _end(s, producer, True)


@action(
    says=lambda t: _says_end(t, False), when=lambda: settings.fails.on and settings.aborts.on,
    actor="producer", fault=Fault.RESTARTS, messages=_asks(False),
)
def abort_then_move(s: State, producer: Producer) -> None:
    """An EndTxn with ABORT is not answered, since the coordinator moves; the instance asks again."""
    _end(s, producer, False)


@action(
    says=lambda t: _says_lost(
        f"partition {t.partition} is to be added to transaction {txn_of(t)} of producer {t.producer}, and the coordinator "
        "writes that"
    ),
    when=lambda: settings.fails.on, actor="producer", fault=Fault.RESTARTS,
    messages=(Tells("producer", COORDINATOR, lambda t: add_text(t.before.producer[t.producer].epoch, t.partition)),),
)
def add_then_move(s: State, producer: Producer, partition: Partition) -> None:
    """An AddPartitionsToTxn, of the client or (transaction_version 2) of the leader, is not answered; it is asked again."""
    mine = s.producer[producer]
    require("in a transaction", is_in_open_txn(s, producer))
    if settings.adds_partitions.on:
        require("not added yet", ~mine.added.contains(partition))
    else:
        require("not acknowledged yet", ~mine.acked.contains(partition))
        require("no transaction open here", ~is_ongoing(s, partition, mine.epoch))
    require("the coordinator adds it", may_add(s, mine.epoch))
    require("it is not there already", ~s.coordinator.partitions.contains(partition))
    _lose(s, lambda: add_partition(s, partition))


@action(
    says=lambda t: _says_lost("the open transaction takes too long, and the coordinator writes that it prepares to abort it"),
    when=lambda: settings.fails.on and settings.timeouts.on, actor=COORDINATOR, fault=Fault.RESTARTS,
)
def time_out_then_move(s: State) -> None:
    """A transaction that is not ended within its timeout is to be aborted, and the coordinator moves."""
    require("a transaction is open", is_state(s, TxnState.ONGOING))
    _lose(s, lambda: fence(s) if settings.timeout_bumps_epoch.on else prepare(s, truth(False)))


@action(
    says=lambda t: "all replicas in sync have what the coordinator has loaded: it is committed",
    when=lambda: settings.fails.on, actor=COORDINATOR,
)
def replicate(s: State) -> None:
    """What the coordinator has loaded is committed."""
    require("some lack it", s.coordinator.differs)
    settle(s)


@action(
    says=lambda t: (
        "a broker in sync that has another record of the id becomes the coordinator, with coordinator epoch "
        f"{t.after.coordinator.coordinator_epoch}: producer epoch {t.after.coordinator.epoch}, partitions "
        f"{sorted(t.after.coordinator.partitions)}{_says_markers(t)}"
    ),
    when=lambda: settings.fails.on, actor=COORDINATOR, fault=Fault.RESTARTS,
)
def move_to_other(s: State) -> None:
    """A replica in sync is elected that lacks what the coordinator has loaded, or has what that lacks."""
    coordinator, other = s.coordinator, s.coordinator.other
    require("some have another record", coordinator.differs)
    for name in _REGISTER:
        mine, theirs = getattr(coordinator, name), getattr(other, name)
        setattr(coordinator, name, theirs)
        setattr(other, name, mine)
    _move(s)
