"""The driver: for every action of the model what it takes on real brokers, each ended by something that is seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from acked.cluster.nodes.addresses import CLIENT
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership, reassign
from acked.cluster.observe.disk import HIGH_WATERMARKS, write_high_watermark
from acked.cluster.playing.driver import Driver, Parted
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.script import ScriptStep, State
from acked.cluster.playing.setting import LAG_SECONDS
from acked.cluster.proxies.frame import Frame, Phase
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.candidates import STEPS_OF_CANDIDATES, Candidates
from acked.cluster.replicating.compare import is_up_to_date, value_of
from acked.cluster.replicating.fetching import Fetches, Gates, let_all, pair_of
from acked.cluster.replicating.producers import Answers, NotAppended, Producers
from acked.cluster.replicating.promises import Judge, leader_of, sayings
from acked.cluster.replicating.sessions import Sessions, shut_down_unhindered
from acked.cluster.topics.topic import Topic, TopicView
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.facts import PartitionState
from acked.model.language.telling import says_brokers
from acked.model.partition.state import ACKED

HEARS = {"BecomeLeader": "leader", "BecomeFollower": "follower"}
"""The actions by which a broker hears who leads, with the parameter that is this broker."""
_UNFENCING = 8.0
"""Seconds that a fenced broker has to be unfenced, for which it needs a heartbeat or two."""


class ReplicationDriver(Driver[TopicView, Answers]):
    """Leads the brokers of a cluster that have a topic of one partition."""

    def __init__(self, prepared: PreparedRun, cluster: Cluster, topic: str, seconds: float) -> None:
        self.cluster, self.script, self.seconds = cluster, prepared.script, seconds
        self._setting = setting = prepared.setting
        self._mode = cluster.plan.mode
        self.topic = Topic(cluster, topic)
        self.replicas = tuple(range(setting.replicas))
        self.gates = Gates(cluster.network, self._mode, self.replicas)
        self.fetches = Fetches(self.gates, seconds)
        self.producers = Producers(self.topic, setting.acks, seconds, setting.is_idempotent)
        self.sessions = Sessions(cluster, self.topic, prepared.brokers.sessions_expire, seconds)
        candidates = Candidates(cluster, self.topic, self.script, self.gates, self.fetches.ask_epochs, seconds)
        self.candidates = candidates if cluster.plan.other_candidates else None
        self._emptied: set[int] = set()
        self._uncommitted: dict[int, Frame] = {}
        """By leader: the controller's answer to its request for another ISR, which is held."""
        self._last_fetch: tuple[int, int] | None = None
        self.reads: list[tuple[int, str]] = []
        self.latest: list[int] = []
        """What consumers have read, by offset, and the latest offsets that clients were told, in order."""

    def begin(self) -> None:
        """Creates the topic in the order that leads to the script's elections; nobody hears of anything from then on."""
        self.topic.create(self.script.order, self._setting.topic)
        self.gates.hold_orders(self.replicas)
        if self.candidates is not None:
            self.candidates.hold_orders()
        leader = self.script.order[0]
        for follower in self.replicas:
            if follower != leader:
                self.fetches.ask_epochs(follower, leader)  # In the initial state followers have done so.
        if self._mode is Mode.KRAFT:
            for broker in self.replicas:
                self.gates.orders[broker].wait(self.seconds)
        self.topic.begin_lines()

    def perform(self, step: ScriptStep) -> None:
        if self.candidates is not None and step.action in STEPS_OF_CANDIDATES:
            STEPS_OF_CANDIDATES[step.action](self.candidates, step)
        else:
            _STEPS[step.action](self, step)
        self._last_fetch = pair_of(step) if step.action.startswith("Fetch") else None
        self.producers.hear()

    def close(self) -> None:
        self.producers.close()
        self.cluster.network.lift()

    def hurry(self, seconds: float) -> None:
        self.seconds = self.fetches.seconds = self.producers.seconds = seconds
        if self.candidates is not None:
            self.candidates.seconds = seconds

    # -- what is seen -----------------------------------------------------------------------------------------------------

    def observe(self) -> TopicView:
        return self.topic.observe()

    def end(self) -> TopicView:
        """What is seen when producers have heard what they were answered."""
        self.producers.hear()
        return self.observe()

    def is_fresh(self, step: ScriptStep, since: int) -> bool:
        """Whether every replica that has heard of a leader has written its high watermarks since."""
        for broker in self.replicas:
            node = self.cluster.nodes[broker]
            if node.is_running and step.after["broker"][broker]["leader_epoch"] is not None:
                try:
                    if (node.data / HIGH_WATERMARKS).stat().st_mtime_ns <= since:
                        return False
                except FileNotFoundError:
                    return False
        return True

    def lines(self) -> tuple[str, ...]:
        return self.topic.new_lines()

    def losses(self) -> tuple[str, ...]:
        return self.topic.losses()

    def answers(self) -> Answers:
        return self.producers.answers()

    def check_answers(self, step: ScriptStep) -> None:
        """The producers have heard what those of the model have."""
        producers = self.producers
        for record, status in enumerate(step.after["producer"]["status"]):
            if status == ACKED and not producers.await_acknowledgement(record, self.seconds):
                error = producers.refused.get(record)
                why = f"is answered with {error_name(error)}" if error else "has no answer"
                raise Parted(f"the producer of {value_of(record)} {why}, and in the model it is acknowledged")
            if status != ACKED and record in producers.acknowledged and step.is_settled:
                raise Parted(f"the producer of {value_of(record)} is acknowledged, and in the model it is not")

    def broken_promises(self, moments: Sequence[TopicView]) -> Mapping[str, bool]:
        alive = set(moments[-1].running) - self.sessions.lost
        judge = Judge(self.script, self.answers(), moments, alive, self.reads, self.latest)
        return {**judge.broken_promises(), **({} if self.candidates is None else self.candidates.broken_promises())}

    def sayings(self, last: TopicView) -> Mapping[str, bool]:
        return sayings(last, leader_of(last))

    # -- producing --------------------------------------------------------------------------------------------------------

    def _produce(self, step: ScriptStep) -> None:
        record, leader = step.arguments["record"], step.arguments["leader"]
        statuses = step.before["producer"]["status"]
        if step.arguments["answered"]:
            self._send(record, leader, statuses)
            return
        answers = self.cluster.network.hold(CLIENT, leader, Api.PRODUCE, Phase.RESPONSE)
        self._send(record, leader, statuses, lambda: bool(answers.held))
        answers.close(seconds=self.seconds)
        answers.lift()
        self.producers.forget(record)

    def _send(
        self, record: int, leader: int, statuses: Sequence[int], is_held: Callable[[], bool] = lambda: False
    ) -> None:
        try:
            self.producers.send(record, leader, statuses, is_held)
        except NotAppended as error:
            raise Parted(str(error)) from None
        except NotSeen:  # As where a retry is known: its answer waits for followers, and they for their steps.
            raise Parted(
                f"broker {leader} has not appended {value_of(record)} after {self.seconds:.0f} seconds, and in the model it "
                "appends it"
            ) from None

    def _retry_known(self, step: ScriptStep) -> None:
        record, leader = step.arguments["record"], step.arguments["leader"]
        self.producers.send_again(record, leader, step.before["producer"]["status"])

    def _lose_request(self, step: ScriptStep) -> None:
        """No broker hears of the record, and its producer, if it wants no answer, takes it for sent."""
        leader = step.before["controller"]["leader"]
        gate = self.cluster.network.hold(CLIENT, self.replicas[0] if leader is None else leader, Api.PRODUCE)
        self.producers.send_again(step.arguments["record"], gate.match.target or 0, step.before["producer"]["status"])
        gate.close(seconds=self.seconds)
        gate.lift()
        self.producers.take_for_sent(step.arguments["record"])

    # -- consuming --------------------------------------------------------------------------------------------------------

    def _read(self, step: ScriptStep) -> None:
        broker, offset = step.arguments["broker"], step.arguments["offset"]
        wanted = value_of(step.after["consumer"]["record"])
        follows = step.before["broker"][broker]["leader"] != broker
        with self.cluster.client(broker) as ask:
            found = ask.fetch(self.topic.name, offset, from_any=follows)
        if found.error or not found.records or found.records[0].text != wanted:
            got = error_name(found.error) if found.error else [record.text for record in found.records]
            raise Parted(f"a consumer that reads at offset {offset} from broker {broker} gets {got}, in the model {wanted}")
        self.reads.append((offset, wanted))

    def _query_latest_offset(self, step: ScriptStep) -> None:
        broker, wanted = step.arguments["leader"], step.after["consumer"]["latest"]
        with self.cluster.client(broker) as ask:
            error, offset = ask.latest_offset(self.topic.name)
        if error or offset != wanted:
            got = error_name(error) if error else str(offset)
            raise Parted(f"a client that asks broker {broker} for the latest offset gets {got}, in the model {wanted}")
        self.latest.append(offset)

    # -- hearing ----------------------------------------------------------------------------------------------------------

    def _hear(self, step: ScriptStep) -> None:
        """A broker hears who leads, as the controller has it now; of what was decided in between it never hears."""
        broker = step.arguments[HEARS[step.action]]
        truth = self.topic.truth()
        if self._mode is Mode.KRAFT:
            self._follow_metadata(broker, truth)
            self._await_all_known(broker, step.after)
            if truth.leader == broker:
                wait_for(lambda: self.topic.leads(broker), f"that broker {broker} leads", self.seconds)
        else:
            order = self.gates.orders[broker]
            self.gates.take_order(order, broker, self.topic.name, truth.epoch, self.seconds, self.cluster.check)
        self.gates.close_fetches(broker)

    def _follow_metadata(self, broker: int, truth: PartitionView) -> None:
        self.gates.follow_metadata(self.topic, broker, truth, self.seconds)

    # -- the ISR ----------------------------------------------------------------------------------------------------------

    def _ask_to_expand(self, step: ScriptStep) -> None:
        leader, follower = step.arguments["leader"], step.arguments["follower"]
        if self._last_fetch != (follower, leader):
            self.fetches.fetch_unanswered(step)  # A leader asks when it is fetched from.
        self._check_asked(step, self.seconds, f"for broker {follower} in the ISR")

    def _check_asked(self, step: ScriptStep, seconds: float, what: str) -> None:
        """The leader asks for another ISR, as it does in the model; `what` it asks for, in words."""
        leader = step.arguments["leader"]
        try:
            frame = self.gates.asks[leader].wait(seconds)
        except NotSeen:
            raise Parted(f"leader {leader} does not ask {what}") from None
        wanted = set(step.after["broker"][leader]["pending"])
        asked = frame.facts[0] if isinstance(frame.facts, tuple) and frame.facts else None
        if isinstance(asked, PartitionState) and set(asked.isr) != wanted:
            raise Parted(f"leader {leader} asks for ISR {sorted(asked.isr)}, in the model for {sorted(wanted)}")

    def _shrink_isr(self, step: ScriptStep) -> None:
        """The leader finds followers too slow, by its clock, and writes it down."""
        wanted, leader = set(step.after["controller"]["isr"]), step.arguments["leader"]
        try:
            what, seconds = f"ISR {sorted(wanted)}", self._lag_seconds()
            wait_for(lambda: set(self.topic.truth().isr) == wanted, what, seconds, self.cluster.check)
        except NotSeen:
            slow, isr = says_brokers(step.arguments["followers"]), sorted(self.topic.truth().isr)
            raise Parted(
                f"leader {leader} does not find {slow} too slow: the ISR is {isr}, and in the model {sorted(wanted)}"
            ) from None

    def _ask_to_shrink(self, step: ScriptStep) -> None:
        self._check_asked(step, self._lag_seconds(), f"for an ISR without {step.arguments['followers']}")

    def _lag_seconds(self) -> float:
        return 2 * LAG_SECONDS + self.seconds

    def _commit_isr(self, step: ScriptStep) -> None:
        leader = step.arguments["leader"]
        self.gates.asks[leader].let(seconds=self.seconds)
        self._uncommitted[leader] = self.gates.answers[leader].wait(self.seconds)

    def _refuse_isr(self, step: ScriptStep) -> None:
        self._commit_isr(step)
        leader = step.arguments["leader"]
        self.gates.answers[leader].let(self._uncommitted.pop(leader))

    def _learn_isr(self, step: ScriptStep) -> None:
        leader = step.arguments["leader"]
        answer = self._uncommitted.pop(leader, None)
        if answer is not None and answer in self.gates.answers[leader].held:
            self.gates.answers[leader].let(answer)
            return
        truth = self.topic.truth()
        if self._mode is Mode.KRAFT:
            self._follow_metadata(leader, truth)
            self._await_all_known(leader, step.after)
        for frame in self.gates.asks[leader].held:  # Asked of an older state: the controller refuses it.
            self.gates.asks[leader].let(frame)
            self.gates.answers[leader].let(seconds=self.seconds)

    # -- brokers' lives ---------------------------------------------------------------------------------------------------

    def _crash(self, step: ScriptStep) -> None:
        if step.index in self.script.shut_down:
            self._shut_down(step)
            return
        broker = step.arguments["broker"]
        end, mark = step.arguments["log_end"], step.arguments["checkpoint"]
        self.cluster.kill(broker)
        if end < step.before["log"][broker]["end"]:
            self.cluster.lose_page_cache(broker, self.topic.name, end)
        write_high_watermark(self.cluster.nodes[broker].data, self.topic.name, mark)
        self.sessions.end(broker)
        self._uncommitted.pop(broker, None)

    def _shut_down(self, step: ScriptStep) -> None:
        shut_down_unhindered(self.cluster, step.arguments["broker"])
        self._uncommitted.pop(step.arguments["broker"], None)

    def _replace_disk(self, step: ScriptStep) -> None:
        self.cluster.replace_disk(step.arguments["broker"])
        self._emptied.add(step.arguments["broker"])

    def _report_directory(self, step: ScriptStep) -> None:
        """A broker does so by itself; to 4.2 the controller has forgotten the eligible leaders then."""
        what = f"that the controller has heard of broker {step.arguments['broker']}'s directory"
        wait_for(lambda: not self.topic.truth().eligible, what, self.seconds, self.cluster.check)

    def _elect(self, step: ScriptStep) -> None:
        """A controller elects by itself, but for one case.

        From 3.7 KRaft's elects nobody whose replica is in a directory that its broker did not register, such as the one that
        was on the old disk (KIP-858). When the broker has told where its replica is now, nobody looks at the partition before
        a broker is unfenced: here this one, whose session is ended until that is so.
        """
        broker = step.arguments["broker"]
        if broker not in self._emptied or self._mode is Mode.ZOOKEEPER:
            return
        asked = 0.0

        def look() -> bool:
            nonlocal asked
            if self.topic.truth().leader == broker:
                return True
            if time.monotonic() - asked > _UNFENCING:
                asked = time.monotonic()
                self.cluster.notice(broker)
            return False

        wait_for(look, f"that broker {broker} is elected", 2 * _UNFENCING + self.seconds, self.cluster.check)

    def _restart(self, step: ScriptStep) -> None:
        broker = step.arguments["broker"]
        self.sessions.begin(broker)
        if self._mode is Mode.ZOOKEEPER:
            self.cluster.restart(broker)
            return
        self.gates.release_orders(broker)
        self.cluster.restart(broker)
        self.gates.hold_orders([broker])
        for other in self.replicas:
            if other != broker and is_up_to_date(step.after, other):
                # Who knows all that the model's broker knows may also know that this one is back.
                self._await_known(other, broker)

    def _await_all_known(self, broker: int, state: State) -> None:
        """Who has heard all that the controller decided also knows who is back since, under which registration."""
        for other in self.replicas:
            if other != broker and not state["broker"][other].get("down") and other not in self.sessions.lost:
                self._await_known(broker, other)

    def _await_known(self, broker: int, back: int) -> None:
        def look() -> bool:
            if self.cluster.has_heard_of(broker, back, broker in self.sessions.lost):
                return True
            let_all(self.gates.orders[broker])
            return False

        wait_for(look, f"that broker {broker} knows that broker {back} is back", self.seconds, self.cluster.check)

    def _reassign(self, step: ScriptStep) -> None:
        target = set(step.arguments["target"])
        reassign(self.cluster, self.topic.name, [broker for broker in self.script.order if broker in target])


