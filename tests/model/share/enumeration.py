"""A share-partition and its persister, enumerated from Kafka's sources alone; it shares nothing with `model/share/`.

Sources: `SharePartition`, `InFlightState`, `PersisterStateManager`, `ShareCoordinatorService`, `ShareCoordinatorShard` and
`PersisterStateBatchCombiner` of 4.3.1, and what differs in `SharePartition` of 3.9.0, 4.0.0, 4.1.0 and 4.1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from tests.model.breadth_first import by_levels

TERMINAL = ("ACKNOWLEDGED", "ARCHIVED")
STATE_IDS = {"AVAILABLE": 0, "ACKNOWLEDGED": 2, "ARCHIVED": 4}
"""`RecordState.id`, by which the combiner compares batches of one delivery count."""


@dataclass(frozen=True)
class Rules:
    records: int = 2
    max_epoch: int = 2
    writes: int = 2
    delivery_limit: int = 2
    latest: bool = False
    sessions: bool = False
    failed_writes: bool = False
    lost_answers: bool = False
    retries: bool = False
    zombies: bool = False
    deliveries: bool = False
    acquires_settled: bool = True
    fetches_gaps: bool = True
    start_waits: bool = True
    ends_expired_locks: bool = True
    counts_ended_sessions: bool = True
    start_goes_forward: bool = True
    answers_every_write: bool = True
    keeps_first_start: bool = True


class InFlight(NamedTuple):
    """An `InFlightState`; its rollback state is ACQUIRED where there is one, with this delivery count."""

    state: str
    delivery_count: int
    rollback: int | None = None
    timer: str = "none"


class Handler(NamedTuple):
    """A `WriteStateHandler`; `completes` says that a transition hangs on its future."""

    offset: int
    state: str
    delivery_count: int
    start_offset: int
    completes: bool


class SharePartition(NamedTuple):
    start_offset: int
    next_new: int
    cached: tuple[InFlight | None, ...]
    handlers: tuple[Handler, ...] = ()

    def put(self, offset: int, state: InFlight | None) -> SharePartition:
        return self._replace(cached=(*self.cached[:offset], state, *self.cached[offset + 1 :]))


class Persisted(NamedTuple):
    """A `ShareGroupOffset`: batches by offset, each a state and a delivery count."""

    start_offset: int | None
    batches: tuple[tuple[str, int] | None, ...]
    leader_epoch: int = 1


@dataclass(frozen=True)
class World:
    persisted: Persisted
    partitions: tuple[SharePartition | None, ...]
    epoch: int = 1
    known: tuple[str, ...] = ()
    log_end: int = 0
    group_began: int | None = None
    delivered: tuple[int, ...] = ()
    count_seen: tuple[int, ...] = ()

    def at(self, epoch: int, partition: SharePartition | None) -> World:
        return replace(self, partitions=(*self.partitions[: epoch - 1], partition, *self.partitions[epoch:]))

    def hears(self, offset: int, what: str) -> World:
        return replace(self, known=(*self.known[:offset], what, *self.known[offset + 1 :]))


def partitions(w: World) -> Iterator[tuple[int, SharePartition]]:
    for epoch, partition in enumerate(w.partitions, 1):
        if partition is not None:
            yield epoch, partition


def log_end(rules: Rules, w: World) -> int:
    return w.log_end if rules.latest else rules.records


# -- `SharePartition` -------------------------------------------------------------------------------------------------


def update_cached_state(rules: Rules, p: SharePartition) -> SharePartition:
    """`maybeUpdateCachedStateAndOffsets`: passes terminal records, and drops them from the cache."""
    if p.start_offset == p.next_new or p.cached[p.start_offset] is None:
        return p
    start = offset = p.start_offset
    while offset < p.next_new:
        state = p.cached[offset]
        if state is None:
            if rules.fetches_gaps:
                break
        elif state.state not in TERMINAL or (rules.start_waits and state.rollback):
            break
        offset += 1
    start = offset
    return p._replace(start_offset=start, cached=tuple(None if o < start else c for o, c in enumerate(p.cached)))


def end_of_lock(rules: Rules, w: World, offset: int, state: InFlight) -> tuple[World, InFlight]:
    """AVAILABLE, or ARCHIVED at the delivery count limit, as `tryUpdateState` and `completeStateTransition` have it."""
    if state.delivery_count < rules.delivery_limit:
        return w, state._replace(state="AVAILABLE", timer="none")
    if w.known[offset] != "told":
        w = w.hears(offset, "spent")
    return w, state._replace(state="ARCHIVED", timer="none")


def complete(rules: Rules, w: World, epoch: int, handler: Handler, success: bool) -> World:
    """The end of the write: `rollbackOrProcessStateUpdates`, or what follows a lock's time out."""
    p = w.partitions[epoch - 1]
    assert p is not None
    offset = handler.offset
    state = p.cached[offset]
    if handler.completes and offset >= p.start_offset and state is not None:
        if success:
            state = state._replace(rollback=None, timer="none")
        else:
            state = state._replace(state="ACQUIRED", delivery_count=state.rollback or 0, rollback=None)
            if state.timer == "expired" and rules.ends_expired_locks:
                w, state = end_of_lock(rules, w, offset, state)
        p = p.put(offset, state)
    if handler.completes and success and handler.state in TERMINAL:
        w = w.hears(offset, "told")
    if success or not handler.completes:
        p = update_cached_state(rules, p)
    return w.at(epoch, p)


