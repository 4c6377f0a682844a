"""The configuration of nodes: every timer so long that only the driver decides, except those that must be short."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from xml.sax.saxutils import quoteattr

import javaproperties

from acked.cluster.nodes.addresses import CONTROLLER, ZOOKEEPER, Addresses, host_name
from acked.cluster.releases.release import LogBinding, Mode

NEVER_MS = 600_000
"""Ten minutes: a frame that is held so long changes nothing else."""
SESSION_MS = 6_000
"""KRaft refuses the registration of a restarted broker while its session lives, so this is what a restart waits for."""

_COMMON = javaproperties.loads(files("acked.cluster.nodes").joinpath("node.properties").read_text("utf-8"))


def server_settings(addresses: Addresses, node: int, data: Path, own: Mapping[str, str]) -> dict[str, str]:
    """The configuration of a broker or controller; `own` settings take precedence."""
    made: dict[str, object] = {"log.dirs": data, **_COMMON}
    protocols = "INTERNAL:PLAINTEXT,CLIENT:PLAINTEXT"
    is_kraft = addresses.mode is Mode.KRAFT
    if is_kraft:
        made |= {
            "node.id": node,
            "process.roles": "controller" if node == CONTROLLER else "broker",
            "controller.quorum.voters": f"{CONTROLLER}@{host_name(CONTROLLER)}:{addresses.port}",
            "controller.listener.names": "CONTROLLER",
            "broker.session.timeout.ms": SESSION_MS,
            "broker.heartbeat.interval.ms": 500,
            "initial.broker.registration.timeout.ms": 120_000,
            "controller.quorum.fetch.timeout.ms": NEVER_MS,
            "controller.quorum.request.timeout.ms": NEVER_MS,
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{protocols}",
        }
    else:
        made |= {
            "broker.id": node,
            "zookeeper.connect": f"{host_name(ZOOKEEPER)}:{addresses.port}",
            "zookeeper.session.timeout.ms": NEVER_MS,
            "zookeeper.connection.timeout.ms": 60_000,
            "listener.security.protocol.map": protocols,
        }
    if is_kraft and node == CONTROLLER:
        made["listeners"] = f"CONTROLLER://127.0.0.1:{addresses.internal[node]}"
    else:
        listeners = f"INTERNAL://127.0.0.1:{addresses.internal[node]}"
        advertised = f"INTERNAL://{host_name(node)}:{addresses.port}"
        if node in addresses.client:
            listeners += f",CLIENT://127.0.0.1:{addresses.client[node]}"
            advertised += f",CLIENT://{addresses.bootstrap(node)}"
        made |= {"listeners": listeners, "inter.broker.listener.name": "INTERNAL", "advertised.listeners": advertised}
    return {key: str(value) for key, value in made.items()} | dict(own)


def zookeeper_settings(addresses: Addresses, data: Path) -> dict[str, str]:
    """The configuration of the ZooKeeper server."""
    return {
        "dataDir": str(data),
        "clientPort": str(addresses.zookeeper),
        "clientPortAddress": "127.0.0.1",
        "tickTime": "1000",
        "maxSessionTimeout": str(NEVER_MS),
        "admin.enableServer": "false",
    }


def write_properties(path: Path, settings: Mapping[str, str]) -> None:
    """A properties file as Java reads it."""
    path.write_text(javaproperties.dumps(settings, timestamp=False), encoding="ascii")


def log_configuration(binding: LogBinding, log: Path) -> str:
    """What makes a node write its log to one file."""
    pattern = "%d{ISO8601} %p %m (%c{1})%n"
    if binding is LogBinding.LOG4J_2:
        return (
            f'<Configuration status="WARN"><Appenders><File name="F" fileName={quoteattr(str(log))}>'
            f"<PatternLayout pattern={quoteattr(pattern)}/></File></Appenders>"
            '<Loggers><Root level="INFO"><AppenderRef ref="F"/></Root></Loggers></Configuration>\n'
        )
    return javaproperties.dumps(
        {
            "log4j.rootLogger": "INFO, F",
            "log4j.appender.F": "org.apache.log4j.FileAppender",
            "log4j.appender.F.file": str(log),
            "log4j.appender.F.layout": "org.apache.log4j.PatternLayout",
            "log4j.appender.F.layout.ConversionPattern": pattern,
        },
        timestamp=False,
    )


def log_option(binding: LogBinding, configuration: Path) -> str:
    """The option that names the configuration of the log to Java."""
    if binding is LogBinding.LOG4J_2:
        return f"-Dlog4j2.configurationFile={configuration}"
    return f"-Dlog4j.configuration=file:{configuration}"
