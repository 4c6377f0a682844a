"""How brokers and controllers are told to log what a validation needs: files for log4j and log4j2, commands for a running
cluster.

Five loggers, a layout that names the thread, and filters for what is frequent and not needed. From runs of 3.9.1 and 4.4.0.
"""

from __future__ import annotations

import re
from enum import Enum, unique
from importlib.resources import files

from acked.base.errors import ConfigurationError


@unique
class Format(Enum):
    """In which form the configuration is wanted."""

    LOG4J = "log4j"
    LOG4J2 = "log4j2"
    RUNNING = "broker-loggers"


PATTERN = "%d{yyyy-MM-dd HH:mm:ss.SSS} %p [%t] %c %m%n"
"""The layout: the day and milliseconds, and the thread, without which the lines of one step cannot be told from another's."""
DROPPED = (
    "Setting high watermark", "partition=__cluster_metadata-0", "Sending fetch request", "after appending", "Reading maximum",
)  # fmt: skip
"""Texts of lines that come often and are not needed."""
OLD_LOG, NEW_LOG = "kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog"
BROKER_LOGGERS = (
    ("kafka.cluster.Partition", "DEBUG"), ("state.change.logger", "INFO"), ("kafka.server.ReplicaFetcherThread", "TRACE"),
)  # fmt: skip
CONTROLLER_LOGGER = ("org.apache.kafka.controller.ReplicationControlManager", "DEBUG")

ZOOKEEPER_LOGGERS = (
    ("kafka.log.Log", "TRACE"), ("kafka.controller.KafkaController", "DEBUG"),
)  # fmt: skip
"""Before KRaft; what ZooKeeper's controller decides is printed by `state.change.logger`, too."""
FIRST_WITH_KRAFT = (3, 3)
READ_WITH_ZOOKEEPER = (2, 8)
"""Before KRaft the one release whose lines are read."""

COST = (
    "What it costs goes with requests, not with records: about 0.9 kB of log per broker and produce request, and 0.8 kB a "
    "second per leader partition that is idle. With batches, 1 to 2 kB per 1000 records were written and nothing was seen of "
    "it in throughput; at one record a request up to 45 % less was measured, on a machine whose rounds differ by as much."
)
"""Measured with 3.9.1 and 4.4.0, three brokers and one controller on two cores, synchronous appenders."""

FIRST_WITH_CONTROLLER_LEVELS = (3, 7)
"""The first whose controllers' levels can be changed while they run (KIP-919)."""
FIRST_WITH_LOG4J2 = (4, 0)
FIRST_WITH_NEW_LOG = (4, 1)
"""4.0 has the old logger for appends, and the new one for what is loaded."""


def is_read(release: tuple[int, ...], with_kraft: bool) -> bool:
    """Whether the lines of a release are read: with KRaft from 3.3 on, and of 2.8 with ZooKeeper."""
    return release >= FIRST_WITH_KRAFT if with_kraft else release[:2] == READ_WITH_ZOOKEEPER


def loggers(release: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """The loggers and their levels for a release."""
    if release < FIRST_WITH_KRAFT:
        return (*BROKER_LOGGERS, *ZOOKEEPER_LOGGERS)
    logs = tuple(
        log for log, is_used in ((OLD_LOG, release < FIRST_WITH_NEW_LOG), (NEW_LOG, release >= FIRST_WITH_LOG4J2)) if is_used
    )
    return (*BROKER_LOGGERS, *((log, "TRACE") for log in logs), CONTROLLER_LOGGER)


def configuration(release: tuple[int, ...], wanted: Format | None, topic: str) -> str:
    """The text of a configuration; without a form that of the release. `ConfigurationError` of a form it cannot read."""
    own = Format.LOG4J2 if release >= FIRST_WITH_LOG4J2 else Format.LOG4J
    chosen = wanted or own
    if chosen is Format.RUNNING:
        return _running(release)
    if chosen is not own:
        name = ".".join(map(str, release))
        raise ConfigurationError(f"Kafka {name} is configured with {own.value}, not with {chosen.value}")
    return _log4j2(release, topic) if chosen is Format.LOG4J2 else _log4j(release)


def _template(name: str, **values: str) -> str:
    text = files("acked.cluster.lines").joinpath(name).read_text("utf-8")
    return re.sub("@([a-z]+)@", lambda found: values[found[1]], text)


def _log4j(release: tuple[int, ...]) -> str:
    lines = []
    for number, text in enumerate(DROPPED, 1):
        lines += [
            f"log4j.appender.A.filter.{number}=org.apache.log4j.varia.StringMatchFilter",
            f"log4j.appender.A.filter.{number}.StringToMatch={text}",
            f"log4j.appender.A.filter.{number}.AcceptOnMatch=false",
        ]
    lines += [f"log4j.logger.{name}={level}" for name, level in loggers(release)]
    return _template("log4j.properties", pattern=PATTERN) + "\n".join(lines) + "\n"


def _log4j2(release: tuple[int, ...], topic: str) -> str:
    lines = []
    for number, (name, level) in enumerate(loggers(release)):
        lines += [f"logger.l{number}.name={name}", f"logger.l{number}.level={level.lower()}"]
    common = _template("log4j2.properties", pattern=PATTERN, topic=topic, dropped="|".join(DROPPED))
    return common + "\n".join(lines) + "\n"


def _running(release: tuple[int, ...]) -> str:
    """Commands for a cluster that runs, and whose layout names the thread already. Tried on a real 3.9.1 and 4.1.0."""
    levels = ",".join(f"{name}={level}" for name, level in loggers(release) if name != CONTROLLER_LOGGER[0])
    alter = "--entity-type broker-loggers --entity-name ID --alter --add-config"
    text = (
        "# For a cluster whose layout names the thread ([%t]) already; else files are needed.\n"
        "# A logger that has not been used is refused (Invalid broker logger), and the whole command with it: a broker must\n"
        "# lead one partition and follow another before. Levels are lost when a node starts again (KIP-412).\n"
        "# For each broker, before the topic is made:\n"
        f"kafka-configs.sh --bootstrap-server HOST:PORT {alter} {levels}\n"
    )
    if release < FIRST_WITH_KRAFT:
        return text
    if release < FIRST_WITH_CONTROLLER_LEVELS:
        return (
            f"{text}# Levels of controllers can be changed from 3.7 on (KIP-919). Until then give this in its own "
            f"file, and start each again:\n# log4j.logger.{'='.join(CONTROLLER_LOGGER)}\n"
        )
    controllers = f"kafka-configs.sh --bootstrap-controller HOST:PORT {alter} {'='.join(CONTROLLER_LOGGER)}\n"
    return f"{text}# For each controller:\n{controllers}"
