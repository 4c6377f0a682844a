"""What acked found in Kafka: one list for `acked list found` and the page of findings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum, unique

from acked.base.frozen import frozen
from acked.reports.console import Console, put, put_paragraph


@unique
class Status(StrEnum):
    """What a finding is called."""

    DEFECT = "defect"
    SURPRISE = "surprise by design"
    KNOWN = "known, not backported"


@frozen
class Finding:
    """A finding with the promise that is broken, in which releases, the command that shows it, and its page in docs/."""

    id: str
    title: str
    status: Status
    promise: str
    releases: str
    command: str
    page: str


def read_findings(text: str) -> tuple[Finding, ...]:
    """The findings of `specs/found.json`, the most important first."""
    return tuple(Finding(**{**one, "status": Status(one["status"])}) for one in json.loads(text))


def print_findings(console: Console, findings: Iterable[Finding]) -> None:
    """Every finding with its facts."""
    for one in findings:
        put_paragraph(console, f"{one.id}  {one.title}", "bold")
        for name, text in (("status", one.status.value), ("promise", one.promise), ("releases", one.releases),
                           ("shown by", one.command), ("page", one.page)):  # fmt: skip
            put_paragraph(console, text, "", f"  {name:<10}", " " * 12)
        put(console, [])
