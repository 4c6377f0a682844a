"""A cluster on loopback as a context manager: up when it is entered, and nothing of it left when it is left."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from acked.base.errors import SystemFailure
from acked.cluster.nodes.addresses import CLIENT, CONTROLLER, ZOOKEEPER, open_network
from acked.cluster.nodes.formatting import format_arguments, format_directories
from acked.cluster.nodes.jvm import Program
from acked.cluster.nodes.node import Node, broker_node, format_tool, zookeeper_node
from acked.cluster.nodes.plan import ClusterPlan
from acked.cluster.nodes.watchdog import Watchdog
from acked.cluster.observe.disk import Replica, lose_page_cache, partition_folder, read_replica
from acked.cluster.proxies.frame import Frame, LinkKind
from acked.cluster.releases.release import Mode
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import Client, Dialect
from acked.cluster.wire.facts import Heartbeat, Registration

UP_SECONDS = 180.0
"""How long a node may take to answer; long, as other work may run on the machine."""

PATIENCE = (5.0, 40.0)
"""The least and the greatest number of seconds after which what is not seen will not be; in between, as long as the cluster
took to start, because a machine that does other work is slow at both. An effect takes about a tenth of a second."""


def patience_after(start_seconds: float) -> float:
    """Seconds after which what is not seen of a cluster that took so long to start will not be."""
    least, most = PATIENCE
    return min(max(start_seconds, least), most)


class Cluster:
    """Nodes, the proxies between them, and what can be done to them."""

    def __init__(self, plan: ClusterPlan, progress: Callable[[str], None] = lambda line: None,
                 options: Mapping[int, tuple[str, ...]] = MappingProxyType({})) -> None:  # fmt: skip
        """`options` are more of Java's, for the start of some nodes."""
        self.plan, self._progress, self._options = plan, progress, options
        self.addresses, self.network = open_network(plan.mode, plan.brokers)
        self.folder = Path(tempfile.mkdtemp(prefix="acked-kafka-"))
        self._watchdog = Watchdog(None if plan.keep else self.folder)
        try:
            self.nodes = self._make_nodes()
        except OSError as error:
            self.nodes = {}
            self.close()
            raise self._unwritable(error) from None
        self.dialect = Dialect(plan.release.number)
        self.registrations: dict[int, int] = {}
        """The epochs in which brokers are registered with KRaft's controller, as its answers said: each is the offset of that
        registration in the log of metadata.
        """
        self._applied: dict[int, int] = {}
        """How far brokers have applied that log, as their heartbeats say."""
        self.network.observers.append(self._note)
        self.seconds = 0.0
        """How long the cluster took to come up."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except OSError as error:
            self.close()
            raise self._unwritable(error) from None
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
        if isinstance(error, OSError):
            raise self._unwritable(error) from None

    # -- up and down ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts all nodes, the controller first, so that it is the controller; returns when every broker answers."""
        begun = time.monotonic()
        if self.plan.mode is Mode.KRAFT:
            self._format()
            self._start(CONTROLLER)
        else:
            self._start(ZOOKEEPER)
            self._answers(ZOOKEEPER, self.addresses.zookeeper)
            self._start(CONTROLLER)
            self._await(
                CONTROLLER,
                lambda: self._ask(CONTROLLER, lambda ask: ask.metadata([]).controller == CONTROLLER),
                "is elected",
            )
        for broker in self.plan.brokers:
            self._start(broker)
        for broker in self.plan.brokers:
            self.await_broker(broker)
        self.await_known()
        self.seconds = time.monotonic() - begun
        self._progress(f"Kafka {self.plan.release.version} is up")

    def end_nodes(self) -> None:
        """Ends every process; what they wrote is there until the cluster is closed."""
        for node in self.nodes.values():
            node.kill()

    def close(self) -> None:
        """Ends everything; leaves the folder only if the plan says so."""
        self.end_nodes()
        self.network.close()
        self._watchdog.stop()
        if not self.plan.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def await_broker(self, broker: int) -> None:
        """Returns when the broker answers clients and is registered."""
        self._await(broker, lambda: self._ask(broker, lambda ask: broker in ask.metadata([]).brokers), "answers")

    def await_known(self) -> None:
        """Returns when every running broker knows every other."""
        running = [broker for broker in self.plan.brokers if self.nodes[broker].is_running]
        asked = (*running, CONTROLLER) if self.plan.mode is Mode.ZOOKEEPER else running
        for node in asked:
            self._await(
                node,
                partial(self._ask, node, lambda ask: set(running) <= set(ask.metadata([]).brokers)),
                "knows all brokers",
            )

    def check(self) -> None:
        """`Exited` if a broker has ended that nobody has ended."""
        for broker in self.plan.brokers:
            self.nodes[broker].check()

    # -- what can be done -------------------------------------------------------------------------------------------------

    def client(self, broker: int, timeout: float = 20.0, gated: bool = False) -> Client:
        """A connection to one broker: past all proxies, or through the one from `CLIENT`, where gates may hold frames.

        The controller answers clients too, where it is a broker.
        """
        direct = ("127.0.0.1", self.addresses.client[broker])
        gates = (self.addresses.proxy(CLIENT, broker), self.addresses.client_port)
        return Client(gates if gated else direct, self.dialect, timeout)

    def bootstrap(self) -> str:
        """The addresses for a client library, whose connections go through the proxies from `CLIENT`."""
        return ",".join(self.addresses.bootstrap(broker) for broker in self.plan.brokers)

    def admin(self) -> Client:
        """A connection to the node that is asked for topics: the controller; with KRaft the witness, or a running broker."""
        if self.plan.mode is Mode.ZOOKEEPER:
            return self.client(CONTROLLER)
        if self.plan.witness is not None:
            return self.client(self.plan.witness)
        running = [broker for broker in self.plan.brokers if self.nodes[broker].is_running]
        if not running:
            raise SystemFailure("no broker runs that could be asked")
        return self.client(running[0])

    def kill(self, broker: int) -> None:
        """A crash of the process. The controller does not notice before `notice`, or until the session expires."""
        self.nodes[broker].kill()
        self._applied.pop(broker, None)
        self.network.reset(source=broker, but=LinkKind.ZOOKEEPER)
        self.network.reset(target=broker)

    def notice(self, broker: int) -> None:
        """The controller finds that a dead broker is gone: now, by the way that an expired session takes."""
        if self.plan.mode is Mode.ZOOKEEPER:
            self.network.end_sessions(broker)
            return
        error = self.send_heartbeat(broker, wants_fence=True)
        if error:
            epoch = self.registrations[broker]
            raise SystemFailure(f"the controller does not fence broker {broker} in epoch {epoch}: error {error}")

    def send_heartbeat(self, broker: int, wants_fence: bool = False) -> int:
        """Tells KRaft's controller, in a broker's name, that it has applied all metadata; returns the error."""
        heartbeat = {"broker_id": broker, "broker_epoch": self.registrations[broker], "current_metadata_offset": 1 << 40,
                     "want_fence": wants_fence, "want_shut_down": False}  # fmt: skip
        with Client(("127.0.0.1", self.addresses.internal[CONTROLLER]), self.dialect) as ask:
            return int(ask.ask(Api.BROKER_HEARTBEAT, heartbeat, 0).error_code)

    def shut_down(self, broker: int) -> None:
        """An orderly shutdown, of which the controller is told by the broker itself."""
        self.nodes[broker].shut_down()
        self._applied.pop(broker, None)
        self.network.reset(source=broker)
        self.network.reset(target=broker)

    def restart(self, broker: int) -> None:
        """Starts a broker that does not run, with what is on its disk; returns when it answers."""
        if self.plan.mode is Mode.ZOOKEEPER:
            self.network.end_sessions(broker)  # It could not register beside its own former session.
        self._start(broker)
        self.await_broker(broker)

    def has_heard_of(self, broker: int, back: int, is_silent: bool = False) -> bool:
        """Whether a broker knows, with KRaft, that another is back, and in its last registration.

        Who has not even heard that it was gone counts on it too, in the one before, and does not ask for it in the ISR. Of
        one that is silent, whose heartbeats do not arrive, the two are not told apart.
        """
        if not is_silent and self._applied.get(broker, -1) < self.registrations[back]:
            return False
        return self._ask(broker, lambda ask: back in ask.metadata([]).brokers)

    def lose_page_cache(self, broker: int, topic: str, flushed: int = 0, partition: int = 0) -> None:
        """The machine of a dead broker died too: what it had not flushed, offsets from `flushed` on, is gone."""
        lose_page_cache(partition_folder(self.nodes[broker].data, topic, partition), flushed)

    def replace_disk(self, broker: int) -> None:
        """The volume or the node of a dead broker is replaced: nothing is on its disk, which is formatted anew for KRaft."""
        self.nodes[broker].empty_disk()

    def replica(self, broker: int, topic: str, partition: int = 0) -> Replica:
        """A replica as it lies on disk, of dead brokers too."""
        return read_replica(broker, self.nodes[broker].data, topic, partition)

    # -- inside -----------------------------------------------------------------------------------------------------------

    def _make_nodes(self) -> dict[int, Node]:
        plan = self.plan
        program = Program(plan.java, plan.jars, "", (), archive=plan.archive)
        nodes = {
            number: broker_node(number, self._folder(number), plan.release, program, self.addresses,
                                {**plan.settings, **(plan.of_controller if number == CONTROLLER else {})},
                                self._watchdog, plan.logging)
            for number in self.addresses.nodes
        }  # fmt: skip
        if plan.zookeeper_jars is not None and plan.mode is Mode.ZOOKEEPER:
            server = Program(plan.java, plan.zookeeper_jars, "", ())
            nodes[ZOOKEEPER] = zookeeper_node(self._folder(ZOOKEEPER), server, self.addresses, self._watchdog)
        return nodes

    def _unwritable(self, error: OSError) -> SystemFailure:
        return SystemFailure(f"the cluster's files cannot be written in {self.folder}: {error.strerror}")

    def _format(self) -> None:
        plan, controller = self.plan, self.nodes[CONTROLLER]
        tool = format_tool(controller, format_arguments(controller.configuration, plan.features))
        key = (plan.release.version, *(f"{name}={level}" for name, level in sorted(plan.features.items())))
        others = {broker: self.nodes[broker].data for broker in plan.brokers}
        self._progress("formatting the controller's directory")
        format_directories(tool, key, controller.data, others, controller.folder)

    def _start(self, node: int) -> None:
        self._progress(f"starting {self.nodes[node].name}")
        self.nodes[node].start(*self._options.get(node, ()))

    def _answers(self, node: int, port: int) -> None:
        def look() -> bool:
            Client(("127.0.0.1", port), self.dialect).close()
            return True

        self._await(node, look, "listens")

    def _await(self, node: int, look: Callable[[], bool], what: str) -> None:
        def check() -> None:
            for other in self.nodes.values():
                if other.number in (node, CONTROLLER, ZOOKEEPER):
                    other.check()

        wait_for(look, f"that {self.nodes[node].name} {what}", UP_SECONDS, check)

    def _ask(self, node: int, use: Callable[[Client], bool]) -> bool:
        with self.client(node, timeout=5.0) as ask:
            return use(ask)

    def _folder(self, node: int) -> Path:
        return self.folder / f"node{node}"

    def _note(self, frame: Frame) -> None:
        if frame.api == Api.BROKER_REGISTRATION and isinstance(frame.facts, Registration) and frame.facts.error == 0:
            self.registrations[frame.source] = frame.facts.broker_epoch
        if frame.api == Api.BROKER_HEARTBEAT and isinstance(frame.facts, Heartbeat):
            self._applied[frame.source] = frame.facts.applied
