"""How Kafka words the lines that tell of a partition: the table `wordings.toml`, by logger, with releases of recorded lines.

A line of one of these loggers about the partition that is neither in this table nor, by `templates.tsv`, one that tells
nothing is not understood, which never passes for silence (`facts.py`). Every wording has a recorded line as its test, in
`tests/data/lines/`.
"""

from __future__ import annotations

import re
import tomllib
from enum import Enum, unique
from importlib.resources import files

from acked.base.frozen import frozen

PARTITION = "kafka.cluster.Partition"
STATE_CHANGE = "state.change.logger"
FETCHER = "kafka.server.ReplicaFetcherThread"
CONTROLLER = "org.apache.kafka.controller.ReplicationControlManager"
LOGS = ("kafka.log.Log", "kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog")
"""Log to 2.8, UnifiedLog to 3.9, and from 4.0."""

STRICT = frozenset({PARTITION, STATE_CHANGE, FETCHER, CONTROLLER, *LOGS})
"""Of these loggers every wording about the partition must be known."""


@unique
class Kind(Enum):
    """What a line tells."""

    NOTHING = "nothing that another line does not tell"
    PLACED = "the controller chose the partition's brokers"
    CREATED = "the controller made the partition"
    APPENDED = "records were appended to a log"
    RECORDED = "a leader noted a fetch"
    RAISED = "a leader's high watermark rose"
    EXPANDING = "a leader asks for a larger ISR"
    SHRINKING = "a leader asks for a smaller ISR"
    ISR = "a leader heard of an ISR"
    LEADER = "a broker leads"
    FOLLOWER = "a broker follows"
    STAYED = "a leader heard of an ISR, by metadata"
    REMOVED = "a broker's fetchers do not have the partition any more"
    GOT = "a follower has an answer to a fetch"
    TOOK = "a follower took the high watermark of an answer"
    REFUSED = "a leader is refused an ISR that it asked for"
    BEGINS = "a log begins later: what was before is deleted"
    TRUNCATING = "a follower truncates"
    CUT = "a log was cut"
    OPENED = "a log was opened, and ends there"
    LOADED = "a broker knows its high watermark again"
    ALTERED = "the controller grants an ISR"
    CHANGED = "the controller changes the partition"
    REPLAYED = "the controller's change is committed"
    REASSIGNED = "the controller moves the partition to other replicas, or to another order of them"
    FENCED = "the controller fences a broker"
    UNFENCED = "the controller unfences a broker"

    __hash__ = object.__hash__


_FIRST = re.compile(r"[^\s(\[]*")


def first_word(text: str) -> str:
    """A text to its first space or bracket."""
    found = _FIRST.match(text)
    return found[0] if found else ""


@frozen
class Wording:
    """One way in which one of some loggers says something, a row of the table; `recorded` are releases."""

    kind: Kind
    loggers: tuple[str, ...]
    text: str
    recorded: tuple[str, ...]

    @property
    def names_partition(self) -> bool:
        """Whether nothing matches that does not name topic and partition, apart from what stands before them."""
        return re.search(r"(?:^|[ /])TP", self.text) is not None

    @property
    def first_word(self) -> str:
        """The literal first word, to a bracket."""
        return first_word(self.text.replace("\\", ""))

    def pattern(self, topic: str, partition: int) -> re.Pattern[str]:
        """The expression for one partition, matched from the first word on."""
        names = {"TOPIC": re.escape(topic), "NUMBER": str(partition), "TP": rf"{re.escape(topic)}-{partition}(?!\d)"}
        return re.compile(re.sub("TOPIC|NUMBER|TP", lambda found: names[found[0]], self.text))


def _read_wordings() -> tuple[Wording, ...]:
    table = tomllib.loads(files("acked.cluster.lines").joinpath("wordings.toml").read_text("utf-8"))
    parts = {f"@{name}@": "".join(texts) for name, texts in table["parts"].items()}

    def whole(texts: list[str]) -> str:
        return re.sub("@[a-z]+@", lambda found: parts[found[0]], "".join(texts))

    return tuple(
        Wording(Kind[kind.upper()], tuple(group["loggers"]), whole(texts), tuple(recorded.split()))
        for group in table["of"]
        for kind, recorded, *texts in group["wordings"]
    )


WORDINGS = _read_wordings()
