"""What Kafka's own tools printed: `kafka-topics --describe`, and `kafka-metadata-quorum describe --status`.

Columns are found by their names, so the order of releases does not matter: Leader, Replicas, Isr, from 3.7 Elr and
LastKnownElr, and while a partition is moved Adding Replicas and Removing Replicas.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from acked.audit.clusters.live import Quorum
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text
from acked.roll.partitions.now import ClusterNow, PartitionNow

_COLUMNS = (
    "Topic", "TopicId", "Partition", "Leader", "Replicas", "Isr", "Offline", "Elr", "LastKnownElr", "Adding Replicas",
    "Removing Replicas", "MarkedForDeletion",
)  # fmt: skip
_COLUMN = re.compile(rf"(?:^|\s)({'|'.join(sorted(_COLUMNS, key=len, reverse=True))}):")
_PARTITION = re.compile(r"^\s+Topic:.*\bPartition:|^Topic:.*\bPartition: *\d")
_HEADING = re.compile(r"^Topic:\s*(?P<topic>\S+)\s.*?\bPartitionCount:\s*(?P<count>\d{1,10})\b")
_NAME = "name all that kafka-topics --describe prints"
_UNKNOWN = "N/A"
_NOBODY = ("none", "-1")


def described(paths: Sequence[Path], topic: str | None = None, quorum: Quorum | None = None) -> ClusterNow:
    """The cluster that files describe, or one topic of it; `SpecUnreadable` names the line that cannot be so."""
    found: dict[str, PartitionNow] = {}
    for path in paths:
        for one in partitions_in(str(path), read_text(path, "description of topics")):
            if topic not in (None, one.topic):
                continue
            if one.name in found:
                raise SpecUnreadable(f"{one.where}: {one.name} is in {found[one.name].where}, too; name one of them")
            found[one.name] = one
    if not found:
        of = "partition" if topic is None else f"partition of topic {topic}"
        raise ConfigurationError(f"no file describes a {of}; name what kafka-topics --describe prints, or --bootstrap-server")
    return ClusterNow(tuple(found.values()), None, quorum)


def partitions_in(name: str, text: str) -> list[PartitionNow]:
    """The partitions that a text describes, none in one that describes none; all that the headings count must be there."""
    found: list[PartitionNow] = []
    headings: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        where = f"{name}:{number}"
        if _PARTITION.match(line):
            found.append(_partition(where, _columns(line)))
        elif heading := _HEADING.match(line):
            headings[heading["topic"]] = int(heading["count"]), where
    counts = Counter(one.topic for one in found)
    for one in found:
        if one.topic not in headings:
            raise SpecUnreadable(f"{one.where}: topic {one.topic} has no line with its PartitionCount; {_NAME}")
    for topic, (count, where) in headings.items():
        if counts[topic] != count:
            raise SpecUnreadable(f"{where}: topic {topic} has {count} partitions, and {counts[topic]} are described; {_NAME}")
    return found


def _columns(line: str) -> dict[str, str]:
    found = list(_COLUMN.finditer(line))
    ends = [match.start() for match in found[1:]] + [len(line)]
    return {match[1]: line[match.end() : end].strip() for match, end in zip(found, ends, strict=True)}


def _partition(where: str, columns: dict[str, str]) -> PartitionNow:
    for needed in ("Topic", "Partition", "Leader", "Replicas"):
        if needed not in columns:
            raise SpecUnreadable(f"{where}: this line of a partition has no {needed}; {_NAME}")
    leader = columns["Leader"]
    return PartitionNow(
        columns["Topic"],
        _number(where, columns["Partition"]),
        _ids(where, columns["Replicas"]) or (),
        None if leader in _NOBODY else _number(where, leader),
        _ids(where, columns.get("Isr")),
        _ids(where, columns.get("Elr")),
        _ids(where, columns.get("LastKnownElr")) or (),
        _ids(where, columns.get("Adding Replicas", "")) or (),
        _ids(where, columns.get("Removing Replicas", "")) or (),
        where,
    )


def _ids(where: str, text: str | None) -> tuple[int, ...] | None:
    """Brokers, separated by commas; None where the column is missing or not known."""
    if text is None or text == _UNKNOWN:
        return None
    return tuple(_number(where, part.strip()) for part in text.split(",")) if text else ()


def _number(where: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,10}", text):
        raise SpecUnreadable(f"{where}: {text!r} is no broker and no partition; {_NAME}")
    return int(text)


# -- the controllers' quorum --------------------------------------------------------------------------------------------

_STATUS = re.compile(r"^(LeaderId|CurrentVoters):\s*(.*)$", re.MULTILINE)


def read_quorum(path: Path) -> Quorum:
    """What `kafka-metadata-quorum describe --status` printed; to 3.8 voters are numbers, later they are JSON."""
    text = read_text(path, "description of the quorum")
    found = dict(_STATUS.findall(text))
    try:
        voters = json.loads(found["CurrentVoters"])
        ids = tuple(int(voter["id"] if isinstance(voter, dict) else voter) for voter in voters)
        return Quorum(int(found["LeaderId"]), ids)
    except (KeyError, ValueError, TypeError):
        raise SpecUnreadable(
            f"{path} does not tell leader and voters; name what kafka-metadata-quorum describe --status prints"
        ) from None
