"""Reassignment once more, in plain Python, with nothing of ours: one partition under KRaft, and every state of it.

Written from what a controller, its leaders and followers do (KIP-455, KIP-497, KIP-966, KAFKA-15665, KAFKA-19975), not from
the protocol in `model/partition`. One producer with acks=all sends one record once. `explore` counts the states.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

from tests.model.breadth_first import breadth_first, copied

UNSENT, SENT, ACKED, FAILED = "unsent", "sent", "acked", "failed"
World = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """Sizes, what may happen, and the rules of releases; names are those of the protocol's constants."""

    replicas: int = 2
    assigned: int = 1
    moves: int = 1
    moved_to: int = 1
    min_insync_replicas: int = 1
    crashes: bool = False
    eligible_leader_replicas: bool = False
    unclean_election: bool = False
    leadership_moves: bool = False
    move_completion: str = "all in sync"
    moves_replaceable: bool = True
    max_leader_epoch: int = 0


def first(rules: Rules) -> World:
    brokers = range(rules.replicas)
    members = frozenset(range(rules.assigned or rules.replicas))
    return {
        "logs": [() for _ in brokers],
        "hw": [0 for _ in brokers],
        "up": [True for _ in brokers],
        "epoch": [0 if b in members else None for b in brokers],
        "follows": [0 if b in members else None for b in brokers],
        "offices": {0: {"isr": members, "asked": None, "stale": False, "replicas": members, "ends": {}}},
        "leader": 0,
        "leader_epoch": 0,
        "isr": members,
        "elr": frozenset(),
        "last": None,
        "replicas": members,
        "adding": frozenset(),
        "removing": frozenset(),
        "wanted": members,
        "back": frozenset(),
        "left": rules.moves,
        "status": UNSENT,
        "waits": None,
    }


class Step:
    """One step under way: a world that may be changed."""

    def __init__(self, rules: Rules, world: World) -> None:
        self.rules = rules
        self.__dict__.update(copied(world))

    def world(self) -> World:
        return {name: value for name, value in self.__dict__.items() if name != "rules"}

    logs: list[tuple[int, ...]]
    hw: list[int]
    up: list[bool]
    epoch: list[int | None]
    follows: list[int | None]
    offices: dict[int, dict[str, Any]]
    leader: int | None
    leader_epoch: int
    isr: frozenset[int]
    elr: frozenset[int]
    last: int | None
    replicas: frozenset[int]
    adding: frozenset[int]
    removing: frozenset[int]
    wanted: frozenset[int]
    back: frozenset[int]
    left: int
    status: str
    waits: int | None
    unnamed: frozenset[int] = frozenset()
    answered: int | None = None

    # -- who is who

    @property
    def brokers(self) -> range:
        return range(self.rules.replicas)

    def in_office(self, b: int) -> bool:
        """b leads, and has the leader epoch of the controller."""
        return self.leader == b and b in self.offices and self.epoch[b] == self.leader_epoch

    def enough(self, members: frozenset[int], replicas: frozenset[int]) -> bool:
        return len(members) >= min(self.rules.min_insync_replicas, len(replicas))

    # -- the leader

    def maximal(self, b: int) -> frozenset[int]:
        office = self.offices[b]
        return office["isr"] | (office["asked"] or frozenset())

    def advance(self, b: int) -> None:
        office = self.offices[b]
        ends = [len(self.logs[b]) if r == b else office["ends"].get(r, 0) for r in self.maximal(b)]
        reached = min(ends) if ends else self.hw[b]
        if reached > self.hw[b] and self.enough(office["isr"], office["replicas"]):
            self.hw[b] = reached
        if self.waits == b and self.hw[b] > 0:
            self.waits = None
            self.status = ACKED if self.enough(self.maximal(b), office["replicas"]) else FAILED

    def step_down(self, b: int) -> None:
        """What only a leader knows is gone, and who waits for it is told so."""
        self.offices.pop(b, None)
        if self.waits == b:
            self.waits, self.status = None, FAILED

    # -- the controller

    def news(self) -> None:
        """The partition changed: its leader's view is stale."""
        if self.leader is not None and self.in_office(self.leader):
            self.offices[self.leader]["stale"] = True

    def is_over(self, isr: frozenset[int]) -> bool:
        target, in_sync = self.replicas - self.removing, isr - self.removing
        if not (self.adding or self.removing) or not target or not in_sync:
            return False
        if self.rules.move_completion == "added in sync":
            return self.adding <= in_sync
        if self.rules.move_completion == "all in sync":
            return target <= in_sync
        return self.adding <= in_sync and (len(self.adding) >= len(self.removing) or target <= in_sync)

    def record(self, isr: frozenset[int], replicas: frozenset[int] | None = None, ends_moves: bool = True) -> None:
        """A change of the partition with a new ISR; the eligible leaders follow from it."""
        before = self.replicas if replicas is None else replicas
        if ends_moves and self.is_over(isr):
            gone = self.removing
            isr, self.replicas = isr - gone, self.replicas - gone
            self.adding = self.removing = frozenset()
            if self.leader in gone:
                self.leader = None
            elif gone and self.leader is not None:
                self.leader_epoch += 1
        if self.rules.eligible_leader_replicas:
            self.elr = frozenset() if self.enough(isr, before) else (self.elr | self.isr) - isr
        self.isr = isr

    def lose(self, b: int) -> None:
        """The controller has lost a broker."""
        if b in self.isr:
            self.news()
        was_in, alone = b in self.isr, self.isr == {b}
        if self.leader == b:
            self.leader = None
        isr = self.isr - {b}
        if alone and self.rules.eligible_leader_replicas:
            self.last = b
        elif alone:
            isr = self.isr
        self.record(isr, ends_moves=was_in)

    def candidates(self) -> list[int]:
        chosen = set(self.isr)
        if self.rules.eligible_leader_replicas and not self.isr:
            chosen |= self.elr
            if not self.elr and self.last is not None:
                chosen.add(self.last)
        return [b for b in sorted(chosen) if self.up[b] and b in self.replicas]

    def elect(self, b: int, isr: frozenset[int], replicas: frozenset[int] | None = None) -> None:
        self.leader_epoch += 1
        self.leader = b
        self.record(isr, replicas, ends_moves=False)
        self.last = None

    def forget(self, b: int) -> None:
        self.step_down(b)
        self.epoch[b] = self.follows[b] = None
        self.back -= {b}


