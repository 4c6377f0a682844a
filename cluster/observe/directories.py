"""Data directories of nodes, as they are copied from a cluster: whose each is, and what lies there of one partition.

A batch is known by what its header says (61 bytes, KIP-98) and its checksum, so compressed ones are compared, too, and
segments are read as streams. What a broker's lines lead one to expect is held against it by `differences`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.observation.events import Event
from acked.cluster.observation.validation import Held
from acked.cluster.observe.disk import log_start, partition_folder, read_epochs, segments
from acked.cluster.observe.metadata import FOLDER, controller_events

META = "meta.properties"
_HEAD = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, checksum, attributes, last offset's delta, two times, producer and its epoch,
first sequence number, number of records."""
_UNCOUNTED = 12
"""Bytes of base offset and length, which the length does not count."""
_MAGIC = 2


@frozen
class Directory:
    """A `log.dirs` or `metadata.log.dir` of a node; one may have several."""

    node: int
    path: Path


@dataclass(frozen=True, slots=True)
class Header:
    """What makes a batch the same on two replicas."""

    first: int
    last: int
    epoch: int
    checksum: int

    def __str__(self) -> str:
        return f"offsets {self.first} to {self.last} of leader epoch {self.epoch}, checksum {self.checksum:08x}"


@frozen
class Compared:
    """What a comparison found: batches that were held against one another, and each difference in a sentence.

    `unread` says what could not be compared.
    """

    brokers: tuple[int, ...]
    batches: int
    differences: tuple[str, ...]
    unread: tuple[str, ...] = ()


CLEANED = "cleaner-offset-checkpoint"
"""The file in which a broker keeps how far it has compacted each partition (`LogCleanerManager`)."""


def find_directories(paths: Sequence[Path]) -> tuple[Directory, ...]:
    """The data directories at or below some folders; `SpecUnreadable` of one that has none, or does not say whose it is."""
    found: list[Directory] = []
    for path in paths:
        inside = sorted(file.parent for file in path.rglob(META) if file.is_file()) if path.is_dir() else []
        if not inside:
            raise SpecUnreadable(f"{path} is no data directory and has none below it: there is no {META}; give a log.dirs")
        found += [Directory(_node(folder / META), folder) for folder in inside]
    return tuple(found)


def _node(file: Path) -> int:
    try:
        text = file.read_text("utf-8", "replace")
    except OSError as error:
        raise SpecUnreadable(f"{file} cannot be read: {error.strerror}") from None
    for name in ("node.id=", "broker.id="):
        for line in text.splitlines():
            if line.startswith(name) and line[len(name) :].strip().isdigit():
                return int(line[len(name) :])
    raise SpecUnreadable(f"{file} names no node.id and no broker.id, so whose directory it is in is not known")


def controller_decisions(directories: Sequence[Directory], topic: str, partition: int) -> tuple[Event, ...]:
    """What the metadata log says of the partition, from the copy that goes furthest; empty without one."""
    copies = [
        controller_events(item.path, topic, partition) for item in directories if (item.path / FOLDER).is_dir()
    ]
    return max(copies, key=lambda events: events[-1].line if events else -1, default=())


def headers(folder: Path) -> Iterator[Header]:
    """The batches of a partition's segments, in order; an unfinished one at the end is left out. `SpecUnreadable`."""
    for segment in segments(folder):
        try:
            with segment.open("rb") as file:
                size, at = segment.stat().st_size, 0
                while at + _HEAD.size <= size:
                    file.seek(at)
                    base, length, epoch, magic, checksum, _, delta, *_ = _HEAD.unpack(file.read(_HEAD.size))
                    if length <= 0 or at + _UNCOUNTED + length > size:
                        break
                    if magic != _MAGIC:
                        raise SpecUnreadable(f"{segment}: the batch at byte {at} has format {magic}; format 2 is read")
                    yield Header(base, base + delta, epoch, checksum)
                    at += _UNCOUNTED + length
        except OSError as error:
            raise SpecUnreadable(f"{segment} cannot be read: {error.strerror}") from None


def folders_of(directories: Sequence[Directory], topic: str, partition: int) -> Mapping[int, Path]:
    """Where each broker has the partition, of those whose directories are given."""
    found = {}
    for item in directories:
        folder = partition_folder(item.path, topic, partition)
        if folder.is_dir():
            found[item.node] = folder
    return found


