"""Lines of one node's log files as facts about one partition: what they tell, by which thread, when.

`Lines` reads files as streams, plain or compressed, in the order given. A line about the partition that one of the loggers
writes in an unknown way is counted, or an error; a file whose lines do not name their threads is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, unique
from pathlib import Path
from typing import Any, NamedTuple

from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.lines.envelopes import HEAD
from acked.cluster.lines.following import Following
from acked.cluster.lines.reading import STDIN, open_lines
from acked.cluster.lines.templates import Tells, template_of
from acked.cluster.lines.wordings import STRICT, WORDINGS, Kind, first_word

KAFKA_DEFAULT = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] [A-Z]+ ")
"""How a line of Kafka's own layout begins, which names no thread and ends with the logger in brackets."""
NODE = re.compile(
    r"(?:(?:Partition \S+ broker|BrokerServer id|Broker id|QuorumController id|ControllerServer id|replicaId)="
    r"|\[Controller (?:id=)?)(\d{1,10})(?!\d)"
)
STARTED = "Registered signal handlers for TERM"
ENDING = "Terminating process due to signal SIGTERM"
ENDED = " shut down completed"
"""What a process says when it is told to end, and when a broker has: log4j2's own shutdown hook may stop it in between."""
CALLBACK = " callback for "
"""What ZooKeeper's controller says of brokers that come and go."""
VERSION = "Kafka version: "
CREATED_LOG = "Created log for partition "
RELEASE = re.compile(r"\d{1,4}(?:\.\d{1,4}){1,3}")
"""The numbers of a release; what builders append to them changes no rule."""
LEADER_ID = re.compile(r"leaderId=(\d{1,10})(?!\d)")
BROKER_MIN_ISR = re.compile(r"(?:^\t|: |, )min\.insync\.replicas (?:=|->) (\d{1,10})(?!\d)")
TOPIC_MIN_ISR = re.compile(r"min\.insync\.replicas=(\d{1,10})(?!\d)")
COMPACTS = re.compile(r"cleanup\.policy=[^}]*compact")
NUMBERS = re.compile(r"\d+")
_MOST_DIGITS, _MOST_RELEASE = 19, 40
"""Digits of Kafka's numbers, which have 64 bits, and characters of a release that are kept."""
Opens = Callable[[str], AbstractContextManager[Iterable[str | int]]]
"""Opens a node's file: its lines, where some are left out the number of the one before each."""
_LOGGER = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, sorted(STRICT)))})(?![\w.$])")
SEGMENT = re.compile(r"\d{20}\.log")
_SAME = 40
"""Lines whose texts begin alike, numbers apart, count as of one wording."""

_PREFIXES = 10_000
"""Prefixes of lines of which it is remembered whether they name the partition."""

_SETS = frozenset({"isr", "was", "followers", "replicas", "elr"})


_CHANGES = frozenset({Kind.CHANGED, Kind.REPLAYED})
_REPLICAS = re.compile(r"\breplicas(?:: \[[\d, ]*\] -> |=)\[([\d, ]*)\]")
"""In a change of the partition its replicas from then on."""


class Fact(NamedTuple):
    """What one line tells; `at` in ms since 1970 by the node's own clock, `line` from 1.

    A tuple, because there is one of every line, and a frozen dataclass takes twice as long to make.
    """

    kind: Kind | None
    """None: the process started."""
    at: int
    thread: str
    fields: dict[str, Any]
    file: str
    line: int
    text: str


@dataclass
class Node:
    """What is known of one node from its lines, while they are read: its id, its release, and how often each wording was
    met."""

    files: tuple[str, ...]
    number: int | None = None
    release: str | None = None
    settings: dict[str, int] = field(default_factory=dict)
    topic_settings: dict[str, int] = field(default_factory=dict)
    compacts: bool = False
    met: dict[Kind, int] = field(default_factory=dict)
    lines: int = 0
    ending: str | None = None
    """The line at which its process is told to end, until one says that it has."""
    unended: list[str] = field(default_factory=list)
    """Such lines of former processes that no line says have ended."""


@unique
class Ununderstood(Enum):
    """What becomes of lines that are not understood."""

    COUNTED = "unknown wordings are counted, all else is an error"
    REFUSED = "an error"
    NAMED = "all are counted"


@frozen
class Unknown:
    """A line that is not understood, the first of `lines`; `why` in words."""

    file: str
    line: int
    text: str
    why: str
    lines: int


