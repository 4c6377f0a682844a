"""The Kafka releases that can be started: a table by release line, with what each line needs beside its own jars.

A broker needs nothing of kafka-tools: no class of `kafka_2.13` names one of it (3.0.2, 3.9.2, 4.0.1, 4.2.2 and 4.4.0, by
jdeps), and formatting, `kafka.tools.StorageTool`, is in there itself.
"""

from __future__ import annotations

from enum import StrEnum, unique

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen


@unique
class Mode(StrEnum):
    """Where a cluster keeps its metadata."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


@unique
class LogBinding(StrEnum):
    """What writes a broker's log, which decides the format of its configuration."""

    LOG4J_1 = "log4j.properties"
    LOG4J_2 = "log4j2.xml"


@frozen
class Artifact:
    """A jar by its Maven coordinates."""

    group: str
    name: str
    version: str


@frozen
class Release:
    """A Kafka release and how it is started.

    `fixes` go before everything else on the class path: without them this release does not start on a current Java.
    """

    version: str
    scala: str
    modes: tuple[Mode, ...]
    log_binding: LogBinding
    logging: tuple[Artifact, ...]
    fixes: tuple[Artifact, ...] = ()
    is_tried: bool = False

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers, to compare: (0, 10, 2, 2)."""
        return numbers(self.version)

    @property
    def server(self) -> Artifact:
        """The broker itself."""
        return Artifact("org.apache.kafka", f"kafka_{self.scala}", self.version)

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """What Maven is asked for; everything else follows from these."""
        return (self.server, *self.logging, *self.fixes)

    @property
    def mode(self) -> Mode:
        """The mode in which the release is started unless another is asked for."""
        return self.modes[0]


BROKER_CLASS = "kafka.Kafka"
FORMAT_CLASS = "kafka.tools.StorageTool"
ZOOKEEPER_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
ZOOKEEPER = Artifact("org.apache.zookeeper", "zookeeper", "3.5.9")
"""One ZooKeeper server for all releases: clients from 3.4 to 3.8 speak to it."""

JAXB = Artifact("javax.xml.bind", "jaxb-api", "2.3.1")
"""0.10 and 0.11 make the cluster's id with javax.xml.bind.DatatypeConverter, which left Java with release 11 (JEP 320)."""
OLDER_ZOOKEEPER_CLIENT = Artifact("org.apache.zookeeper", "zookeeper", "3.4.10")
"""ZooKeeper 3.4.13 resolves no host name on Java 14 and later: it asks for "zk/<unresolved>:2181"."""

_LOG4J_1 = (Artifact("log4j", "log4j", "1.2.17"), Artifact("org.slf4j", "slf4j-log4j12", "1.7.25"))
_RELOAD4J = (Artifact("org.slf4j", "slf4j-reload4j", "1.7.36"),)
_LOG4J_2 = tuple(
    Artifact("org.apache.logging.log4j", name, "2.24.3") for name in ("log4j-1.2-api", "log4j-core", "log4j-slf4j-impl")
)
ZOOKEEPER_ARTIFACTS = (ZOOKEEPER, *_LOG4J_1)

