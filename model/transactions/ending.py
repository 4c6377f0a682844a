"""Ending: an instance commits or aborts its transaction, or the coordinator aborts it because it takes too long.

EndTxn, answered at once or late, under both transaction versions, and the timeout. Source:
`TransactionCoordinator.endTransaction` (to 3.9 and with older clients `endTransactionWithTV1`), `abortTimedOutTransactions`.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.context import literal
from acked.model.language.quantify import each, ite, truth
from acked.model.language.state import none_of
from acked.model.language.telling import Fault, Message, Telling, Those, says_list
from acked.model.language.values import Bool
from acked.model.transactions import settings
from acked.model.transactions.common import (
    all_acked,
    fence,
    holds_offsets,
    is_beyond,
    is_complete,
    is_last,
    is_state,
    next_given,
    prepare,
    renumber_epochs,
    settle,
    told_epoch,
)
from acked.model.transactions.state import Epoch, Fate, Partition, Phase, Producer, State, TxnState, txn_state
from acked.model.transactions.words import (
    COORDINATOR,
    arrives,
    asks_coordinator,
    departs,
    is_lost,
    owner,
    record_text,
    result,
    txn_of,
)

# -- words ------------------------------------------------------------------------------------------------------------

END = "EndTxn"
"""The channel of late requests, by the name that Kafka's protocol gives them."""

LATE_END_SENDER = Those(Producer, lambda t: owner(t, t.before.late.end.txn))


def end_text(epoch: int, commits: bool) -> str:
    """An EndTxn request."""
    return f"{END} (epoch {epoch}): {result(commits)}"


# -- what the coordinator makes of an EndTxn --------------------------------------------------------------------------


def ends_open(s: State, of: Epoch) -> Bool:
    """It ends the open transaction."""
    return is_state(s, TxnState.ONGOING) & (of == s.coordinator.epoch)


def ends_nothing(s: State, of: Epoch) -> Bool:
    """With transaction_version 2 an ABORT is taken where nothing is open, so that a record without an answer is fenced."""
    if settings.transaction_version.value != settings.TV2:
        return truth(False)
    return is_complete(s) & (of == s.coordinator.epoch)


def is_repeated(s: State, of: Epoch, commits: bool) -> Bool:
    """It has been done already: the answer is the same again.

    Under transaction_version 1 the state decides, so that the end of one transaction passes for that of the next.
    """
    done = is_state(s, TxnState.COMPLETE_COMMIT if commits else TxnState.COMPLETE_ABORT)
    if settings.exhausts.on:  # `retryOnEpochBump` asks for the same producer id, `retryOnOverflow` for the one before.
        again = (s.coordinator.epoch == of + 1) & ~is_beyond(of)
        return done & (again | (is_last(of) & (s.coordinator.epoch == of + 2)))
    if settings.transaction_version.value == settings.TV2:
        return done & (s.coordinator.epoch == of + 1)
    return done & (s.coordinator.epoch == of)


# -- EndTxn ------------------------------------------------------------------------------------------------------------


def _says_end(t: Telling, commits: bool, more: str = "") -> str:
    before, after = t.before.coordinator, t.after.coordinator
    what = "commits" if commits else "aborts"
    text = f"producer {t.producer} {what} its transaction {txn_of(t)}{more}"
    if before.state == after.state and before.epoch == after.epoch:
        return f"{text}, and is told that this was done already"
    if after.state not in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT):
        return f"{text}, of which the coordinator knows nothing; it goes on with producer epoch {after.epoch}"
    news = f", and goes on with producer epoch {after.epoch}" if after.epoch != before.epoch else ""
    return f"{text}; the coordinator prepares the {result(commits)} and says so{news}"


def _messages(commits: bool) -> tuple[Message, ...]:
    """The request, and its answer."""
    return asks_coordinator(lambda t: end_text(t.before.producer[t.producer].epoch, commits), _answer)


def _answer(t: Telling) -> str:
    epoch = t.after.coordinator.epoch
    return "done" if t.before.producer[t.producer].epoch == epoch else f"epoch {epoch}"


def require_wish(s: State, i: Producer, commits: bool) -> None:
    """The application wants that end of its transaction: it may ask for it, or has asked and was not told."""
    fate = s.txn[s.producer[i].txn].fate
    may_ask = all_acked(s, i) if commits else has_sent(s, i)
    require("in a transaction", s.producer[i].phase == Phase.IN_TXN)
    has_asked = fate == (Fate.COMMITTING if commits else Fate.ABORTING)
    require("commits" if commits else "aborts", ((fate == Fate.OPEN) & may_ask) | has_asked)


def has_sent(s: State, i: Producer) -> Bool:
    """There is something to abort: a partition was added, or, where clients add none, a record was sent."""
    mine = s.producer[i]
    return ~mine.added.is_empty if settings.adds_partitions.on else ~(mine.unanswered | mine.acked).is_empty


