"""Late answers to fetches once more, in plain Python: the worlds of `enumeration.py` without moves, with answers under way.

Written from what a follower's fetcher thread does: one request to each leader at a time; the answer is read before the leader
notes the fetch; it is compared with the offset that the follower would fetch at now, and from 3.9.1 and 4.0.1 on with the
leader epoch of the fetch too (KAFKA-18991). An answer of `enumeration.py` is one that comes at once. From 3.5.1 to 3.6.2 the
first answer that a follower gets in a leader epoch makes it forget the epoch of its last record, if it brings no record
(KAFKA-15510): `heard` are those that got an answer since they heard who leads, `unnamed` those whose fetches name no epoch.

A thread has what it was given: the leader, and the leader epoch that it puts into its fetches (`PartitionFetchState`). Where
a broker is to follow it first changes its own idea of leader and epoch (`Partition.makeFollower`), then takes the partition
from all threads (`removeFetcherForPartitions`) and gives it to one with the new epoch (`addFetcherForPartitions`): so in
`ReplicaManager` `makeFollowers` of 0.8.1 to 3.9, and `applyLocalFollowersDelta` of KRaft. `applyLocalLeadersDelta` takes it
away first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from tests.model.breadth_first import breadth_first
from tests.model.partition.enumeration import (
    Rules,
    Step,
    World,
    broken,
    change_isr,
    controller_tells,
    diverges,
    elections,
    fetch,
    first,
    frozen,
    life,
    produce,
    thawed,
)

Answer = tuple[int, int, int, int | None, tuple[int, ...]]
"""Whose it is, the offset asked for, the high watermark, where to truncate, and the leader's log up to what it brings."""


def first_of_all(rules: Rules) -> World:
    """No answer is late, and none has come."""
    late, thread = ([None] * rules.replicas for _ in range(2))
    return {**first(rules), "late": late, "thread": thread, "heard": frozenset(), "unnamed": frozenset()}


def as_threads_know(world: World) -> World:
    """The world with leaders and epochs that fetcher threads know; where `thread` says nothing, the broker's own."""
    known = [t or own for t, own in zip(world["thread"], zip(world["follows"], world["epoch"], strict=True), strict=True)]
    return {**world, "follows": [leader for leader, _ in known], "epoch": [epoch for _, epoch in known]}


def as_brokers_know(world: World, step: Step) -> Step:
    """The step, which no broker's own idea of leader and epoch comes out of."""
    step.follows, step.epoch = list(world["follows"]), list(world["epoch"])
    return step


def connections(before: Step, after: Step, names_epoch: bool) -> Step:
    """A broker that goes down has no connection; one that hears of another leader epoch drops it, if it can tell."""
    for b in before.brokers:
        if before.up[b] and not after.up[b]:
            after.late = [None if r == b or (a and a[0] == b) else a for r, a in enumerate(after.late)]
            after.thread[b] = None
        elif names_epoch and after.epoch[b] != before.epoch[b]:
            after.late[b] = None
    return after


def at_once(rules: Rules, world: World) -> Iterator[Step]:
    """Fetches that are answered at once: of those that do not await an answer of the same leader."""
    known = as_threads_know(world)
    waiting = [None if a and a[0] == f else f for a, f in zip(world["late"], known["follows"], strict=True)]
    for n in fetch(rules, {**known, "follows": waiting}):
        yield as_brokers_know(world, n)


def isr_changes(rules: Rules, world: World) -> Iterator[Step]:
    """A leader thinks of the ISR when it is fetched from, whatever the one that fetches has heard."""
    for n in change_isr(rules, as_threads_know(world)):
        yield as_brokers_know(world, n)


def hears(rules: Rules, world: World, names_epoch: bool, stops_first: bool) -> Iterator[Step]:
    """Brokers hear who leads, one change after the other; of a follower the thread may go on, if anything can come of it."""
    before = Step(rules, world)
    for n in controller_tells(rules, world):
        [b] = [b for b in before.brokers if n.epoch[b] != before.epoch[b]]
        if before.thread[b]:
            continue
        former, answer = before.follows[b], before.late[b]
        serves = former in before.offices and before.epoch[former] == before.epoch[b]
        goes_on = former not in (None, b) and n.follows[b] != b and (serves or (answer and answer[0] == former))
        if goes_on and not stops_first:
            still = Step(rules, n.world())
            still.thread[b] = (former, before.epoch[b])
            yield still
        yield connections(before, n, names_epoch)


def is_taken_away(rules: Rules, world: World, names_epoch: bool) -> Iterator[Step]:
    """The partition is taken from the thread of the former leader; with it goes what that awaits, if epochs are compared."""
    for b, former in enumerate(world["thread"]):
        if former:
            n = Step(rules, world)
            n.thread[b] = None
            if names_epoch:
                n.late[b] = None
            yield n


def departs(rules: Rules, world: World, takes_hw_first: bool) -> Iterator[Step]:
    """The leader has read the answer to a fetch, and noted the fetch; where logs diverge it notes nothing."""
    w = Step(rules, as_threads_know(world))
    for b, office in w.offices.items():
        for r in office["replicas"] - {b}:
            if not w.up[r] or w.follows[r] != b or w.epoch[r] != w.epoch[b] or w.late[r]:
                continue
            end = len(w.logs[r])
            if diverges(w, b, r):
                if r in w.unnamed:  # An error, after which it asks its leader anew.
                    continue
                n = Step(rules, world)
                n.late[r] = (b, end, w.hw[b] if takes_hw_first else 0, 0, ())
                yield n
                continue
            for until in range(end, len(w.logs[b]) + 1):
                n = Step(rules, world)
                n.late[r] = (b, end, w.hw[b], None, w.logs[b][:until] if until > end else ())
                n.offices[b]["ends"][r] = end
                n.advance(b)
                yield n


