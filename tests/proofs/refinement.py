"""`partition` refines the replication family: what it does, the family can do, step by step.

Its state is one state of `partition` and one of a family variant; its actions are those of `partition`, and with each the
family takes the step, or the short sequence of steps, that is said here to stand for it. Where the family cannot, or where
afterwards the two do not show the same, the pair is marked `parted`; that it never is, in any reachable pair, is a forward
simulation, and decided like any other promise.

What is compared: every log, high watermark, leader and leader epoch of a broker, the in-sync replicas of whoever presumes
leadership, and leader, leader epoch and ISR of the controller. A broker that has yet to ask its new leader where to truncate
counts as not having heard of it: the family becomes a follower and truncates in one step.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, get_type_hints

from acked.invariants.property import Kind, Property
from acked.model.language.action import Action, require
from acked.model.language.context import active, current
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import each, every, implies, ite, some, truth
from acked.model.language.semantics import Guard, tracing
from acked.model.language.sets import SetValue
from acked.model.language.state import Struct, field, none_of
from acked.model.language.storage.store import Store
from acked.model.language.values import Bool
from acked.model.partition import state as ours
from acked.model.partition.common import epoch_start
from acked.model.partition.protocol import partition
from acked.model.partition.rules.settings import max_leader_epoch
from acked.model.replication import common as family
from acked.model.replication import kip320, truncate_to_hw
from acked.model.replication import state as theirs


class Pair(Struct):
    """A state of `partition` beside the state of the family that stands for it."""

    partition = field(ours.State, "the state of partition")
    family = field(theirs.State, "the state of the family's variant")
    parted = field(Bool, "the family could not follow, or no longer shows the same")


Witness = Callable[..., Iterator[None]]
"""From a run of both and an action's arguments: what is read before `yield` is read before partition's step, the family's
steps are taken after it."""

NO_EMPTY_ANSWER = "the answer brings no high watermark alone"
NO_LATE_REPORT = "no report counts of who has gone to a newer leader epoch since"
HW_IN_EPOCH = "the high watermark is in the leader's epoch when a follower joins"
NO_STALE_LAG = "who is taken out of the ISR has not caught up since its last fetch"
NO_CUT_SINCE = "no report counts of who has truncated since"
NEVER_WRITTEN = "no record is given up before it is written"
EPOCH_FOR_NONE = "a leader epoch is left for having no leader"
NO_CUT_AT_END = "no follower is told that it is beyond the leader's log"

DEPARTURES: Mapping[str, str] = {
    NO_EMPTY_ANSWER: "a follower of the family takes a high watermark only along with a record",
    NO_LATE_REPORT: "a leader of the family sees where its followers are now; Kafka's knows what they reported in its epoch",
    HW_IN_EPOCH: "Kafka compares the follower's log end with the start of the leader's epoch; the family asks that the "
    "leader's high watermark has reached that epoch",
    NO_STALE_LAG: "the same: a leader of the family sees that its follower has caught up",
    NO_CUT_SINCE: "the same, where a report is not fenced by leader epoch (truncate-to-hw)",
    EPOCH_FOR_NONE: "the family's controller takes a leader epoch for having no leader; only where the bound leaves none",
    NO_CUT_AT_END: "a follower of the family truncates only when it becomes one",
    NEVER_WRITTEN: "the family's records have the numbers in which they are written",
}
"""Steps of `partition` that the family has no counterpart for, by the clause that leaves them out, each with what differs."""

BARE: Mapping[str, Any] = {
    "acks": "1", "crashes": "none", "zombies": True, "leadership_moves": True, "asynchronous_isr": False,
    "eligible_leader_replicas": False, "strict_min_isr": False, "shrink_bumps_epoch": True,
}  # fmt: skip
"""`partition` with what the family has: a controller that moves leadership and takes brokers for dead, and nothing else."""


def taken(pair: Struct, action: Action, s: Struct, when: Bool, **arguments: Any) -> Bool:
    """Has a part `s` of a pair take a step of its own, where `when` holds and it can: whether it can."""
    store = pair._store
    assert isinstance(store, Store)
    before, known = list(store.codes), len(store.strays)
    clauses: list[Guard] = []
    with active(replace(tracing(), guards=clauses)):
        action.function(s, **arguments)
    pool = current().pool
    enabled = Bool(pool.all(clause.condition for clause in clauses))
    where = (when & enabled).expr
    for leaf, (old, new) in enumerate(zip(before, store.codes, strict=True)):
        if old is not new:
            store.codes[leaf] = pool.ite(where, new, old)
    store.strays[known:] = [(leaf, pool.and_(where, beyond)) for leaf, beyond in store.strays[known:]]
    return enabled


class Run:
    """One step of both protocols, while it is traced."""

    def __init__(self, s: Pair, variant: Variant) -> None:
        self.p, self.f = s.partition, s.family
        self.variant = variant
        self._pair = s
        self.follows = truth(True)

    def take(self, action: Action, when: Bool | None = None, **arguments: Any) -> None:
        """The family takes a step, where `when` holds; what its guard asks must then hold."""
        wanted = truth(True) if when is None else when
        self.follows &= ~wanted | taken(self._pair, action, self.f, wanted, **arguments)

    def leave_out(self, clause: str, departs: Bool) -> None:
        """Leaves out the steps that the family has no counterpart for."""
        require(clause, ~departs)

    def raise_high_watermark(self, leader: ours.Replica) -> None:
        """The family's leader commits offset by offset what partition's leader has committed."""
        here = as_replica(leader)
        target, mine = self.p.broker[leader].hw, self.f.replica[here]
        gone = some(
            theirs.Replica,
            lambda r: mine.isr.contains(r) & (self.f.replica[r].leader_epoch > mine.leader_epoch),
        )
        rises = as_offset(target) > mine.hw
        self.leave_out(NO_LATE_REPORT, rises & gone)
        if not self.variant.is_fenced:
            known, logs = self.p.known_end[leader], self.p.log
            cut = some(ours.Replica, lambda r: self.p.broker[leader].isr.contains(r) & (known[r] > logs[r].end))
            self.leave_out(NO_CUT_SINCE, rises & cut)
        for _ in each(theirs.Offset)[1:]:
            self.take(self.variant.commit, as_offset(target) > self.f.replica[here].hw, leader=here)

    def forget_leaderless_epoch(self, when: Bool) -> None:
        """Renumbers the family's leader epochs: one in which nobody led, which no broker can have taken up, is used again."""
        f, last = self.f, as_epoch(self.p.controller.leader_epoch)
        unused = f.quorum.leader_epoch.value
        f.quorum.leader_epoch = ite(when, last, unused)
        f.next_leader_epoch = ite(when, last + 1, f.next_leader_epoch)
        f.requests[unused].isr = ite(when, none_of(theirs.Replica), f.requests[unused].isr)

    def end(self) -> None:
        """Marks the pair if the family could not follow or shows something else."""
        self._pair.parted = self._pair.parted | ~self.follows | ~same(self._pair)


