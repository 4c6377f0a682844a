"""What kafka-configs, kafka-topics and kafka-features describe."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acked.audit.formats.parts.reader import Reader, Sign
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.names import DECIDING, likely_setting, setting_within
from acked.cluster.vocabulary.note import Assigned, Condition, Listed, Note, Noticed, Read

_CONFIGS = re.compile(
    r"^(?:Dynamic|All|Default)? ?configs for (?P<kind>topics?|brokers?|groups?|client-id|user)\b"
    r"(?: '?(?P<name>[^\s']++)'?)?(?P<rest>.*?) are:?(?P<inline>.*)$",
    re.IGNORECASE,
)
_CONFIG_LINE = re.compile(r"^\s+(?P<key>[A-Za-z][\w.\-]*)=(?P<rest>.*)$")
_AFTER_VALUE = " sensitive="
_TOPIC_LINE = re.compile(
    r"^Topic:\s*(?P<name>\S+)\s.*?\bReplicationFactor:\s*(?P<factor>\d+)(?:\s+Configs:\s*(?P<configs>.*))?$"
)
_FEATURE_LINE = re.compile(
    r"^Feature:\s*(?P<name>\S+)\s.*\bFinalizedVersionLevel:\s*(?P<level>\S++)(?:\s+Epoch:\s*\d+)?\s*$"
)
_PARTITION_LINE = re.compile(
    r"^\s+Topic:\s*(?P<name>\S+)\s(?>.*?\bPartition:\s*(?P<number>\d+)\s)(?>.*?\bReplicas:\s*(?P<replicas>[\d,]+)\s+)"
    r"Isr:\s*(?P<isr>[\d,]*)(?=\s|$)"
)
_LEADERLESS = re.compile(r"\bLeader:\s*(?:none|-1)\s")
_MOVING = re.compile(r"\b(?:Adding|Removing) Replicas:\s*\d")
"""What kafka-topics says of a partition that is being moved, from 2.5 on; where none is, nothing follows the colon."""

_OWN_LINE = re.compile(r"^(?!\s+Topic:.*\bPartition:).*[=:]")
"""A line that could be a setting: not one of a partition."""
_FORM = re.compile(
    r"^(?:(?:Dynamic|All|Default)? ?configs for (?:topic|broker|group)|Topic:\s*\S+\s.*\bReplicationFactor:"
    r"|Feature:\s*\S+\s.*VersionLevel:)",
    re.IGNORECASE | re.MULTILINE,
)


_WHOSE = (("topic", Scope.TOPIC), ("group", Scope.CONSUMER), ("", Scope.DYNAMIC_BROKER))
"""Whose settings are described, by how the word begins."""

_MOST_DIGITS = 10
"""Of partitions and brokers, whose numbers have 32 bits."""


def described_entries(name: str, text: str) -> Iterator[Read]:
    """What the output of such a tool says."""
    scope, entity, is_ours = Scope.TOPIC, None, False
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        if head := _CONFIGS.match(line):
            kind = head["kind"].lower()
            is_ours = kind.startswith(("topic", "broker", "group"))
            scope = next(scope for word, scope in _WHOSE if kind.startswith(word))
            entity = head["name"] if kind != "brokers" and scope is not Scope.CONSUMER else None
            if is_ours and entity is not None:
                yield Note(Listed(), name, number, scope, entity)
            for key, value in pairs_in(head["inline"]):
                yield SettingEntry(key, value, name, number, scope, entity)
        elif topic := _TOPIC_LINE.match(line):
            is_ours, scope, entity = False, Scope.TOPIC, topic["name"]
            yield SettingEntry(REPLICATION_FACTOR, topic["factor"], name, number, Scope.TOPIC, entity)
            for key, value in pairs_in(topic["configs"] or ""):
                yield SettingEntry(key, value, name, number, Scope.TOPIC, entity)
        elif partition := _PARTITION_LINE.match(line):
            if len(max(re.findall(r"\d+", f"{partition['number']} {partition['replicas']}"), key=len)) > _MOST_DIGITS:
                raise SpecUnreadable(f"{name}:{number}: this line has a number that is no partition's and no broker's")
            replicas = tuple(map(int, _ids(partition["replicas"])))
            now = Assigned(partition["name"], int(partition["number"]), replicas, bool(_MOVING.search(line)))
            yield now.note(name, number)
            if len(_ids(partition["isr"])) < len(replicas):
                said = f"partition {partition['number']} has {partition['isr'] or 'none'} of {partition['replicas']}"
                yield Note(Noticed(Condition.SHORT_ISR, said), name, number, Scope.TOPIC, now.topic)
            if _LEADERLESS.search(line):
                said = f"partition {partition['number']} of {partition['replicas']}"
                yield Note(Noticed(Condition.NO_LEADER, said), name, number, Scope.TOPIC, now.topic)
        elif feature := _FEATURE_LINE.match(line):
            if feature["name"] in (keys.METADATA_VERSION, keys.ELR):
                yield SettingEntry(feature["name"], feature["level"], name, number, Scope.BROKER)
        elif item := _CONFIG_LINE.match(line):
            value = item["rest"].partition(_AFTER_VALUE)[0].strip()
            if is_ours and value != "null":
                yield SettingEntry(item["key"], value, name, number, scope, entity)
        elif _OWN_LINE.match(line) and (named := _setting_of(line)) is not None:
            raise SpecUnreadable(
                f"{name}:{number}: {named} stands among what Kafka's tools describe, and they print no such line; put it in "
                "a file of its own"
            )


def _ids(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _setting_of(line: str) -> str | None:
    """The setting that a line gives a value to, which none of Kafka's tools printed."""
    key = re.split(r"[=:\s]", line.strip(), maxsplit=1)[0]
    return key if key in DECIDING or likely_setting(key) is not None else setting_within(line)


def pairs_in(text: str) -> Iterator[tuple[str, str]]:
    """Settings as Kafka's tools list them: `a=1,b=x,y,c=2`: a part without `=` belongs to the value before it."""
    parts: list[list[str]] = []
    for part in text.strip().split(","):
        key, separator, value = part.strip().partition("=")
        if separator:
            parts.append([key, value])
        elif parts and part:
            parts[-1][1] += f",{part}"
    yield from ((key, value) for key, value in parts)


READER = Reader(
    "what Kafka's tools describe",
    (),
    lambda source: Sign.CERTAIN if _FORM.search(source.text) else Sign.NONE,
    described_entries,
    is_complete=True,  # Where a topic sets nothing, that has been said.
)
