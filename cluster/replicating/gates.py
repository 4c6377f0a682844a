"""The gates of the driver: whatever brokers say to each other about replication waits, until a step lets one frame go on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import permutations

from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.proxies.frame import Frame, Phase
from acked.cluster.proxies.gate import Gate
from acked.cluster.proxies.network import Network
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.facts import PartitionState
from acked.cluster.wire.older import leader_and_isr_answer

FETCHES = (Api.FETCH, Api.OFFSET_FOR_LEADER_EPOCH)


class Gates:
    """The gates on every pair of replicas, and between each replica and the controller.

    `fetches` hold what a follower asks a leader, by both; `orders` what tells a broker who leads: LeaderAndIsr, or with KRaft
    the fetches of metadata; `asks` and `answers` the requests for another ISR and what the controller says to them.
    """

    def __init__(self, network: Network, mode: Mode, replicas: Sequence[int]) -> None:
        self._network, self._mode = network, mode
        self.fetches = {pair: network.hold(*pair, FETCHES) for pair in permutations(replicas, 2)}
        self.orders: dict[int, Gate] = {}
        self.asks = {broker: network.hold(broker, CONTROLLER, Api.ALTER_PARTITION) for broker in replicas}
        self.answers = {
            broker: network.hold(broker, CONTROLLER, Api.ALTER_PARTITION, Phase.RESPONSE) for broker in replicas
        }

    def hold_orders(self, brokers: Collection[int]) -> None:
        """From now on these brokers hear of nothing before they are let."""
        for broker in brokers:
            if self._mode is Mode.KRAFT:
                self.orders[broker] = self._network.hold(broker, CONTROLLER, Api.FETCH)
            else:
                self.orders[broker] = self._network.hold(CONTROLLER, broker, Api.LEADER_AND_ISR)

    def release_orders(self, broker: int) -> None:
        """A broker hears of everything as it comes."""
        self.orders.pop(broker).lift()

    def take_order(self, gate: Gate, broker: int, topic: str, epoch: int | None, seconds: float,
                   check: Callable[[], None]) -> None:  # fmt: skip
        """Lets a broker hear of a topic in a leader epoch by what waits at a gate: of what was decided before it never hears.

        Returns when it has taken that up.
        """
        while True:
            order = gate.wait(seconds)
            states = [one for one in order.facts if isinstance(one, PartitionState)] if isinstance(order.facts, tuple) else []
            mine = [one for one in states if one.topic in (topic, "") or len(states) == 1]
            if mine and epoch is not None and mine[0].epoch < epoch:
                # Answered in the broker's name, as if another controller had come, which says only what is now.
                gate.answer(leader_and_isr_answer(order.version, order.correlation), order)
                continue
            answers = self.response_to(order)
            gate.let(order)

            def look(answers: Gate = answers) -> tuple[Frame, ...]:
                # A broker ends its fetcher before it answers, and that one waits for an answer of its own.
                self.close_fetches(broker)
                return answers.held

            wait_for(look, f"that broker {broker} has taken up what it is told", seconds, check)
            answers.lift()
            if mine:
                return

    def response_to(self, request: Frame) -> Gate:
        """A gate for the response to one request that is still held."""
        return self._network.hold(
            request.source,
            request.target,
            request.api,
            Phase.RESPONSE,
            lambda frame: frame.connection == request.connection and frame.correlation == request.correlation,
        )

    def close_fetches(self, follower: int) -> None:
        """Breaks the connections on which the follower's fetches wait: what it asks next, it asks in its new role."""
        for (source, _), gate in self.fetches.items():
            if source == follower:
                for frame in gate.held:
                    close(gate, frame)


def close(gate: Gate, frame: Frame) -> None:
    """Breaks the connection of a held frame, if it is still there."""
    try:
        gate.close(frame)
    except NotSeen:
        pass  # Its broker was faster.


def let_all(gate: Gate) -> None:
    """Lets all held frames go on that are still there."""
    for frame in gate.held:
        try:
            gate.let(frame)
        except NotSeen:
            pass  # Its broker was faster.