_ZK, _BOTH, _KRAFT = (Mode.ZOOKEEPER,), (Mode.ZOOKEEPER, Mode.KRAFT), (Mode.KRAFT,)
_LINES: tuple[
    tuple[str, int, str, tuple[Mode, ...], tuple[Artifact, ...], tuple[Artifact, ...], tuple[int, ...]], ...
] = (
    # line, number of patch releases, Scala, modes, log binding, fixes, which of them are tried
    ("0.10.2", 3, "2.11", _ZK, _LOG4J_1, (JAXB,), (2,)),
    ("0.11.0", 4, "2.11", _ZK, _LOG4J_1, (JAXB,), (3,)),
    ("1.0", 3, "2.11", _ZK, _LOG4J_1, (), ()),
    ("1.1", 2, "2.11", _ZK, _LOG4J_1, (), (1,)),
    ("2.0", 2, "2.12", _ZK, _LOG4J_1, (OLDER_ZOOKEEPER_CLIENT,), (0, 1)),
    ("2.1", 2, "2.12", _ZK, _LOG4J_1, (OLDER_ZOOKEEPER_CLIENT,), (1,)),
    ("2.2", 3, "2.12", _ZK, _LOG4J_1, (OLDER_ZOOKEEPER_CLIENT,), ()),
    ("2.3", 2, "2.12", _ZK, _LOG4J_1, (), ()),
    ("2.4", 2, "2.12", _ZK, _LOG4J_1, (), (1,)),
    ("2.5", 2, "2.12", _ZK, _LOG4J_1, (), (1,)),
    ("2.6", 4, "2.13", _ZK, _LOG4J_1, (), ()),
    ("2.7", 3, "2.13", _ZK, _LOG4J_1, (), ()),
    ("2.8", 3, "2.13", _ZK, _LOG4J_1, (), (0, 2)),
    ("3.0", 3, "2.13", _ZK, _RELOAD4J, (), ()),
    ("3.1", 3, "2.13", _ZK, _RELOAD4J, (), ()),
    ("3.2", 4, "2.13", _ZK, _RELOAD4J, (), ()),
    ("3.3", 3, "2.13", _BOTH, _RELOAD4J, (), ()),
    ("3.4", 2, "2.13", _BOTH, _RELOAD4J, (), (1,)),
    ("3.5", 3, "2.13", _BOTH, _RELOAD4J, (), ()),
    ("3.6", 3, "2.13", _BOTH, _RELOAD4J, (), (2,)),
    ("3.7", 3, "2.13", _BOTH, _RELOAD4J, (), ()),
    ("3.8", 2, "2.13", _BOTH, _RELOAD4J, (), ()),
    ("3.9", 3, "2.13", _BOTH, _RELOAD4J, (), (1, 2)),
    ("4.0", 3, "2.13", _KRAFT, _LOG4J_2, (), (0, 1, 2)),
    ("4.1", 3, "2.13", _KRAFT, _LOG4J_2, (), (0, 2)),
    ("4.2", 3, "2.13", _KRAFT, _LOG4J_2, (), (0, 1, 2)),
    ("4.3", 2, "2.13", _KRAFT, _LOG4J_2, (), (0, 1)),
    ("4.4", 1, "2.13", _KRAFT, _LOG4J_2, (), (0,)),
)
"""The first line is the first with named listeners (KIP-103), which lead brokers through proxies; KRaft is offered from the
release in which it was declared ready (KIP-833). Tried are those that were started and played at least one trace on Java 17;
others of the table are expected to behave alike."""


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, to compare; `ConfigurationError` if it is not written in numbers and dots."""
    parts = version.split(".")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ConfigurationError(f"“{version}” is not a Kafka release; write one such as 4.1.0")
    return tuple(int(part) for part in parts)


def releases() -> tuple[Release, ...]:
    """All releases of the table, oldest first."""
    found = []
    for line, patches, scala, modes, logging, fixes, tried in _LINES:
        binding = LogBinding.LOG4J_2 if logging is _LOG4J_2 else LogBinding.LOG4J_1
        for patch in range(patches):
            found.append(Release(f"{line}.{patch}", scala, modes, binding, logging, fixes, patch in tried))
    return tuple(found)


def newest() -> Release:
    """The newest release: here and nowhere else it is said which that is."""
    return releases()[-1]


def release(version: str) -> Release:
    """The release of this version; `ConfigurationError` names those of its line, or the first and the last."""
    wanted = numbers(version)
    known = releases()
    for one in known:
        if one.number == wanted:
            return one
    near = [one.version for one in known if one.number[:2] == wanted[:2]]
    names = f"known of that line: {', '.join(near)}" if near else f"known are {known[0].version} to {known[-1].version}"
    raise ConfigurationError(f"Kafka {version} is not a release that acked can start; {names}")


def mode_of(chosen: Release, mode: Mode | None) -> Mode:
    """The mode asked for, or the release's own; `ConfigurationError` if the release does not have it."""
    if mode is None or mode in chosen.modes:
        return mode or chosen.mode
    raise ConfigurationError(f"Kafka {chosen.version} cannot be started with {mode}; it has {' and '.join(chosen.modes)}")
