"""The driver: for every action of the model what it takes on real brokers, each ended by something that is seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from acked.cluster.nodes.addresses import CLIENT
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership, reassign
from acked.cluster.playing.compare import value_of
from acked.cluster.playing.gates import Gates, close
from acked.cluster.playing.hearing import agrees, cuts_nothing, error_of, is_up_to_date, pair_of
from acked.cluster.playing.heartbeats import shut_down_unhindered
from acked.cluster.playing.playable import HEARS
from acked.cluster.playing.producers import NotAppended, Producers
from acked.cluster.playing.rivals import OF_RIVALS, Rivals
from acked.cluster.playing.script import Script, ScriptStep, State
from acked.cluster.playing.sessions import Sessions
from acked.cluster.playing.setting import LAG_SECONDS, Setting
from acked.cluster.proxies.frame import Frame, Phase
from acked.cluster.proxies.gate import Gate
from acked.cluster.releases.release import Mode
from acked.cluster.stories.stage import Stage
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.facts import FetchRequest, PartitionState
from acked.model.language.words import says_brokers

_OUT_OF_RANGE = 1
_UNFENCING = 8.0
"""Seconds that a fenced broker has to be unfenced, for which it needs a heartbeat or two."""
_ROUNDS = 3
"""Fetches that say nothing new, at the most, before a follower asks anew."""


class Parted(Exception):
    """Real brokers do something else than the model: a sentence."""


class Driver:
    """Leads the brokers of a cluster through a script, step by step. `seconds` is how long an effect may take to be seen."""

    def __init__(self, cluster: Cluster, stage: Stage, script: Script, setting: Setting, seconds: float) -> None:
        self.cluster, self.stage, self.script, self.seconds = cluster, stage, script, seconds
        self._mode = cluster.plan.mode
        self.replicas = tuple(range(len(script.initial["log"])))
        self.gates = Gates(cluster.network, self._mode, self.replicas)
        self.producers = Producers(stage, setting.acks, seconds, setting.is_idempotent)
        self.sessions = Sessions(cluster, stage, setting.sessions_expire, seconds)
        self.rivals = Rivals(cluster, stage, script, self.gates, self._ask_epochs, seconds) if cluster.plan.rivals else None
        self._emptied: set[int] = set()
        self._uncommitted: dict[int, Frame] = {}
        """By leader: the controller's answer to its request for another ISR, which is held."""
        self._last_fetch: tuple[int, int] | None = None
        self.reads: list[tuple[int, str]] = []
        self.latest: list[int] = []
        """What consumers have read, by offset, and the latest offsets that clients were told, in order."""

    def begin(self, settings: Mapping[str, str]) -> None:
        """Creates the topic in the order that leads to the script's elections; nobody hears of anything from then on."""
        self.stage.create(self.script.order, settings)
        self.gates.hold_orders(self.replicas)
        if self.rivals is not None:
            self.rivals.hold_orders()
        leader = self.script.order[0]
        for follower in self.replicas:
            if follower != leader:
                self._ask_epochs(follower, leader)  # In the initial state followers have done so.
        if self._mode is Mode.KRAFT:
            for broker in self.replicas:
                self.gates.orders[broker].wait(self.seconds)
        self.stage.begin_words()

    def perform(self, step: ScriptStep) -> None:
        """Takes a step; `Parted` if the brokers do something else."""
        if self.rivals is not None and step.action in OF_RIVALS:
            OF_RIVALS[step.action](self.rivals, step)
        else:
            _STEPS[step.action](self, step)
        self._last_fetch = pair_of(step) if step.action.startswith("Fetch") else None

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

    def _restart_producer(self, step: ScriptStep) -> None:
        self.producers.restart(step.after["producer"]["status"])

    def _give_up(self, step: ScriptStep) -> None:
        self.producers.forget(step.arguments["record"])

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
            found = ask.fetch(self.stage.topic, offset, from_any=follows)
        if found.error or not found.records or found.records[0].text != wanted:
            got = error_name(found.error) if found.error else [record.text for record in found.records]
            raise Parted(f"a consumer that reads at offset {offset} from broker {broker} gets {got}, in the model {wanted}")
        self.reads.append((offset, wanted))

    def _query_latest_offset(self, step: ScriptStep) -> None:
        broker, wanted = step.arguments["leader"], step.after["consumer"]["latest"]
        with self.cluster.client(broker) as ask:
            error, offset = ask.latest_offset(self.stage.topic)
        if error or offset != wanted:
            got = error_name(error) if error else str(offset)
            raise Parted(f"a client that asks broker {broker} for the latest offset gets {got}, in the model {wanted}")
        self.latest.append(offset)

    # -- fetching ---------------------------------------------------------------------------------------------------------

    def _request(self, follower: int, leader: int, wanted: Api) -> Frame:
        gate = self.gates.fetches[follower, leader]
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
            self._answer_fetch(self.gates.fetches[follower, leader], request)
            request = self._request(follower, leader, Api.FETCH)
        wanted, facts = step.before["log"][follower]["end"], request.facts
        if isinstance(facts, FetchRequest) and facts.positions and facts.positions[0].offset != wanted:
            raise Parted(f"broker {follower} fetches at offset {facts.positions[0].offset}, in the model at {wanted}")
        gate, answers = self.gates.fetches[follower, leader], self.gates.response_to(request)
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
        answers = self.gates.response_to(request)
        gate.let(request)
        answers.let(seconds=self.seconds)
        answers.lift()

    def _fetch(self, step: ScriptStep) -> None:
        gate, answers, response = self._response(step)
        error = error_of(response)
        if error and not (step.action == "FetchDiverging" and error == _OUT_OF_RANGE):
            answers.lift()
            follower, leader = pair_of(step)
            raise Parted(f"broker {leader} answers broker {follower}'s fetch with {error_name(error)}")
        answers.let(response)
        answers.lift()
        gate.wait(self.seconds)  # The next request: so the follower has taken the answer in.

    def _fetch_unanswered(self, step: ScriptStep) -> None:
        gate, answers, response = self._response(step)
        error = error_of(response)
        close(answers, response)
        answers.lift()
        if error:
            follower, leader = pair_of(step)
            raise Parted(f"broker {leader} answers broker {follower}'s fetch with {error_name(error)}")
        gate.wait(self.seconds)

    def _truncate_by_epoch(self, step: ScriptStep) -> None:
        self._ask_epochs(*pair_of(step))

    def _ask_epochs(self, follower: int, leader: int) -> None:
        """Lets a follower ask where epochs end until it fetches; one whose log is empty may ask nothing."""
        gate = self.gates.fetches[follower, leader]
        while True:
            try:
                frame = gate.wait(self.seconds)
            except NotSeen:
                raise Parted(f"broker {follower} asks broker {leader} for nothing") from None
            if frame.api == Api.FETCH:
                return
            gate.let(frame)

    # -- hearing ----------------------------------------------------------------------------------------------------------

    def _hear(self, step: ScriptStep) -> None:
        """A broker hears who leads, as the controller has it now; of what was decided in between it never hears."""
        broker = step.arguments[HEARS[step.action]]
        truth = self._truth()
        if self._mode is Mode.KRAFT:
            self._follow_metadata(broker, lambda view: agrees(view, truth))
            self._await_all_known(broker, step.after)
            if truth.leader == broker:
                wait_for(lambda: self.stage.leads(broker), f"that broker {broker} leads", self.seconds)
        else:
            order = self.gates.orders[broker]
            self.gates.take_order(order, broker, self.stage.topic, truth.epoch, self.seconds, self.stage.check)
        self.gates.close_fetches(broker)

    def _follow_metadata(self, broker: int, look: Callable[[PartitionView], bool]) -> None:
        gate = self.gates.orders[broker]

        def seen() -> bool:
            view = self.stage.view(broker)
            if view is not None and look(view):
                return True
            self._let_all(gate)
            self.gates.close_fetches(broker)
            return False

        wait_for(seen, f"that broker {broker} has heard from the controller", self.seconds, self.stage.check)

    def _let_all(self, gate: Gate) -> None:
        for frame in gate.held:
            try:
                gate.let(frame)
            except NotSeen:
                pass  # Its broker was faster.

    # -- the ISR ----------------------------------------------------------------------------------------------------------

    def _ask_to_expand(self, step: ScriptStep) -> None:
        leader, follower = step.arguments["leader"], step.arguments["follower"]
        if self._last_fetch != (follower, leader):
            self._fetch_unanswered(step)  # A leader asks when it is fetched from.
        try:
            self.gates.asks[leader].wait(self.seconds)
        except NotSeen:
            raise Parted(f"leader {leader} does not ask for broker {follower} in the ISR") from None
        self._check_asked(leader, set(step.after["broker"][leader]["pending"]))

    def _check_asked(self, leader: int, wanted: set[int]) -> None:
        frame = self.gates.asks[leader].wait(self.seconds)
        asked = frame.facts[0] if isinstance(frame.facts, tuple) and frame.facts else None
        if isinstance(asked, PartitionState) and set(asked.isr) != wanted:
            raise Parted(f"leader {leader} asks for ISR {sorted(asked.isr)}, in the model for {sorted(wanted)}")

    def _shrink_isr(self, step: ScriptStep) -> None:
        """The leader finds followers too slow, by its clock, and writes it down."""
        wanted, leader = set(step.after["controller"]["isr"]), step.arguments["leader"]
        try:
            wait_for(lambda: set(self._truth().isr) == wanted, f"ISR {sorted(wanted)}", self._lag_seconds(), self.stage.check)
        except NotSeen:
            slow, isr = says_brokers(step.arguments["followers"]), sorted(self._truth().isr)
            raise Parted(
                f"leader {leader} does not find {slow} too slow: the ISR is {isr}, and in the model {sorted(wanted)}"
            ) from None

    def _ask_to_shrink(self, step: ScriptStep) -> None:
        leader = step.arguments["leader"]
        try:
            self.gates.asks[leader].wait(self._lag_seconds())
        except NotSeen:
            raise Parted(f"leader {leader} does not ask for an ISR without {step.arguments['followers']}") from None
        self._check_asked(leader, set(step.after["broker"][leader]["pending"]))

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
        truth = self._truth()
        if self._mode is Mode.KRAFT:
            self._follow_metadata(leader, lambda view: agrees(view, truth))
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
            self.cluster.lose_page_cache(broker, self.stage.topic, end)
        self.cluster.set_checkpoint(broker, self.stage.topic, mark)
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
        wait_for(lambda: not self._truth().eligible, what, self.seconds, self.stage.check)

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

        def elected() -> bool:
            nonlocal asked
            if self._truth().leader == broker:
                return True
            if time.monotonic() - asked > _UNFENCING:
                asked = time.monotonic()
                self.cluster.notice(broker)
            return False

        wait_for(elected, f"that broker {broker} is elected", 2 * _UNFENCING + self.seconds, self.stage.check)

    def _lose_session(self, step: ScriptStep) -> None:
        self.sessions.lose(step.arguments["broker"])

    def _regain_session(self, step: ScriptStep) -> None:
        self.sessions.regain(step.arguments["broker"])

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
        def seen() -> bool:
            if self.cluster.has_heard_of(broker, back, broker in self.sessions.lost):
                return True
            self._let_all(self.gates.orders[broker])
            return False

        wait_for(seen, f"that broker {broker} knows that broker {back} is back", self.seconds, self.stage.check)

    def _move_leadership(self, step: ScriptStep) -> None:
        move_leadership(self.cluster, self.stage.topic, step.order, self.seconds)

    def _reassign(self, step: ScriptStep) -> None:
        target = set(step.arguments["target"])
        reassign(self.cluster, self.stage.topic, [broker for broker in self.script.order if broker in target])

    def _truth(self) -> PartitionView:
        found = self.stage.seen().partition
        assert found is not None
        return found


