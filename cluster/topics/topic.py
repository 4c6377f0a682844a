"""One topic of one partition on a running cluster: its life, what is seen of it, and what nodes log about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.frozen import frozen
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.observe.disk import Replica, log_lines, partition_folder
from acked.cluster.observe.zookeeper import ZooKeeperState, zookeeper_state
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import error_name
from acked.cluster.wire.client import DEBUGGER, BrokerGone, PartitionView

SECONDS = 60.0
"""How long an effect may take to be seen; long, as other work may run on the machine, and only a failure waits for it."""
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


@frozen
class Difference:
    """Something that the model and real brokers do not agree about, with what each has."""

    what: str
    model: str
    real: str

    def __str__(self) -> str:
        return f"{self.what} is {self.real}, and in the model {self.model}"


def differing(pairs: Iterable[tuple[str, object, object]]) -> tuple[Difference, ...]:
    """Of what is compared, each with what the model has and what brokers have, that in which they differ."""
    return tuple(Difference(what, str(model), str(real)) for what, model, real in pairs if model != real)


@frozen
class TopicView:
    """The controller's truth of a partition, every replica on disk, and which brokers run. `partition` None: not created."""

    partition: PartitionView | None
    replicas: tuple[Replica, ...]
    running: tuple[int, ...]


@contextmanager
def truths(cluster: Cluster, topic: str) -> Iterator[Callable[[], PartitionView | None]]:
    """What reads the truth of a partition again and again, over one connection.

    It is in ZooKeeper, or with KRaft in the metadata that all brokers follow, from the first broker that runs.
    """
    if cluster.plan.mode is Mode.KRAFT:
        yield lambda: _metadata_view(cluster, topic)
        return
    with zookeeper_state(cluster.addresses.zookeeper) as state:
        yield lambda: _zookeeper_view(state, topic)


def _metadata_view(cluster: Cluster, topic: str) -> PartitionView | None:
    with cluster.admin() as ask:
        found = ask.partition(topic)
        return ask.describe(topic) if found is not None and cluster.dialect.has_eligible_leaders else found


def _zookeeper_view(state: ZooKeeperState, topic: str) -> PartitionView | None:
    written = state.partition(topic)
    if written is None:
        return None
    return PartitionView(0, written.leader, state.assignment(topic), written.isr, written.leader_epoch)