class Lines:
    """The wordings of one partition, ready to read lines with.

    Of lines that are not understood, where they are no error, one of each kind is kept in `unknown`.
    """

    def __init__(
        self, topic: str, partition: int, ununderstood: Ununderstood = Ununderstood.REFUSED,
        following: Following | None = None, opens: Opens = open_lines,
    ) -> None:  # fmt: skip
        """`following`: the last file of each node is still written to; `opens` gives lines, and numbers of those before."""
        self._following = following
        self._opens = opens
        self.unknown: dict[str, Unknown] = {}
        self._ununderstood = ununderstood
        self.name = f"{topic}-{partition}"
        self._mentions = (self.name, f"PartitionChangeRecord(partitionId={partition},")
        self._table: dict[tuple[str, str], list[tuple[Kind, re.Pattern[str], bool]]] = {}
        """By logger and first word, whether what matches names the partition."""
        for wording in WORDINGS:
            wanted = wording.kind, wording.pattern(topic, partition), wording.names_partition
            for logger in wording.loggers:
                self._table.setdefault((logger, wording.first_word), []).append(wanted)
        self._prefixes: dict[str, bool] = {}
        self._about = re.compile(rf"(?<![\w.-]){re.escape(self.name)}(?!\d)")
        self._replayed = re.compile(rf"for topic {re.escape(topic)}(?:\. |$)")
        self._seconds: dict[str, int] = {}

    def facts(self, node: Node) -> Iterator[Fact | None]:
        """The facts of a node's files, in the order of their lines; None where one that is followed has no more for now."""
        name, record = self._mentions
        for file in node.files:
            with self._open(file, file == node.files[-1]) as lines:
                number = 0
                for text in lines:
                    if not isinstance(text, str):
                        if text is None:
                            yield None
                        else:
                            number = text
                        continue
                    number += 1
                    node.lines += 1
                    if node.number is None and (found := NODE.search(text)):
                        node.number = int(found[1])
                    if name in text or record in text or "broker" in text or STARTED in text or CALLBACK in text:
                        fact = self._fact(node, file, number, text)
                        if fact is not None:
                            yield fact
                    elif VERSION in text or text[:1] == "\t" or "Updating cluster" in text:
                        self._note_setting(node, text)
                    elif ENDING in text:
                        node.ending = f"{file}:{number}"
                    elif ENDED in text:
                        node.ending = None

    def _open(self, file: str, is_last: bool) -> AbstractContextManager[Iterable[str | int | None]]:
        if self._following is None:
            return self._opens(file)
        return self._following.follow(file) if is_last else self._following.read_finished(file)

    def _fact(self, node: Node, file: str, number: int, text: str) -> Fact | None:
        head = HEAD.match(text)
        if head is None:
            self._refuse_layout(file, number, text)
            return None
        second, ms, _, thread, logger, message = head.groups()
        at = self._seconds.get(second)
        if at is None:
            at = self._seconds[second] = _milliseconds(second, f"{file}:{number}")
            if len(self._seconds) > 100_000:
                self._seconds.clear()
        said = message[message.find("] ") + 2 :] if message[:1] == "[" else message
        if said.startswith(STARTED):
            if node.ending is not None:
                node.unended.append(node.ending)
                node.ending = None
            return Fact(None, at + int(ms), thread, {}, file, number, text)
        if said.startswith(CREATED_LOG) and self._about.search(said):
            node.compacts = node.compacts or COMPACTS.search(said) is not None
            if found := TOPIC_MIN_ISR.search(said):
                node.topic_settings["min_insync_replicas"] = int(found[1])
        for kind, pattern, names_partition in self._table.get((logger, first_word(said)), ()):
            match = pattern.match(said)
            if match is not None and (names_partition or self._is_about(kind, logger, message)):
                node.met[kind] = node.met.get(kind, 0) + 1
                if kind is Kind.REASSIGNED:
                    self._does_not_understand(file, number, text, said, "tells of a reassignment, which acked does not read")
                    return None
                fields = _fields(match, message if kind in (Kind.GOT, Kind.TRUNCATING) else None)
                if fields is None:
                    self._does_not_understand(file, number, text, said, "has a number that is none of Kafka's, or lacks one")
                    return None
                if kind in _CHANGES and (replicas := _REPLICAS.search(said)):
                    fields["replicas"] = frozenset(map(int, NUMBERS.findall(replicas[1])))
                return Fact(kind, at + int(ms), thread, fields, file, number, text)
        if logger in STRICT and self._is_unknown(message):
            template = template_of(logger, said.rstrip())
            if template is not None and template.tells is Tells.NOTHING:
                node.met[Kind.NOTHING] = node.met.get(Kind.NOTHING, 0) + 1
            else:
                why = "is worded in a way that acked does not know" if template is None else (
                    "tells what acked does not read" if template.tells is Tells.UNKNOWN else "says otherwise what acked reads"
                )
                known = self._ununderstood is Ununderstood.COUNTED
                self._does_not_understand(file, number, text, said if template is None else template.text, why, known)
        return None

    def _does_not_understand(
        self, file: str, number: int, text: str, said: str, why: str, is_counted: bool = False
    ) -> None:
        """An error, because what the line tells would be lost; where lines are only counted one of each kind is kept."""
        if not is_counted and self._ununderstood is not Ununderstood.NAMED:
            raise SpecUnreadable(
                f"{file}:{number}: a line about {self.name} {why}, so what it tells would be lost: {text.strip()[:300]}"
            )
        alike = NUMBERS.sub("", said)[:_SAME]
        known = self.unknown.get(alike, Unknown(file, number, text.strip(), why, 0))
        self.unknown[alike] = replace(known, lines=known.lines + 1)

    def _is_about(self, kind: Kind, logger: str, message: str) -> bool:
        """Whether a line whose text would fit is about this partition: its prefix says so, where it has one."""
        if kind in (Kind.FENCED, Kind.UNFENCED, Kind.REPLAYED) or logger not in STRICT:
            return True
        prefix = message[: message.find("] ") + 1]
        known = self._prefixes.get(prefix)
        if known is None:
            if len(self._prefixes) > _PREFIXES:
                self._prefixes.clear()
            known = self._prefixes[prefix] = self._about.search(prefix) is not None
        return known or self._about.search(message) is not None

    def _is_unknown(self, message: str) -> bool:
        return self._about.search(message) is not None or (
            self._mentions[1] in message and self._replayed.search(message) is not None
        )

    def _refuse_layout(self, file: str, number: int, text: str) -> None:
        """Refuses a line of one of the loggers in another layout; those of stack traces are no lines."""
        if KAFKA_DEFAULT.match(text) and text.rstrip().removesuffix(")").rpartition("(")[2] in STRICT:
            raise SpecUnreadable(
                f"{file}:{number}: the lines of this file do not name their threads, without which those of one step cannot "
                "be told from another's; log with the pattern that `acked kafka observe` prints"
            )
        if _LOGGER.search(text) and self._is_unknown(text):
            raise SpecUnreadable(
                f"{file}:{number}: this line about {self.name} has another layout than the one that `acked kafka observe` "
                f"prints, so what it tells would be lost: {text.strip()[:300]}"
            )

    def _note_setting(self, node: Node, text: str) -> None:
        if (at := text.find(VERSION)) >= 0:
            found = RELEASE.match(text, at + len(VERSION))
            node.release = node.release or (found and text[found.start() :].split()[0][:_MOST_RELEASE])
        elif found := BROKER_MIN_ISR.search(text):
            node.settings["min_insync_replicas"] = int(found[1])