def arrives(rules: Rules, world: World, takes_hw_first: bool) -> Iterator[Step]:
    """The answer counts, if its follower follows that leader and is where it was; or nobody asks for it any more."""
    w = Step(rules, as_threads_know(world))
    for r, answer in enumerate(w.late):
        if answer is None:
            continue
        n = Step(rules, world)
        n.late[r] = None
        yield n
        leader, at, hw, cut, records = answer
        if w.follows[r] != leader or len(w.logs[r]) != at:
            continue
        n = Step(rules, world)
        n.late[r] = None
        if cut is None:
            n.logs[r] = n.logs[r] + records[at:]
            n.hw[r] = min(hw, len(n.logs[r]))
            n.answered = r
        else:
            n.hw[r] = min(min(hw, at) if takes_hw_first else n.hw[r], cut)
            n.logs[r] = n.logs[r][:cut]
        yield n


def noted(before: Step, n: Step) -> Step:
    """With what an answer makes of the fetches of who got it, and without what is over."""
    r = n.answered
    if r is not None:
        brings = len(n.logs[r]) > len(before.logs[r])
        if brings:
            n.unnamed -= {r}
        elif r not in before.heard and before.logs[r]:
            n.unnamed |= {r}
        n.heard |= {r}
    old, new = as_threads_know(before.world())["epoch"], as_threads_know(n.world())["epoch"]
    for b in before.brokers:
        if new[b] != old[b]:  # Its thread is given the partition anew.
            n.heard, n.unnamed = n.heard - {b}, n.unnamed - {b}
        if len(n.logs[b]) < len(before.logs[b]):
            n.unnamed -= {b}
    return n


def steps(rules: Rules, world: World, names_epoch: bool, takes_hw_first: bool, stops_first: bool) -> Iterator[Step]:
    """Where one step leads to."""
    before = Step(rules, world)
    for handler in (produce, isr_changes, life, elections, at_once):
        for n in handler(rules, world):
            if takes_hw_first and handler is at_once:
                yield cut_after_high_watermark(before, n)
            else:
                yield connections(before, n, names_epoch)
    yield from hears(rules, world, names_epoch, stops_first)
    yield from is_taken_away(rules, world, names_epoch)
    yield from departs(rules, world, takes_hw_first)
    yield from arrives(rules, world, takes_hw_first)


def cut_after_high_watermark(before: Step, n: Step) -> Step:
    """Who truncates by an answer at once took its leader's high watermark first, then what is left of it (KAFKA-14704)."""
    for r in before.brokers:
        leader = before.thread[r][0] if before.thread[r] else before.follows[r]
        if len(n.logs[r]) < len(before.logs[r]) and leader is not None:
            n.hw[r] = min(before.hw[leader], len(n.logs[r]))
    return n


def value_of(rules: Rules, step: Step) -> tuple[Any, ...]:
    """The world as a value; records of answers have epochs like those of logs."""
    n = Step(rules, step.world())
    # Where elections are bounded epochs are numbers, and no ranks.
    numbers = tuple(range(rules.max_leader_epoch + 1)) if rules.max_leader_epoch else ()
    n.logs = [*step.logs, *(a[4] if a else () for a in step.late), *((t[1],) if t else () for t in step.thread), numbers]
    late, former = tuple(a and a[:4] for a in step.late), tuple(t and t[0] for t in step.thread)
    return frozen(rules, n), late, former, step.heard, step.unnamed


def world_of(rules: Rules, value: tuple[Any, ...]) -> World:
    world = thawed(value[0])
    logs, number = world["logs"], rules.replicas
    late = [a and (*a, records) for a, records in zip(value[1], logs[number : 2 * number], strict=True)]
    in_epoch = logs[2 * number : 3 * number]
    thread = [(former, *epoch) if epoch else None for former, epoch in zip(value[2], in_epoch, strict=True)]
    return {**world, "logs": logs[:number], "late": late, "thread": thread, "heard": value[3], "unnamed": value[4]}


def broken_below_high_watermarks(s: Step) -> Iterator[str]:
    """What else is asked: logs agree below two high watermarks, and the ISR has what a leader in office has below its own."""
    for a in s.brokers:
        for b in s.brokers:
            both = min(s.hw[a], s.hw[b])
            if s.logs[a][:both] != s.logs[b][:both]:
                yield "LogsAgreeBelowHw"
            if s.in_office(a) and b in s.isr and s.logs[a][: s.hw[a]] != s.logs[b][: s.hw[a]]:
                yield "CommittedInIsr"


def explore(
    rules: Rules,
    names_epoch: bool = True,
    takes_hw_first: bool = False,
    stops_first: bool = False,
    keeps_epoch: bool = True,
) -> tuple[int, dict[str, int]]:
    """How many states there are, and by promise that breaks after how many steps it does so first."""

    def steps_from(value: Any) -> Iterator[tuple[Hashable, Iterable[str]]]:
        world = world_of(rules, value)
        before = Step(rules, world)
        for step in steps(rules, world, names_epoch, takes_hw_first, stops_first):
            if rules.max_leader_epoch and step.leader_epoch > rules.max_leader_epoch:
                continue
            if not keeps_epoch:
                noted(before, step)
            yield value_of(rules, step), (*broken(rules, before, step), *broken_below_high_watermarks(step))

    return breadth_first(value_of(rules, Step(rules, first_of_all(rules))), steps_from)
