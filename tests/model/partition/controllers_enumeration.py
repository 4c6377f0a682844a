"""Several ZooKeeper controllers once more, in plain Python, written from what brokers and controllers of Kafka do.

Nothing here is shared with the protocol. A world has the store (leader, leader epoch, ISR, /controller, controller epochs),
the brokers, and what every candidate takes for true while it takes itself for the controller. Leaders write the ISR to the
store themselves, or ask for it (`controllers_isr_requests.py`); a record is sent once, with acks=0.
`controllers_exploration.py` counts the worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from tests.model.breadth_first import copied


@dataclass(frozen=True)
class Rules:
    """Sizes, what may happen, and the rules of releases; names are those of the protocol's constants."""

    replicas: int = 2
    candidates: int = 2
    max_leader_epoch: int = 0
    max_controller_epoch: int = 0
    crashes: bool = False
    unnoticed_restarts: bool = False
    leadership_moves: bool = False
    unclean_election: bool = False
    elected_at_once: bool = True
    old_controllers_refused: bool = True
    requests_name_incarnation: bool = True
    requests_queued: int = 1
    kills: bool = True
    late_requests: bool = False
    asynchronous_isr: bool = False
    alter_partition_settled: bool = True
    fenced_stay_out: bool = False
    behind_controller_resent: bool = True


Request = tuple[int, int, frozenset[int]]
"""Leader, leader epoch and ISR."""


@dataclass
class Broker:
    """A broker: `epoch` and `follows` are what it was told last; a leader knows where in its log it `began` to lead.

    Where ISR changes are requests, a leader has `asked` for one, the store may have `moved_on` since the leader read it, and
    one that is `stuck` waits for an answer that never comes.
    """

    up: bool = True
    log: list[int] = field(default_factory=list)
    hw: int = 0
    epoch: int | None = 0
    follows: int | None = 0
    isr: frozenset[int] = frozenset()
    ends: dict[int, int] = field(default_factory=dict)
    heard: int | None = 0
    began: int = 0
    asked: frozenset[int] | None = None
    moved_on: bool = False
    stuck: bool = False

    def leads_no_more(self) -> None:
        """What only a leader knows, of this office or the last, is forgotten."""
        self.isr, self.ends, self.began = frozenset(), {}, 0
        self.asked, self.moved_on, self.stuck = None, False, False


@dataclass
class Controller:
    """A candidate that takes itself for the controller; `is_begun` once it has an epoch of its own.

    `owed` are the brokers to which a request with what it knows is under way, behind the one in `queue`, if there is one. Of
    those that it takes for `live` it knows the `renewed` ones by their former incarnation. To those in `stops` it has sent a
    StopReplica request when they were shut down.
    """

    epoch: int
    is_begun: bool = False
    live: frozenset[int] = frozenset()
    owed: frozenset[int] = frozenset()
    leader: int | None = None
    leader_epoch: int = 0
    isr: frozenset[int] = frozenset()
    queue: dict[int, Request] = field(default_factory=dict)
    renewed: frozenset[int] = frozenset()
    stops: frozenset[int] = frozenset()

    def gives_up(self, b: int) -> None:
        """b is gone, as this controller finds: so is the connection, with what was to be sent over it."""
        self.live -= {b}
        self.renewed -= {b}
        self.owed -= {b}
        self.queue.pop(b, None)