def as_replica(r: ours.Replica) -> theirs.Replica:
    """A broker in the family's terms."""
    return theirs.Replica(r.expr)


def as_epoch(epoch: ours.Epoch) -> theirs.Epoch:
    """A leader epoch in the family's terms."""
    return theirs.Epoch(epoch.expr)


def as_offset(offset: ours.Offset) -> theirs.Offset:
    """An offset in the family's terms."""
    return theirs.Offset(offset.expr)


def same(s: Pair) -> Bool:
    """Both show the same."""
    p, f = s.partition, s.family
    pool = current().pool

    def alike(a: Any, b: Any) -> Bool:
        return Bool(pool.eq(a.expr, b.expr))

    def broker(r: ours.Replica) -> Bool:
        mine, its = p.broker[r], f.replica[as_replica(r)]
        log, other = p.log[r], f.log[as_replica(r)]
        logs = alike(log.end, other.end)
        for o in each(ours.Offset)[:-1]:
            here, there = log.at(o), other.at(as_offset(o))
            logs &= implies(log.has(o), alike(here.id, there.id) & alike(here.epoch, there.epoch))
        heard = alike(mine.leader_epoch, its.leader_epoch) & alike(mine.leader, its.leader)
        leads = implies(mine.leader == r, alike(mine.isr, its.isr))
        return logs & alike(mine.hw, its.hw) & (mine.truncating | heard) & leads

    controller = (
        alike(p.controller.leader, f.quorum.leader)
        & (p.controller.leader.is_none | (f.quorum.leader_epoch == as_epoch(p.controller.leader_epoch)))
        & alike(p.controller.isr, f.quorum.isr)
    )
    return controller & every(ours.Replica, broker)


