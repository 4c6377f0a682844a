"""What a producer was acknowledged, from a file that it wrote, and whether it is there.

The file is CSV with a first line that names its columns, or JSON lines; `offset` must be there, `value` may be, the record's
value as UTF-8 text. Other columns are passed over. `acked kafka exercise` writes one.
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
from acked.cluster.observation.validation import Held
from acked.cluster.observe.disk import read_log

COLUMNS: Final = ("offset", "value")
_NAMED = 10
"""Missing offsets that are named."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A record that a broker acknowledged: its offset, and its value where the file has it."""

    offset: int
    value: bytes | None


@dataclass(frozen=True)
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


def read_acknowledged(path: Path) -> Iterator[Acknowledged]:
    """The records of a file; `SpecUnreadable` names the line that is none."""
    try:
        with io.TextIOWrapper(open_file(path), encoding="utf-8", newline="") as file:
            start = file.read(1)
            file.seek(0)
            yield from _read_json(file, path) if start == "{" else _read_csv(file, path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SpecUnreadable(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _read_json(lines: Iterator[str], path: Path) -> Iterator[Acknowledged]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                item = json.loads(line)
            except ValueError as error:
                raise SpecUnreadable(f"{path}:{number}: this line is no JSON: {error}") from None
            fields = item if isinstance(item, dict) else {}
            yield _record(fields.get("offset"), fields.get("value"), path, number)


def _read_csv(lines: Iterator[str], path: Path) -> Iterator[Acknowledged]:
    rows = csv.DictReader(lines)
    if "offset" not in (rows.fieldnames or ()):
        raise SpecUnreadable(f"{path}:1: no column is named offset; begin the file with a line such as offset,value")
    for row in rows:
        yield _record(row["offset"], row.get("value"), path, rows.line_num)


def _record(offset: object, value: object, path: Path, line: int) -> Acknowledged:
    text = str(offset).strip()
    if isinstance(offset, bool) or not re.fullmatch(r"[0-9]{1,19}", text):
        said = repr(offset)[:40]
        raise SpecUnreadable(f"{path}:{line}: {said} is no offset; write the one that the broker acknowledged, from 0")
    return Acknowledged(int(text), None if value is None else str(value).encode("utf-8", "surrogatepass"))


def look_for(
    records: Iterator[Acknowledged], held: Sequence[Held], in_sync: Collection[int], folders: Mapping[int, Path]
) -> Presence:
    """Looks for what was acknowledged in every replica that is in sync at the end: by log ends, and on disks that are given.

    A record's value is compared where the file names it and the broker's folder is given; compressed ones cannot be.
    """
    ends = {item.broker: item.end for item in held if item.broker in in_sync}
    disks: dict[int, dict[int, bytes | None]] | None = None
    unread: list[str] = []
    counted = compared = 0
    missing: dict[tuple[int, str], list[int]] = {}
    for record in records:
        counted += 1
        if disks is None and record.value is not None:
            disks, unread = _values(ends, folders)
        for broker, end in ends.items():
            if record.offset >= end:
                missing.setdefault((broker, f"its log ends at {end}"), []).append(record.offset)
            elif disks is not None and broker in disks and record.value is not None:
                compared += 1
                if disks[broker].get(record.offset) != record.value:
                    missing.setdefault((broker, "another record, or none, is there on its disk"), []).append(record.offset)
    told = tuple(_sentence(broker, why, offsets) for (broker, why), offsets in missing.items())
    if not ends:
        unread.append("nobody is in sync at the end of these lines, so no record was looked for")
    return Presence(counted, tuple(sorted(ends)), compared, told, tuple(unread))


def _values(ends: Mapping[int, int], folders: Mapping[int, Path]) -> tuple[dict[int, dict[int, bytes | None]], list[str]]:
    found: dict[int, dict[int, bytes | None]] = {}
    unread = []
    for broker in ends:
        if broker in folders:
            try:
                found[broker] = {record.offset: record.value for record in read_log(folders[broker])}
            except SystemFailure as error:
                unread.append(f"the values that broker {broker} has are not compared: {error}")
    return found, unread


def _sentence(broker: int, why: str, offsets: list[int]) -> str:
    named = ", ".join(map(str, offsets[:_NAMED])) + (", …" if len(offsets) > _NAMED else "")
    noun = "acknowledged record is" if len(offsets) == 1 else "acknowledged records are"
    return f"broker {broker}, which is in sync: {len(offsets)} {noun} not there ({why}), at offsets {named}"