@dataclass
class World:
    """Everything; `writer` is the controller epoch in the partition's node."""

    rules: Rules
    brokers: list[Broker]
    controllers: list[Controller | None]
    leader: int | None
    leader_epoch: int
    isr: frozenset[int]
    holder: int | None
    newest: int
    writer: int
    sent: bool = False

    # -- the partition

    def in_office(self, b: int) -> bool:
        """b leads, and knows the store's leader epoch."""
        mine = self.brokers[b]
        return self.leader == b == mine.follows and mine.epoch == self.leader_epoch

    def advance(self, b: int) -> None:
        mine = self.brokers[b]
        ends = [len(mine.log) if r == b else mine.ends.get(r, 0) for r in mine.isr | (mine.asked or frozenset())]
        if ends:
            mine.hw = max(mine.hw, min(ends))

    def leader_wrote(self) -> None:
        """Controllers hear of an ISR that the leader wrote; a request that is under way to that leader stays as it is."""
        for known in filter(None, self.controllers):
            same = known.is_begun and (known.leader, known.leader_epoch) == (self.leader, self.leader_epoch)
            if same and known.leader not in known.owed:
                known.isr = self.isr

    # -- the controllers

    def in_charge(self) -> Controller | None:
        found = None if self.holder is None else self.controllers[self.holder]
        return found if found and found.is_begun else None

    def takes(self, known: Controller) -> bool:
        """ZooKeeper takes what this controller writes."""
        if self.rules.old_controllers_refused:
            return known.epoch == self.newest
        return self.writer <= known.epoch

    def has_news(self, known: Controller, b: int) -> bool:
        mine = self.brokers[b]
        is_newer = mine.epoch is None or mine.epoch < known.leader_epoch
        return known.leader is not None and (is_newer or mine.heard is None or mine.heard < known.epoch)

    def publish(self, known: Controller) -> None:
        """The controller knows what the store has, and owes it to every broker that it takes for alive."""
        if self.rules.requests_queued > 1 and known.leader is not None:
            for b in known.owed - set(known.queue):
                known.queue[b] = (known.leader, known.leader_epoch, known.isr)
        known.leader, known.leader_epoch, known.isr = self.leader, self.leader_epoch, self.isr
        known.owed = frozenset(b for b in known.live - known.renewed if self.has_news(known, b))

    def lose(self, b: int) -> bool:
        """The store without a broker; whether that changed it. The last member of the ISR stays."""
        before = self.leader, self.isr
        rest = self.isr - {b} or self.isr
        if self.leader == b:
            self.leader = None
        elif b in self.isr and self.leader is not None:
            self.leader_epoch += 1
        self.isr = rest
        return before != (self.leader, self.isr)

    def forget(self, b: int) -> None:
        mine = self.brokers[b]
        mine.epoch = mine.follows = mine.heard = None
        mine.leads_no_more()
        if self.rules.requests_name_incarnation:
            for c, known in enumerate(self.controllers):
                if known:
                    known.owed -= {b}
                    known.queue.pop(b, None)
                    # Who holds /controller sees the broker go, and come back as another.
                    known.renewed |= {b} & known.live if c != self.holder else frozenset()

    def begin(self, known: Controller, shrinks: bool) -> None:
        """The next controller epoch; everything is read, a dead leader is none, and everybody alive is told."""
        self.newest += 1
        known.epoch, known.is_begun = self.newest, True
        known.live = frozenset(b for b, mine in enumerate(self.brokers) if mine.up)
        before = self.leader, self.isr
        dead = {b for b in self.isr if b not in known.live and (shrinks or b == self.leader)}
        self.isr = self.isr - dead or self.isr
        if self.leader is not None and self.leader not in known.live:
            self.leader = None
        elif self.leader is not None and self.isr != before[1]:
            self.leader_epoch += 1
        if before != (self.leader, self.isr):
            self.writer = self.newest
        self.publish(known)

    def elect(self, known: Controller, b: int, isr: frozenset[int]) -> None:
        self.leader, self.leader_epoch, self.isr = b, self.leader_epoch + 1, isr
        self.writer = known.epoch
        self.publish(known)

    @property
    def may_elect(self) -> bool:
        return not self.rules.max_leader_epoch or self.leader_epoch < self.rules.max_leader_epoch


def first(rules: Rules) -> World:
    everyone = frozenset(range(rules.replicas))
    world = World(rules, [Broker() for _ in everyone], [None] * rules.candidates, 0, 0, everyone, 0, 0, 0)
    world.brokers[0].isr = everyone
    world.controllers[0] = Controller(0, True, everyone, frozenset(), 0, 0, everyone)
    return world


# -- steps: each handler yields the worlds that one step leads to -----------------------------------------------------------