# -- what stands for what ----------------------------------------------------------------------------------------------


def _nothing(run: Run, **_: Any) -> Iterator[None]:
    """A stutter: nothing that is compared changes."""
    yield


def _produce(run: Run, leader: ours.Replica, record: ours.RecordId, answered: Bool) -> Iterator[None]:
    """LeaderWrite, then as many steps of the high watermark as it moves."""
    yield
    run.take(family.leader_write, leader=as_replica(leader))
    run.raise_high_watermark(leader)


def _give_up(run: Run, record: ours.RecordId) -> Iterator[None]:
    """Nothing in the family."""
    yield
    run.leave_out(NEVER_WRITTEN, truth(True))


def _become_leader(run: Run, leader: ours.Replica) -> Iterator[None]:
    """BecomeLeader, then the high watermark."""
    yield
    run.take(family.become_leader, leader=as_replica(leader), epoch=run.f.quorum.leader_epoch.value)
    run.raise_high_watermark(leader)


def _become_follower_at_once(run: Run, follower: ours.Replica, leader: ours.Replica) -> Iterator[None]:
    """Becoming a follower with truncation to the high watermark is one step in both."""
    yield
    run.take(
        truncate_to_hw.become_follower_truncate_to_high_watermark,
        leader=as_replica(leader), replica=as_replica(follower), epoch=run.f.quorum.leader_epoch.value,
    )  # fmt: skip


def _truncate(run: Run, follower: ours.Replica, leader: ours.Replica) -> Iterator[None]:
    """FencedBecomeFollowerAndTruncate: the family hears of its leader when it truncates."""
    yield
    run.take(
        kip320.fenced_become_follower_and_truncate,
        leader=as_replica(leader), replica=as_replica(follower), epoch=as_epoch(run.p.broker[follower].leader_epoch.value),
    )  # fmt: skip


def _report(
    run: Run,
    follower: ours.Replica,
    leader: ours.Replica,
    brings: Action | None,
    read_first: Action | None = None,
    end: ours.Offset | None = None,
) -> Iterator[None]:
    """The leader's half; `brings` brings a record after it, `read_first` each of those up to `end` before."""
    broker = run.p.broker[leader]
    was_in, trailing = broker.isr.contains(follower), broker.hw < epoch_start(run.p, leader)
    start = run.p.log[follower].end
    yield
    joins = ~was_in & run.p.broker[leader].isr.contains(follower)
    ends: dict[str, Any] = {"leader": as_replica(leader), "follower": as_replica(follower)}
    if run.variant.is_fenced:
        run.leave_out(HW_IN_EPOCH, joins & trailing)
    run.take(run.variant.expand, joins, **ends)
    if read_first is not None and end is not None:
        for o in each(ours.Offset)[:-1]:
            run.take(read_first, (start <= o) & (o < end), **ends)
    run.raise_high_watermark(leader)
    if brings is not None:
        run.take(brings, **ends)


def _fetch_record(run: Run, follower: ours.Replica, leader: ours.Replica) -> Iterator[None]:
    """Expand the ISR if the follower joins, then the high watermark, then the family's fetch."""
    yield from _report(run, follower, leader, run.variant.fetch)


def _fetch_unanswered(run: Run, follower: ours.Replica, leader: ours.Replica) -> Iterator[None]:
    """Expand the ISR if the follower joins, then the high watermark."""
    yield from _report(run, follower, leader, None)


def _fetch_at_once(run: Run, follower: ours.Replica, leader: ours.Replica, end: ours.Offset) -> Iterator[None]:
    """Expand the ISR if the follower joins, then the family's fetch of every record of the batch, then the high watermark."""
    hw, start = run.p.broker[follower].hw, run.p.log[follower].end
    rest = _report(run, follower, leader, None, run.variant.fetch, end)
    next(rest)
    yield
    run.leave_out(NO_EMPTY_ANSWER, (start == end) & (run.p.broker[follower].hw != hw))
    next(rest, None)


