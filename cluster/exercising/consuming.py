"""Who reads a topic that is exercised: members of one group, in read_committed, that commit how far they have read."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from acked.base.errors import SystemFailure
from acked.cluster.exercising.producing import ANSWER_SECONDS, Brokers, Written
from acked.cluster.wire.client import BrokerGone, Client
from acked.cluster.wire.groups import Coordinates, beat, commit_offsets, join, leave
from acked.cluster.wire.transactional import committed_offset, read_committed

_MEMBERS = 2
_PAUSE = 0.3
"""Seconds between two rounds of fetches."""
_UNKNOWN_MEMBER, _MEMBER_ID_REQUIRED, _OUT_OF_RANGE = 25, 79, 1


@dataclass
class Consumed:
    """What a group has read, by partition and offset, and what it could not: ranges that retention had deleted before."""

    records: dict[tuple[int, int], bytes] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)
    """How far each partition was read."""
    skipped: list[tuple[int, int, int]] = field(default_factory=list)
    """Partition, and from where to where it was not read."""

    def wrong(self, written: Written) -> tuple[str, ...]:
        """What the group was not given and should have been, and what it was given and should not."""
        found = []
        for (partition, offset), value in sorted(written.acknowledged.items()):
            place, fate = (partition, offset), written.fates.get((partition, offset), True)
            seen = self.records.get(place)
            if seen is not None and fate is False:
                found.append(f"the record at offset {offset} of partition {partition} is of an aborted transaction")
            elif seen is not None and seen != value:
                found.append(f"another record was read at offset {offset} of partition {partition} than was acknowledged")
            elif seen is None and fate and self._has_passed(partition, offset):
                found.append(f"the record at offset {offset} of partition {partition} was passed over")
        return tuple(found)

    def _has_passed(self, partition: int, offset: int) -> bool:
        passed = any(number == partition and first <= offset < end for number, first, end in self.skipped)
        return offset < self.positions.get(partition, 0) and not passed


class Group:
    """Two members of a group, each a thread; a context manager."""

    def __init__(self, topic: str, partitions: int, brokers: Brokers) -> None:
        self.consumed = Consumed()
        self._topic, self._partitions, self._brokers = topic, partitions, brokers
        self._name = f"{topic}-readers"
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, name=f"member {n}", daemon=True) for n in range(_MEMBERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Returns when nobody reads any more."""
        self._over.set()
        for thread in self._threads:
            thread.join(3 * ANSWER_SECONDS)

    def has_read(self, ends: Mapping[int, int]) -> bool:
        """Whether partitions have been read up to these offsets."""
        with self._lock:
            return all(self.consumed.positions.get(partition, 0) >= end for partition, end in ends.items())

    def _run(self) -> None:
        member = ""
        while not self._over.is_set():
            try:
                member = self._take_part(member)
            except SystemFailure:
                pass  # A coordinator or a leader has gone; another one comes soon.
            self._over.wait(0.2)

    def _take_part(self, member: str) -> str:
        """One generation of the group; returns the member's id for the next one."""
        with self._brokers.coordinator(self._name, Coordinates.GROUP) as coordinator:
            mine = join(coordinator, self._name, member, self._partitions)
            if mine.error:
                return mine.member if mine.error == _MEMBER_ID_REQUIRED else "" if mine.error == _UNKNOWN_MEMBER else member
            positions = {number: self._committed(coordinator, number) for number in mine.partitions}
            with ExitStack() as connections:
                leaders: dict[int, Client] = {}
                while not self._over.wait(_PAUSE):
                    if beat(coordinator, self._name, mine):
                        return mine.member
                    self._read(positions, leaders, connections)
                    if positions and commit_offsets(coordinator, self._name, mine, self._topic, positions):
                        return mine.member
            leave(coordinator, self._name, mine.member)
        return ""

    def _committed(self, coordinator: Client, partition: int) -> int:
        error, offset = committed_offset(coordinator, self._name, self._topic, partition)
        if error:
            raise BrokerGone(f"the coordinator does not know how far partition {partition} was read: error {error}")
        return offset

    def _read(self, positions: dict[int, int], leaders: dict[int, Client], connections: ExitStack) -> None:
        """Fetches once of each partition that has a leader."""
        known = self._brokers.leaders(self._topic) if positions else {}
        for partition, offset in positions.items():
            leader = known.get(partition)
            if leader is None:
                continue
            if leader not in leaders:
                leaders[leader] = connections.enter_context(self._brokers.connect(leader, ANSWER_SECONDS))
            read = read_committed(leaders[leader], self._topic, partition, offset)
            position = read.position
            if read.error == _OUT_OF_RANGE:
                position = max(offset, leaders[leader].earliest_offset(self._topic, partition))
            with self._lock:
                if read.error == _OUT_OF_RANGE and position > offset:
                    self.consumed.skipped.append((partition, offset, position))
                self.consumed.records.update({(partition, one.offset): one.text.encode() for one in read.kept})
                self.consumed.positions[partition] = max(position, self.consumed.positions.get(partition, 0))
            positions[partition] = position
