"""Transactions once more, in plain Python, with nothing of ours: the parties, and what each answers to a request.

Written from the rules of the requests (KIP-98, KIP-360, KIP-890 and the answers of Kafka 3.9 and 4.x), not from the
protocol in `model/transactions`: requests are handled one by one, and every handler says with which error it refuses.
States are values of plain tuples and frozensets; `enumeration` takes the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

OK, AGAIN, FENCED, BAD_STATE = "NONE", "CONCURRENT_TRANSACTIONS", "PRODUCER_FENCED", "INVALID_TXN_STATE"
NONE = -1


@dataclass(frozen=True)
class Rules:
    """Sizes, what may go wrong, and which rules there are; the names are those of the protocol's constants."""

    partitions: int = 2
    producers: int = 2
    transactions: int = 2
    coordinator_moves: bool = True
    coordinator_fails: bool = False
    max_coordinator_epoch: int = 0
    aborts: bool = True
    timeouts: bool = True
    restarts: bool = False
    max_producer_epoch: int = 0
    late_init: bool = False
    late_add: bool = False
    late_produce: bool = False
    late_end: bool = False
    late_marker: bool = False
    transaction_version: int = 2
    timeout_bumps_epoch: bool = True
    marker_time_kept: bool = True
    unknown_producers_accepted: bool = True
    client_bumps_epoch: str = "known"
    verification: bool = True
    offsets_verified: bool = True
    marker_epoch_above: bool = True
    marker_retry_taken: bool = True
    completion_noticed: bool = True
    pending_by_epoch: bool = True
    fence_takes_one_epoch: bool = True
    last_epoch: int = 0
    fence_rotates: bool = True
    acts_on_committed: bool = True
    adds_first: bool = True
    offsets: bool = False
    init_first: bool = True

    def is_offsets(self, p: int) -> bool:
        """Whether the partition is that of the group's offsets."""
        return self.offsets and p == self.partitions - 1

    def number(self, epoch: int) -> int:
        """An epoch's number under its producer id: ids follow one another, each with last_epoch + 2 numbers, as Short has."""
        return epoch % (self.last_epoch + 2) if self.last_epoch and epoch != NONE else epoch

    def exhausted(self, epoch: int) -> bool:
        """`isProducerEpochExhausted`."""
        return bool(self.last_epoch) and self.number(epoch) >= self.last_epoch

    def is_max(self, epoch: int) -> bool:
        """`Short.MAX_VALUE`, after which nothing comes under the same id."""
        return bool(self.last_epoch) and self.number(epoch) == self.last_epoch + 1

    def fresh(self, epoch: int) -> int:
        """Epoch 0 of the next producer id."""
        return epoch + self.last_epoch + 2 - self.number(epoch)

    @property
    def v2(self) -> bool:
        return self.transaction_version == 2


@dataclass(frozen=True)
class Coordinator:
    state: str = "Empty"
    epoch: int = NONE
    last: int = NONE
    members: frozenset[int] = frozenset()
    unmarked: frozenset[int] = frozenset()
    generation: int = 0
    next_id: bool = False
    elsewhere: Coordinator | None = None


@dataclass(frozen=True)
class Leader:
    """A partition: its log, and its entry for the producer id, None if it has none."""

    log: tuple[str, ...] = ()
    epoch: int = NONE
    seq: int = NONE
    generation: int = 0

    @property
    def open(self) -> bool:
        return bool(self.log) and self.log[-1].startswith("r")


@dataclass(frozen=True)
class Client:
    doing: str = "start"
    epoch: int = NONE
    txn: int | None = None
    added: frozenset[int] = frozenset()
    waiting: frozenset[int] = frozenset()
    acked: frozenset[int] = frozenset()
    next: tuple[int, ...] = ()
    position: int | None = None