def _fetch_nothing_new(run: Run, follower: ours.Replica, leader: ours.Replica) -> Iterator[None]:
    """As an unanswered fetch, as long as the follower's high watermark stays."""
    hw = run.p.broker[follower].hw
    rest = _report(run, follower, leader, None)
    next(rest)
    yield
    run.leave_out(NO_EMPTY_ANSWER, run.p.broker[follower].hw != hw)
    next(rest, None)


def _fetch_diverging(run: Run, follower: ours.Replica, leader: ours.Replica) -> Iterator[None]:
    """Nothing in the family."""
    yield
    run.leave_out(NO_CUT_AT_END, truth(True))


def _shrink(run: Run, leader: ours.Replica, followers: SetValue[ours.Replica]) -> Iterator[None]:
    """The family's shrink of the ISR for each of the followers, then the high watermark."""
    here = as_replica(leader)
    end = run.f.log[here].end
    caught_up = some(followers, lambda r: run.variant.is_caught_up(run.f, here, as_replica(r), end))
    yield
    run.leave_out(NO_STALE_LAG, caught_up)
    for r in each(ours.Replica):
        run.take(run.variant.shrink, followers.contains(r), leader=here, follower=as_replica(r))
    run.raise_high_watermark(leader)


def _lose_session(run: Run, broker: ours.Replica) -> Iterator[None]:
    """ControllerShrinkIsr if the broker is in the ISR, else a stutter."""
    controller = run.p.controller
    leads, led, last = controller.leader == broker, controller.leader.is_some, controller.leader_epoch == max_leader_epoch
    # Without KIP-966 the last member of the ISR stays in it; of the family's it stays if it leads.
    changes = leads | (controller.isr.contains(broker) & ~controller.isr.is_only(broker))
    run.forget_leaderless_epoch(~led & changes)
    yield
    run.leave_out(EPOCH_FOR_NONE, leads & last)
    run.take(family.controller_shrink_isr, changes, replica=as_replica(broker))


def _elect(run: Run, broker: ours.Replica) -> Iterator[None]:
    """ControllerElectLeader."""
    run.forget_leaderless_epoch(run.p.controller.leader.is_none)
    yield
    run.take(family.controller_elect_leader, replica=as_replica(broker))


@dataclass(frozen=True)
class Variant:
    """A variant of the family, the settings of `partition` that go with it, and its actions by what they are for.

    `is_fenced`: a leader counts, admits and feeds only followers of its own leader epoch.
    """

    protocol: Protocol
    settings: Mapping[str, Any]
    commit: Action
    fetch: Action
    shrink: Action
    expand: Action
    follow: Action
    is_caught_up: Callable[..., Bool]
    is_fenced: bool
    witnesses: Mapping[str, Witness]


_SHARED: Mapping[str, Witness] = {
    "Produce": _produce,
    "ProduceWhileHwWaits": _produce,
    "BecomeLeader": _become_leader,
    "GiveUp": _give_up,
    "LearnIsr": _nothing,
    "LearnIsrWhileHwWaits": _nothing,
    "ShrinkIsr": _shrink,
    "ShrinkIsrWhileHwWaits": _shrink,
    "FetchRecord": _fetch_record,
    "FetchNothingNew": _fetch_nothing_new,
    "FetchAtOnce": _fetch_at_once,
    "FetchWhileHwWaits": _fetch_at_once,
    "FetchUnanswered": _fetch_unanswered,
    "FetchDiverging": _fetch_diverging,
    "LoseSession": _lose_session,
    "RegainSession": _nothing,
    "ElectLeader": _elect,
    "MoveLeadership": _elect,
}


def _caught_up_in_epoch(s: theirs.State, leader: theirs.Replica, follower: theirs.Replica, end: theirs.Offset) -> Bool:
    return family.follows_in_epoch(s, leader, follower) & (s.log[follower].end >= end)


