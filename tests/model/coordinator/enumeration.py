"""Coordinators over a replicated log, enumerated from Kafka's sources alone; it shares nothing with `model/coordinator/`.

A coordinator is its snapshots: what replaying the first n records left (`SnapshotRegistry`), with the events that wait by
offset (`DeferredEventQueue`). Sources: `CoordinatorRuntime`, `CoordinatorLoaderImpl`, `SnapshottableCoordinator`,
`OffsetMetadataManager` and `CoordinatorPartitionWriter` of 4.3.1; `GroupMetadataManager` and `GroupMetadata` of 2.7 and 3.9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

Record = tuple[str, int]
"""What a record says, and of which commit, marker's commit or generation."""


@dataclass(frozen=True)
class Rules:
    brokers: int = 2
    records: int = 3
    commits: int = 2
    max_epoch: int = 2
    transactions: bool = False
    rebalances: int = 0
    expiry: bool = False
    asks: bool = False
    batches: bool = False
    min_isr: int = 1
    shrinks: bool = False
    unclean: bool = False
    lost_disks: int = 0
    listens_as_leader: bool = True
    own_load_only: bool = True
    duties_in_order: bool = True
    queues_requests: bool = True
    loads_whole_log: bool = True
    keeps_default_timestamps: bool = True
    spares_rebalancing: bool = True
    applies_markers_first: bool = True
    strict_min_isr: bool = True
    appends_in_own_epoch: bool = True


class Offsets(NamedTuple):
    """The group in memory: its offset, that of an open transaction, and its epoch."""

    committed: int = 0
    pending: int = 0
    group_epoch: int = 0


class Coordinator(NamedTuple):
    """A `CoordinatorContext`."""

    state: str
    load: int
    replayed: tuple[Record, ...] = ()
    last_written: int = 0
    last_committed: int = 0
    listening: bool = False
    loaded: int = 0
    ignored: tuple[int, int] = (0, 0)
    unapplied: int | None = None
    applied_after: int | None = None


class Node(NamedTuple):
    log: tuple[Record, ...] = ()
    epoch: int = 0
    hw: int = 0
    context: Coordinator | None = None
    events: frozenset[int] = frozenset()
    loads: frozenset[int] = frozenset()


@dataclass(frozen=True)
class World:
    nodes: tuple[Node, ...]
    leaders: tuple[int, ...] = ()
    isr: frozenset[int] = frozenset()
    sent: int = 0
    acked: int = 0
    told: int = 0
    members_epoch: int = 0
    txn: tuple[str, int, bool] = ("none", 0, False)
    aborted: int = 0
    group: str = "stable"
    quiet: bool = False
    quiet_since_empty: bool = False
    expired: int = 0
    disks: int = 0

    def node(self, i: int, **changes: Any) -> World:
        nodes = list(self.nodes)
        nodes[i] = nodes[i]._replace(**changes)
        return replace(self, nodes=tuple(nodes))

    def context(self, i: int, **changes: Any) -> World:
        context = self.nodes[i].context
        assert context is not None
        return self.node(i, context=context._replace(**changes))


def is_leader(w: World, i: int) -> bool:
    epoch = w.nodes[i].epoch
    return epoch > 0 and w.leaders[epoch - 1] == i


def is_newest_leader(w: World, i: int) -> bool:
    return is_leader(w, i) and w.nodes[i].epoch == len(w.leaders)


# -- what replaying makes ---------------------------------------------------------------------------------------------


def complete(offsets: Offsets, commits: bool) -> Offsets:
    """`replayEndTransactionMarker`: an offset that was recorded later stays."""
    if commits and offsets.pending > offsets.committed:
        offsets = offsets._replace(committed=offsets.pending)
    return offsets._replace(pending=0)


def replay(offsets: Offsets, record: Record) -> Offsets:
    kind, number = record
    if kind == "offset":
        return offsets._replace(committed=number)
    if kind == "txn offset":
        return offsets._replace(pending=number)
    if kind == "none":
        return offsets._replace(committed=0, pending=0)
    if kind == "group":
        return offsets._replace(group_epoch=number)
    return complete(offsets, kind == "COMMIT")


def memory(context: Coordinator, until: int | None = None) -> Offsets:
    offsets = Offsets()
    for o, record in enumerate(context.replayed[:until]):
        if context.ignored[0] <= o < context.ignored[1]:
            continue
        if o != context.unapplied:
            offsets = replay(offsets, record)
        if context.applied_after == o + 1 and context.unapplied is not None:
            offsets = complete(offsets, context.replayed[context.unapplied][0] == "COMMIT")
    return offsets