def take(s: State, of: Epoch, commits: bool) -> None:
    """The coordinator takes an EndTxn: what is open is prepared, and what is not open or over already stays as it is."""
    coordinator, opened = s.coordinator, ends_open(s, of)
    nothing = truth(False) if commits else ends_nothing(s, of)
    require("the coordinator accepts", opened | nothing | is_repeated(s, of, commits))
    settle(s, opened | nothing)
    if settings.may_not_rotate.on:  # One more than the epoch that no client is given is negative (`prepareTransitionTo`).
        require("an epoch is left", ~(opened | nothing) | ~is_beyond(of))
        coordinator.rotates = ite(opened, is_last(of), coordinator.rotates)
    if settings.transaction_version.value == settings.TV2:
        newest = next_given(coordinator.epoch)
        coordinator.epoch = ite(opened, coordinator.epoch + 1, ite(nothing, newest, coordinator.epoch))
    coordinator.awaiting = ite(opened, coordinator.partitions, coordinator.awaiting)
    coordinator.state = ite(opened, TxnState.PREPARE_COMMIT if commits else TxnState.PREPARE_ABORT, coordinator.state)
    coordinator.state = ite(nothing, TxnState.COMPLETE_ABORT, coordinator.state)


def _leave(s: State, i: Producer, commits: bool, phase: Phase | int = Phase.READY) -> None:
    """The application is told; the instance may begin the next transaction, unless it has to bump its epoch first."""
    mine = s.producer[i]
    s.txn[mine.txn].fate = Fate.COMMITTED if commits else Fate.ABORTED
    mine.phase = phase
    if settings.offsets.on:
        if commits:
            mine.position = mine.position.value + 1
        else:
            mine.position = None
    if settings.transaction_version.value == settings.TV2:
        mine.epoch = told_epoch(s)
    mine.txn = 0
    mine.added = none_of(Partition)
    mine.unanswered = none_of(Partition)
    mine.acked = none_of(Partition)
    renumber_epochs(s)


@action(says=lambda t: _says_end(t, True), actor="producer", messages=_messages(True))
def commit(s: State, producer: Producer) -> None:
    """The application commits once every record was acknowledged, for the first time or again, and is told that it did."""
    require_wish(s, producer, True)
    take(s, s.producer[producer].epoch, True)
    _leave(s, producer, True)


@action(says=lambda t: _says_end(t, False), when=lambda: settings.aborts.on, actor="producer", messages=_messages(False))
def abort(s: State, producer: Producer) -> None:
    """The application aborts, for the first time or again, and is told so; records without an answer were given up before."""
    mine = s.producer[producer]
    require_wish(s, producer, False)
    take(s, mine.epoch, False)
    if not settings.bumps.on:
        _pass_over_unanswered(s, producer)
        _leave(s, producer, False)
        return
    is_answered = mine.unanswered.is_empty
    for p in each(Partition):
        mine.sequence[p] = ite(is_answered, mine.sequence[p], 0)
    _leave(s, producer, False, ite(is_answered, Phase(literal(Phase.READY)), Phase.BUMPING))


def _says_unaware(t: Telling) -> str:
    gone = says_list([record_text(t, txn_of(t), p) for p in sorted(t.before.producer[t.producer].unanswered)])
    return _says_end(t, False, f" before it gives {gone} up, and so keeps its producer epoch")


@action(
    says=_says_unaware, when=lambda: settings.keeps_epoch.on, actor="producer", messages=_messages(False),
)
def abort_before_failure(s: State, producer: Producer) -> None:
    """The application aborts while a record has no answer, and only then the record's time is over.

    A failure asks for no producer epoch while the client is completing (`maybeTransitionToErrorState`: `canBumpEpoch() &&
    !isCompleting()`), and what follows EndTxn was decided when it was enqueued (`beginCompletingTransaction`).
    """
    mine = s.producer[producer]
    require_wish(s, producer, False)
    require("a record has no answer", ~mine.unanswered.is_empty)
    take(s, mine.epoch, False)
    _pass_over_unanswered(s, producer)
    _leave(s, producer, False)


def _pass_over_unanswered(s: State, i: Producer) -> None:
    """The sequence numbers of records that are given up are not used again."""
    mine = s.producer[i]
    if settings.numbers_records.on:
        for p in each(Partition):
            number = mine.sequence[p]
            mine.sequence[p] = ite(mine.unanswered.contains(p) & ~holds_offsets(p), number + 1, number)


# -- a request that is late --------------------------------------------------------------------------------------------


def _delayed_text(t: Telling) -> str:
    return end_text(t.after.late.end.epoch, t.after.late.end.commits)


def _late_text(t: Telling) -> str:
    return end_text(t.before.late.end.epoch, t.before.late.end.commits)


