"""What settings were read as, before anything is asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from acked.audit.decision.gather import Given, Severity
from acked.audit.reports.terminal import LEVELS
from acked.cluster.vocabulary.keys import KEYS
from acked.reports.console import put_paragraph

if TYPE_CHECKING:
    from rich.console import Console

FORMAT = "acked-settings/1"


@dataclass(frozen=True)
class ReadSettingView:
    """A setting that counts, and where it stands."""

    key: str
    value: str
    source: str
    file: str
    line: int | None


@dataclass(frozen=True)
class RemarkView:
    """A remark on what was read; `where` is None where it is about no one place."""

    rule: str
    level: Severity
    text: str
    where: str | None


@dataclass(frozen=True)
class SettingsView:
    """The settings that count, in the order of an audit's table, and what is to be remarked on them."""

    format: str
    settings: tuple[ReadSettingView, ...]
    findings: tuple[RemarkView, ...]


def settings_view(given: Given) -> SettingsView:
    """What was read."""
    entries = [given.entries[key] for key in KEYS if key in given.entries]
    return SettingsView(
        FORMAT,
        tuple(ReadSettingView(one.key, one.value, one.source, one.file, one.line or None) for one in entries),
        tuple(
            RemarkView(finding.rule, finding.level, finding.text, None if finding.entry is None else finding.entry.where)
            for finding in given.findings
        ),
    )


def print_settings(console: Console, view: SettingsView) -> None:
    """A line for each setting, `min.insync.replicas=2  compose.yml:8`, and one for each remark."""
    if not view.settings:
        put_paragraph(console, "the files set nothing that decides an answer: the release's defaults count")
    width = max((len(f"{item.key}={item.value}") for item in view.settings), default=0)
    for item in view.settings:
        put_paragraph(console, item.source, "", f"{item.key}={item.value}".ljust(min(width, 60) + 2), "    ")
    for found in view.findings:
        where = "" if found.where is None else f"{found.where}: "
        put_paragraph(console, f"{where}{found.text}", LEVELS[found.level], f"{found.level.value:<8} ", " " * 9)