# -- the log ----------------------------------------------------------------------------------------------------------


def same(a: tuple[Record, ...], b: tuple[Record, ...], until: int) -> bool:
    return len(a) >= until and len(b) >= until and a[:until] == b[:until]


def elections(rules: Rules, w: World) -> Iterator[World]:
    if len(w.leaders) == rules.max_epoch:
        return
    for i in range(rules.brokers):
        if i in w.isr:
            yield replace(w, leaders=(*w.leaders, i))
        elif rules.unclean:
            yield replace(w, leaders=(*w.leaders, i), isr=frozenset({i}))


def metadata(rules: Rules, w: World) -> Iterator[World]:
    for i, me in enumerate(w.nodes):
        newest = len(w.leaders)
        if me.epoch < newest:
            leads = w.leaders[-1] == i
            events = me.events
            if leads or me.context or me.events:
                events |= {newest}
            after = w.node(i, epoch=newest, events=events)
            if me.context and not leads:
                after = after.context(i, listening=False)
            yield after


def fetches(rules: Rules, w: World) -> Iterator[World]:
    for f, follower in enumerate(w.nodes):
        for i, leader in enumerate(w.nodes):
            if i != f and is_leader(w, i) and follower.epoch == leader.epoch:
                hw = min(leader.hw, len(leader.log))
                if (follower.log, follower.hw) != (leader.log, hw):
                    yield w.node(f, log=leader.log, hw=hw)


def under_min_isr(rules: Rules, w: World) -> bool:
    """`Partition.isUnderMinIsr`; min.insync.replicas counts for no more than there are replicas."""
    return len(w.isr) < min(rules.min_isr, rules.brokers)


def high_watermarks(rules: Rules, w: World) -> Iterator[World]:
    for i, me in enumerate(w.nodes):
        if not is_newest_leader(w, i) or (rules.strict_min_isr and under_min_isr(rules, w)):
            continue
        isr = [w.nodes[r] for r in w.isr]
        held = [
            o
            for o in range(me.hw + 1, len(me.log) + 1)
            if all(r.epoch == len(w.leaders) and same(r.log, me.log, o) for r in isr)
        ]
        if held:
            yield w.node(i, hw=max(held))


def caught_up(w: World, r: int, leader: int) -> bool:
    return w.nodes[r].epoch == len(w.leaders) and w.nodes[r].log == w.nodes[leader].log


def isr_changes(rules: Rules, w: World) -> Iterator[World]:
    for i in range(rules.brokers):
        if not is_newest_leader(w, i):
            continue
        for r in range(rules.brokers):
            if r in w.isr and r != i and rules.shrinks:
                yield replace(w, isr=w.isr - {r})
            if r not in w.isr and caught_up(w, r, i) and (rules.shrinks or rules.unclean or rules.lost_disks):
                yield replace(w, isr=w.isr | {r})


def disks(rules: Rules, w: World) -> Iterator[World]:
    if not w.disks:
        return
    for i in range(rules.brokers):
        empty = replace(w, disks=w.disks - 1).node(i, **Node()._asdict())
        if not w.isr - {i}:
            if len(w.leaders) < rules.max_epoch:
                yield replace(empty, leaders=(*w.leaders, i))
        elif not w.leaders or w.leaders[-1] != i:
            yield replace(empty, isr=w.isr - {i})


# -- the runtime ------------------------------------------------------------------------------------------------------


def events(rules: Rules, w: World) -> Iterator[World]:
    """`scheduleLoadOperation` and `scheduleUnloadOperation`."""
    for i, me in enumerate(w.nodes):
        for epoch in me.events:
            if rules.duties_in_order and epoch != min(me.events):
                continue
            done = w.node(i, events=me.events - {epoch})
            if w.leaders[epoch - 1] != i:
                yield done.node(i, context=None)
            elif me.context is None or me.context.state == "failed":
                yield done.node(i, context=Coordinator("loading", epoch), loads=me.loads | {epoch})
            else:
                yield done