class Topic:
    """The topic, its replicas, and the brokers that live."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self._log_sizes = {node: _size(cluster, node) for node in cluster.nodes}
        self._known_lines: dict[int, int] = {}

    @property
    def running(self) -> tuple[int, ...]:
        """The brokers whose processes run."""
        return tuple(broker for broker in self.cluster.plan.brokers if self.cluster.nodes[broker].is_running)

    # -- the topic --------------------------------------------------------------------------------------------------------

    def create(self, replicas: Sequence[int], settings: Mapping[str, str] | None = None) -> None:
        """Creates the topic. The first living in-sync replica of `replicas` is elected, so their order chooses leaders."""
        with self.cluster.admin() as ask:
            error = ask.create_topic(self.name, replicas, settings or {})
        if error_name(error) == "INVALID_CONFIG":  # It is the user's, or of another release.
            asked = " ".join(f"{key}={value}" for key, value in (settings or {}).items())
            version = self.cluster.plan.release.version
            raise ConfigurationError(f"Kafka {version} does not have all these settings of a topic, or not so: {asked}")
        if error:
            raise SystemFailure(f"the topic {self.name} was not created: {error_name(error)}")
        self.await_leader(replicas[0])
        for broker in replicas:
            folder = partition_folder(self.cluster.nodes[broker].data, self.name)
            wait_for(folder.is_dir, f"broker {broker}'s folder of {self.name}", SECONDS, self.cluster.check)
        self.await_isr(replicas)

    def delete(self) -> None:
        """Deletes the topic and lifts all gates, in this order: a follower with the longer log would end a broker (0.10)."""
        with self.cluster.admin() as ask:
            ask.delete_topic(self.name)
        folders = [partition_folder(self.cluster.nodes[broker].data, self.name) for broker in self.running]
        try:
            wait_for(lambda: not any(folder.is_dir() for folder in folders), f"the end of {self.name}", 20.0)
        finally:
            self.cluster.network.lift()

    # -- what is seen -----------------------------------------------------------------------------------------------------

    def view(self, broker: int) -> PartitionView | None:
        """Leader and ISR as a broker sees them; None if it does not know the topic."""
        with self.cluster.client(broker, timeout=5.0) as ask:
            return ask.partition(self.name)

    def truth(self) -> PartitionView:
        """The topic, which is there, as the controller has it."""
        with truths(self.cluster, self.name) as read:
            found = read()
        assert found is not None
        return found

    def observe(self) -> TopicView:
        """All that is seen of the topic now, as the controller has it and as it lies on disk.

        Replicas that still change, because a link lets something through, are seen as they are.
        """
        running = self.running
        with truths(self.cluster, self.name) as read:
            partition = read()
        return TopicView(partition, tuple(self.replica(broker) for broker in self.cluster.plan.brokers), running)

    def replica(self, broker: int) -> Replica:
        """A replica as it lies on disk."""
        return self.cluster.replica(broker, self.name)

    def leads(self, broker: int) -> bool:
        """Whether a broker serves consumers: its metadata may name it before it does."""
        try:
            view = self.view(broker)
            if view is None or view.leader != broker:
                return False
            with self.cluster.client(broker, timeout=5.0) as ask:
                return ask.fetch(self.name).error == 0
        except BrokerGone:
            return False

    def answers_as_leader(self, broker: int) -> bool:
        """Whether a broker takes itself for the leader, whatever it may serve."""
        with self.cluster.client(broker, timeout=5.0) as ask:
            return ask.latest_offset(self.name, DEBUGGER)[0] == 0

    def await_leader(self, wanted: int | None = None, seconds: float = SECONDS) -> int:
        """The broker that leads, as soon as one does (or the wanted one)."""
        among = self.running if wanted is None else (wanted,)

        def look() -> list[int]:
            return [broker for broker in among if self.leads(broker)][:1]

        what = "a leader" if wanted is None else f"broker {wanted} as leader"
        [leader] = wait_for(look, f"{what} of {self.name}", seconds, self.cluster.check)
        return leader

    def await_isr(self, wanted: Collection[int]) -> None:
        """Returns when the ISR that the controller has is the wanted one."""
        with truths(self.cluster, self.name) as read:
            what = f"ISR {sorted(wanted)} of {self.name}"
            wait_for(lambda: (view := read()) is not None and set(view.isr) == set(wanted), what, SECONDS, self.cluster.check)

    # -- the end ----------------------------------------------------------------------------------------------------------

    def begin_lines(self) -> None:
        """What nodes have said so far does not count."""
        self._log_sizes = {node: _size(self.cluster, node) for node in self.cluster.nodes}
        self._known_lines = {}

    def losses(self) -> tuple[str, ...]:
        """What brokers and the controller have said of losing something of this topic, each line with who said it."""
        found = []
        for node in self.cluster.nodes.values():
            for line in log_lines(node.log, TELLING, self._log_sizes.get(node.number, 0)):
                if f"{self.name}-0" in line and tells_of_loss(line):
                    found.append(f"{node.name}: {line}")
        return tuple(found)

    def new_lines(self) -> tuple[str, ...]:
        """What brokers and the controller have said of this topic since this was asked last, each line with who said it.

        Without complaints about connections, which gates close, and without what is logged for a validation alone.
        """
        found = []
        for node in self.cluster.nodes.values():
            lines = log_lines(node.log, re.escape(f"{self.name}-0"), self._log_sizes.get(node.number, 0))
            known = self._known_lines.get(node.number, 0)
            self._known_lines[node.number] = len(lines)
            found += [f"{node.name}: {line}" for line in lines[known:] if not re.search(_NOT_SHOWN, line)]
        return tuple(found)


def _size(cluster: Cluster, node: int) -> int:
    log = cluster.nodes[node].log
    return log.stat().st_size if log.is_file() else 0
