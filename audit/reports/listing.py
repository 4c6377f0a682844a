"""What settings were read as, before anything is asked about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acked.audit.decision.gather import Given
from acked.cluster.vocabulary.keys import KEYS
from acked.reports.console import put_paragraph

if TYPE_CHECKING:
    from rich.console import Console

FORMAT = "acked-settings/1"
_LEVELS = {"error": "bold red", "warning": "yellow", "note": "dim"}


def settings_document(given: Given) -> dict[str, Any]:
    """The settings that count, in the order of an audit's table, and what is to be remarked on them."""
    entries = [given.entries[key] for key in KEYS if key in given.entries]
    return {
        "format": FORMAT,
        "settings": [
            {"key": entry.key, "value": entry.value, "source": entry.source, "file": entry.file, "line": entry.line or None}
            for entry in entries
        ],
        "findings": [
            {"rule": finding.rule, "level": finding.level.value, "text": finding.text,
             "where": None if finding.entry is None else finding.entry.where}
            for finding in given.findings
        ],
    }  # fmt: skip


def print_settings(console: Console, document: dict[str, Any]) -> None:
    """A line for each setting, `min.insync.replicas=2  compose.yml:8`, and one for each remark."""
    settings = document["settings"]
    if not settings:
        put_paragraph(console, "the files set nothing that decides an answer: the release's defaults count")
    width = max((len(f"{item['key']}={item['value']}") for item in settings), default=0)
    for item in settings:
        put_paragraph(console, item["source"], "", f"{item['key']}={item['value']}".ljust(min(width, 60) + 2), "    ")
    for item in document["findings"]:
        where = "" if item["where"] is None else f"{item['where']}: "
        put_paragraph(console, f"{where}{item['text']}", _LEVELS[item["level"]], f"{item['level']:<8} ", " " * 9)
