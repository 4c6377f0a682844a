"""The plan of a reassignment, as kafka-reassign-partitions takes it (`--execute`) and prints it (`--generate`).

What is refused is what Kafka's tool refuses too (ReassignPartitionsCommand of 3.9).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from acked.base.errors import SpecUnreadable
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.note import Assigned, Note

_WHAT = "plan of a reassignment"
_FORM = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3]}]}'
_GENERATED = re.compile(
    r"^\s*Current partition replica assignment\s*\n(?P<now>.*?)"
    r"^\s*Proposed partition reassignment configuration\s*\n(?P<then>.*)",
    re.DOTALL | re.MULTILINE,
)
"""What `kafka-reassign-partitions --generate` prints."""

ANY_DIRECTORY = "any"


@frozen
class ReassignmentPlan:
    """A plan and, where the file has it too (`--generate`), the assignment that it starts from."""

    file: str
    wanted: tuple[Assigned, ...]
    now: tuple[Assigned, ...] = ()

    @property
    def sizes(self) -> list[SettingEntry]:
        """How many replicas there are, as files of settings would say it."""
        return [SettingEntry(REPLICATION_FACTOR, str(len(one.replicas)), self.file, 0, Scope.TOPIC, one.topic)
                for one in self.now]  # fmt: skip

    @property
    def notes(self) -> list[Note]:
        """The assignment as it is, as what describes topics would say it."""
        return [one.note(self.file, 0) for one in self.now]


def read_plan(path: Path) -> ReassignmentPlan:
    """A plan from a file; `SpecUnreadable` says what is wrong with it and where."""
    name, text = str(path), read_text(path, _WHAT)
    generated = _GENERATED.search(text)
    now, then = (generated["now"], generated["then"]) if generated is not None else ("", text)
    reader = _Reader(name)
    return ReassignmentPlan(name, reader.partitions(then), reader.partitions(now) if now.strip() else ())


class _Reader:
    """One use of `read_plan`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def partitions(self, text: str) -> tuple[Assigned, ...]:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:  # A number of thousands of digits is a ValueError.
            line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise SpecUnreadable(f"{self.name}{line} is no valid JSON; a plan looks like {_FORM}") from None
        if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
            raise self._wrong(f"it has no list of partitions; it looks like {_FORM}")
        if (version := document.get("version", 1)) != 1 or isinstance(version, bool):
            raise self._wrong(f"its version is {json.dumps(version)}, and Kafka knows version 1 alone")
        found = tuple(self._partition(number, item) for number, item in enumerate(document["partitions"], 1))
        if not found:
            raise self._wrong("its list of partitions is empty; name at least one")
        seen: set[str] = set()
        for item in found:
            if item.name in seen:
                raise self._wrong(f"{item.name} is named twice; leave one out")
            seen.add(item.name)
        return found

    def _partition(self, number: int, item: object) -> Assigned:
        if not isinstance(item, dict):
            raise self._wrong(f"entry {number} of its partitions is no object with a topic, a partition and replicas")
        topic, partition, replicas = (item.get(key) for key in ("topic", "partition", "replicas"))
        if not isinstance(topic, str) or not topic:
            raise self._wrong(f"entry {number} of its partitions names no topic")
        if not _is_id(partition):
            raise self._wrong(f"entry {number} of its partitions, of topic {topic}, has no number of a partition")
        name = f"{topic}-{partition}"
        if not isinstance(replicas, list) or not replicas or not all(map(_is_id, replicas)):
            raise self._wrong(f"{name} needs a list of replicas, each the id of a broker")
        if len(set(replicas)) < len(replicas):
            twice = Counter(replicas).most_common(1)[0][0]
            raise self._wrong(f"{name} names broker {twice} twice among its replicas; name each once")
        self._check_directories(name, item.get("log_dirs"), replicas)
        return Assigned(topic, int(str(partition)), tuple(replicas))

    def _check_directories(self, name: str, directories: object, replicas: Sequence[object]) -> None:
        if directories is None:
            return
        if not isinstance(directories, list) or not all(isinstance(item, str) for item in directories):
            raise self._wrong(f'the log_dirs of {name} are no list of directories, or "{ANY_DIRECTORY}" for each')
        if len(directories) != len(replicas):
            raise self._wrong(
                f'{name} has {len(replicas)} replicas and {len(directories)} log_dirs; give one for each, "{ANY_DIRECTORY}" '
                "where it does not matter"
            )

    def _wrong(self, why: str) -> SpecUnreadable:
        return SpecUnreadable(f"{self.name} is not a {_WHAT}: {why}")


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
