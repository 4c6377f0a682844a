"""What settings were read as, before anything is asked about them."""

from __future__ import annotations

from acked.audit.decision.gather import Given
from acked.audit.reports.terminal import LEVELS
from acked.cluster.vocabulary.entry import SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.reports.console import Console, put_paragraph

FORMAT = "acked-settings/1"


def _in_order(given: Given) -> list[SettingEntry]:
    """The settings that count, in the order of an audit's table."""
    return [given.entries[key] for key in KEYS if key in given.entries]


def settings_document(given: Given) -> dict[str, object]:
    """The settings that count, and what is to be remarked on them, as JSON."""
    return {
        "format": FORMAT,
        "settings": [
            {"key": entry.key, "value": entry.value, "source": entry.source, "file": entry.file, "line": entry.line or None}
            for entry in _in_order(given)
        ],
        "findings": [
            {"rule": finding.rule, "level": finding.level.value, "text": finding.text,
             "where": None if finding.entry is None else finding.entry.where}
            for finding in given.findings
        ],
    }  # fmt: skip


def print_settings(console: Console, given: Given) -> None:
    """A line for each setting, `min.insync.replicas=2  compose.yml:8`, and one for each remark."""
    if not given.entries:
        put_paragraph(console, "the files set nothing that decides an answer: the release's defaults count")
    said = [(f"{entry.key}={entry.value}", entry.source) for entry in _in_order(given)]
    width = max((len(text) for text, _ in said), default=0)
    for text, source in said:
        put_paragraph(console, source, "", text.ljust(min(width, 60) + 2), "    ")
    for found in given.findings:
        where = "" if found.entry is None else f"{found.entry.where}: "
        put_paragraph(console, f"{where}{found.text}", LEVELS[found.level], f"{found.level.value:<8} ", " " * 9)