def _says_delayed(t: Telling, what: str) -> str:
    return f"producer {t.producer} {what} its transaction {txn_of(t)}; the request is late, and it will ask again"


def _delay(s: State, i: Producer, commits: bool) -> None:
    """An EndTxn is on its way, and its sender, which gets no answer, will ask for nothing else."""
    mine, late = s.producer[i], s.late.end
    require_wish(s, i, commits)
    require("no other is late", late.txn.is_none)
    late.txn = mine.txn
    late.epoch = mine.epoch
    late.commits = commits
    s.txn[mine.txn].fate = Fate.COMMITTING if commits else Fate.ABORTING


@action(
    says=lambda t: _says_delayed(t, "commits"), when=lambda: settings.late_end.on,
    actor="producer", fault=Fault.LATE, messages=(departs("producer", COORDINATOR, _delayed_text, END),),
)
def delay_commit(s: State, producer: Producer) -> None:
    """An EndTxn with COMMIT is late; the instance asks again."""
    _delay(s, producer, True)


@action(
    says=lambda t: _says_delayed(t, "aborts"), when=lambda: settings.late_end.on and settings.aborts.on,
    actor="producer", fault=Fault.LATE, messages=(departs("producer", COORDINATOR, _delayed_text, END),),
)
def delay_abort(s: State, producer: Producer) -> None:
    """An EndTxn with ABORT is late; the instance asks again."""
    _delay(s, producer, False)


def _end_late_end(s: State) -> None:
    s.late.end.txn = None
    s.late.end.epoch = -1
    s.late.end.commits = False
    renumber_epochs(s)


def _says_late_end(t: Telling) -> str:
    late = t.before.late.end
    after, before = t.after.coordinator, t.before.coordinator
    news = f" under producer epoch {after.epoch}" if after.epoch != before.epoch else ""
    if before.state != TxnState.ONGOING:
        return f"the late ABORT of transaction {late.txn} arrives where nothing is open{news}"
    return (
        f"the late {result(late.commits)} of transaction {late.txn} arrives, and the coordinator prepares the "
        f"{result(late.commits)} of the transaction that is open{news}"
    )


@action(
    says=_says_late_end,
    when=lambda: settings.late_end.on,
    actor=COORDINATOR, messages=(arrives(LATE_END_SENDER, COORDINATOR, _late_text, END),),
)
def late_end_arrives(s: State) -> None:
    """A late EndTxn ends the transaction that is open under its epoch, whichever that is; the answer reaches nobody.

    Where nothing is open the partitions are none, and an ABORT that is taken awaits no marker.
    """
    late = s.late.end
    require("one is on its way", late.txn.is_some)
    opened = ends_open(s, late.epoch)
    nothing = ~late.commits & ends_nothing(s, late.epoch)
    require("it ends something", opened | nothing)
    settle(s)
    coordinator = s.coordinator
    if settings.may_not_rotate.on:
        require("an epoch is left", ~is_beyond(late.epoch))
        coordinator.rotates = opened & is_last(late.epoch)
    if settings.transaction_version.value == settings.TV2:
        coordinator.epoch = ite(opened, coordinator.epoch + 1, next_given(coordinator.epoch))
    coordinator.awaiting = coordinator.partitions
    prepared = ite(late.commits, txn_state(TxnState.PREPARE_COMMIT), TxnState.PREPARE_ABORT)
    coordinator.state = ite(opened, prepared, TxnState.COMPLETE_ABORT)
    _end_late_end(s)


@action(
    says=lambda t: f"the late {result(t.before.late.end.commits)} of transaction {t.before.late.end.txn} is lost or refused",
    when=lambda: settings.late_end.on,
    actor=COORDINATOR, fault=Fault.LOST, messages=(is_lost(LATE_END_SENDER, COORDINATOR, _late_text, END),),
)
def late_end_is_lost(s: State) -> None:
    """A late EndTxn is lost, refused, or repeats what was done."""
    require("one is on its way", s.late.end.txn.is_some)
    _end_late_end(s)


# -- the coordinator ends it -------------------------------------------------------------------------------------------


def _says_timeout(t: Telling) -> str:
    after = t.after.coordinator
    how = f"under producer epoch {after.epoch}, which nobody is told" if after.epoch != t.before.coordinator.epoch else ""
    how = how or "under the producer epoch that it has"
    return f"the open transaction takes too long, and the coordinator prepares to abort it {how}"


@action(says=_says_timeout, when=lambda: settings.timeouts.on, actor=COORDINATOR, fault=Fault.UNHEARD)
def time_out(s: State) -> None:
    """A transaction that is not ended within its timeout is aborted, and its producer fenced (KAFKA-6119)."""
    require("a transaction is open", is_state(s, TxnState.ONGOING))
    if settings.timeout_bumps_epoch.on:
        fence(s)
    else:
        prepare(s, truth(False))
