"""What a producer was acknowledged, from a file that it wrote, and whether it is there.

The file is CSV with a first line that names its columns, or JSON lines; `offset` must be there, `value` may be, the
record's value as UTF-8 text, and `topic` and `partition`, of which then only the records of one partition count. Other
columns are passed over. An idempotent producer is told no offset of a record that it sent twice: null, nothing or -1; its
value is looked for then. `acked kafka exercise` writes one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from acked.base.errors import SpecUnreadable, SystemFailure
from acked.base.files import open_file
from acked.base.frozen import frozen
from acked.cluster.observation.validation import Held
from acked.cluster.observe.disk import log_start, read_log
from acked.reports.units import plural

COLUMNS: Final = ("offset", "value")
UNTOLD = frozenset({"", "-1", "-1001"})
"""Offsets of which a producer was not told: -1 in Java, -1001 of librdkafka."""
_NAMED = 10
"""Missing offsets that are named."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A record that a broker acknowledged: its offset, if the producer was told it, and its value where the file has it."""

    offset: int | None
    value: bytes | None


@frozen
class Presence:
    """How many records were looked for, at which brokers, how many values were compared, and what is missing, in sentences.

    `unread` says which values could not be compared.
    """

    records: int
    brokers: tuple[int, ...]
    values: int
    missing: tuple[str, ...]
    unread: tuple[str, ...] = ()


def write_acknowledged(path: Path, records: Mapping[int, bytes]) -> None:
    """A CSV file of records by their offsets, as `read_acknowledged` reads it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows((offset, value.decode("utf-8")) for offset, value in sorted(records.items()))


def read_acknowledged(path: Path, topic: str | None = None, partition: int | None = None) -> Iterator[Acknowledged]:
    """The records of a file, those of the partition where its lines name theirs; `SpecUnreadable` of a line that is none."""
    wanted = {"topic": topic, "partition": None if partition is None else str(partition)}
    try:
        with io.TextIOWrapper(open_file(path), encoding="utf-8", newline="") as file:
            start = file.read(1)
            file.seek(0)
            for number, item in _read_json(file, path) if start == "{" else _read_csv(file, path):
                others = (name for name, one in wanted.items() if one is not None and item.get(name) is not None)
                if all(str(item[name]).strip() == wanted[name] for name in others):
                    yield _record(item.get("offset"), item.get("value"), path, number)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SpecUnreadable(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _read_json(lines: Iterator[str], path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                item = json.loads(line)
            except ValueError as error:
                raise SpecUnreadable(f"{path}:{number}: this line is no JSON: {error}") from None
            if not isinstance(item, dict) or "offset" not in item:
                raise SpecUnreadable(f"{path}:{number}: no offset is named; write an object such as {{\"offset\": 0}}")
            yield number, item


def _read_csv(lines: Iterator[str], path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    rows = csv.DictReader(lines)
    if "offset" not in (rows.fieldnames or ()):
        raise SpecUnreadable(f"{path}:1: no column is named offset; begin the file with a line such as offset,value")
    for row in rows:
        yield rows.line_num, row


def _record(offset: object, value: object, path: Path, line: int) -> Acknowledged:
    content = None if value is None else str(value).encode("utf-8", "surrogatepass")
    text = "" if offset is None else str(offset).strip()
    if content is not None and text in UNTOLD:
        return Acknowledged(None, content)
    if isinstance(offset, bool) or not re.fullmatch(r"[0-9]{1,19}", text):
        said = repr(offset)[:40]
        raise SpecUnreadable(
            f"{path}:{line}: {said} is no offset; write the one that the broker acknowledged, from 0, or of a record whose "
            "offset the producer was not told none, with its value"
        )
    return Acknowledged(int(text), content)


def look_for(
    records: Iterator[Acknowledged], held: Sequence[Held], in_sync: Collection[int], folders: Mapping[int, Path]
) -> Presence:
    """Looks for what was acknowledged in every replica that is in sync at the end: by log ends, and on disks that are given.

    A record's value is compared where the file names it and the broker's folder is given; compressed ones cannot be.
    """
    ends = {item.broker: item.end for item in held if item.broker in in_sync}
    disks: dict[int, _Disk] | None = None
    unread: list[str] = []
    counted = compared = unplaced = 0
    missing: dict[tuple[int, str], list[int | None]] = {}
    for record in records:
        counted += 1
        if disks is None and record.value is not None:
            disks, unread = _read_disks(ends, folders)
        disks = disks or {}
        unplaced += record.offset is None and not disks
        for broker, end in ends.items():
            disk = disks.get(broker) if record.value is not None else None
            if record.offset is not None and record.offset >= end:
                missing.setdefault((broker, f"its log ends at {end}"), []).append(record.offset)
            elif disk is not None and (record.offset is None or record.offset >= disk.begins):
                compared += 1
                if not disk.has(record):
                    missing.setdefault((broker, "another record, or none, is there on its disk"), []).append(record.offset)
            elif disk is not None:
                disk.deleted += 1
    told = tuple(_sentence(broker, why, offsets) for (broker, why), offsets in missing.items())
    if not ends:
        unread.append("nobody is in sync at the end of these lines, so no record was looked for")
    if unplaced:
        many = plural(unplaced, "record")
        unread.append(f"{many} without an offset could not be looked for: that takes values, and --data")
    for broker, disk in (disks or {}).items():
        if disk.deleted:
            many = plural(disk.deleted, "record")
            unread.append(
                f"the log of broker {broker} begins at {disk.begins} on its disk, below which {many} could not be looked for"
            )
    return Presence(counted, tuple(sorted(ends)), compared, told, tuple(unread))


@dataclass
class _Disk:
    """What a broker has on its disk: values by offset, from where the log begins, and how many were asked for below that."""

    values: Mapping[int, bytes | None]
    begins: int
    deleted: int = 0
    _any: frozenset[bytes | None] | None = None

    def has(self, record: Acknowledged) -> bool:
        """Whether a record is there, at its offset, or anywhere where that is not known."""
        if record.offset is not None:
            return self.values.get(record.offset) == record.value
        if self._any is None:
            self._any = frozenset(self.values.values())
        return record.value in self._any


def _read_disks(ends: Mapping[int, int], folders: Mapping[int, Path]) -> tuple[dict[int, _Disk], list[str]]:
    found: dict[int, _Disk] = {}
    unread = []
    for broker in ends:
        if broker in folders:
            try:
                values = {record.offset: record.value for record in read_log(folders[broker])}
                found[broker] = _Disk(values, log_start(folders[broker]))
            except SystemFailure as error:
                unread.append(f"the values that broker {broker} has are not compared: {error}")
    return found, unread


def _sentence(broker: int, why: str, offsets: list[int | None]) -> str:
    placed = [offset for offset in offsets if offset is not None]
    named = ", ".join(map(str, placed[:_NAMED])) + (", …" if len(placed) > _NAMED else "")
    at = f", at offsets {named}" if placed else ", of which no offset was told"
    noun = "acknowledged record is" if len(offsets) == 1 else "acknowledged records are"
    return f"broker {broker}, which is in sync: {len(offsets)} {noun} not there ({why}){at}"
