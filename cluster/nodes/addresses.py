"""Where nodes listen and what they call each other.

Every node has a hosts file of its own (`-Djdk.net.hosts.file`), in which the name of node j is the address of the proxy that
leads from this node to j: 127.R.(i + 1).(j + 1), with R of the cluster. So a proxy knows who asks, on every release.
"""

from __future__ import annotations

import errno
import random
import socket
from collections.abc import Mapping, Sequence

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.cluster.proxies.frame import Link, LinkKind
from acked.cluster.proxies.network import Network
from acked.cluster.releases.release import Mode

CONTROLLER, ZOOKEEPER, CLIENT = 9, 8, 7
"""The nodes beside the brokers: the controller, with ZooKeeper a broker without replicas; ZooKeeper; clients from outside."""
MAX_BROKERS = 7
_PORTS = range(20_000, 32_000)
"""Below the ports that Linux gives to outgoing connections."""
_TRIES = 40


@frozen
class Addresses:
    """The addresses of one cluster: the port of proxies between nodes and of those for clients, and real ports by node.

    Real ports are on 127.0.0.1. A broker insists on two ports for its two listeners, at different addresses too.
    """

    mode: Mode
    brokers: tuple[int, ...]
    octet: int
    port: int
    client_port: int
    internal: Mapping[int, int]
    client: Mapping[int, int]
    zookeeper: int

    @property
    def nodes(self) -> tuple[int, ...]:
        """The Kafka processes: brokers and controller."""
        return (*self.brokers, CONTROLLER)

    def proxy(self, source: int, target: int) -> str:
        """The address at which `source` reaches `target`."""
        return f"127.{self.octet}.{source + 1}.{target + 1}"

    def links(self) -> list[Link]:
        """Every directed pair that may talk. A node talks to itself too, by its advertised name."""
        found = []
        for source in self.nodes:
            for target in self.nodes:
                found.append(self._link(source, target, self.internal[target]))
            if self.mode is Mode.ZOOKEEPER:
                found.append(self._link(source, ZOOKEEPER, self.zookeeper, LinkKind.ZOOKEEPER))
        found += [self._link(CLIENT, target, self.client[target]) for target in self.client]
        return found

    def hosts(self, node: int) -> str:
        """The hosts file of a node. It replaces every other resolution, so the machine's own name is in it."""
        lines = ["127.0.0.1 localhost", f"127.0.0.1 {socket.gethostname()}"]
        lines += [f"{self.proxy(node, other)} {host_name(other)}" for other in (*self.nodes, ZOOKEEPER)]
        return "\n".join(lines) + "\n"

    def bootstrap(self, broker: int) -> str:
        """Where a client library reaches a broker, through its proxy."""
        return f"{self.proxy(CLIENT, broker)}:{self.client_port}"

    def _link(self, source: int, target: int, port: int, kind: LinkKind = LinkKind.KAFKA) -> Link:
        listen = self.client_port if source == CLIENT else self.port
        return Link(source, target, (self.proxy(source, target), listen), ("127.0.0.1", port), kind)


def host_name(node: int) -> str:
    """What nodes call a node."""
    return "zookeeper" if node == ZOOKEEPER else f"node{node}"


def open_network(mode: Mode, brokers: Sequence[int]) -> tuple[Addresses, Network]:
    """Chooses addresses that are free, and opens all proxies on them; `SystemFailure` if that cannot be."""
    for _ in range(_TRIES):
        ports = iter(free_ports(2 * len(brokers) + 4))
        internal = {node: next(ports) for node in (*brokers, CONTROLLER)}
        # Every broker must have every listener, or none can answer which brokers there are.
        is_broker = mode is Mode.ZOOKEEPER
        client = {node: next(ports) for node in (*brokers, *((CONTROLLER,) if is_broker else ()))}
        octet = random.randrange(16, 255)
        port, client_port = random.sample(_PORTS, 2)  # Proxies have addresses of their own, so hardly anybody is there.
        addresses = Addresses(mode, tuple(brokers), octet, port, client_port, internal, client, next(ports))
        network = Network()
        try:
            for link in addresses.links():
                network.listen(link)
        except OSError as error:
            network.close()
            if error.errno != errno.EADDRINUSE:
                where = f"127.{octet}.x.y"
                raise SystemFailure(
                    f"cannot listen on {where}: {error.strerror}; proxies need all of 127.0.0.0/8, as on Linux"
                ) from None
            continue
        return addresses, network
    raise SystemFailure(f"no free addresses were found on loopback in {_TRIES} tries; stop what holds ports there")


def free_ports(count: int) -> list[int]:
    """So many ports of 127.0.0.1 at which nobody listens now."""
    found: list[int] = []
    for port in random.sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            return found
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    raise SystemFailure(f"there are no {count} free ports on 127.0.0.1")