def _fields(match: re.Match[str], fetching: str | None) -> dict[str, Any] | None:
    """What a line's groups say; of a fetcher's, `fetching`, also the leader of its prefix. None if a number is none."""
    fields: dict[str, Any] = {}
    for name, value in match.groupdict().items():
        if value is None:
            continue
        numbers = NUMBERS.findall(value)
        if len(max(numbers, key=len, default="")) > _MOST_DIGITS:
            return None
        fields[name] = int(value) if name not in _SETS else frozenset(map(int, numbers))
    if fetching is not None:
        leader = LEADER_ID.search(fetching)
        if leader is None:
            return None
        fields["leader"] = int(leader[1])
    return fields


def _milliseconds(second: str, where: str) -> int:
    try:
        return int(datetime.fromisoformat(second).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        raise SpecUnreadable(f"{where}: {second} is no date of the calendar; give the files as nodes wrote them") from None


def files_of(paths: Sequence[str]) -> list[str]:
    """The files that are meant, of a folder all below it that are called `log`, `log.1` and so on, or something with `.log`.

    `SpecUnreadable` where there is none.

    Segments of partitions, `00000000000000000000.log`, are none.
    """
    found: list[str] = []
    for path in paths:
        if path == STDIN or not Path(path).is_dir():
            found.append(path)
            continue
        named = [*Path(path).rglob("*.log*"), *Path(path).rglob("log"), *Path(path).rglob("log.[0-9]*")]
        inside = sorted(str(file) for file in named if file.is_file() and not SEGMENT.match(file.name))
        if not inside:
            raise SpecUnreadable(f"{path} has no log files: none in it has a name with .log")
        found += inside
    return found
