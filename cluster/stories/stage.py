"""One topic of one partition on a running cluster, with the steps that stories are made of.

Every step ends by an observation: a record is in a segment, a request waits at a gate, a leader answers a consumer. What is
seen is written down as it happens, in sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from acked.base.errors import ConfigurationError, SystemFailure
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.observe.disk import Replica, log_lines, partition_folder
from acked.cluster.proxies.frame import Frame, Phase
from acked.cluster.proxies.gate import Gate
from acked.cluster.stories.seen import Seen, look, truths
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.client import ALL_REPLICAS, Acknowledgement, BrokerGone, Client, PartitionView
from acked.cluster.wire.facts import FetchRequest

SECONDS = 60.0
"""How long an effect may take to be seen; long, as other work may run on the machine, and only a failure waits for it."""
TRUNCATION = r"[Tt]runcat"
TELLING = r"[Tt]runcat|[Uu]nclean election|UNCLEAN|Exiting because"
"""What brokers and controllers say where something may be lost."""
NOTHING_CUT = "has no effect"
_NOT_SHOWN = (
    r"^\S+ \S+ (?:DEBUG|TRACE) |Error in response for fetch request|Error when sending leader epoch request|"
    r"Retrying leaderEpoch request"
)


def tells_of_loss(line: str) -> bool:
    """Whether a line of a broker's own log says that something may be lost."""
    return re.search(TELLING, line) is not None and NOTHING_CUT not in line


@dataclass(frozen=True)
class StoryOutcome:
    """How a story ended. `lost` are acknowledged records that the leader's log lacks; `lines` the brokers' own words."""

    leader: int
    log: tuple[str, ...]
    read: tuple[str, ...]
    lost: tuple[str, ...]
    duplicates: tuple[str, ...]
    lines: tuple[str, ...]


