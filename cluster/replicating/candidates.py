"""Several controllers with ZooKeeper: one that is it no longer and goes on, the one that follows it, and what each sends.

The first one hears late that it is the controller no longer: the notification is held, or it has begun something before. To
1.0 the session of one that has begun something ends, and it goes on with that in its next session. From 1.1 on it begins the
next one only when it has resigned (KAFKA-5473), and ZooKeeper takes nothing in the old one. /controller is deleted there,
which is how operators make another broker the controller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from acked.cluster.nodes.addresses import CONTROLLER, ZOOKEEPER
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.observe.disk import log_lines
from acked.cluster.observe.zookeeper import (
    CONTROLLER_EPOCH,
    CONTROLLER_NODE,
    ZooKeeperState,
    state_node,
    zookeeper_state,
)
from acked.cluster.playing.script import Script, ScriptStep
from acked.cluster.proxies.frame import Frame, Phase, notifies, writes
from acked.cluster.proxies.gate import Gate
from acked.cluster.replicating.fetching import Gates, close
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.facts import PartitionState

REBALANCES: Mapping[str, str] = {
    "auto.leader.rebalance.enable": "true",
    "leader.imbalance.check.interval.seconds": "1",
}
"""By these a controller moves leadership to the first replica by itself, as it does unless it is told not to."""
_REBALANCED = 15.0
"""Seconds that this may take: it begins five after the election of the controller."""
_NO_TOPIC, _NOT_CONTROLLER = "none-of-this-name", 41
_RESIGNS_FIRST = (1, 1)
"""From then on a broker whose session has ended resigns before it begins another."""
MOVES = "MoveLeadershipAsController"


def controller_settings(script: Script) -> Mapping[str, str]:
    """Settings of the first controller alone."""
    return REBALANCES if any(step.action == MOVES for step in script.steps) else {}


class Candidates:
    """The brokers that may be the controller, by the model's number: the first controller, and those without replicas.

    `ask_epochs` lets a follower ask a leader where epochs end, until it fetches.
    """

    def __init__(self, cluster: Cluster, topic: Topic, script: Script, gates: Gates,
                 ask_epochs: Callable[[int, int], None], seconds: float) -> None:  # fmt: skip
        self._cluster, self._topic, self._script, self._gates = cluster, topic, script, gates
        self._ask_epochs, self.seconds = ask_epochs, seconds
        self._nodes = (CONTROLLER, *cluster.plan.other_candidates)
        self._replicas = tuple(range(len(script.initial["log"])))
        self._orders: dict[tuple[int, int], Gate] = {}
        """By candidate and broker: what the one tells the other about who leads."""
        self._races: dict[int, Gate] = {}
        """By node: its request to be the controller."""
        self._notices: dict[int, Gate] = {}
        """By candidate: what would tell it that it is the controller no longer."""
        self._begun: dict[int, Gate] = {}
        """By candidate: the write that it has begun while it was the controller."""
        self._increments: dict[int, tuple[Gate, int]] = {}
        """By candidate: its write of the next controller epoch, and the epoch before."""
        self._epochs: dict[int, int] = {}
        """By candidate: the leader epoch that it tells brokers."""
        self._log_sizes: dict[int, int] = {}

    def hold_orders(self) -> None:
        """From now on brokers hear of nothing from any candidate; what the first one says is held already."""
        for broker in self._replicas:
            self._orders[0, broker] = self._gates.orders[broker]
            for candidate, node in enumerate(self._nodes[1:], start=1):
                self._orders[candidate, broker] = self._cluster.network.hold(node, broker, Api.LEADER_AND_ISR)

    # -- who is the controller --------------------------------------------------------------------------------------------

    def _expire(self, step: ScriptStep) -> None:
        candidate = step.arguments["controller"]
        node = self._nodes[candidate]
        self._log_sizes[candidate] = self._cluster.nodes[node].log.stat().st_size
        with self._zookeeper() as state:
            target = self._moves_later(step)
            if target is None:
                self._notices[candidate] = self._hold_zookeeper(node, partial(notifies, path=CONTROLLER_NODE), Phase.RESPONSE)
            else:
                self._begin_move(candidate, target, state)
            for other in self._cluster.addresses.nodes:
                if other != node:
                    self._races[other] = self._hold_zookeeper(other, partial(writes, path=CONTROLLER_NODE))
            if target is not None and self._cluster.plan.release.number < _RESIGNS_FIRST:
                self._cluster.network.end_sessions(node)
            else:
                state.delete_controller()

    def _moves_later(self, expired: ScriptStep) -> int | None:
        """The broker to which the candidate moves leadership before it resigns; None if it does not."""
        for step in self._script.steps[expired.index :]:
            if step.arguments.get("controller") == expired.arguments["controller"]:
                if step.action == MOVES:
                    return int(step.arguments["broker"])
                if step.action == "ResignAsController":
                    break
        return None

    def _begin_move(self, candidate: int, target: int, state: ZooKeeperState) -> None:
        """The controller finds that the first replica does not lead, and is about to write that it does: that is held."""
        topic, leads = self._topic.name, f'"leader":{target},'.encode()
        self._begun[candidate] = self._hold_zookeeper(
            self._nodes[candidate], lambda frame: writes(frame, state_node(topic)) and leads in frame.payload
        )
        before = state.partition(topic)
        assert before is not None
        state.reorder(topic, (target, *(one for one in self._replicas if one != target)), self.seconds)
        after = state.partition(topic)
        assert after is not None
        if after.leader_epoch > before.leader_epoch:  # Brokers hear of the new order before anything happens.
            for broker in (after.leader, *(one for one in self._replicas if one != after.leader)):
                self._take(candidate, broker, after.leader_epoch)
                if broker != after.leader:
                    self._ask_epochs(broker, after.leader)
        self._begun[candidate].wait(_REBALANCED + self.seconds)

    def _create(self, step: ScriptStep) -> None:
        """The candidate is the first to create /controller; its controller epoch waits, where that is a write of its own."""
        candidate = step.arguments["controller"]
        node = self._nodes[candidate]
        with self._zookeeper() as state:
            write = self._hold_zookeeper(node, partial(writes, path=CONTROLLER_EPOCH))
            self._increments[candidate] = write, state.controller_epoch()
            self._races[node].let(seconds=self.seconds)
            what = f"that node {node} is the controller"
            wait_for(lambda: state.controller() == node, what, self.seconds, self._cluster.check)
        for gate in self._races.values():
            gate.lift()
        self._races = {}

    def _take_epoch(self, step: ScriptStep) -> None:
        """Returns when the candidate tells every replica what it has read."""
        candidate = step.arguments["controller"]
        gate, before = self._increments.pop(candidate)
        with self._zookeeper() as state:

            def look() -> bool:
                return bool(gate.held) or state.controller_epoch() > before

            wait_for(look, f"candidate {candidate}'s controller epoch", self.seconds, self._cluster.check)
        gate.lift()
        for broker in self._replicas:
            order = self._orders[candidate, broker].wait(self.seconds)
            states = order.facts if isinstance(order.facts, tuple) else ()
            self._epochs[candidate] = next((one.epoch for one in states if isinstance(one, PartitionState)), -1)

    def _become(self, step: ScriptStep) -> None:
        self._create(step)
        self._take_epoch(step)

    def _move(self, step: ScriptStep) -> None:
        """What the old controller has begun goes on to ZooKeeper, which takes it or not."""
        self._begun.pop(step.arguments["controller"]).lift()

    def _resign(self, step: ScriptStep) -> None:
        """The old controller hears that it is the controller no longer; what it has not sent is not sent."""
        candidate = step.arguments["controller"]
        log = self._cluster.nodes[self._nodes[candidate]].log
        notice = self._notices.pop(candidate, None)
        if notice is not None:
            notice.lift()

        def look() -> bool:
            for broker in self._replicas:
                gate = self._orders[candidate, broker]
                for frame in gate.held:
                    close(gate, frame)  # It waits for answers before it ends its connections.
            return bool(log_lines(log, "[Rr]esigned", self._log_sizes[candidate]))

        wait_for(look, f"that candidate {candidate} has resigned", self.seconds, self._cluster.check)

    # -- what brokers hear ------------------------------------------------------------------------------------------------

    def _hear(self, step: ScriptStep) -> None:
        candidate = step.arguments["controller"]
        broker = next(step.arguments[key] for key in ("broker", "follower", "leader") if key in step.arguments)
        self._take(candidate, broker, self._epochs[candidate])
        self._gates.close_fetches(broker)

    def _take(self, candidate: int, broker: int, epoch: int) -> None:
        gate = self._orders[candidate, broker]
        self._gates.take_order(gate, broker, self._topic.name, epoch, self.seconds, self._cluster.check)

    def broken_promises(self) -> dict[str, bool]:
        """Which promises about controllers are broken now."""
        return {"BrokersFollowZookeeper": not self._are_followed(), "OneController": len(self._acting()) > 1}

    def _acting(self) -> list[int]:
        """The nodes that take themselves for the controller: asked to delete a topic that is not there, they look for it."""

        def acts(node: int) -> bool:
            with self._cluster.client(node) as ask:
                return ask.delete_topic(_NO_TOPIC) != _NOT_CONTROLLER

        return [node for node in self._nodes if acts(node)]

    def _are_followed(self) -> bool:
        """Whether every replica takes itself for the leader if ZooKeeper says so, and else not; but for those that are
        down, and those to which something is still on its way.
        """
        found = self._topic.observe()
        leader = None if found.partition is None else found.partition.leader
        settled = [
            broker
            for broker in self._replicas
            if broker in found.running and not any(self._orders[candidate, broker].held for candidate in self._epochs)
        ]
        return all(self._topic.answers_as_leader(broker) == (broker == leader) for broker in settled)

    # -- inside -----------------------------------------------------------------------------------------------------------

    def _zookeeper(self) -> AbstractContextManager[ZooKeeperState]:
        return zookeeper_state(self._cluster.addresses.zookeeper)

    def _hold_zookeeper(self, node: int, predicate: Callable[[Frame], bool], phase: Phase = Phase.REQUEST) -> Gate:
        return self._cluster.network.hold(node, ZOOKEEPER, None, phase, predicate)


STEPS_OF_CANDIDATES: Mapping[str, Callable[[Candidates, ScriptStep], None]] = {
    "Expire": Candidates._expire,
    "CreateControllerNode": Candidates._create,
    "TakeControllerEpoch": Candidates._take_epoch,
    "BecomeController": Candidates._become,
    MOVES: Candidates._move,
    "ResignAsController": Candidates._resign,
    "HearOfController": Candidates._hear,
    "BecomeLeaderAsTold": Candidates._hear,
    "BecomeFollowerAsTold": Candidates._hear,
}
"""By action of the model, what it takes on real brokers."""
