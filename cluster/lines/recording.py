"""The log files of a whole cluster as one run: nodes, events in the order of their times, and what start-up lines say.

`Recording` reads every file once, as a stream. The first line about the partition must be the controller's that makes it.
Where the metadata log is given, its records stand in for lines of controllers that are missing, all of them or some, and are
held against those that are there.
"""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.lines.agreeing import Agreement
from acked.cluster.lines.envelopes import HEAD
from acked.cluster.lines.facts import NODE, Lines, Node, Unknown, Ununderstood, files_of
from acked.cluster.lines.following import Following
from acked.cluster.lines.joining import Joiner
from acked.cluster.lines.parting import Part
from acked.cluster.lines.reading import STDIN, open_lines
from acked.cluster.observation.events import CONTROLLER, Event, Says, value_in_words

HEAD_LINES = 5_000
"""Lines of a file within which its node and its first date are looked for."""
APART = 20_000
"""ms for which the creation may be told later than what brokers say of it, where their clocks differ."""
WAITS = 2_000
"""ms after which a record of the metadata log is taken to have no line."""
ZONE = 15 * 60_000
"""Lines have local time and records UTC: they differ by a multiple of so many ms, and by seconds."""


class Reassigned(Exception):
    """The partition moves to brokers that are not among those that the run is read with."""

    def __init__(self, brokers: frozenset[int], line: str) -> None:
        super().__init__(line)
        self.brokers = brokers


@frozen
class Begun:
    """How a run begins: the controller's line that makes the partition, and what the nodes' start-up lines say.

    `settings` are constants of `partition`: the brokers' `min.insync.replicas`, or the topic's where it has its own.
    """

    created: Event
    releases: tuple[str, ...]
    settings: dict[str, int]