class Stage:
    """The topic, its replicas, the brokers that live, and what has been acknowledged."""

    def __init__(self, cluster: Cluster, topic: str, tell: Callable[[str], None] = lambda line: None) -> None:
        self.cluster, self.topic = cluster, topic
        self.replicas: tuple[int, ...] = ()
        self.acknowledged: list[str] = []
        self._tell = tell
        self._log_sizes = {node: _size(cluster, node) for node in cluster.nodes}
        self._known_lines: dict[int, int] = {}

    def tell(self, sentence: str) -> None:
        """Writes down what has happened."""
        self._tell(sentence)

    @property
    def running(self) -> tuple[int, ...]:
        """The brokers whose processes run."""
        return tuple(broker for broker in self.cluster.plan.brokers if self.cluster.nodes[broker].is_running)

    # -- the topic --------------------------------------------------------------------------------------------------------

    def create(self, replicas: Sequence[int], settings: Mapping[str, str] | None = None) -> None:
        """Creates the topic. The first living in-sync replica of `replicas` is elected, so their order chooses leaders."""
        self.replicas = tuple(replicas)
        with self.cluster.admin() as ask:
            error = ask.create_topic(self.topic, replicas, settings or {})
        if error_name(error) == "INVALID_CONFIG":  # It is the user's, or of another release.
            asked = " ".join(f"{key}={value}" for key, value in (settings or {}).items())
            version = self.cluster.plan.release.version
            raise ConfigurationError(f"Kafka {version} does not have all these settings of a topic, or not so: {asked}")
        if error:
            raise SystemFailure(f"the topic {self.topic} was not created: {error_name(error)}")
        self.await_leader(replicas[0])
        for broker in replicas:
            folder = partition_folder(self.cluster.nodes[broker].data, self.topic)
            wait_for(folder.is_dir, f"broker {broker}'s folder of {self.topic}", SECONDS, self.check)
        self.await_isr(replicas)
        self.tell(f"{self.topic} has replicas {list(replicas)}, broker {replicas[0]} is leader")

    def delete(self) -> None:
        """Deletes the topic and lifts all gates, in this order: a follower with the longer log would end a broker (0.10)."""
        with self.cluster.admin() as ask:
            ask.delete_topic(self.topic)
        folders = [partition_folder(self.cluster.nodes[broker].data, self.topic) for broker in self.running]
        try:
            wait_for(lambda: not any(folder.is_dir() for folder in folders), f"the end of {self.topic}", 20.0)
        finally:
            for gate in self.cluster.network.gates:
                gate.lift()

    # -- what is seen -----------------------------------------------------------------------------------------------------

    def view(self, broker: int) -> PartitionView | None:
        """Leader and ISR as a broker sees them; None if it does not know the topic."""
        with self.cluster.client(broker, timeout=5.0) as ask:
            return ask.metadata([self.topic]).topics.get(self.topic, {}).get(0)

    def seen(self) -> Seen:
        """All that is seen of the topic now, as the controller has it and as it lies on disk."""
        return look(self.cluster, self.topic)

    def replica(self, broker: int) -> Replica:
        """A replica as it lies on disk."""
        return self.cluster.replica(broker, self.topic)

    def leads(self, broker: int) -> bool:
        """Whether a broker serves consumers: its metadata may name it before it does."""
        try:
            view = self.view(broker)
            if view is None or view.leader != broker:
                return False
            with self.cluster.client(broker, timeout=5.0) as ask:
                return ask.fetch(self.topic).error == 0
        except BrokerGone:
            return False

    def answers_as_leader(self, broker: int) -> bool:
        """Whether a broker takes itself for the leader, whatever it may serve."""
        with self.cluster.client(broker, timeout=5.0) as ask:
            return ask.log_end(self.topic)[0] == 0

    def await_leader(self, wanted: int | None = None, seconds: float = SECONDS) -> int:
        """The broker that leads, as soon as one does (or the wanted one)."""
        among = self.running if wanted is None else (wanted,)

        def look() -> list[int]:
            return [broker for broker in among if self.leads(broker)][:1]

        what = "a leader" if wanted is None else f"broker {wanted} as leader"
        [leader] = wait_for(look, f"{what} of {self.topic}", seconds, self.check)
        self.tell(f"broker {leader} is leader")
        return leader

    def await_follower(self, broker: int, leader: int) -> None:
        """Returns when a broker names its leader."""

        def look() -> bool:
            view = self.view(broker)
            return view is not None and view.leader == leader

        wait_for(look, f"that broker {broker} knows leader {leader}", SECONDS, self.check)

    def await_isr(self, wanted: Collection[int]) -> None:
        """Returns when the ISR that the controller has is the wanted one."""
        with truths(self.cluster, self.topic) as read:
            what = f"ISR {sorted(wanted)} of {self.topic}"
            wait_for(lambda: (view := read()) is not None and set(view.isr) == set(wanted), what, SECONDS, self.check)
        self.tell(f"the ISR is {sorted(wanted)}")

    def await_agreement(self, leader: int) -> None:
        """Returns when the logs of all running brokers are the leader's."""
        followers = [broker for broker in self.running if broker in self.replicas and broker != leader]

        def look() -> bool:
            log = self.replica(leader).log
            return all(self.replica(broker).log == log for broker in followers)

        wait_for(look, f"that the logs of {self.topic} agree", SECONDS, self.check)
        self.tell(f"the logs of brokers {[leader, *followers]} agree")

    # -- fetching ---------------------------------------------------------------------------------------------------------

    def hold_fetches(self, follower: int, leader: int, wait: bool = True) -> Gate:
        """From now on the follower's fetches wait. Returns when one does, so that no earlier one is on its way."""
        gate = self.cluster.network.hold(follower, leader, Api.FETCH)
        if wait:
            gate.wait(SECONDS)
        return gate

    def fetch_once(self, gate: Gate) -> Frame:
        """One fetch, with its response. Returns when the next request waits, so the follower has taken the response in."""
        request = gate.wait(SECONDS)
        answers = self._hold_response(request)
        gate.let(request)
        response = answers.let(seconds=SECONDS)
        answers.lift()
        gate.wait(SECONDS)
        self.tell(f"broker {request.source} fetches {_asked(request)} from broker {request.target}: {response.facts}")
        return response

    def fetch_unanswered(self, gate: Gate) -> Gate:
        """One fetch whose response is held: the leader knows what the follower has, the follower learns nothing."""
        request = gate.wait(SECONDS)
        answers = self._hold_response(request)
        gate.let(request)
        response = answers.wait(SECONDS)
        what = f"broker {request.source} fetches {_asked(request)} from broker {request.target}"
        self.tell(f"{what}; the response is held: {response.facts}")
        return answers

    def _hold_response(self, request: Frame) -> Gate:
        return self.cluster.network.hold(
            request.source, request.target, Api.FETCH, Phase.RESPONSE,
            lambda frame: frame.connection == request.connection and frame.correlation == request.correlation,
        )  # fmt: skip

    # -- producing --------------------------------------------------------------------------------------------------------

    def send(self, broker: int, value: str, acks: int = ALL_REPLICAS, timeout_ms: int = 60_000,
             batch: bytes | None = None) -> Client:  # fmt: skip
        """Sends a record and returns when it is in the broker's log; the answer is read by `acknowledge`.

        It goes by the link from `CLIENT`, so a gate may keep the answer. `batch` is the record as it is sent, if it is said.
        """
        producer = self.cluster.client(broker, SECONDS, gated=True)
        producer.send_record(self.topic, value.encode(), acks, timeout_ms, batch)
        wait_for(lambda: value in self.replica(broker).values, f"{value} in broker {broker}'s log", SECONDS, self.check)
        self.tell(f"a producer sends {value} to broker {broker}, which appends it")
        return producer

    def acknowledge(self, producer: Client, value: str) -> Acknowledgement:
        """Reads the answer to a record that was sent."""
        answer = producer.acknowledgement()
        producer.close()
        if answer.error == 0:
            self.acknowledged.append(value)
        said = f"error {answer.error}" if answer.error else f"acknowledged at offset {answer.offset}"
        self.tell(f"the producer of {value} is answered: {said}")
        return answer

    # -- faults -----------------------------------------------------------------------------------------------------------

    def crash(self, broker: int, noticed: bool = True) -> None:
        """A broker is killed, and the controller notices."""
        self.cluster.kill(broker)
        if noticed:
            self.cluster.notice(broker)
        self.tell(f"broker {broker} is killed" + (", the controller notices" if noticed else ""))

    def lose_machine(self, broker: int, flushed: int = 0) -> None:
        """A broker's machine dies with its page cache, and the controller notices."""
        self.cluster.kill(broker)
        self.cluster.lose_page_cache(broker, self.topic, flushed)
        self.cluster.notice(broker)
        self.tell(f"the machine of broker {broker} dies: what it had not flushed, offsets from {flushed} on, is gone")

    def shut_down(self, broker: int) -> None:
        """An orderly shutdown."""
        self.cluster.shut_down(broker)
        self.tell(f"broker {broker} is shut down")

    def restart(self, broker: int) -> None:
        """A broker comes back with what is on its disk."""
        self.cluster.restart(broker)
        self.tell(f"broker {broker} is back")

    def move_leadership(self, broker: int) -> None:
        """The controller makes a broker the leader, without any crash."""
        move_leadership(self.cluster, self.topic, [broker, *(other for other in self.replicas if other != broker)], SECONDS)
        self.tell(f"the controller moves leadership to broker {broker}")

    # -- the end ----------------------------------------------------------------------------------------------------------

    def judge(self, leader: int) -> StoryOutcome:
        """Compares what was acknowledged with the leader's log; what is above its high watermark is not lost.

        A consumer reads when the high watermark has reached the log end; at once if a gate may keep it from that.
        """

        def is_readable() -> bool:
            with self.cluster.client(leader) as ask:
                return ask.fetch(self.topic).high_watermark >= ask.log_end(self.topic)[1]

        if not any(gate.held for gate in self.cluster.network.gates):
            wait_for(is_readable, f"that broker {leader}'s whole log is committed", SECONDS, self.check)
        with self.cluster.client(leader) as ask:
            read = tuple(record.text for record in ask.fetch(self.topic).records)
        log = self.replica(leader).values
        lost = tuple(value for value in self.acknowledged if value not in log)
        duplicates = tuple(sorted({value for value in log if log.count(value) > 1}))
        outcome = StoryOutcome(leader, log, read, lost, duplicates, self.truncations())
        self.tell(f"broker {leader}'s log is {list(log)}, a consumer reads {list(read)}, lost is {list(lost)}")
        return outcome

    def truncations(self) -> tuple[str, ...]:
        """What the brokers' own logs say of truncating this topic since the stage was made."""
        found = []
        for broker in self.cluster.plan.brokers:
            node = self.cluster.nodes[broker]
            for line in log_lines(node.log, TRUNCATION, self._log_sizes.get(broker, 0)):
                if f"{self.topic}-0" in line:
                    found.append(f"broker {broker}: {line}")
        return tuple(found)

    def begin_words(self) -> None:
        """What nodes have said so far does not count."""
        self._log_sizes = {node: _size(self.cluster, node) for node in self.cluster.nodes}
        self._known_lines = {}

    def words(self) -> tuple[str, ...]:
        """What brokers and the controller have said of losing something of this topic, each line with who said it."""
        found = []
        for node in self.cluster.nodes.values():
            for line in log_lines(node.log, TELLING, self._log_sizes.get(node.number, 0)):
                if f"{self.topic}-0" in line and tells_of_loss(line):
                    found.append(f"{node.name}: {line}")
        return tuple(found)

    def new_lines(self) -> tuple[str, ...]:
        """What brokers and the controller have said of this topic since this was asked last, each line with who said it.

        Without complaints about connections, which gates close, and without what is logged for a validation alone.
        """
        found = []
        for node in self.cluster.nodes.values():
            told = log_lines(node.log, re.escape(f"{self.topic}-0"), self._log_sizes.get(node.number, 0))
            known = self._known_lines.get(node.number, 0)
            self._known_lines[node.number] = len(told)
            found += [f"{node.name}: {line}" for line in told[known:] if not re.search(_NOT_SHOWN, line)]
        return tuple(found)

    def check(self) -> None:
        """`Exited` if a broker has ended that nobody has ended."""
        for broker in self.cluster.plan.brokers:
            self.cluster.nodes[broker].check()


def _asked(request: Frame) -> str:
    facts = request.facts
    return str(facts) if isinstance(facts, FetchRequest) else "something"


def _size(cluster: Cluster, node: int) -> int:
    log = cluster.nodes[node].log
    return log.stat().st_size if log.is_file() else 0