def initialisations(rules: Rules, w: World) -> Iterator[World]:
    """`maybeInitialize`, with the read that raises the leader epoch."""
    if w.partitions[w.epoch - 1] is not None:
        return
    batches = w.persisted.batches
    start = w.persisted.start_offset
    if start is None:
        start = w.log_end if rules.latest else 0
    known = [o for o, batch in enumerate(batches) if batch]
    p = SharePartition(start, known[-1] + 1 if known else start, tuple(b and InFlight(*b) for b in batches))
    kept = start if rules.keeps_first_start else w.persisted.start_offset
    after = replace(w, persisted=Persisted(kept, batches, w.epoch))
    if rules.latest and w.group_began is None:
        after = replace(after, group_began=start)
    yield after.at(w.epoch, update_cached_state(rules, p))


def leader_changes(rules: Rules, w: World) -> Iterator[World]:
    if w.epoch < rules.max_epoch:
        after = replace(w, epoch=w.epoch + 1)
        yield after if rules.zombies else after.at(w.epoch, None)
    for epoch, _ in partitions(w):
        if epoch < w.epoch:
            yield w.at(epoch, None)


def acquisitions(rules: Rules, w: World) -> Iterator[World]:
    for epoch, p in partitions(w):
        for offset in range(log_end(rules, w)):
            state = p.cached[offset]
            if state is None:
                is_gap = p.start_offset <= offset < p.next_new
                if offset != p.next_new and not (is_gap and rules.fetches_gaps):
                    continue
                state = InFlight("AVAILABLE", 0)
            elif state.state != "AVAILABLE" or (rules.acquires_settled and state.rollback):
                continue
            count = state.delivery_count + 1
            after = p.put(offset, state._replace(state="ACQUIRED", delivery_count=count, timer="running"))
            after = after._replace(next_new=max(p.next_new, offset + 1))
            yield seen(rules, w.at(epoch, after), offset, count)


def seen(rules: Rules, w: World, offset: int, count: int) -> World:
    if not rules.deliveries:
        return w
    times = min(w.delivered[offset] + 1, rules.delivery_limit + 1)
    return replace(
        w, delivered=(*w.delivered[:offset], times, *w.delivered[offset + 1 :]),
        count_seen=(*w.count_seen[:offset], count, *w.count_seen[offset + 1 :]),
    )  # fmt: skip


def write(p: SharePartition, offset: int, completes: bool) -> SharePartition:
    """`writeShareGroupState`."""
    state = p.cached[offset]
    assert state is not None
    handler = Handler(offset, state.state, state.delivery_count, p.start_offset, completes)
    return p._replace(handlers=(*p.handlers, handler))


def answers_of_consumers(rules: Rules, w: World) -> Iterator[World]:
    """`acknowledge` and `releaseAcquiredRecords`."""
    for epoch, p in partitions(w):
        if len(p.handlers) == rules.writes:
            continue
        for offset, state in enumerate(p.cached):
            if state is None or state.state != "ACQUIRED" or state.rollback:
                continue
            again = "AVAILABLE" if state.delivery_count < rules.delivery_limit else "ARCHIVED"
            moves = [(new, state.delivery_count) for new in (*TERMINAL, again)]
            if rules.sessions:
                moves.append(moves[-1] if rules.counts_ended_sessions else ("AVAILABLE", state.delivery_count - 1))
            for new, count in moves:
                moved = p.put(offset, state._replace(state=new, delivery_count=count, rollback=state.delivery_count))
                yield w.at(epoch, write(moved, offset, completes=True))


def timers(rules: Rules, w: World) -> Iterator[World]:
    """`AcquisitionLockTimerTask.run`."""
    for epoch, p in partitions(w):
        for offset, state in enumerate(p.cached):
            if state is None or state.timer != "running":
                continue
            if state.state != "ACQUIRED":
                yield w.at(epoch, p.put(offset, state._replace(timer="expired")))
            elif len(p.handlers) < rules.writes:
                after, available = end_of_lock(rules, w, offset, state)
                yield after.at(epoch, write(p.put(offset, available), offset, completes=False))


# -- the persister ----------------------------------------------------------------------------------------------------


