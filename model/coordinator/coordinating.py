"""The coordinator's runtime: loads, unloads, answers when the high watermark passes, batches, and rolling back.

Sources: `CoordinatorRuntime`, `CoordinatorLoaderImpl` and `SnapshottableCoordinator` of 4.3.1; what differed before 4.0 is
`GroupMetadataManager` of 2.7 and 3.9, as the rules say.
"""

from __future__ import annotations

from acked.model.coordinator.common import begin_load, clear_coordinator, flush_view, has_enough, is_in_sync, is_told, leads
from acked.model.coordinator.settings import (
    appends_in_own_epoch,
    delays_markers,
    duties_in_order,
    expiry,
    holds_back,
    listens_as_leader,
    own_load_only,
    refuses_few,
    skips,
    some_rebalances,
    tells_loaded,
    transactions,
)
from acked.model.coordinator.state import (
    ABSENT,
    ACTIVE,
    COMMITTED,
    COMMITTING,
    FAILED,
    GENERATION,
    IN_TXN,
    LOADING,
    MARKED_ABORT,
    MARKED_COMMIT,
    NO_TXN,
    OPEN,
    Broker,
    Commit,
    Epoch,
    Offset,
    Phase,
    State,
    TxnPhase,
)
from acked.model.language.action import action, require
from acked.model.language.quantify import each, every, ite, named, smaller, truth
from acked.model.language.telling import Telling
from acked.model.language.values import Bool

# -- loads and unloads ------------------------------------------------------------------------------------------------


def _says_duty(t: Telling) -> str:
    before, after = t.before.broker[t.broker].phase, t.after.broker[t.broker].phase
    if t.before.leader[t.epoch] != t.broker:
        return f"the coordinator of broker {t.broker} is unloaded for epoch {t.epoch}"
    if before == after:
        return f"the coordinator of broker {t.broker} has nothing to do for epoch {t.epoch}: it is there already"
    return f"the coordinator of broker {t.broker} begins to load for epoch {t.epoch}"


@action(says=_says_duty, actor="broker")
def do_duty(s: State, broker: Broker, epoch: Epoch) -> None:
    """The coordinator is told of an epoch and loads or unloads (`scheduleLoadOperation`, `scheduleUnloadOperation`)."""
    mine = s.broker[broker]
    require("it is to be told", mine.duties[epoch])
    if duties_in_order.on:
        require("of no earlier one", every(Epoch, lambda e: (e >= epoch) | ~mine.duties[e]))
    is_leader = s.leader[epoch] == broker
    begins = is_leader & ((mine.phase == ABSENT) | (mine.phase == FAILED))
    mine.duties[epoch] = False
    clear_coordinator(s, broker, ~is_leader)
    begin_load(s, broker, epoch, begins)


def _says_load(t: Telling) -> str:
    before, after = t.before.broker[t.broker], t.after.broker[t.broker]
    whose = f"the load that broker {t.broker} began in epoch {t.epoch}"
    if before.phase == LOADING and after.phase == ACTIVE:
        if before.own != t.epoch:
            return (
                f"{whose} for a coordinator that is gone ends, and the coordinator of epoch {before.own}, which has loaded "
                "nothing so far, becomes active"
            )
        end = len(t.after.view[t.broker].records)
        skipped = getattr(after, "skipped_to", 0)
        left = f"; records {after.skipped_from} to {skipped - 1} of its group are left out" if skipped else ""
        return f"{whose} ends at offset {end}, and the coordinator becomes active{left}"
    if before.phase == LOADING and after.phase == FAILED:
        return f"{whose} fails, for the broker is no leader, and the coordinator with it"
    if len(t.after.view[t.broker].records) != len(t.before.view[t.broker].records):
        return f"{whose} ends, and the coordinator, active for a while, has its records"
    return f"{whose} ends, and nobody waits for it"


@action(says=_says_load, actor="broker")
def end_load(s: State, broker: Broker, epoch: Epoch, buffer: Offset) -> None:
    """The loader's one thread has read the log (`CoordinatorLoaderImpl.doLoad`, `CoordinatorContext.load`).

    `buffer` is where its second buffer begins, if that matters; 0 where it does not.
    """
    mine = s.broker[broker]
    require("it is loading", mine.loads[epoch])
    require("nothing before it", every(Epoch, lambda e: (e >= epoch) | ~mine.loads[e]))
    if skips.on:
        require("the second buffer begins in the log", (buffer == 0) | (buffer < s.log[broker].end))
    else:
        require("one buffer", buffer == 0)
    mine.loads[epoch] = False
    is_own, reads = mine.own == epoch, leads(s, broker)
    awaited = mine.phase == LOADING
    if own_load_only.on:
        awaited = awaited & is_own
    fails = awaited & ~reads
    catches_up = is_own & reads & (mine.phase == ACTIVE)
    fills = (awaited & is_own & reads) | catches_up
    begins = awaited & reads
    clear_coordinator(s, broker, fails)
    mine = s.broker[broker]
    mine.phase = ite(fails, named(Phase, FAILED), ite(begins, named(Phase, ACTIVE), mine.phase))
    mine.listens = begins | mine.listens
    s.view[broker].copy(s.log[broker], ite(fills, s.log[broker].end, s.view[broker].end))
    mine.written = ite(fills, s.view[broker].end, mine.written)
    mine.committed = ite(fills, smaller(mine.hw, s.view[broker].end), mine.committed)
    if tells_loaded.on:
        mine.loaded = ite(fills, s.view[broker].end, mine.loaded)
    if skips.on:
        skips_some = fills & (buffer > 0)
        mine.skipped_from = ite(skips_some, buffer, mine.skipped_from)
        mine.skipped_to = ite(skips_some, s.view[broker].end, mine.skipped_to)