def compare(folders: Mapping[int, Path], held: Sequence[Held], committed: int) -> Compared:
    """Holds what lies on disks against what the lines led to, and the disks against one another below offset `committed`.

    The disks must be of the moment at which the lines end.
    """
    wrong: list[str] = []
    gaps = {broker: gap for broker, folder in folders.items() if (gap := _gap(folder)) is not None}
    cleaned = tuple(broker for broker in gaps if _is_cleaned(folders[broker]))
    for broker, (first, following) in gaps.items():
        if broker not in cleaned:
            wrong.append(
                f"broker {broker}: the log in {folders[broker]} has nothing from offset {first} up to {following}, and there "
                f"is no {CLEANED} that says it was compacted"
            )
    for item in held:
        if item.broker in folders:
            wrong += _unlike_lines(item, folders[item.broker], item.broker in cleaned)
    if cleaned:
        named = ", ".join(map(str, cleaned))
        text = f"the logs of brokers {named} have gaps, as compaction leaves them: their batches are not compared"
        return Compared(tuple(sorted(folders)), 0, tuple(wrong), (text,))
    counted, differences = _unlike_others(folders, committed)
    return Compared(tuple(sorted(folders)), counted, (*wrong, *differences))


def _gap(folder: Path) -> tuple[int, int] | None:
    """The first offsets that are missing between batches, from the first of them up to the next that is there."""
    following = None
    for header in headers(folder):
        if following is not None and header.first > following:
            return following, header.first
        following = header.last + 1
    return None


def _is_cleaned(folder: Path) -> bool:
    """Whether the broker has compacted the partition, which alone may leave gaps."""
    topic, _, partition = folder.name.rpartition("-")
    try:
        lines = (folder.parent / CLEANED).read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    return any(line.split(" ")[:2] == [topic, partition] for line in lines)


def _unlike_lines(held: Held, folder: Path, is_cleaned: bool) -> list[str]:
    wrong, who = [], f"broker {held.broker}"
    begins = log_start(folder)
    end, runs = begins, list[tuple[int, int]]()
    for header in headers(folder):
        if not runs or runs[-1][0] != header.epoch:
            runs.append((header.epoch, header.first))
        end = header.last + 1
    if end != held.end:
        wrong.append(f"{who}: the log in {folder} ends at offset {end}, and by its lines it ends at {held.end}")
    elif begins > held.start:
        wrong.append(f"{who}: the log in {folder} begins at offset {begins}, and by its lines at {held.start}")
    if wrong or is_cleaned:
        return wrong
    if (expected := _since(held.epochs, begins, end)) != tuple(runs):
        wrong.append(f"{who}: the batches in {folder} are of {_epochs_of(runs)}, and by the lines of {_epochs_of(expected)}")
    kept = read_epochs(folder)
    starts = [(one.epoch, one.offset) for one in kept or ()]
    # Of what was deleted the epochs are forgotten first.
    floor = max(begins, min(starts[0][1], held.start)) if starts else begins
    if kept is not None and _since(starts, floor, end) != _since(runs, floor, end):
        wrong.append(f"{who}: leader-epoch-checkpoint says {_epochs_of(starts)}, and the batches are of {_epochs_of(runs)}")
    return wrong


def _since(epochs: Sequence[tuple[int, int]], begins: int, end: int) -> tuple[tuple[int, int], ...]:
    """Epochs with records from an offset on; one in which nothing was appended begins where the next does, or at the end."""
    following = [offset for _, offset in epochs[1:]] + [end]
    since = ((epoch, max(first, begins), then) for (epoch, first), then in zip(epochs, following, strict=True))
    return tuple((epoch, first) for epoch, first, then in since if first < then)


def _epochs_of(runs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"epoch {epoch} from {first}" for epoch, first in runs) or "no epoch"


def _unlike_others(folders: Mapping[int, Path], committed: int) -> tuple[int, list[str]]:
    """Whether the replicas have the same batches below an offset, from the greatest first offset on; the first difference."""
    if len(folders) < 2:
        return 0, []
    brokers = sorted(folders)
    first = max(next((header.first for header in headers(folders[broker])), 0) for broker in brokers)
    streams = [(header for header in headers(folders[broker]) if header.first >= first) for broker in brokers]
    counted = 0
    for row in zip_longest(*streams):
        here = [header for header in row if header is not None]
        if min(header.first for header in here) >= committed:
            break
        if len(set(row)) > 1:
            pairs = zip(brokers, row, strict=True)
            told = "; ".join(f"broker {broker} has {header or 'nothing'}" for broker, header in pairs)
            return counted, [f"below the high watermark {committed} the replicas differ: {told}"]
        counted += 1
    return counted, []
