"""ISR changes as requests to the controller (AlterPartition, from 2.7), for the worlds of `controllers_enumeration.py`.

The leader asks, the controller in charge writes or refuses, and the leader counts the change as made and as not made until it
has read the store again (KIP-497). An answer may be lost (to 3.0, KAFKA-12686); a controller that is behind its leader sends
the wrong one (to 3.2, KAFKA-14154); and who has no session may not join (from 3.3, KIP-841).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tests.model.breadth_first import copied
from tests.model.partition.controllers_enumeration import World


def of_isr_requests(world: World) -> Iterator[World]:
    """What a leader asks, what becomes of that, and when it hears of it."""
    if not world.rules.asynchronous_isr:
        return
    for leader, mine in enumerate(world.brokers):
        if mine.follows != leader:
            continue
        if mine.asked is None:
            yield from asks(world, leader)
        else:
            yield from answers(world, leader)
        if world.in_office(leader) and mine.moved_on and not mine.stuck:
            s = copied(world)
            there = s.brokers[leader]
            there.isr, there.asked, there.moved_on = s.isr, None, False
            s.advance(leader)
            yield s


def asks(world: World, leader: int) -> Iterator[World]:
    """For an ISR without some who are slow, or with one who has caught up, as far as the leader knows."""
    mine = world.brokers[leader]
    slow = [r for r in sorted(mine.isr - {leader}) if mine.ends.get(r, -1) < len(mine.log)]
    wanted = [mine.isr - set(gone) for size in range(1, len(slow) + 1) for gone in combinations(slow, size)]
    wanted += [mine.isr | {r} for r in range(len(world.brokers)) if may_join(world, leader, r)]
    for isr in wanted:
        s = copied(world)
        s.brokers[leader].asked = isr
        s.advance(leader)
        yield s


def may_join(world: World, leader: int, r: int) -> bool:
    """A follower in the leader's epoch that has fetched in this life up to the high watermark and the office's beginning."""
    mine, other = world.brokers[leader], world.brokers[r]
    if r in mine.isr | {leader} or other.follows != leader or other.epoch != mine.epoch or r not in mine.ends:
        return False
    agree = not other.log or mine.log[: len(other.log)][-1:] == other.log[-1:]
    return agree and max(mine.hw, mine.began) <= mine.ends[r] <= len(other.log)


def answers(world: World, leader: int) -> Iterator[World]:
    """The controller in charge writes what was asked, if nothing has changed since; or the leader hears nothing of use."""
    rules, mine = world.rules, world.brokers[leader]
    assert mine.asked is not None
    if world.in_office(leader) and not mine.moved_on and not mine.stuck and world.in_charge():
        s = copied(world)
        if rules.fenced_stay_out and not all(world.brokers[r].up for r in mine.asked):
            s.brokers[leader].asked = None
        else:
            s.isr, s.brokers[leader].moved_on = mine.asked, True
            s.leader_wrote()
        yield s
    lost = not rules.alter_partition_settled and world.in_office(leader) and mine.moved_on
    behind = any(known and known.is_begun and known.leader_epoch < (mine.epoch or 0) for known in world.controllers)
    is_misled = behind and not rules.behind_controller_resent and rules.candidates > 1
    if not mine.stuck and (lost or is_misled):
        s = copied(world)
        s.brokers[leader].stuck = True
        yield s
