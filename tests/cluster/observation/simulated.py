"""Runs that the model takes by itself, told as brokers and a controller would tell them: late, and in lanes that race."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.subject import Subject
from acked.model.concrete.program import State

EVERYONE = frozenset({0, 1, 2})
CREATED = Event(0, CONTROLLER, Says.CREATES, {"replicas": EVERYONE, "isr": EVERYONE, "leader": 0, "epoch": 0})


class Simulated:
    """One random run of three brokers; `failures` says how often something goes wrong, in a thousand steps."""

    def __init__(self, seed: int, release: str = "4.1", failures: int = 20, delay: int = 200) -> None:
        self.subject = Subject(release, (0, 1, 2), {"min_insync_replicas": 2})
        self.state: State = self.subject.creation(0, (0, 1, 2), 0)
        self.events: list[Event] = []
        self._draw = random.Random(seed)
        self._failures, self._delay = failures, delay
        self._now = 0
        self._told: dict[tuple[int, int | None], int] = {}
        self._asked: dict[int, tuple[int, int]] = {}

    def run(self, steps: int) -> list[Event]:
        """The events of so many tries to take a step, in the order in which they are printed."""
        actions: list[Callable[[], bool]] = [
            self._hear, self._hear, self._produce, self._fetch, self._fetch, self._isr, self._answer, self._answer,
            self._answer,
        ]  # fmt: skip
        for _ in range(steps):
            self._now += self._draw.randrange(1, 20)
            if self._draw.randrange(1000) < self._failures:
                self._fail()
            else:
                self._draw.choice(actions)()
        return sorted(self.events, key=lambda event: event.at)

    # -- steps ----------------------------------------------------------------------------------------------------------

    def _take(self, action: str, *numbers: int, **bound: Any) -> State | None:
        """The state before, if the step could be taken."""
        if not self.subject.concrete.has(action) or (step := self.subject.concrete.step(action, **bound)) is None:
            return None
        before, after = self.state, step.take(self.state, *numbers)
        if isinstance(after, int):
            return None
        self.state = after
        return before

    def _tell(self, by: int, says: Says, late: int = 0, **fields: Any) -> None:
        """An event, printed a little later than it happened, but after the one before it in its lane."""
        lane = by, fields.get("follower") if says is Says.NOTES_FETCH else None
        at = max(self._now + self._draw.randrange(1 + late), self._told.get(lane, 0))
        self._told[lane] = at
        self.events.append(Event(at, by, says, {name: value for name, value in fields.items() if value is not None}))

    def _moved(self, before: State, broker: int) -> int | None:
        hw = self.subject.at[broker].hw
        return None if before[hw] == self.state[hw] else int(self.state[hw])

    def _end(self, broker: int) -> int:
        return int(self.state[self.subject.at[broker].end])

    def _leader_of(self, broker: int) -> int:
        return int(self.state[self.subject.at[broker].leader]) - 1

    def _brokers(self) -> Iterator[int]:
        yield from self._draw.sample(range(3), 3)

    def _produce(self) -> bool:
        for leader in self._brokers():
            end, batch = self._end(leader), self._draw.randrange(1, 4)
            before = self._take("Produce", batch, leader=leader, answered=True)
            if before is not None:
                self._tell(leader, Says.APPENDS, offset=end, next=end + batch, hw=self._moved(before, leader))
                return True
        return False

    def _fetch(self) -> bool:
        for follower in self._brokers():
            leader = self._leader_of(follower)
            if leader < 0 or leader == follower or follower in self._asked:
                continue
            offset = self._end(follower)
            if self._take("FetchDiverging", follower=follower, leader=leader) is not None:
                self._tell(follower, Says.TRUNCATES, to=self._end(follower))
                return True
            before = self._take("FetchUnanswered", follower=follower, leader=leader)
            if before is None:
                continue
            self._asked[follower] = leader, offset
            asks = self._take("AskToExpand", leader=leader, follower=follower)
            told = {"follower": follower, "offset": offset, "asks_to_add": None if asks is None else follower}
            self._tell(leader, Says.NOTES_FETCH, 50, hw=self._moved(before, leader), **told)
            return True
        return False

    def _answer(self) -> bool:
        for follower, (leader, offset) in self._draw.sample(sorted(self._asked.items()), len(self._asked)):
            del self._asked[follower]
            hw, noted = self.subject.at[leader].hw, self.state
            end = self._draw.choice([self._end(leader), min(offset + 1, self._end(leader))])
            before = self._take("FetchAtOnce", max(end, offset), follower=follower, leader=leader)
            if before is None:
                return False
            if any(noted[leaf] != self.state[leaf] for leaf in (hw, *self.subject.at[leader].known)):
                self.state = noted  # It would be another fetch: this one is lost.
                return False
            told = {"leader": leader, "offset": offset, "records": self._end(follower) - offset, "leader_hw": before[hw]}
            self._tell(follower, Says.TAKES_ANSWER, self._delay, hw=self._moved(before, follower), **told)
            return True
        return False

    def _isr(self) -> bool:
        for leader in self._brokers():
            place = self.subject.at[leader]
            was = self.subject.members(self.state[self.subject.isr])
            if self._take("CommitAlterPartition", leader=leader) is not None:
                isr = self.subject.members(self.state[self.subject.isr])
                self._tell(CONTROLLER, Says.COMMITS_ISR, leader=leader, was=was, isr=isr)
                return True
            before = self._take("LearnIsr", leader=leader)
            if before is not None:
                isr = self.subject.members(self.state[place.isr])
                self._tell(leader, Says.LEARNS_ISR, isr=isr, raised=self._moved(before, leader))
                return True
            follower = (leader + self._draw.randrange(1, 3)) % 3
            if self._draw.randrange(30) == 0 and self._take("AskToShrink", 1 << follower, leader=leader) is not None:
                self._tell(leader, Says.ASKS_TO_SHRINK, followers=frozenset({follower}))
                return True
        return False

    def _hear(self) -> bool:
        for broker in self._brokers():
            place = self.subject.at[broker]
            told = {"offset": self.state[place.end], "hw": self.state[place.hw], "epoch": self.state[self.subject.epoch]}
            before = self._take("BecomeLeader", leader=broker)
            if before is not None:
                self._asked.pop(broker, None)
                isr = self.subject.members(self.state[place.isr])
                self._tell(broker, Says.LEADS, isr=isr, raised=self._moved(before, broker), **told)
                return True
            leader = self.state[self.subject.leader] - 1
            if leader >= 0 and self._take("BecomeFollower", follower=broker, leader=leader) is not None:
                self._asked.pop(broker, None)
                self._tell(broker, Says.FOLLOWS, leader=leader, **told)
                return True
        return False

    def _fail(self) -> None:
        """A broker dies, or comes back, and the controller elects another leader where there is none."""
        for broker in self._brokers():
            place, was = self.subject.at[broker], self.subject.members(self.state[self.subject.isr])
            if self._take("Restart", broker=broker, is_clean=True) is not None:
                self._tell(broker, Says.RESTARTS, hw=self.state[place.hw], end=self.state[place.end])
                break
            if sum(bool(self.state[other.down]) for other in self.subject.at) > 0:
                continue
            led = self.state[self.subject.leader] == broker + 1
            hw = self._draw.randrange(self.state[place.hw] + 1)
            if self._take("Crash", self.state[place.end], hw, broker=broker) is not None:
                self._asked = {f: ask for f, ask in self._asked.items() if broker not in (f, ask[0])}
                self._tell_change(broker, was, led)
                break
        was = self.subject.members(self.state[self.subject.isr])
        for broker in self._brokers():
            if self._take("ElectLeader", broker=broker) is not None:
                told = {"leader": broker, "epoch": self.state[self.subject.epoch]}
                self._tell(CONTROLLER, Says.CHANGES, was=was, isr=self.subject.members(self.state[self.subject.isr]), **told)
                break

    def _tell_change(self, broker: int, was: frozenset[int], led: bool) -> None:
        isr = self.subject.members(self.state[self.subject.isr])
        if was == isr and not led:
            self._tell(CONTROLLER, Says.FENCES, broker=broker)
        else:
            self._tell(CONTROLLER, Says.CHANGES, was=was, isr=isr, leader=-1 if led else None)