def of_brokers(world: World) -> Iterator[World]:
    """Records, fetches, the ISR by its leader, and a broker's life."""
    rules, number = world.rules, range(world.rules.replicas)
    if not world.sent:
        for b in number:
            if world.brokers[b].follows == b and not world.brokers[b].log:
                s = copied(world)
                s.sent = True
                s.brokers[b].log.append(s.brokers[b].epoch or 0)
                s.advance(b)
                yield s
        s = copied(world)
        s.sent = True
        yield s
    for leader in number:
        if world.brokers[leader].follows == leader:
            yield from by_leader(world, leader)
            for follower in number:
                yield from fetches(world, follower, leader)
    for b in number:
        mine = world.brokers[b]
        if rules.crashes and not mine.up:
            s = copied(world)
            s.brokers[b].up = True
            known = s.in_charge()
            if known:
                known.live |= {b}
                known.owed |= {b} if s.has_news(known, b) else set()
            yield s
        for hw in range(mine.hw + 1) if rules.unnoticed_restarts and mine.up and b in world.isr else ():
            s = copied(world)
            s.forget(b)
            s.brokers[b].hw = hw
            yield s
        for hw in range(0 if rules.kills else mine.hw, mine.hw + 1) if rules.crashes and mine.up else ():
            if world.may_elect or not _takes_epoch(world, b):
                s = copied(world)
                known = s.in_charge()
                if known and rules.late_requests:
                    known.stops |= {b}
                if known:
                    changed = s.lose(b)
                    known.gives_up(b)
                    if changed:
                        s.writer = known.epoch
                        s.publish(known)
                s.forget(b)
                s.brokers[b].up, s.brokers[b].hw = False, hw
                yield s


def _takes_epoch(world: World, b: int) -> bool:
    """Whether the controller, if it notices that the broker is gone, needs a leader epoch for the smaller ISR."""
    return world.in_charge() is not None and b in world.isr and world.leader not in (None, b)


def by_leader(world: World, leader: int) -> Iterator[World]:
    """The leader takes followers out of the ISR that lag, all in one write."""
    mine = world.brokers[leader]
    if world.rules.asynchronous_isr or not world.in_office(leader) or mine.isr != world.isr:
        return
    slow = [r for r in sorted(mine.isr - {leader}) if mine.ends.get(r, -1) < len(mine.log)]
    for size in range(1, len(slow) + 1):
        for gone in combinations(slow, size):
            s = copied(world)
            s.isr = s.brokers[leader].isr = mine.isr - set(gone)
            s.leader_wrote()
            s.advance(leader)
            yield s


def fetches(world: World, follower: int, leader: int) -> Iterator[World]:
    """A fetch in one leader epoch: it diverges, or the leader notes it and the answer brings what it brings, or is lost."""
    ours, theirs = world.brokers[follower], world.brokers[leader]
    if follower == leader or ours.follows != leader or ours.epoch != theirs.epoch:
        return
    if ours.log and theirs.log[: len(ours.log)][-1:] != ours.log[-1:]:
        s = copied(world)
        s.brokers[follower].log, s.brokers[follower].hw = [], 0
        yield s
        return
    noted = copied(world)
    note(noted, follower, leader)
    yield noted  # the answer is lost
    missing = len(theirs.log) > len(ours.log)
    for until in range(len(ours.log), len(theirs.log) + 1):
        if until > len(ours.log) or not missing:
            for hw in (theirs.hw, noted.brokers[leader].hw):  # read before the fetch was noted, or after
                s = copied(noted)
                s.brokers[follower].log = theirs.log[:until]
                s.brokers[follower].hw = min(hw, until)
                yield s


def note(s: World, follower: int, leader: int) -> None:
    """The leader knows how far the follower is, and takes it into the ISR if it is far enough."""
    mine, end = s.brokers[leader], len(s.brokers[follower].log)
    mine.ends[follower] = end
    writes = s.in_office(leader) and mine.isr == s.isr and not s.rules.asynchronous_isr
    if follower not in mine.isr and end >= mine.hw and end >= mine.began and writes:
        mine.isr |= {follower}
        s.isr |= {follower}
        s.leader_wrote()
    s.advance(leader)


def of_the_race(world: World) -> Iterator[World]:
    """/controller comes and goes."""
    rules = world.rules
    if rules.candidates == 1:
        return
    may_begin = not rules.max_controller_epoch or world.newest < rules.max_controller_epoch
    if world.holder is not None:
        s = copied(world)
        s.holder = None
        yield s
    for c, known in enumerate(world.controllers):
        if known is None and world.holder is None:
            s = copied(world)
            s.holder, s.controllers[c] = c, Controller(s.newest)
            if not rules.elected_at_once:
                yield s
            elif may_begin:
                yield from begun(s, c)
        if known is None:
            continue
        if world.holder != c:
            s = copied(world)
            s.controllers[c] = None
            yield s
        if not known.is_begun and known.epoch == world.newest and may_begin:
            yield from begun(world, c)
        if not known.is_begun and known.epoch != world.newest:
            s = copied(world)
            s.controllers[c] = None
            s.holder = None if s.holder == c else s.holder
            yield s


