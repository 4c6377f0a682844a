"""Initialising: an instance asks for a producer epoch, and the instance that had the one before is fenced.

InitProducerId when an instance starts; the same request naming an epoch, after a record without an answer (KIP-360); and one
that is late. Sources: `TransactionCoordinator.prepareInitProducerIdTransit`,
`TransactionMetadata.prepareIncrementProducerEpoch`.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import each, ite
from acked.model.language.state import none_of
from acked.model.language.telling import Fault, Telling, Those
from acked.model.language.values import Bool
from acked.model.transactions.common import fence, is_beyond, is_complete, is_state, next_given, renumber_epochs, settle
from acked.model.transactions.settings import (
    bumps,
    fence_takes,
    late_init,
    max_producer_epoch,
    may_not_rotate,
    numbers_records,
    restarts,
)
from acked.model.transactions.state import Epoch, Partition, Phase, Producer, State, TxnState, txn_state
from acked.model.transactions.words import COORDINATOR, arrives, asks_coordinator, departs, is_lost

# -- words ------------------------------------------------------------------------------------------------------------

INIT = "InitProducerId"
"""The channel of late requests, by the name that Kafka's protocol gives them."""

LATE_INIT_SENDER = Those(Producer, lambda t: t.before.late.init.sender)


def says_given(t: Telling) -> str:
    """The producer epoch that an instance has now."""
    return f"producer epoch {t.after.producer[t.producer].epoch}"


def says_fenced(t: Telling) -> str:
    """What a fence does, as the end of a sentence."""
    after = t.after.coordinator
    return f"takes producer epoch {after.epoch}, which nobody is told, and prepares to abort the open transaction"


def is_first(t: Telling) -> bool:
    """Nobody had been initialised before."""
    return bool(t.before.coordinator.epoch == -1 and t.before.coordinator.state == TxnState.EMPTY)


def init_text(epoch: int | None) -> str:
    """An InitProducerId request, with the epoch that it names."""
    return INIT if epoch is None or epoch == -1 else f"{INIT} (epoch {epoch})"


def begin_anew(s: State, i: Producer) -> None:
    """The instance has the coordinator's producer epoch, and numbers its records from 0."""
    mine = s.producer[i]
    mine.phase = Phase.READY
    mine.epoch = s.coordinator.epoch
    if numbers_records.on:
        for p in each(Partition):
            mine.sequence[p] = 0
    renumber_epochs(s)


def _says_initialised(t: Telling) -> str:
    others = [str(j) for j, other in enumerate(t.before.producer) if j != t.producer and other.phase != Phase.NEW]
    fenced = f"; producer {others[0]} is fenced" if others else ""
    started = "starts" if is_first(t) or not others else "starts as well, with the same transactional.id,"
    return f"producer {t.producer} {started} and is initialised with {says_given(t)}{fenced}"


@action(
    says=_says_initialised, actor="producer", messages=asks_coordinator(lambda t: INIT, says_given),
)
def init_producer_id(s: State, producer: Producer) -> None:
    """An instance that has started is given a new producer epoch; no transaction may be open or wait for its markers."""
    require("not initialised", s.producer[producer].phase == Phase.NEW)
    require("no transaction open or in its markers", is_complete(s))
    settle(s)
    coordinator = s.coordinator
    coordinator.state = TxnState.EMPTY
    coordinator.epoch = next_given(coordinator.epoch)
    coordinator.last_epoch = -1
    begin_anew(s, producer)


def _says_asks(t: Telling) -> str:
    again = f"producer {t.producer} has to ask again"
    return f"producer {t.producer} asks for a producer epoch; the coordinator {says_fenced(t)}; {again}"


@action(
    says=_says_asks, actor="producer", messages=asks_coordinator(lambda t: INIT, "CONCURRENT_TRANSACTIONS"),
)
def abort_open_transaction(s: State, producer: Producer) -> None:
    """An instance that has started asks while a transaction is open: that is aborted first, under an epoch of its own."""
    require("not initialised", s.producer[producer].phase == Phase.NEW)
    require("a transaction is open", is_state(s, TxnState.ONGOING))
    fence(s)


# -- another epoch after a record without an answer (KIP-360) ----------------------------------------------------------


def repeats(s: State, named: Epoch) -> Bool:
    """The coordinator has bumped this epoch already: a retry is answered with the epoch that came of it."""
    last = s.coordinator.last_epoch
    return (named == last) & (last != -1)


def _own(t: Telling) -> int:
    named: int = t.before.producer[t.producer].epoch
    return named


@action(
    says=lambda t: f"producer {t.producer} asks for another producer epoch than {_own(t)} and is given {says_given(t)}",
    when=lambda: bumps.on,
    actor="producer", messages=asks_coordinator(lambda t: init_text(_own(t)), says_given),
)
def bump_epoch(s: State, producer: Producer) -> None:
    """After an abort with a record unanswered, the client goes on under a new epoch (KIP-360)."""
    mine = s.producer[producer]
    require("has to bump its epoch", mine.phase == Phase.BUMPING)
    require("no transaction open or in its markers", is_complete(s))
    known = repeats(s, mine.epoch)
    require("not fenced", (mine.epoch == s.coordinator.epoch) | known)
    settle(s)
    coordinator = s.coordinator
    last = ite(known, coordinator.last_epoch, mine.epoch)
    newest = ite(known, coordinator.epoch, coordinator.epoch + 1)
    coordinator.state = TxnState.EMPTY
    coordinator.epoch = newest
    coordinator.last_epoch = last
    begin_anew(s, producer)


