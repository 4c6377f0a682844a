"""Controllers alone, of a dynamic quorum (KIP-853) or a static one: unmodified Kafka with its own timeouts."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import uuid
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import javaproperties

from acked.cluster.nodes.formatting import CLUSTER_ID, META
from acked.cluster.nodes.jvm import Jvm, Program, broker_java, run_to_end
from acked.cluster.nodes.settings import log_configuration, log_option, write_properties
from acked.cluster.nodes.watchdog import Watchdog
from acked.cluster.proxies.frame import Link
from acked.cluster.proxies.network import Network
from acked.cluster.releases.jars import release_jars
from acked.cluster.releases.release import BROKER_CLASS, FORMAT_CLASS, release
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import BrokerGone, Client, Dialect

_HOST = "127.0.0.1"
_METADATA = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}


class Controllers:
    """So many controllers, all of them voters but `joining` ones, each with a folder of its own; all end with the context.

    If `is_static` the voters are so, without directory ids (`controller.quorum.voters`). With a `network` they know each
    other by addresses that lead through it.
    """

    def __init__(
        self, version: str, count: int, folder: Path, *, is_static: bool = False, settings: Mapping[str, str] | None = None,
        joining: int = 0, network: Network | None = None,
    ) -> None:  # fmt: skip
        self._release, self._folder = release(version), folder
        self._jars = release_jars(self._release)
        self._watchdog = Watchdog(None)
        self.ports = _free_ports(count)
        self._known = self.ports if network is None else _free_ports(count)
        if network is not None:
            for one, (known, port) in enumerate(zip(self._known, self.ports, strict=True)):
                network.listen(Link(one, one, (_HOST, known), (_HOST, port)))
        self.running: dict[int, Jvm] = {}
        addresses = [f"{one}@{_HOST}:{port}" for one, port in enumerate(self._known)]
        bootstrap = ",".join(address.partition("@")[2] for address in addresses)
        quorum = {"voters": ",".join(addresses)} if is_static else {"bootstrap.servers": bootstrap}
        voters = addresses[: count - joining]
        named = ",".join(f"{address}:{_written(_directory_id())}" for address in voters)
        for one in range(count):
            self._configure(one, {**{f"controller.quorum.{key}": text for key, text in quorum.items()}, **(settings or {})})
            how = ("--initial-controllers", named) if one < len(voters) else ("--no-initial-controllers",)
            self._format(one, *(() if is_static else how))

    def __enter__(self) -> Self:
        for one in range(len(self.ports)):
            self.start(one)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for one in tuple(self.running):
            self.kill(one)
        self._watchdog.stop()

    def start(self, one: int) -> None:
        """Starts a controller with what is on its disk."""
        program = self._program(one, BROKER_CLASS, self._configuration(one))
        self.running[one] = Jvm(f"controller {one}", program, self._folder / str(one), self._watchdog)

    def kill(self, one: int) -> None:
        """A crash of the process."""
        self.running.pop(one).kill()

    def lose_disk(self, one: int, *how: str) -> None:
        """An empty disk takes the place of a controller's own while it is down, formatted as the arguments say."""
        shutil.rmtree(self._data(one))
        self._format(one, *how)

    def has_written(self, one: int, text: bytes) -> bool:
        """Whether a text stands in a controller's log of metadata, on its disk."""
        return any(text in path.read_bytes() for path in self._data(one).glob("__cluster_metadata-0/*.log"))

    def write_default(self, value: str) -> int:
        """Has the leader write a default of all brokers, and returns it; the answer comes once that is committed."""

        def is_answered() -> bool:
            leader = self.leader()
            return leader is not None and self._altered(leader, value) == 0

        wait_for(is_answered, "that a leader commits", 60.0)
        leader = self.leader()
        assert leader is not None
        return leader

    def _altered(self, leader: int, value: str) -> int:
        change = {"name": "log.retention.ms", "config_operation": 0, "value": value}
        asked = {"resources": [{"resource_type": 4, "resource_name": "", "configs": [change]}], "validate_only": False}
        with self._client(leader) as ask:
            return int(ask.ask(Api.INCREMENTAL_ALTER_CONFIGS, asked, 1).responses[0].error_code)

    def signal(self, some: Iterable[int], number: signal.Signals) -> None:
        """SIGSTOP: the processes stand still; SIGCONT: they go on."""
        for one in some:
            os.kill(self.running[one].pid, number)

    def leader(self) -> int | None:
        """Who leads the quorum, by its own answer, which a leader alone gives."""
        return next((one for one in self.running if self.described(one) is not None), None)

    def described(self, one: int) -> Any:
        """The quorum as a leader describes it, in kio's form; None by one that does not lead, or does not answer."""
        try:
            with self._client(one) as ask:
                found = ask.ask(Api.DESCRIBE_QUORUM, _METADATA, 1).topics[0].partitions[0]
        except BrokerGone:
            return None
        return None if found.error_code else found

    def replicated_leader(self) -> int:
        """The leader, as soon as every controller has its whole log, and it is committed."""

        def look() -> bool:
            leader = self.leader()
            found = None if leader is None else self.described(leader)
            if found is None:
                return False
            # A leader that is no voter is among the observers, and so is a disk that was replaced.
            ends: dict[int, int] = {}
            for one in (*found.current_voters, *found.observers):
                ends[one.replica_id] = max(ends.get(one.replica_id, -1), one.log_end_offset)
            return set(ends.values()) == {found.high_watermark}

        wait_for(look, "that all controllers have all metadata", 120.0)
        leader = self.leader()
        assert leader is not None
        return leader

    def voters(self, leader: int) -> set[int]:
        """The voters by the newest set in a leader's log, be it committed or not."""
        found = self.described(leader)
        return set() if found is None else {int(voter.replica_id) for voter in found.current_voters}

    def remove(self, one: int, leader: int, stack: ExitStack) -> None:
        """Asks the leader to remove a voter; returns when the change is in its log. The connection is the stack's."""
        asked = {"cluster_id": CLUSTER_ID, "voter_id": one, "voter_directory_id": self._directory(one)}
        stack.enter_context(self._client(leader)).send(Api.REMOVE_RAFT_VOTER, asked, 0)

    def add(self, one: int, leader: int, stack: ExitStack) -> None:
        """Asks the leader to make a controller a voter. The connection is the stack's."""
        listener = {"name": "CONTROLLER", "host": _HOST, "port": self._known[one]}
        asked = {"cluster_id": CLUSTER_ID, "timeout": 30_000, "voter_id": one, "voter_directory_id": self._directory(one),
                 "listeners": [listener]}  # fmt: skip
        stack.enter_context(self._client(leader)).send(Api.ADD_RAFT_VOTER, asked, 0)

    def _directory(self, one: int) -> uuid.UUID:
        """The directory id that a controller's disk was formatted with."""
        meta = javaproperties.loads((self._data(one) / META).read_text("utf-8"))
        return uuid.UUID(bytes=base64.urlsafe_b64decode(meta["directory.id"] + "=="))

    def log(self, one: int) -> list[str]:
        """A controller's own log, in lines."""
        return (self._folder / str(one) / "log").read_text("utf-8").splitlines()

    def _client(self, one: int) -> Client:
        return Client((_HOST, self.ports[one]), Dialect(self._release.number), 5.0)

    def _format(self, one: int, *how: str) -> None:
        arguments = ("format", "-t", CLUSTER_ID, "-c", self._configuration(one), *how)
        run_to_end("Kafka's format tool", self._program(one, FORMAT_CLASS, *arguments), self._folder, 120.0)

    def _configure(self, one: int, more: Mapping[str, str]) -> None:
        (self._folder / str(one)).mkdir()
        self._logging(one).write_text(log_configuration(self._release.log_binding, self._folder / str(one) / "log"))
        # A voter with other listeners than the quorum knows has them replaced by its own, which lead past the network.
        is_apart = self._known != self.ports
        advertised = {"advertised.listeners": f"CONTROLLER://{_HOST}:{self._known[one]}"} if is_apart else {}
        settings = {
            "node.id": str(one), "process.roles": "controller", "log.dirs": str(self._data(one)),
            "controller.listener.names": "CONTROLLER", "listeners": f"CONTROLLER://{_HOST}:{self.ports[one]}",
            **advertised,
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT", **more,
        }  # fmt: skip
        write_properties(Path(self._configuration(one)), settings)

    def _data(self, one: int) -> Path:
        return self._folder / str(one) / "data"

    def _configuration(self, one: int) -> str:
        return str(self._folder / str(one) / "server.properties")

    def _logging(self, one: int) -> Path:
        return self._folder / str(one) / self._release.log_binding.value

    def _program(self, one: int, main: str, *arguments: str) -> Program:
        options = (log_option(self._release.log_binding, self._logging(one)),)
        return Program(broker_java(), self._jars, main, arguments, options=options)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        bound = [stack.enter_context(socket.create_server((_HOST, 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in bound]


def _directory_id() -> uuid.UUID:
    """None that is written with a hyphen in front, which Kafka has not for its own."""
    return next(one for one in iter(uuid.uuid4, None) if not _written(one).startswith("-"))


def _written(disk: uuid.UUID) -> str:
    return base64.urlsafe_b64encode(disk.bytes).decode().rstrip("=")
