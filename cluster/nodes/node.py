"""A node: its folder, its configuration, and the JVM that runs it now, if one does."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from acked.cluster.nodes.addresses import CONTROLLER, ZOOKEEPER, Addresses
from acked.cluster.nodes.formatting import META, meta_of
from acked.cluster.nodes.jvm import ZOOKEEPER_HEAP_MB, Jvm, Program
from acked.cluster.nodes.settings import log_configuration, log_option, server_settings, write_properties, zookeeper_settings
from acked.cluster.nodes.watchdog import Watchdog
from acked.cluster.releases.release import BROKER_CLASS, FORMAT_CLASS, ZOOKEEPER_CLASS, LogBinding, Release


@dataclass
class Node:
    """A broker, a controller or ZooKeeper. `settings` may be changed between a stop and a start."""

    number: int
    folder: Path
    program: Program
    settings: dict[str, str]
    watchdog: Watchdog
    jvm: Jvm | None = None

    @property
    def name(self) -> str:
        """What sentences call it."""
        return {CONTROLLER: "the controller", ZOOKEEPER: "ZooKeeper"}.get(self.number, f"broker {self.number}")

    @property
    def data(self) -> Path:
        """Where its logs of records are, or ZooKeeper's data."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """Its own log, in words."""
        return self.folder / "log"

    @property
    def configuration(self) -> Path:
        """Its properties file."""
        return self.folder / "server.properties"

    @property
    def is_running(self) -> bool:
        """Whether its JVM runs."""
        return self.jvm is not None and self.jvm.is_running

    def start(self, *options: str) -> None:
        """Starts it with what is in its folder; ready it is later. `options` are more of Java's, for this start only."""
        assert not self.is_running
        write_properties(self.configuration, self.settings)
        program = replace(self.program, options=(*self.program.options, *options))
        self.jvm = Jvm(self.name, program, self.folder, self.watchdog)

    def check(self) -> None:
        """`Exited` with its own words if it was started and has ended by itself."""
        if self.jvm is not None:
            self.jvm.check()

    def kill(self) -> None:
        """Ends its process at once."""
        if self.jvm is not None:
            self.jvm.kill()
            self.jvm = None

    def shut_down(self) -> None:
        """Ends its process in an orderly way."""
        assert self.jvm is not None
        self.jvm.shut_down()
        self.jvm = None

    def empty_disk(self) -> None:
        """Its data are gone, as on a new disk; only for a node that does not run.

        KRaft's brokers start in formatted directories only: the new one has the node's id, and a directory id of its own.
        """
        assert not self.is_running
        meta = self.data / META
        is_kraft = "process.roles" in self.settings
        formatted = meta_of(meta.read_text(encoding="utf-8"), self.number) if is_kraft and meta.is_file() else None
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()
        if formatted is not None:
            meta.write_text(formatted, encoding="utf-8")


def broker_node(number: int, folder: Path, chosen: Release, program: Program, addresses: Addresses, own: Mapping[str, str],
                watchdog: Watchdog, logging: str | None = None) -> Node:  # fmt: skip
    """A broker, or a controller. `program` has Java, jars and class archive; `logging` is as `ClusterPlan` has it."""
    options = _prepare(folder, number, chosen.log_binding, addresses, logging)
    made = replace(program, main=BROKER_CLASS, arguments=(str(folder / "server.properties"),), options=options)
    return Node(number, folder, made, server_settings(addresses, number, folder / "data", own), watchdog)


def zookeeper_node(folder: Path, program: Program, addresses: Addresses, watchdog: Watchdog) -> Node:
    """The ZooKeeper server."""
    options = _prepare(folder, ZOOKEEPER, LogBinding.LOG4J_1, addresses)
    configuration = (str(folder / "server.properties"),)
    made = replace(program, main=ZOOKEEPER_CLASS, arguments=configuration, options=options, heap_mb=ZOOKEEPER_HEAP_MB)
    return Node(ZOOKEEPER, folder, made, zookeeper_settings(addresses, folder / "data"), watchdog)


def format_tool(node: Node, arguments: tuple[str, ...]) -> Program:
    """Kafka's format tool with a node's configuration, which is written for it."""
    write_properties(node.configuration, node.settings)
    return replace(node.program, main=FORMAT_CLASS, arguments=arguments)


def _prepare(
    folder: Path, number: int, binding: LogBinding, addresses: Addresses, own: str | None = None
) -> tuple[str, ...]:
    """The folder's files, and the options that name them."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "hosts").write_text(addresses.hosts(number), encoding="ascii")
    # log4j 2 reads either form, and knows them by their names.
    logging = folder / (binding.value if own is None else "log.properties")
    logging.write_text(log_configuration(binding, folder / "log") if own is None else own, encoding="utf-8")
    return (
        f"-Djdk.net.hosts.file={folder / 'hosts'}",
        log_option(binding, logging),
        *((f"-Dacked.log={folder / 'log'}",) if own is not None else ()),
    )