_STEPS: Mapping[str, Callable[[Driver, ScriptStep], None]] = {
    "Produce": Driver._produce,
    "Retry": Driver._produce,
    "RetryKnown": Driver._retry_known,
    "RestartProducer": Driver._restart_producer,
    "GiveUp": Driver._give_up,
    "LoseRequest": Driver._lose_request,
    "Read": Driver._read,
    "QueryLatestOffset": Driver._query_latest_offset,
    "BecomeLeader": Driver._hear,
    "BecomeFollower": Driver._hear,
    "LearnIsr": Driver._learn_isr,
    "AskToExpand": Driver._ask_to_expand,
    "ShrinkIsr": Driver._shrink_isr,
    "AskToShrink": Driver._ask_to_shrink,
    "CommitAlterPartition": Driver._commit_isr,
    "RefuseAlterPartition": Driver._refuse_isr,
    "TruncateByEpoch": Driver._truncate_by_epoch,
    "FetchRecord": Driver._fetch,
    "FetchAtOnce": Driver._fetch,
    "FetchNothingNew": Driver._fetch,
    "FetchDiverging": Driver._fetch,
    "FetchUnanswered": Driver._fetch_unanswered,
    "Crash": Driver._crash,
    "ShutDown": Driver._shut_down,
    "Restart": Driver._restart,
    "LoseSession": Driver._lose_session,
    "RegainSession": Driver._regain_session,
    "ReplaceDisk": Driver._replace_disk,
    "ReportDirectory": Driver._report_directory,
    "ElectLeader": Driver._elect,
    "ElectUncleanly": Driver._elect,
    "MoveLeadership": Driver._move_leadership,
    "Reassign": Driver._reassign,
}
ACTIONS = _STEPS.keys() | OF_RIVALS.keys()
"""The actions of the model that have a driver step."""
