"""What is done to the brokers of a topic that is exercised: each disturbance, or that the moment is not right for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from acked.base.errors import SystemFailure
from acked.cluster.exercising.course import Disturbance, Kind
from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership, reassign
from acked.cluster.proxies.frame import Phase
from acked.cluster.proxies.gate import Gate
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api

_MOVE_SECONDS = 10.0
_ISR_SECONDS = 30.0
"""How long an operator waits for a broker to be in sync again before the next one."""
_MOVES_BEHIND = 3
"""How often leadership moves while a broker stands still."""


class Disturber:
    """Disturbs the brokers of one topic, all of whose partitions are on all of them."""

    def __init__(
        self, cluster: Cluster, topic: str, beside: str, partitions: int, brokers: tuple[int, ...],
        sleep: Callable[[float], bool],
    ) -> None:  # fmt: skip
        """`beside` is another topic, of which replicas move; `sleep` waits, and returns False where the time of the whole
        exercise is over meanwhile.
        """
        self._cluster, self._topic, self._beside, self._brokers, self._sleep = cluster, topic, beside, brokers, sleep
        self._orders = [(*brokers[n % 3 :], *brokers[: n % 3]) for n in range(partitions)]
        """The order of each partition's replicas, as the topic was made with it."""

    def disturb(self, one: Disturbance) -> bool:
        """Does it and undoes it; False if the moment is not right for it, as when the broker does not run."""
        try:
            return self._cluster.nodes[one.broker].is_running and self._do(one)
        except (NotSeen, SystemFailure):
            return False  # Such as a connection that was gone at that moment.

    def is_whole(self) -> bool:
        """Whether every partition has a leader, and all brokers in its ISR."""
        with self._cluster.admin() as ask:
            views = ask.metadata([self._topic]).topics.get(self._topic, {})
        return len(views) == len(self._orders) and all(
            view.leader in self._brokers and set(view.isr) == set(self._brokers) for view in views.values()
        )

    def mend(self) -> None:
        """Everything that waits goes on, and every broker runs."""
        self._cluster.network.lift()
        for broker in self._brokers:
            if not self._cluster.nodes[broker].is_running:
                self._cluster.restart(broker)

    def _do(self, one: Disturbance) -> bool:
        cluster = self._cluster
        match one.kind:
            case Kind.KILL | Kind.LOSE_CACHE:
                cluster.kill(one.broker)
                if one.kind is Kind.LOSE_CACHE:
                    self._lose_cache(one)
                self._sleep(one.lasts)
                cluster.restart(one.broker)
            case Kind.SHUT_DOWN:
                cluster.shut_down(one.broker)
                self._sleep(one.lasts)
                cluster.restart(one.broker)
            case Kind.ROLL:
                return self._roll(one)
            case Kind.REPLACE_DISK:
                return self._replace_disk(one)
            case Kind.PAUSE:
                with self._paused(one.broker):
                    self._sleep(one.lasts)
            case Kind.FALL_BEHIND:
                return self._fall_behind(one)
            case Kind.SILENCE if cluster.plan.mode is Mode.ZOOKEEPER:
                cluster.network.end_sessions(one.broker)  # It finds so when it pings next, and opens another.
                self._sleep(one.lasts)
            case Kind.SILENCE:
                self._hold(one, Api.BROKER_HEARTBEAT, Phase.REQUEST)
            case Kind.HOLD_FETCHES:
                self._hold(one, Api.FETCH, Phase.RESPONSE)
            case Kind.HOLD_CHANGE:
                self._hold(one, Api.ALTER_PARTITION, Phase.REQUEST)
            case Kind.LOSE_ANSWER:
                gate = self._gate(one, Api.FETCH, Phase.RESPONSE)
                try:
                    gate.close(seconds=2.0)
                finally:
                    gate.lift()
            case Kind.MOVE:
                return self._move(self._chosen(one))
            case Kind.ELECT:
                return self._elect_all()
            case Kind.REASSIGN:
                return self._reassign(one)
        return True

    # -- processes --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _paused(self, broker: int) -> Iterator[None]:
        jvm = self._cluster.nodes[broker].jvm
        assert jvm is not None
        os.kill(jvm.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(jvm.pid, signal.SIGCONT)

    def _roll(self, one: Disturbance) -> bool:
        """A rolling restart as operators do it: the next broker only when the one before is in every ISR again."""
        at = self._brokers.index(one.broker)
        for broker in (*self._brokers[at:], *self._brokers[:at]):
            wait_for(self.is_whole, f"that all replicas of {self._topic} are in sync", _ISR_SECONDS)
            self._cluster.shut_down(broker)
            is_over = not self._sleep(one.lasts)
            self._cluster.restart(broker)
            if is_over:
                return True
        return True

    def _replace_disk(self, one: Disturbance) -> bool:
        if not self.is_whole():
            return False
        self._cluster.shut_down(one.broker)
        self._cluster.replace_disk(one.broker)
        self._sleep(one.lasts)
        self._cluster.restart(one.broker)
        with suppress(NotSeen):  # It fetches everything anew; whoever else fails meanwhile may be the last that has it.
            wait_for(self.is_whole, f"that broker {one.broker} has all of {self._topic} again", _ISR_SECONDS)
        return True

    def _lose_cache(self, one: Disturbance) -> None:
        for partition in range(len(self._orders)):
            records = self._cluster.replica(one.broker, self._topic, partition).log
            first = records[0].offset if records else 0
            end = records[-1].offset + 1 if records else 0
            flushed = first + int(one.share * (end - first + 1))
            self._cluster.lose_page_cache(one.broker, self._topic, flushed, partition)

    # -- frames -----------------------------------------------------------------------------------------------------------

    def _hold(self, one: Disturbance, api: Api, phase: Phase) -> None:
        gate = self._gate(one, api, phase)
        try:
            self._sleep(one.lasts)
        finally:
            gate.lift()

    def _gate(self, one: Disturbance, api: Api, phase: Phase) -> Gate:
        # Brokers fetch the controllers' own log, too, which is no partition's.
        among = (lambda frame: frame.target != CONTROLLER) if api is Api.FETCH else None
        return self._cluster.network.hold(source=one.broker, api=api, phase=phase, predicate=among)

    # -- leadership -------------------------------------------------------------------------------------------------------

    def _chosen(self, one: Disturbance) -> int:
        return int(one.share * len(self._orders))

    def _move(self, partition: int) -> bool:
        if self._cluster.plan.mode is Mode.ZOOKEEPER:
            # Another order of the replicas is a reassignment, which takes a leader epoch of its own there.
            with self._cluster.admin() as ask:
                return ask.elect_preferred(self._topic, partition) == 0
        order = self._orders[partition]
        self._orders[partition] = (*order[1:], order[0])
        move_leadership(self._cluster, self._topic, self._orders[partition], _MOVE_SECONDS, partition)
        return True

    def _elect_all(self) -> bool:
        """Whether any partition has another leader then."""
        with self._cluster.admin() as ask:
            errors = [ask.elect_preferred(self._topic, partition) for partition in range(len(self._orders))]
        return 0 in errors

    def _fall_behind(self, one: Disturbance) -> bool:
        with self._paused(one.broker):
            moves = 0
            for _ in range(_MOVES_BEHIND):
                with suppress(NotSeen, SystemFailure):  # Nobody is elected that is fenced, or out of the ISR.
                    moves += self._move(self._chosen(one))
            self._sleep(one.lasts)
        return moves > 0

    def _reassign(self, one: Disturbance) -> bool:
        """The other topic's replicas are two brokers, this one first."""
        at = self._brokers.index(one.broker)
        reassign(self._cluster, self._beside, [one.broker, self._brokers[at - 1]])
        return True
