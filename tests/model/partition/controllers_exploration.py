"""The worlds of `controllers_enumeration.py`, one after the other: how many there are, and which promises they break.

`explore` counts them, and says after how many steps a promise first breaks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from tests.model.breadth_first import breadth_first
from tests.model.partition.controllers_enumeration import (
    Broker,
    Controller,
    Rules,
    World,
    first,
    of_brokers,
    of_controllers,
    of_late_stops,
    of_the_race,
)
from tests.model.partition.controllers_isr_requests import of_isr_requests


def frozen(s: World) -> tuple[object, ...]:
    """The world as a value, with epochs by rank unless they are bounded."""
    begun = [known for known in s.controllers if known and known.is_begun]
    used = {s.leader_epoch, *(k.leader_epoch for k in begun), *(e for k in begun for _, e, _ in k.queue.values())}
    used |= {b.epoch for b in s.brokers if b.epoch is not None} | {e for b in s.brokers for e in b.log}
    offices = {s.newest, *(k.epoch for k in s.controllers if k)} | {b.heard for b in s.brokers if b.heard is not None}
    keeps_writer = not s.rules.old_controllers_refused
    offices |= {s.writer} if keeps_writer else set()
    leads = {e: e if s.rules.max_leader_epoch else n for n, e in enumerate(sorted(used))}
    rules = {e: e if s.rules.max_controller_epoch else n for n, e in enumerate(sorted(offices))}
    brokers = tuple(
        (
            b.up, tuple(leads[e] for e in b.log), b.hw, None if b.epoch is None else leads[b.epoch], b.follows, b.isr,
            tuple(sorted(b.ends.items())), None if b.heard is None else rules[b.heard], b.began,
            b.asked, b.moved_on, b.stuck,
        )
        for b in s.brokers
    )  # fmt: skip
    controllers = tuple(
        known and (
            rules[known.epoch], known.is_begun, known.live, known.owed, known.leader,
            leads[known.leader_epoch] if known.is_begun else 0, known.isr,
            tuple((b, (of, leads[e], isr)) for b, (of, e, isr) in sorted(known.queue.items())), known.renewed,
            known.stops,
        )
        for known in s.controllers
    )  # fmt: skip
    store = s.leader, leads[s.leader_epoch], s.isr, s.holder, rules[s.newest], rules[s.writer] if keeps_writer else None
    return brokers, controllers, store, s.sent


def thawed(rules: Rules, value: tuple[object, ...]) -> World:
    brokers, controllers, store, sent = value
    leader, leader_epoch, isr, holder, newest, writer = store  # type: ignore[misc]
    made = [
        Broker(up, list(log), hw, epoch, follows, own, dict(ends), *rest)
        for up, log, hw, epoch, follows, own, ends, *rest in brokers  # type: ignore[attr-defined]
    ]
    known = [
        item and Controller(*item[:7], dict(item[7]), *item[8:])  # type: ignore[index]
        for item in controllers  # type: ignore[attr-defined]
    ]
    return World(rules, made, known, leader, leader_epoch, isr, holder, newest, writer or 0, bool(sent))


def broken(before: World, s: World) -> Iterator[str]:
    """The promises that a world breaks, or the step that led to it."""
    begun = [(c, known) for c, known in enumerate(s.controllers) if known and known.is_begun]
    if len(begun) > 1:
        yield "OneController"
    if len({known.epoch for _, known in begun}) < len(begun):
        yield "OneControllerPerEpoch"
    charge = s.in_charge()
    if charge and any(c != s.holder and known.epoch >= charge.epoch for c, known in begun):
        yield "NodeHolderIsNewest"
    for b, mine in enumerate(s.brokers):
        if charge and s.leader is not None and mine.up and not any(b in known.owed or b in known.queue for _, known in begun):
            if (mine.follows, mine.epoch) != (s.leader, s.leader_epoch):
                yield "BrokersFollowZookeeper"
            if s.leader == b == mine.follows and not s.in_office(b):
                yield "LeaderKnowsOffice"
        if s.leader is not None and mine.up and mine.epoch != s.leader_epoch:
            yield "ElectionsAreKnown"
    acted = begun or any(known and known.is_begun for known in before.controllers)
    if before.isr != s.isr and not acted:
        yield "IsrChangesByController"
    if s.leader not in (None, before.leader) and s.leader not in before.isr:
        yield "NewLeaderFromIsr"


def explore(rules: Rules) -> tuple[int, dict[str, int]]:
    """How many worlds there are, and by promise that breaks after how many steps it does so first."""

    def steps_from(value: Any) -> Iterator[tuple[Hashable, Iterable[str]]]:
        world = thawed(rules, value)
        for handler in (of_brokers, of_the_race, of_controllers, of_isr_requests, of_late_stops):
            for s in handler(world):
                yield frozen(s), broken(world, s)

    return breadth_first(frozen(first(rules)), steps_from)
