"""A cluster's partitions and controllers as they are now, and what of them is not known."""

from __future__ import annotations

from functools import cached_property

from acked.audit.clusters.live import Quorum
from acked.base.frozen import frozen


@frozen
class PartitionNow:
    """A partition: `replicas` are the old ones and the new while it is moved. `isr` and `eligible` are None if unknown."""

    topic: str
    number: int
    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...] | None
    eligible: tuple[int, ...] | None = ()
    led_last: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    where: str = ""

    @property
    def name(self) -> str:
        """`orders-0`."""
        return f"{self.topic}-{self.number}"

    @property
    def contradiction(self) -> str:
        """What cannot be so, or is not known of it; empty if nothing is wrong."""
        if self.isr is None:
            return "its ISR was not read"
        if not self.replicas:
            return "its replicas were not read"
        named = {*self.isr, *(self.eligible or ()), *self.led_last, *self.adding, *self.removing}
        if strangers := sorted(named - {*self.replicas}):
            return f"broker {strangers[0]} is named, and is none of its replicas"
        if len({*self.replicas}) < len(self.replicas):
            return "a broker is named twice among its replicas"
        if self.leader is not None and self.leader not in self.isr:
            return f"its leader {self.leader} is not in its ISR, so it was read while it changed"
        return ""


@frozen
class ClusterNow:
    """All that was read. `running` are the brokers that are known to run, `quorum` controllers; None where nothing tells."""

    partitions: tuple[PartitionNow, ...]
    running: frozenset[int] | None = None
    quorum: Quorum | None = None
    unread: str = ""
    """What concerns every broker and was not read, so that nothing is decided without it."""

    @property
    def brokers(self) -> tuple[int, ...]:
        """Every broker that runs or has a replica."""
        named = {replica for partition in self.partitions for replica in partition.replicas}
        return tuple(sorted(named | (self.running or frozenset())))

    @property
    def sizes(self) -> dict[str, set[int]]:
        """The numbers of replicas that each topic's partitions have, without those that a move adds."""
        sizes: dict[str, set[int]] = {}
        for one in self.partitions:
            sizes.setdefault(one.topic, set()).add(len(one.replicas) - len(one.adding))
        return sizes

    def is_up(self, broker: int) -> bool:
        """Whether a broker runs; where nothing tells, whether it is in the ISR of any partition that has a leader."""
        return broker in self._up

    @cached_property
    def _up(self) -> frozenset[int]:
        if self.running is not None:
            return self.running
        return frozenset(
            member for partition in self.partitions if partition.leader is not None for member in partition.isr or ()
        )