Steps = Iterator[Step]


def subsets(of: frozenset[int]) -> Iterator[frozenset[int]]:
    members = sorted(of)
    return map(frozenset, chain.from_iterable(combinations(members, n) for n in range(1, len(members) + 1)))


def produce(rules: Rules, world: World) -> Steps:
    s = Step(rules, world)
    if s.status != UNSENT:
        return
    for b in list(s.offices):
        for answered in (True, False):
            n = Step(rules, world)
            office = n.offices[b]
            if n.logs[b] or not n.enough(office["isr"], office["replicas"]):
                continue
            if not answered and n.maximal(b) != {b}:
                continue
            n.logs[b] = (n.epoch[b] or 0,)
            n.status, n.waits = SENT, b
            n.advance(b)
            if not answered:
                n.status, n.waits = FAILED, None
            yield n
    s.status = FAILED
    yield s


def controller_tells(rules: Rules, world: World) -> Steps:
    """Brokers hear who leads, or that they are replicas no more."""
    w = Step(rules, world)
    for b in w.brokers:
        if not w.up[b]:
            continue
        known = w.epoch[b]
        is_news = known is None or known < w.leader_epoch
        if w.leader == b and is_news:
            n = Step(rules, world)
            if b not in n.offices:
                n.step_down(b)
            n.epoch[b], n.follows[b] = n.leader_epoch, b
            n.offices[b] = {"isr": n.isr, "asked": None, "stale": False, "replicas": n.replicas, "ends": {}}
            n.back -= {b}
            n.advance(b)
            yield n
        elif w.leader is not None and is_news and w.leader != b and b in w.replicas:
            n = Step(rules, world)
            n.step_down(b)
            n.epoch[b], n.follows[b] = n.leader_epoch, n.leader
            n.back -= {b}
            yield n
        if (w.logs[b] or known is not None) and (b not in w.replicas or b in w.back):
            n = Step(rules, world)
            n.forget(b)
            n.logs[b], n.hw[b] = (), 0
            yield n


