"""The lines of many partitions parted in one reading of all files, so that each partition is then read from its own alone.

What is about a partition goes to a file of its own in a temporary folder, for each node, with the file and the line that it
is of; what a node says of itself, and of brokers, stays in memory and is read with every partition.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from acked.base.frozen import frozen
from acked.cluster.lines.facts import BROKER_MIN_ISR, CALLBACK, ENDED, ENDING, NODE, STARTED, VERSION, Node
from acked.cluster.lines.reading import open_lines

_COMMON = re.compile(
    rf"{STARTED}|{ENDING}|{ENDED}|{re.escape(VERSION)}|{CALLBACK}|{BROKER_MIN_ISR.pattern}|Updating cluster|"
    r"Fencing broker |to unfence has been granted"
)
"""What a line that is read with every partition has."""
_MOST_HELD = 32 << 20
"""Characters that are held before they are written."""

_Line = tuple[int, int, str]
"""A line with the number of its file among its node's, and its own in there."""


@frozen
class Part:
    """The lines of one partition."""

    topic: str
    partition: int
    _nodes: tuple[Node, ...]
    _common: tuple[tuple[_Line, ...], ...]
    _folder: Path

    def nodes(self) -> list[Node]:
        """The nodes, of which nothing has been read."""
        return [replace(node, settings={}, topic_settings={}, met={}, unended=[]) for node in self._nodes]

    @contextmanager
    def open(self, file: str) -> Iterator[Iterable[str | int]]:
        """The lines of a node's file that count, each after the number of the line before it."""
        [number] = [number for number, node in enumerate(self._nodes) if file in node.files]
        yield self._lines(number, self._nodes[number].files.index(file))

    def _lines(self, node: int, file: int) -> Iterator[str | int]:
        own = _read_spool(_spool(self._folder, self.topic, self.partition, node))
        for _, line, text in heapq.merge(*((one for one in lines if one[0] == file) for lines in (self._common[node], own))):
            yield line - 1
            yield text


@dataclass
class _Spools:
    """Lines by partition and node, written to files now and then."""

    folder: Path
    found: set[tuple[str, int]] = field(default_factory=set)
    _held: dict[Path, list[str]] = field(default_factory=dict)
    _size: int = 0

    def put(self, topic: str, partition: int, node: int, file: int, line: int, text: str) -> None:
        """A line of a partition."""
        self.found.add((topic, partition))
        self._held.setdefault(_spool(self.folder, topic, partition, node), []).append(f"{file} {line} {text}")
        self._size += len(text)
        if self._size > _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Writes what is held."""
        for path, lines in self._held.items():
            with path.open("a", encoding="utf-8", errors="surrogatepass") as out:
                out.writelines(lines)
        self._held, self._size = {}, 0


def part(
    nodes: Sequence[Node], topics: Sequence[str], folder: Path, progress: Callable[[int], None] | None = None
) -> list[Part]:
    """Reads all files once; the partitions of the topics that are found, in order. `progress` is told how many lines."""
    named = "|".join(map(re.escape, sorted(topics)))
    about = re.compile(rf"(?<![\w.-])({named})-(\d{{1,10}})(?!\d)")
    replayed = re.compile(rf"PartitionChangeRecord\(partitionId=(\d{{1,10}}),.*for topic ({named})(?:\. |$)")
    spools, common, read = _Spools(folder), list[tuple[_Line, ...]](), 0
    for number, node in enumerate(nodes):
        said: list[_Line] = []
        for place, file in enumerate(node.files):
            with open_lines(file) as lines:
                for line, text in enumerate(lines, 1):
                    read += 1
                    if progress is not None and not read % 100_000:
                        progress(read)
                    found = set(about.findall(text))
                    if not found and "PartitionChangeRecord" in text and (change := replayed.search(text)):
                        found = {(change[2], change[1])}
                    for topic, partition in found:
                        spools.put(topic, int(partition), number, place, line, text if text.endswith("\n") else f"{text}\n")
                    if not found and (_COMMON.search(text) or (node.number is None and NODE.search(text))):
                        said.append((place, line, text))
        common.append(tuple(said))
    spools.flush()
    return [Part(topic, partition, tuple(nodes), tuple(common), folder) for topic, partition in sorted(spools.found)]


def _spool(folder: Path, topic: str, partition: int, node: int) -> Path:
    return folder / f"{topic}-{partition}.{node}"


def _read_spool(path: Path) -> Iterator[_Line]:
    if path.exists():
        with path.open(encoding="utf-8", errors="surrogatepass", newline="\n") as lines:
            for text in lines:
                file, line, said = text.split(" ", 2)
                yield int(file), int(line), said