def loader(rules: Rules, w: World) -> Iterator[World]:
    """`CoordinatorLoaderImpl`, whose one thread takes loads in order, and the event CompleteLoad."""
    for i, me in enumerate(w.nodes):
        if not me.loads:
            continue
        epoch = min(me.loads)
        done = w.node(i, loads=me.loads - {epoch})
        buffers = [0] if rules.loads_whole_log else range(max(1, len(me.log)))
        for buffer in buffers:
            context, reads = me.context, is_leader(w, i)
            own = context is not None and context.load == epoch
            completes = context is not None and context.state == "loading" and (own or not rules.own_load_only)
            if completes and not reads:
                yield done.node(i, context=Coordinator("failed", 0))
            elif own and context and reads and (completes or context.state == "active"):
                ignored = context.ignored if not buffer else (buffer, len(me.log))
                loaded = len(me.log) if rules.expiry and not rules.keeps_default_timestamps else 0
                yield done.context(
                    i, state="active", replayed=me.log, last_written=len(me.log), last_committed=min(me.hw, len(me.log)),
                    listening=context.listening or completes, ignored=ignored, loaded=loaded,
                )  # fmt: skip
            elif completes:
                yield done.context(i, state="active", listening=True)
            else:
                yield done


def answered(w: World, record: Record) -> World:
    kind, number = record
    stage, commit, _ = w.txn
    if kind == "offset" and number > w.acked and number > w.expired:
        return replace(w, acked=number)
    if kind == "group":
        return replace(w, members_epoch=max(w.members_epoch, number))
    if kind == "txn offset" and (stage, commit) == ("open", number):
        return replace(w, txn=(stage, commit, True))
    if kind in {"COMMIT", "ABORT"} and commit == number and stage in {"COMMIT", "ABORT"}:
        return transaction_over(w)
    return w


def transaction_over(w: World) -> World:
    stage, commit, _ = w.txn
    counts = stage == "COMMIT" and commit > w.expired
    return replace(w, txn=("none", 0, False), acked=max(w.acked, commit) if counts else w.acked)


def deferred_events(rules: Rules, w: World) -> Iterator[World]:
    """`HighWatermarkListener` and `DeferredEventQueue.completeUpTo`."""
    for i, me in enumerate(w.nodes):
        context = me.context
        if context is None or context.state != "active" or (rules.listens_as_leader and not context.listening):
            continue
        if context.last_committed < me.hw <= context.last_written:
            after = w.context(i, last_committed=me.hw)
            # To 3.6 the high watermark goes on without enough replicas, and DelayedProduce then answers an error.
            if rules.strict_min_isr or not under_min_isr(rules, w):
                for record in context.replayed[context.last_committed : me.hw]:
                    after = answered(after, record)
            yield after


def batches(rules: Rules, w: World) -> Iterator[World]:
    """`flushCurrentBatch` and `failCurrentBatch`."""
    for i, me in enumerate(w.nodes):
        context = me.context
        if context is None or context.state != "active" or context.last_written == len(context.replayed):
            continue
        is_of_epoch = not rules.appends_in_own_epoch or not me.events
        if is_leader(w, i) and context.last_written == len(me.log) and is_of_epoch:
            yield appended(w, i, ())
        else:
            yield w.context(i, replayed=context.replayed[: context.last_written])


def appended(w: World, i: int, records: tuple[Record, ...]) -> World:
    context = w.nodes[i].context
    assert context is not None
    replayed = context.replayed + records
    log = w.nodes[i].log + replayed[context.last_written :]
    return w.context(i, replayed=replayed, last_written=len(log)).node(i, log=log)


# -- requests ---------------------------------------------------------------------------------------------------------


def is_asked(rules: Rules, me: Node) -> bool:
    return me.context is not None and me.context.state == "active" and not (rules.queues_requests and me.events)


def has_room(rules: Rules, w: World, i: int) -> bool:
    """The coordinator is asked, can append at the end of its log, and holds nothing back."""
    me = w.nodes[i]
    context = me.context
    if context is None or not is_asked(rules, me) or not is_leader(w, i) or len(me.log) == rules.records:
        return False
    return context.last_written == len(me.log) == len(context.replayed)


def commit_requests(rules: Rules, w: World) -> Iterator[World]:
    if w.sent == rules.commits or w.group != "stable":
        return
    number = w.sent + 1
    sent = replace(w, sent=number, quiet=False)
    for i, me in enumerate(w.nodes):
        context = me.context
        if context is None or not is_asked(rules, me):
            continue
        if rules.rebalances and memory(context).group_epoch != w.members_epoch:
            continue
        if rules.batches:
            if len(context.replayed) < rules.records:
                yield sent.context(i, replayed=(*context.replayed, ("offset", number)))
        elif has_room(rules, w, i):
            yield appended(sent, i, (("offset", number),))
        if is_leader(w, i) and context.last_written != len(me.log) < rules.records:
            again = Coordinator("loading", me.epoch)
            yield sent.node(i, log=(*me.log, ("offset", number)), context=again, loads=me.loads | {me.epoch})
        if rules.transactions and w.txn[0] == "none" and has_room(rules, w, i):
            yield replace(appended(sent, i, (("txn offset", number),)), txn=("open", number, False))


