"""One setting as it was found: its key, its value, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

REPLICATION_FACTOR = "replication.factor"
"""What the number of a topic's replicas is called here: Kafka has no key for it."""

IMAGE = "container image"
"""The release that the tag of a container image names, as a setting; Kafka has no key for it either."""

STATED = "Kafka version"
"""The release that a resource or a chart asks for by its number."""

NODES = "brokers"
"""How many brokers a resource asks for; it decides nothing here."""

DESCRIBED = "is described"
"""That something is described at all, so that one which sets nothing is not overlooked beside one that does."""

LISTED = "is listed"
"""The same of what Kafka's tools list, of which another of their listings may say more."""

IMPORTED = "imported file"
"""A file (or a resource) that counts as well, and that has to be named too."""

SHORT_ISR = "replicas in sync now"
"""A partition of which fewer replicas are in sync than it has, in words."""

SHARED_RACK = "racks now"
"""A partition of which several replicas stand in one rack, in words."""

ASSIGNED = "replicas now"
"""A partition's number and its replicas; whoever asks about a plan of reassignment compares it with that."""

NOW = {
    SHORT_ISR: ("short-isr", "has fewer replicas in sync than replicas now"),
    SHARED_RACK: ("shared-rack", "has replicas that share a rack"),
}
"""What is said of a partition as it is now, which is no setting: the rule of the remark, and what it says of the topic."""

UNREAD = "may not be read"
"""What of a topic, a broker or the controllers is not known, and why: answers that depend on it are undecided."""

UNREAD_LEADER = "may not be read if it leads"
"""A broker with replicas of a topic whose settings are not known."""

CONTROLLERS_UNREAD = "controllers-unread"
"""The rule of the remark that controllers of their own (KRaft) have settings that brokers cannot tell."""

BESIDE = frozenset({NODES, DESCRIBED, LISTED, IMPORTED, UNREAD, UNREAD_LEADER, ASSIGNED, *NOW})
"""What readers note besides settings."""

INSTEAD = "write the settings as properties (min.insync.replicas=2), one a line, or as JSON"
"""What to do with settings in a form that is not read."""

OPTION = "--set"
"""What stands for the file of a setting that was given on the command line."""


@unique
class Scope(Enum):
    """Whose setting it is; None stands for: as its key says."""

    BROKER = "broker"
    DYNAMIC_BROKER = "dynamic broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True)
class SettingEntry:
    """One setting as it was found: `line` counts from 1; `entity` is the topic or broker it is of, if it says so.

    `instead_of` are the settings of files that it takes the place of, because somebody asks what would be. `means` is a
    setting that a name stands for, perhaps, in a place where it is not read. `default_of` is the client whose default it is.
    `said_by` is which part of a cluster says so, where the file is a cluster's address.
    """

    key: str
    value: str
    file: str
    line: int
    scope: Scope | None = None
    entity: str | None = None
    instead_of: tuple[SettingEntry, ...] = ()
    means: str | None = None
    default_of: str = ""
    said_by: str = ""

    @property
    def where(self) -> str:
        """`server.properties:12`, or `localhost:9092, broker 1 (static)`."""
        if self.said_by:
            return f"{self.file}, {self.said_by}"
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def source(self) -> str:
        """`server.properties:12`, or `--set, instead of 1 (server.properties:12)`."""
        if self.default_of:
            return f"{self.default_of}'s default ({self.where})"
        if not self.instead_of:
            return self.where
        return f"{self.where}, instead of {' and '.join(f'{old.value} ({old.where})' for old in self.instead_of)}"


@dataclass(frozen=True)
class Assigned:
    """The replicas of a partition, as they are or as a plan wants them; with `is_moving` they are being changed already."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    is_moving: bool = False

    @property
    def name(self) -> str:
        """`orders-0`."""
        return f"{self.topic}-{self.partition}"

    def entry(self, file: str, line: int, said_by: str = "") -> SettingEntry:
        """Beside settings, for whoever asks about a plan of reassignment."""
        moving = " moving" if self.is_moving else ""
        value = f"{self.partition} {','.join(map(str, self.replicas))}{moving}"
        return SettingEntry(ASSIGNED, value, file, line, Scope.TOPIC, self.topic, said_by=said_by)

    @classmethod
    def of(cls, entry: SettingEntry) -> Assigned:
        """The same back."""
        partition, replicas, *moving = entry.value.split(" ")
        return cls(str(entry.entity), int(partition), tuple(map(int, replicas.split(","))), bool(moving))