def change_isr(rules: Rules, world: World) -> Steps:
    w = Step(rules, world)
    for b, office in w.offices.items():
        end = len(w.logs[b])
        if office["asked"] is None:
            slow = frozenset(r for r in office["isr"] - {b} if office["ends"].get(r, -1) < end)
            for some in subsets(slow):
                n = Step(rules, world)
                n.offices[b]["asked"] = office["isr"] - some
                yield n
            for r in office["replicas"] - office["isr"] - {b}:
                heard = office["ends"].get(r)
                if not w.up[r] or w.follows[r] != b or w.epoch[r] != w.epoch[b] or diverges(w, b, r):
                    continue
                start = next((o for o, e in enumerate(w.logs[b]) if e == w.epoch[b]), end)
                if heard is None or heard > len(w.logs[r]) or heard < max(w.hw[b], start):
                    continue
                n = Step(rules, world)
                n.offices[b]["asked"] = office["isr"] | {r}
                n.advance(b)
                yield n
        elif w.in_office(b) and not office["stale"] and all(w.up[r] for r in office["asked"]):
            n = Step(rules, world)
            n.record(office["asked"])
            n.offices[b]["stale"] = True
            yield n
        if w.in_office(b) and office["stale"]:
            n = Step(rules, world)
            mine = n.offices[b]
            mine.update(isr=n.isr, replicas=n.replicas, asked=None, stale=False)
            n.advance(b)
            yield n


def diverges(w: Step, leader: int, follower: int) -> bool:
    mine, theirs = w.logs[follower], w.logs[leader]
    if follower in w.unnamed:
        return len(mine) > len(theirs)
    return bool(mine) and (len(mine) > len(theirs) or mine[-1] != theirs[len(mine) - 1])


def fetch(rules: Rules, world: World) -> Steps:
    w = Step(rules, world)
    for b, office in w.offices.items():
        for r in office["replicas"] - {b}:
            if not w.up[r] or w.follows[r] != b or w.epoch[r] != w.epoch[b]:
                continue
            end = len(w.logs[r])

            def noted(b: int = b, r: int = r, end: int = end) -> Step:
                n = Step(rules, world)
                n.offices[b]["ends"][r] = end
                n.advance(b)
                return n

            if diverges(w, b, r):
                agreed = 0  # Logs have one offset.
                n = Step(rules, world)
                n.logs[r] = n.logs[r][:agreed]
                n.hw[r] = min(n.hw[r], agreed)
                yield n
                continue
            yield noted()
            for until in range(end, len(w.logs[b]) + 1):
                if until == end and end < len(w.logs[b]):
                    continue
                n = noted()
                n.logs[r] = n.logs[b][:until]
                n.hw[r] = min(w.hw[b], until)
                n.answered = r
                yield n
            n = noted()
            n.logs[r] = n.logs[b][: end + 1]
            n.hw[r] = min(n.hw[b], len(n.logs[r]))
            n.answered = r
            yield n


def life(rules: Rules, world: World) -> Steps:
    if not rules.crashes:
        return
    w = Step(rules, world)
    for b in w.brokers:
        if w.up[b]:
            if b not in w.replicas and not w.logs[b] and w.epoch[b] is None and b not in w.elr:
                continue
            for mark in range(w.hw[b] + 1):
                n = Step(rules, world)
                for office in n.offices.values():
                    if b in (office["asked"] or ()):
                        office["stale"] = True
                n.lose(b)
                n.forget(b)
                n.up[b], n.hw[b] = False, mark
                yield n
        else:
            for clean in (True, False) if b in w.elr else (True,):
                n = Step(rules, world)
                n.up[b] = True
                n.elr = n.elr if clean else n.elr - {b}
                yield n


def elections(rules: Rules, world: World) -> Steps:
    w = Step(rules, world)
    if w.leader is None:
        for b in w.candidates():
            n = Step(rules, world)
            n.elect(b, n.isr if b in n.isr else frozenset({b}))
            yield n
        if rules.unclean_election and not w.candidates():
            for b in w.replicas:
                if w.up[b]:
                    n = Step(rules, world)
                    n.elect(b, frozenset({b}))
                    n.elr = frozenset()
                    yield n
    elif rules.leadership_moves:
        for b in w.brokers:
            n = Step(rules, world)
            before, isr = n.replicas, n.isr
            if n.is_over(isr):
                isr, n.replicas = isr - n.removing, n.replicas - n.removing
                n.adding = n.removing = frozenset()
            if b != w.leader and b in isr and b in n.replicas and n.up[b]:
                n.elect(b, isr, before)
                yield n


def moves(rules: Rules, world: World) -> Steps:
    w = Step(rules, world)
    under_way = bool(w.adding or w.removing)
    for target in subsets(frozenset(w.brokers)):
        if (rules.moves and not w.left) or (rules.moved_to and len(target) != rules.moved_to):
            continue
        if (target == w.replicas and not under_way) or (under_way and not rules.moves_replaceable):
            continue
        n = Step(rules, world)
        before = n.replicas
        n.left -= 1 if rules.moves else 0
        n.wanted = target
        n.back |= {b for b in target - before if n.logs[b] or n.epoch[b] is not None}
        n.replicas = before | target
        n.adding = target - before or n.adding
        n.removing = before - target or n.removing
        n.news()
        n.record(n.isr, before)
        yield n
    if not under_way or not rules.moves_replaceable:
        return
    old = w.replicas - w.adding
    for isr in [w.isr - w.adding] if w.isr - w.adding else [frozenset({b}) for b in old if rules.unclean_election]:
        n = Step(rules, world)
        before, dropped = n.replicas, n.adding
        if n.leader in isr:
            n.leader_epoch += 1 if dropped else 0
        else:
            n.leader = None
        n.replicas = n.wanted = old
        n.adding = n.removing = frozenset()
        n.back -= dropped
        n.news()
        n.record(isr, before, ends_moves=False)
        yield n


