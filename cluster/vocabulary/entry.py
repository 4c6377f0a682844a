"""One setting as it was found: its key, its value, and where it stands."""

from __future__ import annotations

from enum import Enum, unique

from acked.base.frozen import frozen

REPLICATION_FACTOR = "replication.factor"
"""What the number of a topic's replicas is called here: Kafka has no key for it."""

IMAGE = "container image"
"""The release that the tag of a container image names; Kafka has no key for it either, but of several one counts."""

STATED = "Kafka version"
"""The same of the release that a resource or a chart asks for by its number."""

OLDEST = "oldest Kafka version"
"""The release before which a resource's own interface cannot have been used."""

INSTEAD = "write the settings as properties (min.insync.replicas=2), one a line, or as JSON"
"""What to do with settings in a form that is not read."""

OPTION = "--set"
"""What stands for the file of a setting that was given on the command line."""

PRODUCER_OPTION = "--producer"
"""The same of a producer's setting."""


def place_of(file: str, line: int, said_by: str) -> str:
    """`server.properties:12`, or `localhost:9092, broker 1 (static)`."""
    if said_by:
        return f"{file}, {said_by}"
    return f"{file}:{line}" if line else file


@unique
class Scope(Enum):
    """Whose setting it is; None stands for: as its key says."""

    BROKER = "broker"
    DYNAMIC_BROKER = "dynamic broker"
    TOPIC = "topic"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@frozen
class SettingEntry:
    """One setting as it was found: `line` counts from 1; `entity` is the topic or broker it is of, if it says so.

    `instead_of` are the settings of files that it takes the place of, because somebody asks what would be. `means` is a
    setting that a name stands for, perhaps, in a place where it is not read. `default_of` is the client whose default it is.
    `said_by` is which part of a cluster says so, where the file is a cluster's address. `cluster` is the cluster that the
    file names for it, `namespace/name` or `name`; None where it names none.
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
    cluster: str | None = None

    @property
    def where(self) -> str:
        """`server.properties:12`, or `localhost:9092, broker 1 (static)`."""
        return place_of(self.file, self.line, self.said_by)

    @property
    def source(self) -> str:
        """`server.properties:12`, or `--set, instead of 1 (server.properties:12)`."""
        if self.default_of:
            return f"{self.default_of}'s default ({self.where})"
        if not self.instead_of:
            return self.where
        return f"{self.where}, instead of {' and '.join(f'{old.value} ({old.where})' for old in self.instead_of)}"