def merge(rules: Rules, persisted: Persisted, handler: Handler) -> Persisted:
    """`ShareCoordinatorShard.merge`: batches are combined, and pruned by the start offset."""
    start = handler.start_offset
    if rules.start_goes_forward and persisted.start_offset is not None:
        start = max(start, persisted.start_offset)
    batches = list(persisted.batches)
    new, old = (handler.state, handler.delivery_count), batches[handler.offset]
    if old is None or (new[1], STATE_IDS[new[0]]) >= (old[1], STATE_IDS[old[0]]):
        batches[handler.offset] = new
    return persisted._replace(start_offset=start, batches=tuple(None if o < start else b for o, b in enumerate(batches)))


def persister(rules: Rules, w: World) -> Iterator[World]:
    for epoch, p in partitions(w):
        if not p.handlers:
            continue
        first, later = p.handlers[0], p.handlers[1:]
        rest = w.at(epoch, p._replace(handlers=later))
        fenced = epoch < w.persisted.leader_epoch
        taken = rest if fenced else replace(rest, persisted=merge(rules, w.persisted, first))
        yield complete(rules, taken, epoch, first, not fenced)
        if rules.failed_writes:
            yield complete(rules, rest, epoch, first, False)
        if rules.lost_answers:
            yield complete(rules, taken, epoch, first, False)
        if rules.lost_answers and rules.retries and first.completes:
            given_up = complete(rules, rest, epoch, first, False)
            after = given_up.partitions[epoch - 1]
            assert after is not None
            yield given_up.at(epoch, after._replace(handlers=(*after.handlers, first._replace(completes=False))))
        if later and rules.retries:
            yield w.at(epoch, p._replace(handlers=(*later, first)))
        if later and rules.failed_writes and not rules.answers_every_write and not fenced:
            second = later[0]
            both = replace(w.at(epoch, p._replace(handlers=later[1:])), persisted=merge(rules, w.persisted, second))
            yield complete(rules, complete(rules, both, epoch, first, True), epoch, second, True)


def producer(rules: Rules, w: World) -> Iterator[World]:
    if rules.latest and w.log_end < rules.records:
        yield replace(w, log_end=w.log_end + 1)


PARTIES = (leader_changes, initialisations, acquisitions, answers_of_consumers, timers, persister, producer)


def steps(rules: Rules, w: World) -> Iterator[World]:
    for party in PARTIES:
        yield from party(rules, w)


# -- promises ---------------------------------------------------------------------------------------------------------


def over(p: SharePartition, offset: int) -> bool:
    """The leader will not deliver the record any more."""
    state = p.cached[offset]
    return offset < p.start_offset or (state is not None and state.state in TERMINAL)


def current(rules: Rules, w: World) -> Iterator[tuple[SharePartition, int]]:
    p = w.partitions[w.epoch - 1]
    if p is not None:
        for offset in range(log_end(rules, w)):
            yield p, offset


def stay(rules: Rules, w: World) -> bool:
    return all(over(p, offset) for p, offset in current(rules, w) if w.known[offset] == "told")


def unskipped(rules: Rules, w: World) -> bool:
    for p, offset in current(rules, w):
        left = over(p, offset) or (not rules.fetches_gaps and p.cached[offset] is None and offset < p.next_new)
        waits = any(one.completes and one.offset == offset for one in p.handlers)
        if left and not waits and offset >= (w.group_began or 0) and w.known[offset] == "":
            return False
    return True


def locked(rules: Rules, w: World) -> bool:
    states = [p.cached[offset] for p, offset in current(rules, w)]
    return all(one.timer == "running" for one in states if one and one.state == "ACQUIRED" and not one.rollback)


def limited(rules: Rules, w: World) -> bool:
    return all(times <= rules.delivery_limit for times in w.delivered)


def rising(rules: Rules, w: World) -> bool:
    for p, offset in current(rules, w):
        state = p.cached[offset] or InFlight("AVAILABLE", 0)
        if not over(p, offset) and state.state != "ACQUIRED" and state.delivery_count + 1 < w.count_seen[offset]:
            return False
    return True


PROMISES: dict[str, Callable[[Rules, World], bool]] = {
    "AcknowledgedRecordsStay": stay,
    "NoRecordIsSkipped": unskipped,
    "LocksEnd": locked,
    "DeliveriesAreLimited": limited,
    "DeliveryCountsNeverFall": rising,
}


def explore(rules: Rules) -> tuple[list[int], dict[str, int]]:
    """How many states are new at each level, and for each promise that breaks the first level at which it does."""
    nothing = (None,) * rules.records
    counts = (0,) * rules.records if rules.deliveries else ()
    start = World(
        Persisted(None, nothing), (None,) * rules.max_epoch, known=("",) * rules.records, delivered=counts, count_seen=counts
    )
    asked = {
        name: partial(holds, rules)
        for name, holds in PROMISES.items()
        if rules.deliveries or not name.startswith("Deliver")
    }
    return by_levels(start, partial(steps, rules), asked)