@dataclass(frozen=True)
class World:
    coordinator: Coordinator
    leaders: tuple[Leader, ...]
    clients: tuple[Client, ...]
    owners: tuple[int | None, ...]
    fates: tuple[str, ...]
    mail: frozenset[tuple[Any, ...]] = field(default_factory=frozenset)
    init_spent: bool = False
    inputs: tuple[int, ...] = ()

    def mailed(self, kind: str) -> tuple[Any, ...] | None:
        return next((item for item in self.mail if item[0] == kind), None)

    def post(self, *message: Any) -> World:
        return replace(self, mail=self.mail | {message})

    def drop(self, message: tuple[Any, ...]) -> World:
        return replace(self, mail=self.mail - {message})

    def client(self, i: int, **changes: Any) -> World:
        return replace(self, clients=put(self.clients, i, replace(self.clients[i], **changes)))

    def fate(self, n: int, word: str) -> World:
        return replace(self, fates=put(self.fates, n, word))


def put(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


# -- what the coordinator answers -----------------------------------------------------------------------------------------


def append(c: Coordinator, **changes: Any) -> Coordinator:
    """`appendTransactionToLog`: answered once it is committed, with all that stood in the log before."""
    return replace(c, elsewhere=None, **changes)


def load(c: Coordinator) -> Coordinator:
    """`loadTransactionsForTxnTopicPartition`: a new coordinator, which sends all markers of what is prepared."""
    return replace(c, generation=c.generation + 1, unmarked=c.members if c.state.startswith("Prepare") else frozenset())


def lost(before: Coordinator, written: Coordinator) -> Coordinator:
    """The coordinator after the one that wrote: it has read that, and some replica in sync has what was before."""
    return load(replace(written, elsewhere=replace(before, unmarked=frozenset(), generation=0)))


def other(c: Coordinator) -> Coordinator:
    """The coordinator after this one has what is elsewhere."""
    assert c.elsewhere is not None
    mine = replace(c, unmarked=frozenset(), generation=0, elsewhere=None)
    return load(replace(c.elsewhere, generation=c.generation, elsewhere=mine))


def is_idle(rules: Rules, c: Coordinator) -> bool:
    """It waits for what it has loaded to be committed."""
    return rules.acts_on_committed and c.elsewhere is not None


def abort_under_new_epoch(rules: Rules, c: Coordinator) -> Coordinator:
    if rules.is_max(c.epoch):
        return c  # IllegalStateException
    if rules.exhausted(c.epoch) and rules.fence_rotates:
        c = replace(c, next_id=True)
    fenced = append(c, epoch=c.epoch + 1, last=NONE)
    ended_by_the_way_of_clients = rules.v2 and not rules.fence_takes_one_epoch
    newest = fenced.epoch + 1 if ended_by_the_way_of_clients else fenced.epoch
    return replace(fenced, state="PrepareAbort", epoch=newest, unmarked=c.members)


def on_init(rules: Rules, c: Coordinator, named: int) -> tuple[str, Coordinator]:
    if c.state.startswith("Prepare"):
        return AGAIN, c
    if c.state == "Ongoing":
        return AGAIN, abort_under_new_epoch(rules, c)
    if named in (NONE, c.epoch):
        newest = rules.fresh(c.epoch) if rules.exhausted(c.epoch) else c.epoch + 1
        return OK, append(c, state="Empty", epoch=newest, last=named)
    if named == c.last:
        return OK, append(c, state="Empty")
    return FENCED, c


def on_add(rules: Rules, c: Coordinator, epoch: int, p: int) -> tuple[str, Coordinator]:
    if epoch != c.epoch:
        return FENCED, c
    if c.state.startswith("Prepare"):
        return AGAIN, c
    if is_idle(rules, c):
        return "COORDINATOR_LOAD_IN_PROGRESS", c
    if p in c.members:
        return OK, c
    return OK, append(c, state="Ongoing", members=c.members | {p})


def on_verify(rules: Rules, c: Coordinator, epoch: int, p: int) -> str:
    if epoch != c.epoch:
        return FENCED
    if c.state.startswith("Prepare"):
        return AGAIN
    if is_idle(rules, c):
        return "COORDINATOR_LOAD_IN_PROGRESS"
    return OK if p in c.members else "TRANSACTION_ABORTABLE"


def on_end(rules: Rules, c: Coordinator, epoch: int, result: str) -> tuple[str, Coordinator]:
    if not rules.v2:
        if epoch != c.epoch:
            return FENCED, c
        if c.state == "Ongoing":
            return OK, append(c, state=f"Prepare{result}", unmarked=c.members)
        if c.state == f"Complete{result}":
            return OK, c
        return (AGAIN if c.state == f"Prepare{result}" else BAD_STATE), c
    retried = c.epoch == epoch + 1 and not rules.is_max(epoch)
    overflown = rules.exhausted(epoch) and not rules.is_max(epoch) and c.epoch == rules.fresh(epoch)
    retried = retried or (overflown and c.state.startswith("Complete"))
    if c.state == "Ongoing":
        if epoch != c.epoch:
            return FENCED, c
        if rules.is_max(epoch):
            return "UNKNOWN_SERVER_ERROR", c
        ends = append(c, state=f"Prepare{result}", epoch=c.epoch + 1, unmarked=c.members)
        return OK, replace(ends, next_id=rules.exhausted(epoch))
    if c.state.startswith("Prepare"):
        return (FENCED if not retried else AGAIN if c.state == f"Prepare{result}" else BAD_STATE), c
    if retried and c.state != "Empty":
        return (OK if c.state == f"Complete{result}" else BAD_STATE), c
    if epoch != c.epoch:
        return FENCED, c
    if result == "Abort":
        if rules.is_max(epoch):
            return "UNKNOWN_SERVER_ERROR", c
        newest = rules.fresh(epoch) if rules.exhausted(epoch) else epoch + 1
        return OK, append(c, state="CompleteAbort", epoch=newest)
    return BAD_STATE, c


def told(rules: Rules, c: Coordinator) -> int:
    """The epoch that EndTxn answers with, that of the next id where there is one (`prepareComplete`)."""
    return rules.fresh(c.epoch) if c.next_id else c.epoch


def on_marked(rules: Rules, c: Coordinator, p: int) -> Coordinator:
    left = c.unmarked - {p}
    if left:
        return replace(c, unmarked=left)
    done = append(c, state=c.state.replace("Prepare", "Complete"), members=frozenset(), unmarked=left)
    return replace(done, epoch=told(rules, c), next_id=False)


# -- what a partition's leader answers --------------------------------------------------------------------------------------


def on_produce(rules: Rules, w: World, p: int, txn: int, epoch: int, seq: int) -> tuple[str, World]:
    leader, c = w.leaders[p], w.coordinator
    by_group = rules.is_offsets(p)
    if leader.epoch == epoch and seq <= leader.seq and not by_group:
        return "DUPLICATE", w
    if leader.epoch == NONE:
        if not by_group and seq != 0 and not rules.unknown_producers_accepted:
            return "UNKNOWN_PRODUCER_ID", w
    elif epoch < leader.epoch:
        return "INVALID_PRODUCER_EPOCH", w
    elif not by_group and seq != (leader.seq + 1 if epoch == leader.epoch else 0):
        return "OUT_OF_ORDER_SEQUENCE_NUMBER", w
    if not (leader.open and leader.epoch == epoch):
        if rules.v2:
            error, c = on_add(rules, c, epoch, p)
        else:
            asks = rules.verification and (rules.offsets_verified or not by_group)
            error = on_verify(rules, c, epoch, p) if asks else OK
        if error != OK:
            return error, w
    copies = int(rules.offsets and rules.late_produce)
    if len(leader.log) + 2 > 2 * rules.transactions + (not rules.marker_time_kept) + copies:
        return "there is no room", w
    written = replace(leader, log=(*leader.log, f"r{txn}"), epoch=epoch, seq=seq)
    return OK, replace(w, coordinator=c, leaders=put(w.leaders, p, written))


def on_marker(rules: Rules, leader: Leader, epoch: int, generation: int, result: str) -> tuple[str, Leader]:
    if epoch < leader.epoch:
        return "INVALID_PRODUCER_EPOCH", leader
    again = rules.marker_retry_taken and not leader.open
    if rules.v2 and rules.marker_epoch_above and epoch == leader.epoch and not again:
        return "INVALID_PRODUCER_EPOCH", leader
    if generation < leader.generation:
        return "TRANSACTION_COORDINATOR_FENCED", leader
    log = (*leader.log, result) if leader.open else leader.log
    return OK, Leader(log, epoch, leader.seq if epoch == leader.epoch else NONE, generation)


# -- what clients do ---------------------------------------------------------------------------------------------------
