"""The steps of coordinators on real brokers: elections, what brokers hear and fetch, commits, an unloading that is late.

A coordinator loads and unloads by itself as soon as its broker hears of an election. Late is its unloading where the queue of
the partition is long: requests of another group stand before it, while news of the high watermark go before all
(`CoordinatorRuntime.HighWatermarkListener`).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from acked.cluster.coordinating.members import Members
from acked.cluster.coordinating.offsets import (
    COMMIT,
    INPUT,
    NO_OFFSET,
    OFFSETS,
    Committers,
    OffsetsTopic,
    commit_values,
    committed,
)
from acked.cluster.coordinating.script import is_late, is_queued, offset_of, values_of
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.playing.driver import Driver, Parted
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.script import ScriptStep
from acked.cluster.proxies.gate import Gate
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.compare import value_of
from acked.cluster.replicating.fetching import Fetches, Gates, close, pair_of
from acked.cluster.replicating.producers import Answers, NotAppended
from acked.cluster.topics.topic import Topic, TopicView
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.client import BrokerGone
from acked.cluster.wire.codec import write_request
from acked.cluster.wire.transactional import COORDINATOR_AWAY
from acked.model.coordinator.settings import expiry
from acked.model.coordinator.state import ACTIVE

_COMPACTED = {"cleanup.policy": "compact"}
_OTHERS = "others"
_REQUESTS, _IN_ONE = 60, 10_000
"""Commits of others that a coordinator has to do first, and how many offsets each has."""


class CoordinatorDriver(Driver[TopicView, Answers]):
    """Leads the brokers that have a partition of `__consumer_offsets`, and clients of a group."""

    def __init__(self, prepared: PreparedRun, cluster: Cluster, topic: str, seconds: float) -> None:
        self.cluster, self.script, self.seconds = cluster, prepared.script, seconds
        self.topic = OffsetsTopic(cluster)
        self.brokers = tuple(range(prepared.setting.replicas))
        self.gates: Gates
        self.committers = Committers(self.topic, seconds)
        self.members = Members(cluster, seconds) if prepared.question.instance.constants[expiry.name] else None
        self._is_kraft, self._is_queued = cluster.plan.mode is Mode.KRAFT, is_queued(cluster.plan.release)
        self._fetched: dict[tuple[int, int], Gate] = {}
        """By follower and leader: what holds the answer to a fetch by which the leader has learned the follower's log end."""
        self._others: list[socket.socket] = []
        self._long = write_request(Api.OFFSET_COMMIT, COMMIT, 1, commit_values(_OTHERS, 1, times=_IN_ONE))
        self._plain: tuple[int, int] | None = None
        self._stable = (0, NO_OFFSET)
        """Error and offset that the last leader says, asked in the one way and the other, in the end."""

    # -- before and after -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Creates the partition as its first election says; nobody hears of another from then on."""
        Topic(self.cluster, INPUT).create([self.script.order[0]])
        self.topic.create(self.script.order, _COMPACTED)
        first = self.script.order[0]
        self._await_coordinator(first)
        if self.members is not None:
            self.members.begin(first)
            self.committers.mine = self.members.mine
        self.gates = Gates(self.cluster.network, self.cluster.plan.mode, self.brokers)
        self.gates.hold_orders(self.brokers)
        fetches = Fetches(self.gates, self.seconds)
        for follower in self.script.order[1:]:
            fetches.ask_epochs(follower, first)
        if self._is_kraft:
            for broker in self.brokers:
                self.gates.orders[broker].wait(self.seconds)
        self.topic.begin_lines()

    def close(self) -> None:
        for closed in (*self._others, self.committers, self.members):
            if closed is not None:
                closed.close()
        self.cluster.network.lift()

    def hurry(self, seconds: float) -> None:
        self.seconds = self.committers.seconds = seconds

    def observe(self) -> TopicView:
        return self.topic.observe()

    def lines(self) -> tuple[str, ...]:
        return self.topic.new_lines()

    def losses(self) -> tuple[str, ...]:
        return self.topic.losses()

    def answers(self) -> Answers:
        self.committers.hear()
        return self.committers.answers()

    def check_answers(self, step: ScriptStep) -> None:
        """`Parted` if a commit that is acknowledged in the model is not; which are refused, the model does not say."""
        newest, committers = step.after["acked"], self.committers
        if newest > step.before["acked"] and not committers.await_acknowledgement(newest, self.seconds):
            error = committers.refused.get(newest)
            why = f"is answered with {error_name(error)}" if error else "has no answer"
            raise Parted(f"commit {value_of(newest)} {why}, and in the model it is acknowledged")

    def end(self) -> TopicView:
        """What is seen when the leader says what it has, before brokers have heard anything more, and after."""
        leader = self.topic.truth().leader
        with suppress(BrokerGone):
            self._plain = committed(self.cluster, leader, False)
        seen = self.observe()
        self.cluster.network.lift()
        for client in self._others:
            client.close()
        with suppress(NotSeen):
            self._await_coordinator(leader)
        self._stable = committed(self.cluster, leader, True)
        self.committers.hear()
        return seen

    def broken_promises(self, moments: Sequence[TopicView]) -> Mapping[str, bool]:
        newest = max(self.answers().acknowledged, default=0)
        error, offset = self._stable
        plain = {} if self._plain is None or self._plain[0] else {"PlainFetchesAreCurrent": self._plain[1] < newest}
        return {"AcknowledgedCommitsSurvive": not error and offset < newest, "LoadingEnds": error != 0, **plain}

    def _await_coordinator(self, broker: int) -> None:
        what = f"the coordinator of broker {broker}"
        wait_for(lambda: committed(self.cluster, broker, True)[0] == 0, what, self.seconds, self.cluster.check)

    # -- steps ------------------------------------------------------------------------------------------------------------

    def perform(self, step: ScriptStep) -> None:
        STEPS[step.action](self, step)

    def _elect(self, step: ScriptStep) -> None:
        broker = step.arguments["broker"]
        if step.before["epoch"] > 0:  # The first is elected when the partition is created.
            order = (broker, *(other for other in self.brokers if other != broker))
            move_leadership(self.cluster, OFFSETS, order, self.seconds)

    def _learn(self, step: ScriptStep) -> None:
        broker = step.arguments["broker"]
        if is_late(self.script.steps, step.index - 1):
            self._keep_busy(broker)
        for pair in [pair for pair in self._fetched if broker in pair]:
            gate = self._fetched.pop(pair)
            for frame in gate.held:  # To 2.0 a broker waits for what its fetcher is to be answered.
                close(gate, frame)
            gate.lift()
        self._hear(broker, step.before["epoch"] == 1)
        self.gates.close_fetches(broker)

    def _hear(self, broker: int, is_first: bool) -> None:
        """A broker hears who leads; with ZooKeeper it has heard of the first election when the partition was created."""
        truth = self.topic.truth()
        if self._is_kraft:
            self.gates.follow_metadata(self.topic, broker, truth, self.seconds)
        elif not is_first:
            order = self.gates.orders[broker]
            self.gates.take_order(order, broker, OFFSETS, truth.epoch, self.seconds, self.cluster.check)

    def _keep_busy(self, broker: int) -> None:
        """Has the coordinator so much to do for others that what comes now waits for seconds."""
        for _ in range(_REQUESTS):
            address = ("127.0.0.1", self.cluster.addresses.client[broker])
            self._others.append(socket.create_connection(address, self.seconds))
            self._others[-1].sendall(self._long)

    def _fetch(self, step: ScriptStep) -> None:
        follower, leader = pair_of(step)
        wanted, gate = values_of(step.after, follower), self.gates.fetches[follower, leader]
        held = self._fetched.pop((follower, leader), None)
        if held is not None:
            held.lift()
        elif self.topic.replica(follower).values == wanted:
            gate.let(seconds=self.seconds)

        def look() -> bool:
            gate.wait(self.seconds)  # Its next request: so it has taken in what it was answered.
            if self.topic.replica(follower).values == wanted:
                return True
            gate.let(seconds=self.seconds)
            return False

        wait_for(look, f"that broker {follower} has what broker {leader} has", self.seconds, self.cluster.check)

    def _advance(self, step: ScriptStep) -> None:
        leader = step.arguments["leader"]
        for follower in step.before["isr"]:
            if follower != leader:
                gate = self.gates.fetches[follower, leader]
                request = gate.wait(self.seconds)
                self._fetched[follower, leader] = self.gates.response_to(request)
                gate.let(request)

    def _commit(self, step: ScriptStep) -> None:
        broker, commit = step.arguments["broker"], step.after["sent"]
        try:
            self.committers.send(commit, broker)
        except NotAppended as error:
            raise Parted(str(error)) from None

    def _end_load(self, step: ScriptStep) -> None:
        """A broker loads by itself; what it has loaded is asked for where nothing was said before."""
        broker = step.arguments["broker"]
        if step.after["broker"][broker]["phase"] != ACTIVE:
            return
        last: list[tuple[int, int]] = []

        def look() -> bool:
            last[:] = [committed(self.cluster, broker, False)]
            return last[0][0] not in COORDINATOR_AWAY

        wait_for(look, f"that broker {broker} has loaded", self.seconds, self.cluster.check)
        error, offset = last[0]
        wanted = offset_of(step.after, broker, self._is_queued)
        if error or offset != wanted:
            said = error_name(error) if error else f"offset {offset}"
            raise Parted(f"broker {broker} has loaded, and answers with {said}, in the model with offset {wanted}")

    def _expire(self, step: ScriptStep) -> None:
        broker = step.arguments["broker"]
        try:
            gone = (0, NO_OFFSET)
            wait_for(lambda: committed(self.cluster, broker, False) == gone, "an end", self.seconds, self.cluster.check)
        except NotSeen:
            raise Parted(f"broker {broker} keeps the offset, which expires in the model") from None

    def _of_members(self, step: ScriptStep) -> None:
        """The group's members ask the broker that leads."""
        assert self.members is not None
        leader = self.topic.truth().leader
        if step.action == "Leave":
            self.members.leave(leader)
        elif step.action == "Join":
            self.members.join(leader)
        else:
            self.members.wait()

    def _by_itself(self, step: ScriptStep) -> None:
        """Brokers do it as soon as they can."""


STEPS: Mapping[str, Callable[[CoordinatorDriver, ScriptStep], object]] = {
    "Elect": CoordinatorDriver._elect,
    "Learn": CoordinatorDriver._learn,
    "Fetch": CoordinatorDriver._fetch,
    "Advance": CoordinatorDriver._advance,
    "Commit": CoordinatorDriver._commit,
    "EndLoad": CoordinatorDriver._end_load,
    "Expire": CoordinatorDriver._expire,
    **dict.fromkeys(("Leave", "Join", "LetTimePass"), CoordinatorDriver._of_members),
    **dict.fromkeys(("DoDuty", "Answer"), CoordinatorDriver._by_itself),
}
"""The actions of the model that have a step here."""
