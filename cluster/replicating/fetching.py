"""The gates of the driver: whatever brokers say to each other about replication waits, until a step lets one frame go on.

What followers ask leaders goes on by `Fetches`: fetches, each with its response held in between, and where epochs end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import permutations

from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.playing.driver import Parted
from acked.cluster.playing.script import ScriptStep
from acked.cluster.proxies.frame import Frame, Phase
from acked.cluster.proxies.gate import Gate
from acked.cluster.proxies.network import Network
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.compare import agrees
from acked.cluster.topics.topic import Topic
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.facts import FetchRequest, FetchResponse, PartitionState
from acked.cluster.wire.older import leader_and_isr_answer

_OUT_OF_RANGE = 1
_ROUNDS = 3
"""Fetches that say nothing new, at the most, before a follower asks anew."""
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

    def follow_metadata(self, topic: Topic, broker: int, truth: PartitionView, seconds: float) -> None:
        """Lets a broker hear of all that KRaft's controller has decided, until it knows that of a topic."""
        gate = self.orders[broker]

        def look() -> bool:
            view = topic.view(broker)
            if view is not None and agrees(view, truth):
                return True
            let_all(gate)
            self.close_fetches(broker)
            return False

        wait_for(look, f"that broker {broker} has heard from the controller", seconds, topic.cluster.check)

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


class Fetches:
    """Lets what waits at the gates of fetches go on. `seconds` is how long an effect may take to be seen."""

    def __init__(self, gates: Gates, seconds: float) -> None:
        self._gates, self.seconds = gates, seconds

    def _request(self, follower: int, leader: int, wanted: Api) -> Frame:
        gate = self._gates.fetches[follower, leader]
        try:
            frame = gate.wait(self.seconds)
        except NotSeen:
            raise Parted(f"broker {follower} asks broker {leader} for nothing") from None
        if frame.api != wanted:
            does = {Api.FETCH: "fetches", Api.OFFSET_FOR_LEADER_EPOCH: "asks where its epoch ends"}
            raise Parted(f"broker {follower} {does[Api(frame.api or 0)]} at broker {leader}")
        return frame

    def _response(self, step: ScriptStep, is_again: bool = False) -> tuple[Gate, Gate, Frame]:
        """Lets the follower's fetch go on; the gates of requests and of its response, and the response, which is held.

        A fetch that is told where epochs diverge, and has nothing to cut, is made again once.
        """
        follower, leader = pair_of(step)
        request = self._request(follower, leader, Api.FETCH)
        for _ in range(_ROUNDS):
            if not isinstance(request.facts, FetchRequest) or request.facts.positions or not request.facts.forgets:
                break
            # It fetches nothing: a follower that has cut its log takes the partition out of the session first.
            self._answer_fetch(self._gates.fetches[follower, leader], request)
            request = self._request(follower, leader, Api.FETCH)
        wanted, facts = step.before["log"][follower]["end"], request.facts
        if isinstance(facts, FetchRequest) and facts.positions and facts.positions[0].offset != wanted:
            raise Parted(f"broker {follower} fetches at offset {facts.positions[0].offset}, in the model at {wanted}")
        gate, answers = self._gates.fetches[follower, leader], self._gates.response_to(request)
        gate.let(request)
        try:
            response = answers.wait(self.seconds)
        except NotSeen:
            answers.lift()
            raise Parted(f"broker {leader} does not answer broker {follower}'s fetch") from None
        if step.action == "FetchDiverging" or is_again or not cuts_nothing(response, wanted):
            return gate, answers, response
        # The follower led in an epoch in which it wrote nothing. It forgets that epoch first, and then asks anew.
        answers.let(response)
        answers.lift()
        for _ in range(_ROUNDS):
            again = gate.wait(self.seconds)
            if not isinstance(again.facts, FetchRequest) or again.facts.positions:
                break
            self._answer_fetch(gate, again)
        return self._response(step, is_again=True)

    def _answer_fetch(self, gate: Gate, request: Frame) -> None:
        answers = self._gates.response_to(request)
        gate.let(request)
        answers.let(seconds=self.seconds)
        answers.lift()

    def fetch(self, step: ScriptStep) -> None:
        """A fetch whose response reaches the follower."""
        gate, answers, response = self._response(step)
        error = error_of(response)
        if error and not (step.action == "FetchDiverging" and error == _OUT_OF_RANGE):
            answers.lift()
            follower, leader = pair_of(step)
            raise Parted(f"broker {leader} answers broker {follower}'s fetch with {error_name(error)}")
        answers.let(response)
        answers.lift()
        gate.wait(self.seconds)  # The next request: so the follower has taken the answer in.

    def fetch_unanswered(self, step: ScriptStep) -> None:
        """A fetch whose response is lost with its connection."""
        gate, answers, response = self._response(step)
        error = error_of(response)
        close(answers, response)
        answers.lift()
        if error:
            follower, leader = pair_of(step)
            raise Parted(f"broker {leader} answers broker {follower}'s fetch with {error_name(error)}")
        gate.wait(self.seconds)

    def ask_epochs(self, follower: int, leader: int) -> None:
        """Lets a follower ask where epochs end until it fetches; one whose log is empty may ask nothing."""
        gate = self._gates.fetches[follower, leader]
        while True:
            try:
                frame = gate.wait(self.seconds)
            except NotSeen:
                raise Parted(f"broker {follower} asks broker {leader} for nothing") from None
            if frame.api == Api.FETCH:
                return
            gate.let(frame)


def pair_of(step: ScriptStep) -> tuple[int, int]:
    """The follower and the leader of a step."""
    return step.arguments["follower"], step.arguments["leader"]


def error_of(response: Frame) -> int:
    """The error of a Fetch response, 0 for none."""
    facts = response.facts
    if not isinstance(facts, FetchResponse):
        return 0
    return facts.error or next((one.error for one in facts.partitions if one.error), 0)


def cuts_nothing(response: Frame, end: int) -> bool:
    """Whether a fetch from the log end is answered with where epochs diverge, at or beyond that end."""
    facts = response.facts
    diverging = facts.partitions[0].diverging if isinstance(facts, FetchResponse) and facts.partitions else None
    return diverging is not None and diverging[1] >= end