HANDLERS: tuple[Callable[[Rules, World], Steps], ...] = (
    produce, controller_tells, change_isr, fetch, life, elections, moves,
)  # fmt: skip


# -- what is compared ---------------------------------------------------------------------------------------------------


def frozen(rules: Rules, step: Step) -> tuple[Any, ...]:
    """The world as a value, with leader epochs by rank and nothing that cannot matter any more."""
    used = sorted({step.leader_epoch, *(e for e in step.epoch if e is not None), *(e for log in step.logs for e in log)})
    rank: dict[int | None, int | None] = {epoch: number for number, epoch in enumerate(used)}
    rank[None] = None
    offices = tuple(
        (b, o["isr"], o["asked"], o["stale"], o["replicas"], tuple(sorted(o["ends"].items())))
        for b, o in sorted(step.offices.items())
    )
    again = rules.moves != 1
    return (
        tuple(tuple(rank[e] for e in log) for log in step.logs), tuple(step.hw), tuple(step.up),
        tuple(rank[e] for e in step.epoch), tuple(step.follows), offices, step.leader, rank[step.leader_epoch], step.isr,
        step.elr, step.last, step.replicas, step.adding, step.removing, step.wanted if again else None,
        step.back if again else None, step.left if rules.moves else None, step.status, step.waits,
    )  # fmt: skip


def thawed(value: tuple[Any, ...]) -> World:
    (logs, hw, up, epoch, follows, offices, leader, leader_epoch, isr, elr, last, replicas, adding, removing, wanted, back,
     left, status, waits) = value  # fmt: skip
    return {
        "logs": list(logs), "hw": list(hw), "up": list(up), "epoch": list(epoch), "follows": list(follows),
        "offices": {
            b: {"isr": i, "asked": a, "stale": s, "replicas": r, "ends": dict(e)} for b, i, a, s, r, e in offices
        },
        "leader": leader, "leader_epoch": leader_epoch, "isr": isr, "elr": elr, "last": last, "replicas": replicas,
        "adding": adding, "removing": removing, "wanted": wanted or frozenset(), "back": back or frozenset(),
        "left": left or 0, "status": status, "waits": waits,
    }  # fmt: skip


def broken(rules: Rules, before: Step | None, s: Step) -> Iterator[str]:
    """The promises that a state breaks, or the step that led to it."""
    if s.status == ACKED:
        if any(s.in_office(b) and not s.logs[b] for b in s.brokers):
            yield "AckedRecordsSurvive"
        if not all(s.logs[b] for b in s.isr):
            yield "AckedRecordsInIsr"
        if not any(s.logs):
            yield "AckedRecordsExist"
    if not s.isr <= s.replicas:
        yield "IsrWithinReplicas"
    if s.leader is not None and s.leader not in s.replicas:
        yield "LeaderIsReplica"
    if rules.eligible_leader_replicas and not s.elr | ({s.last} - {None}) <= s.replicas:
        yield "EligibleAreReplicas"
    is_moving = bool(s.adding or s.removing)
    if rules.moves != 1 and not is_moving and s.wanted != s.replicas:
        yield "LastAskedCounts"
    if before is not None and not is_moving:
        moved = bool(before.adding or before.removing)
        cancelled = moved and s.replicas == before.replicas - before.adding
        if (moved or before.replicas != s.replicas) and not cancelled and not s.replicas <= s.isr:
            yield "MovesEndInSync"


def explore(rules: Rules) -> tuple[int, dict[str, int]]:
    """How many states there are, and by promise that breaks after how many steps it does so first."""

    def steps_from(value: Any) -> Iterator[tuple[Hashable, Iterable[str]]]:
        world = thawed(value)
        before = Step(rules, world)
        for handler in HANDLERS:
            for step in handler(rules, world):
                yield frozen(rules, step), broken(rules, before, step)

    return breadth_first(frozen(rules, Step(rules, first(rules))), steps_from)