# -- answers ----------------------------------------------------------------------------------------------------------


def _acknowledge(s: State, commit: Commit, acknowledges: Bool) -> None:
    """A commit is one that the group counts on, unless a later one is, or it could be expired and was."""
    is_newer = acknowledges & (commit > s.acked)
    if expiry.on:
        is_newer = is_newer & (commit > s.expired)
    s.acked = ite(is_newer, commit, s.acked)


def _answer(s: State, broker: Broker, offset: Offset, answers: Bool) -> None:
    """The client of one record that is committed, as the coordinator knows, hears of it."""
    entry = s.view[broker].at(offset)
    _acknowledge(s, entry.commit, answers & (entry.kind == COMMITTED))
    if transactions.on:
        is_its = answers & (entry.commit == s.txn_commit) & (s.txn != NO_TXN)
        s.txn_acked = s.txn_acked | (is_its & (entry.kind == IN_TXN) & (s.txn == OPEN))
        ends = is_its & ((entry.kind == MARKED_COMMIT) | (entry.kind == MARKED_ABORT)) & (s.txn != OPEN)
        end_txn(s, ends)
    if some_rebalances.on:
        is_next = answers & (entry.kind == GENERATION) & (entry.generation > s.generation)
        s.generation = ite(is_next, entry.generation, s.generation)


def end_txn(s: State, ends: Bool) -> None:
    """The transaction coordinator has the answer to the marker: the transaction is over."""
    _acknowledge(s, s.txn_commit, ends & (s.txn == COMMITTING))
    s.txn = ite(ends, named(TxnPhase, NO_TXN), s.txn)
    s.txn_commit = ite(ends, 0, s.txn_commit)
    s.txn_acked = ~ends & s.txn_acked


def _says_answer(t: Telling) -> str:
    role = "" if t.before.leader[t.before.broker[t.broker].epoch] == t.broker else ", a follower,"
    answered = ""
    if t.after.acked != t.before.acked:
        answered = f"; commit {t.after.acked} is acknowledged"
    return (
        f"the coordinator of broker {t.broker}{role} hears that the high watermark is {t.after.broker[t.broker].committed}, "
        f"and answers what waits for it{answered}"
    )


@action(says=_says_answer, actor="broker")
def answer(s: State, broker: Broker) -> None:
    """The high watermark's listener completes what waits (`HighWatermarkListener`, `DeferredEventQueue.completeUpTo`).

    To 3.6 it is refused where too few are in sync by then (`DelayedProduce`, `Partition.checkEnoughReplicasReachOffset`).
    """
    mine = s.broker[broker]
    require("is active", mine.phase == ACTIVE)
    if listens_as_leader.on:
        require("is told of it", mine.listens)
    require("it moved", mine.hw > mine.committed)
    require("it is no further than what was written", mine.hw <= mine.written)
    answers = has_enough(s) if refuses_few.on else truth(True)
    for o in each(Offset)[:-1]:
        _answer(s, broker, o, answers & (o >= mine.committed) & (o < mine.hw))
    mine.committed = mine.hw


# -- batches ----------------------------------------------------------------------------------------------------------


@action(
    says=lambda t: (
        f"the coordinator of broker {t.broker} appends its batch from offset {t.before.broker[t.broker].written} on"
    ),
    when=lambda: holds_back.on, actor="broker",
)
def flush(s: State, broker: Broker) -> None:
    """A batch is written once it is full or its time is up (`CoordinatorContext.flushCurrentBatch`)."""
    mine = s.broker[broker]
    require("is active", mine.phase == ACTIVE)
    require("holds something back", mine.written < s.view[broker].end)
    require("leads", leads(s, broker))
    require("is in step with the log", is_in_sync(s, broker))
    if appends_in_own_epoch.on:
        require("was told of every election", is_told(s, broker))
    flush_view(s, broker)


@action(
    says=lambda t: (
        f"the coordinator of broker {t.broker} cannot append its batch, rolls back to offset "
        f"{t.after.broker[t.broker].written} and refuses what waits for it"
    ),
    when=lambda: holds_back.on, actor="broker",
)
def roll_back(s: State, broker: Broker) -> None:
    """An append fails, and the state goes back to the snapshot before the batch (`CoordinatorContext.failCurrentBatch`)."""
    mine = s.broker[broker]
    require("is active", mine.phase == ACTIVE)
    require("holds something back", mine.written < s.view[broker].end)
    may = leads(s, broker) & is_in_sync(s, broker)
    if appends_in_own_epoch.on:
        may = may & is_told(s, broker)
    require("cannot append it", ~may)
    s.view[broker].truncate(mine.written)


# -- markers that are applied late ------------------------------------------------------------------------------------


@action(
    says=lambda t: f"the coordinator of broker {t.broker} applies the marker at offset {t.before.broker[t.broker].late}",
    when=lambda: delays_markers.on, actor="broker",
)
def apply_marker(s: State, broker: Broker) -> None:
    """The scheduled task moves what is pending of the producer, whatever that is now (`handleTxnCompletion` of 3.9)."""
    mine = s.broker[broker]
    require("is active", mine.phase == ACTIVE)
    require("a marker waits", mine.late.is_some & mine.applied.is_none)
    mine.applied = s.view[broker].end