VARIANTS: Mapping[str, Variant] = {
    "kip320": Variant(
        kip320.kip320,
        {"truncation": "floor epoch", "fetch_fencing": "leader epoch"},
        commit=kip320.fenced_leader_inc_high_watermark,
        fetch=kip320.fenced_follower_fetch,
        shrink=kip320.fenced_leader_shrink_isr,
        expand=kip320.fenced_leader_expand_isr,
        follow=kip320.fenced_become_follower_and_truncate,
        is_caught_up=_caught_up_in_epoch,
        is_fenced=True,
        witnesses={**_SHARED, "BecomeFollower": _nothing, "TruncateByEpoch": _truncate},
    ),
    "truncate-to-hw": Variant(
        truncate_to_hw.truncate_to_hw,
        {"truncation": "high watermark", "fetch_fencing": "none", "expand_in_own_epoch": False},
        commit=family.leader_inc_high_watermark,
        fetch=family.follower_replicate,
        shrink=family.leader_shrink_isr,
        expand=family.leader_expand_isr,
        follow=truncate_to_hw.become_follower_truncate_to_high_watermark,
        is_caught_up=family.is_caught_up,
        is_fenced=False,
        witnesses={**_SHARED, "BecomeFollower": _become_follower_at_once},
    ),
}
"""The variants that `partition` is mapped to."""


# -- the protocol of pairs ---------------------------------------------------------------------------------------------


def pairs(variant: Variant) -> Protocol:
    """The protocol of pairs; its constants are those of both, of which equal names mean the same."""
    known = {constant.name for constant in partition.constants}

    def initial(s: Pair) -> None:
        """Where `partition` begins, the family is after broker 0 was elected and everyone has heard of it."""
        ours.initial(s.partition)
        theirs.initial(s.family)
        run = Run(s, variant)
        first, *others = each(theirs.Replica)
        epoch = each(theirs.Epoch)[0]
        run.take(family.controller_elect_leader, replica=first)
        run.take(family.become_leader, leader=first, epoch=epoch)
        for other in others:
            run.take(variant.follow, leader=first, replica=other, epoch=epoch)
        run.end()

    return Protocol(
        f"partition and {variant.protocol.name}",
        Pair,
        title=f"partition, with {variant.protocol.name} following it",
        source=f"{partition.source}; {variant.protocol.source}",
        constants=(*partition.constants, *(item for item in theirs.CONSTANTS if item.name not in known)),
        initial=initial,
        actions=[_paired(item, variant) for item in partition.actions],
    )


def _paired(action: Action, variant: Variant) -> Action:
    witness = variant.witnesses.get(action.name)

    def step(s: Pair, **arguments: Any) -> None:
        run = Run(s, variant)
        assert witness is not None, f"{action.name} is not among what the family has"
        follow = witness(run, **arguments)
        next(follow)
        action.function(s.partition, **arguments)
        next(follow, None)
        run.end()

    return on(Pair, action, step, lambda t: _says(action, t))


def on(state: type[Struct], action: Action, step: Callable[..., None], says: Callable[[Any], str]) -> Action:
    """The action with its parameters, as a step of a larger state."""
    hints = get_type_hints(action.function)
    first, *rest = inspect.signature(action.function).parameters.values()
    step.__annotations__ = {**hints, first.name: state}
    step.__signature__ = inspect.Signature([first, *rest])  # type: ignore[attr-defined]
    return replace(action, function=step, says=says, messages=())


def _says(action: Action, t: Any) -> str:
    told: Any = SimpleNamespace(before=t.before.partition, after=t.after.partition, **t.arguments)
    return action.name if action.says is None else action.says(told)


def constants_of(variant: Variant, replicas: int, log_size: int, records: int, max_leader_epoch: int) -> dict[str, Any]:
    """The constants of the pairs at a size."""
    size = {"replicas": replicas, "log_size": log_size, "records": records, "max_records": records}
    return {**BARE, **variant.settings, **size, "max_leader_epoch": max_leader_epoch}


FOLLOWED = Property(
    "Followed",
    Kind.STATE,
    lambda s: ~s.parted,
    "whatever partition does, the family's variant can do, and afterwards both show the same",
    "a forward simulation; docs/abstractions.md",
    "kip320 and truncate-to-hw, but for the steps in DEPARTURES",
)
"""What is asked of pairs."""