def fetch_requests(rules: Rules, w: World) -> Iterator[World]:
    for one in stable(rules, w) if rules.asks else ():
        yield replace(w, told=one.committed)


def stable(rules: Rules, w: World) -> list[Offsets]:
    """What fetches with requireStable are answered, where nothing has to be awaited."""
    settled = [memory(one) for one in owners(rules, w) if one.last_committed == len(one.replayed)]
    return [one for one in settled if not one.pending]


def owners(rules: Rules, w: World) -> list[Coordinator]:
    return [me.context for i, me in enumerate(w.nodes) if me.context and is_newest_leader(w, i) and is_asked(rules, me)]


def transactions(rules: Rules, w: World) -> Iterator[World]:
    stage, commit, known = w.txn
    if stage == "open":
        yield replace(w, txn=("ABORT", commit, known), aborted=commit)
        if known:
            yield replace(w, txn=("COMMIT", commit, known))
    if stage not in {"COMMIT", "ABORT"}:
        return
    for i, me in enumerate(w.nodes):
        context = me.context
        if context is None or not has_room(rules, w, i):
            continue
        if memory(context).pending != commit:
            # partitionWriter.append all the same; what is in every log then is all that the leader has, and the marker.
            replicated = all(caught_up(w, r, i) for r in w.isr) and not under_min_isr(rules, w)
            if is_newest_leader(w, i) and replicated and context.last_committed == context.last_written:
                yield transaction_over(w)
            continue
        there = any(kind in {"COMMIT", "ABORT"} and number == commit for kind, number in context.replayed)
        if rules.applies_markers_first:
            yield appended(w, i, ((stage, commit),))
        elif context.unapplied is None and not there:
            yield appended(w, i, ((stage, commit),)).context(i, unapplied=len(context.replayed))


def delayed_markers(rules: Rules, w: World) -> Iterator[World]:
    """`handleTxnCompletion`, in the scheduler."""
    for i, me in enumerate(w.nodes):
        context = me.context
        if context and context.state == "active" and context.unapplied is not None and context.applied_after is None:
            yield w.context(i, applied_after=len(context.replayed))


def rebalances(rules: Rules, w: World) -> Iterator[World]:
    for i, me in enumerate(w.nodes):
        if me.context and has_room(rules, w, i):
            epoch = memory(me.context).group_epoch
            if epoch < rules.rebalances:
                yield appended(w, i, (("group", epoch + 1),))


def members(rules: Rules, w: World) -> Iterator[World]:
    if not rules.expiry:
        return
    if w.group == "stable":
        yield replace(w, group="empty", quiet_since_empty=False)
    if w.group == "empty":
        yield replace(w, group="rebalancing", quiet_since_empty=False)
    if w.group == "rebalancing":
        yield replace(w, group="stable")
    passed = replace(w, quiet=True, quiet_since_empty=w.group == "empty")
    if not w.quiet or (w.group == "empty" and not w.quiet_since_empty):
        yield passed
    for i, me in enumerate(w.nodes):
        if me.context is None or not has_room(rules, w, i):
            continue
        offsets = memory(me.context)
        if not offsets.committed or offsets.pending:
            continue
        due = w.group == "empty" and w.quiet_since_empty
        too_early = not rules.spares_rebalancing and w.group == "rebalancing" and w.quiet
        if not rules.keeps_default_timestamps and w.group == "empty":
            too_early |= ("offset", offsets.committed) in me.context.replayed[: me.context.loaded]
        if due:
            gone = replace(w, acked=0, expired=max(w.expired, offsets.committed))
            yield appended(gone, i, (("none", 0),))
        elif too_early:
            yield appended(w, i, (("none", 0),))


PARTIES = (
    elections, metadata, fetches, high_watermarks, isr_changes, disks, events, loader, deferred_events, batches,
    commit_requests, fetch_requests, transactions, delayed_markers, rebalances, members,
)  # fmt: skip


def steps(rules: Rules, w: World) -> Iterator[World]:
    for party in PARTIES:
        yield from party(rules, w)
