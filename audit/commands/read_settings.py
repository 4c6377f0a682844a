"""What settings were read as, before anything is asked about them: in the terminal and as JSON, group by group."""

from __future__ import annotations

from collections.abc import Sequence

from acked.audit.clusters.topics import TopicGroup
from acked.audit.decision.gather import Given
from acked.audit.reports.telling import LEVELS
from acked.audit.reports.topics import name_of_topics
from acked.cluster.vocabulary.entry import SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.reports.console import Console, put, put_paragraph

FORMAT = "acked-settings/1"


def settings_document(groups: Sequence[TopicGroup]) -> dict[str, object]:
    """The settings that count, and what is to be remarked on them, as JSON; of several groups a list of that."""
    if len(groups) == 1 and not groups[0].refusal:
        return {"format": FORMAT, **_settings(groups[0].given)}
    return {
        "format": FORMAT,
        "groups": [
            {"unit": group.unit or None, "topics": list(group.topics), "brokers": list(group.brokers),
             "refusal": group.refusal or None, **_settings(group.given)}
            for group in groups
        ],
    }  # fmt: skip


def _settings(given: Given) -> dict[str, object]:
    return {
        "settings": [
            {"key": entry.key, "value": entry.value, "source": entry.source, "file": entry.file, "line": entry.line or None}
            for entry in _ordered_entries(given)
        ],
        "findings": [
            {"rule": finding.rule, "level": finding.level.value, "text": finding.text,
             "where": None if finding.entry is None else finding.entry.where}
            for finding in given.findings
        ],
    }  # fmt: skip


def _ordered_entries(given: Given) -> list[SettingEntry]:
    """The settings that count, in the order of an audit's table."""
    return [given.entries[key] for key in KEYS if key in given.entries]


def print_settings(console: Console, groups: Sequence[TopicGroup]) -> None:
    """A line for each setting, `min.insync.replicas=2  compose.yml:8`, and one for each remark, group by group."""
    for number, group in enumerate(groups):
        if len(groups) > 1 or group.refusal:
            if number:
                put(console, [])
            put_paragraph(console, name_of_topics(group.topics, group.brokers, group.unit), "bold")
        if group.refusal:
            put_paragraph(console, f"not read: {group.refusal}")
        else:
            _print_group(console, group.given)


def _print_group(console: Console, given: Given) -> None:
    if not given.entries:
        put_paragraph(console, "the files set nothing that decides an answer: the release's defaults count")
    said = [(f"{entry.key}={entry.value}", entry.source) for entry in _ordered_entries(given)]
    width = max((len(text) for text, _ in said), default=0)
    for text, source in said:
        put_paragraph(console, source, "", text.ljust(min(width, 60) + 2), "    ")
    for found in given.findings:
        where = "" if found.entry is None else f"{found.entry.where}: "
        put_paragraph(console, f"{where}{found.text}", LEVELS[found.level], f"{found.level.value:<8} ", " " * 9)