def begun(world: World, c: int) -> Iterator[World]:
    """The candidate begins; it takes members of the ISR out that died before, or not."""
    dead = [b for b in world.isr if not world.brokers[b].up and b != world.leader]
    for shrinks in (False, True) if dead else (False,):
        s = copied(world)
        known = s.controllers[c]
        assert known is not None
        s.begin(known, shrinks)
        if not s.rules.max_leader_epoch or s.leader_epoch <= s.rules.max_leader_epoch:
            yield s


def of_controllers(world: World) -> Iterator[World]:
    """What somebody writes and sends who takes itself for the controller."""
    for c, known in enumerate(world.controllers):
        if known is None or not known.is_begun:
            continue
        yield from requests(world, c, known)
        if not world.takes(known):
            continue
        for b in range(world.rules.replicas):
            yield from writes(world, c, known, b)


def writes(world: World, c: int, known: Controller, b: int) -> Iterator[World]:
    """A controller finds a broker gone, or makes it the leader."""

    def copy() -> tuple[World, Controller]:
        s = copied(world)
        mine = s.controllers[c]
        assert mine is not None
        return s, mine

    is_old, leaderless = world.holder != c, world.leader is None and known.leader is None
    leaves = world.leader == b or (b in world.isr and world.isr != {b})
    has_epoch = world.may_elect or world.leader in (None, b) or b not in world.isr
    finds_gone = world.rules.candidates > 1 and b in known.live and not world.brokers[b].up
    if is_old and finds_gone and leaves and has_epoch:
        s, mine = copy()
        s.lose(b)
        mine.gives_up(b)
        s.writer = mine.epoch
        s.publish(mine)
        yield s
    if not world.may_elect or b not in known.live:
        return
    if leaderless and b in world.isr:
        s, mine = copy()
        s.elect(mine, b, s.isr & mine.live)
        yield s
    if world.rules.unclean_election and leaderless and not world.isr & known.live:
        s, mine = copy()
        s.elect(mine, b, frozenset({b}))
        yield s
    moves = world.leader not in (None, b) and known.leader is not None
    if world.rules.leadership_moves and moves and b in world.isr:
        s, mine = copy()
        s.elect(mine, b, s.isr)
        yield s


def requests(world: World, c: int, known: Controller) -> Iterator[World]:
    """A LeaderAndIsr request arrives at a broker that is up."""
    for b in sorted(known.owed | set(known.queue)):
        there = world.brokers[b]
        if not there.up:
            continue
        s = copied(world)
        sender, mine = s.controllers[c], s.brokers[b]
        assert sender is not None
        leader, epoch, isr = known.queue.get(b, (known.leader, known.leader_epoch, known.isr))
        if sender.queue.pop(b, None) is None:
            sender.owed -= {b}
        if there.heard is None or there.heard <= known.epoch:
            mine.heard = known.epoch
            if there.epoch is None or there.epoch < epoch:
                mine.epoch, mine.follows = epoch, leader
                mine.leads_no_more()
                if leader == b:
                    mine.isr, mine.began = isr, len(mine.log)
                    # A request from before the last change of the ISR names an older version of the node.
                    mine.moved_on = s.rules.asynchronous_isr and s.in_office(b) and isr != s.isr
                    s.advance(b)
        yield s


def of_late_stops(world: World) -> Iterator[World]:
    """A StopReplica request from before its broker's restart reaches it: it fetches no more. Leaders do not mind."""
    for c, known in enumerate(world.controllers):
        for b in sorted(known.stops) if known and known.is_begun else ():
            there = world.brokers[b]
            # One that changes nothing may as well be under way for good.
            if there.up and there.follows not in (None, b) and (there.heard is None or there.heard <= known.epoch):
                s = copied(world)
                sender, mine = s.controllers[c], s.brokers[b]
                assert sender is not None
                sender.stops -= {b}
                mine.heard, mine.follows = known.epoch, None
                yield s