_STEPS: Mapping[str, Callable[[ReplicationDriver, ScriptStep], None]] = {
    "Produce": ReplicationDriver._produce,
    "Retry": ReplicationDriver._produce,
    "RetryKnown": ReplicationDriver._retry_known,
    "RestartProducer": lambda driver, step: driver.producers.restart(step.after["producer"]["status"]),
    "GiveUp": lambda driver, step: driver.producers.forget(step.arguments["record"]),
    "LoseRequest": ReplicationDriver._lose_request,
    "Read": ReplicationDriver._read,
    "QueryLatestOffset": ReplicationDriver._query_latest_offset,
    "BecomeLeader": ReplicationDriver._hear,
    "BecomeFollower": ReplicationDriver._hear,
    "LearnIsr": ReplicationDriver._learn_isr,
    "AskToExpand": ReplicationDriver._ask_to_expand,
    "ShrinkIsr": ReplicationDriver._shrink_isr,
    "AskToShrink": ReplicationDriver._ask_to_shrink,
    "CommitAlterPartition": ReplicationDriver._commit_isr,
    "RefuseAlterPartition": ReplicationDriver._refuse_isr,
    "TruncateByEpoch": lambda driver, step: driver.fetches.ask_epochs(*pair_of(step)),
    **dict.fromkeys(
        ("FetchRecord", "FetchAtOnce", "FetchNothingNew", "FetchDiverging"), lambda driver, step: driver.fetches.fetch(step)
    ),
    "FetchUnanswered": lambda driver, step: driver.fetches.fetch_unanswered(step),
    "Crash": ReplicationDriver._crash,
    "ShutDown": ReplicationDriver._shut_down,
    "Restart": ReplicationDriver._restart,
    "LoseSession": lambda driver, step: driver.sessions.lose(step.arguments["broker"]),
    "RegainSession": lambda driver, step: driver.sessions.regain(step.arguments["broker"]),
    "ReplaceDisk": ReplicationDriver._replace_disk,
    "ReportDirectory": ReplicationDriver._report_directory,
    "ElectLeader": ReplicationDriver._elect,
    "ElectUncleanly": ReplicationDriver._elect,
    "MoveLeadership": lambda driver, step: move_leadership(driver.cluster, driver.topic.name, step.order, driver.seconds),
    "Reassign": ReplicationDriver._reassign,
}
ACTIONS = _STEPS.keys() | STEPS_OF_CANDIDATES.keys()
"""The actions of the model that have a driver step."""
