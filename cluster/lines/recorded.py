"""The log files of a whole cluster as one run: nodes, events in the order of their times, and what start-up lines say.

`Recording` reads every file once, as a stream. The first line about the partition must be the controller's that makes it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from acked.checker.errors import ConfigurationError, SpecUnreadable
from acked.checker.observation.events import CONTROLLER, Event, Says
from acked.cluster.lines.facts import HEAD, NODE, STDIN, Lines, Node, files_of, opened
from acked.cluster.lines.joining import Joiner

HEAD_LINES = 5_000
"""Lines of a file within which its node and its first date are looked for."""


@dataclass(frozen=True)
class Begun:
    """How a run begins: the controller's line that makes the partition, and what the nodes' start-up lines say.

    `settings` are constants of `partition`: the brokers' `min.insync.replicas`, or the topic's where it has its own.
    """

    created: Event
    releases: tuple[str, ...]
    settings: dict[str, int]


class Recording:
    """The files of a cluster's nodes; `SpecUnreadable` where they do not have what is needed."""

    def __init__(self, paths: Sequence[str], topic: str, partition: int) -> None:
        self.name = f"{topic}-{partition}"
        self._lines = Lines(topic, partition)
        self.nodes = nodes_of(files_of(paths))
        self._streams = [Joiner(node).events(self._lines.facts(node)) for node in self.nodes]
        self._merged = heapq.merge(*self._streams, key=lambda event: event.at)
        self._version = -1
        self.events_read = 0

    def begin(self) -> Begun:
        """Reads up to the first event, which must be the partition's creation."""
        # What the controller says of brokers before there is the partition is not about it.
        first = next((event for event in self._merged if event.says not in (Says.FENCES, Says.UNFENCES)), None)
        if first is None:
            raise ConfigurationError(f"no line of these logs tells of {self.name}; is that its topic and partition?")
        if first.says is not Says.CREATES:
            raise SpecUnreadable(
                f"{first.file}:{first.line}: the logs begin in the middle: the first line about {self.name} is not the "
                "controller's that makes it, so what brokers held before is not known; give all files of all nodes, those of "
                "the controllers too, from the creation of the topic on"
            )
        self._version = first.get("version", -1)
        settings: dict[str, int] = {}
        for node in self.nodes:
            settings |= node.settings
        for node in self.nodes:
            settings |= node.topic_settings
        releases = tuple(dict.fromkeys(node.release for node in self.nodes if node.release is not None))
        return Begun(first, releases, settings)

    def about(self, rules: str, begun: Begun) -> str:
        """What was read, in words."""
        nodes = [node for node in self.nodes if node.number is not None]
        lines, files = sum(node.lines for node in nodes), sum(len(node.files) for node in nodes)
        release = f"Kafka {', '.join(begun.releases)}" if begun.releases else "an unnamed release of Kafka"
        settings = "".join(f", {name.replace('_', '.')}={value}" for name, value in begun.settings.items())
        return (
            f"{self.name} of {release}, by the rules of {rules}{settings}: {self.events_read:,} events in {lines:,} lines of "
            f"{files} files of {len(nodes)} nodes"
        )

    def events(self) -> Iterator[Event]:
        """The events after the first; of the controllers' each change once, whoever of them prints it."""
        for event in self._merged:
            if event.by == CONTROLLER and "version" in event.fields:
                version = event["version"]
                if version <= self._version:
                    continue
                if version > self._version + 1:
                    raise SpecUnreadable(
                        f"{event.file}:{event.line}: lines are missing: this is the controller's change {version} of "
                        f"{self.name} (its partition epoch), and the one before it in the logs is {self._version}"
                    )
                self._version = version
            self.events_read += 1
            yield event


def nodes_of(files: Sequence[str]) -> list[Node]:
    """The files by node, a node's in the order of their first lines; one whose head names no node is one by itself."""
    by_node: dict[object, list[tuple[str, str]]] = {}
    for file in dict.fromkeys(files):
        number, first = (None, "") if file == STDIN else _head(file)
        by_node.setdefault(file if number is None else number, []).append((first, file))
    return [
        Node(tuple(file for _, file in sorted(found)), number if isinstance(number, int) else None)
        for number, found in by_node.items()
    ]


def _head(file: str) -> tuple[int | None, str]:
    """Which node a file is of, if its first lines say so, and the time of its first line."""
    number, first = None, ""
    with opened(file) as lines:
        for text in islice(lines, HEAD_LINES):
            if not first and (head := HEAD.match(text)):
                first = f"{head[1]}.{head[2]}"
            if found := NODE.search(text):
                number = int(found[1])
                break
    return number, first