class Recording:
    """The files of a cluster's nodes; `SpecUnreadable` where they do not have what is needed."""

    def __init__(
        self, paths: Sequence[str], topic: str, partition: int, decided: Sequence[Event] = (),
        following: Following | None = None, ununderstood: Ununderstood = Ununderstood.REFUSED, part: Part | None = None,
        others: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        """`decided` are the records of the metadata log about the partition, in its order; `following`: files still grow;
        `part`: its lines have been parted from those of others; `others` are brokers that hold it later.
        """
        self.name = f"{topic}-{partition}"
        self._lines = Lines(topic, partition, ununderstood, following, open_lines if part is None else part.open)
        files = files_of(paths) if part is None else []
        if following is not None:
            following.hold(files)
        self.nodes = nodes_of(files) if part is None else part.nodes()
        streams = [Joiner(node).events(self._lines.facts(node)) for node in self.nodes]
        self._merged: Iterator[Event] = (
            heapq.merge(*map(partial(filter, None), streams), key=attrgetter("at"))
            if following is None else following.merge(streams)
        )
        self._version = -1
        self._decided = deque(decided)
        self._by_version = {event["version"]: event for event in decided if event.get("version") is not None}
        self._waits = WAITS
        self._begun: tuple[Event, ...] = ()
        self._agreement = Agreement()
        self._holders = others
        self.events_read = 0

    def begin(self) -> Begun:
        """Reads up to the first event, which must be the partition's creation."""
        created, early = self._read_creation()
        if created is None and not early:
            raise ConfigurationError(f"no line of these logs tells of {self.name}; is that its topic and partition?")
        first = created or early.pop(0)
        if self._decided:
            first = self._begin_with_records(first)
        self._begun = (*self._begun, *early)
        if first.says is not Says.CREATES:
            raise SpecUnreadable(
                f"{first.file}:{first.line}: the logs begin in the middle: the first line about {self.name} is not the "
                "controller's that makes it, so what brokers held before is not known; give all files of all nodes, one node "
                "a file, those of the controllers too, from the creation of the topic on"
            )
        self._refuse_missing(first)
        self._holders |= first["replicas"]
        self._version = first.get("version", -1)
        if self._version >= 0:
            deque(self._agreement.changed(first), 0)
        settings: dict[str, int] = {}
        # A controller by itself prints the default, which is of no partition.
        for node in sorted(self.nodes, key=lambda node: node.number in first["replicas"]):
            settings |= node.settings
        for node in self.nodes:
            settings |= node.topic_settings
        releases = tuple(dict.fromkeys(node.release for node in self.nodes if node.release is not None))
        return Begun(first, releases, settings)

    def _read_creation(self) -> tuple[Event | None, list[Event]]:
        """The line that makes the partition, and those before it of brokers whose clocks are late."""
        early: list[Event] = []
        for event in self._merged:
            # What the controller says of brokers before there is the partition is not about it.
            if event.says is Says.CREATES:
                return event, [one for one in early if one.says not in (Says.FENCES, Says.UNFENCES)]
            if early or event.says not in (Says.FENCES, Says.UNFENCES):
                early.append(event)
            if early and event.at > early[0].at + APART:
                break
        return None, early

    def _refuse_missing(self, created: Event) -> None:
        """Refuses logs of some brokers and not of others: one that is in sync from the beginning has said something."""
        numbers = {node.number for node in self.nodes}
        some = None not in numbers and not created["isr"].isdisjoint(numbers)
        if gone := sorted(created["isr"] - numbers if some else ()):
            raise SpecUnreadable(
                f"the lines of broker {gone[0]} are missing: it holds {self.name} from the beginning, and no file is of it; "
                "give the files of all its brokers"
            )

    def _begin_with_records(self, first: Event) -> Event:
        """The creation, from the controllers' lines if there are any, else from the metadata log."""
        made = next((event for event in self._decided if event.says is Says.CREATES), None)
        if made is None:
            raise SpecUnreadable(f"the metadata log that is given does not tell that {self.name} was made")
        while self._decided.popleft() is not made:
            pass
        shift = round((first.at - made.at) / ZONE) * ZONE
        self._decided = deque(replace(event, at=event.at + shift) for event in self._decided)
        self._by_version |= {event["version"]: event for event in self._decided if event.get("version") is not None}
        if first.says is Says.CREATES:
            self._agree(first)
            return first
        self._waits, self._begun = 0, (first,)
        return replace(made, at=made.at + shift)

    def unknown(self) -> tuple[Unknown, ...]:
        """The lines that were passed over because they are not understood, the first of each kind."""
        return tuple(self._lines.unknown.values())

    def about(self, rules: str, begun: Begun, settings: Mapping[str, object]) -> str:
        """What was read, in words; `settings` are those that the rules were read with."""
        nodes = [node for node in self.nodes if node.number is not None]
        lines, files = sum(node.lines for node in nodes), sum(len(node.files) for node in nodes)
        release = f"Kafka {', '.join(begun.releases)}" if begun.releases else "an unnamed release of Kafka"
        given = "".join(f", {_setting(name, value)}" for name, value in settings.items())
        return (
            f"{self.name} of {release}, by the rules of {rules}{given}: {self.events_read:,} events in {lines:,} lines of "
            f"{files} files of {len(nodes)} nodes"
        )

    def events(self) -> Iterator[Event]:
        """The events after the first; of the controllers' each change once, whoever of them prints it."""
        for event in chain(self._begun, self._merged):
            if self._decided:
                yield from self._count(self._due(event.at - self._waits))
            if "version" in event.fields:
                if event.by != CONTROLLER:
                    yield from self._agreement.heard(event)
                    self.events_read += 1
                    continue
                version = event["version"]
                self._agree(event)
                if version <= self._version:
                    yield from self._agreement.changed(event)
                    continue
                yield from self._count(self._missing(version))
                if version > self._version + 1:
                    raise SpecUnreadable(
                        f"{event.file}:{event.line}: lines are missing: this is the controller's change {version} of "
                        f"{self.name} (its partition epoch), and the one before it in the logs is {self._version}"
                    )
                self._version = version
                yield from self._hold_against(event)
            self.events_read += 1
            yield event
        yield from self._count(self._due(None))
        yield from self._agreement.left()

    def _count(self, records: Iterator[Event]) -> Iterator[Event]:
        for event in records:
            self.events_read += 1
            if "version" in event.fields:
                yield from self._hold_against(event)
            yield event

    def _hold_against(self, change: Event) -> Iterator[Event]:
        """What contradicts a change by the controller; `Reassigned` if it names brokers that the run is not read with."""
        if not change.get("replicas", self._holders) <= self._holders:
            raise Reassigned(change["replicas"] - self._holders, f"{change.file}:{change.line}")
        yield from self._agreement.changed(change)

    def _due(self, until: int | None) -> Iterator[Event]:
        """Records up to a time of which no line has told; of who is fenced only where controllers have no lines at all."""
        while self._decided and (until is None or self._decided[0].at <= until):
            event = self._decided.popleft()
            version = event.get("version")
            if self._waits == 0 if version is None else version > self._version:
                self._version = self._version if version is None else version
                yield event

    def _missing(self, version: int) -> Iterator[Event]:
        """The records before a change of which no line has told."""
        while self._version + 1 < version and self._version + 1 in self._by_version:
            self._version += 1
            yield self._by_version[self._version]

    def _agree(self, event: Event) -> None:
        """Holds a controller's line against the record of the same change."""
        record = self._by_version.get(event.get("version", -1))
        if record is None or event.says is Says.COMMITS_ISR:  # Of which `leader` is who asks.
            return
        for name in ("isr", "leader", "epoch", "replicas"):
            told, recorded = event.get(name), record.get(name)
            if told is not None and recorded is not None and told != recorded:
                raise SpecUnreadable(
                    f"{event.file}:{event.line}: the line says {name} {value_in_words(told)}, and the metadata log says "
                    f"{name} {value_in_words(recorded)} of the same change: {record.text}; they are not of one run"
                )


def _setting(name: str, value: object) -> str:
    """A constant and its value, as Kafka calls it where it is one that start-up lines tell."""
    called = name.replace("_", ".") if name == "min_insync_replicas" else name
    return f"{called}={str(value).lower() if isinstance(value, bool) else value}"


def nodes_of(files: Sequence[str]) -> list[Node]:
    """The files by node, a node's in the order of their first lines.

    One whose head names no node, such as a part of what a start prints, is of the node of which the others are that it was
    rotated with, by their names; else it is a node by itself.
    """
    heads = {file: (None, "") if file == STDIN else _head(file) for file in dict.fromkeys(files)}
    rotated: dict[str, set[int]] = {}
    for file, (number, _) in heads.items():
        if number is not None:
            rotated.setdefault(_rotated_from(file), set()).add(number)
    by_node: dict[object, list[tuple[str, str]]] = {}
    for file, (number, first) in heads.items():
        known = {number} if number is not None else rotated.get(_rotated_from(file), set())
        by_node.setdefault(next(iter(known)) if len(known) == 1 else file, []).append((first, file))
    return [
        Node(tuple(file for _, file in sorted(found)), number if isinstance(number, int) else None)
        for number, found in by_node.items()
    ]


def _rotated_from(file: str) -> str:
    """The name under which a file was written, before rotation: `logs/server.log` of `logs/server.log.2.gz`."""
    folder, name = os.path.split(file)
    at = name.find(".log")
    whole = name[: at + 4] if at >= 0 else "log" if name.startswith("log.") else name
    return os.path.join(folder, whole)


def _head(file: str) -> tuple[int | None, str]:
    """Which node a file is of, if its first lines say so, and the time of its first line."""
    number, first = None, ""
    with open_lines(file) as lines:
        for text in islice(lines, HEAD_LINES):
            if not first and (head := HEAD.match(text)):
                first = f"{head[1]}.{head[2]}"
            if found := NODE.search(text):
                number = int(found[1])
                break
    return number, first