@action(
    says=lambda t: f"producer {t.producer} asks for another producer epoch; the coordinator {says_fenced(t)}",
    when=lambda: bumps.on,
    actor="producer", messages=asks_coordinator(lambda t: init_text(_own(t)), "CONCURRENT_TRANSACTIONS"),
)
def abort_before_bump(s: State, producer: Producer) -> None:
    """It asks while a transaction is open: that is aborted, whichever instance's it is (the epoch is compared only later)."""
    require("has to bump its epoch", s.producer[producer].phase == Phase.BUMPING)
    require("a transaction is open", is_state(s, TxnState.ONGOING))
    fence(s)


# -- a request that is late --------------------------------------------------------------------------------------------


def _late_text(t: Telling) -> str:
    return init_text(getattr(t.before.late.init, "epoch", None))


def _delayed_text(t: Telling) -> str:
    return init_text(getattr(t.after.late.init, "epoch", None))


@action(
    says=lambda t: f"producer {t.producer} sends {_delayed_text(t)}, which is late; it will ask again",
    when=lambda: late_init.on,
    actor="producer", fault=Fault.LATE, messages=(departs("producer", COORDINATOR, _delayed_text, INIT),),
)
def delay_init(s: State, producer: Producer) -> None:
    """An InitProducerId is late; the instance asks again."""
    mine, late = s.producer[producer], s.late.init
    require("asks for an epoch", (mine.phase == Phase.NEW) | (mine.phase == Phase.BUMPING))
    require("none has been late", ~late.is_spent)
    late.is_spent = True
    late.sender = producer
    late.epoch = ite(mine.phase == Phase.BUMPING, mine.epoch, -1)


def _end_late_init(s: State) -> None:
    s.late.init.sender = None
    s.late.init.epoch = -1
    renumber_epochs(s)


def _says_late_init(t: Telling) -> str:
    after = t.after.coordinator
    if t.before.coordinator.state == TxnState.ONGOING:
        return f"a late {_late_text(t)} arrives, and the coordinator {says_fenced(t)}"
    if after.epoch == t.before.coordinator.epoch:
        return f"a late {_late_text(t)} arrives, which was answered before; the coordinator has no transaction, as after that"
    return f"a late {_late_text(t)} arrives, and the coordinator takes producer epoch {after.epoch}, which nobody hears of"


@action(
    says=_says_late_init,
    when=lambda: late_init.on,
    actor=COORDINATOR, messages=(arrives(LATE_INIT_SENDER, COORDINATOR, _late_text, INIT),),
)
def late_init_arrives(s: State) -> None:
    """A late InitProducerId is handled; the answer reaches nobody."""
    late = s.late.init
    require("one is on its way", late.sender.is_some)
    named, known = late.epoch, repeats(s, late.epoch)
    is_opened = is_state(s, TxnState.ONGOING)
    counts = is_complete(s) & ((named == -1) | (named == s.coordinator.epoch) | known)
    if may_not_rotate.on:
        is_opened = is_opened & ~is_beyond(s.coordinator.epoch)
    require("it counts", is_opened | counts)
    settle(s)
    coordinator = s.coordinator
    coordinator.rotates = False
    is_done = known & ~is_opened
    coordinator.last_epoch = ite(is_opened, -1, named)
    taken = ite(is_opened, coordinator.epoch + fence_takes.value, next_given(coordinator.epoch))
    coordinator.epoch = ite(is_done, coordinator.epoch, taken)
    coordinator.awaiting = ite(is_opened, coordinator.partitions, coordinator.awaiting)
    coordinator.state = ite(is_opened, txn_state(TxnState.PREPARE_ABORT), TxnState.EMPTY)
    _end_late_init(s)


@action(
    says=lambda t: f"the late {_late_text(t)} of producer {t.before.late.init.sender} is lost or refused",
    when=lambda: late_init.on,
    actor=COORDINATOR, fault=Fault.LOST, messages=(is_lost(LATE_INIT_SENDER, COORDINATOR, _late_text, INIT),),
)
def late_init_is_lost(s: State) -> None:
    """A late InitProducerId is lost, or refused."""
    require("one is on its way", s.late.init.sender.is_some)
    _end_late_init(s)


@action(
    says=lambda t: f"producer {t.producer} dies, and starts again",
    when=lambda: restarts.on,
    actor="producer", fault=Fault.RESTARTS,
)
def restart(s: State, producer: Producer) -> None:
    """An instance dies with what its client knew; whoever starts it again gives it the same transactional.id."""
    mine = s.producer[producer]
    require("was initialised", mine.phase != Phase.NEW)
    if max_producer_epoch.value:
        require("a producer epoch is left", s.coordinator.epoch <= max_producer_epoch)
    mine.phase = Phase.NEW
    mine.epoch = -1
    mine.txn = 0
    mine.added = none_of(Partition)
    mine.unanswered = none_of(Partition)
    mine.acked = none_of(Partition)
    if numbers_records.on:
        for p in each(Partition):
            mine.sequence[p] = 0
    mine.position = None
    renumber_epochs(s)
