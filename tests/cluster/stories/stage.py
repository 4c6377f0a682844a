"""The steps that stories are made of, on a topic of a running cluster: each ends by an observation and says what happened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.leadership import move_leadership
from acked.cluster.observe.disk import log_lines
from acked.cluster.proxies.frame import Frame, Phase
from acked.cluster.proxies.gate import Gate
from acked.cluster.topics.topic import SECONDS, Topic
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import ALL_REPLICAS, DEBUGGER, Acknowledgement, Client
from acked.cluster.wire.facts import FetchRequest

TRUNCATION = r"[Tt]runcat"


@dataclass(frozen=True)
class StoryOutcome:
    """How a story ended. `lost` are acknowledged records that the leader's log lacks; `lines` the brokers' own words."""

    leader: int
    log: tuple[str, ...]
    read: tuple[str, ...]
    lost: tuple[str, ...]
    duplicates: tuple[str, ...]
    lines: tuple[str, ...]


class Stage(Topic):
    """A topic on which a story is played, and what has been acknowledged."""

    def __init__(self, cluster: Cluster, name: str, tell: Callable[[str], None] = lambda line: None) -> None:
        super().__init__(cluster, name)
        self.replicas: tuple[int, ...] = ()
        self.acknowledged: list[str] = []
        self.tell = tell

    def create(self, replicas: Sequence[int], settings: Mapping[str, str] | None = None) -> None:
        """Creates the topic, and says so."""
        self.replicas = tuple(replicas)
        super().create(replicas, settings)
        self.tell(f"{self.name} has replicas {list(replicas)}, broker {replicas[0]} is leader")

    def await_leader(self, wanted: int | None = None, seconds: float = SECONDS) -> int:
        """Says who leads."""
        leader = super().await_leader(wanted, seconds)
        self.tell(f"broker {leader} is leader")
        return leader

    def await_isr(self, wanted: Collection[int]) -> None:
        """Says that the ISR is the wanted one."""
        super().await_isr(wanted)
        self.tell(f"the ISR is {sorted(wanted)}")

    # -- what is seen -----------------------------------------------------------------------------------------------------

    def await_follower(self, broker: int, leader: int) -> None:
        """Returns when a broker names its leader."""

        def look() -> bool:
            view = self.view(broker)
            return view is not None and view.leader == leader

        wait_for(look, f"that broker {broker} knows leader {leader}", SECONDS, self.cluster.check)

    def await_agreement(self, leader: int) -> None:
        """Returns when the logs of all running brokers are the leader's."""
        followers = [broker for broker in self.running if broker in self.replicas and broker != leader]

        def look() -> bool:
            log = self.replica(leader).log
            return all(self.replica(broker).log == log for broker in followers)

        wait_for(look, f"that the logs of {self.name} agree", SECONDS, self.cluster.check)
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
        self.tell(f"broker {request.source} fetches {_asked(request)} from broker {request.target}")
        return response

    def fetch_unanswered(self, gate: Gate) -> Gate:
        """One fetch whose response is held: the leader knows what the follower has, the follower learns nothing."""
        request = gate.wait(SECONDS)
        answers = self._hold_response(request)
        gate.let(request)
        answers.wait(SECONDS)
        what = f"broker {request.source} fetches {_asked(request)} from broker {request.target}"
        self.tell(f"{what}; the response is held")
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
        producer.send_record(self.name, value.encode(), acks, timeout_ms, batch)
        what = f"{value} in broker {broker}'s log"
        wait_for(lambda: value in self.replica(broker).values, what, SECONDS, self.cluster.check)
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
        self.cluster.lose_page_cache(broker, self.name, flushed)
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
        move_leadership(self.cluster, self.name, [broker, *(other for other in self.replicas if other != broker)], SECONDS)
        self.tell(f"the controller moves leadership to broker {broker}")

    # -- the end ----------------------------------------------------------------------------------------------------------

    def judge(self, leader: int) -> StoryOutcome:
        """Compares what was acknowledged with the leader's log; what is above its high watermark is not lost.

        A consumer reads when the high watermark has reached the log end; at once if a gate may keep it from that.
        """

        def is_readable() -> bool:
            with self.cluster.client(leader) as ask:
                return ask.fetch(self.name).high_watermark >= ask.latest_offset(self.name, DEBUGGER)[1]

        if not any(gate.held for gate in self.cluster.network.gates):
            wait_for(is_readable, f"that broker {leader}'s whole log is committed", SECONDS, self.cluster.check)
        with self.cluster.client(leader) as ask:
            read = tuple(record.text for record in ask.fetch(self.name).records)
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
                if f"{self.name}-0" in line:
                    found.append(f"broker {broker}: {line}")
        return tuple(found)


def _asked(request: Frame) -> str:
    facts = request.facts
    if isinstance(facts, FetchRequest) and facts.positions:
        return f"at offset {facts.positions[0].offset}"
    return "nothing that changed"
