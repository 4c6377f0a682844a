"""What readers note besides settings: facts about a topic, a broker or a file, each with where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, unique

from acked.base.frozen import frozen
from acked.cluster.vocabulary.entry import Scope, SettingEntry, place_of


@frozen
class Described:
    """Something is described at all, so that one which sets nothing is not overlooked beside one that does."""


@frozen
class Listed:
    """Kafka's tools, or a cluster itself, list it; another of their listings may say more of it."""


@frozen
class Nodes:
    """So many brokers are asked for, as it is written; it decides nothing here."""

    count: str


@frozen
class Controllers:
    """So many controllers are asked for, as it is written."""

    count: str


@frozen
class Imported:
    """Another file (or a resource) counts as well, and has to be named too."""

    other: str


@frozen
class Unreleased:
    """A container's image is one of Kafka's, and its tag names no release: `latest`, a digest, a variable."""

    image: str


@unique
class Condition(Enum):
    """What is to be remarked on a topic as it is now: the rule of the remark, and what it says of the topic."""

    SHORT_ISR = ("short-isr", "has fewer replicas in sync than replicas now")
    NO_LEADER = ("no-leader", "has partitions without a leader now, which nobody writes or reads")
    SHARED_RACK = ("shared-rack", "has replicas that share a rack")


@frozen
class Noticed:
    """A partition is in that condition, in words."""

    condition: Condition
    words: str


@frozen
class Unread:
    """Settings that may not be read, and why: answers that depend on them are undecided. Without a scope the controllers'."""

    reason: str


@frozen
class UnreadLeader:
    """A broker with replicas of the topic whose settings are not known, and why."""

    broker: str
    reason: str


@frozen
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

    def note(self, file: str, line: int, said_by: str = "") -> Note:
        """As something that a file says, for whoever asks about a plan of reassignment."""
        return Note(self, file, line, Scope.TOPIC, self.topic, said_by)


Fact = Described | Listed | Nodes | Controllers | Imported | Unreleased | Noticed | Unread | UnreadLeader | Assigned


@frozen
class Note:
    """A fact, where it stands, and of what it is one: `scope`, `entity`, `said_by` and `cluster` as of a setting."""

    fact: Fact
    file: str
    line: int
    scope: Scope | None = None
    entity: str | None = None
    said_by: str = ""
    cluster: str | None = None

    @property
    def where(self) -> str:
        """`compose.yml:12`, or `localhost:9092, broker 1`."""
        return place_of(self.file, self.line, self.said_by)


Read = SettingEntry | Note
"""One thing that a file, or a cluster, says."""


def settings_of(read: Iterable[Read]) -> Iterator[SettingEntry]:
    """The settings among what a file says."""
    return (one for one in read if isinstance(one, SettingEntry))
