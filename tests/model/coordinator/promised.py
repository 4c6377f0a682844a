"""What a group's coordinators promise, asked of the enumeration's worlds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.model.breadth_first import by_levels
from tests.model.coordinator.enumeration import Node, Rules, World, is_newest_leader, memory, owners, stable, steps


def survive(rules: Rules, w: World) -> bool:
    return all(memory(one).committed >= w.acked or memory(one).pending for one in owners(rules, w))


def current(rules: Rules, w: World) -> bool:
    return all(memory(one, one.last_committed).committed >= w.acked for one in owners(rules, w))


def unused(rules: Rules, w: World) -> bool:
    active = [me.context for me in w.nodes if me.context and me.context.state == "active"]
    return not w.aborted or all(memory(one).committed != w.aborted for one in active)


def fenced(rules: Rules, w: World) -> bool:
    return all(memory(one).group_epoch >= w.members_epoch for one in owners(rules, w))


def ends(rules: Rules, w: World) -> bool:
    return all(
        me.context is not None and me.context.state == "active"
        for i, me in enumerate(w.nodes)
        if is_newest_leader(w, i) and not me.events and not me.loads
    )


def as_one(rules: Rules, w: World) -> bool:
    return all(
        one.committed >= max(w.acked, w.told)
        and one.group_epoch >= w.members_epoch
        and (not w.aborted or one.committed != w.aborted)
        for one in stable(rules, w)
    )


PROMISES: dict[str, Callable[[Rules, World], bool]] = {
    "AcknowledgedCommitsSurvive": survive,
    "PlainFetchesAreCurrent": current,
    "AbortedOffsetsAreUnused": unused,
    "ReplacedOwnersAreFenced": fenced,
    "GroupActsAsOne": as_one,
    "LoadingEnds": ends,
}


def explore(rules: Rules) -> tuple[list[int], dict[str, int]]:
    """How many states are new at each level, and for each promise that breaks the first level at which it does."""
    start = World((Node(),) * rules.brokers, isr=frozenset(range(rules.brokers)), disks=rules.lost_disks)
    return by_levels(start, partial(steps, rules), {name: partial(holds, rules) for name, holds in PROMISES.items()})
